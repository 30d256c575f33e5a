"""The zones of a region: their types, and which ones an account may use."""

from __future__ import annotations

from dataclasses import dataclass

from freehold.providers.aws.calls import AwsClient

AVAILABILITY_ZONE = "availability-zone"


@dataclass(frozen=True)
class Zone:
    """A zone. ``type`` is AWS's word: ``availability-zone``, ``local-zone`` or ``wavelength-zone``."""

    name: str
    type: str
    usable: bool
    """True if the account may create resources in it now: it works, and needs no opt-in or has it."""


async def read_zones(client: AwsClient) -> tuple[Zone, ...]:
    """Return the zones, sorted by name. One that needs an opt-in is not listed, or not usable, until it has it.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeAvailabilityZones.html
    """
    region = client.session.region
    rows = await client.read_list("ec2", "describe_availability_zones", "AvailabilityZones", region)
    found = (
        Zone(
            row["ZoneName"],
            row.get("ZoneType", AVAILABILITY_ZONE),
            row["State"] == "available" and row.get("OptInStatus") != "not-opted-in",
        )
        for row in rows
    )
    return tuple(sorted(found, key=lambda each: each.name))
