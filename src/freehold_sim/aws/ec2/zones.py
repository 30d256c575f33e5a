"""Regions and availability zones."""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads
from freehold_sim.aws.ec2.describing import matching
from freehold_sim.aws.world import Record


def zone_id(call: Call, zone: str) -> str:
    """Return the id of a zone, such as use1-az1 for us-east-1a."""
    area, *words, number = call.region.split("-")
    side = "-".join(words)
    short = "".join(word[0] for word in side.replace("south", "s-").replace("north", "n-").split("-") if word)
    return f"{area}{short}{number}-az{call.settings.regions[call.region].index(zone) + 1}"


def of_request(call: Call) -> str:
    """Return the zone that a request names by name or id; the first one if it names none."""
    zones = call.settings.regions[call.region]
    if "AvailabilityZoneId" in call.params:
        by_id = {zone_id(call, zone): zone for zone in zones}
        wanted = call.params["AvailabilityZoneId"]
        if wanted not in by_id:
            raise Refused("InvalidParameterValue", f"Value ({wanted}) for parameter availabilityZoneId is invalid.")
        return by_id[wanted]
    wanted = call.params.get("AvailabilityZone", zones[0])
    if wanted not in zones:
        text = f"Value ({wanted}) for parameter availabilityZone is invalid. Subnets can currently only be created in"
        raise Refused("InvalidParameterValue", f"{text} the following availability zones: {', '.join(zones)}.")
    return str(wanted)


ZONE_FILTERS = {
    "zone-name": "ZoneName", "zone-id": "ZoneId", "state": "State", "region-name": "RegionName",
    "zone-type": "ZoneType", "opt-in-status": "OptInStatus", "group-name": "GroupName",
    "parent-zone-id": "ParentZoneId", "parent-zone-name": "ParentZoneName",
}  # fmt: skip
REGION_FILTERS = {"region-name": "RegionName", "endpoint": "Endpoint", "opt-in-status": "OptInStatus"}


def _state(call: Call, zone: str) -> str:
    return "impaired" if zone in call.settings.impaired else "available"


def _sort(call: Call, zone: str) -> dict[str, Any]:
    """Return what its name tells: ``us-east-1a``, ``us-east-1-nyc-1a`` (local) or ``us-east-1-wl1-bos-wlz-1``.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html
    """
    if not zone.startswith(f"{call.region}-"):
        return {
            "ZoneType": "availability-zone", "OptInStatus": "opt-in-not-required", "GroupName": f"{call.region}-zg-1",
            "NetworkBorderGroup": call.region,
        }  # fmt: skip
    parent, group = call.settings.regions[call.region][0], zone.rstrip("abcdef")
    return {
        "ZoneType": "wavelength-zone" if "-wl" in zone else "local-zone", "OptInStatus": "opted-in",
        "GroupName": group, "NetworkBorderGroup": group, "ParentZoneName": parent,
        "ParentZoneId": zone_id(call, parent),
    }  # fmt: skip


def describe_zones(call: Call) -> dict[str, Any]:
    rows = []
    for number, zone in enumerate(call.settings.regions[call.region]):
        view = {
            "ZoneName": zone, "ZoneId": zone_id(call, zone), "RegionName": call.region, "State": _state(call, zone),
            "Messages": [], **_sort(call, zone),
        }  # fmt: skip
        rows.append((_row(number), view))
    for parameter, key in (("ZoneNames", "ZoneName"), ("ZoneIds", "ZoneId")):
        for wanted in call.params.get(parameter, []):
            if wanted not in {view[key] for _, view in rows}:
                raise Refused("InvalidParameterValue", f"Invalid availability zone: [{wanted}]")
        if parameter in call.params:
            rows = [row for row in rows if row[1][key] in call.params[parameter]]
    return {"AvailabilityZones": [view for _, view in matching(call, rows, ZONE_FILTERS)]}


def describe_regions(call: Call) -> dict[str, Any]:
    rows = []
    for number, region in enumerate(call.settings.regions):
        view = {
            "RegionName": region, "Endpoint": f"ec2.{region}.amazonaws.com", "OptInStatus": "opt-in-not-required",
        }  # fmt: skip
        rows.append((_row(number), view))
    known = {view["RegionName"] for _, view in rows}
    for wanted in call.params.get("RegionNames", []):
        if wanted not in known:
            raise Refused("InvalidParameterValue", f"Invalid region names: [{wanted}]")
    wanted = call.params.get("RegionNames", known)
    rows = [row for row in rows if row[1]["RegionName"] in wanted]
    return {"Regions": [view for _, view in matching(call, rows, REGION_FILTERS)]}


def _row(number: int) -> Record:
    return {"serial": number, "tags": {}}


OPERATIONS: tuple[Operation, ...] = (
    reads("DescribeAvailabilityZones", describe_zones, "ZoneNames ZoneIds AllAvailabilityZones Filters"),
    reads("DescribeRegions", describe_regions, "RegionNames AllRegions Filters"),
)
