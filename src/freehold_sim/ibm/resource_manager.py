"""Resource Manager v2: resource groups. The groups are part of the settings.

Source: docs/reference/ibm-cloud.md#resource-manager.
"""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, iso, reads
from freehold_sim.ibm.settings import Settings

_CREATED = 1_500_000_000.0


def _group(settings: Settings, name: str, ident: str) -> dict[str, Any]:
    account = settings.account_id
    return {
        "id": ident,
        "crn": f"crn:v1:bluemix:public:resource-controller::a/{account}::resource-group:{ident}",
        "account_id": account,
        "name": name,
        "state": "ACTIVE",
        "default": name == "Default",
        "quota_id": "a3d7b8d01e261c24677937c29ab33f3c",
        "quota_url": "/v2/quota_definitions/a3d7b8d01e261c24677937c29ab33f3c",
        "payment_methods_url": f"/v2/resource_groups/{ident}/payment_methods",
        "resource_linkages": [],
        "teams_url": f"/v2/resource_groups/{ident}/teams",
        "created_at": iso(_CREATED),
        "updated_at": iso(_CREATED),
    }


def list_groups(call: Call) -> Reply:
    account = call.query.get("account_id", call.settings.account_id)
    if account != call.settings.account_id:
        raise errors.controller(403, "You are not authorized to see this account.")
    groups = [_group(call.settings, name, ident) for name, ident in call.settings.resource_groups.items()]
    if wanted := call.query.get("name"):
        groups = [g for g in groups if g["name"] == wanted]
    if "default" in call.query:
        groups = [g for g in groups if g["default"] == (call.query["default"].lower() == "true")]
    return Reply(200, {"resources": groups})


def get_group(call: Call) -> Reply:
    for name, ident in call.settings.resource_groups.items():
        if ident == call.params["id"]:
            return Reply(200, _group(call.settings, name, ident))
    raise errors.controller(404, f"Resource group not found: {call.params['id']}")


ROUTES = (
    reads(
        "GET",
        "/resource-controller/v2/resource_groups",
        "rm.list_resource_groups",
        list_groups,
        query="account_id name default",
    ),
    reads("GET", "/resource-controller/v2/resource_groups/{id}", "rm.get_resource_group", get_group),
)
