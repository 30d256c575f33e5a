"""Managed policies of the account."""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.iam.common import (
    POLICY,
    ROLE,
    check_document,
    check_name,
    conflict,
    exists,
    tag_list,
    tags_of,
)
from freehold_sim.aws.world import Record


def create_policy(call: Call) -> dict[str, Any]:
    name, path = call.params["PolicyName"], call.params.get("Path", "/")
    check_name(name, "policyName")
    check_document(call.params["PolicyDocument"])
    arn = f"arn:aws:iam::{call.account}:policy{path}{name}"
    if call.get(POLICY, name) is not None:
        raise exists("Policy", name)
    view = {
        "PolicyName": name, "PolicyId": f"ANPA{call.world.new_hex().upper()}", "Arn": arn, "Path": path,
        "DefaultVersionId": "v1", "IsAttachable": True, "CreateDate": call.now, "UpdateDate": call.now,
    }  # fmt: skip
    if "Description" in call.params:
        view["Description"] = call.params["Description"]
    tags = tags_of(call, {}, call.params.get("Tags", []))
    policy = call.add(POLICY, name, view, arn, tags=tags, document=call.params["PolicyDocument"])
    return {"Policy": _shown(call, policy)}


def _shown(call: Call, policy: Record) -> dict[str, Any]:
    count = sum(policy["arn"] in role["attached"] for role in call.all(ROLE))
    return {**policy["view"], "AttachmentCount": count, "Tags": tag_list(policy["tags"])}


def _by_arn(call: Call) -> Record:
    found = call.world.by_arn(call.params["PolicyArn"])
    if found is None or found["kind"] != POLICY or found["account"] != call.account:
        raise Refused("NoSuchEntity", f"Policy {call.params['PolicyArn']} was not found.", 404)
    return found


def get_policy(call: Call) -> dict[str, Any]:
    return {"Policy": _shown(call, _by_arn(call))}


def delete_policy(call: Call) -> dict[str, Any]:
    policy = _by_arn(call)
    if any(policy["arn"] in role["attached"] for role in call.all(ROLE)):
        raise conflict("Cannot delete a policy attached to entities.")
    call.world.remove(policy, call.now)
    return {}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreatePolicy", create_policy, "PolicyName Path PolicyDocument Description Tags"),
    reads("GetPolicy", get_policy, "PolicyArn"),
    writes("DeletePolicy", delete_policy, "PolicyArn"),
)
