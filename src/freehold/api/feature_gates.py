"""Feature gates: features that are turned on and off by upstream's names.

Sources: https://cluster-api.sigs.k8s.io/tasks/experimental-features/experimental-features,
https://cluster-api-aws.sigs.k8s.io/topics/external-resource-gc
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum


class FeatureGate(StrEnum):
    """One feature, by the name that Cluster API and its providers give it."""

    BOOTSTRAP_FORMAT_IGNITION = "BootstrapFormatIgnition"
    """``spec.cosInstance`` of an IBMPowerVSCluster (docs/reference/requirements.md I22) and ``spec.s3Bucket`` of an
    AWSCluster are acted on."""
    EXTERNAL_RESOURCE_GC = "ExternalResourceGC"
    """What the workloads of a cluster made in the cloud is deleted with it (docs/reference/requirements.md G9)."""
    ALTERNATIVE_GC_STRATEGY = "AlternativeGCStrategy"
    """Upstream's collector then asks each service instead of the tagging API. Ours does so by itself, where it must."""


FeatureGates = frozenset[FeatureGate]
"""Those that are on."""

_DEFAULTS = {
    FeatureGate.BOOTSTRAP_FORMAT_IGNITION: False,
    FeatureGate.EXTERNAL_RESOURCE_GC: True,
    FeatureGate.ALTERNATIVE_GC_STRATEGY: False,
}
"""As upstream has them."""

DEFAULT_GATES: FeatureGates = frozenset(gate for gate in FeatureGate if _DEFAULTS[gate])

_NEEDLESS = {
    FeatureGate.ALTERNATIVE_GC_STRATEGY: "where the tagging API cannot be asked, the services themselves are, without "
    "this gate",
}

_WORDS = {"true": True, "false": False}


def parse(text: str) -> FeatureGates:
    """From ``Name=true,Other=false``, as ``--feature-gates`` has it. Raises ValueError with a sentence for a person."""
    settings = {**_DEFAULTS, **dict(_pairs(text))}
    return frozenset(gate for gate, on in settings.items() if on)


def _pairs(text: str) -> Iterator[tuple[FeatureGate, bool]]:
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, word = (part.strip() for part in pair.partition("="))
        if not equals or word.lower() not in _WORDS:
            raise ValueError(f"{pair!r} is not NAME=true or NAME=false")
        if name not in set(FeatureGate):
            raise ValueError(f"there is no feature gate {name!r}; there is {', '.join(FeatureGate)}")
        yield FeatureGate(name), _WORDS[word.lower()]


def unlike_defaults(gates: FeatureGates) -> FeatureGates:
    """Return the gates that somebody has set: on where the default is off, or off where it is on."""
    return gates ^ DEFAULT_GATES


def written(gates: FeatureGates, subset: FeatureGates) -> str:
    """Write the values that ``gates`` has for a subset of them, as ``--feature-gates`` takes them."""
    return ",".join(f"{gate}={str(gate in gates).lower()}" for gate in FeatureGate if gate in subset)


def setting(gate: FeatureGate) -> str:
    """Return the option that turns the gate on, for messages."""
    return f"--feature-gates={written(frozenset({gate}), frozenset({gate}))}"


def notices(gates: FeatureGates) -> Iterator[str]:
    """Say which of the gates that are on have no effect, and why."""
    for gate, why in _NEEDLESS.items():
        if gate in gates:
            yield f"feature gate {gate} is accepted and changes nothing: {why}"
