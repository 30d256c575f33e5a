"""Resource Manager v2: resource groups and quota definitions (docs/reference/ibm-cloud.md#resource-manager).

The first groups come from the settings; the world keeps what was created, changed or deleted.
"""

from collections.abc import Mapping
from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import served

Group = dict[str, Any]

_CREATED = 1_500_000_000.0
_QUOTAS = {
    "a3d7b8d01e261c24677937c29ab33f3c": "Pay-as-you-go Quota",
    "7ce89f4a-4381-4600-b814-3cd9a4f4bdf4": "Trial Quota",
}


def groups(call: Call) -> Mapping[str, str]:
    """Return the groups that exist: name to id, the default group first."""
    if not call.world.data.get("groups"):
        return call.settings.resource_groups
    return {group["name"]: group["id"] for group in _every(call) if group["state"] != "DELETED"}


def _every(call: Call) -> list[Group]:
    changed: dict[str, Group] = call.world.data.get("groups", {})
    first = {
        ident: {"id": ident, "name": name, "state": "ACTIVE", "created_at": _CREATED, "updated_at": _CREATED}
        for name, ident in call.settings.resource_groups.items()
    }
    return list({**first, **changed}.values())


def _is_default(call: Call, group: Group) -> bool:
    return bool(group["id"] == next(iter(call.settings.resource_groups.values())))


def _store(call: Call, group: Group) -> None:
    call.world.data.setdefault("groups", {})[group["id"]] = group


def _crn(call: Call, ident: str) -> str:
    return f"crn:v1:bluemix:public:resource-controller::a/{call.settings.account_id}::resource-group:{ident}"


def _render(call: Call, group: Group) -> dict[str, Any]:
    ident, quota = group["id"], next(iter(_QUOTAS))
    return {
        "id": ident,
        "crn": _crn(call, ident),
        "account_id": call.settings.account_id,
        "name": group["name"],
        "state": group["state"],
        "default": _is_default(call, group),
        "quota_id": quota,
        "quota_url": f"/v2/quota_definitions/{quota}",
        "payment_methods_url": f"/v2/resource_groups/{ident}/payment_methods",
        "resource_linkages": [],
        "teams_url": f"/v2/resource_groups/{ident}/teams",
        "created_at": iso(group["created_at"]),
        "updated_at": iso(group["updated_at"]),
    }


def _refuse_other_account(call: Call, account: str | None) -> None:
    if account and account != call.settings.account_id:
        raise errors.controller(403, "You are not authorized to see this account.")


def list_groups(call: Call) -> Reply:
    _refuse_other_account(call, call.query.get("account_id"))
    deleted = call.query.get("include_deleted", "").lower() == "true"
    shown = [_render(call, group) for group in _every(call) if deleted or group["state"] != "DELETED"]
    if wanted := call.query.get("name"):
        shown = [group for group in shown if group["name"] == wanted]
    if "default" in call.query:
        shown = [group for group in shown if group["default"] == (call.query["default"].lower() == "true")]
    return Reply(200, {"resources": shown})


def _find(call: Call) -> Group:
    for group in _every(call):
        if group["id"] == call.params["id"] and group["state"] != "DELETED":
            return group
    raise errors.controller(404, f"Resource group not found: {call.params['id']}")


def get_group(call: Call) -> Reply:
    return Reply(200, _render(call, _find(call)))


def _name(call: Call, body: dict[str, Any], own_id: str = "") -> str:
    name = body.get("name")
    if not name:
        raise errors.controller(400, "The field name is required.")
    if groups(call).get(name, own_id) != own_id:
        raise errors.controller(409, f"A resource group with the same name exists: {name}")
    return str(name)


def create_group(call: Call) -> Reply:
    body = call.json()
    _refuse_other_account(call, body.get("account_id"))
    group: Group = {
        "id": call.world.new_hex(), "name": _name(call, body), "state": "ACTIVE", "created_at": call.now,
        "updated_at": call.now,
    }  # fmt: skip
    _store(call, group)
    return Reply(201, {"id": group["id"], "crn": _crn(call, group["id"])})


def update_group(call: Call) -> Reply:
    group, body = _find(call), call.json()
    name = _name(call, body, group["id"]) if "name" in body else group["name"]
    state = body.get("state", group["state"])
    if state not in {"ACTIVE", "SUSPENDED"}:
        raise errors.controller(400, f"The state is not known: {state}")
    changed = {**group, "name": name, "state": state, "updated_at": call.now}
    _store(call, changed)
    return Reply(200, _render(call, changed))


def delete_group(call: Call) -> Reply:
    """Delete an empty group; one with resources, also in reclamation, stays (terraform-provider-ibm#3165)."""
    group = _find(call)
    if _is_default(call, group):
        raise errors.controller(400, "The default resource group cannot be deleted.")
    inside = [r for r in call.world.everything() if r.get("group") == group["id"] and r["state"] != "removed"]
    if inside:
        raise errors.controller(400, f"The resource group is not empty: it contains {inside[0]['crn']}")
    _store(call, {**group, "state": "DELETED", "updated_at": call.now})
    return Reply(204)


def _render_quota(ident: str) -> dict[str, Any]:
    return {
        "id": ident,
        "name": _QUOTAS[ident],
        "type": "account",
        "number_of_apps": 1000,
        "number_of_service_instances": 1000,
        "default_number_of_instances_per_lite_plan": 1,
        "instances_per_app": 100,
        "instance_memory": "8G",
        "total_app_memory": "512G",
        "vsi_limit": 100,
        "resource_quotas": [],
        "created_at": iso(_CREATED),
        "updated_at": iso(_CREATED),
    }


def list_quotas(call: Call) -> Reply:
    return Reply(200, {"resources": [_render_quota(ident) for ident in _QUOTAS]})


def get_quota(call: Call) -> Reply:
    if (ident := call.params["id"]) not in _QUOTAS:
        raise errors.controller(404, f"Quota definition not found: {ident}")
    return Reply(200, _render_quota(ident))


_RM = "/resource-controller/v2"
_GROUP = _RM + "/resource_groups/{id}"
_FILTERS = "account_id name default include_deleted"
ROUTES = (
    reads("GET", _RM + "/resource_groups", "rm.list_resource_groups", list_groups, query=_FILTERS),
    writes(
        "POST", _RM + "/resource_groups", "rm.create_resource_group", create_group, fields=served("name account_id")
    ),
    reads("GET", _GROUP, "rm.get_resource_group", get_group),
    writes("PATCH", _GROUP, "rm.update_resource_group", update_group, fields=served("name state")),
    writes("DELETE", _GROUP, "rm.delete_resource_group", delete_group),
    reads("GET", _RM + "/quota_definitions", "rm.list_quota_definitions", list_quotas),
    reads("GET", _RM + "/quota_definitions/{id}", "rm.get_quota_definition", get_quota),
)  # fmt: skip
