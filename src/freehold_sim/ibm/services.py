"""Every operation of the simulated account: an explicit list, one line per service."""

from freehold_sim.ibm import (
    cos,
    iam,
    load_balancer_parts,
    load_balancers,
    power_dhcp,
    power_networks,
    power_workspaces,
    reclamations,
    resource_controller,
    resource_keys,
    resource_manager,
    search,
    security_groups,
    subnets,
    tagging,
    transit,
    transit_connections,
    vpcs,
)
from freehold_sim.ibm.call import Route

ROUTES: tuple[Route, ...] = (
    *iam.ROUTES,
    *resource_manager.ROUTES,
    *resource_controller.ROUTES,
    *reclamations.ROUTES,
    *resource_keys.ROUTES,
    *power_workspaces.ROUTES,
    *power_networks.ROUTES,
    *power_dhcp.ROUTES,
    *vpcs.ROUTES,
    *subnets.ROUTES,
    *security_groups.ROUTES,
    *load_balancers.ROUTES,
    *load_balancer_parts.ROUTES,
    *transit.ROUTES,
    *transit_connections.ROUTES,
    *tagging.ROUTES,
    *search.ROUTES,
    *cos.ROUTES,
)
