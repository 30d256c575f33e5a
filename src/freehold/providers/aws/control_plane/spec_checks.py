"""Checks of the spec of an AWSManagedControlPlane: what is wrong, where, what to do.

Those of its network are an AWSCluster's. A schema has refused most of it when the object was applied; this says the
same of objects that no such API server checked (``types/rules.py``), and what no schema can know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from freehold.api.parse import broken_rules
from freehold.engine.journal import Journal
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan
from freehold.providers.aws.control_plane.eks_plan import choose_subnets
from freehold.providers.aws.control_plane.facts import AddonVersions, ControlPlaneFacts
from freehold.providers.aws.control_plane.keys import CLUSTER, addon
from freehold.providers.aws.control_plane.names import build_eks_name
from freehold.providers.aws.control_plane.recorded import read_eks_name
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlaneSpec
from freehold.providers.objects.cloud_answers import Answer, NotThere
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning

Checks = Iterator[SpecProblem]
_SHOWN = 8
"""So many of the versions that there are are named."""


def check(
    raw: Mapping[str, Any],
    spec: AWSManagedControlPlaneSpec,
    eks_name: str,
    facts: ControlPlaneFacts,
    journal: Journal,
) -> tuple[SpecProblem, ...]:
    """Find everything that must be changed before anything is created, in the order of the docs."""
    parts = (
        _name(raw, spec, journal),
        _values(spec),
        _ipv6(spec),
        _key(spec, facts, journal),
        _addons(spec, facts, journal),
    )
    return tuple(dict.fromkeys(problem for part in parts for problem in part))


def check_plan(spec: AWSManagedControlPlaneSpec, plan: ClusterPlan) -> tuple[SpecProblem, ...]:
    """Find what EKS needs of the network: subnets in at least two zones.

    https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html#network-requirements-subnets
    """
    chosen = set(choose_subnets(plan, private_only=spec.restrict_private_subnets))
    zones = {each.zone for each in plan.subnets if each.logical in chosen}
    if len(zones) >= 2 or "" in zones:  # of a given VPC the cloud has not told yet
        return ()
    where = "spec.network.subnets" if spec.network and spec.network.subnets else "spec.network.vpc"
    if spec.restrict_private_subnets:
        said = f"private subnets in at least two zones, and there are some in {len(zones)}"
        return (SpecProblem("spec.restrictPrivateSubnets", f"EKS needs {said}; add some, or set it to false"),)
    said = f"EKS needs subnets in at least two zones, and there are some in {len(zones)}"
    if where.endswith("subnets"):
        return (SpecProblem(where, f"{said}; list one in another zone"),)
    return (SpecProblem(f"{where}.availabilityZoneUsageLimit", f"{said}; raise the limit, or use another region"),)


def warn(spec: AWSManagedControlPlaneSpec) -> Iterator[SpecWarning]:
    """Name what is acted on, but not quite as a person may expect."""
    if spec.endpoint_access and spec.endpoint_access.public is False and spec.endpoint_access.public_cidrs:
        yield SpecWarning("spec.endpointAccess.publicCIDRs", "not used; there is no way in from the internet")


def _name(raw: Mapping[str, Any], spec: AWSManagedControlPlaneSpec, journal: Journal) -> Checks:
    """Check that the name is what it was.

    A spec that names none any more is refused too: somebody may have written another cluster's ARN into the record,
    whose name would be in our tags, and in what is collected.
    """
    held, metadata = read_eks_name(journal.entries), raw["metadata"]
    said = spec.eks_cluster_name or build_eks_name(metadata["name"], metadata.get("namespace", ""))
    if held not in ("", said):
        yield SpecProblem(
            "spec.eksClusterName",
            f"the cluster is called {held!r} in EKS, which cannot rename it; write that, or make another "
            "AWSManagedControlPlane",
        )


def _values(spec: AWSManagedControlPlaneSpec) -> Checks:
    """Check by the rules of the schema; those of the network and of tags are checked with the network."""
    others = ("spec.network", "spec.bastion", "spec.additionalTags")
    yield from (each for each in broken_rules(spec, "spec") if not each.field.startswith(others))


def _ipv6(spec: AWSManagedControlPlaneSpec) -> Checks:
    if spec.network and spec.network.vpc and spec.network.vpc.ipv6 is not None:
        yield SpecProblem("spec.network.vpc.ipv6", "EKS clusters with IPv6 are not served; remove it")


def _key(spec: AWSManagedControlPlaneSpec, facts: ControlPlaneFacts, journal: Journal) -> Checks:
    field = "spec.encryptionConfig.provider"
    said = spec.encryption_config.provider if spec.encryption_config else ""
    if isinstance(facts.key, NotThere):
        yield SpecProblem(field, f"there is no key {said!r} in {spec.region}; correct it")
    elif isinstance(facts.key, Answer) and facts.key.value.problem and CLUSTER not in journal.claimed:
        yield SpecProblem(field, f"EKS cannot encrypt with key {said!r}: {facts.key.value.problem}")


def _addons(spec: AWSManagedControlPlaneSpec, facts: ControlPlaneFacts, journal: Journal) -> Checks:
    """Check addons that are not there yet. EKS may stop offering the version of one that is, which stays as it is."""
    for index, each in enumerate(spec.addons):
        answer = facts.addon_versions.get(each.name)
        if addon(each.name) in journal.claimed:
            continue
        if isinstance(answer, NotThere):
            known = f"; choose one of {', '.join(answer.known)}" if answer.known else "; correct it"
            yield SpecProblem(f"spec.addons[{index}].name", f"EKS has no addon {each.name!r}{known}")
        elif isinstance(answer, Answer) and each.version not in answer.value.versions:
            yield SpecProblem(f"spec.addons[{index}].version", _explain_version(each.name, each.version, answer.value))


def _explain_version(name: str, version: str, there: AddonVersions) -> str:
    if not there.versions:
        return f"EKS has no version of {name} for this version of Kubernetes; remove the addon"
    more = f" and {len(there.versions) - _SHOWN} more" if len(there.versions) > _SHOWN else ""
    default = f"; EKS takes {there.default} by itself" if there.default else ""
    return (
        f"EKS has no version {version!r} of {name} for this version of Kubernetes; choose one of "
        f"{', '.join(there.versions[:_SHOWN])}{more}{default}"
    )
