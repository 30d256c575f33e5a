"""The resources of somebody else's cluster on the simulated AWS, and what others do to their tags."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from freehold.demo.tag_checks import Spoiled
from freehold.demo.world import AWSWorld, CloudResource, others

GROUPS, SECRETS, BESIDE = 150, 50, 20
"""Security groups and secrets of the fleet, and security groups beside it, which lack the classifier."""

_DRIFTED, _STRIPPED, _BARED, _NEW = 40, 40, 10, 10
_AT_ONCE = 8
"""Requests to the admin API at a time."""


@dataclass
class Fleet:
    """``classifier`` selects it. ``foreign``: by address, the tags of others that each resource must keep.

    ``beside`` is what is not selected, as it must stay.
    """

    aws: AWSWorld
    classifier: Mapping[str, str]
    foreign: dict[str, frozenset[str]] = field(default_factory=dict)
    beside: list[CloudResource] = field(default_factory=list)

    async def arrive(self) -> None:
        """Somebody's installer makes it, with tags of its own."""
        there = {each.address for each in await self.aws.resources()}
        vpc = (await self.aws.call("ec2.CreateVpc", CidrBlock="10.64.0.0/16"))["Vpc"]["VpcId"]
        names = {f"node-{number}": self.classifier for number in range(GROUPS)}
        names |= {f"else-{number}": {} for number in range(BESIDE)}
        groups = [("ec2.CreateSecurityGroup", _group(name, vpc, tags)) for name, tags in names.items()]
        secrets = [
            ("secretsmanager.CreateSecret", _secret(f"token-{number}", self.classifier)) for number in range(SECRETS)
        ]
        await self._each([*groups, *secrets])
        new = [each for each in await self.aws.resources() if each.address not in there]
        marks = _join_tags(self.classifier)
        self.foreign = {each.address: each.tags for each in new if marks <= each.tags}
        groups_of_others = [each for each in others(new) if each.kind == "security-group" and not each.default]
        self.beside = [each for each in groups_of_others if not marks <= each.tags]

    async def meddle(self, wanted: Mapping[str, str]) -> tuple[list[Spoiled], tuple[str, ...]]:
        """Let somebody's script set one key of ours, strip another one and put its own on.

        Returns what is spoiled, which may be repaired by now, and what the script did.
        """
        changed, stripped = sorted(wanted, reverse=True)
        found = [each for each in await self.aws.resources() if each.address in self.foreign]
        groups = [each for each in found if each.kind == "security-group"]
        secrets = [each for each in found if each.kind == "secret"][:_BARED]
        drifted, less, more = groups[:_DRIFTED], groups[-_STRIPPED:], groups[_DRIFTED : _DRIFTED + _NEW]
        await self.aws.call("ec2.CreateTags", Resources=_ids(drifted), Tags=_rows({changed: "prod"}))
        await self.aws.call("ec2.DeleteTags", Resources=_ids(less), Tags=[{"Key": stripped}])
        await self.aws.call("ec2.CreateTags", Resources=_ids(more), Tags=_rows({"audited": "2026"}))
        await self._each(
            [("secretsmanager.UntagResource", {"SecretId": each.id, "TagKeys": [stripped]}) for each in secrets]
        )
        for each in more:
            self.foreign[each.address] |= _join_tags({"audited": "2026"})
        spoiled = [Spoiled(each.address, changed, "prod", wanted[changed]) for each in drifted]
        spoiled += [Spoiled(each.address, stripped, None, wanted[stripped]) for each in (*less, *secrets)]
        return spoiled, (
            f"{changed} is prod on {len(drifted)} security groups",
            f"{stripped} is gone from {len(less)} security groups and {len(secrets)} secrets",
            f"{len(more)} have one more tag of somebody else",
        )

    async def _each(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(operation: str, params: Mapping[str, Any]) -> None:
            async with turn:
                await self.aws.call(operation, **params)

        await asyncio.gather(*(one(*each) for each in calls))


def _ids(resources: Sequence[CloudResource]) -> list[str]:
    return [each.id for each in resources]


def _group(name: str, vpc: str, tags: Mapping[str, str]) -> dict[str, Any]:
    rows = _rows({"Name": name, "owner": "team a", **tags})
    specification = [{"ResourceType": "security-group", "Tags": rows}]
    return {"GroupName": name, "Description": "a node", "VpcId": vpc, "TagSpecifications": specification}


def _secret(name: str, tags: Mapping[str, str]) -> dict[str, Any]:
    return {"Name": name, "SecretString": "x", "Tags": _rows({"rotation": "30 days", **tags})}


def _rows(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _join_tags(tags: Mapping[str, str]) -> frozenset[str]:
    """As a Resource has them."""
    return frozenset(map("=".join, tags.items()))
