"""Birth names: legal wherever the wanted name is, and told from every other name."""

from __future__ import annotations

import re

import pytest

from freehold.clouds.ibm.names import DHCP, INSTANCE, TRANSIT, VPC, bears, born, is_nested, nested

NONCE = "fabcdefg"
LEGAL = re.compile("([a-z]|[a-z][-a-z0-9]*[a-z0-9])")


@pytest.mark.parametrize("limit", [VPC, TRANSIT, DHCP, INSTANCE])
@pytest.mark.parametrize("length", [1, 47, 48, 49, 55, 60, 63, 180])
def test_a_birth_name_fits_and_bears_its_nonce(limit: int, length: int) -> None:
    """Cut before a dash as well: no service takes two in a row at the end, or one last."""
    for name in ("c" * length, ("c-" * length)[: length - 1] + "c"):
        made = born(name, NONCE, limit)
        assert len(made) <= limit
        assert LEGAL.fullmatch(made)
        assert bears(made, "", {NONCE})
        assert "--" not in made


def test_long_names_that_differ_at_the_end_are_born_apart() -> None:
    assert born("c" * 62 + "a", NONCE, VPC) != born("c" * 62 + "b", NONCE, VPC)


@pytest.mark.parametrize("name", ["lb-pool-6443", "pool", "c" * 50 + "-pool-6443", "c" * 58 + "-6443"])
def test_a_nested_nonce_leaves_the_port_last(name: str) -> None:
    """Upstream's machine controller reads it there; and the pool is known again, though its name was cut."""
    made = nested(name, NONCE, VPC)
    assert LEGAL.fullmatch(made)
    assert len(made) <= VPC
    if "-" in name:
        assert made.endswith(f"-{name.rpartition('-')[2]}")
    assert is_nested(made, name, VPC)
    assert not is_nested(name, name, VPC)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("frontend-lb-pool-443", "lb-pool-443"),
        ("lb-firewall-pool-443", "lb-pool-443"),
        ("lb-pool-443-friendly", "lb-pool-443"),
        ("lb-pool-fabcdefg-444", "lb-pool-443"),
        ("fabcdefg", ""),
    ],
)
def test_words_that_look_like_a_nonce_make_no_other_pool_ours(text: str, name: str) -> None:
    """Frontend, firewall, friendly: a listener bound to that pool would send its traffic elsewhere."""
    assert not is_nested(text, name, VPC)
