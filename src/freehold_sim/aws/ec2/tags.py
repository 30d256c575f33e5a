"""CreateTags, DeleteTags and DescribeTags: all or nothing for the resources of one call.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateTags.html
"""

from collections.abc import Iterator
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.ec2.describing import matching, named_exactly, paged_rows
from freehold_sim.aws.ec2.kinds import Kind, find
from freehold_sim.aws.ec2.metadata_options import check_tags
from freehold_sim.aws.ec2.resources import TAGGABLE
from freehold_sim.aws.tagging import checked_tags, too_many, why_not
from freehold_sim.aws.world import Record

_MOST_RESOURCES = 1000


def _resources(call: Call) -> list[Record]:
    idents = call.params["Resources"]
    if len(idents) > _MOST_RESOURCES:
        raise Refused("InvalidParameterValue", f"at most {_MOST_RESOURCES} resources in one call, not {len(idents)}")
    found = []
    for ident in dict.fromkeys(idents):
        kind = TAGGABLE.get(ident.rpartition("-")[0])
        if kind is None:
            raise Refused("InvalidID", f"The ID '{ident}' is not valid")
        found.append(find(call, kind, ident))
    return found


def create_tags(call: Call) -> dict[str, Any]:
    tags = checked_tags(call, call.params["Tags"])
    if not tags:
        raise Refused("MissingParameter", "The request must contain the parameter Tag")
    records = _resources(call)
    if any(len({**record["tags"], **tags}) > call.settings.quotas.tags for record in records):
        raise too_many(call)
    for record in records:
        check_tags(record, tags)
    for record in records:
        call.world.set_tags(record, {**record["tags"], **tags}, call.now)
    return {}


def delete_tags(call: Call) -> dict[str, Any]:
    """Delete tags. A key alone goes with any value, a key with a value only with this value; no tags means all."""
    given = call.params.get("Tags", [])
    for tag in given:
        if problem := why_not(tag.get("Key", ""), tag.get("Value", "")):
            raise Refused("InvalidParameterValue", problem)
    records = _resources(call)
    for record in records:
        kept = {key: value for key, value in record["tags"].items() if not _goes(key, value, given)}
        call.world.set_tags(record, kept, call.now)
    return {}


def _goes(key: str, value: str, given: list[dict[str, Any]]) -> bool:
    if key.startswith("aws:"):
        return False
    return not given or any(tag.get("Key") == key and tag.get("Value", value) == value for tag in given)


FILTERS = {"key": "Key", "value": "Value", "resource-id": "ResourceId", "resource-type": "ResourceType"}


def describe_tags(call: Call) -> dict[str, Any]:
    rows = []
    for kind, record in _shown(call, named_exactly(call, "resource-id")):
        for key, value in record["tags"].items():
            view = {"ResourceId": record["id"], "ResourceType": kind.name, "Key": key, "Value": value}
            rows.append((record, view))
    rows = matching(call, rows, FILTERS)
    rows = [({"serial": number, "tags": {}}, view) for number, (_, view) in enumerate(rows, 1)]
    page, more = paged_rows(call, rows)
    return {"Tags": [view for _, view in page], **({"NextToken": more} if more else {})}


def _shown(call: Call, only: frozenset[str]) -> Iterator[tuple[Kind, Record]]:
    """Yield what may have tags: of these ids, or everything where there are none."""
    for ident in only:
        kind = TAGGABLE.get(ident.rpartition("-")[0])
        if kind is not None and (record := call.get(kind.name, ident)) is not None:
            yield kind, record
    for kind in TAGGABLE.values() if not only else ():
        yield from ((kind, record) for record in call.all(kind.name) if call.sees(record))


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateTags", create_tags, "Resources Tags"),
    writes("DeleteTags", delete_tags, "Resources Tags"),
    reads("DescribeTags", describe_tags, "Filters MaxResults NextToken"),
)
