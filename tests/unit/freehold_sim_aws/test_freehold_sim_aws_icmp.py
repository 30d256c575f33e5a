"""Rules of security groups for ICMP: their ports are types and codes."""

from typing import Any

import pytest

from harness.simulated_aws import refused

ANY = [{"CidrIp": "0.0.0.0/0"}]


@pytest.mark.parametrize("protocol", ["icmp", "icmpv6", "58"])
@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((999, -1), "ICMP type (999) out of range"),
        ((8, 70000), "ICMP code (70000) out of range"),
        ((0, 65535), "ICMP code (65535) out of range"),
        ((-2, -1), "ICMP type (-2) out of range"),
        ((-1, 0), "all codes must be specified"),
    ],
    ids=str,
)
def test_types_and_codes_of_icmp_have_eight_bits(
    sim: Any, protocol: str, numbers: tuple[int, int], sentence: str
) -> None:
    """Minus one is all of them; of all types it is all codes."""
    group = sim.group(sim.vpc())
    first, last = numbers
    sources = {"IpRanges": ANY} if protocol == "icmp" else {"Ipv6Ranges": [{"CidrIpv6": "::/0"}]}
    permission = {"IpProtocol": protocol, "FromPort": first, "ToPort": last, **sources}
    with refused("InvalidParameterValue", sentence):
        sim.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[permission])
    for first, last in ((-1, -1), (0, 0), (255, -1), (255, 255)):
        allowed = {**permission, "FromPort": first, "ToPort": last}
        sim.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[allowed])


def test_only_icmp_of_ipv6_may_come_without_types_and_codes(sim: Any) -> None:
    group = sim.group(sim.vpc())
    with refused("InvalidParameterValue", "Must specify both from and to ports with ICMP."):
        sim.ec2.authorize_security_group_ingress(
            GroupId=group, IpPermissions=[{"IpProtocol": "icmp", "FromPort": 8, "IpRanges": ANY}]
        )
    permission = {"IpProtocol": "icmpv6", "Ipv6Ranges": [{"CidrIpv6": "::/0"}]}
    sim.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[permission])
