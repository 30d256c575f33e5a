"""Policies of roles: written into the role, or attached to it."""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.iam.common import ROLE, check_document, find, is_policy, listed
from freehold_sim.aws.world import Record


def _role(call: Call) -> Record:
    return find(call, ROLE, call.params["RoleName"])


def put_policy(call: Call) -> dict[str, Any]:
    check_document(call.params["PolicyDocument"])
    _role(call)["inline"][call.params["PolicyName"]] = call.params["PolicyDocument"]
    return {}


def _inline(call: Call) -> tuple[Record, str]:
    role, name = _role(call), call.params["PolicyName"]
    if name not in role["inline"]:
        raise Refused("NoSuchEntity", f"The role policy with name {name} cannot be found.", 404)
    return role, name


def get_policy(call: Call) -> dict[str, Any]:
    role, name = _inline(call)
    return {"RoleName": role["id"], "PolicyName": name, "PolicyDocument": role["inline"][name]}


def delete_policy(call: Call) -> dict[str, Any]:
    role, name = _inline(call)
    del role["inline"][name]
    return {}


def list_policies(call: Call) -> dict[str, Any]:
    return listed(call, "PolicyNames", list(_role(call)["inline"]))


def attach_policy(call: Call) -> dict[str, Any]:
    role, arn = _role(call), call.params["PolicyArn"]
    if not is_policy(call, arn):
        raise Refused("NoSuchEntity", f"Policy {arn} does not exist or is not attachable.", 404)
    if arn not in role["attached"]:
        role["attached"].append(arn)
    return {}


def detach_policy(call: Call) -> dict[str, Any]:
    role, arn = _role(call), call.params["PolicyArn"]
    if arn not in role["attached"]:
        raise Refused("NoSuchEntity", f"Policy {arn} was not found.", 404)
    role["attached"].remove(arn)
    return {}


def list_attached(call: Call) -> dict[str, Any]:
    rows = [{"PolicyName": arn.rpartition("/")[2], "PolicyArn": arn} for arn in _role(call)["attached"]]
    return listed(call, "AttachedPolicies", rows)


OPERATIONS: tuple[Operation, ...] = (
    writes("PutRolePolicy", put_policy, "RoleName PolicyName PolicyDocument"),
    reads("GetRolePolicy", get_policy, "RoleName PolicyName"),
    writes("DeleteRolePolicy", delete_policy, "RoleName PolicyName"),
    reads("ListRolePolicies", list_policies, "RoleName Marker MaxItems"),
    writes("AttachRolePolicy", attach_policy, "RoleName PolicyArn"),
    writes("DetachRolePolicy", detach_policy, "RoleName PolicyArn"),
    reads("ListAttachedRolePolicies", list_attached, "RoleName Marker MaxItems"),
)
