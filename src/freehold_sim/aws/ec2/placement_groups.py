"""Placement groups, and the placement that a launch asks for.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-groups.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2 import zones
from freehold_sim.aws.ec2.describing import matching
from freehold_sim.aws.ec2.instance_types import InstanceType
from freehold_sim.aws.ec2.kinds import arn_of, find, new_id, show, tags_for
from freehold_sim.aws.ec2.resources import PLACEMENT_GROUP
from freehold_sim.aws.world import Record

SERVED = "AvailabilityZone Tenancy GroupName PartitionNumber"
"""The members of Placement that RunInstances takes."""
_MOST_PARTITIONS = 7


def create_group(call: Call) -> dict[str, Any]:
    tags, params = tags_for(call, "placement-group")["placement-group"], call.params
    name, strategy = params.get("GroupName", ""), params.get("Strategy", "cluster")
    if not name:
        raise Refused("MissingParameter", "The request must contain the parameter groupName")
    if strategy not in {"cluster", "spread", "partition"}:
        raise not_served(f"the strategy {strategy} of placement groups")
    if call.where(PLACEMENT_GROUP.name, GroupName=name):
        raise Refused("InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists.")
    view: dict[str, Any] = {"GroupName": name, "Strategy": strategy, "State": "available"}
    if strategy == "partition":
        view["PartitionCount"] = params.get("PartitionCount", 2)
        if not 1 <= view["PartitionCount"] <= _MOST_PARTITIONS:
            raise Refused("InvalidParameterValue", f"A group has 1 to {_MOST_PARTITIONS} partitions")
    elif "PartitionCount" in params:
        text = "PartitionCount is only valid for placement groups of the strategy partition"
        raise Refused("InvalidParameterCombination", text)
    ident, arn = new_id(call, PLACEMENT_GROUP.prefix), arn_of(call, PLACEMENT_GROUP.name, name)
    made = call.add(PLACEMENT_GROUP.name, ident, {**view, "GroupId": ident, "GroupArn": arn}, arn, tags=tags)
    return {"PlacementGroup": show(made, PLACEMENT_GROUP)}


def named(call: Call, name: str) -> Record:
    """Return a placement group by its name, or refuse as EC2 does."""
    found = call.where(PLACEMENT_GROUP.name, GroupName=name)
    if not found:
        raise Refused("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    return found[0]


def describe(call: Call) -> dict[str, Any]:
    records = [row for row in call.all(PLACEMENT_GROUP.name) if call.sees(row)]
    if "GroupIds" in call.params:
        records = [find(call, PLACEMENT_GROUP, ident) for ident in call.params["GroupIds"]]
    if "GroupNames" in call.params:
        records = [named(call, name) for name in call.params["GroupNames"]]
    rows = matching(call, [(row, show(row, PLACEMENT_GROUP)) for row in records], PLACEMENT_GROUP.filters)
    return {"PlacementGroups": [view for _, view in rows]}


def delete(call: Call) -> dict[str, Any]:
    group = named(call, call.params["GroupName"])
    for instance in call.all("instance"):
        view = instance["view"]
        if view["Placement"].get("GroupName") == group["view"]["GroupName"] and view["State"]["Name"] != "terminated":
            text = f"The placement group '{group['view']['GroupName']}' is in use and may not be deleted."
            raise Refused("InvalidPlacementGroup.InUse", text)
    call.world.remove(group, call.now)
    return {}


def placement(call: Call, kind: InstanceType, zone: str) -> dict[str, Any]:
    """Return where an instance is placed, or refuse what the request asks for as EC2 does."""
    given = call.params.get("Placement", {})
    if given.get("AvailabilityZone", zone) != zone:
        text = f"The availability zone {given['AvailabilityZone']} and the zone {zone} of the subnet do not match"
        raise Refused("InvalidParameterValue", text)
    if given.get("Tenancy") == "host":
        raise not_served("Dedicated Hosts (the tenancy host)")
    found = {"AvailabilityZone": zone, "AvailabilityZoneId": zones.zone_id(call, zone), "GroupName": "",
             "Tenancy": given.get("Tenancy", "default")}  # fmt: skip
    if "GroupName" in given:
        found.update(_in_group(call, given, kind))
    elif "PartitionNumber" in given:
        raise Refused("InvalidParameterCombination", "PartitionNumber needs a placement group")
    return found


def _in_group(call: Call, given: dict[str, Any], kind: InstanceType) -> dict[str, Any]:
    group = named(call, given["GroupName"])["view"]
    if group["Strategy"] == "cluster" and kind.bursts:  # dstack#2872
        text = f"Cluster placement groups are not supported by the '{kind.name}' instance type. Specify a supported"
        more = "instance type or change the placement group strategy, and try again."
        raise Refused("InvalidParameterCombination", f"{text} {more}")
    found = {"GroupName": group["GroupName"], "GroupId": group["GroupId"]}
    if "PartitionNumber" not in given:
        return found
    number = given["PartitionNumber"]
    if group["Strategy"] != "partition":
        text = f"The placement group '{group['GroupName']}' has no partitions"
        raise Refused("InvalidParameterCombination", text)
    if not 1 <= number <= group["PartitionCount"]:
        text = f"Value ({number}) for parameter partitionNumber is invalid. The group has {group['PartitionCount']}"
        raise Refused("InvalidParameterValue", f"{text} partitions.")
    return {**found, "PartitionNumber": number}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreatePlacementGroup", create_group, "GroupName Strategy PartitionCount TagSpecifications"),
    reads("DescribePlacementGroups", describe, "GroupNames GroupIds Filters"),
    writes("DeletePlacementGroup", delete, "GroupName"),
)
