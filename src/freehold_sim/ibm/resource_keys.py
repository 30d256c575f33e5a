"""Resource keys: the credentials of an instance, with HMAC keys for COS.

Source: docs/reference/ibm-cloud.md#resource-controller.
"""

from typing import Any

from freehold_sim.ibm import errors, resource_controller
from freehold_sim.ibm import resource_pages as pages
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import served
from freehold_sim.ibm.world import Record

_REDACTED = {"REDACTED": "REDACTED_EXPLICIT"}


def render(call: Call, record: Record) -> dict[str, Any]:
    """Return the key as reads show it: without credentials if they were shown once, by the create."""
    instance = resource_controller.find(call, record["instance"])
    onetime = bool(record.get("onetime"))
    shown = {
        "id": record["crn"],
        "guid": record["id"],
        "url": f"/v2/resource_keys/{record['id']}",
        "created_at": iso(record["created_at"]),
        "updated_at": iso(record["updated_at"]),
        "source_crn": instance["crn"],
        "name": record["name"],
        "crn": record["crn"],
        "state": record["state"],
        "account_id": call.settings.account_id,
        "resource_group_id": instance["group"],
        "resource_id": resource_controller.resource_id(instance),
        "onetime_credentials": onetime,
        "credentials": dict(_REDACTED) if onetime else _credentials(call, record),
        "iam_compatible": True,
        "migrated": False,
        "resource_instance_url": f"/v2/resource_instances/{instance['id']}",
    }
    return {**shown, "deleted_at": iso(record["updated_at"])} if record["state"] == "removed" else shown


def _credentials(call: Call, record: Record) -> dict[str, Any]:
    account = call.settings.account_id
    shown: dict[str, Any] = {
        "apikey": record["secret"],
        "iam_apikey_description": f"Auto-generated for key {record['crn']}",
        "iam_apikey_name": record["name"],
        "iam_role_crn": f"crn:v1:bluemix:public:iam::::serviceRole:{record['role']}",
        "iam_serviceid_crn": f"crn:v1:bluemix:public:iam-identity::a/{account}::serviceid:ServiceId-{record['id']}",
    }
    if record["access_key"]:
        hmac_keys = {"access_key_id": record["access_key"], "secret_access_key": record["secret"]}
        shown["cos_hmac_keys"] = hmac_keys
    return shown


def _find(call: Call) -> Record:
    ident = call.params["id"]
    guid = ident.split(":")[-1] if ident.startswith("crn:") else ident
    record = call.world.get("resource-key", guid)
    if record is None:
        raise errors.controller(404, f"The resource key is not found: {ident}")
    return record


def _refuse_removed(record: Record) -> None:
    if record["state"] == "removed":
        raise errors.controller(410, "The resource key is removed already.")


def list_keys(call: Call) -> Reply:
    def matches(record: Record, filters: pages.Filters) -> bool:
        instance = resource_controller.find(call, record["instance"])
        have = {
            "guid": record["id"],
            "name": record["name"],
            "resource_group_id": instance["group"],
            "resource_id": resource_controller.resource_id(instance),
        }
        return pages.equal(have, filters) and pages.updated_within(record, filters)

    return pages.page(call, "/v2/resource_keys", call.world.all("resource-key", state="active"), matches, render)


def list_keys_of_instance(call: Call) -> Reply:
    instance = resource_controller.find(call, call.params["id"])
    path = f"/v2/resource_instances/{instance['id']}/resource_keys"
    records = call.world.all("resource-key", instance=instance["id"], state="active")
    return pages.page(call, path, records, lambda *_: True, render)


def get_key(call: Call) -> Reply:
    return Reply(200, render(call, _find(call)))


def create_key(call: Call) -> Reply:
    body = call.json()
    if not body.get("name"):
        raise errors.controller(400, "The field name is required.")
    instance = resource_controller.find(call, str(body.get("source", "")))
    if instance["state"] != "active":
        raise errors.controller(400, f"The resource instance is not active: it is {instance['state']}.")
    hmac_wanted = bool((body.get("parameters") or {}).get("HMAC"))
    ident, role = call.world.new_uuid(), str(body.get("role") or "Writer").rpartition(":")[2]
    record: Record = {
        "id": ident, "name": body["name"], "instance": instance["id"], "state": "active", "by": call.actor,
        "crn": f"{instance['crn'][:-2]}:resource-key:{ident}", "role": role,
        "onetime": resource_controller.has_onetime_credentials(instance),
        "access_key": call.world.new_hex() if hmac_wanted else "", "secret": call.world.new_hex() * 2,
    }  # fmt: skip
    call.world.add("resource-key", call.now, record)
    return Reply(201, {**render(call, record), "credentials": _credentials(call, record)})


def update_key(call: Call) -> Reply:
    record, body = _find(call), call.json()
    _refuse_removed(record)
    if not body.get("name"):
        raise errors.controller(400, "The field name is required.")
    record.update(name=body["name"], updated_at=call.now)
    return Reply(200, render(call, record))


def delete_key(call: Call) -> Reply:
    record = _find(call)
    _refuse_removed(record)
    resource_controller.remove_key(call, record)
    return Reply(204)


_KEYS = "/resource-controller/v2/resource_keys"
_OF_INSTANCE = "/resource-controller/v2/resource_instances/{id}/resource_keys"
_FILTERS = f"guid name resource_group_id resource_id {pages.UPDATED} {pages.PAGES}"
ROUTES = (
    reads("GET", _KEYS, "rc.list_resource_keys", list_keys, query=_FILTERS),
    writes("POST", _KEYS, "rc.create_resource_key", create_key, fields=served("name source parameters role")),
    reads("GET", _KEYS + "/{id}", "rc.get_resource_key", get_key),
    writes("PATCH", _KEYS + "/{id}", "rc.update_resource_key", update_key, fields=served("name")),
    writes("DELETE", _KEYS + "/{id}", "rc.delete_resource_key", delete_key),
    reads("GET", _OF_INSTANCE, "rc.list_resource_keys_for_instance", list_keys_of_instance, query=pages.PAGES),
)
