"""Checks of the tags of an AWSCluster: what AWS refuses, and what would say whose a resource is."""

from __future__ import annotations

from collections.abc import Iterator

from freehold.providers.aws.api_names import AWS_USER_TAG_LIMIT
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.tags.capa_tags import (
    ASSOCIATION,
    PROVIDER,
    ROLE,
    Lifecycle,
    cloud_provider_key,
    cluster_key,
)
from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.aws.types.network import NetworkSpec, SubnetSpec
from freehold.providers.aws.types.rules import OWNERSHIP_PREFIX, TOO_MANY_TAGS, aws_tag_problems
from freehold.providers.objects.spec_problems import SpecProblem
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access

Checks = Iterator[SpecProblem]
_FIELD = "spec.additionalTags"


def check(names: AWSClusterNames, spec: AWSClusterSpec, facts: AWSClusterFacts) -> Checks:
    """Check the tags for all resources, and those of single subnets."""
    for key in spec.additional_tags:
        if key.startswith(PROVIDER):
            yield SpecProblem(f"{_FIELD}[{key}]", _UPSTREAMS)
    network = spec.network or NetworkSpec()
    given = bool(facts.recorded.given_vpc_of(network.vpc))
    yield from _whose(names, spec, given=given and bool(network.subnets))
    for index, each in enumerate(() if given else network.subnets):
        yield from _subnet(names, f"spec.network.subnets[{index}].tags", each, spec)


def _whose(names: AWSClusterNames, spec: AWSClusterSpec, *, given: bool) -> Checks:
    """Check that no tag gives a resource to another cluster, nor a subnet of others to anybody.

    Its cloud controller and its collector would take the resource, and a cluster of that name could not be made beside
    it. OpenShift's installer writes that of its own cluster, beside given subnets too, where ours wins: ``shared``.
    """
    for key, value in spec.additional_tags.items():
        field = f"{_FIELD}[{key}]"
        if _is_anothers(names, key, value):
            yield SpecProblem(field, _ANOTHERS)
        elif given and key != cloud_provider_key(names.of_workloads) and _is_protected(key):
            yield SpecProblem(
                field,
                "it would be put on the subnets that the spec gives, and controllers of clusters decide by it what "
                "they may use and delete; remove it, or put it on them yourself in AWS",
            )


_UPSTREAMS = f"keys that begin with {PROVIDER} say whose a resource is; choose another"
_ANOTHERS = "it says that another cluster owns the resource, whose controllers would delete it; remove it"


def _is_anothers(names: AWSClusterNames, key: str, value: str) -> bool:
    own = cloud_provider_key(names.of_workloads)
    return key.startswith(cloud_provider_key("")) and key != own and value == Lifecycle.OWNED.value


def _is_protected(key: str) -> bool:
    """Return whether only a key like this is protected: those that are refused everywhere are told there."""
    return not any(user_tag_problems(key, "")) and access(AWS, key, IgnoreList()) is KeyAccess.PROTECTED


def user_tag_problems(key: str, value: str, *, is_upstreams: bool = False) -> Iterator[str]:
    """Yield why a user cannot write a tag: AWS refuses it, or its key is ours, or upstream's and not its own here."""
    yield from aws_tag_problems(key, value)
    if not OWNERSHIP_PREFIX.holds(key, value):
        yield OWNERSHIP_PREFIX.message
    if key.startswith(PROVIDER) and not is_upstreams:
        yield _UPSTREAMS


def _subnet(names: AWSClusterNames, field: str, subnet: SubnetSpec, spec: AWSClusterSpec) -> Checks:
    """Check the tags of a subnet that is created. Upstream writes all that it has into its spec, its own among them."""
    if len({*spec.additional_tags, *subnet.tags} - _upstreams(names)) > AWS_USER_TAG_LIMIT:
        yield SpecProblem(field, TOO_MANY_TAGS)
    for key, value in subnet.tags.items():
        for problem in user_tag_problems(key, value, is_upstreams=key in _upstreams(names)):
            yield SpecProblem(f"{field}[{key}]", problem)
        if _is_anothers(names, key, value):
            yield SpecProblem(f"{field}[{key}]", _ANOTHERS)


def _upstreams(names: AWSClusterNames) -> frozenset[str]:
    """Return the keys with upstream's prefix that may be in the spec of a subnet."""
    return frozenset({ASSOCIATION, ROLE, cluster_key(names.cluster)})
