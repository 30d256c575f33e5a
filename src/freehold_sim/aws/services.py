"""Every operation of the simulated AWS: an explicit table, one line per service."""

from collections.abc import Mapping

from freehold_sim.aws.call import Operation
from freehold_sim.aws.ec2 import operations as ec2
from freehold_sim.aws.effects import EFFECTS as EFFECTS

OPERATIONS: Mapping[str, Mapping[str, Operation]] = {
    name: {operation.name: operation for operation in table}
    for name, table in {
        "ec2": ec2.OPERATIONS,
    }.items()
}
