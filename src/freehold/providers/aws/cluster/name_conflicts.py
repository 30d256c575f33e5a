"""Whether another cluster of our cluster's name is in this account and region. Pure.

To CAPA, the cloud controller and its collector two clusters of one name are one: each would delete what the other has.
The tag with the name proves nothing about whose a resource is, so it is never a reason to use or to delete it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from freehold.engine.ownership import UUID
from freehold.engine.reasons import Reason
from freehold.engine.value_texts import texts_in
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan
from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenNetwork, Namesake
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.tags.capa_tags import Lifecycle, cloud_provider_key
from freehold.providers.objects.adapter import RefusedSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning, join_problems

_FIELD = "metadata.name"
_NAMED = 5
"""So many resources are named in a condition; of more it tells the types, and a plan names all of them."""
_OF_A_NETWORK = frozenset(
    {
        "carrier-gateway",
        "dhcp-options",
        "egress-only-internet-gateway",
        "elastic-ip",
        "internet-gateway",
        "natgateway",
        "network-acl",
        "route-table",
        "vpc-endpoint",
    }
)
"""What a network has beside its VPC and subnets, by the type in an ARN. The spec has no id for most of it."""


def refuse_taken_name(
    names: AWSClusterNames,
    owner: str,
    plan: ClusterPlan,
    spec: Mapping[str, Any],
    facts: AWSClusterFacts,
    notes: tuple[SpecWarning, ...],
) -> RefusedSpec | NoAnswer | None:
    """Refuse a name that another cluster has; None where it is free, or ours, or the question does not arise.

    An object that was restored has nothing on record, and its machines have CAPA's tag without our marks. ``owner``:
    the object's namespace/name; ``spec`` is the one that ``plan`` was made of.
    """
    if facts.namesakes is None or isinstance(facts.namesakes, NoAnswer):
        return facts.namesakes
    region, given = plan.region, frozenset(texts_in(spec))
    network = facts.network.value if plan.vpc.given and isinstance(facts.network, Answer) else None
    found = [each for each in facts.namesakes.value if not _is_users(each, given, network)]
    if not found or facts.known_before:
        return None
    uuids = {each.uuid for each in found}
    if {each.owner for each in found} == {owner} and len(uuids) == 1 and UUID.fullmatch(uuid := uuids.pop()):
        head = (
            f"there are resources in {region} with the marks of an earlier {owner} with uuid {uuid}: that object was "
            "lost, or is in another API server; nothing is created. If it was lost, delete this one and then: freehold "
            f"recover --uuid {uuid} --region {region}. If it is not: choose another name. Those resources are "
        )
        named = sorted(_short(each.arn) for each in found)
    else:
        sole = found[0].owner if len({each.owner for each in found}) == 1 else ""
        marks = f"the marks of {sole}" if sole else "without this object's mark"
        name = names.of_workloads if all(each.by_cloud_provider for each in found) else names.cluster
        head = (
            f"{name!r} is the name of another cluster in {region}; nothing is created. Choose another name, or "
            f"delete that cluster first{_retag(names.of_workloads, found)}. With its name, and {marks}, are "
        )
        named = sorted(_short(each.arn) + (f" (of {each.owner})" if each.owner and not sole else "") for each in found)
    whole = SpecProblem(_FIELD, head + ", ".join(named))
    return RefusedSpec((whole,), notes, Reason.NAME_TAKEN.value, _count_by_type(head, named))


def _is_users(each: Namesake, given: Collection[str], network: GivenNetwork | None) -> bool:
    """Return whether it is of a network or a group that the user brings along.

    Guides tell them to put the cloud controller's tag on it, with ``owned`` or ``shared``
    (https://docs.mirantis.com/mke/3.8/install/install-aws/aws-prerequisites.html). CAPA's own tag nobody puts
    there: to CAPA what has it is the cluster's, also where the spec gives its id.
    """
    arn = Arn.parse(each.arn)
    if arn is None or arn.service != "ec2" or not each.by_cloud_provider:
        return False
    return arn.id in given or (network is not None and (arn.type in _OF_A_NETWORK or arn.id in network.subnets))


def _retag(cluster: str, found: Sequence[Namesake]) -> str:
    """Say what else helps where only the cloud controller's tag names it."""
    if not any(each.by_cloud_provider for each in found):
        return ""
    shared, owned = Lifecycle.SHARED.value, Lifecycle.OWNED.value
    return (
        f"; or, on what is yours and of no other cluster, change the tag {cloud_provider_key(cluster)} from {owned} to "
        f"{shared}"
    )


def _count_by_type(head: str, named: Sequence[str]) -> str:
    """Count the resources by type: conditions and messages repeat it. Empty where there are only a few."""
    if len(named) <= _NAMED:
        return ""
    counts = Counter(each.partition("/")[0] for each in named)
    types = ", ".join(f"{number} {type_}" for type_, number in sorted(counts.items()))
    return join_problems([SpecProblem(_FIELD, f"{head}{types}. To list all: freehold plan -f FILE")])


def _short(target: str) -> str:
    """Shorten an ARN: account and region are the object's. What has no type in it (a bucket) gets its service."""
    arn = Arn.parse(target)
    if arn is None:
        return target
    return arn.resource if arn.type else f"{arn.service}/{arn.resource}"
