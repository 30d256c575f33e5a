"""The availability zones that an account may use in a region."""

from __future__ import annotations

from freehold.clouds.aws.calls import ApiClient


async def zones(client: ApiClient) -> tuple[str, ...]:
    """Names, sorted; no local or wavelength zones. What must be enabled first is left out until it is."""
    filters = [
        {"Name": "state", "Values": ["available"]},
        {"Name": "zone-type", "Values": ["availability-zone"]},
        {"Name": "opt-in-status", "Values": ["opt-in-not-required", "opted-in"]},
    ]
    region = client.session.region
    rows = await client.listed("ec2", "describe_availability_zones", "AvailabilityZones", region, Filters=filters)
    return tuple(sorted(row["ZoneName"] for row in rows))
