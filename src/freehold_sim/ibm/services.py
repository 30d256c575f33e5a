"""Every operation of the simulated account: an explicit list, one line per service."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from freehold_sim.ibm import (
    address_prefixes,
    cos,
    iam,
    load_balancer_listeners,
    load_balancer_members,
    load_balancer_pools,
    load_balancer_profiles,
    load_balancers,
    network_acls,
    power_dhcp,
    power_interfaces,
    power_networks,
    power_ports,
    power_vms,
    power_workspaces,
    reclamations,
    reserved_ips,
    resource_controller,
    resource_keys,
    resource_manager,
    search,
    security_groups,
    subnets,
    tagging,
    transit,
    transit_connections,
    transit_locations,
    vpcs,
)
from freehold_sim.ibm.call import Route

_POWER: tuple[Route, ...] = (
    *power_workspaces.ROUTES,
    *power_networks.ROUTES,
    *power_ports.ROUTES,
    *power_interfaces.ROUTES,
    *power_vms.ROUTES,
    *power_dhcp.ROUTES,
)


def at_root(routes: Iterable[Route]) -> Iterator[Route]:
    """Yield the PowerVS routes without their prefix: its Go client takes only scheme and host of an endpoint."""
    for route in routes:
        yield replace(route, pattern=route.pattern.removeprefix("/power/{region}"))


ROUTES: tuple[Route, ...] = (
    *iam.ROUTES,
    *resource_manager.ROUTES,
    *resource_controller.ROUTES,
    *reclamations.ROUTES,
    *resource_keys.ROUTES,
    *_POWER,
    *at_root(_POWER),
    *vpcs.ROUTES,
    *address_prefixes.ROUTES,
    *subnets.ROUTES,
    *reserved_ips.ROUTES,
    *network_acls.ROUTES,
    *security_groups.ROUTES,
    *load_balancers.ROUTES,
    *load_balancer_pools.ROUTES,
    *load_balancer_members.ROUTES,
    *load_balancer_listeners.ROUTES,
    *load_balancer_profiles.ROUTES,
    *transit.ROUTES,
    *transit_connections.ROUTES,
    *transit_locations.ROUTES,
    *tagging.ROUTES,
    *search.ROUTES,
    *cos.ROUTES,
)
