"""Functions shared by all VPC resources: region check, names, references, resource groups, pages.

Source: docs/reference/ibm-cloud.md#vpc.
"""

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from freehold_sim.ibm import errors, resource_manager
from freehold_sim.ibm.call import Call, Reply
from freehold_sim.ibm.world import Record

_NAME = re.compile(r"([a-z]|[a-z][-a-z0-9]*[a-z0-9])")


PAGES = "limit start"
LIST = f"{PAGES} resource_group.id"
"""Query parameters of most lists. IBM has no filter by name here."""


def region_of(call: Call) -> str:
    """Return the region of the endpoint; refuses unknown regions, and calls without version and generation."""
    region = call.params["region"]
    if region not in call.settings.vpc_regions:
        raise errors.vpc(404, "not_found", f"Region not found: {region}")
    if call.actor == "api" and not ("version" in call.query and call.query.get("generation") == "2"):
        raise errors.vpc(400, "missing_field", "The query parameters version and generation=2 are required", "version")
    return region


def base(region: str) -> str:
    return f"https://{region}.iaas.cloud.ibm.com/v1"


def new_id(call: Call, region: str) -> str:
    return f"{call.settings.vpc_regions[region]}-{call.world.new_uuid()}"


def crn(call: Call, place: str, kind: str, ident: str) -> str:
    return f"crn:v1:bluemix:public:is:{place}:a/{call.settings.account_id}::{kind}:{ident}"


def name_of(call: Call, body: dict[str, Any]) -> str:
    """Return the requested name, or a generated one; refuses names that VPC does not allow."""
    name = body.get("name")
    if name is None:
        return f"sim-{call.world.new_hex()[:12]}"
    if not isinstance(name, str) or len(name) > 63 or not _NAME.fullmatch(name) or name.startswith("ibm-"):
        message = f"Provided Name ({name}) is not valid: 1-63 lower case letters, digits and hyphens, a letter first"
        raise errors.vpc(400, "validation_invalid_name", message, "name", str(name))
    return name


def refuse_twin(siblings: list[Record], name: str, own_id: str = "") -> None:
    """Refuse `name` if one of `siblings` has it; names must be unique among them."""
    if any(r["name"] == name and r["id"] != own_id for r in siblings):
        message = f"Provided Name ({name}) is not unique"
        raise errors.vpc(400, "validation_unique_failed", message, "name", name)


def group_of(call: Call, body: dict[str, Any]) -> str:
    """Return the id of the requested resource group, by default the default group; refuses unknown groups."""
    groups, asked = resource_manager.groups(call), body.get("resource_group") or {}
    if not isinstance(asked, dict):
        raise errors.vpc(400, "invalid_type", "resource_group must be an object with an id", "resource_group")
    wanted = asked.get("id") or next(iter(groups.values()))
    if wanted not in groups.values():
        raise errors.vpc(
            400, "validation_resource_group", f"Resource group not found: {wanted}", "resource_group.id", wanted
        )
    return str(wanted)


def group_reference(call: Call, ident: str) -> dict[str, Any]:
    name = next((n for n, i in resource_manager.groups(call).items() if i == ident), "Default")
    href = f"https://resource-controller.cloud.ibm.com/v2/resource_groups/{ident}"
    return {"href": href, "id": ident, "name": name}


def reference(record: Record, collection: str, resource_type: str = "") -> dict[str, Any]:
    """Return the reference to `record` that other resources contain."""
    href = f"{base(record['region'])}/{collection}/{record['id']}"
    shown = {"crn": record["crn"], "href": href, "id": record["id"], "name": record["name"]}
    return {**shown, "resource_type": resource_type} if resource_type else shown


def find(call: Call, kind: str, region: str, ident: str, missing: str) -> Record:
    """Return a record of this region; refuses with 404 and IBM's wording otherwise."""
    record = call.world.get(kind, ident)
    if record is None or record["region"] != region:
        raise errors.vpc(404, "not_found", missing)
    return record


def id_in(identity: Any) -> str:
    """Return the id in a reference by `id`, `crn` or `href`, "" if it has none."""
    if not isinstance(identity, dict):
        return ""
    ident = identity.get("id") or str(identity.get("crn") or "").rpartition(":")[2]
    return str(ident or str(identity.get("href") or "").rpartition("/")[2])


def zone_in(body: dict[str, Any]) -> str | None:
    """Return the name of the zone that a body refers to by `name` or `href`, None if it names none."""
    zone = body.get("zone") or {}
    return zone.get("name") or str(zone.get("href") or "").rpartition("/")[2] or None


def cidr_of(value: Any, field: str) -> str:
    try:
        return str(ipaddress.IPv4Network(value))
    except (ValueError, TypeError):
        raise errors.vpc(400, "invalid_value", f"not an address or CIDR block: {value}", field, str(value)) from None


def given(call: Call, kind: str, region: str, identity: Any, missing: str, field: str) -> Record:
    """Return the record that a body refers to by `id`, `crn` or `href`; refuses with 400 otherwise."""
    if not isinstance(identity, dict):
        raise errors.vpc(400, "missing_field", f"The field {field} is required", field)
    ident = id_in(identity)
    record = call.world.get(kind, ident)
    if record is None or record["region"] != region:
        raise errors.vpc(400, "not_found", f"{missing}: {ident}", f"{field}.id", ident)
    return record


def page_of(
    call: Call, region: str, collection: str, records: list[Record], render: Callable[[Call, Record], dict[str, Any]]
) -> Reply:
    """Answer a paged list: `first`, `limit`, `next`, `total_count` and the collection."""
    shown, limit, start = call.page(call.listed(records))
    url = f"{base(region)}/{collection}?limit={limit}"
    body: dict[str, Any] = {
        collection: [render(call, r) for r in shown],
        "first": {"href": url},
        "limit": limit,
        "total_count": len(records),
    }
    if start:
        body["next"] = {"href": f"{url}&start={start}"}
    return Reply(200, body)


def page_of_parts(call: Call, url: str, collection: str, rows: list[dict[str, Any]]) -> Reply:
    """Answer a paged list of rendered parts, which have no serial numbers of their own."""
    shown, limit, start = call.page([{"serial": number, "row": row} for number, row in enumerate(rows, start=1)])
    body: dict[str, Any] = {
        collection: [one["row"] for one in shown],
        "first": {"href": f"{url}?limit={limit}"},
        "limit": limit,
        "total_count": len(rows),
    }
    if start:
        body["next"] = {"href": f"{url}?limit={limit}&start={start}"}
    return Reply(200, body)


OF_VPC = "vpc.id vpc.crn vpc.name"
"""Query parameters that select the resources of one VPC."""


def by_vpc(call: Call, records: list[Record]) -> list[Record]:
    """Apply the filters of `OF_VPC`."""
    for query, key in (("vpc.id", "id"), ("vpc.crn", "crn"), ("vpc.name", "name")):
        if wanted := call.query.get(query):
            homes = {vpc["id"] for vpc in call.world.all("vpc", **{key: wanted})}
            records = [r for r in records if r["vpc"] in homes]
    return records


def by_group(call: Call, records: list[Record]) -> list[Record]:
    """Apply the filter that most lists have."""
    if group := call.query.get("resource_group.id"):
        records = [r for r in records if r["group"] == group]
    return records
