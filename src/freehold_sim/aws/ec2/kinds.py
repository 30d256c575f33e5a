"""What all resources of EC2 share: ids, ARNs, tags at birth, and how a missing one is refused.

Error codes: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.errors import quota
from freehold_sim.aws.tagging import checked_tags
from freehold_sim.aws.world import Record


@dataclass(frozen=True)
class Kind:
    """One kind of resource.

    name       kind of the record, and resource type of its tags
    prefix     what ids begin with
    id_key     the member of the view that is the id
    not_found  error code for an id that does not exist, and `noun` in its message
    malformed  error code for an id that does not begin with the prefix
    filters    names of filters, each with the path in the view that it compares
    tags_key   the member that shows the tags, "" for a kind without tags
    """

    name: str
    prefix: str
    id_key: str
    not_found: str
    noun: str
    malformed: str
    filters: Mapping[str, str] = field(default_factory=dict)
    tags_key: str = "Tags"


def new_id(call: Call, prefix: str) -> str:
    return f"{prefix}-{call.world.new_hex()}"


def arn_of(call: Call, kind: str, ident: str) -> str:
    return f"arn:{call.partition}:ec2:{call.region}:{call.account}:{kind}/{ident}"


def create(
    call: Call, kind: Kind, view: dict[str, Any], tags: Mapping[str, str] | None = None, **hidden: Any
) -> Record:
    """Create a resource with a new id; `hidden` is what its replies do not show."""
    ident = new_id(call, kind.prefix)
    arn = arn_of(call, kind.name, ident)
    return call.add(kind.name, ident, {kind.id_key: ident, **view}, arn, tags=dict(tags or {}), **hidden)


def find(call: Call, kind: Kind, ident: str | None) -> Record:
    """Return the resource with this id, or refuse as EC2 does."""
    ident = ident or ""
    if not ident.startswith(f"{kind.prefix}-"):
        raise Refused(kind.malformed, f'Invalid id: "{ident}" (expecting "{kind.prefix}-...")')
    record = call.get(kind.name, ident)
    if record is None:
        raise Refused(kind.not_found, f"The {kind.noun} '{ident}' does not exist")
    return record


def show(record: Record, kind: Kind) -> dict[str, Any]:
    """Return what EC2 shows of a resource."""
    view: dict[str, Any] = record["view"]
    if not kind.tags_key:
        return view
    return {**view, kind.tags_key: [{"Key": key, "Value": value} for key, value in record["tags"].items()]}


def tags_for(call: Call, *kinds: str) -> dict[str, dict[str, str]]:
    """Return the tags that TagSpecifications give to each of the kinds that the call creates."""
    found: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    given = call.params.get("TagSpecifications", [])
    for specification in given:
        kind = specification.get("ResourceType")
        if kind not in found:
            text = f"'{kind}' is not a valid taggable resource type for this operation."
            raise Refused("InvalidParameterValue", text)
        if found[kind]:
            text = "The same resource type may not be specified more than once in tag specifications"
            raise Refused("InvalidParameterValue", text)
        found[kind] = checked_tags(call, specification.get("Tags", []))
    return found


def full(call: Call, held: int, most: int, what: str, code: str = "") -> None:
    """Refuse the create if `held` resources are as many as the quota allows."""
    if held >= most:
        raise quota(call.service, call.operation, f"The maximum number of {what} has been reached.", code)


def dependency(text: str) -> Refused:
    return Refused("DependencyViolation", text)


def one_of(call: Call, names: Iterable[str]) -> str:
    """Return which one of several parameters is given; refuses none and more than one."""
    given = [name for name in names if name in call.params]
    if not given:
        raise Refused("MissingParameter", f"The request must contain one of the parameters {', '.join(names)}")
    if len(given) > 1:
        text = f"The parameters {' and '.join(given)} may not be given together"
        raise Refused("InvalidParameterCombination", text)
    return given[0]
