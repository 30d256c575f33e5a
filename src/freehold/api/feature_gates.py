"""Feature gates: features of upstream that are off until somebody turns them on, by upstream's names.

Source: https://cluster-api.sigs.k8s.io/tasks/experimental-features/experimental-features
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum


class FeatureGate(StrEnum):
    """One feature, by the name that Cluster API and its providers give it."""

    BOOTSTRAP_FORMAT_IGNITION = "BootstrapFormatIgnition"
    """``spec.cosInstance`` of an IBMPowerVSCluster (docs/reference/requirements.md I22) and ``spec.s3Bucket`` of an
    AWSCluster are acted on."""


FeatureGates = frozenset[FeatureGate]
"""Those that are on."""

ALL_OFF: FeatureGates = frozenset()

_WORDS = {"true": True, "false": False}


def parse(text: str) -> FeatureGates:
    """From ``Name=true,Other=false``, as ``--feature-gates`` has it. Raises ValueError with a sentence for a person."""
    return frozenset(gate for gate, on in dict(_pairs(text)).items() if on)


def _pairs(text: str) -> Iterator[tuple[FeatureGate, bool]]:
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, word = (part.strip() for part in pair.partition("="))
        if not equals or word.lower() not in _WORDS:
            raise ValueError(f"{pair!r} is not NAME=true or NAME=false")
        if name not in set(FeatureGate):
            raise ValueError(f"there is no feature gate {name!r}; there is {', '.join(FeatureGate)}")
        yield FeatureGate(name), _WORDS[word.lower()]


def setting(gate: FeatureGate) -> str:
    """The option that turns it on, for messages."""
    return f"--feature-gates={gate}=true"
