"""Tags of classic load balancers: all or nothing for the names of one call."""

from typing import Any

from freehold_sim.aws import balancing
from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.elb.balancers import find
from freehold_sim.aws.world import Record


def _named(call: Call) -> list[Record]:
    names = call.params["LoadBalancerNames"]
    if len(names) > balancing.ARNS_PER_DESCRIPTION:
        raise Refused("ValidationError", f"Up to {balancing.ARNS_PER_DESCRIPTION} load balancers in one call")
    return [find(call, name) for name in names]


def add_tags(call: Call) -> dict[str, Any]:
    records, tags = _named(call), balancing.tags_of(call, call.params["Tags"])
    for record in records:
        balancing.too_many_tags(call, {**record["tags"], **tags})
    for record in records:
        call.world.set_tags(record, {**record["tags"], **tags}, call.now)
    return {}


def remove_tags(call: Call) -> dict[str, Any]:
    gone = {tag.get("Key") for tag in call.params["Tags"]}
    for record in _named(call):
        kept = {key: value for key, value in record["tags"].items() if key not in gone}
        call.world.set_tags(record, kept, call.now)
    return {}


def describe_tags(call: Call) -> dict[str, Any]:
    rows = [{"LoadBalancerName": row["id"], "Tags": balancing.tag_list(row["tags"])} for row in _named(call)]
    return {"TagDescriptions": rows}


OPERATIONS: tuple[Operation, ...] = (
    writes("AddTags", add_tags, "LoadBalancerNames Tags"),
    writes("RemoveTags", remove_tags, "LoadBalancerNames Tags"),
    reads("DescribeTags", describe_tags, "LoadBalancerNames"),
)
