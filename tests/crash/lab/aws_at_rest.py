"""What of ours is in the simulated AWS at rest, in words that do not differ from life to life.

Whatever happened in between, the end must be that of an undisturbed life: every attribute, rule, route, association,
attachment and tag. Both ends are read from the simulator's own records, so that no decoding and no planning of the
product takes part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from freehold.engine.keyed_codec import BIRTH, SEAL

Record = Mapping[str, Any]

OF_ONE_LIFE = frozenset({
    "AssociationId", "CanonicalHostedZoneName", "ClientToken", "CreateTime", "CreatedTime", "CreationDate",
    "CreationTimestamp", "DNSName", "LaunchTime", "NetworkInterfaceId", "NetworkInterfaceOwnerId",
    "PrivateDnsName", "PrivateIp",
    "PrivateIpAddress", "PublicDnsName", "PublicIp", "RouteTableAssociationId", "SecurityGroupRuleArn",
    "SecurityGroupRuleId", "Ipv6Address", "Ipv6CidrBlock",
    "accessEntryArn", "addonArn", "associatedAt", "clusterSecurityGroupId", "CreateDate", "createdAt", "endpoint",
    "issuer", "modifiedAt", "RoleId", "Url",
})  # fmt: skip
"""Dates, and what AWS picks itself: other ones in each life."""
OF_ONE_CREATE = frozenset({BIRTH, SEAL})
SHOWN = ("view", "attributes", "documents", "policies", "attached")


class AtRest:
    """The facts about each of our resources, by the node that it was made for."""

    def __init__(self, ours: Mapping[str, Record], rules: Iterable[Record]) -> None:
        """``ours``: by node; ``rules``: of all security groups. Both must not change any more."""
        self._ours = ours
        self._rules = list(rules)
        self._nodes = {str(each[name]): node for node, each in ours.items() for name in ("arn", "id")}
        ids = {json.dumps(str(each["id"])): f'"<{node}>"' for node, each in ours.items()}
        picked = {json.dumps(block): f'"<IPv6 of {node}>"' for node, each in ours.items() for block in _blocks_6(each)}
        self._names = {**{str(each["arn"]): f"<{node}>" for node, each in ours.items()}, **ids, **picked}
        self._facts: dict[str, frozenset[str]] = {}

    def facts(self, node: str) -> frozenset[str]:
        if node not in self._facts:
            self._facts[node] = frozenset(self._facts_of(self._ours[node])) if node in self._ours else frozenset()
        return self._facts[node]

    def _facts_of(self, record: Record) -> Iterable[str]:
        for part in SHOWN:
            yield from self._said(part, record.get(part, {}))
        yield from self._said("rule", [r["view"] for r in self._rules if r["view"]["GroupId"] == record["id"]])
        yield from self._said("tag", {key: value for key, value in record["tags"].items() if key not in OF_ONE_CREATE})

    def _said(self, name: str, value: Any) -> Iterable[str]:
        """One fact for each attribute, and for each entry of a list."""
        if isinstance(value, Mapping):
            for key in value.keys() - OF_ONE_LIFE:
                yield from self._said(f"{name} {key}", value[key])
        elif isinstance(value, list | tuple):
            for each in value:
                yield f"{name} {self._named(_without_one_life(each))}"
        else:
            yield f"{name} {self._named(value)}"

    def _named(self, value: Any) -> str:
        """With nodes in the place of ids."""
        said = json.dumps(value, sort_keys=True, default=str)
        for id_, node in self._names.items():
            said = said.replace(id_, node)
        return said

    def lacking(self, ident: str, undisturbed: AtRest, on_record: Iterable[str]) -> frozenset[str]:
        """The facts of that life that a resource lacks; none where it still waits for a resource.

        ``on_record``: the ids of the journal. What is there and not on record, nobody knows to be ours.
        """
        if (node := self._nodes.get(ident)) is None:
            return frozenset()
        lacking = undisturbed.facts(node) - self.facts(node)
        known = {self._nodes[each] for each in on_record if each in self._nodes}
        absent = [f"<{each}>" for each in undisturbed._ours.keys() - known]
        waits = any(each in fact for fact in lacking for each in absent)
        return frozenset() if waits else lacking


def _blocks_6(record: Record) -> Iterable[str]:
    """The ranges that AWS has picked for a VPC: rules let them in."""
    associated = record.get("view", {}).get("Ipv6CidrBlockAssociationSet", ())
    return (each["Ipv6CidrBlock"] for each in associated if "Ipv6CidrBlock" in each)


def _without_one_life(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_one_life(each) for key, each in value.items() if key not in OF_ONE_LIFE}
    return [_without_one_life(each) for each in value] if isinstance(value, list | tuple) else value
