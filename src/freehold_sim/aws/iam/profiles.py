"""Instance profiles: each holds one role."""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.iam.common import PROFILE, ROLE, check_name, conflict, exists, find, listed, tag_list, tags_of
from freehold_sim.aws.iam.roles import shown as role_shown
from freehold_sim.aws.world import Record


def create_profile(call: Call) -> dict[str, Any]:
    name, path = call.params["InstanceProfileName"], call.params.get("Path", "/")
    check_name(name, "instanceProfileName")
    if call.get(PROFILE, name) is not None:
        raise exists("Instance Profile", name)
    arn = f"arn:aws:iam::{call.account}:instance-profile{path}{name}"
    view = {
        "Path": path, "InstanceProfileName": name, "InstanceProfileId": f"AIPA{call.world.new_hex().upper()}",
        "Arn": arn, "CreateDate": call.now,
    }  # fmt: skip
    tags = tags_of(call, {}, call.params.get("Tags", []))
    return {"InstanceProfile": _shown(call, call.add(PROFILE, name, view, arn, tags=tags, roles=[]))}


def _shown(call: Call, profile: Record) -> dict[str, Any]:
    roles = [role_shown(find(call, ROLE, name)) for name in profile["roles"]]
    return {**profile["view"], "Roles": roles, "Tags": tag_list(profile["tags"])}


def get_profile(call: Call) -> dict[str, Any]:
    return {"InstanceProfile": _shown(call, find(call, PROFILE, call.params["InstanceProfileName"]))}


def delete_profile(call: Call) -> dict[str, Any]:
    profile = find(call, PROFILE, call.params["InstanceProfileName"])
    if profile["roles"]:
        raise conflict("Cannot delete entity, must remove roles from instance profile first.")
    call.world.remove(profile, call.now)
    return {}


def add_role(call: Call) -> dict[str, Any]:
    profile = find(call, PROFILE, call.params["InstanceProfileName"])
    role = find(call, ROLE, call.params["RoleName"])
    if profile["roles"]:
        raise Refused("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1", 409)
    profile["roles"].append(role["id"])
    return {}


def remove_role(call: Call) -> dict[str, Any]:
    profile, name = find(call, PROFILE, call.params["InstanceProfileName"]), call.params["RoleName"]
    if name not in profile["roles"]:
        raise Refused("NoSuchEntity", f"The role with name {name} cannot be found.", 404)
    profile["roles"].remove(name)
    return {}


def list_for_role(call: Call) -> dict[str, Any]:
    role = find(call, ROLE, call.params["RoleName"])
    rows = [_shown(call, row) for row in call.all(PROFILE) if role["id"] in row["roles"]]
    return listed(call, "InstanceProfiles", rows)


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateInstanceProfile", create_profile, "InstanceProfileName Path Tags"),
    reads("GetInstanceProfile", get_profile, "InstanceProfileName"),
    writes("DeleteInstanceProfile", delete_profile, "InstanceProfileName"),
    writes("AddRoleToInstanceProfile", add_role, "InstanceProfileName RoleName"),
    writes("RemoveRoleFromInstanceProfile", remove_role, "InstanceProfileName RoleName"),
    reads("ListInstanceProfilesForRole", list_for_role, "RoleName Marker MaxItems"),
)
