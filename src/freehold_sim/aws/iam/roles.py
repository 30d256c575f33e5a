"""Roles. https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRole.html"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.iam.common import (
    PROFILE,
    ROLE,
    check_document,
    check_name,
    conflict,
    exists,
    find,
    is_policy,
    listed,
    tag_list,
    tags_of,
)
from freehold_sim.aws.world import Record


def create_role(call: Call) -> dict[str, Any]:
    params, name = call.params, call.params["RoleName"]
    check_name(name, "roleName")
    check_document(params["AssumeRolePolicyDocument"])
    if call.get(ROLE, name) is not None:
        raise exists("Role", name)
    full(call, len(call.all(ROLE)), call.settings.quotas.roles, "roles")
    path = params.get("Path", "/")
    arn = f"arn:aws:iam::{call.account}:role{path}{name}"
    view: dict[str, Any] = {
        "Path": path, "RoleName": name, "RoleId": f"AROA{call.world.new_hex().upper()}", "Arn": arn,
        "CreateDate": call.now, "AssumeRolePolicyDocument": params["AssumeRolePolicyDocument"],
        "MaxSessionDuration": params.get("MaxSessionDuration", 3600),
    }  # fmt: skip
    if "Description" in params:
        view["Description"] = params["Description"]
    if "PermissionsBoundary" in params:
        view["PermissionsBoundary"] = _boundary(call)
    tags = tags_of(call, {}, params.get("Tags", []))
    role = call.add(ROLE, name, view, arn, tags=tags, inline={}, attached=[])
    return {"Role": shown(role)}


def shown(role: Record) -> dict[str, Any]:
    return {**role["view"], "Tags": tag_list(role["tags"])}


def _boundary(call: Call) -> dict[str, str]:
    """Return the boundary that the request names, a managed policy that must exist."""
    arn = call.params["PermissionsBoundary"]
    if not is_policy(call, arn):
        raise Refused("NoSuchEntity", f"Scope ARN: {arn} does not exist or is not attachable.", 404)
    return {"PermissionsBoundaryType": "PermissionsBoundaryPolicy", "PermissionsBoundaryArn": arn}


def put_boundary(call: Call) -> dict[str, Any]:
    find(call, ROLE, call.params["RoleName"])["view"]["PermissionsBoundary"] = _boundary(call)
    return {}


def delete_boundary(call: Call) -> dict[str, Any]:
    find(call, ROLE, call.params["RoleName"])["view"].pop("PermissionsBoundary", None)
    return {}


def get_role(call: Call) -> dict[str, Any]:
    return {"Role": shown(find(call, ROLE, call.params["RoleName"]))}


def delete_role(call: Call) -> dict[str, Any]:
    role = find(call, ROLE, call.params["RoleName"])
    if any(role["id"] in profile["roles"] for profile in call.all(PROFILE)):
        raise conflict("Cannot delete entity, must remove roles from instance profile first.")
    if role["attached"]:
        raise conflict("Cannot delete entity, must detach all policies first.")
    if role["inline"]:
        raise conflict("Cannot delete entity, must delete policies first.")
    call.world.remove(role, call.now)
    return {}


def list_roles(call: Call) -> dict[str, Any]:
    """List roles, without tags and boundaries.

    https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListRoles.html
    """
    prefix = call.params.get("PathPrefix", "/")
    shown_in_lists = (
        {name: value for name, value in row["view"].items() if name != "PermissionsBoundary"} for row in call.all(ROLE)
    )
    rows = [row for row in shown_in_lists if row["Path"].startswith(prefix)]
    return listed(call, "Roles", rows)


def tag_role(call: Call) -> dict[str, Any]:
    role = find(call, ROLE, call.params["RoleName"])
    call.world.set_tags(role, tags_of(call, role["tags"], call.params["Tags"]), call.now)
    return {}


def untag_role(call: Call) -> dict[str, Any]:
    role = find(call, ROLE, call.params["RoleName"])
    gone = {key.lower() for key in call.params["TagKeys"]}
    kept = {key: value for key, value in role["tags"].items() if key.lower() not in gone}
    call.world.set_tags(role, kept, call.now)
    return {}


def list_tags(call: Call) -> dict[str, Any]:
    return listed(call, "Tags", tag_list(find(call, ROLE, call.params["RoleName"])["tags"]))


def update_trust(call: Call) -> dict[str, Any]:
    check_document(call.params["PolicyDocument"])
    role = find(call, ROLE, call.params["RoleName"])
    role["view"]["AssumeRolePolicyDocument"] = call.params["PolicyDocument"]
    return {}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateRole", create_role,
           "RoleName Path AssumeRolePolicyDocument Description MaxSessionDuration PermissionsBoundary Tags"),
    reads("GetRole", get_role, "RoleName"),
    writes("DeleteRole", delete_role, "RoleName"),
    reads("ListRoles", list_roles, "PathPrefix Marker MaxItems"),
    writes("TagRole", tag_role, "RoleName Tags"),
    writes("UntagRole", untag_role, "RoleName TagKeys"),
    reads("ListRoleTags", list_tags, "RoleName Marker MaxItems"),
    writes("UpdateAssumeRolePolicy", update_trust, "RoleName PolicyDocument"),
    writes("PutRolePermissionsBoundary", put_boundary, "RoleName PermissionsBoundary"),
    writes("DeleteRolePermissionsBoundary", delete_boundary, "RoleName"),
)  # fmt: skip
