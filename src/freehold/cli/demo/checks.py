"""The demo's checks: pure, on what the simulated cloud says. Each returns what it found or raises NotSo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from freehold.api.names import CLUSTER_UUID_TAG, OWNER_TAG
from freehold.cli.demo.world import Call, Resource, others, ours


@dataclass(frozen=True)
class CheckedCloud:
    """What the checks must know of a cloud.

    ``creates``: which call makes which kind of resource. ``delete_order``: which delete must have come before which,
    because a resource is deleted before what contains it. ``carried``: kinds that have no ownership tags of their own.
    """

    creates: Mapping[str, str]
    delete_order: tuple[tuple[str, str], ...]
    carried: frozenset[str] = frozenset()


IBM = CheckedCloud(
    creates={
        "rc.create_resource_instance": "instance",
        "power.create_dhcp": "dhcp",
        "vpc.create_vpc": "vpc",
        "vpc.create_subnet": "subnet",
        "vpc.create_load_balancer": "load-balancer",
        "transit.create_transit_gateway": "gateway",
        "transit.create_transit_gateway_connection": "connection",
    },
    delete_order=(
        ("vpc.delete_load_balancer", "vpc.delete_subnet"),
        ("vpc.delete_subnet", "vpc.delete_vpc"),
        ("transit.delete_transit_gateway_connection", "transit.delete_transit_gateway"),
        ("power.delete_dhcp", "rc.delete_resource_instance"),
    ),
    carried=frozenset({"connection"}),
)


class NotSo(Exception):
    """A check that failed, in a sentence."""


def created_once(cloud: CheckedCloud, resources: Sequence[Resource], calls: Sequence[Call]) -> str:
    """As many effective creates as there are resources, of each kind: no duplicate, no orphan."""
    there = Counter(each.kind for each in ours(resources))
    creates = cloud.creates
    made = Counter(creates[call.operation] for call in calls if call.effective and call.operation in creates)
    for kind in sorted(set(creates.values())):
        if made[kind] != there[kind]:
            raise NotSo(f"{made[kind]} creates of kind {kind} were effective, {there[kind]} are there")
    if not made:
        raise NotSo("nothing was created")
    return f"{sum(made.values())} creates for {sum(made.values())} resources, none twice"


def marked(cloud: CheckedCloud, resources: Sequence[Resource]) -> str:
    """Everything of ours that can have tags has the two ownership tags (docs/reference/requirements.md T7)."""
    taggable = [each for each in ours(resources) if each.crn and each.kind in set(cloud.creates.values())]
    for each in taggable:
        for key in (OWNER_TAG, CLUSTER_UUID_TAG):
            if not _tag(each, key) and each.kind not in cloud.carried:
                raise NotSo(f"{each.kind} {each.name} lacks the tag {key}")
    owners = {_tag(each, OWNER_TAG) for each in taggable if _tag(each, OWNER_TAG)}
    return f"each of them has its owner and uuid tags ({', '.join(sorted(owners))})"


def owner_tags(resource: Resource) -> frozenset[str]:
    """The owner tag on a resource."""
    return frozenset(tag for tag in resource.tags if tag.casefold().startswith(f"{OWNER_TAG}:".casefold()))


def _tag(resource: Resource, key: str) -> str:
    return next((tag for tag in sorted(resource.tags) if tag.casefold().startswith(f"{key}:".casefold())), "")


def untouched(before: Sequence[Resource], after: Sequence[Resource]) -> str:
    """What strangers own is as it was: nothing gone, changed, tagged or untagged."""
    now = {each.id: each for each in others(after)}
    for each in others(before):
        if each.id not in now:
            raise NotSo(f"{each.kind} {each.name} of a stranger is gone")
        if now[each.id] != each:
            raise NotSo(f"{each.kind} {each.name} of a stranger was changed")
    return f"{len(others(before))} resources of strangers as they were"


def all_gone(resources: Sequence[Resource]) -> str:
    """Nothing that was made with our credentials is left."""
    left = ours(resources)
    if left:
        raise NotSo("left behind: " + ", ".join(f"{each.kind} {each.name} ({each.state})" for each in left))
    return "nothing made with our credentials is left"


def in_order(cloud: CheckedCloud, calls: Sequence[Call]) -> str:
    """Every delete came after the deletes of what was inside it or attached to it."""
    done = [(call.sequence, call.operation) for call in calls if call.effective and ".delete_" in call.operation]
    for first, then in cloud.delete_order:
        firsts = [sequence for sequence, operation in done if operation == first]
        thens = [sequence for sequence, operation in done if operation == then]
        if not firsts or not thens:
            raise NotSo(f"{then if firsts else first} was never called")
        if max(firsts) > min(thens):
            raise NotSo(f"{then} was called before the last {first}")
    return f"{len(done)} deletes, in dependency order"
