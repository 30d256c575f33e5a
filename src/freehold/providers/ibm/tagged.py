"""Tagged resources of IBM Cloud as the metadata controller has them, by their CRNs."""

from __future__ import annotations

from freehold.providers.ibm import crn


def kind_of(text: str) -> str:
    """``is:subnet``; of what has no type in its CRN, as an instance, the service alone."""
    parsed = crn.parse(text)
    return f"{parsed.service}:{parsed.type}".rstrip(":") if parsed else ""


def region_of(text: str) -> str:
    parsed = crn.parse(text)
    return parsed.region if parsed else ""
