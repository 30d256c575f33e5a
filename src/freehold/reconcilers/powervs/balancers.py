"""Load balancers: the API server's port and the additional listeners, each with a pool of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from freehold.api.powervs_vpc import AdditionalListenerSpec, VPCLoadBalancerSpec, VPCResource
from freehold.lifecycle.graph import Naming, Node, ReadyNodes
from freehold.lifecycle.kinds import NodeKey, Part, Request
from freehold.reconcilers.powervs.keys import BALANCER_KIND, VPC, constant, no_request
from freehold.reconcilers.powervs.names import VPC as VPC_NAMES
from freehold.reconcilers.powervs.names import DefaultNames, default_name
from freehold.reconcilers.stable_names import ListEntry, assign

_PLACEMENTS = ("public", "private")


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
    names: DefaultNames,
    port: int,
    earlier: Collection[str],
    subnets: Mapping[str, NodeKey],
    all_subnets: Sequence[NodeKey],
    groups: Mapping[str, NodeKey],
) -> tuple[Balancer, ...]:
    """In the order of the spec; one public one when the list is omitted.

    A named one is logically its name; an unnamed one is ``<index>:public`` or ``<index>:private``, so that
    removing the first does not turn the second into it. ``earlier`` are the journal's logical names.
    """
    entries = [ListEntry("", _PLACEMENTS[not spec.public]) for spec in specs if not (spec.name or spec.id)]
    names_chosen = iter(assign(entries, _PLACEMENTS, [name for name in earlier if ":" in name]))
    found = []
    for spec in specs or (VPCLoadBalancerSpec(),):
        label = spec.name or spec.id
        slot = None if label or not specs else next(names_chosen)
        name = label or names.load_balancer(slot.label if slot else "")
        found.append(
            Balancer(
                NodeKey(BALANCER_KIND, label or (slot.logical if slot else "0")),
                name,
                Naming.EXPLICIT if label else Naming.DEFAULT,
                spec.public,
                spec.id or "",
                _listeners(name, port, spec.additional_listeners),
                _resolved(spec.subnets, subnets) or tuple(all_subnets),
                _resolved(spec.security_groups, groups),
            )
        )
    return tuple(found)


def _resolved(references: Sequence[VPCResource], keys: Mapping[str, NodeKey]) -> tuple[NodeKey | str, ...]:
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
    """Upstream's health check: tcp, every 5 s, 2 s for an answer, 2 retries (docs/reference/ibm-cloud.md#capibm)."""
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
    """What IBM Cloud attaches when no group is asked for; asked for, so that another one there is seen to differ."""
    return str(known[VPC].attributes["default_security_group"])


def _parts(balancer: Balancer, known: ReadyNodes) -> frozenset[Part]:
    """The API server's listener stays whatever port the Cluster says today: the endpoint may lead to it."""
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
    """In the adapter's words; not of the API server's listener, whose pool has a birth mark in its name."""
    return f"{listener['protocol']} to {listener['pool']['name']}"
