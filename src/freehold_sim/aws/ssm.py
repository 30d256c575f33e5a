"""SSM: the public parameters that name machine images.

https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html,
https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads
from freehold_sim.aws.ec2.catalog import IMAGES

_EKS = "/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/x86_64/standard/recommended/image_id"
_UBUNTU = "/aws/service/canonical/ubuntu/server/{version}/stable/current/amd64/hvm/{volume}/ami-id"
_BY_NAME = {row.name: row.ident for row in IMAGES}
PARAMETERS = {
    _EKS.format(version="1.31"): _BY_NAME["amazon-eks-node-al2023-x86_64-standard-1.32-v20250201"],
    _EKS.format(version="1.32"): _BY_NAME["amazon-eks-node-al2023-x86_64-standard-1.32-v20250201"],
    _UBUNTU.format(version="20.04", volume="ebs-gp2"): _BY_NAME[
        "ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server-20250101"
    ],
    _UBUNTU.format(version="24.04", volume="ebs-gp3"): _BY_NAME[
        "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20251001"
    ],
}


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
