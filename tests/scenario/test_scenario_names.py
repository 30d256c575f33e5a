"""Cluster names that Kubernetes allows and a cloud refuses are mapped, and two never to the same name."""

from __future__ import annotations

import pytest

from harness.powervs import Harness, example
from harness.resources import existing, names, omitted


def named(name: str) -> Harness:
    manifest = example(**omitted())
    manifest["metadata"]["name"] = name
    return Harness(manifest)


@pytest.mark.parametrize(
    "name", ["a.b", "9lives", "x" * 63, "n" * 120, "1.2.3", "a", "very-long." * 20 + "end"],
    ids=["dot", "digit", "63", "120", "dots", "one", "210"],
)  # fmt: skip
def test_a_cluster_of_every_legal_name_is_created_and_deleted(name: str) -> None:
    """VPC, load balancer and DHCP server refuse dots and leading digits, gateways 60 characters and more."""
    harness = named(name)
    harness.up()
    if name != "a":
        assert "metadata.name" in harness.condition("FieldsServed")["message"]
    harness.down()
    assert existing(harness) == []


def test_two_long_names_that_begin_alike_share_no_resource() -> None:
    """A name that is cut gets a hash."""
    first, second = named("n" * 100 + "a"), named("n" * 100 + "b")
    first.up()
    second.up()
    assert {n for n in names(first) & names(second) if not n.startswith("default-")} == set()
