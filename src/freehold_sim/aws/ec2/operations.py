"""Every operation of EC2 that is served."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.ec2 import (
    addresses,
    endpoints,
    gateways,
    images,
    instances,
    interfaces,
    launching,
    nat_gateways,
    route_tables,
    security_group_rules,
    security_groups,
    snapshots,
    subnets,
    tags,
    volumes,
    vpcs,
    zones,
)

OPERATIONS: tuple[Operation, ...] = (
    *vpcs.OPERATIONS,
    *subnets.OPERATIONS,
    *zones.OPERATIONS,
    *gateways.OPERATIONS,
    *addresses.OPERATIONS,
    *nat_gateways.OPERATIONS,
    *route_tables.OPERATIONS,
    *security_groups.OPERATIONS,
    *security_group_rules.OPERATIONS,
    *endpoints.OPERATIONS,
    *interfaces.OPERATIONS,
    *launching.OPERATIONS,
    *instances.OPERATIONS,
    *volumes.OPERATIONS,
    *snapshots.OPERATIONS,
    *images.OPERATIONS,
    *tags.OPERATIONS,
)
