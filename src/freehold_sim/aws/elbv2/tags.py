"""Tags of load balancers, target groups and listeners: all or nothing for the resources of one call."""

from typing import Any

from freehold_sim.aws import balancing
from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.elbv2.common import BALANCER, LISTENER, TARGET_GROUP, find
from freehold_sim.aws.world import Record

_KINDS = {"loadbalancer": BALANCER, "targetgroup": TARGET_GROUP, "listener": LISTENER}


def _resources(call: Call) -> list[Record]:
    arns = call.params["ResourceArns"]
    if len(arns) > balancing.ARNS_PER_DESCRIPTION:
        raise Refused("ValidationError", f"Up to {balancing.ARNS_PER_DESCRIPTION} resources in one call")
    found = []
    for ident in arns:
        kind = _KINDS.get(ident.rpartition(":")[2].partition("/")[0])
        if kind is None:
            raise Refused("ValidationError", f"'{ident}' is not a valid ARN")
        found.append(find(call, kind, ident))
    return found


def add_tags(call: Call) -> dict[str, Any]:
    records, tags = _resources(call), balancing.tags_of(call, call.params["Tags"])
    for record in records:
        balancing.too_many_tags(call, {**record["tags"], **tags})
    for record in records:
        call.world.set_tags(record, {**record["tags"], **tags}, call.now)
    return {}


def remove_tags(call: Call) -> dict[str, Any]:
    for record in _resources(call):
        kept = {key: value for key, value in record["tags"].items() if key not in call.params["TagKeys"]}
        call.world.set_tags(record, kept, call.now)
    return {}


def describe_tags(call: Call) -> dict[str, Any]:
    rows = [{"ResourceArn": row["id"], "Tags": balancing.tag_list(row["tags"])} for row in _resources(call)]
    return {"TagDescriptions": rows}


OPERATIONS: tuple[Operation, ...] = (
    writes("AddTags", add_tags, "ResourceArns Tags"),
    writes("RemoveTags", remove_tags, "ResourceArns TagKeys"),
    reads("DescribeTags", describe_tags, "ResourceArns"),
)
