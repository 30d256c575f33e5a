"""The most characters that AWS documents for texts whose length the models of botocore lack.

Each has its page in docs/reference/simulator-aws.md#lengths.
"""

from collections.abc import Mapping

from botocore.model import Shape

LENGTHS: Mapping[str, int] = {
    "ClientToken": 64,
    "CreateSecurityGroupRequest.GroupName": 255,
    "CreateSecurityGroupRequest.Description": 255,
    "IpRange.Description": 255,
    "Ipv6Range.Description": 255,
    "PrefixListId.Description": 255,
    "UserIdGroupPair.Description": 255,
    "ImportKeyPairRequest.KeyName": 255,
    "CreateVpcEndpointRequest.PolicyDocument": 20480,
    "ModifyVpcEndpointRequest.PolicyDocument": 20480,
    "CreateAccessPointInput.LoadBalancerName": 32,
    "HealthCheck.Target": 1024,
}
"""By member, or by the structure that has it and the member."""


def most_characters(shape: Shape, name: str) -> int | None:
    """Return the most characters of a member of a structure, None if AWS documents none or the model has it."""
    return LENGTHS.get(f"{shape.name}.{name}", LENGTHS.get(name))
