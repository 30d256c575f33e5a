"""What the resources of this service share: names, ARNs, lists by name or ARN, pages."""

import re
from typing import Any

from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.paging import BadToken, page
from freehold_sim.aws.world import Record

BALANCER, TARGET_GROUP, LISTENER = "balancer", "target-group", "listener"
_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?")


def check_name(name: str, what: str) -> None:
    """Refuse a name that is too long or has other characters than letters, digits and hyphens."""
    if not _NAME.fullmatch(name):
        text = f"{what} name '{name}' must have at most 32 characters: letters, digits and hyphens,"
        raise Refused("ValidationError", f"{text} and must not begin or end with a hyphen")


def arn(call: Call, path: str) -> str:
    return f"arn:{call.partition}:elasticloadbalancing:{call.region}:{call.account}:{path}"


def find(call: Call, kind: str, ident: str) -> Record:
    """Return the resource with this ARN, or refuse as the service does."""
    code, noun = {
        BALANCER: ("LoadBalancerNotFound", "Load balancer"),
        TARGET_GROUP: ("TargetGroupNotFound", "Target group"),
        LISTENER: ("ListenerNotFound", "Listener"),
    }[kind]
    if not ident.startswith("arn:"):
        raise Refused("ValidationError", f"'{ident}' is not a valid {noun.lower()} ARN")
    record = call.get(kind, ident)
    if record is None:
        raise Refused(code, f"{noun} '{ident}' not found")
    return record


def selected(call: Call, kind: str, arns: str, names: str, name_key: str, missing: str) -> list[Record]:
    """Return the records that a list of ARNs or names selects, or all."""
    if arns in call.params and names in call.params:
        raise Refused("ValidationError", f"{arns} and {names} may not be given together")
    if arns in call.params:
        return [find(call, kind, ident) for ident in call.params[arns]]
    records = [record for record in call.all(kind) if call.sees(record)]
    if names not in call.params:
        return records
    by_name = {record["view"][name_key]: record for record in records}
    if absent := [name for name in call.params[names] if name not in by_name]:
        raise Refused(missing, f"One or more names not found: {absent[0]}")
    return [by_name[name] for name in call.params[names]]


def paged(call: Call, key: str, records: list[Record], views: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the reply with the page that Marker and PageSize select."""
    rows = sorted(zip((int(record["serial"]) for record in records), views, strict=True), key=lambda row: row[0])
    try:
        found, more = page(call, rows, call.params.get("Marker"), call.params.get("PageSize"))
    except BadToken:
        raise Refused("ValidationError", "Invalid marker") from None
    return {key: found, **({"NextMarker": more} if more else {})}
