"""Security group rules as parts: the key by which ours and those that IBM Cloud shows are compared.

Source: docs/reference/ibm-cloud.md#vpc.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freehold.engine.resources import Part
from freehold.providers.ibm.calls import IbmClient, Json

KIND = "rule"
ANYWHERE = "0.0.0.0/0"
_ALL_PORTS = (1, 65535)


def natural_key(rule: Mapping[str, Any]) -> str:
    """Return direction, protocol, ports (or ICMP type and code) and remote: what a rule does, whatever its id and name.

    It takes requests and replies. A rule for all ports equals one that names none: IBM Cloud fills them in. A local
    side other than everything is in the key, since no rule of ours has one.
    """
    remote = rule.get("remote") or {"cidr_block": ANYWHERE}
    other = next((remote[name] for name in ("cidr_block", "address", "id") if remote.get(name)), remote.get("name"))
    local = rule.get("local") or {}
    here = local.get("cidr_block") or local.get("address") or ANYWHERE
    words = [rule["direction"], rule["protocol"], _ports(rule), str(other)]
    return " ".join([*words, *([] if here == ANYWHERE else ["to", here])])


def _ports(rule: Mapping[str, Any]) -> str:
    for first, last in (("port_min", "port_max"), ("type", "code")):
        values = [rule[name] for name in (first, last) if rule.get(name) is not None]
        if values and tuple(values) != _ALL_PORTS:
            return "-".join(map(str, values))
    return "any"


def part_of(body: Json) -> Part:
    return Part(KIND, natural_key(body), body, body["id"])


def parts_of(group: Json) -> frozenset[Part] | None:
    """Return the rules of a group as a list shows it; None where it shows none of them."""
    shown = group.get("rules")
    return None if shown is None else frozenset(part_of(rule) for rule in shown)


class SecurityGroupRules:
    """The rules of security groups."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client

    async def read_all(self, region: str, group: str) -> frozenset[Part]:
        """Return all rules of a group; the list is not paged."""
        found = await self._client.read_short_list(
            "vpc",
            "list_security_group_rules",
            lambda: self._client.session.vpc(region).list_security_group_rules(group),
            "rules",
            f"security group {group}",
        )
        return frozenset(part_of(rule) for rule in found)

    async def add(self, region: str, group: str, part: Part) -> None:
        prototype = {"ip_version": "ipv4", **part.request}
        await self._client.write(
            "vpc",
            "create_security_group_rule",
            lambda: self._client.session.vpc(region).create_security_group_rule(group, prototype),
            f"rule {part.natural_key} of security group {group}",
            rule=part.natural_key,
        )

    async def remove(self, region: str, group: str, part: Part) -> None:
        await self._client.write(
            "vpc",
            "delete_security_group_rule",
            lambda: self._client.session.vpc(region).delete_security_group_rule(group, part.id),
            f"rule {part.natural_key} of security group {group}",
            rule=part.natural_key,
        )
