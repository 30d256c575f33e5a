"""Feature gates are written as Cluster API and its providers write them."""

from __future__ import annotations

import re

import pytest

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, find_changed_gates, format_gates, list_notices, parse

IGNITION = FeatureGate.BOOTSTRAP_FORMAT_IGNITION
COLLECTION = FeatureGate.EXTERNAL_RESOURCE_GC
ALTERNATIVE = FeatureGate.ALTERNATIVE_GC_STRATEGY

TEXTS = {
    "nothing": ("", {COLLECTION}),
    "on": ("BootstrapFormatIgnition=true", {IGNITION, COLLECTION}),
    "off": ("BootstrapFormatIgnition=false", {COLLECTION}),
    "the last one counts": ("BootstrapFormatIgnition=true, BootstrapFormatIgnition=False", {COLLECTION}),
    "a comma at the end": ("BootstrapFormatIgnition=True,", {IGNITION, COLLECTION}),
    "one that is on by default, off": ("ExternalResourceGC=false", set()),
    "upstream's strategy": ("AlternativeGCStrategy=true", {COLLECTION, ALTERNATIVE}),
}


@pytest.mark.parametrize(("text", "on"), TEXTS.values(), ids=TEXTS.keys())
def test_the_gates_that_are_on(text: str, on: set[FeatureGate]) -> None:
    assert parse(text) == on


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("BootstrapFormatIgnition", "'BootstrapFormatIgnition' is not NAME=true or NAME=false"),
        ("BootstrapFormatIgnition=1", "'BootstrapFormatIgnition=1' is not NAME=true or NAME=false"),
        (
            "MachinePool=true",
            "there is no feature gate 'MachinePool'; there is BootstrapFormatIgnition, "
            "ExternalResourceGC, AlternativeGCStrategy, EKSEnableIAM, EKSAllowAddRoles",
        ),
    ],
)
def test_what_is_no_gate_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    """A typo would leave the feature off in silence."""
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        parse(text)


def test_only_gates_unlike_their_defaults_count_as_set() -> None:
    gates = parse("ExternalResourceGC=false,BootstrapFormatIgnition=true")
    assert find_changed_gates(DEFAULT_GATES) == set()
    assert find_changed_gates(gates) == {IGNITION, COLLECTION}
    assert format_gates(gates, find_changed_gates(gates)) == "BootstrapFormatIgnition=true,ExternalResourceGC=false"


def test_a_gate_without_effect_is_named() -> None:
    assert list(list_notices(DEFAULT_GATES)) == []
    (notice,) = list_notices(parse("AlternativeGCStrategy=true"))
    assert notice.startswith("feature gate AlternativeGCStrategy is accepted and changes nothing")
