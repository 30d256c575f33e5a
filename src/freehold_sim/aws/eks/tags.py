"""Tags of clusters and of what they have, by ARN."""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.eks.common import CLUSTER, PARTS, check_tags
from freehold_sim.aws.world import Record


def _find(call: Call) -> Record:
    arn = call.params["resourceArn"]
    record = call.world.by_arn(arn)
    known = record is not None and record["kind"] in {CLUSTER, *PARTS}
    if record is None or not known or (record["account"], record["region"]) != (call.account, call.region):
        raise Refused("NotFoundException", f"The resource {arn} does not exist", 404)
    return record


def tag_resource(call: Call) -> dict[str, Any]:
    record = _find(call)
    tags = {**record["tags"], **call.params["tags"]}
    check_tags(call, {key: value for key, value in tags.items() if key in call.params["tags"]})
    if len(tags) > call.settings.quotas.tags:
        raise Refused("BadRequestException", f"A resource has at most {call.settings.quotas.tags} tags")
    call.world.set_tags(record, tags, call.now)
    return {}


def untag_resource(call: Call) -> dict[str, Any]:
    record = _find(call)
    kept = {key: value for key, value in record["tags"].items() if key not in call.params["tagKeys"]}
    call.world.set_tags(record, kept, call.now)
    return {}


def list_tags(call: Call) -> dict[str, Any]:
    return {"tags": dict(_find(call)["tags"])}


OPERATIONS: tuple[Operation, ...] = (
    writes("TagResource", tag_resource, "resourceArn tags"),
    writes("UntagResource", untag_resource, "resourceArn tagKeys"),
    reads("ListTagsForResource", list_tags, "resourceArn"),
)
