"""Global Tagging v3: user and access tags on CRNs (docs/reference/ibm-cloud.md#global-tagging).

A user tag comes into being with its first attach and ends with its last detach; an access tag is created and deleted.
"""

import re
from typing import Any

from freehold_sim.faults import Effect
from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, reads, writes
from freehold_sim.ibm.fields import NOT_SERVED, Field, served

_LEGAL = re.compile(r"[A-Za-z0-9 _\-.:]{1,128}")


def _tag_type(call: Call) -> str:
    kind = call.query.get("tag_type") or "user"
    if kind not in {"user", "access", "service"}:
        raise errors.vpc(400, "invalid_value", f"tag_type is not known: {kind}", "tag_type", kind)
    if kind == "service":
        raise errors.vpc(403, "not_authorized", "service tags need an authority that this account lacks")
    if (account := call.query.get("account_id", call.settings.account_id)) != call.settings.account_id:
        raise errors.vpc(403, "not_authorized", f"You are not authorized in the account {account}")
    if call.query.get("providers", "ghost") != "ghost":
        raise call.not_served("a provider other than ghost")
    return kind


def _key(kind: str, crn: str) -> str:
    """Return the key under which the tags of a type are kept; user tags, which the index shows, under the CRN."""
    return crn if kind == "user" else f"{kind} {crn}"


def _names(call: Call, body: dict[str, Any]) -> list[str]:
    names = body.get("tag_names") or ([body["tag_name"]] if body.get("tag_name") else [])
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise errors.vpc(400, "missing_field", "tag_name or tag_names is required", "tag_names")
    names = [name.strip(" ") for name in names]
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


def _why_not(call: Call, kind: str, crn: str, names: list[str], position: int) -> str:
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
    have, quotas = call.world.tags_at(_key(kind, crn), call.now), call.settings.quotas
    most = quotas.tags_per_resource if kind == "user" else quotas.access_tags
    if len({*have, *(name.casefold() for name in names)}) > most:
        return "The resource has too many tags"
    return ""


def _known(call: Call, kind: str) -> dict[str, str]:
    """Return the tags of the account: case-folded name to name as first written."""
    known: dict[str, str] = call.world.data["tag_names"]
    return known if kind == "user" else {name.casefold(): name for name in call.world.data["access_tags"]}


def attach(call: Call) -> Reply:
    kind, body = _tag_type(call), call.json()
    names, crns = _names(call, body), _crns(call, body)
    known = _known(call, "access")
    if kind == "access" and any(name.casefold() not in known for name in names):
        raise errors.vpc(404, "not_found", "an access tag must be created before it is attached")
    illegal = [name for name in names if not _LEGAL.fullmatch(name)]
    if illegal and call.settings.assumptions.illegal_tag_is_400:
        raise errors.vpc(400, "invalid_value", f"The tag name is not valid: {illegal[0]}", "tag_names", illegal[0])
    replace = call.query.get("replace", "").lower() == "true"
    update = call.query.get("update", "").lower() == "true"
    results = []
    for position, crn in enumerate(crns):
        problem = _why_not(call, kind, crn, names, position)
        results.append(_result(crn, problem, "The tags were attached"))
        if not problem:
            _attach_one(call, kind, crn, names, replace, update)
    return Reply(200, {"results": results})


def _attach_one(call: Call, kind: str, crn: str, names: list[str], replace: bool, update: bool) -> None:
    place, known = _key(kind, crn), _known(call, kind)
    for name in names:
        call.world.tag(place, known.setdefault(name.casefold(), name), call.now)
    keys, wanted = {name.partition(":")[0].casefold() for name in names if ":" in name}, {n.casefold() for n in names}
    if replace or (update and keys):
        for folded in call.world.tags_at(place, call.now).keys() - wanted:
            key, colon, _ = folded.partition(":")
            if replace or (colon and key in keys):
                _detach_one(call, kind, crn, folded)


def _detach_one(call: Call, kind: str, crn: str, name: str) -> None:
    call.world.untag(_key(kind, crn), name, call.now)
    if kind == "user":
        call.world.forget_unused_tag(name, call.now)


def detach(call: Call) -> Reply:
    kind, body = _tag_type(call), call.json()
    names, crns = _names(call, body), _crns(call, body)
    results = []
    for position, crn in enumerate(crns):
        problem = "The tags could not be detached. Please retry." if _fails(call, position) else ""
        if crn not in call.world.data["index"]:
            problem = f"The resource does not exist: {crn}"
        results.append(_result(crn, problem, "The tags were detached"))
        for name in names if not problem else ():
            _detach_one(call, kind, crn, name)
    return Reply(200, {"results": results})


def _number(call: Call, key: str, default: int, most: int) -> int:
    text = call.query.get(key) or str(default)
    if not text.isdigit() or int(text) > most:
        raise errors.vpc(400, "invalid_value", f"{key} must be between 0 and {most}, not {text}", key, text)
    return int(text)


def list_tags(call: Call) -> Reply:
    """List the tags of one resource or of the account. Pages by offset."""
    kind = _tag_type(call)
    offset, limit = _number(call, "offset", 0, 10**9), _number(call, "limit", 100, 1000)
    limit = min(limit, call.settings.page_size or limit)
    crn = call.query.get("attached_to")
    if crn is not None:
        names = _attached(call, kind, crn)
    else:
        names = [name for folded, name in sorted(_known(call, kind).items()) if _wanted(call, kind, folded)]
    order = call.query.get("order_by_name", "asc")
    if order not in {"asc", "desc"}:
        raise errors.vpc(
            400, "invalid_value", f"order_by_name must be asc or desc, not {order}", "order_by_name", order
        )
    items = [{"name": name} for name in (names if order == "asc" else names[::-1])[offset : offset + limit]]
    return Reply(200, {"total_count": len(names), "offset": offset, "limit": limit, "items": items})


def _attached(call: Call, kind: str, crn: str) -> list[str]:
    view = call.now - call.lag(call.settings.lags.attached_to)
    entry = call.world.data["index"].get(crn)
    if entry is None or (entry["to"] is not None and entry["to"] <= view):
        return []
    return sorted(call.world.tags_at(_key(kind, crn), view).values())


def _wanted(call: Call, kind: str, folded: str) -> bool:
    return call.query.get("attached_only", "").lower() != "true" or _is_attached(call, kind, folded)


def _is_attached(call: Call, kind: str, folded: str) -> bool:
    return call.world.is_attached(folded, call.now, _key(kind, ""))


def create_tag(call: Call) -> Reply:
    if _tag_type(call) != "access":
        raise errors.vpc(400, "invalid_value", "only access tags are created; user tags come with the first attach")
    names = _names(call, call.json())
    bad = [name for name in names if not _LEGAL.fullmatch(name) or name.count(":") != 1]
    if bad:
        raise errors.vpc(400, "invalid_value", f"an access tag is one key:value, not {bad[0]}", "tag_names", bad[0])
    known, created = _known(call, "access"), call.world.data["access_tags"]
    results = []
    for name in names:
        full = name.casefold() not in known and len(created) >= call.settings.quotas.access_tags
        if not full and name.casefold() not in known:
            created.append(name)
        results.append({"tag_name": name, "is_error": full})
    return Reply(200, {"results": results})


def _delete_one(call: Call, kind: str, folded: str) -> bool:
    """Delete a tag of the account; return whether it was there and attached to nothing."""
    known = _known(call, kind)
    if folded not in known or _is_attached(call, kind, folded):
        return False
    if kind == "user":
        del known[folded]
    else:
        call.world.data["access_tags"].remove(known[folded])
    return True


def delete_tag(call: Call) -> Reply:
    """Delete a tag that is attached to nothing; otherwise, and for one that is not there, answer 200 with an error.

    A user tag is gone after its last detach (IBM/platform-services-go-sdk, globaltaggingv1, integration test).
    """
    deleted = _delete_one(call, _tag_type(call), call.params["name"].casefold())
    return Reply(200, {"results": [{"provider": "ghost", "is_error": not deleted}]})


def delete_unused(call: Call) -> Reply:
    kind = _tag_type(call)
    names = [name for folded, name in sorted(_known(call, kind).items()) if _delete_one(call, kind, folded)]
    items = [{"tag_name": name, "is_error": False} for name in names]
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
