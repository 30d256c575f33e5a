"""Load balancers: the API server's port and the additional listeners, each with a pool of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from freehold.engine.graph import Naming, Node, ReadyNodes
from freehold.engine.journal import Entry
from freehold.engine.resources import NodeKey, Part, Request
from freehold.providers.ibm.powervs.keys import BALANCER_KIND, VPC, constant, no_request
from freehold.providers.ibm.powervs.names import VPC as VPC_NAMES
from freehold.providers.ibm.powervs.names import PowerVSNames, default_name
from freehold.providers.ibm.powervs.recorded import is_nonce, list_recorded, own_by_id
from freehold.providers.ibm.powervs.types.vpc import AdditionalListenerSpec, VPCLoadBalancerSpec, VPCResource
from freehold.providers.objects.logical_names import ListEntry, StableName, assign_names

_PUBLIC, _PRIVATE = _PLACEMENTS = ("public", "private")
_OMITTED = "0"


@dataclass(frozen=True)
class Balancer:
    """One wanted load balancer. ``subnets`` and ``groups`` are nodes, or ids that the spec gives."""

    key: NodeKey
    name: str
    naming: Naming
    public: bool
    given: str
    listeners: tuple[Mapping[str, Any], ...]
    subnets: tuple[NodeKey | str, ...]
    groups: tuple[NodeKey | str, ...]


def balancers(
    specs: Sequence[VPCLoadBalancerSpec],
    names: PowerVSNames,
    port: int,
    record: Mapping[NodeKey, Entry],
    subnets: Mapping[str, NodeKey],
    all_subnets: Sequence[NodeKey],
    groups: Mapping[str, NodeKey],
) -> tuple[Balancer, ...]:
    """Make all in the order of the spec; one public one when the list is omitted. ``record``: the journal's."""
    found = []
    for spec, one in zip(specs or (VPCLoadBalancerSpec(),), _names(specs, names, record), strict=True):
        found.append(
            Balancer(
                NodeKey(BALANCER_KIND, one.logical),
                one.name,
                Naming.EXPLICIT if spec.name or spec.id else Naming.DEFAULT,
                one.placement != _PRIVATE if spec.id and one.placement else spec.public,
                spec.id or "",
                _listeners(one.name, port, spec.additional_listeners),
                _resolve_references(spec.subnets, subnets) or tuple(all_subnets),
                _resolve_references(spec.security_groups, groups),
            )
        )
    return tuple(found)


def _names(
    specs: Sequence[VPCLoadBalancerSpec], names: PowerVSNames, record: Mapping[NodeKey, Entry]
) -> tuple[StableName, ...]:
    """Name each for life: ``<name or index>:public`` or ``:private``, ``0`` where the list is omitted."""
    recorded = list(list_recorded(BALANCER_KIND, record))
    bare = [key.logical for key, entry in recorded if entry.state.is_claimed and _is_bare(key.logical)]
    earlier = [_name_recorded_balancer(key.logical, names, entry, alone=len(bare) == 1) for key, entry in recorded]
    if not specs:
        return assign_names([ListEntry("", _PUBLIC)], (), earlier, lambda *_: _name_recorded_balancer(_OMITTED, names))
    given = [own_by_id(BALANCER_KIND, spec.id, record) if spec.id else None for spec in specs]
    entries = [ListEntry(spec.name or "", _PLACEMENTS[not spec.public]) for spec in specs if not spec.id]
    rest = [one for one in earlier if NodeKey(BALANCER_KIND, one.logical) not in given]
    assigned = iter(assign_names(entries, _PLACEMENTS, rest, partial(_spell_name, names)))
    return tuple(
        _name_given_balancer(spec, own, names, record) if spec.id else next(assigned)
        for spec, own in zip(specs, given, strict=True)
    )


def _is_bare(logical: str) -> bool:
    """Return whether it is a name alone, as earlier versions wrote it."""
    return logical != _OMITTED and ":" not in logical and not is_nonce(logical)


def _name_given_balancer(
    spec: VPCLoadBalancerSpec, own: NodeKey | None, names: PowerVSNames, record: Mapping[NodeKey, Entry]
) -> StableName:
    if own:
        return _name_recorded_balancer(own.logical, names, record[own])
    label = spec.name or spec.id or ""
    return StableName(label, label, label, "")


def _name_recorded_balancer(
    logical: str, names: PowerVSNames, entry: Entry | None = None, *, alone: bool = False
) -> StableName:
    """Find the one on record. ``alone``: it is the only one, so it is public, as one must be.

    A name alone, as earlier versions wrote it, does not say which; nor does a birth mark, under which what was
    found by it is recorded.
    """
    ours = entry is not None and entry.state.is_claimed
    if logical == _OMITTED:
        return StableName(_OMITTED, "", names.load_balancer(), _PUBLIC, was_created=ours)
    label, colon, placement = logical.partition(":")
    if not colon:
        known = alone and ours and _is_bare(logical)
        return StableName(logical, label, label, _PUBLIC if known else "", is_chosen=True, was_created=known)
    return _spell_name(names, label, placement, not label.isdecimal(), ours=ours)


def _spell_name(names: PowerVSNames, label: str, placement: str, chosen: bool, *, ours: bool = False) -> StableName:
    name = label if chosen else names.load_balancer(label)
    return StableName(f"{label}:{placement}", label, name, placement, chosen, ours)


def _resolve_references(references: Sequence[VPCResource], keys: Mapping[str, NodeKey]) -> tuple[NodeKey | str, ...]:
    found = (reference.id or keys.get(reference.name or "") for reference in references)
    return tuple(item for item in found if item)


def _listeners(name: str, port: int, additional: Sequence[AdditionalListenerSpec]) -> tuple[Mapping[str, Any], ...]:
    pool = default_name(name, f"-pool-{port}", VPC_NAMES)
    found = [_listener(port, "tcp", pool)]
    for listener in additional:
        pool = listener.default_pool_name or f"additional-pool-{listener.port}"
        found.append(_listener(listener.port, listener.protocol or "tcp", pool))
    return tuple(found)


def _listener(port: int, protocol: str, pool: str) -> Mapping[str, Any]:
    """Make a listener with upstream's health check: tcp, every 5 s, 2 s for an answer, 2 retries.

    docs/reference/ibm-cloud.md#capibm
    """
    check = {"delay": 5, "timeout": 2, "retries": 2, "type": "tcp"}
    return {
        "port": port,
        "protocol": protocol,
        "pool": {"name": pool, "protocol": protocol, "algorithm": "round_robin", **check},
    }


def balancer_nodes(wanted: Sequence[Balancer], region: str, resource_group: str) -> Iterator[Node]:
    for index, balancer in enumerate(wanted):
        if balancer.given:
            given = partial(constant, f"{region}/{balancer.given}")
            field = f"spec.loadBalancers[{index}].id"
            yield Node(balancer.key, balancer.name, no_request, Naming.EXPLICIT, given=given, field=field)
            continue
        uses = (item for item in (*balancer.subnets, *balancer.groups) if isinstance(item, NodeKey))
        yield Node(
            balancer.key,
            balancer.name,
            request=partial(_request, balancer, region, resource_group),
            naming=balancer.naming,
            requires=frozenset({VPC, *uses}),
            parts=partial(_parts, balancer),
        )


def _request(balancer: Balancer, region: str, resource_group: str, known: ReadyNodes) -> Request:
    pools = {listener["pool"]["name"]: listener["pool"] for listener in balancer.listeners}
    return {
        "name": balancer.name,
        "region": region,
        "public": balancer.public,
        "subnets": sorted(_id(item, known) for item in balancer.subnets),
        "security_groups": sorted(_id(item, known) for item in balancer.groups) or [_default_group(known)],
        "resource_group": resource_group,
        "pools": list(pools.values()),
        "listeners": [{**listener, "pool": listener["pool"]["name"]} for listener in balancer.listeners],
    }


def _id(item: NodeKey | str, known: ReadyNodes) -> str:
    return str(known[item].attributes["id"]) if isinstance(item, NodeKey) else item


def _default_group(known: ReadyNodes) -> str:
    """Ask for what IBM Cloud attaches when no group is asked for, so that another one there is seen to differ."""
    return str(known[VPC].attributes["default_security_group"])


def _parts(balancer: Balancer, known: ReadyNodes) -> frozenset[Part]:
    """Make the listeners. The API server's stays whatever port the Cluster says: the endpoint may lead there."""
    return frozenset(
        Part(
            "listener",
            str(listener["port"]),
            dict(listener),
            retain=not index,
            behavior=_does(listener) if index else "",
        )
        for index, listener in enumerate(balancer.listeners)
    )


def _does(listener: Mapping[str, Any]) -> str:
    """Spell a listener in the driver's words; not the API server's, whose pool has a birth mark in its name."""
    return f"{listener['protocol']} to {listener['pool']['name']}"
