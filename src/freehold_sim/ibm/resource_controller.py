"""Resource Controller v2: service instances and their reclamations.

Source: docs/reference/ibm-cloud.md#resource-controller.
"""

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from freehold_sim.ibm import errors, iam
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.world import Record

_NAME = re.compile(r"[A-Za-z0-9 \-._:]{1,180}")
_LISTED_BY_DEFAULT = {"active", "provisioning"}
_RECLAIMED = {  # IBM/cloud-operators#70, terraform-provider-ibm#3522
    400: "Instance is already in pending_reclamation state.",
    422: "Instance is in reclamation, please use the API to the delete the resource reclamation for the instance",
}


@dataclass(frozen=True)
class Offering:
    """A catalog entry."""

    service: str
    resource_id: str
    plans: tuple[str, ...]
    instance_type: str


POWER = Offering(
    "power-iaas",
    "abd259f0-9990-11e8-acc8-b9f54a8f1661",
    ("f165dd34-3a40-423b-9d95-e90a23f724dd", "1112d6a9-71d6-4968-956b-eb3edbf0225b"),
    "composite_instance",
)
COS = Offering(
    "cloud-object-storage",
    "dff97f5c-bc5e-4455-b470-411c3edbe49c",
    ("1e4e33e4-cfa6-4f12-9016-be594a6d5f87",),
    "service_instance",
)
_BY_PLAN = {plan: offering for offering in (POWER, COS) for plan in offering.plans}


def find(call: Call, ident: str) -> Record:
    """Return the instance with this guid or CRN, also a removed one; refuses with 404 otherwise."""
    guid = ident.split(":")[7] if ident.count(":") >= 9 else ident
    record = call.world.get("instance", guid)
    if record is None:
        raise errors.controller(404, f"The resource instance is not found: {ident}")
    return record


def render(call: Call, record: Record) -> dict[str, Any]:
    account, group = call.settings.account_id, record["group"]
    url = f"/v2/resource_instances/{record['crn'].replace(':', '%3A').replace('/', '%2F')}"
    shown = {
        "id": record["crn"],
        "guid": record["id"],
        "url": url,
        "created_at": iso(record["created_at"]),
        "created_by": record.get("iam_id", ""),
        "updated_at": iso(record["updated_at"]),
        "name": record["name"],
        "region_id": record["target"],
        "account_id": account,
        "resource_plan_id": record["plan"],
        "resource_group_id": group,
        "resource_group_crn": f"crn:v1:bluemix:public:resource-controller::a/{account}::resource-group:{group}",
        "target_crn": f"crn:v1:bluemix:public:globalcatalog::::deployment:{record['plan']}%3A{record['target']}",
        "allow_cleanup": record["allow_cleanup"],
        "crn": record["crn"],
        "state": record["state"],
        "type": _BY_PLAN[record["plan"]].instance_type,
        "resource_id": _BY_PLAN[record["plan"]].resource_id,
        "last_operation": {
            "type": record["operation"],
            "state": record["progress"],
            "async": True,
            "description": f"{record['operation']} {record['progress']}",
            "cancelable": False,
            "poll": record["progress"] == "in progress",
        },
        "resource_aliases_url": f"{url}/resource_aliases",
        "resource_bindings_url": f"{url}/resource_bindings",
        "resource_keys_url": f"{url}/resource_keys",
        "plan_history": [{"resource_plan_id": record["plan"], "start_date": iso(record["created_at"])}],
        "migrated": False,
        "locked": record["locked"],
    }
    if record["state"] == "removed":
        shown["deleted_at"] = iso(record["updated_at"])
    return shown


def list_instances(call: Call) -> Reply:
    """List by filters. A page token contains its filters; other filters in the same request are ignored."""
    query = dict(call.query)
    after = 0
    if token := query.get("start"):
        try:
            after, query = json.loads(base64.urlsafe_b64decode(token.encode()))
        except (ValueError, TypeError):
            raise errors.controller(400, f"start is not a page token: {token}") from None
    text = query.get("limit", "10")
    if not text.isdigit() or not 1 <= int(text) <= 100:
        raise errors.controller(400, f"limit must be between 1 and 100, not {text}")
    limit = min(int(text), call.settings.page_size or 100)
    matching = [r for r in call.listed(call.world.all("instance")) if _matches(r, query)]
    rest = [r for r in matching if r["serial"] > after]
    following = ""
    if len(rest) > limit:
        state = json.dumps([rest[limit - 1]["serial"], query]).encode()
        following = f"/v2/resource_instances?start={base64.urlsafe_b64encode(state).decode().replace('=', '%3D')}"
    shown = [render(call, r) for r in rest[:limit]]
    return Reply(200, {"rows_count": len(shown), "next_url": following, "resources": shown})


def _matches(record: Record, query: dict[str, str]) -> bool:
    states = {query["state"]} if "state" in query else _LISTED_BY_DEFAULT
    offering = _BY_PLAN[record["plan"]]
    have = {
        "guid": record["id"],
        "name": record["name"],
        "resource_group_id": record["group"],
        "resource_id": offering.resource_id,
        "resource_plan_id": record["plan"],
        "type": offering.instance_type,
    }
    return record["state"] in states and all(query[key] == value for key, value in have.items() if key in query)


def _name_of(body: dict[str, Any]) -> str:
    name = body.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise errors.controller(400, f"The instance name is not valid: {name!r} (1-180 of A-Z a-z 0-9 space - . _ :)")
    return name


def create_instance(call: Call) -> Reply:
    body = call.json()
    name, target, plan = _name_of(body), body.get("target"), body.get("resource_plan_id")
    offering = _BY_PLAN.get(str(plan))
    if offering is None:
        raise errors.controller(404, f"The resource plan is not found: {plan}")
    if body.get("resource_group") not in call.settings.resource_groups.values():
        raise errors.controller(404, f"The resource group is not found: {body.get('resource_group')}")
    if offering is POWER and target not in call.settings.power_zones:
        raise errors.controller(400, f"The target is not a location of this plan: {target}")
    if offering is COS and str(target).lower() not in {"global", "bluemix-global"}:
        raise errors.controller(400, f"The target is not a location of this plan: {target}")
    guid = call.world.new_uuid()
    place = target if offering is POWER else "global"
    record: Record = {
        "id": guid, "crn": f"crn:v1:bluemix:public:{offering.service}:{place}:a/{call.settings.account_id}:{guid}::",
        "name": name, "service": offering.service, "group": body["resource_group"], "plan": plan, "target": place,
        "state": "provisioning", "operation": "create", "progress": "in progress", "by": call.actor, "tries": 0,
        "iam_id": iam.identity(call),
        "locked": call.request.headers.get("entity-lock", "").lower() == "true",
        "allow_cleanup": bool(body.get("allow_cleanup", False)), "parameters": body.get("parameters") or {},
    }  # fmt: skip
    call.world.add("instance", call.now, record)
    delays = call.settings.delays
    call.provision(
        record,
        delays.create_workspace if offering is POWER else delays.create_cos,
        {"state": "active", "progress": "succeeded", "+tags": list(body.get("tags") or ())},
        {"state": "failed", "progress": "failed"},
    )
    return Reply(call.settings.assumptions.instance_create_status, render(call, record))


def get_instance(call: Call) -> Reply:
    return Reply(200, render(call, find(call, call.params["id"])))


def update_instance(call: Call) -> Reply:
    record, body = find(call, call.params["id"]), call.json()
    if record["state"] == "removed":
        raise errors.controller(410, "The resource instance is removed.")
    if "name" in body:
        record["name"] = _name_of(body)
    record.update(updated_at=call.now, operation="update", progress="succeeded")
    return Reply(200, render(call, record))


def delete_instance(call: Call) -> Reply:
    record, assumed = find(call, call.params["id"]), call.settings.assumptions
    if record["state"] == "removed":
        raise errors.controller(410, "The resource instance is removed already.")
    if record["state"] == "pending_reclamation":
        status = assumed.reclaimed_delete_status
        raise errors.controller(status, _RECLAIMED.get(status, _RECLAIMED[400]))
    if record["locked"]:
        raise errors.controller(400, "The resource instance is locked. Unlock it and retry.")
    keys = call.world.all("resource-key", instance=record["id"])
    if keys and call.query.get("recursive", "").lower() != "true":
        raise errors.controller(400, "Cannot delete instance or alias, resource keys must first be deleted.")
    if record["operation"] == "delete" and record["progress"] == "in progress":
        return Reply(assumed.instance_delete_status)
    for key in keys:
        call.world.remove(key, call.now)
    if record["service"] == COS.service and record["state"] == "active":
        _start_reclamation(call, record)
    else:
        _start_removal(call, record)
    return Reply(assumed.instance_delete_status)


_REMOVED = {"state": "removed", "progress": "succeeded", "-index": True}


def _start_removal(call: Call, record: Record) -> None:
    """Delete a workspace with everything in it. This may take several tries (CAPIBM#1805)."""
    done = call.takes(call.settings.delays.delete_workspace)
    contents = workspace_contents(call, record["id"])
    call.world.redirect(record, operation="delete", progress="in progress", tries=record["tries"] + 1)
    if contents and record["tries"] < call.settings.assumptions.workspace_delete_tries:
        call.world.schedule(done, record, {"progress": "failed"})
        return
    for child in contents:
        call.world.redirect(child)
        call.world.schedule(done, child, None)
    call.world.schedule(done, record, dict(_REMOVED))


def workspace_contents(call: Call, workspace: str) -> list[Record]:
    kinds = ("dhcp", "network", "vm", "port")
    return [r for kind in kinds for r in call.world.all(kind, workspace=workspace)]


def _start_reclamation(call: Call, record: Record) -> None:
    """Put a COS instance into reclamation: it can be restored until the reclamation period ends."""
    due = call.now + call.settings.delays.cos_reclamation
    call.world.redirect(record, state="pending_reclamation", operation="delete", progress="succeeded")
    record["updated_at"] = call.now
    ident = call.world.new_uuid()
    reclamation: Record = {
        "id": ident, "name": record["name"], "state": "SCHEDULED", "instance": record["id"], "due": due,
        "by": call.actor,
    }  # fmt: skip
    call.world.add("reclamation", call.now, reclamation)
    _reclaim_at(call, record, reclamation, due)


def _reclaim_at(call: Call, record: Record, reclamation: Record, when: float) -> None:
    for bucket in call.world.all("bucket", instance=record["id"]):
        call.world.redirect(bucket)
        call.world.schedule(when, bucket, None)
    call.world.schedule(when, reclamation, None)
    call.world.schedule(when, record, dict(_REMOVED))


def _render_reclamation(call: Call, record: Record) -> dict[str, Any]:
    instance = find(call, record["instance"])
    return {
        "id": record["id"],
        "entity_id": instance["id"],
        "entity_type_id": "resource-instance",
        "entity_crn": instance["crn"],
        "resource_instance_id": instance["id"],
        "resource_group_id": instance["group"],
        "account_id": call.settings.account_id,
        "policy_id": "cos-reclamation",
        "state": record["state"],
        "target_time": iso(record["due"]),
        "created_at": iso(record["created_at"]),
        "updated_at": iso(record["updated_at"]),
    }


def list_reclamations(call: Call) -> Reply:
    shown = [_render_reclamation(call, r) for r in call.world.all("reclamation")]
    for key in ("account_id", "resource_instance_id", "resource_group_id"):
        if wanted := call.query.get(key):
            shown = [r for r in shown if r[key] == wanted]
    return Reply(200, {"resources": shown})


def act_on_reclamation(call: Call) -> Reply:
    record = call.world.get("reclamation", call.params["id"])
    if record is None:
        raise errors.controller(404, f"The reclamation is not found: {call.params['id']}")
    instance = find(call, record["instance"])
    if call.params["action"] == "restore":
        shown = {**_render_reclamation(call, record), "state": "RESTORING"}
        for bucket in call.world.all("bucket", instance=instance["id"]):
            call.world.redirect(bucket)
        call.world.redirect(instance, state="active", operation="restore", progress="succeeded")
        call.world.remove(record, call.now)
        return Reply(200, shown)
    if call.params["action"] != "reclaim":
        raise errors.controller(400, f"The action is not known: {call.params['action']}")
    soon = call.takes(call.settings.delays.create_cos)
    call.world.redirect(record, state="RECLAIMING")
    call.world.redirect(instance)
    _reclaim_at(call, instance, record, soon)
    return Reply(200, _render_reclamation(call, record))


def lock(call: Call) -> Reply:
    record = find(call, call.params["id"])
    record["locked"] = call.request.method == "POST"
    return Reply(200, render(call, record))


_RC = "/resource-controller/v2/resource_instances"
_RECLAMATIONS = "/resource-controller/v1/reclamations"
ROUTES = (
    reads("GET", _RC, "rc.list_resource_instances", list_instances),
    writes("POST", _RC, "rc.create_resource_instance", create_instance),
    reads("GET", _RC + "/{id}", "rc.get_resource_instance", get_instance),
    writes("PATCH", _RC + "/{id}", "rc.update_resource_instance", update_instance),
    writes("DELETE", _RC + "/{id}", "rc.delete_resource_instance", delete_instance),
    writes("POST", _RC + "/{id}/lock", "rc.lock_resource_instance", lock),
    writes("DELETE", _RC + "/{id}/lock", "rc.unlock_resource_instance", lock),
    reads("GET", _RECLAMATIONS, "rc.list_reclamations", list_reclamations),
    writes("POST", _RECLAMATIONS + "/{id}/actions/{action}", "rc.run_reclamation_action", act_on_reclamation),
)
