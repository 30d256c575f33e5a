"""Changes of a load balancer and its parts (docs/reference/ibm-cloud.md#vpc).

Each change puts the balancer into `update_pending`; while it is not `active`, changes are refused with 409.
"""

from collections.abc import Callable
from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply
from freehold_sim.ibm.world import Record

Part = dict[str, Any]


def find(call: Call) -> Record:
    missing = "The load balancer cannot be found"
    return common.find(call, "load-balancer", common.region_of(call), call.params["id"], missing)


def conflict(record: Record) -> errors.Refused:
    state = record["state"].upper()
    message = f"The load balancer with ID '{record['id']}' cannot be updated because its status is '{state}'."
    return errors.vpc(409, "load_balancer_update_conflict", message)


def refuse_unless_active(record: Record) -> None:
    if record["state"] != "active":
        raise conflict(record)


def start_update(call: Call, record: Record) -> None:
    call.world.redirect(record, state="update_pending")
    call.provision(record, call.settings.delays.update_load_balancer, {"state": "active"}, {"state": "failed"})


def changing(call: Call, change: Callable[[Record], Reply]) -> Reply:
    """Apply `change` to an active balancer and set it to update_pending; if refused, it stays active."""
    record = find(call)
    refuse_unless_active(record)
    reply = change(record)
    start_update(call, record)
    return reply


# -- parts ----------------------------------------------------------------------------------------------------


def part_of(call: Call, held: list[Part], param: str, label: str) -> Part:
    """Return the part whose id is the path variable `param`."""
    for part in held:
        if part["id"] == call.params[param]:
            return part
    raise errors.vpc(404, "not_found", f"The load balancer {label} cannot be found")


def new(record: Record) -> Record:
    """Return the balancer as a new part of it shows it: the part is being created."""
    return {**record, "state": "create_pending"}


def url(record: Record, *path: str) -> str:
    return "/".join((common.base(record["region"]), "load_balancers", record["id"], *path))


def status(record: Record) -> str:
    """Return the provisioning status of a part, derived from its balancer."""
    follows = {"create_pending", "update_pending", "delete_pending", "failed"}
    return str(record["state"]) if record["state"] in follows else "active"


# -- values ---------------------------------------------------------------------------------------------------


def chosen(body: Part, key: str, choices: set[str], default: str | None = None) -> str:
    value = body.get(key, default)
    if not isinstance(value, str) or value not in choices:
        raise errors.vpc(400, "invalid_value", f"{key} must be one of {sorted(choices)}", key, str(value))
    return value


def number(body: Part, key: str, least: int, most: int, default: int | None = None) -> int:
    value = body.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise errors.vpc(400, "invalid_value", f"{key} must be between {least} and {most}", key, str(value))
    return value


def port(body: Part, key: str = "port") -> int:
    return number(body, key, 1, 65535)
