"""Global Tagging v3: user tags on CRNs (docs/reference/ibm-cloud.md#global-tagging)."""

import re
from typing import Any

from freehold_sim.faults import Effect
from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, reads, writes
from freehold_sim.ibm.fields import NOT_SERVED, Field, served

_LEGAL = re.compile(r"[A-Za-z0-9 _\-.:]{1,128}")


def _tag_type(call: Call) -> str:
    kind = call.query.get("tag_type", "user")
    if kind not in {"user", "access", "service"}:
        raise errors.vpc(400, "invalid_value", f"tag_type is not known: {kind}", "tag_type", kind)
    if kind == "service":
        raise errors.vpc(403, "not_authorized", "service tags need an authority that this account lacks")
    return kind


def _names(call: Call, body: dict[str, Any]) -> list[str]:
    names = body.get("tag_names") or ([body["tag_name"]] if body.get("tag_name") else [])
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise errors.vpc(400, "missing_field", "tag_name or tag_names is required", "tag_names")
    names = [name.strip() for name in names]
    return [name.lower() for name in names] if call.settings.assumptions.lowercases_tags else names


def _crns(call: Call, body: dict[str, Any]) -> list[str]:
    resources = body.get("resources")
    if not isinstance(resources, list) or not resources:
        raise errors.vpc(400, "missing_field", "resources is required", "resources")
    most = call.settings.quotas.resources_per_attach
    if len(resources) > most:
        raise errors.vpc(400, "invalid_value", f"at most {most} resources in one call, not {len(resources)}")
    return [str(resource.get("resource_id", "")) for resource in resources]


def _fails(call: Call, position: int) -> bool:
    fault = call.fault
    if fault is None or fault.effect is not Effect.PARTIAL:
        return False
    return position in fault.items if fault.items else position % 2 == 1


def _result(crn: str, problem: str, done: str) -> dict[str, Any]:
    return {"resource_id": crn, "is_error": bool(problem), "message": problem or done}


def _why_not(call: Call, crn: str, names: list[str], position: int) -> str:
    """Return why tags cannot be attached to `crn`, "" if they can."""
    if _fails(call, position):
        return "The tags could not be attached. Please retry."
    if illegal := [name for name in names if not _LEGAL.fullmatch(name)]:
        return f"The tag name is not valid: {illegal[0]}"
    entry = call.world.data["index"].get(crn)
    if entry is None or entry["to"] is not None:
        return f"The resource does not exist: {crn}"
    if call.settings.assumptions.attach_needs_index and entry["from"] > call.now - call.settings.lags.new:
        return "You are not authorized to tag this resource"
    have = call.world.tags_at(crn, call.now)
    if len({*have, *(name.casefold() for name in names)}) > call.settings.quotas.tags_per_resource:
        return "The resource has too many tags"
    return ""


def attach(call: Call) -> Reply:
    kind, body = _tag_type(call), call.json()
    names, crns = _names(call, body), _crns(call, body)
    known = call.world.data["access_tags"]
    if kind == "access" and any(name not in known for name in names):
        raise errors.vpc(404, "not_found", "an access tag must be created before it is attached")
    illegal = [name for name in names if not _LEGAL.fullmatch(name)]
    if illegal and call.settings.assumptions.illegal_tag_is_400:
        raise errors.vpc(400, "invalid_value", f"The tag name is not valid: {illegal[0]}", "tag_names", illegal[0])
    replace = call.query.get("replace", "").lower() == "true"
    update = call.query.get("update", "").lower() == "true"
    results = []
    for position, crn in enumerate(crns):
        problem = _why_not(call, crn, names, position)
        results.append(_result(crn, problem, "The tags were attached"))
        if not problem and kind == "user":
            _attach_one(call, crn, names, replace, update)
    return Reply(200, {"results": results})


def _attach_one(call: Call, crn: str, names: list[str], replace: bool, update: bool) -> None:
    keys = {name.partition(":")[0].casefold() for name in names if ":" in name}
    for folded in call.world.tags_at(crn, call.now):
        key, colon, _ = folded.partition(":")
        if replace or (update and colon and key in keys):
            call.world.untag(crn, folded, call.now)
    known = call.world.data["tag_names"]
    for name in names:
        call.world.tag(crn, known.setdefault(name.casefold(), name), call.now)


def detach(call: Call) -> Reply:
    _tag_type(call)
    body = call.json()
    names, crns = _names(call, body), _crns(call, body)
    results = []
    for position, crn in enumerate(crns):
        problem = "The tags could not be detached. Please retry." if _fails(call, position) else ""
        if crn not in call.world.data["index"]:
            problem = f"The resource does not exist: {crn}"
        results.append(_result(crn, problem, "The tags were detached"))
        if not problem:
            for name in names:
                call.world.untag(crn, name, call.now)
    return Reply(200, {"results": results})


def _number(call: Call, key: str, default: int, most: int) -> int:
    text = call.query.get(key) or str(default)
    if not text.isdigit() or int(text) > most:
        raise errors.vpc(400, "invalid_value", f"{key} must be between 0 and {most}, not {text}", key, text)
    return int(text)


def list_tags(call: Call) -> Reply:
    """List tag names of one resource (with lag) or of the account. Pages by offset."""
    kind = _tag_type(call)
    offset, limit = _number(call, "offset", 0, 10**9), _number(call, "limit", 100, 1000)
    limit = min(limit, call.settings.page_size or limit)
    crn = call.query.get("attached_to")
    if kind == "access":
        names = sorted(call.world.data["access_tags"])
    elif crn is not None:
        names = _attached(call, crn)
    else:
        attached = call.world.data["tag_names"]
        names = [name for folded, name in sorted(attached.items()) if _wanted(call, folded)]
    items = [{"name": name} for name in names[offset : offset + limit]]
    return Reply(200, {"total_count": len(names), "offset": offset, "limit": limit, "items": items})


def _attached(call: Call, crn: str) -> list[str]:
    view = call.now - call.lag(call.settings.lags.attached_to)
    entry = call.world.data["index"].get(crn)
    if entry is None or (entry["to"] is not None and entry["to"] <= view):
        return []
    return sorted(call.world.tags_at(crn, view).values())


def _wanted(call: Call, folded: str) -> bool:
    return call.query.get("attached_only", "").lower() != "true" or bool(_holders(call, folded))


def _holders(call: Call, folded: str) -> list[str]:
    index = call.world.data["index"]
    alive = [crn for crn, entry in index.items() if entry["to"] is None]
    return [crn for crn in alive if folded in call.world.tags_at(crn, call.now)]


def create_tag(call: Call) -> Reply:
    body = call.json()
    if call.query.get("tag_type") != "access":
        raise errors.vpc(400, "invalid_value", "only access tags are created; user tags come with the first attach")
    names = _names(call, body)
    bad = [name for name in names if not _LEGAL.fullmatch(name) or name.count(":") != 1]
    if bad:
        raise errors.vpc(400, "invalid_value", f"an access tag is one key:value, not {bad[0]}", "tag_names", bad[0])
    known = call.world.data["access_tags"]
    known.extend(name for name in names if name not in known)
    return Reply(200, {"results": [{"tag_name": name, "is_error": False} for name in names]})


def delete_tag(call: Call) -> Reply:
    """Delete an unused tag name; for one in use, answer 200 with an error in the body."""
    folded = call.params["name"].casefold()
    carried = bool(_holders(call, folded))
    if not carried:
        call.world.data["tag_names"].pop(folded, None)
    return Reply(200, {"results": [{"provider": "ghost", "is_error": carried}]})


def delete_unused(call: Call) -> Reply:
    known = call.world.data["tag_names"]
    unused = [folded for folded in sorted(known) if not _holders(call, folded)]
    items = [{"tag_name": known.pop(folded), "is_error": False} for folded in unused]
    return Reply(200, {"total_count": len(items), "errors": False, "items": items})


_LIST = "account_id tag_type providers attached_to offset limit timeout order_by_name attached_only"
_TYPE = "account_id tag_type"
_RESOURCES: dict[str, Field] = {
    **served("tag_name tag_names"),
    "resources": served("resource_id resource_type"),
    "query": NOT_SERVED,
}
ROUTES = (
    reads("GET", "/tagging/v3/tags", "tagging.list_tags", list_tags, query=_LIST),
    writes("POST", "/tagging/v3/tags", "tagging.create_tag", create_tag, fields=served("tag_names"), query=_TYPE),
    writes("DELETE", "/tagging/v3/tags", "tagging.delete_tag_all", delete_unused, query=f"{_TYPE} providers"),
    writes("DELETE", "/tagging/v3/tags/{name}", "tagging.delete_tag", delete_tag, query=f"{_TYPE} providers"),
    writes(
        "POST", "/tagging/v3/tags/attach", "tagging.attach_tag", attach,
        fields=_RESOURCES, query=f"{_TYPE} replace update",
    ),
    writes("POST", "/tagging/v3/tags/detach", "tagging.detach_tag", detach, fields=_RESOURCES, query=_TYPE),
)  # fmt: skip
