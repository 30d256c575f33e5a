"""Security groups that controllers made for load balancers. Rules that refer to them are revoked first.

The cluster's tag alone proves nothing: users put groups of their own, with that tag, on Services.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from freehold.collection.found import Step, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.collection.rules import (
    IN_NETWORK,
    OWNED,
    CollectionRule,
    Delete,
    judge,
    require_description_prefix,
    require_name_prefix,
    require_name_tag,
)
from freehold.collection.things import CollectionTask
from freehold.engine.errors import NotFound
from freehold.engine.keyed_codec import UUID
from freehold.engine.resources import Part
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.collectors.collector import MADE_BY, Scene
from freehold.providers.aws.collectors.load_balancers import CONTROLLER_CLUSTER
from freehold.providers.aws.kinds.security_group import EGRESS, INGRESS, rule_parts
from freehold.providers.aws.tags.native_tags import tag_map

OF_CLASSIC = ("k8s-elb-", "Security group for Kubernetes ELB ")
"""Name and description of a group that the cloud controller makes for a load balancer of a Service
(https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/aws.go)."""
_WAYS = {INGRESS: "ingress", EGRESS: "egress"}


class SecurityGroups:
    """Security groups. A group cannot be deleted while an interface uses it or a rule of another group refers to it."""

    task = CollectionTask.SECURITY_GROUP
    rule = CollectionRule(
        (
            (OWNED, require_name_prefix(OF_CLASSIC[0]), require_description_prefix(OF_CLASSIC[1]), IN_NETWORK),
            (require_name_tag(CONTROLLER_CLUSTER), require_name_prefix("k8s-"), IN_NETWORK),
        ),
        MADE_BY,
    )

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    async def find(self, scene: Scene) -> Sequence[Thing]:
        things = [_to_thing(row) for row in scene.groups]
        ours = {row["GroupId"] for row in scene.groups if _belongs_to(row, scene.workloads)}
        doomed = {each.id for each in things if isinstance(judge(each, scene.workloads, self.rule), Delete)}
        return [
            _add_blockers(thing, scene, may_change=ours | doomed) if thing.id in doomed else thing for thing in things
        ]

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return an empty list: a delete that AWS took is complete."""
        return ()

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        """Revoke all rules first: two groups may refer to each other."""
        return [
            [
                Step(thing, "take out what names", partial(self._revoke, group, rule))
                for thing in things
                for group, rule in thing.named_by
            ],
            [Step(thing, "delete", partial(self._delete, thing.id)) for thing in things],
        ]

    async def _revoke(self, group: str, rule: Part) -> None:
        operation = f"revoke_security_group_{_WAYS[rule.kind]}"
        try:
            await self._client.write("ec2", operation, group, GroupId=group, IpPermissions=[dict(rule.request)])
        except NotFound:  # the rule is gone already
            return

    async def _delete(self, ident: str) -> None:
        await self._client.write("ec2", "delete_security_group", ident, GroupId=ident)


def _to_thing(row: Json) -> Thing:
    return Thing(
        task=CollectionTask.SECURITY_GROUP,
        noun="security group",
        id=row["GroupId"],
        name=row["GroupName"],
        tags=tag_map(row.get("Tags", ())),
        network=row.get("VpcId", ""),
        description=row.get("Description", ""),
    )


def _add_blockers(thing: Thing, scene: Scene, may_change: Collection[str]) -> Thing:
    """Return it with what prevents its delete: interfaces, or a rule in a group of somebody else."""
    users = [row["NetworkInterfaceId"] for row in scene.interfaces if _is_in_group(row, thing.id)]
    naming = list(_find_naming_rules(scene, thing.id))
    theirs = sorted({group for group, _ in naming if group not in may_change})
    held = f"a rule in {', '.join(theirs)} names it: revoke that rule" if theirs else ""
    waits = f"network interface {', '.join(sorted(users)[:5])}, which is in it" if users else ""
    return replace(thing, waits_for=waits, held_by=held, named_by=tuple(naming))


def _is_in_group(interface: Json, group: str) -> bool:
    return any(each.get("GroupId") == group for each in interface.get("Groups", ()))


def _find_naming_rules(scene: Scene, ident: str) -> Iterator[tuple[str, Part]]:
    """Yield the rules of other groups that refer to this one, each with its group."""
    for row in scene.groups:
        if row["GroupId"] == ident:
            continue
        for kind, permissions in (
            (INGRESS, row.get("IpPermissions", ())),
            (EGRESS, row.get("IpPermissionsEgress", ())),
        ):
            for permission in permissions:
                for rule in rule_parts(kind, permission, scene.place.account):
                    if any(pair.get("GroupId") == ident for pair in rule.request.get("UserIdGroupPairs", ())):
                        yield row["GroupId"], rule


def _belongs_to(row: Json, workloads: Workloads) -> bool:
    return tag_map(row.get("Tags", ())).get(UUID, "").casefold() == workloads.uuid.casefold()
