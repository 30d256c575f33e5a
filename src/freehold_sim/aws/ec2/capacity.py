"""Capacity of zones, and the quotas in vCPUs: how many instances a launch gets.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html,
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-on-demand-instances.html#ec2-on-demand-instances-limits
"""

from fnmatch import fnmatchcase
from typing import Any

from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.ec2.instance_types import TYPES, InstanceType
from freehold_sim.aws.errors import quota
from freehold_sim.aws.world import World

_COUNTED = {"pending", "running", "stopping"}
"""States in which an instance counts against the quota."""


def exhaust(world: World, zone: str, kind: str, market: str, *, offered: bool) -> None:
    """Let a zone have no capacity for instance types, a shell pattern; `market` is spot, on-demand or both ("*").

    Not `offered`: the zone has never had them.
    """
    world.data.setdefault("exhausted", []).append([zone, kind, market, offered])


def restock(world: World, zone: str) -> None:
    """Let a zone have capacity again, for everything."""
    world.data["exhausted"] = [row for row in world.data.get("exhausted", []) if row[0] != zone]


def _lack(world: World, zone: str, kind: str, market: str) -> list[Any] | None:
    """Return the first row that says that a zone has no capacity."""
    for row in world.data.get("exhausted", []):
        if row[0] == zone and fnmatchcase(kind, row[1]) and fnmatchcase(market, row[2]):
            return list(row)
    return None


def check_capacity(call: Call, kind: InstanceType, zone: str, *, spot: bool) -> None:
    """Refuse a launch for which a zone has no capacity, with the status 500 as EC2 does (ocs-ci#9263)."""
    market = "spot" if spot else "on-demand"
    lack = _lack(call.world, zone, kind.name, market)
    if lack is None:
        return
    zones = call.settings.regions[call.region]
    others = ", ".join(each for each in zones if _lack(call.world, each, kind.name, market) is None)
    if not lack[3]:
        text = (
            f"Your requested instance type ({kind.name}) is not supported in your requested Availability Zone "
            f"({zone}). Please retry your request by not specifying an Availability Zone or choosing {others}."
        )
        raise Refused("Unsupported", text)
    if spot:
        text = "There is no Spot capacity available that matches your request."
        raise Refused("InsufficientInstanceCapacity", text, 500)
    text = (
        f"We currently do not have sufficient {kind.name} capacity in the Availability Zone you requested ({zone}). "
        "Our system will be working on provisioning additional capacity."
    )
    if others:
        text += (
            f" You can currently get {kind.name} capacity by not specifying an Availability Zone in your request or "
            f"choosing {others}."
        )
    raise Refused("InsufficientInstanceCapacity", text, 500)


def count_within_quota(call: Call, kind: InstanceType, least: int, most: int, *, spot: bool) -> int:
    """Return how many instances the quota allows, at most `most`; refuses when they are fewer than `least`."""
    limit = call.settings.quotas.spot_vcpus if spot else call.settings.quotas.vcpus
    room = (limit - _held(call, spot=spot)) // kind.cores
    if room >= least:
        return min(most, room)
    if spot:
        raise quota(call.service, call.operation, "Max spot instance count exceeded", "MaxSpotInstanceCountExceeded")
    text = (
        f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance "
        "bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request"
        " to request an adjustment to this limit."
    )
    raise quota(call.service, call.operation, text)


def _held(call: Call, *, spot: bool) -> int:
    views = [row["view"] for row in call.all("instance") if row["view"]["State"]["Name"] in _COUNTED]
    return sum(TYPES[each["InstanceType"]].cores for each in views if ("InstanceLifecycle" in each) is spot)
