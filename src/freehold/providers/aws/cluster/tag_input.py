"""What is wrong with the tags of an AWSCluster: what AWS refuses, and what would say whose a resource is."""

from __future__ import annotations

from collections.abc import Iterator

from freehold.providers.aws.cluster.facts import Facts
from freehold.providers.aws.cluster.names import DefaultNames
from freehold.providers.aws.tags import limits as tag_limits
from freehold.providers.aws.tags.capa_tags import ASSOCIATION, ROLE, Lifecycle, cloud_provider_key, cluster_key
from freehold.providers.aws.types.cluster import AWSClusterSpec
from freehold.providers.aws.types.network import NetworkSpec, SubnetSpec
from freehold.providers.objects.spec_problems import Problem
from freehold.tagging.protected import Access, IgnoreList, access
from freehold.tagging.resources import Cloud

Checks = Iterator[Problem]
_FIELD = "spec.additionalTags"


def check(names: DefaultNames, spec: AWSClusterSpec, facts: Facts) -> Checks:
    """Check the tags for all resources, and those of single subnets."""
    if said := tag_limits.user_count_problem(len(spec.additional_tags)):
        yield Problem(_FIELD, said)
    for key, value in spec.additional_tags.items():
        for problem in tag_limits.user_tag_problems(key, value):
            yield Problem(f"{_FIELD}[{key}]", problem)
    network = spec.network or NetworkSpec()
    given = bool(network.vpc and network.vpc.id and network.vpc.id != facts.recorded.vpc)
    yield from _whose(names, spec, given=given and bool(network.subnets))
    for index, each in enumerate(() if given else network.subnets):
        yield from _subnet(names, f"spec.network.subnets[{index}].tags", each, spec)


def _whose(names: DefaultNames, spec: AWSClusterSpec, *, given: bool) -> Checks:
    """Check that no tag gives a resource to another cluster, nor a subnet of others to anybody.

    Its cloud controller and its collector would take the resource, and a cluster of that name could not be made beside
    it. OpenShift's installer writes that of its own cluster, beside given subnets too, where ours wins: ``shared``.
    """
    for key, value in spec.additional_tags.items():
        field = f"{_FIELD}[{key}]"
        if _is_anothers(names, key, value):
            yield Problem(field, _ANOTHERS)
        elif given and key != cloud_provider_key(names.cluster) and _is_protected(key):
            yield Problem(
                field,
                "it would be put on the subnets that the spec gives, and controllers of clusters decide by it what "
                "they may use and delete; remove it, or put it on them yourself in AWS",
            )


_ANOTHERS = "it says that another cluster owns the resource, whose controllers would delete it; remove it"


def _is_anothers(names: DefaultNames, key: str, value: str) -> bool:
    own = cloud_provider_key(names.cluster)
    return key.startswith(cloud_provider_key("")) and key != own and value == Lifecycle.OWNED.value


def _is_protected(key: str) -> bool:
    """Keys that begin with ``aws:``, ours and upstream's are refused everywhere (:mod:`tag_limits`)."""
    refused = any(tag_limits.user_tag_problems(key, ""))
    return not refused and access(Cloud.AWS, key, IgnoreList()) is Access.PROTECTED


def _subnet(names: DefaultNames, field: str, subnet: SubnetSpec, spec: AWSClusterSpec) -> Checks:
    """Check the tags of a subnet that is created. Upstream writes all that it has into its spec, its own among them."""
    if said := tag_limits.user_count_problem(len({*spec.additional_tags, *subnet.tags} - _upstreams(names))):
        yield Problem(field, said)
    for key, value in subnet.tags.items():
        check_one = tag_limits.tag_problems if key in _upstreams(names) else tag_limits.user_tag_problems
        for problem in check_one(key, value):
            yield Problem(f"{field}[{key}]", problem)
        if _is_anothers(names, key, value):
            yield Problem(f"{field}[{key}]", _ANOTHERS)


def _upstreams(names: DefaultNames) -> frozenset[str]:
    """The keys with upstream's prefix that may be in the spec of a subnet."""
    return frozenset({ASSOCIATION, ROLE, cluster_key(names.cluster)})
