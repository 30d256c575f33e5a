"""What the schema can know is refused at apply time, and what makes a cluster upstream is accepted."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from freehold_apiserver.custom import CustomStrategy
from harness.rows import over_rows
from harness.schemas import crd_of, powervs_spec


@pytest.fixture(scope="module")
def strategy() -> CustomStrategy:
    crd = crd_of()
    return CustomStrategy(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], has_status=True)


def cluster(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "IBMPowerVSCluster",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def refusals(strategy: CustomStrategy, spec: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    objects = [cluster(copy.deepcopy(each)) for each in (spec, old) if each is not None]
    for each in objects:
        strategy.decode(each)
    return [str(each) for each in strategy.validate(objects[0], objects[1] if old is not None else None)]


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a range without a length": ({"dhcpServer": {"cidr": "192.168.1.0"}}, "spec.dhcpServer.cidr", "192.168.10.0/24"),
    "a range that is too long": ({"vpcSubnets": [{"cidr": "10.0.0.0/33"}]}, "spec.vpcSubnets[0].cidr", "IPv4 range"),
    "an octet above 255": ({"vpcSubnets": [{}, {"cidr": "10.0.256.0/24"}]}, "spec.vpcSubnets[1].cidr", "IPv4 range"),
    "a range of IPv6": ({"dhcpServer": {"cidr": "fd00::/64"}}, "spec.dhcpServer.cidr", "IPv4 range"),
    "a name for a server": ({"dhcpServer": {"dnsServer": "dns.example"}}, "spec.dhcpServer.dnsServer", "1.1.1.1"),
    "a server's name": ({"dhcpServer": {"name": "my_dhcp"}}, "spec.dhcpServer.name", "letters, digits and dashes"),
    "a long server's name": ({"dhcpServer": {"name": "d" * 101}}, "spec.dhcpServer.name", "at most 100"),
    "a zone in capitals": ({"zone": "DAL10"}, "spec.zone", "for example dal10"),
    "a zone with a space": ({"zone": "dal 10"}, "spec.zone", "for example dal10"),
    "a subnet's zone": ({"vpcSubnets": [{"zone": "us-south-"}]}, "spec.vpcSubnets[0].zone", "us-south-1"),
    "a region": ({"vpc": {"region": "us south"}}, "spec.vpc.region", "us-south"),
    "a bucket's region": ({"cosInstance": {"bucketRegion": "US"}}, "spec.cosInstance.bucketRegion", "us-south"),
    "a workspace's name": ({"serviceInstance": {"name": "w" * 181}}, "spec.serviceInstance.name", "at most 180"),
    "a network's name": ({"network": {"name": "n" * 129}}, "spec.network.name", "at most 128"),
    "two subnets of one name": ({"vpcSubnets": [{"name": "a"}, {"name": "a"}]}, "spec.vpcSubnets", "same name"),
    "two subnets of one id": ({"vpcSubnets": [{"id": "a"}, {"id": "a"}]}, "spec.vpcSubnets", "same id"),
    "two balancers": ({"loadBalancers": [{"name": "a"}, {"name": "a"}]}, "spec.loadBalancers", "same name"),
    "none is public": ({"loadBalancers": [{"public": False}]}, "spec.loadBalancers", "public: true"),
    "tags that differ by case": (
        {"tags": [{"key": "Team", "value": "A"}, {"key": "team", "value": "a"}]}, "spec.tags", "upper and lower case",
    ),
    "a tag without a value twice": ({"tags": [{"key": "a"}, {"key": "a", "value": ""}]}, "spec.tags", "equal"),
}  # fmt: skip


@over_rows(("spec", "field", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_work_is_refused_at_apply_time(
    strategy: CustomStrategy, spec: dict[str, Any], field: str, said: str
) -> None:
    (refusal,) = refusals(strategy, spec)
    assert refusal.startswith(f"{field}: Invalid value: ") and said in refusal


@over_rows(("spec", "field", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_an_object_from_before_the_rule_stays_usable(
    strategy: CustomStrategy, spec: dict[str, Any], field: str, said: str
) -> None:
    """It is parsed, and writes that leave the field alone pass: its finalizer could not be removed otherwise."""
    assert powervs_spec({"spec": spec})
    assert not refusals(strategy, {**spec, "controlPlaneEndpoint": {"host": "h"}}, spec)


def test_a_wrong_value_is_not_replaced_by_another_wrong_one(strategy: CustomStrategy) -> None:
    assert refusals(strategy, {"zone": "DAL12"}, {"zone": "DAL10"})
    assert not refusals(strategy, {"zone": "dal12"}, {"zone": "DAL10"})
    subnets = [{"name": "a"}, {"name": "a"}]
    assert refusals(strategy, {"vpcSubnets": [*subnets, {"name": "b"}]}, {"vpcSubnets": subnets})


ACCEPTED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "empty texts": {"zone": "", "dhcpServer": {"cidr": "", "name": "", "dnsServer": ""}, "vpc": {"region": ""}},
    "ranges": {"vpcSubnets": [{"cidr": cidr} for cidr in ("0.0.0.0/0", "10.0.0.0/8", "192.168.255.0/24")]},
    "zones of every spelling": {
        "vpcSubnets": [{"zone": zone} for zone in ("dal10", "us-south", "eu-de-1", "lon04", "osa21", "br-sao-3")]
    },
    "subnets without names": {"vpcSubnets": [{}, {}, {"name": "a"}]},
    "one public of two": {"loadBalancers": [{"public": False, "name": "b"}, {"name": "a"}]},
    "given by id": {"dhcpServer": {"id": "x", "name": "any name", "cidr": "any"},
                    "serviceInstance": {"id": "x", "name": "w" * 200}, "network": {"id": "x", "name": "n" * 200}},
    "one key twice": {"tags": [{"key": "team", "value": "a"}, {"key": "team", "value": "b"}, {"key": "team"}]},
    "as many as there may be": {"vpcSubnets": [{"name": f"s{n}"} for n in range(250)]},
}  # fmt: skip


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_can_work_is_accepted(strategy: CustomStrategy, spec: dict[str, Any]) -> None:
    assert not refusals(strategy, spec)


EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("powervs-*.yaml"))
"""Upstream's templates with their variables filled in (test_api_examples), and small ones."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_accepted(strategy: CustomStrategy, path: Path) -> None:
    specs = [each["spec"] for each in yaml.safe_load_all(path.read_text()) if each["kind"] == "IBMPowerVSCluster"]
    assert specs
    for spec in specs:
        assert not refusals(strategy, spec)
