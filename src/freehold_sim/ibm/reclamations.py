"""Reclamations: a deleted COS instance can be restored until its reclamation period ends.

Source: docs/reference/ibm-cloud.md#resource-controller.
"""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import served
from freehold_sim.ibm.resource_controller import find, reclaim_at
from freehold_sim.ibm.world import Record


def _render(call: Call, record: Record) -> dict[str, Any]:
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
        "updated_by": record.get("requested_by", ""),
        "custom_properties": {"comment": record["comment"]} if record.get("comment") else {},
    }


def list_reclamations(call: Call) -> Reply:
    shown = [_render(call, r) for r in call.world.all("reclamation")]
    for key in ("account_id", "resource_instance_id", "resource_group_id"):
        if wanted := call.query.get(key):
            shown = [r for r in shown if r[key] == wanted]
    return Reply(200, {"resources": shown})


def act(call: Call) -> Reply:
    record = call.world.get("reclamation", call.params["id"])
    if record is None:
        raise errors.controller(404, f"The reclamation is not found: {call.params['id']}")
    instance = find(call, record["instance"])
    body = call.json()
    record.update(requested_by=str(body.get("request_by") or ""), comment=str(body.get("comment") or ""))
    if call.params["action"] == "restore":
        return _restore(call, record, instance)
    if call.params["action"] != "reclaim":
        raise errors.controller(400, f"The action is not known: {call.params['action']}")
    soon = call.takes(call.settings.delays.reclaim_cos)
    call.world.redirect(record, state="RECLAIMING")
    call.world.redirect(instance)
    reclaim_at(call, instance, record, soon)
    return Reply(200, _render(call, record))


def _restore(call: Call, record: Record, instance: Record) -> Reply:
    shown = {**_render(call, record), "state": "RESTORING"}
    for bucket in call.world.all("bucket", instance=instance["id"]):
        call.world.redirect(bucket)
    call.world.redirect(
        instance, state="active", operation="reclamation", sub_operation="restore", progress="succeeded",
        updated_at=call.now,
    )  # fmt: skip
    call.world.remove(record, call.now)
    return Reply(200, shown)


_RECLAMATIONS = "/resource-controller/v1/reclamations"
ROUTES = (
    reads(
        "GET", _RECLAMATIONS, "rc.list_reclamations", list_reclamations,
        query="account_id resource_instance_id resource_group_id",
    ),
    writes(
        "POST", _RECLAMATIONS + "/{id}/actions/{action}", "rc.run_reclamation_action", act,
        fields=served("request_by comment"),
    ),
)  # fmt: skip
