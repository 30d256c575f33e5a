"""Transit gateways (docs/reference/ibm-cloud.md#transit-gateway). Their connections are in transit_connections."""

import re
from typing import Any

from freehold_sim.ibm import errors, resource_manager
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import GROUP, Field, Only, not_served, served
from freehold_sim.ibm.world import Record

_NAME = re.compile(r"[a-zA-Z]([-_a-zA-Z0-9]*[a-zA-Z0-9])?")
BASE = "https://transit.cloud.ibm.com/v1"


def check_version(call: Call) -> None:
    if call.actor == "api" and "version" not in call.query:
        raise errors.vpc(400, "missing_field", "The query parameter version is required", "version")


def check_name(name: Any, limit: int) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= limit or not _NAME.fullmatch(name):
        message = f"The name is not valid: {name!r} (1-{limit} letters, digits, - and _, a letter first)"
        raise errors.vpc(400, "validation_name", message, "name", str(name))
    return name


def render(call: Call, record: Record) -> dict[str, Any]:
    group = record["group"]
    connections = call.world.all("connection", gateway=record["id"])
    return {
        "connection_count": len(connections),
        "connection_needs_attention": any(c["state"] == "failed" for c in connections),
        "created_at": iso(record["created_at"]),
        "crn": record["crn"],
        "global": record["global"],
        "gre_enhanced_route_propagation": False,
        "id": record["id"],
        "location": record["location"],
        "name": record["name"],
        "resource_group": {
            "href": f"https://resource-controller.cloud.ibm.com/v2/resource_groups/{group}",
            "id": group,
        },
        "status": record["state"],
        "updated_at": iso(record["updated_at"]),
    }


def find(call: Call) -> Record:
    check_version(call)
    record = call.world.get("gateway", call.params["id"])
    if record is None:
        raise errors.vpc(404, "not_found", "The gateway was not found.")
    return record


def page(call: Call, records: list[Record], key: str, path: str) -> tuple[list[Record], dict[str, Any]]:
    """Return one page of records, and the response body without the collection."""
    shown, limit, start = call.page(call.listed(records))
    url = f"{BASE}/{path}?limit={limit}"
    body: dict[str, Any] = {key: [], "first": {"href": url}, "limit": limit}
    if start:
        body["next"] = {"href": f"{url}&start={start}", "start": start}
    return shown, body


def list_gateways(call: Call) -> Reply:
    check_version(call)
    shown, body = page(call, call.world.all("gateway"), "transit_gateways", "transit_gateways")
    body["transit_gateways"] = [render(call, r) for r in shown]
    return Reply(200, body)


def get_gateway(call: Call) -> Reply:
    return Reply(200, render(call, find(call)))


def _check_quota(call: Call, location: str) -> None:
    quotas, status = call.settings.quotas, call.settings.assumptions.gateway_quota_status
    if len(call.world.all("gateway", location=location)) >= quotas.gateways_per_region:
        message = f"cannot add more than {quotas.gateways_per_region} gateways to the selected region"
        raise errors.vpc(status, "precondition_failed", message)
    if len(call.world.all("gateway")) >= quotas.gateways:
        raise errors.vpc(status, "precondition_failed", f"cannot add more than {quotas.gateways} gateways")


def create_gateway(call: Call) -> Reply:
    check_version(call)
    body, assumed = call.json(), call.settings.assumptions
    call.require(body, "name location")
    name, location = check_name(body.get("name"), assumed.gateway_name_limit), str(body.get("location"))
    if location not in call.settings.vpc_regions:
        raise errors.vpc(404, "not_found", "The location was not found.", "location", location)
    groups, asked = resource_manager.groups(call), body.get("resource_group") or {}
    if not isinstance(asked, dict):
        raise errors.vpc(400, "invalid_type", "resource_group must be an object with an id", "resource_group")
    group = asked.get("id") or next(iter(groups.values()))
    if group not in groups.values():
        raise errors.vpc(404, "not_found", f"The resource group was not found: {group}", "resource_group", str(group))
    if assumed.gateway_names_unique and call.world.all("gateway", name=name):
        raise errors.vpc(409, "conflict", "A gateway with the same name already exists.", "name", name)
    _check_quota(call, location)
    ident = call.world.new_uuid()
    record: Record = {
        "id": ident, "crn": f"crn:v1:bluemix:public:transit:{location}:a/{call.settings.account_id}::gateway:{ident}",
        "name": name, "location": location, "global": bool(body.get("global", False)), "group": group,
        "state": "pending", "by": call.actor,
    }  # fmt: skip
    call.world.add("gateway", call.now, record)
    call.provision(record, call.settings.delays.create_gateway, {"state": "available"}, {"state": "failed"})
    return Reply(201, render(call, record))


def update_gateway(call: Call) -> Reply:
    record, body = find(call), call.json()
    if record["state"] == "deleting":
        raise errors.vpc(409, "conflict", "The gateway is being deleted")
    if "name" in body:
        name = check_name(body["name"], call.settings.assumptions.gateway_name_limit)
        others = [r for r in call.world.all("gateway", name=name) if r is not record]
        if call.settings.assumptions.gateway_names_unique and others:
            raise errors.vpc(409, "conflict", "A gateway with the same name already exists.", "name", name)
        record["name"] = name
    if "global" in body:
        record["global"] = bool(body["global"])
    record["updated_at"] = call.now
    return Reply(200, render(call, record))


def delete_gateway(call: Call) -> Reply:
    """Start the delete; name and quota stay taken until the gateway is gone (terraform-provider-ibm#1783)."""
    record = find(call)
    if record["state"] == "deleting":
        raise errors.vpc(409, "conflict", "The gateway is being deleted")
    if call.world.all("connection", gateway=record["id"]):
        message = "The gateway has connections: delete them first"
        raise errors.vpc(call.settings.assumptions.gateway_with_connections_status, "gateway_in_use", message)
    call.world.redirect(record, state="deleting")
    call.world.schedule(call.takes(call.settings.delays.delete_gateway), record, None)
    return Reply(204)


_GATEWAYS = "/transit/v1/transit_gateways"
_SHARED: dict[str, Field] = {
    **served("name global"),
    "gre_enhanced_route_propagation": Only((False,)),
    **not_served("redundancy_group"),
}
_CREATE: dict[str, Field] = {
    **_SHARED, **served("location"), "resource_group": GROUP, **not_served("redundancy_group_id")
}  # fmt: skip
ROUTES = (
    reads("GET", _GATEWAYS, "transit.list_transit_gateways", list_gateways, query="limit start"),
    writes("POST", _GATEWAYS, "transit.create_transit_gateway", create_gateway, fields=_CREATE),
    reads("GET", _GATEWAYS + "/{id}", "transit.get_transit_gateway", get_gateway),
    writes("PATCH", _GATEWAYS + "/{id}", "transit.update_transit_gateway", update_gateway, fields=_SHARED),
    writes("DELETE", _GATEWAYS + "/{id}", "transit.delete_transit_gateway", delete_gateway),
)
