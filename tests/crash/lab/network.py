"""A small network with parts, in memory: an attachment, routes, an association, rules of groups that name each other.

As on AWS, every kind takes tags on create and shows them, and its parts, in the same read; one tag has room for the
seals of several resources; some kinds have no name of their own, and one is in no tag index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.inventory import Tagger
from freehold.engine.kinds import CreateRules, Dedupe, DeleteRules, Kind, NameRules, PartRules, ReadRules, Tagging
from freehold.engine.port import Port
from freehold.engine.resources import NodeKey, Part
from freehold.engine.tag_api_fallback import FallbackTagger
from lab.cloud import Traits
from lab.drivers import DeniedTagger, MemoryDriver, MemoryTagger
from lab.spelling import SharedSealsCodec
from lab.world import SETTLE, MemoryWorld, node

ATTACHMENT, ROUTE, JOIN, ALLOW = "attachment", "route", "join", "allow"
EVERYWHERE = "0.0.0.0/0"
NAMELESS = ("vpc", "gate", "nat", "table", "subnet", "address")
"""Their names are tags: anybody may have as many of one name."""
VPC, GATE, NAT = NodeKey("vpc", "main"), NodeKey("gate", "door"), NodeKey("nat", "out")
TABLE, FRONT, BACK = NodeKey("table", "private"), NodeKey("group", "front"), NodeKey("group", "back")
TRAITS = {
    t.name: t
    for t in (
        Traits("vpc", tags_on_create=True, held_by=frozenset({ATTACHMENT, JOIN})),
        Traits("gate", tags_on_create=True, shows_parts=True, bound_by=frozenset({ATTACHMENT})),
        Traits("nat", token=True, tags_on_create=True, parent="vpc", behind=ATTACHMENT, create_time=40.0),
        Traits(
            "table",
            token=True,
            tags_on_create=True,
            parent="vpc",
            shows_parts=True,
            bound_by=frozenset({JOIN}),
            open_to=frozenset({ROUTE}),
        ),
        Traits("group", tags_on_create=True, parent="vpc", unique=True, shows_parts=True, held_by=frozenset({ALLOW})),
        Traits("role", tags_on_create=True, unique=True, indexed=False),
        Traits("guest", parent="vpc"),
    )
}


def attachment(known: ReadyNodes) -> frozenset[Part]:
    return frozenset({Part(ATTACHMENT, known[VPC].id)})


def routed(known: ReadyNodes) -> frozenset[Part]:
    """Its default route follows the NAT gateway, which may be another one now."""
    return frozenset({Part(ROUTE, EVERYWHERE, behavior=known[NAT].id), Part(JOIN, known[VPC].id)})


def _allows(own: str, other: NodeKey) -> Node:
    """A group with a rule that names another one."""
    plain = node(own, "vpc/main")
    return replace(
        plain, parts=lambda known: frozenset({Part(ALLOW, known[other].id)}), parts_require=frozenset({other})
    )


def network() -> list[Node]:
    """Seven nodes; the NAT gateway cannot be created before the gate is attached."""
    return [
        node("vpc/main", size=1),
        replace(node("gate/door", "vpc/main"), parts=attachment),
        node("nat/out", "vpc/main", "gate/door"),
        replace(node("table/private", "vpc/main", "nat/out"), parts=routed),
        _allows("group/front", BACK),
        _allows("group/back", FRONT),
        node("role/node"),
    ]


@dataclass
class NetworkWorld(MemoryWorld):
    """The in-memory cloud and a network of seven resources. Without ``tag_api`` the services' own calls stand in."""

    nodes: Iterable[Node] = field(default_factory=network)
    traits: dict[str, Traits] = field(default_factory=lambda: dict(TRAITS))
    tag_api: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.codec = SharedSealsCodec()

    def tagger(self, port: Port) -> Tagger:
        own = MemoryTagger(self.cloud, port, self.codec, self.actor)
        own.batches_reads = True
        return own if self.tag_api else FallbackTagger(DeniedTagger(self.cloud, port, self.actor), own, self.wall)

    def kind(self, port: Port, name: str, dedupe: Dedupe, *requires: str) -> Kind:
        driver, traits = self._driver(port, name), self.traits[name]
        return Kind(
            name,
            Tagging.ON_CREATE,
            dedupe,
            driver,
            requires=requires,
            settle=SETTLE,
            api="memory",
            naming=NameRules(has_no_name=name in NAMELESS),
            creation=CreateRules(usual_time=traits.create_time),
            parts=PartRules(driver=driver if traits.shows_parts else None),
            deletion=DeleteRules(usual_time=traits.delete_time),
            reads=ReadRules(listing=driver, indexed=traits.indexed),
        )

    def _driver(self, port: Port, name: str) -> MemoryDriver:
        driver = MemoryDriver(self.cloud, port, name, actor=self.actor)
        driver.nameless = name in NAMELESS
        return driver

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        kind = partial(self.kind, port)
        held = frozenset({ATTACHMENT})
        vpc, gate = kind("vpc", Dedupe.NONCE), kind("gate", Dedupe.NONCE, "vpc")
        table = kind("table", Dedupe.TOKEN, "vpc", "nat")
        group = kind("group", Dedupe.KEY, "vpc")
        return (
            replace(
                vpc,
                attributes=replace(vpc.attributes, mutable=frozenset({"size"})),
                deletion=replace(vpc.deletion, contains=("guest",), container=self._driver(port, "vpc")),
            ),
            replace(gate, parts=replace(gate.parts, exclusive=held, essential=held, holding=held)),
            replace(kind("nat", Dedupe.TOKEN, "vpc", "gate"), deletion=DeleteRules(prunable=True)),
            replace(
                table,
                parts=replace(
                    table.parts,
                    exclusive=frozenset({JOIN}),
                    holding=frozenset({JOIN}),
                    changer=self._driver(port, "table"),
                ),
            ),
            replace(
                group,
                parts=replace(
                    group.parts,
                    exclusive=frozenset({ALLOW}),
                    holding=frozenset({ALLOW}),
                    batches=self._driver(port, "group"),
                ),
            ),
            kind("role", Dedupe.KEY),
        )

    def missing_user_tags(self, ident: str) -> frozenset[str]:
        """The parts that a resource of ours lacks, too."""
        return super().missing_user_tags(ident) | self._missing_parts(ident)

    def _missing_parts(self, ident: str) -> frozenset[str]:
        ours = {r.role: r for r in self.cloud.living() if r.creator == self.actor}
        known = {
            key: self.cloud.show(r, self.cloud.now())
            for key, r in ((NodeKey.parse(role), ours[role]) for role in ours if role)
        }
        there = {r.id: {(str(part), part.behavior) for part in r.present()} for r in ours.values()}
        return frozenset(
            f"{part} {part.behavior}".rstrip()
            for each in self.nodes
            if each.key in known and known[each.key].id == ident and each.requires | each.parts_require <= known.keys()
            for part in each.parts(known)
            if (str(part), part.behavior) not in there[ident]
        )

    def drop_in(self, kind: str) -> None:
        """A stranger adds a part of its own to a resource of ours."""
        host = self.ours(kind)
        if host is not None:
            sort = sorted(self.traits[kind].open_to)[0]
            self.cloud.add_part(host.id, sort, "10.9.0.0/16", "stranger", "their-machine")

    def take_out(self, kind: str) -> None:
        """Somebody removes our parts from a resource of ours."""
        host = self.ours(kind)
        for sort, natural in sorted(host.parts if host is not None else ()):
            assert host is not None
            self.cloud.remove_part(host.id, sort, natural, "stranger")

    def redirect(self, kind: str) -> None:
        """Somebody lets our parts do something else."""
        host = self.ours(kind)
        for sort, natural in sorted(host.behaviors if host is not None else ()):
            assert host is not None
            if host.behaviors[sort, natural] and host.parts[sort, natural] == self.actor:
                self.cloud.change_part(host.id, sort, natural, "stranger", "their-machine")
