"""Default names are always legal, never too long, the same every time, and never shared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.providers.ibm.powervs import names
from freehold.providers.ibm.powervs.names import PowerVSNames, connection_name, default_name

RULES = {
    "vpc": names.VPC,
    "gateway": names.GATEWAY,
    "instance": names.INSTANCE,
    "dhcp": names.DHCP,
    "bucket": names.BUCKET,
}
SUFFIXES = ("", "-vpc", "-vpcsubnet-us-south-1", "-loadbalancer-12", "-transitgateway", "-serviceInstance")

_label = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?", fullmatch=True)
clusters = st.lists(_label, min_size=1, max_size=5).map(".".join).filter(lambda name: len(name) <= 253)
"""Names that Kubernetes allows for an object: RFC 1123 subdomains of up to 253 characters."""
cases = st.tuples(st.sampled_from(sorted(RULES)), st.sampled_from(SUFFIXES)).filter(
    lambda case: not (case == ("bucket", "-serviceInstance") or (case[0] == "vpc" and "I" in case[1]))
)


@given(clusters, cases)
def test_always_legal(cluster: str, case: tuple[str, str]) -> None:
    """A default name that the cloud refuses would block every cluster of that name."""
    rule, suffix = RULES[case[0]], case[1]
    name = default_name(cluster, suffix, rule)
    assert rule.legal(name), rule.validation_error(name)
    assert name.endswith(suffix)
    assert name == default_name(cluster, suffix, rule)


@given(clusters, clusters, cases)
def test_never_shared(one: str, other: str, case: tuple[str, str]) -> None:
    """Two clusters whose names are cut or mapped alike must not use each other's resources."""
    if one != other:
        rule, suffix = RULES[case[0]], case[1]
        assert default_name(one, suffix, rule) != default_name(other, suffix, rule)


NEAR = {
    "cut at the same place": ("a" * 80 + "x", "a" * 80 + "y"),
    "a dot and a dash": ("a.b", "a-b"),
    "with and without the letter that is added in front": ("1a", "c-1a"),
    "cut and already short": ("a" * 54, "a" * 80),
}


@pytest.mark.parametrize(("one", "other"), NEAR.values(), ids=NEAR.keys())
def test_close_names_stay_apart(one: str, other: str) -> None:
    assert PowerVSNames(one).vpc != PowerVSNames(other).vpc


def test_the_default_names_of_upstream() -> None:
    """docs/reference/requirements.md I12, I14, I16 to I20 and docs/reference/ibm-cloud.md#capibm spell them so."""
    seed = PowerVSNames("c1")
    assert [
        seed.workspace,
        names.network_of(seed.dhcp),
        seed.vpc,
        seed.subnet("us-south-1"),
        seed.subnet("0"),
        seed.transit_gateway,
        connection_name(seed.transit_gateway, "vpc"),
        connection_name(seed.transit_gateway, "pvs"),
        seed.load_balancer(),
        seed.load_balancer("1"),
        seed.cos_instance,
        seed.cos_bucket,
    ] == [
        "c1-serviceInstance",
        "DHCPSERVERc1_Private",
        "c1-vpc",
        "c1-vpcsubnet-us-south-1",
        "c1-vpcsubnet-0",
        "c1-transitgateway",
        "c1-transitgateway-vpc-con",
        "c1-transitgateway-pvs-con",
        "c1-loadbalancer",
        "c1-loadbalancer-1",
        "c1-cosinstance",
        "c1-cosbucket",
    ]


def test_only_illegal_characters_are_replaced() -> None:
    """A dot is legal in a workspace's name and refused in a VPC's."""
    seed = PowerVSNames("my.cluster")
    assert seed.workspace == "my.cluster-serviceInstance"
    assert seed.vpc.startswith("my-cluster-")
    assert seed.dhcp.startswith("my-cluster-")
    assert names.needs_mapped_names("my.cluster")
    assert not names.needs_mapped_names("my-cluster")


@pytest.mark.parametrize(
    ("network", "dhcp"),
    [("foo", "foo"), ("DHCPSERVERfoo_Private", "foo"), ("DHCPSERVER_Private", "DHCPSERVER_Private")],
    ids=["plain", "already the whole name", "nothing within"],
)
def test_the_dhcp_server_of_a_network_name(network: str, dhcp: str) -> None:
    assert names.dhcp_of(network) == dhcp
