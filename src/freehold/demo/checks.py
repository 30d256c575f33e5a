"""The demo's checks: pure, on what the simulated cloud says. Each returns what it found or raises NotSo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from freehold.demo.world import CloudResource, SentCall, others, select_ours
from freehold.providers.aws.api_names import AWS_TAG_PREFIX, CAPA_TAG_PREFIX
from freehold.providers.ibm.api_names import CLUSTER_UUID_TAG, OWNER_TAG


@dataclass(frozen=True)
class CheckedCloud:
    """What the checks must know of a cloud.

    ``creates``: which call makes which kind of resource. ``delete_order``: which delete must have come before which,
    because a resource is deleted before what contains it. ``marks``: how the tags begin that all of ours have, the
    owner's first. ``carried``: kinds that have no tags of their own. ``parts``: kinds that are not told one by one.
    ``tokened``: kinds of which a create that is asked again, with its token, makes no second one.
    """

    creates: Mapping[str, str]
    delete_order: tuple[tuple[str, str], ...]
    marks: tuple[str, ...]
    carried: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    tokened: frozenset[str] = frozenset()


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
    marks=(f"{OWNER_TAG}:", f"{CLUSTER_UUID_TAG}:"),
    carried=frozenset({"connection"}),
)

AWS = CheckedCloud(
    creates={
        "ec2.CreateVpc": "vpc",
        "ec2.CreateSubnet": "subnet",
        "ec2.CreateInternetGateway": "internet-gateway",
        "ec2.AllocateAddress": "elastic-ip",
        "ec2.CreateNatGateway": "natgateway",
        "ec2.CreateRouteTable": "route-table",
        "ec2.CreateSecurityGroup": "security-group",
        "elbv2.CreateLoadBalancer": "balancer",
        "elbv2.CreateTargetGroup": "target-group",
        "elbv2.CreateListener": "listener",
        "ec2.RunInstances": "instance",
        "secretsmanager.CreateSecret": "secret",
    },
    delete_order=(
        ("elbv2.DeregisterTargets", "elbv2.DeleteTargetGroup"),
        ("ec2.TerminateInstances", "ec2.DeleteSubnet"),
        ("elbv2.DeleteLoadBalancer", "ec2.DeleteVpc"),
        ("ec2.DeleteNatGateway", "ec2.ReleaseAddress"),
        ("ec2.DetachInternetGateway", "ec2.DeleteInternetGateway"),
        ("ec2.DeleteRouteTable", "ec2.DeleteSubnet"),
        ("ec2.DeleteSubnet", "ec2.DeleteVpc"),
        ("ec2.DeleteSecurityGroup", "ec2.DeleteVpc"),
        ("ec2.DeleteInternetGateway", "ec2.DeleteVpc"),
    ),
    marks=(
        f"{AWS_TAG_PREFIX}owner=",
        f"{AWS_TAG_PREFIX}owner-uuid=",
        f"{AWS_TAG_PREFIX}seal=",
        f"{CAPA_TAG_PREFIX}cluster/",
    ),
    parts=frozenset({"security-group-rule", "network-interface", "role", "instance-profile"}),
    tokened=frozenset({"instance"}),
)


_DELETES = ("delete_", "Delete", "Release", "Terminate")
"""How the names of operations begin that end a resource."""


class NotSo(Exception):
    """A check that failed, in a sentence."""


def created_once(cloud: CheckedCloud, resources: Sequence[CloudResource], calls: Sequence[SentCall]) -> str:
    """As many effective creates as there are resources, of each kind: no duplicate, no orphan."""
    there = Counter(each.kind for each in select_ours(resources) if not each.default)
    creates = cloud.creates
    made = Counter(creates[call.operation] for call in calls if call.effective and call.operation in creates)
    for kind in sorted(set(creates.values())):
        if made[kind] < there[kind] or (made[kind] > there[kind] and kind not in cloud.tokened):
            raise NotSo(f"{made[kind]} creates of kind {kind} were effective, {there[kind]} are there")
    if not made:
        raise NotSo("nothing was created")
    resources_made = sum(there[kind] for kind in set(creates.values()))
    return f"{made.total()} creates for {resources_made} resources, none twice"


def check_marks(cloud: CheckedCloud, resources: Sequence[CloudResource]) -> str:
    """Everything of ours that can have tags has all that prove it (docs/reference/requirements.md T7, W12)."""
    kinds = set(cloud.creates.values()) - cloud.carried
    taggable = [each for each in select_ours(resources) if each.address and each.kind in kinds and not each.default]
    for each in taggable:
        for mark in cloud.marks:
            if not _begin(each, mark):
                raise NotSo(f"{each.kind} {each.name} lacks the tag {mark[:-1]}")
    owners = {tag for each in taggable for tag in owner_tags(cloud, each)}
    return f"each of them has its owner and uuid tags ({', '.join(sorted(owners))})"


def owner_tags(cloud: CheckedCloud, resource: CloudResource) -> frozenset[str]:
    """Return the owner tag on a resource."""
    return _begin(resource, cloud.marks[0])


def _begin(resource: CloudResource, mark: str) -> frozenset[str]:
    return frozenset(tag for tag in resource.tags if tag.casefold().startswith(mark.casefold()))


def check_untouched(before: Sequence[CloudResource], after: Sequence[CloudResource]) -> str:
    """Check that what strangers own is as it was: nothing gone, changed, tagged or untagged."""
    now = {(each.kind, each.id): each for each in others(after)}
    for each in others(before):
        found = now.get((each.kind, each.id))
        if found is None:
            raise NotSo(f"{each.kind} {each.name} of a stranger is gone")
        if found != each:
            raise NotSo(f"{each.kind} {each.name} of a stranger was changed")
    return f"{len(others(before))} resources of strangers as they were, byte for byte"


def all_gone(resources: Sequence[CloudResource]) -> str:
    """Nothing that was made with our credentials is left."""
    left = select_ours(resources)
    if left:
        raise NotSo("left behind: " + ", ".join(f"{each.kind} {each.name} ({each.state})" for each in left))
    return "nothing made with our credentials is left"


def in_order(cloud: CheckedCloud, calls: Sequence[SentCall]) -> str:
    """Every delete came after the deletes of what was inside it or attached to it."""
    done = [(call.sequence, call.operation) for call in calls if call.effective]
    for first, then in cloud.delete_order:
        firsts = [sequence for sequence, operation in done if operation == first]
        thens = [sequence for sequence, operation in done if operation == then]
        if not firsts or not thens:
            raise NotSo(f"{then if firsts else first} was never called")
        if max(firsts) > min(thens):
            raise NotSo(f"{then} was called before the last {first}")
    deletes = [operation for _, operation in done if operation.partition(".")[2].startswith(_DELETES)]
    return f"{len(deletes)} deletes, in dependency order"


def only_looked_at(calls: Sequence[SentCall]) -> str:
    """Check that the operator asked the cloud how things are, and changed nothing."""
    writes = sorted({call.operation for call in calls if call.effective})
    if writes:
        raise NotSo(f"the cloud was changed at rest: {', '.join(writes)}")
    reads = [call for call in calls if not call.mutating]
    if not reads:
        raise NotSo("nobody looked")
    return f"{len(reads)} reads, 0 writes"
