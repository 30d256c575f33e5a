"""Names with a nonce: legal wherever the wanted name is, and distinguished from every other name."""

from __future__ import annotations

import re

import pytest

from freehold.providers.ibm.names import (
    DHCP,
    INSTANCE,
    TRANSIT,
    VPC,
    birth_name,
    has_nonce,
    is_nested,
    matches,
    nested_birth_name,
    network_of,
)
from harness.account import Recognised
from harness.rows import over_rows

NONCE = "fabcdefghijkl"
LEGAL = re.compile("([a-z]|[a-z][-a-z0-9]*[a-z0-9])")


@pytest.mark.parametrize("limit", [VPC, TRANSIT, DHCP, INSTANCE])
def test_a_name_with_a_nonce_fits(limit: int) -> None:
    """Names of every length, beyond the limit, too. A cut name must not end with a dash: no service accepts that."""
    for length in range(1, limit + 20):
        for name in ("c" * length, ("c-" * length)[: length - 1] + "c"):
            made = birth_name(name, NONCE, limit)
            assert len(made) <= limit
            assert LEGAL.fullmatch(made)
            assert has_nonce(made, Recognised(NONCE))
            assert not has_nonce(made, Recognised("fzzzzzzzzzzzz"))
            assert "--" not in made


def test_the_network_of_the_longest_dhcp_name_is_a_legal_network() -> None:
    """PowerVS derives the name of the network from that of the server, and allows 128 characters."""
    network = network_of(birth_name("c" * 200, NONCE, DHCP))
    assert len(network) <= 128
    assert has_nonce(network, Recognised(NONCE))


def test_a_missing_name_has_no_nonce() -> None:
    """A resource whose name is not shown yet must not count as ours."""
    assert not has_nonce("", Recognised(NONCE))
    assert not matches("", "wanted", Recognised(NONCE))


@pytest.mark.parametrize("form", ["WS-{}", "ws_{}_x", "{}"])
def test_a_nonce_is_recognised_in_capitals(form: str) -> None:
    """Some services keep the case of a name that a person wrote; nonces are in lower case."""
    assert has_nonce(form.format(NONCE.upper()), Recognised(NONCE))
    assert has_nonce(form.format(NONCE.title()), Recognised(NONCE))


@over_rows("last", [*range(1, 62)])
def test_a_nested_name_with_a_nonce_fits_whatever_the_length_of_its_last_part(last: int) -> None:
    for head in (1, 10, 62 - last):
        name = ("c" * max(head, 1) + "-" + "d" * last)[:VPC]
        made = nested_birth_name(name, NONCE, VPC)
        assert len(made) <= VPC
        assert LEGAL.fullmatch(made)
        assert has_nonce(made, Recognised(NONCE))
        assert is_nested(made, name, VPC)


def test_long_names_that_differ_at_the_end_stay_different() -> None:
    assert birth_name("c" * 62 + "a", NONCE, VPC) != birth_name("c" * 62 + "b", NONCE, VPC)


@pytest.mark.parametrize("name", ["lb-pool-6443", "pool", "c" * 50 + "-pool-6443", "c" * 58 + "-6443"])
def test_the_port_stays_last_in_a_nested_name_with_a_nonce(name: str) -> None:
    """Upstream's machine controller reads it there; and the pool is recognised although its name was cut."""
    made = nested_birth_name(name, NONCE, VPC)
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
        ("lb-pool-fabcdefghijkl-444", "lb-pool-443"),
        ("lb-pool-fabcdefghij-443", "lb-pool-443"),
        ("fabcdefg", ""),
    ],
)
def test_words_that_look_like_a_nonce_make_no_other_pool_ours(text: str, name: str) -> None:
    """Examples are frontend, firewall, friendly: a listener with that pool would send its traffic elsewhere."""
    assert not is_nested(text, name, VPC)
