"""The zones of a region: where an account may use them, and which are no availability zones."""

from __future__ import annotations

from dataclasses import dataclass

from freehold.providers.aws.calls import ApiClient

AVAILABILITY_ZONE = "availability-zone"


@dataclass(frozen=True)
class Zone:
    """``type`` is AWS's word: ``availability-zone``, ``local-zone`` or ``wavelength-zone``."""

    name: str
    type: str
    usable: bool
    """Whether the account may make resources in it now: it works, and needs no opt-in or has it."""


async def all_zones(client: ApiClient) -> tuple[Zone, ...]:
    """Sorted by name. What must be enabled first is not listed, or not usable, until it is.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeAvailabilityZones.html
    """
    region = client.session.region
    rows = await client.listed("ec2", "describe_availability_zones", "AvailabilityZones", region)
    found = (
        Zone(
            row["ZoneName"],
            row.get("ZoneType", AVAILABILITY_ZONE),
            row["State"] == "available" and row.get("OptInStatus") != "not-opted-in",
        )
        for row in rows
    )
    return tuple(sorted(found, key=lambda each: each.name))
