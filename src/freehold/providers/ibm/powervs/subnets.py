"""Subnets of the VPC: which zone each gets, and what it is called, for life."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from freehold.engine.graph import Naming, Node, ReadyNodes
from freehold.engine.journal import Entry
from freehold.engine.resources import NodeKey, Request
from freehold.providers.ibm.powervs.keys import SUBNET_KIND, VPC, constant, no_request
from freehold.providers.ibm.powervs.names import PowerVSNames
from freehold.providers.ibm.powervs.recorded import is_nonce, list_recorded, own_by_id
from freehold.providers.ibm.powervs.types.vpc import Subnet
from freehold.providers.objects.logical_names import ListEntry, StableName, assign_names

ADDRESSES = 256
"""As upstream (docs/reference/ibm-cloud.md#vpc)."""


def subnet_names(
    subnets: Sequence[Subnet], zones: Sequence[str], names: PowerVSNames, record: Mapping[NodeKey, Entry]
) -> tuple[StableName, ...]:
    """Name each subnet for life, in the order of the spec; one in each zone when the list is omitted.

    Zones that ``record`` holds stay wanted while the cloud does not list them. Logically a subnet is ``<name or
    index>:<zone>`` (:mod:`stable_names`), in an omitted list the zone, and one of others, given by its id, the id.
    Where upstream picks a random zone, ours is spread and stable (ADR 13).
    """
    recorded = [(key.logical, entry) for key, entry in list_recorded(SUBNET_KIND, record) if not is_nonce(key.logical)]
    earlier = [_name_recorded_subnet(logical, names, entry) for logical, entry in recorded]
    if not subnets:
        held = [zone for one in earlier if (zone := one.placement) == one.logical and zone not in zones]
        entries = [ListEntry(placement=zone) for zone in (*zones, *sorted(held))]
        return assign_names(entries, zones, earlier, lambda _, zone, chosen: _of_zone(zone, names, ours=False))
    given = [own_by_id(SUBNET_KIND, subnet.id, record) if subnet.id else None for subnet in subnets]
    entries = [ListEntry(subnet.name or "", subnet.zone or "") for subnet in subnets if not subnet.id]
    rest = [one for one in earlier if NodeKey(SUBNET_KIND, one.logical) not in given]
    assigned = iter(assign_names(entries, zones, rest, partial(_spell_name, names)))
    return tuple(
        _name_given_subnet(subnet, own, names, record) if subnet.id else next(assigned)
        for subnet, own in zip(subnets, given, strict=True)
    )


def _name_given_subnet(
    subnet: Subnet, own: NodeKey | None, names: PowerVSNames, record: Mapping[NodeKey, Entry]
) -> StableName:
    if isinstance(own, NodeKey):
        return _name_recorded_subnet(own.logical, names, record[own])
    ident = subnet.id or ""
    return StableName(ident, ident, subnet.name or ident, "")


def _name_recorded_subnet(logical: str, names: PowerVSNames, entry: Entry) -> StableName:
    label, colon, zone = logical.partition(":")
    if not colon:
        return _of_zone(logical, names, ours=entry.state.is_claimed)
    return _spell_name(names, label, zone, not label.isdecimal(), ours=entry.state.is_claimed)


def _of_zone(zone: str, names: PowerVSNames, *, ours: bool) -> StableName:
    """Name a subnet of an omitted list."""
    return StableName(zone, zone, names.subnet(zone), zone, was_created=ours)


def _spell_name(names: PowerVSNames, label: str, zone: str, chosen: bool, *, ours: bool = False) -> StableName:
    return StableName(f"{label}:{zone}", label, label if chosen else names.subnet(label), zone, chosen, ours)


def subnet_nodes(
    subnets: Sequence[Subnet], named: Sequence[StableName], region: str, resource_group: str
) -> Iterator[Node]:
    """Make the subnets. ``named`` are those of :func:`subnet_names`."""
    for index, one in enumerate(named):
        key, spec = NodeKey(SUBNET_KIND, one.logical), subnets[index] if subnets else None
        if spec and spec.id:
            given = partial(constant, f"{region}/{spec.id}")
            field = f"spec.vpcSubnets[{index}].id"
            yield Node(key, one.name, no_request, Naming.EXPLICIT, given=given, field=field)
            continue
        # The spec's zone first: where the subnet is in another zone already, the engine reports the drift.
        zone = (spec and spec.zone) or one.placement
        size = {"cidr": spec.cidr} if spec and spec.cidr else {"address_count": ADDRESSES}
        request = partial(_request, one.name, zone, region, resource_group, size)
        naming = Naming.EXPLICIT if spec and spec.name else Naming.DEFAULT
        yield Node(key, one.name, request, naming, requires=frozenset({VPC}))


def _request(
    name: str, zone: str, region: str, resource_group: str, size: Mapping[str, str | int], known: ReadyNodes
) -> Request:
    """Make the request. ``size``: the range of addresses, which stays for life, or how many addresses."""
    return {
        "name": name,
        "region": region,
        "zone": zone,
        "vpc": known[VPC].attributes["id"],
        "resource_group": resource_group,
        **size,
    }
