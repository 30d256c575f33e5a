"""Feature gates: features that can be turned on and off, under upstream's names.

Sources: https://cluster-api.sigs.k8s.io/tasks/experimental-features/experimental-features,
https://cluster-api-aws.sigs.k8s.io/topics/external-resource-gc,
https://cluster-api-aws.sigs.k8s.io/topics/eks/enabling
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum


class FeatureGate(StrEnum):
    """A feature, by the name that Cluster API and its providers give it."""

    BOOTSTRAP_FORMAT_IGNITION = "BootstrapFormatIgnition"
    """``spec.cosInstance`` of an IBMPowerVSCluster (docs/reference/requirements.md I22) and ``spec.s3Bucket`` of an
    AWSCluster are acted on."""
    EXTERNAL_RESOURCE_GC = "ExternalResourceGC"
    """Leftovers of a cluster's workloads in the cloud are deleted with it (docs/reference/requirements.md G9)."""
    ALTERNATIVE_GC_STRATEGY = "AlternativeGCStrategy"
    """Upstream's collector then asks each service instead of the tagging API. Ours does so by itself if it must."""
    EKS_ENABLE_IAM = "EKSEnableIAM"
    """An EKS cluster whose spec names no role gets one of its own."""
    EKS_ALLOW_ADD_ROLES = "EKSAllowAddRoles"
    """``spec.roleAdditionalPolicies`` of an AWSManagedControlPlane are attached to that role."""


FeatureGates = frozenset[FeatureGate]
"""The gates that are on."""

_DEFAULTS = {
    FeatureGate.BOOTSTRAP_FORMAT_IGNITION: False,
    FeatureGate.EXTERNAL_RESOURCE_GC: True,
    FeatureGate.ALTERNATIVE_GC_STRATEGY: False,
    FeatureGate.EKS_ENABLE_IAM: False,
    FeatureGate.EKS_ALLOW_ADD_ROLES: False,
}
"""Upstream's defaults."""

DEFAULT_GATES: FeatureGates = frozenset(gate for gate in FeatureGate if _DEFAULTS[gate])

_NEEDLESS = {
    FeatureGate.ALTERNATIVE_GC_STRATEGY: "where the tagging API cannot be asked, the services themselves are, without "
    "this gate",
}

_WORDS = {"true": True, "false": False}


def parse(text: str) -> FeatureGates:
    """Parse a value of ``--feature-gates``: ``Name=true,Other=false``. Raises ValueError with a sentence."""
    settings = {**_DEFAULTS, **dict(_parse_pairs(text))}
    return frozenset(gate for gate, on in settings.items() if on)


def _parse_pairs(text: str) -> Iterator[tuple[FeatureGate, bool]]:
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, word = (part.strip() for part in pair.partition("="))
        if not equals or word.lower() not in _WORDS:
            raise ValueError(f"{pair!r} is not NAME=true or NAME=false")
        if name not in set(FeatureGate):
            raise ValueError(f"there is no feature gate {name!r}; there is {', '.join(FeatureGate)}")
        yield FeatureGate(name), _WORDS[word.lower()]


def find_changed_gates(gates: FeatureGates) -> FeatureGates:
    """Find the gates that differ from their default."""
    return gates ^ DEFAULT_GATES


def format_gates(gates: FeatureGates, subset: FeatureGates) -> str:
    """Format the values in ``gates`` of a subset of all gates, for ``--feature-gates``."""
    return ",".join(f"{gate}={str(gate in gates).lower()}" for gate in FeatureGate if gate in subset)


def format_option(gate: FeatureGate) -> str:
    """Format the option that turns the gate on, for messages."""
    return f"--feature-gates={format_gates(frozenset({gate}), frozenset({gate}))}"


def list_notices(gates: FeatureGates) -> Iterator[str]:
    """List notices about gates that are on and have no effect."""
    for gate, why in _NEEDLESS.items():
        if gate in gates:
            yield f"feature gate {gate} is accepted and changes nothing: {why}"
