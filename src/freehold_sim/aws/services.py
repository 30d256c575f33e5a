"""Every operation of the simulated AWS: an explicit table, one line per service."""

from collections.abc import Mapping

from freehold_sim.aws import eks, elb, elbv2, iam, kms, s3, secrets, ssm, sts, tag_index
from freehold_sim.aws.call import Operation
from freehold_sim.aws.ec2 import operations as ec2

OPERATIONS: Mapping[str, Mapping[str, Operation]] = {
    name: {operation.name: operation for operation in table}
    for name, table in {
        "ec2": ec2.OPERATIONS,
        "elb": elb.OPERATIONS,
        "elbv2": elbv2.OPERATIONS,
        "resourcegroupstaggingapi": tag_index.OPERATIONS,
        "iam": iam.OPERATIONS,
        "sts": sts.OPERATIONS,
        "s3": s3.OPERATIONS,
        "ssm": ssm.OPERATIONS,
        "secretsmanager": secrets.OPERATIONS,
        "eks": eks.OPERATIONS,
        "kms": kms.OPERATIONS,
    }.items()
}
