"""SSM: the public parameters that name machine images.

https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html,
https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/
"""

from collections.abc import Iterator
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads
from freehold_sim.aws.ec2.image_catalog import AL2_VERSIONS, ARCHITECTURES, EKS_VERSIONS, IMAGES, eks_name

_EKS = "/aws/service/eks/optimized-ami/{version}/amazon-linux-{system}/recommended/image_id"
_UBUNTU = "/aws/service/canonical/ubuntu/server/{version}/stable/current/amd64/hvm/{volume}/ami-id"
_BY_NAME = {row.name: row.ident for row in IMAGES}
_AL2 = {"2": ("x86_64", "al2"), "2-arm64": ("arm64", "al2"), "2-gpu": ("x86_64", "al2-gpu")}


def _parameters() -> Iterator[tuple[str, str]]:
    """Yield the names of parameters, each with that of its image."""
    for version in EKS_VERSIONS:
        for chip in ARCHITECTURES:
            for variant in ("standard", "nvidia"):
                name = _EKS.format(version=version, system=f"2023/{chip}/{variant}")
                yield name, eks_name(version, chip, variant)
    for version in AL2_VERSIONS:
        for system, (chip, variant) in _AL2.items():
            yield _EKS.format(version=version, system=system), eks_name(version, chip, variant)
    yield (
        _UBUNTU.format(version="20.04", volume="ebs-gp2"),
        "ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server-20250101",
    )
    yield (
        _UBUNTU.format(version="24.04", volume="ebs-gp3"),
        "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20251001",
    )


PARAMETERS = {name: _BY_NAME[image] for name, image in _parameters()}


def get_parameter(call: Call) -> dict[str, Any]:
    name = call.params["Name"]
    if name not in PARAMETERS:
        raise Refused("ParameterNotFound", f"Parameter {name} not found.")
    parameter = {
        "Name": name, "Type": "String", "Value": PARAMETERS[name], "Version": 1, "LastModifiedDate": 1_738_368_000.0,
        "ARN": f"arn:{call.partition}:ssm:{call.region}::parameter{name}", "DataType": "aws:ec2:image",
    }  # fmt: skip
    return {"Parameter": parameter}


OPERATIONS: tuple[Operation, ...] = (reads("GetParameter", get_parameter, "Name WithDecryption"),)
