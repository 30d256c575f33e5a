"""Cloud resource names, and what they tell without a call (docs/reference/ibm-cloud.md#common)."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Crn:
    """``crn:v1:bluemix:public:<service>:<location>:a/<account>:<instance>:<type>:<id>``."""

    service: str
    location: str
    instance: str
    type: str
    id: str

    @property
    def region(self) -> str:
        """The VPC region: zonal resources have their zone (``us-south-1``) as location."""
        return re.sub(r"-\d+$", "", self.location)


def parse(text: str) -> Crn | None:
    """Return the parts of ``text``; None when it is no CRN."""
    parts = text.split(":", 9)
    if len(parts) != 10 or parts[0].casefold() != "crn":
        return None
    return Crn(service=parts[4], location=parts[5], instance=parts[7], type=parts[8], id=parts[9])


def location_of(text: str) -> str:
    """Return the location that a CRN names; empty for any other text."""
    parsed = parse(text)
    return parsed.location if parsed else ""


def power_region(zone: str) -> str:
    """Return the PowerVS region of a zone: ``dal`` for ``dal10``, ``eu-de`` for ``eu-de-1``.

    Source: docs/reference/ibm-cloud.md#powervs.
    """
    return re.sub(r"-?\d+$", "", zone)
