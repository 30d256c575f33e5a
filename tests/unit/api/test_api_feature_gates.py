"""Feature gates are written as Cluster API and its providers write them."""

from __future__ import annotations

import re

import pytest

from freehold.api.feature_gates import FeatureGate, parse

IGNITION = FeatureGate.BOOTSTRAP_FORMAT_IGNITION

TEXTS = {
    "nothing": ("", set()),
    "on": ("BootstrapFormatIgnition=true", {IGNITION}),
    "off": ("BootstrapFormatIgnition=false", set()),
    "the last one counts": ("BootstrapFormatIgnition=true, BootstrapFormatIgnition=False", set()),
    "a comma at the end": ("BootstrapFormatIgnition=True,", {IGNITION}),
}


@pytest.mark.parametrize(("text", "on"), TEXTS.values(), ids=TEXTS.keys())
def test_the_gates_that_are_on(text: str, on: set[FeatureGate]) -> None:
    assert parse(text) == on


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("BootstrapFormatIgnition", "'BootstrapFormatIgnition' is not NAME=true or NAME=false"),
        ("BootstrapFormatIgnition=1", "'BootstrapFormatIgnition=1' is not NAME=true or NAME=false"),
        ("MachinePool=true", "there is no feature gate 'MachinePool'; there is BootstrapFormatIgnition"),
    ],
)
def test_what_is_no_gate_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    """A typo would leave the feature off in silence."""
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        parse(text)
