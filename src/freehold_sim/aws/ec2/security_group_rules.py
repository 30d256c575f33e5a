"""Rules of security groups. Each rule has an id and tags of its own; a group shows its rules as permissions.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AuthorizeSecurityGroupIngress.html
"""

from collections.abc import Iterator
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, writes
from freehold_sim.aws.ec2.cidrs import cidr, cidr6
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import arn_of, create, find, full, show, tags_for
from freehold_sim.aws.ec2.resources import SECURITY_GROUP, SECURITY_GROUP_RULE
from freehold_sim.aws.world import Record

_PROTOCOLS = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}
_WITH_PORTS = {"tcp", "udp"}
_ICMP = {"icmp", "icmpv6"}

_SAME = ("IsEgress", "IpProtocol", "FromPort", "ToPort", "CidrIpv4", "CidrIpv6", "PrefixListId")


def add_open_egress(call: Call, group: Record) -> None:
    """Add the rule that lets everything out, which each new group has."""
    _add(call, group, {"IsEgress": True, "IpProtocol": "-1", "FromPort": -1, "ToPort": -1, "CidrIpv4": "0.0.0.0/0"}, {})


def add_referencing(call: Call, group: Record) -> None:
    """Add the rule of a default group that lets its own members in."""
    reference = {"GroupId": group["id"], "UserId": call.account}
    rule = {"IsEgress": False, "IpProtocol": "-1", "FromPort": -1, "ToPort": -1, "ReferencedGroupInfo": reference}
    _add(call, group, rule, {})


def _add(call: Call, group: Record, rule: dict[str, Any], tags: dict[str, str]) -> Record:
    view = {"GroupId": group["id"], "GroupOwnerId": call.account, **rule}
    record = create(call, SECURITY_GROUP_RULE, view, tags)
    record["view"]["SecurityGroupRuleArn"] = arn_of(call, "security-group-rule", record["id"])
    group["rules"].append(record["id"])
    return record


def rules_of(call: Call, group: Record) -> list[Record]:
    table = call.world.table(call.scope, "security-group-rule")
    return [table[ident] for ident in group["rules"]]


def permissions(call: Call, group: Record, *, egress: bool) -> list[dict[str, Any]]:
    """Return the rules of one direction as DescribeSecurityGroups shows them, joined by protocol and ports."""
    joined: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in rules_of(call, group):
        rule = record["view"]
        if rule["IsEgress"] != egress:
            continue
        key = (rule["IpProtocol"], rule["FromPort"], rule["ToPort"])
        if key not in joined:
            ports = {} if rule["IpProtocol"] == "-1" else {"FromPort": key[1], "ToPort": key[2]}
            lists: dict[str, Any] = {"UserIdGroupPairs": [], "IpRanges": [], "Ipv6Ranges": [], "PrefixListIds": []}
            joined[key] = {"IpProtocol": key[0], **ports, **lists}
        name, entry = _entry(rule)
        joined[key][name].append({**entry, **({"Description": rule["Description"]} if "Description" in rule else {})})
    return list(joined.values())


def _entry(rule: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if "CidrIpv4" in rule:
        return "IpRanges", {"CidrIp": rule["CidrIpv4"]}
    if "CidrIpv6" in rule:
        return "Ipv6Ranges", {"CidrIpv6": rule["CidrIpv6"]}
    if "PrefixListId" in rule:
        return "PrefixListIds", {"PrefixListId": rule["PrefixListId"]}
    reference = rule["ReferencedGroupInfo"]
    return "UserIdGroupPairs", {"GroupId": reference["GroupId"], "UserId": reference["UserId"]}


def _asked(call: Call, *, egress: bool) -> list[dict[str, Any]]:
    """Return the rules that IpPermissions describe."""
    found = []
    for permission in call.params.get("IpPermissions", []):
        base = {"IsEgress": egress, **_ports(permission)}
        for source in _sources(call, permission):
            found.append({**base, **source})
    if not found:
        raise Refused("MissingParameter", "The request must contain the parameter ipPermissions")
    return found


def _ports(permission: dict[str, Any]) -> dict[str, Any]:
    if "IpProtocol" not in permission:
        raise Refused("MissingParameter", "The request must contain the parameter ipProtocol")
    protocol = permission["IpProtocol"].lower()
    protocol = _PROTOCOLS.get(protocol, protocol)
    if not (protocol in {"tcp", "udp", "icmp", "icmpv6", "-1"} or protocol.isdigit()):
        text = f"Invalid value '{permission['IpProtocol']}' for IP protocol. Unknown protocol."
        raise Refused("InvalidPermission.Malformed", text)
    first, last = permission.get("FromPort"), permission.get("ToPort")
    if protocol in _WITH_PORTS:
        _check_ports(first, last)
    if protocol in _ICMP:
        _check_icmp(protocol, first, last)
    if protocol == "-1" or first is None or last is None:
        first = last = -1
    return {"IpProtocol": protocol, "FromPort": first, "ToPort": last}


def _check_ports(first: int | None, last: int | None) -> None:
    if first is None or last is None:
        raise _range_refused("Must specify both from and to ports with TCP/UDP.")
    if not 0 <= first <= last <= 65535:
        text = f"Invalid value '{first}-{last}' for portRange. The ports go from 0 to 65535, the lower one first."
        raise Refused("InvalidParameterValue", text)


def _check_icmp(protocol: str, kind: int | None, code: int | None) -> None:
    """Check a range of ICMP: the first port is the type, the last one the code; -1 is all of them.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html, in the words that
    hashicorp/terraform#13015 and martysweet/cfn-lint#6 have
    """
    if kind is None or code is None:
        if protocol == "icmp":
            raise _range_refused("Must specify both from and to ports with ICMP.")
        return
    for name, number in (("type", kind), ("code", code)):
        if not -1 <= number <= 255:
            raise Refused("InvalidParameterValue", f"ICMP {name} ({number}) out of range")
    if kind == -1 and code != -1:
        raise _range_refused("With all ICMP types all codes must be specified.")


def _range_refused(why: str) -> Refused:
    return Refused("InvalidParameterValue", f"Invalid value '{why}' for portRange.")


def _sources(call: Call, permission: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in permission.get("IpRanges", []):
        yield _described({"CidrIpv4": str(cidr(row.get("CidrIp", ""), "cidrIp"))}, row)
    for row in permission.get("Ipv6Ranges", []):
        yield _described({"CidrIpv6": str(cidr6(row.get("CidrIpv6", ""), "cidrIpv6"))}, row)
    for row in permission.get("PrefixListIds", []):
        yield _described({"PrefixListId": row.get("PrefixListId", "")}, row)
    for row in permission.get("UserIdGroupPairs", []):
        other = find(call, SECURITY_GROUP, row.get("GroupId"))
        if row.get("UserId", call.account) != call.account:
            raise Refused("InvalidGroup.NotFound", f"You have specified a group of another account: {other['id']}")
        yield _described({"ReferencedGroupInfo": {"GroupId": other["id"], "UserId": call.account}}, row)


def _described(source: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    return {**source, "Description": row["Description"]} if row.get("Description") else source


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    left, right = one.get("ReferencedGroupInfo", {}), other.get("ReferencedGroupInfo", {})
    if left.get("GroupId") != right.get("GroupId"):
        return False
    return all(one.get(name) == other.get(name) for name in _SAME)


def _group(call: Call) -> Record:
    if "GroupId" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter groupId")
    return find(call, SECURITY_GROUP, call.params["GroupId"])


def _authorize(call: Call, *, egress: bool) -> dict[str, Any]:
    tags = tags_for(call, "security-group-rule")["security-group-rule"]
    group, wanted = _group(call), _asked(call, egress=egress)
    _check_networks(call, group, wanted)
    held = rules_of(call, group)
    for at, rule in enumerate(wanted):
        if any(_same(rule, row["view"]) for row in held) or any(_same(rule, each) for each in wanted[:at]):
            text = f'the specified rule "peer: {_peer(rule)}, {_words(rule)}, ALLOW" already exists'
            raise Refused("InvalidPermission.Duplicate", text)
    in_direction = [row for row in held if row["view"]["IsEgress"] == egress]
    quota = call.settings.quotas.rules_per_group
    full(call, len(in_direction) + len(wanted) - 1, quota, "rules of a security group")
    made = [_add(call, group, rule, dict(tags)) for rule in wanted]
    return {"Return": True, "SecurityGroupRules": [show(record, SECURITY_GROUP_RULE) for record in made]}


def _check_networks(call: Call, group: Record, wanted: list[dict[str, Any]]) -> None:
    """Refuse a rule that names a group of another VPC: no VPCs are connected here.

    https://docs.aws.amazon.com/vpc/latest/peering/vpc-peering-security-groups.html, in the words that ansible#45782 has
    """
    for rule in wanted:
        if "ReferencedGroupInfo" in rule:
            other = find(call, SECURITY_GROUP, rule["ReferencedGroupInfo"]["GroupId"])
            if other["view"]["VpcId"] != group["view"]["VpcId"]:
                text = "You have specified two resources that belong to different networks."
                raise Refused("InvalidGroup.NotFound", text)


def _peer(rule: dict[str, Any]) -> str:
    reference = rule.get("ReferencedGroupInfo", {})
    return str(rule.get("CidrIpv4") or rule.get("CidrIpv6") or rule.get("PrefixListId") or reference.get("GroupId"))


def _words(rule: dict[str, Any]) -> str:
    if rule["IpProtocol"] == "-1":
        return "ALL"
    return f"{rule['IpProtocol'].upper()}, from port: {rule['FromPort']}, to port: {rule['ToPort']}"


def _revoke(call: Call, *, egress: bool) -> dict[str, Any]:
    group = _group(call)
    held = [row for row in rules_of(call, group) if row["view"]["IsEgress"] == egress]
    gone = _by_id(call, held) if "SecurityGroupRuleIds" in call.params else _by_content(call, held, egress)
    for record in gone:
        group["rules"].remove(record["id"])
        call.world.remove(record, call.now)
    return {"Return": True, "RevokedSecurityGroupRules": [_revoked(record["view"]) for record in gone]}


def _by_id(call: Call, held: list[Record]) -> list[Record]:
    if "IpPermissions" in call.params:
        text = "The parameters SecurityGroupRuleIds and IpPermissions may not be given together"
        raise Refused("InvalidParameterCombination", text)
    rows = {row["id"]: row for row in held}
    for ident in call.params["SecurityGroupRuleIds"]:
        if ident not in rows:
            text = f"The security group rule ID '{ident}' does not exist"
            raise Refused(SECURITY_GROUP_RULE.not_found, text)
    return [rows[ident] for ident in dict.fromkeys(call.params["SecurityGroupRuleIds"])]


def _by_content(call: Call, held: list[Record], egress: bool) -> list[Record]:
    found = []
    for rule in _asked(call, egress=egress):
        rows = [row for row in held if _same(rule, row["view"])]
        if not rows:
            text = "The specified rule does not exist in this security group."
            raise Refused("InvalidPermission.NotFound", text)
        found += [row for row in rows if row not in found]
    return found


def _revoked(view: dict[str, Any]) -> dict[str, Any]:
    names = ("SecurityGroupRuleId", "GroupId", *_SAME, "Description")
    shown = {name: view[name] for name in names if name in view}
    if "ReferencedGroupInfo" in view:
        shown["ReferencedGroupId"] = view["ReferencedGroupInfo"]["GroupId"]
    return shown


_PERMISSION = (
    "IpPermissions.IpProtocol IpPermissions.FromPort IpPermissions.ToPort IpPermissions.IpRanges "
    "IpPermissions.Ipv6Ranges IpPermissions.PrefixListIds IpPermissions.UserIdGroupPairs.GroupId "
    "IpPermissions.UserIdGroupPairs.UserId IpPermissions.UserIdGroupPairs.Description"
)
OPERATIONS: tuple[Operation, ...] = (
    writes("AuthorizeSecurityGroupIngress", lambda call: _authorize(call, egress=False),
           f"GroupId TagSpecifications {_PERMISSION}"),
    writes("AuthorizeSecurityGroupEgress", lambda call: _authorize(call, egress=True),
           f"GroupId TagSpecifications {_PERMISSION}"),
    writes("RevokeSecurityGroupIngress", lambda call: _revoke(call, egress=False),
           f"GroupId SecurityGroupRuleIds {_PERMISSION}"),
    writes("RevokeSecurityGroupEgress", lambda call: _revoke(call, egress=True),
           f"GroupId SecurityGroupRuleIds {_PERMISSION}"),
    describes("DescribeSecurityGroupRules", SECURITY_GROUP_RULE, "SecurityGroupRuleIds", "SecurityGroupRules"),
)  # fmt: skip
