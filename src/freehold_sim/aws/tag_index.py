"""Resource Groups Tagging API: an index of tagged resources with a lag of its own, and tags in batches.

https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html, .../API_TagResources.html
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2.metadata_options import check_tags
from freehold_sim.aws.tagging import why_not, why_not_common
from freehold_sim.aws.world import Record, scope_of

_MOST_FILTERS, _MOST_VALUES, _MOST_ARNS, _MOST_PAGE = 50, 20, 100, 100
_TOKEN_SECONDS = 900.0

Row = tuple[int, str, dict[str, str]]
"""Serial, ARN and tags of a resource, as the index shows it."""

Change = Callable[[Record], dict[str, str]]
"""Gives the tags that a record is to have."""


def _bad(text: str) -> Refused:
    return Refused("InvalidParameterException", text)


# -- the index ------------------------------------------------------------------------------------------------

_HOME_OF_GLOBAL = "us-east-1"
"""Where resources that have no region are listed and tagged
(https://docs.aws.amazon.com/general/latest/gr/rande.html#global-endpoints)."""


def _is_listed(row: tuple[int, str, dict[str, Any]]) -> bool:
    """Whether GetResources lists a resource of IAM: not roles and users.

    https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/supported-services.html
    """
    return bool(row[2]["kind"] != "role")


def _indexed(call: Call, after: int = 0) -> Iterator[Row]:
    """Yield what the index shows now: late for new resources and tags, and deleted resources for a while.

    Oldest first, and only what comes after the serial ``after``: who takes a page pays for a page.
    """
    lags, factor = call.settings.lags, 1
    if lags.non_monotonic:
        call.world.data["reads"] += 1
        factor = 2 - call.world.data["reads"] % 2
    call.world.drop_ghosts(call.now - 2 * lags.ghost)  # no replica shows them any more
    rows = call.world.indexed(call.scope, after)
    if call.region == _HOME_OF_GLOBAL:
        rows = merge(rows, (row for row in call.world.indexed(scope_of(call.account, ""), after) if _is_listed(row)))
    for serial, arn, entry in rows:
        if entry["from"] > call.now - lags.tagged * factor:
            continue
        if entry["to"] is not None and entry["to"] <= call.now - lags.ghost * factor:
            continue
        tags = _tags_at(entry, call.now - lags.tags * factor, fresh=entry["from"])
        if tags is not None:
            yield serial, arn, tags


def _tags_at(entry: dict[str, Any], when: float, fresh: float) -> dict[str, str] | None:
    """Return the tags at `when`, None for a resource that was never tagged; tags given at birth count from there."""
    history = entry["tags"]
    if not any(tags for _, tags in history):
        return None
    found: dict[str, str] = next((tags for since, tags in reversed(history) if since <= when), {})
    return found if when >= fresh else history[0][1]


def get_resources(call: Call) -> dict[str, Any]:
    """List resources that are tagged, or were once, in pages."""
    params = call.params
    _check_filters(params)
    after = _after(call, params.get("PaginationToken", ""))
    size = params.get("ResourcesPerPage", _MOST_PAGE)
    if not 1 <= size <= _MOST_PAGE:
        raise _bad(f"ResourcesPerPage must be between 1 and {_MOST_PAGE}")
    size = min(size, call.settings.page_size or size)
    rest = list(islice((row for row in _indexed(call, after) if _wanted(row, params)), size + 1))
    page = rest[:size]
    token = _token(call, page[-1][0]) if len(rest) > size else ""
    shown = [{"ResourceARN": arn, "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]} for _, arn, tags in page]
    return {"PaginationToken": token, "ResourceTagMappingList": shown}


def _check_filters(params: dict[str, Any]) -> None:
    filters, arns = params.get("TagFilters", []), params.get("ResourceARNList", [])
    if len(filters) > _MOST_FILTERS:
        raise _bad(f"TagFilters has at most {_MOST_FILTERS} members")
    for each in filters:
        if "Key" not in each:
            raise _bad("A tag filter needs a key")
        if len(each.get("Values", [])) > _MOST_VALUES:
            raise _bad(f"A tag filter has at most {_MOST_VALUES} values")
    if len(arns) > _MOST_ARNS:
        raise _bad(f"ResourceARNList has at most {_MOST_ARNS} members")
    if arns and (filters or "ResourceTypeFilters" in params or "ResourcesPerPage" in params):
        raise _bad("ResourceARNList cannot be combined with filters or a page size")
    for kind in params.get("ResourceTypeFilters", []):
        if kind.partition(":")[0] not in _SERVICES:
            raise _bad(f"Unsupported resource type: {kind}")
    if params.get("IncludeComplianceDetails") or params.get("ExcludeCompliantResources"):
        raise not_served("tag policies (compliance) of the tagging API")


_SERVICES = ("ec2", "elasticloadbalancing", "s3", "eks", "secretsmanager", "iam", "ssm")


def _wanted(row: Row, params: dict[str, Any]) -> bool:
    _, arn, tags = row
    if "ResourceARNList" in params and arn not in params["ResourceARNList"]:
        return False
    kinds = params.get("ResourceTypeFilters")
    if kinds and not any(_is_of(arn, kind) for kind in kinds):
        return False
    for each in params.get("TagFilters", []):
        if each["Key"] not in tags or (each.get("Values") and tags[each["Key"]] not in each["Values"]):
            return False
    return True


def _is_of(arn: str, kind: str) -> bool:
    """Whether an ARN is of a type such as `ec2`, `ec2:vpc` or `elasticloadbalancing:loadbalancer/net`."""
    parts = arn.split(":", 5)
    service, _, resource = kind.partition(":")
    if parts[2] != service:
        return False
    path = parts[5] if service != "secretsmanager" else parts[5].replace(":", "/", 1)
    return not resource or path.startswith(f"{resource}/") or (service == "s3" and resource == "bucket")


def _token(call: Call, serial: int) -> str:
    return urlsafe_b64encode(f"{serial}:{call.now}".encode()).decode()


def _after(call: Call, token: str) -> int:
    if not token:
        return 0
    try:
        serial, _, when = urlsafe_b64decode(token.encode()).decode().partition(":")
        if float(when) < call.now - _TOKEN_SECONDS:
            raise Refused("PaginationTokenExpiredException", "The pagination token has expired")
        return int(serial)
    except ValueError:
        raise _bad("Invalid pagination token") from None


def get_keys(call: Call) -> dict[str, Any]:
    keys = sorted({key for _, _, tags in _indexed(call) for key in tags})
    return {"PaginationToken": "", "TagKeys": keys}


def get_values(call: Call) -> dict[str, Any]:
    wanted = call.params["Key"]
    values = sorted({tags[wanted] for _, _, tags in _indexed(call) if wanted in tags})
    return {"PaginationToken": "", "TagValues": values}


# -- writing --------------------------------------------------------------------------------------------------


def _arns(call: Call) -> list[str]:
    arns, most = call.params["ResourceARNList"], call.settings.quotas.arns_per_tag_call
    if not 1 <= len(arns) <= most:
        raise _bad(f"ResourceARNList must have between 1 and {most} members, not {len(arns)}")
    for arn in arns:
        if not arn.startswith("arn:") or arn.count(":") < 5:
            raise _bad(f"{arn} is not an ARN")
    return list(dict.fromkeys(arns))


def tag_resources(call: Call) -> dict[str, Any]:
    """Add tags to up to 20 resources; what fails is in the reply, by ARN."""
    arns, tags = _arns(call), call.params["Tags"]
    if not 1 <= len(tags) <= call.settings.quotas.tags:
        raise _bad(f"Tags must have between 1 and {call.settings.quotas.tags} members")
    for key, value in tags.items():
        if problem := why_not(key, value):
            raise _bad(problem)
    return _each(call, arns, lambda record: {**record["tags"], **tags})


def untag_resources(call: Call) -> dict[str, Any]:
    arns, keys = _arns(call), call.params["TagKeys"]
    if not 1 <= len(keys) <= call.settings.quotas.tags:
        raise _bad(f"TagKeys must have between 1 and {call.settings.quotas.tags} members")
    if reserved := [key for key in keys if key.lower().startswith("aws:")]:
        raise _bad(why_not(reserved[0]))
    return _each(call, arns, lambda record: {k: v for k, v in record["tags"].items() if k not in keys})


def _each(call: Call, arns: list[str], change: Change) -> dict[str, Any]:
    failed = {}
    for position, arn in enumerate(arns):
        if problem := _why_not(call, arn, position, change):
            failed[arn] = problem
        elif (record := call.world.by_arn(arn)) is not None:
            call.world.set_tags(record, change(record), call.now)
    return {"FailedResourcesMap": failed}


def _why_not(call: Call, arn: str, position: int, change: Change) -> dict[str, Any] | None:
    if call.fails_at(position):
        return _failure(500, "InternalServiceException", "Please try again.")
    record = call.world.by_arn(arn)
    if record is None or not call.sees(record):
        return _failure(400, "InvalidParameterException", f"The resource {arn} does not exist")
    if scope_of(record["account"], record["region"] or _HOME_OF_GLOBAL) != call.scope:
        return _failure(400, "InvalidParameterException", f"{arn} is not a supported resource in {call.region}")
    wanted = change(record)
    try:
        check_tags(record, wanted.keys() - record["tags"].keys())
    except Refused as refused:
        return _failure(400, "InvalidParameterException", refused.message)
    if problem := _refused_by_its_service(record, wanted):
        return _failure(400, "InvalidParameterException", problem)
    if len(wanted) > call.settings.quotas.tags:
        return _failure(400, "InvalidParameterException", f"{arn} has too many tags")
    return None


def _refused_by_its_service(record: Record, wanted: Mapping[str, str]) -> str:
    """Return what Elastic Load Balancing says of a tag that is new on one of its resources."""
    if record["arn"].split(":")[2] != "elasticloadbalancing":
        return ""
    new = [(key, value) for key, value in wanted.items() if record["tags"].get(key) != value]
    return next((problem for key, value in new if (problem := why_not_common(key, value))), "")


def _failure(status: int, code: str, text: str) -> dict[str, Any]:
    return {"StatusCode": status, "ErrorCode": code, "ErrorMessage": text}


OPERATIONS: tuple[Operation, ...] = (
    reads("GetResources", get_resources,
          "PaginationToken TagFilters ResourceTypeFilters ResourcesPerPage ResourceARNList IncludeComplianceDetails "
          "ExcludeCompliantResources"),
    reads("GetTagKeys", get_keys, "PaginationToken"),
    reads("GetTagValues", get_values, "PaginationToken Key"),
    writes("TagResources", tag_resources, "ResourceARNList Tags"),
    writes("UntagResources", untag_resources, "ResourceARNList TagKeys"),
)  # fmt: skip
