"""VPC security groups and their rules (docs/reference/ibm-cloud.md#vpc)."""

import ipaddress
import re
from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import vpc_common as common
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import GROUP, IDENTITY, SERVED, Field, Only, served
from freehold_sim.ibm.world import Record

MISSING = "Security group not found"
_PROTOCOLS = {
    "any", "icmp_tcp_udp", "icmp", "tcp", "udp", "ah", "esp", "gre", "ip_in_ip", "l2tp", "rsvp", "sctp", "vrrp",
}  # fmt: skip
_ANYWHERE = {"cidr_block": "0.0.0.0/0"}


def add_default(call: Call, vpc: Record) -> Record:
    """Add the default group of a VPC: all outbound traffic, inbound traffic from the group itself."""
    record = _add(call, vpc, f"default-{call.world.new_hex()[:8]}", vpc["group"], default=True)
    _add_rule(call, record, {"direction": "outbound", "protocol": "any"})
    _add_rule(call, record, {"direction": "inbound", "protocol": "any", "remote": {"id": record["id"]}})
    return record


def _add(call: Call, vpc: Record, name: str, group: str, *, default: bool) -> Record:
    region = vpc["region"]
    ident = common.new_id(call, region)
    record: Record = {
        "id": ident, "crn": common.crn(call, region, "security-group", ident), "name": name, "region": region,
        "vpc": vpc["id"], "group": group, "state": "available", "by": call.actor, "default": default, "rules": [],
    }  # fmt: skip
    return call.world.add("security-group", call.now, record)


def _add_rule(call: Call, group: Record, body: dict[str, Any]) -> dict[str, Any]:
    """Check a rule prototype, store it, and return the stored rule."""
    rule = _parse_rule(call, group, body)
    twin = {key: value for key, value in rule.items() if key != "name"}
    for present in group["rules"]:
        same = {key: value for key, value in present.items() if key not in {"id", "name"}}
        if same == twin and call.settings.assumptions.duplicate_rules_refused:
            raise errors.vpc(400, "security_group_rule_duplicate", "The security group has an identical rule already")
    if any(present["name"] == rule["name"] for present in group["rules"]):
        raise errors.vpc(400, "validation_unique_failed", f"Provided Name ({rule['name']}) is not unique", "name")
    rule["id"] = common.new_id(call, group["region"])
    group["rules"].append(rule)
    return rule


def _parse_rule(call: Call, group: Record, body: dict[str, Any]) -> dict[str, Any]:
    call.require(body, "direction protocol")
    direction, protocol = body["direction"], body["protocol"]
    if direction not in {"inbound", "outbound"}:
        raise errors.vpc(400, "invalid_value", "direction must be inbound or outbound", "direction", str(direction))
    if protocol not in _PROTOCOLS and not re.fullmatch(r"number_\d{1,3}", str(protocol)):
        raise errors.vpc(400, "invalid_value", f"protocol is not known: {protocol}", "protocol", str(protocol))
    if body.get("ip_version", "ipv4") != "ipv4":
        raise errors.vpc(400, "invalid_value", "ip_version must be ipv4", "ip_version")
    for key in _foreign_fields(str(protocol)):
        if body.get(key) is not None:
            raise errors.vpc(400, "invalid_value", f"{key} does not belong to the protocol {protocol}", key)
    rule: dict[str, Any] = {
        "name": common.name_of(call, body),
        "direction": direction,
        "protocol": protocol,
        "remote": _remote(call, group, body.get("remote") or _ANYWHERE),
        "local": _local(body.get("local") or _ANYWHERE),
    }
    if protocol in {"tcp", "udp"}:
        low, high = body.get("port_min", 1), body.get("port_max", 65535)
        if not (isinstance(low, int) and isinstance(high, int) and 1 <= low <= high <= 65535):
            raise errors.vpc(400, "invalid_value", "port_min and port_max must be 1-65535, in order", "port_min")
        rule.update(port_min=low, port_max=high)
    if protocol == "icmp":
        rule.update({key: body[key] for key in ("code", "type") if body.get(key) is not None})
    return rule


def _foreign_fields(protocol: str) -> tuple[str, ...]:
    """Return the fields that a rule of this protocol cannot have."""
    ports = () if protocol in {"tcp", "udp"} else ("port_min", "port_max")
    return ports if protocol == "icmp" else (*ports, "code", "type")


def _local(body: dict[str, Any]) -> dict[str, Any]:
    return _address(body) or dict(_ANYWHERE)


def _address(body: dict[str, Any]) -> dict[str, Any] | None:
    try:
        if "cidr_block" in body:
            return {"cidr_block": str(ipaddress.IPv4Network(body["cidr_block"]))}
        if "address" in body:
            return {"address": str(ipaddress.IPv4Address(body["address"]))}
    except ValueError as bad:
        raise errors.vpc(400, "invalid_value", f"not an address or CIDR: {bad}", "remote") from None
    return None


def _remote(call: Call, group: Record, body: dict[str, Any]) -> dict[str, Any]:
    if address := _address(body):
        return address
    peers = call.world.all("security-group", vpc=group["vpc"])
    wanted = common.id_in(body)
    for peer in peers:
        if peer["id"] == wanted:
            return {"group": peer["id"]}
    raise errors.vpc(400, "not_found", f"{MISSING}: {body}", "remote")


def _render_remote(call: Call, remote: dict[str, Any]) -> dict[str, Any]:
    if "group" not in remote:
        return dict(remote)
    peer = call.world.get("security-group", remote["group"])
    return common.reference(peer, "security_groups") if peer else dict(_ANYWHERE)


def render_rule(call: Call, group: Record, rule: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in rule.items() if key not in {"remote", "local"}}
    href = f"{common.base(group['region'])}/security_groups/{group['id']}/rules/{rule['id']}"
    return {
        **plain,
        "href": href,
        "ip_version": "ipv4",
        "local": dict(rule["local"]),
        "remote": _render_remote(call, rule["remote"]),
        "resource_type": "security_group_rule",
    }


def _targets(call: Call, group: Record) -> list[Record]:
    return [lb for lb in call.world.all("load-balancer", vpc=group["vpc"]) if group["id"] in lb["groups"]]


def _target(balancer: Record) -> dict[str, Any]:
    return common.reference(balancer, "load_balancers", "load_balancer")


def list_targets(call: Call) -> Reply:
    group = _find(call)
    url = f"{common.base(group['region'])}/security_groups/{group['id']}/targets"
    return common.page_of_parts(call, url, "targets", [_target(one) for one in _targets(call, group)])


def get_target(call: Call) -> Reply:
    for balancer in _targets(call, _find(call)):
        if balancer["id"] == call.params["target"]:
            return Reply(200, _target(balancer))
    raise errors.vpc(404, "not_found", "The security group target cannot be found")


def render(call: Call, record: Record) -> dict[str, Any]:
    vpc = call.world.get("vpc", record["vpc"])
    assert vpc is not None, "a security group does not outlive its VPC"
    return {
        "created_at": iso(record["created_at"]),
        "crn": record["crn"],
        "href": f"{common.base(record['region'])}/security_groups/{record['id']}",
        "id": record["id"],
        "name": record["name"],
        "resource_group": common.group_reference(call, record["group"]),
        "rules": [render_rule(call, record, rule) for rule in record["rules"]],
        "targets": [_target(lb) for lb in _targets(call, record)],
        "vpc": common.reference(vpc, "vpcs", "vpc"),
    }


def _find(call: Call) -> Record:
    return common.find(call, "security-group", common.region_of(call), call.params["id"], MISSING)


def list_groups(call: Call) -> Reply:
    region = common.region_of(call)
    records = common.by_group(call, call.world.all("security-group", region=region))
    records = common.by_vpc(call, records)
    return common.page_of(call, region, "security_groups", records, render)


def get_group(call: Call) -> Reply:
    return Reply(200, render(call, _find(call)))


def create_group(call: Call) -> Reply:
    region, body = common.region_of(call), call.json()
    vpc = common.given(call, "vpc", region, body.get("vpc"), "VPC not found", "vpc")
    if vpc["state"] == "deleting":
        raise errors.vpc(409, "vpc_not_available", "The VPC is being deleted", "vpc.id", vpc["id"])
    name, group = common.name_of(call, body), common.group_of(call, body)
    common.refuse_twin(call.world.all("security-group", vpc=vpc["id"]), name)
    record = _add(call, vpc, name, group, default=False)
    try:
        for rule in body.get("rules") or []:
            _add_rule(call, record, rule)
    except errors.Refused:
        call.world.remove(record, call.now)
        raise
    return Reply(201, render(call, record))


def update_group(call: Call) -> Reply:
    record, body = _find(call), call.json()
    if "name" in body:
        name = common.name_of(call, body)
        common.refuse_twin(call.world.all("security-group", vpc=record["vpc"]), name, record["id"])
        record["name"] = name
    return Reply(200, render(call, record))


def delete_group(call: Call) -> Reply:
    record = _find(call)
    if record["default"]:
        message = "The default security group of a VPC cannot be deleted"
        raise errors.vpc(409, "security_group_default", message)
    if _targets(call, record):  # cloud-barista/cb-spider#1438
        message = (
            "This security group is still associated to one or more network interfaces and load balancers. "
            "Please remove all associations before deleting this security group."
        )
        raise errors.vpc(409, "security_group_in_use", message)
    for peer in call.world.all("security-group", vpc=record["vpc"]):
        if peer is not record and any(rule["remote"].get("group") == record["id"] for rule in peer["rules"]):
            message = f"The security group is in use by a rule of {peer['id']}"
            raise errors.vpc(409, "security_group_in_use", message)
    call.world.remove(record, call.now)
    return Reply(204)


def list_rules(call: Call) -> Reply:
    record = _find(call)
    return Reply(200, {"rules": [render_rule(call, record, rule) for rule in record["rules"]]})


def create_rule(call: Call) -> Reply:
    record = _find(call)
    return Reply(201, render_rule(call, record, _add_rule(call, record, call.json())))


def _find_rule(call: Call, record: Record) -> dict[str, Any]:
    for rule in record["rules"]:
        if rule["id"] == call.params["rule"]:
            found: dict[str, Any] = rule
            return found
    raise errors.vpc(404, "not_found", "Security group rule not found")


def get_rule(call: Call) -> Reply:
    record = _find(call)
    return Reply(200, render_rule(call, record, _find_rule(call, record)))


def update_rule(call: Call) -> Reply:
    record, body = _find(call), call.json()
    rule = _find_rule(call, record)
    changed = _parse_rule(call, record, {**rule, "remote": _render_remote(call, rule["remote"]), **body})
    rule.update(changed)
    return Reply(200, render_rule(call, record, rule))


def delete_rule(call: Call) -> Reply:
    record = _find(call)
    record["rules"].remove(_find_rule(call, record))
    return Reply(204)


_GROUPS = "/vpc/{region}/v1/security_groups"
_RULE: dict[str, Field] = {
    **served("name direction protocol port_min port_max code type"),
    "ip_version": Only(("ipv4",)),
    "remote": served("cidr_block address id crn href"),
    "local": served("cidr_block address"),
}
_RULE_PATCH = {key: field for key, field in _RULE.items() if key != "protocol"}
_CREATE: dict[str, Field] = {"name": SERVED, "vpc": IDENTITY, "resource_group": GROUP, "rules": _RULE}
ROUTES = (
    reads("GET", _GROUPS, "vpc.list_security_groups", list_groups, query=f"{common.LIST} {common.OF_VPC}"),
    writes("POST", _GROUPS, "vpc.create_security_group", create_group, fields=_CREATE),
    reads("GET", _GROUPS + "/{id}", "vpc.get_security_group", get_group),
    writes("PATCH", _GROUPS + "/{id}", "vpc.update_security_group", update_group, fields=served("name")),
    writes("DELETE", _GROUPS + "/{id}", "vpc.delete_security_group", delete_group),
    reads("GET", _GROUPS + "/{id}/targets", "vpc.list_security_group_targets", list_targets, query=common.PAGES),
    reads("GET", _GROUPS + "/{id}/targets/{target}", "vpc.get_security_group_target", get_target),
    reads("GET", _GROUPS + "/{id}/rules", "vpc.list_security_group_rules", list_rules),
    writes("POST", _GROUPS + "/{id}/rules", "vpc.create_security_group_rule", create_rule, fields=_RULE),
    reads("GET", _GROUPS + "/{id}/rules/{rule}", "vpc.get_security_group_rule", get_rule),
    writes("PATCH", _GROUPS + "/{id}/rules/{rule}", "vpc.update_security_group_rule", update_rule, fields=_RULE_PATCH),
    writes("DELETE", _GROUPS + "/{id}/rules/{rule}", "vpc.delete_security_group_rule", delete_rule),
)
