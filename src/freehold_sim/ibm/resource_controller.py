"""Resource Controller v2: service instances. Their reclamations and keys have modules of their own.

Source: docs/reference/ibm-cloud.md#resource-controller.
"""

import re
from dataclasses import dataclass
from typing import Any

from freehold_sim.ibm import errors, iam, resource_manager
from freehold_sim.ibm import resource_pages as pages
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import served
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


def resource_id(record: Record) -> str:
    return _BY_PLAN[record["plan"]].resource_id


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
        "resource_id": resource_id(record),
        "last_operation": _last_operation(record),
        "resource_aliases_url": f"{url}/resource_aliases",
        "resource_bindings_url": f"{url}/resource_bindings",
        "resource_keys_url": f"{url}/resource_keys",
        "plan_history": [
            {"resource_plan_id": plan, "start_date": iso(since)}
            for plan, since in record.get("plans") or [[record["plan"], record["created_at"]]]
        ],
        "migrated": False,
        "locked": record["locked"],
        "onetime_credentials": has_onetime_credentials(record),
        "parameters": record["parameters"],
    }
    if record["state"] == "removed":
        shown["deleted_at"] = iso(record["updated_at"])
    return shown


def _last_operation(record: Record) -> dict[str, Any]:
    running = record["progress"] == "in progress"
    shown = {
        "type": record["operation"],
        "state": record["progress"],
        "async": running,
        "description": f"{record['operation']} {record['progress']}",
        "cancelable": _is_being_created(record),
        "poll": running,
    }
    return {**shown, "sub_type": record["sub_operation"]} if record.get("sub_operation") else shown


def has_onetime_credentials(record: Record) -> bool:
    """Return whether the credentials of new keys are shown only by the create."""
    return record["parameters"].get("onetime_credentials") is True


def _is_being_created(record: Record) -> bool:
    return bool(record["operation"] == "create" and record["progress"] == "in progress")


def list_instances(call: Call) -> Reply:
    return pages.page(call, "/v2/resource_instances", call.world.all("instance"), _matches, render)


def _matches(record: Record, filters: pages.Filters) -> bool:
    states = {filters["state"]} if "state" in filters else _LISTED_BY_DEFAULT
    offering = _BY_PLAN[record["plan"]]
    have = {
        "guid": record["id"],
        "name": record["name"],
        "resource_group_id": record["group"],
        "resource_id": offering.resource_id,
        "resource_plan_id": record["plan"],
        "type": offering.instance_type,
        "sub_type": "",
    }
    return record["state"] in states and pages.equal(have, filters) and pages.updated_within(record, filters)


def _name_of(body: dict[str, Any]) -> str:
    name = body.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise errors.controller(400, f"The instance name is not valid: {name!r} (1-180 of A-Z a-z 0-9 space - . _ :)")
    return name


def create_instance(call: Call) -> Reply:
    body = call.json()
    call.require(body, "name target resource_group resource_plan_id")
    name, target, plan = _name_of(body), body.get("target"), body.get("resource_plan_id")
    offering = _BY_PLAN.get(str(plan))
    if offering is None:
        raise errors.controller(404, f"The resource plan is not found: {plan}")
    if body.get("resource_group") not in resource_manager.groups(call).values():
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
        "state": "provisioning", "operation": "create", "sub_operation": "", "progress": "in progress",
        "by": call.actor, "tries": 0, "iam_id": iam.identity(call), "plans": [[plan, call.now]],
        "locked": call.request.headers.get("entity-lock", "").lower() == "true",
        "allow_cleanup": bool(body.get("allow_cleanup", False)), "parameters": body.get("parameters") or {},
    }  # fmt: skip
    call.world.add("instance", call.now, record)
    _provision(call, record, offering, list(body.get("tags") or ()))
    status = call.settings.assumptions.instance_create_status if record["progress"] == "in progress" else 201
    return Reply(status, render(call, record))


def _provision(call: Call, record: Record, offering: Offering, tags: list[str]) -> None:
    """Start provisioning; a plan without provisioning, such as COS, is done before the reply."""
    delays = call.settings.delays
    seconds = delays.create_workspace if offering is POWER else delays.create_cos
    good = {"state": "active", "progress": "succeeded", "+tags": tags}
    call.provision(record, seconds, good, {"state": "failed", "progress": "failed"})
    if not seconds:
        call.world.finish_pending(record, call.now)


def get_instance(call: Call) -> Reply:
    return Reply(200, render(call, find(call, call.params["id"])))


def _refuse_removed(record: Record) -> None:
    if record["state"] == "removed":
        raise errors.controller(410, "The resource instance is removed already.")


def _refuse_locked(record: Record) -> None:
    if record["locked"]:
        raise errors.controller(400, "The resource instance is locked. Unlock it and retry.")


def _did(call: Call, record: Record, operation: str, sub_operation: str = "") -> None:
    """Show a finished operation as the last one, unless another one is still in progress."""
    record["updated_at"] = call.now
    if record["progress"] != "in progress":
        record.update(operation=operation, sub_operation=sub_operation, progress="succeeded")


def update_instance(call: Call) -> Reply:
    record, body = find(call, call.params["id"]), call.json()
    _refuse_removed(record)
    _refuse_locked(record)
    name = _name_of(body) if "name" in body else record["name"]
    plan = body.get("resource_plan_id") or record["plan"]
    if plan not in _BY_PLAN[record["plan"]].plans:
        raise errors.controller(400, f"The plan is not one of this offering: {plan}")
    if plan != record["plan"]:
        record["plans"] = [*record.get("plans", [[record["plan"], record["created_at"]]]), [plan, call.now]]
    record.update(name=name, plan=plan)
    if body.get("parameters") is not None:
        record["parameters"] = body["parameters"]
    if body.get("allow_cleanup") is not None:
        record["allow_cleanup"] = bool(body["allow_cleanup"])
    _did(call, record, "update", "config")
    return Reply(200, render(call, record))


def delete_instance(call: Call) -> Reply:
    record, assumed = find(call, call.params["id"]), call.settings.assumptions
    _refuse_removed(record)
    if record["state"] == "pending_reclamation":
        status = assumed.reclaimed_delete_status
        raise errors.controller(status, _RECLAIMED.get(status, _RECLAIMED[400]))
    _refuse_locked(record)
    keys = call.world.all("resource-key", instance=record["id"], state="active")
    if keys and call.query.get("recursive", "").lower() != "true":
        raise errors.controller(400, "Cannot delete instance or alias, resource keys must first be deleted.")
    if record["operation"] == "delete" and record["progress"] == "in progress":
        return Reply(assumed.instance_delete_status)
    for key in keys:
        remove_key(call, key)
    if record["service"] == COS.service:
        _delete_at_once(call, record)
        return Reply(204)
    _start_removal(call, record)
    return Reply(assumed.instance_delete_status)


def remove_key(call: Call, key: Record) -> None:
    """Delete the key; it stays readable in state `removed`, as a removed instance does."""
    call.world.redirect(key, state="removed", updated_at=call.now)
    call.world.unindex(key, call.now)


def _delete_at_once(call: Call, record: Record) -> None:
    """Delete an instance of a plan without provisioning; an active one goes into reclamation."""
    if record["state"] == "active":
        _start_reclamation(call, record)
    else:
        call.world.redirect(record, operation="delete", sub_operation="", progress="succeeded", state="removed")
        call.world.unindex(record, call.now)


_REMOVED = {"state": "removed", "progress": "succeeded", "-index": True}


def _start_removal(call: Call, record: Record) -> None:
    """Delete a workspace with everything in it. This may take several tries (CAPIBM#1805)."""
    done = call.takes(call.settings.delays.delete_workspace)
    contents = workspace_contents(call, record["id"])
    call.world.redirect(record, operation="delete", sub_operation="", progress="in progress", tries=record["tries"] + 1)
    if contents and record["tries"] < call.settings.assumptions.workspace_delete_tries:
        call.world.schedule(done, record, {"progress": "failed"})
        return
    for child in contents:
        call.world.redirect(child)
        call.world.schedule(done, child, None)
    call.world.schedule(done, record, dict(_REMOVED))


def workspace_contents(call: Call, workspace: str) -> list[Record]:
    kinds = ("dhcp", "network", "vm", "port", "network-interface")
    return [r for kind in kinds for r in call.world.all(kind, workspace=workspace)]


def _start_reclamation(call: Call, record: Record) -> None:
    """Put a COS instance into reclamation: it can be restored until the reclamation period ends."""
    due = call.now + call.settings.delays.cos_reclamation
    call.world.redirect(
        record, state="pending_reclamation", operation="reclamation", sub_operation="pending", progress="succeeded",
        updated_at=call.now,
    )  # fmt: skip
    ident = call.world.new_uuid()
    reclamation: Record = {
        "id": ident, "name": record["name"], "state": "SCHEDULED", "instance": record["id"], "due": due,
        "by": call.actor,
    }  # fmt: skip
    call.world.add("reclamation", call.now, reclamation)
    reclaim_at(call, record, reclamation, due)


def reclaim_at(call: Call, record: Record, reclamation: Record, when: float) -> None:
    """Remove the instance, its buckets and its reclamation at `when`."""
    for bucket in call.world.all("bucket", instance=record["id"]):
        call.world.redirect(bucket)
        call.world.schedule(when, bucket, None)
    call.world.schedule(when, reclamation, None)
    call.world.schedule(when, record, {**_REMOVED, "operation": "reclamation", "sub_operation": "delete"})


def lock(call: Call) -> Reply:
    record = find(call, call.params["id"])
    _refuse_removed(record)
    record["locked"] = call.request.method == "POST"
    _did(call, record, "lock" if record["locked"] else "unlock")
    return Reply(200, render(call, record))


def cancel_last_operation(call: Call) -> Reply:
    """Cancel a create in progress: the instance is removed. No other operation can be cancelled.

    The refusal: https://github.com/IBM/platform-services-go-sdk (resourcecontrollerv2, its integration test 53).
    """
    record = find(call, call.params["id"])
    if record["state"] == "removed" or not _is_being_created(record):
        raise errors.controller(422, "The instance is not cancelable.")
    call.world.redirect(record, state="removed", progress="failed", sub_operation="cancel", updated_at=call.now)
    call.world.unindex(record, call.now)
    return Reply(200, render(call, record))


_RC = "/resource-controller/v2/resource_instances"
_CREATE = served("name target resource_group resource_plan_id tags allow_cleanup parameters")
_UPDATE = served("name resource_plan_id allow_cleanup parameters")
_FILTERS = f"guid name resource_group_id resource_id resource_plan_id type sub_type state {pages.UPDATED} {pages.PAGES}"
ROUTES = (
    reads("GET", _RC, "rc.list_resource_instances", list_instances, query=_FILTERS),
    writes("POST", _RC, "rc.create_resource_instance", create_instance, fields=_CREATE),
    reads("GET", _RC + "/{id}", "rc.get_resource_instance", get_instance),
    writes("PATCH", _RC + "/{id}", "rc.update_resource_instance", update_instance, fields=_UPDATE),
    writes("DELETE", _RC + "/{id}", "rc.delete_resource_instance", delete_instance, query="recursive"),
    writes("POST", _RC + "/{id}/lock", "rc.lock_resource_instance", lock),
    writes("DELETE", _RC + "/{id}/lock", "rc.unlock_resource_instance", lock),
    writes("DELETE", _RC + "/{id}/last_operation", "rc.cancel_lastop_resource_instance", cancel_last_operation),
)
