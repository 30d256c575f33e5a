"""Network ACLs and their rules (docs/reference/ibm-cloud.md#vpc). They have no effect on traffic: there is none.

The default ACL of a VPC is stored in the record of the VPC; the others are records.
"""

from collections.abc import Iterator
from typing import Any

from freehold_sim.ibm import errors, vpcs
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import GROUP, IDENTITY, NOT_SERVED, SERVED, Field, Only, served
from freehold_sim.ibm.world import Record

_PORTS = ("destination_port_min", "destination_port_max", "source_port_min", "source_port_max")
_PROTOCOLS = {"any", "icmp_tcp_udp", "icmp", "tcp", "udp"}


def _default_of(call: Call, vpc: Record) -> Record:
    """Return the default ACL of a VPC as a record; its rules are those stored in the VPC."""
    stored = vpc["network_acl"]
    if "rules" not in stored:
        stored["rules"] = [_default_rule(call, vpc, direction) for direction in ("inbound", "outbound")]
    same = {key: vpc[key] for key in ("region", "group", "created_at", "serial")}
    reference = vpcs.acl_reference(vpc)
    return {**same, "id": stored["id"], "name": stored["name"], "crn": reference["crn"], "rules": stored["rules"],
            "vpc": vpc["id"], "default": True}  # fmt: skip


def _default_rule(call: Call, vpc: Record, direction: str) -> dict[str, Any]:
    return {
        "id": common.new_id(call, vpc["region"]), "name": f"allow-{direction}", "direction": direction,
        "action": "allow", "protocol": "icmp_tcp_udp", "source": "0.0.0.0/0", "destination": "0.0.0.0/0",
        "created_at": vpc["created_at"],
    }  # fmt: skip


def _every(call: Call, region: str) -> Iterator[Record]:
    for vpc in call.world.all("vpc", region=region):
        yield _default_of(call, vpc)
    yield from call.world.all("network-acl", region=region)


def _find(call: Call) -> Record:
    region = common.region_of(call)
    for acl in _every(call, region):
        if acl["id"] == call.params["id"]:
            return acl
    raise errors.vpc(404, "not_found", "The network ACL cannot be found")


def of_subnet(call: Call, subnet: Record) -> Record:
    """Return the ACL of a subnet: the one that was set, or the default ACL of its VPC."""
    vpc = call.world.get("vpc", subnet["vpc"])
    assert vpc is not None, "a subnet does not outlive its VPC"
    return call.world.get("network-acl", subnet.get("acl", "")) or _default_of(call, vpc)


def given(call: Call, vpc: Record, identity: Any) -> str:
    """Return what a subnet stores for the ACL that a body refers to: its id, "" for the default ACL of the VPC."""
    ident = common.id_in(identity)
    for acl in (_default_of(call, vpc), *call.world.all("network-acl", vpc=vpc["id"])):
        if acl["id"] == ident:
            return "" if acl.get("default") else str(ident)
    raise errors.vpc(
        400, "not_found", f"The network ACL cannot be found in the VPC: {ident}", "network_acl", str(ident)
    )


def reference(acl: Record) -> dict[str, Any]:
    return common.reference(acl, "network_acls")


def _render_rule(acl: Record, rule: dict[str, Any], following: dict[str, Any] | None) -> dict[str, Any]:
    href = f"{common.base(acl['region'])}/network_acls/{acl['id']}/rules"
    shown = {
        **rule,
        "created_at": iso(rule["created_at"]),
        "href": f"{href}/{rule['id']}",
        "ip_version": "ipv4",
    }
    if following is not None:
        shown["before"] = {"href": f"{href}/{following['id']}", "id": following["id"], "name": following["name"]}
    return shown


def _render_rules(acl: Record) -> list[dict[str, Any]]:
    rules = acl["rules"]
    return [_render_rule(acl, rule, after) for rule, after in zip(rules, [*rules[1:], None], strict=True)]


def render(call: Call, acl: Record) -> dict[str, Any]:
    vpc = call.world.get("vpc", acl["vpc"])
    assert vpc is not None, "an ACL does not outlive its VPC"
    used_by = [s for s in call.world.all("subnet", vpc=vpc["id"]) if of_subnet(call, s)["id"] == acl["id"]]
    return {
        "created_at": iso(acl["created_at"]),
        **reference(acl),
        "resource_group": common.group_reference(call, acl["group"]),
        "rules": _render_rules(acl),
        "subnets": [common.reference(subnet, "subnets", "subnet") for subnet in used_by],
        "vpc": vpcs.vpc_reference(vpc),
    }


def list_acls(call: Call) -> Reply:
    region = common.region_of(call)
    return common.page_of(call, region, "network_acls", common.by_group(call, [*_every(call, region)]), render)


def get_acl(call: Call) -> Reply:
    return Reply(200, render(call, _find(call)))


def get_default(call: Call) -> Reply:
    return Reply(200, render(call, _default_of(call, vpcs.find(call))))


def _new_rule(call: Call, acl: Record, body: dict[str, Any]) -> dict[str, Any]:
    call.require(body, "action destination direction protocol source")
    protocol, direction, action = body["protocol"], body["direction"], body["action"]
    if protocol not in _PROTOCOLS or direction not in {"inbound", "outbound"} or action not in {"allow", "deny"}:
        raise errors.vpc(400, "invalid_value", "action, direction or protocol is not known", "rules")
    ends = {key: common.cidr_of(body.get(key), key) for key in ("source", "destination")}
    rule = {
        "id": common.new_id(call, acl["region"]), "name": common.name_of(call, body), "direction": direction,
        "action": action, "protocol": protocol, **ends, "created_at": call.now,
    }  # fmt: skip
    common.refuse_twin(acl["rules"], str(rule["name"]))
    if protocol in {"tcp", "udp"}:
        rule |= {key: body.get(key) or (1 if key.endswith("min") else 65535) for key in _PORTS}
    if protocol == "icmp":
        rule |= {key: body[key] for key in ("code", "type") if body.get(key) is not None}
    return rule


def create_acl(call: Call) -> Reply:
    region, body = common.region_of(call), call.json()
    vpc = common.given(call, "vpc", region, body.get("vpc"), "VPC not found", "vpc")
    name, group = common.name_of(call, body), common.group_of(call, body)
    common.refuse_twin([_default_of(call, vpc), *call.world.all("network-acl", vpc=vpc["id"])], name)
    ident = common.new_id(call, region)
    acl: Record = {
        "id": ident, "crn": common.crn(call, region, "network-acl", ident), "name": name, "region": region,
        "vpc": vpc["id"], "group": group, "state": "available", "by": call.actor, "rules": [], "created_at": call.now,
    }  # fmt: skip
    for rule in body.get("rules") or []:
        acl["rules"].append(_new_rule(call, acl, rule))
    if body.get("rules") is None:
        acl["rules"] += [_default_rule(call, {**vpc, "created_at": call.now}, way) for way in ("inbound", "outbound")]
    return Reply(201, render(call, call.world.add("network-acl", call.now, acl)))


def update_acl(call: Call) -> Reply:
    acl, body = _find(call), call.json()
    if body.get("name") is not None:
        name, vpc = common.name_of(call, body), call.world.get("vpc", acl["vpc"])
        assert vpc is not None, "an ACL does not outlive its VPC"
        common.refuse_twin([_default_of(call, vpc), *call.world.all("network-acl", vpc=vpc["id"])], name, acl["id"])
        (vpc["network_acl"] if acl.get("default") else acl)["name"] = name
    return Reply(200, render(call, _find(call)))


def delete_acl(call: Call) -> Reply:
    acl = _find(call)
    if acl.get("default"):
        raise errors.vpc(409, "network_acl_default", "The default network ACL of a VPC cannot be deleted")
    if used := [s["id"] for s in call.world.all("subnet", vpc=acl["vpc"]) if s.get("acl") == acl["id"]]:
        raise errors.vpc(409, "network_acl_in_use", f"The network ACL is in use by subnets: {', '.join(used)}")
    call.world.remove(acl, call.now)
    return Reply(204)


def _rule_at(call: Call, acl: Record) -> int:
    for place, rule in enumerate(acl["rules"]):
        if rule["id"] == call.params["rule"]:
            return place
    raise errors.vpc(404, "not_found", "The network ACL rule cannot be found")


def list_rules(call: Call) -> Reply:
    acl = _find(call)
    rules = [rule for rule in _render_rules(acl) if call.query.get("direction", rule["direction"]) == rule["direction"]]
    url = f"{common.base(acl['region'])}/network_acls/{acl['id']}/rules"
    return common.page_of_parts(call, url, "rules", rules)


def get_rule(call: Call) -> Reply:
    acl = _find(call)
    return Reply(200, _render_rules(acl)[_rule_at(call, acl)])


def create_rule(call: Call) -> Reply:
    """Add a rule before the one given as `before`, otherwise at the end."""
    acl, body = _find(call), call.json()
    rule, before = _new_rule(call, acl, body), common.id_in(body.get("before"))
    places = [n for n, other in enumerate(acl["rules"]) if other["id"] == before]
    if before and not places:
        raise errors.vpc(400, "not_found", f"The network ACL rule cannot be found: {before}", "before.id", before)
    place = places[0] if places else len(acl["rules"])
    acl["rules"].insert(place, rule)
    return Reply(201, _render_rules(acl)[place])


def delete_rule(call: Call) -> Reply:
    acl = _find(call)
    del acl["rules"][_rule_at(call, acl)]
    return Reply(204)


_ACLS = "/vpc/{region}/v1/network_acls"
_RULE: dict[str, Field] = {
    **served("name action direction protocol source destination code type"), **served(" ".join(_PORTS)),
    "ip_version": Only(("ipv4",)),
}  # fmt: skip
_CREATE: dict[str, Field] = {
    "name": SERVED, "vpc": IDENTITY, "resource_group": GROUP, "rules": _RULE, "source_network_acl": NOT_SERVED,
}  # fmt: skip
ROUTES = (
    reads("GET", "/vpc/{region}/v1/vpcs/{id}/default_network_acl", "vpc.get_vpc_default_network_acl", get_default),
    reads("GET", _ACLS, "vpc.list_network_acls", list_acls, query=common.LIST),
    writes("POST", _ACLS, "vpc.create_network_acl", create_acl, fields=_CREATE),
    reads("GET", _ACLS + "/{id}", "vpc.get_network_acl", get_acl),
    writes("PATCH", _ACLS + "/{id}", "vpc.update_network_acl", update_acl, fields=served("name")),
    writes("DELETE", _ACLS + "/{id}", "vpc.delete_network_acl", delete_acl),
    reads("GET", _ACLS + "/{id}/rules", "vpc.list_network_acl_rules", list_rules, query=f"{common.PAGES} direction"),
    writes(
        "POST", _ACLS + "/{id}/rules", "vpc.create_network_acl_rule", create_rule,
        fields={**_RULE, "before": served("id href")},
    ),
    reads("GET", _ACLS + "/{id}/rules/{rule}", "vpc.get_network_acl_rule", get_rule),
    writes("DELETE", _ACLS + "/{id}/rules/{rule}", "vpc.delete_network_acl_rule", delete_rule),
)  # fmt: skip
