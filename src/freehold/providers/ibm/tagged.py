"""Tagged resources of IBM Cloud, by CRN, for the metadata controller."""

from __future__ import annotations

from freehold.providers.ibm import crn


def kind_of(text: str) -> str:
    """Return ``is:subnet``, or the service alone where the CRN has no type, as an instance's."""
    parsed = crn.parse(text)
    return f"{parsed.service}:{parsed.type}".rstrip(":") if parsed else ""


def region_of(text: str) -> str:
    parsed = crn.parse(text)
    return parsed.region if parsed else ""
