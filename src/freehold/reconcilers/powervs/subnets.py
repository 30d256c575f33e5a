"""Subnets of the VPC: which zone each gets, and what it is called, for life."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from freehold.api.powervs_vpc import Subnet
from freehold.lifecycle.graph import Naming, Node, ReadyNodes
from freehold.lifecycle.kinds import NodeKey, Request
from freehold.reconcilers.powervs.keys import SUBNET_KIND, VPC, constant, no_request
from freehold.reconcilers.powervs.names import DefaultNames
from freehold.reconcilers.stable_names import ListEntry, StableName, assign

ADDRESSES = 256
"""As upstream (docs/reference/ibm-cloud.md#vpc)."""


def subnet_keys(subnets: Sequence[Subnet], zones: Sequence[str], earlier: Collection[str]) -> tuple[NodeKey, ...]:
    """The node of each subnet, in the order of the spec.

    When the list is omitted: one in each zone, logically the zone; zones that the journal holds stay wanted
    while the cloud does not list them. Otherwise ``<name or index>:<zone>`` (:mod:`stable_names`), and a subnet
    that is given by id is logically the id. Where upstream
    picks a random zone, ours is spread and stable (ADR 8).
    """
    if not subnets:
        held = [logical for logical in earlier if ":" not in logical and logical not in zones]
        return tuple(NodeKey(SUBNET_KIND, zone) for zone in (*zones, *sorted(held)))
    entries = [ListEntry(subnet.name or "", subnet.zone or "") for subnet in subnets if not subnet.id]
    names_chosen = iter(assign(entries, zones, [logical for logical in earlier if ":" in logical]))
    return tuple(NodeKey(SUBNET_KIND, subnet.id or next(names_chosen).logical) for subnet in subnets)


def subnet_nodes(
    subnets: Sequence[Subnet], keys: Sequence[NodeKey], names: DefaultNames, region: str, resource_group: str
) -> Iterator[Node]:
    """``keys`` are those of :func:`subnet_keys`."""
    for index, key in enumerate(keys):
        spec = subnets[index] if subnets else None
        if spec and spec.id:
            given = partial(constant, f"{region}/{spec.id}")
            name = spec.name or spec.id
            field = f"spec.vpcSubnets[{index}].id"
            yield Node(key, name, no_request, Naming.EXPLICIT, given=given, field=field)
            continue
        slot = StableName.parse(key.logical)
        name = (spec and spec.name) or names.subnet(slot.label)
        # The spec's zone first: where the subnet is in another zone already, the engine reports the drift.
        zone = (spec and spec.zone) or slot.placement or slot.label
        request = partial(_request, name, zone, region, resource_group)
        naming = Naming.EXPLICIT if spec and spec.name else Naming.DEFAULT
        yield Node(key, name, request, naming, requires=frozenset({VPC}))


def _request(name: str, zone: str, region: str, resource_group: str, known: ReadyNodes) -> Request:
    return {
        "name": name,
        "region": region,
        "zone": zone,
        "vpc": known[VPC].attributes["id"],
        "resource_group": resource_group,
        "address_count": ADDRESSES,
    }
