"""The network of :mod:`lab.network` as AWS has it: most kinds are gone when their delete is answered, tags are asked of
the resources themselves, a new VPC is empty, and what a NAT gateway leaves in the VPC goes later than the gateway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from freehold.engine.inventory import Tagger
from freehold.engine.kinds import Kind
from freehold.engine.port import Call, Effect, Port
from freehold.engine.resources import Ref
from lab.cloud import Cloud, Traits
from lab.drivers import MemoryTagger
from lab.network import TRAITS, NetworkWorld

AT_ONCE = ("vpc", "gate", "table", "group", "role")
LINGERS = 20.0
"""Seconds for which the interfaces of a NAT gateway outlive it."""


class Interfaces:
    """Those of NAT gateways (drivers.LeftoversDriver)."""

    def __init__(self, cloud: Cloud, port: Port) -> None:
        self._cloud, self._port = cloud, port

    async def leftovers(self, ref: Ref) -> Sequence[str]:
        def run() -> Sequence[str]:
            now = self._cloud.now()
            left = (r for r in self._cloud.log if r.id == ref.id and (r.gone_at is None or now < r.gone_at + LINGERS))
            return tuple(f"eni-{each.id}" for each in left)

        found: Sequence[str] = await self._port.send(Call("memory", "list_interfaces", Effect.READ, run, ref.id))
        return found


@dataclass
class AtOnceNetwork(NetworkWorld):
    """The in-memory cloud with these habits."""

    traits: dict[str, Traits] = field(
        default_factory=lambda: {
            name: replace(each, create_time=0.0, delete_time=0.0) if name in AT_ONCE else each
            for name, each in TRAITS.items()
        }
    )

    def tagger(self, port: Port) -> Tagger:
        own = MemoryTagger(self.cloud, port, self.codec, self.actor)
        own.batches_reads = own.asks_resources = True
        return own

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        return tuple(self._as_aws(kind, port) for kind in super().kinds(port))

    def _as_aws(self, kind: Kind, port: Port) -> Kind:
        if kind.name == "nat":
            return replace(kind, deletion=replace(kind.deletion, leftovers=Interfaces(self.cloud, port)))
        return replace(
            kind,
            parent_kind="vpc" if kind.name == "group" else "",
            deletion=replace(kind.deletion, gone_at_once=kind.name in AT_ONCE),
        )
