"""From an AWSCluster as it is stored to its wish, or to why there is none. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freehold.api.parse import InvalidObject, parse
from freehold.providers.aws.cluster import node_sources, wish_input
from freehold.providers.aws.cluster.facts import Facts
from freehold.providers.aws.cluster.group_input import named_groups
from freehold.providers.aws.cluster.input import check
from freehold.providers.aws.cluster.names import DefaultNames
from freehold.providers.aws.cluster.normal_form import normal_form
from freehold.providers.aws.cluster.warnings import warnings_of
from freehold.providers.aws.cluster.wish import ClusterWish
from freehold.providers.aws.types.cluster import AWSClusterSpec
from freehold.providers.objects.adapter import Refused, Undecided
from freehold.providers.objects.cloud_answers import NoAnswer
from freehold.providers.objects.spec_problems import Problem, SpecWarning


@dataclass(frozen=True)
class Decided:
    """The wish, and what a person should know about it. ``unmet`` holds up no create, but keeps it from being ready."""

    wish: ClusterWish
    notes: tuple[SpecWarning, ...] = ()
    unmet: tuple[Problem, ...] = ()


def decide(
    names: DefaultNames, raw: Mapping[str, Any], facts: Facts, *, storage: bool = False
) -> Decided | Refused | Undecided:
    """``storage``: whether ``s3Bucket`` is acted on (feature gate BootstrapFormatIgnition)."""
    try:
        spec = parse(AWSClusterSpec, raw.get("spec"), at="spec")
    except InvalidObject as error:
        return Refused(error.problems)
    notes = warnings_of(names, raw, spec, facts, storage=storage)
    if problems := check(names, raw, spec, facts, storage=storage):
        return Refused(problems, notes)
    asked: dict[str, object] = {
        "spec.region": facts.zones,
        "spec.network.vpc.id": facts.network,
        "spec.controlPlaneLoadBalancer.ingressRules": facts.nat_addresses,
        "spec.network.vpc.ipv6": facts.own_vpc_has_ipv6,
        "spec.bastion.ami": facts.image,
        **{each.field: facts.groups for each in named_groups(spec)},
    }
    if missing := {field: answer for field, answer in asked.items() if isinstance(answer, NoAnswer)}:
        return Undecided(missing, notes)
    wish = normal_form(names, spec, facts, storage=storage)
    if problems := tuple(wish_input.check(spec, wish, facts)):
        return Refused(problems, notes)
    return Decided(wish, notes, tuple(node_sources.unknown(raw["metadata"], spec, wish, facts)))
