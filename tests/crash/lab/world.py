"""The in-memory world: a cloud, its drivers, and what one object wants there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from freehold.engine import errors
from freehold.engine.clock import Clock, ManualClock
from freehold.engine.durations import Durations
from freehold.engine.graph import Graph, Naming, Node, ReadyNodes
from freehold.engine.interface import EngineDeps, Intervals
from freehold.engine.inventory import Inventory, Tagger
from freehold.engine.keys import KeyRing
from freehold.engine.kinds import (
    AttributeRules,
    CreateRules,
    Dedupe,
    DeleteRules,
    Kind,
    NameRules,
    PartRules,
    ReadRules,
    Registry,
    Tagging,
)
from freehold.engine.ownership import Codec, Marks, Owner
from freehold.engine.port import Call, Effect, FencedPort, Port
from freehold.engine.resources import NodeKey, Part, Request
from freehold.engine.shared_lists import SharedLists
from freehold.providers.access.ports import ObjectPort
from lab.audit import CloudRequest, Recorder
from lab.cloud import OPERATORS, US, Cloud, ReadLags, Resource, Traits
from lab.drivers import MemoryDriver, MemoryTagger
from lab.life import OWNER, Life
from lab.seam import Thing
from lab.spelling import PlainCodec

SETTLE = 40.0
SPELLED = {"site": "name", "balancer": "nested", "rule": "nested", "hub": "name", "link": "name"}
"""The place of the nonce of a create."""
FENCE = 10.0
ANOTHER = Owner("another-uuid", "TestCluster", "prod", "c2")
"""An owner who is not served here."""
RING = KeyRing.single(b"the laboratory's only key, 32 bytes")


def _nested(name: str) -> str:
    return f"{name}-pool"


TRAITS = {
    t.name: t
    for t in (
        Traits("net", tags_on_create=True),
        Traits("site", destroys_children=True, create_time=30.0),
        Traits("disk", token=True, parent="net"),
        Traits("balancer", unique=True, parent="net", create_time=60.0, delete_time=20.0),
        Traits("wall", token=True, parent="net", unique=True),
        Traits("ticket", token=True, taggable=False),
        Traits("rule", taggable=False, parent="wall"),
        Traits("record", taggable=False, unique=True, parent="net"),
        Traits("hub", create_time=20.0, delete_time=10.0),
        Traits("link", taggable=False, parent="hub", unique=True, create_time=15.0),
        Traits("guest", taggable=True, parent="site"),
    )
}


def kinds(cloud: Cloud, port: Port, actor: str = US) -> tuple[Kind, ...]:
    """All five workflows (docs/reference/requirements.md W17 to W22), a carried kind, a container, one with parts."""

    def kind(
        name: str,
        tagging: Tagging,
        dedupe: Dedupe,
        *,
        nonce: str = "",
        requires: tuple[str, ...] = (),
        carrier: str = "",
        mutable: Collection[str] = (),
        contains: tuple[str, ...] = (),
        parts: tuple[str, ...] = (),
        prunable: bool = False,
    ) -> Kind:
        driver = MemoryDriver(cloud, port, name, nonce=nonce, carrier=carrier, actor=actor)
        traits = cloud.traits[name]
        return Kind(
            name,
            tagging,
            dedupe,
            driver,
            requires=requires,
            carrier=carrier or None,
            settle=SETTLE,
            naming=NameRules(rename_command=f"{name} rename {{id}} --name NEW_NAME"),
            creation=CreateRules(usual_time=traits.create_time, token_life=traits.token_life),
            attributes=AttributeRules(mutable=frozenset(mutable)),
            parts=PartRules(exclusive=frozenset(parts), driver=driver if parts else None),
            deletion=DeleteRules(
                contains=contains,
                prunable=prunable,
                usual_time=traits.delete_time,
                container=driver if contains else None,
            ),
            reads=ReadRules(listing=driver),
        )

    never, after = Tagging.NEVER, Tagging.AFTER
    return (
        kind("net", Tagging.ON_CREATE, Dedupe.NONCE, mutable=("size",)),
        kind("site", after, Dedupe.NONCE, nonce="name", mutable=("name",), contains=("guest",)),
        kind("disk", after, Dedupe.TOKEN, requires=("net",), prunable=True),
        kind("balancer", after, Dedupe.NONCE, nonce="nested", requires=("net",)),
        kind("wall", after, Dedupe.TOKEN, requires=("net",), mutable=("notes",), parts=("allow",)),
        kind("ticket", never, Dedupe.TOKEN),
        kind("rule", never, Dedupe.NONCE, nonce="nested", requires=("wall",)),
        kind("record", never, Dedupe.KEY, requires=("net",)),
        kind("hub", after, Dedupe.NONCE, nonce="name", mutable=("name",)),
        # Its name keeps the nonce for life, like that of a transit gateway connection.
        kind("link", never, Dedupe.NONCE, nonce="name", requires=("hub", "net"), carrier="hub"),
    )


def node(
    key: str,
    *requires: str,
    given: str = "",
    naming: Naming = Naming.DEFAULT,
    parts: Collection[Part] = (),
    name: str = "",
    tags: Collection[str] = (),
    given_tags: Collection[str] = (),
    shared: bool = False,
    **attributes: object,
) -> Node:
    """A wanted node whose request contains the id of each required node, under its kind."""
    own, needs = NodeKey.parse(key), [NodeKey.parse(r) for r in requires]
    wanted = name or f"c1-{own.logical}"

    def request(known: ReadyNodes) -> Request:
        ids = {need.kind: known[need].id for need in needs}
        return {"name": wanted, "role": key, **ids, **attributes}

    return Node(
        own,
        wanted,
        request,
        naming,
        frozenset(needs),
        given=(lambda _: given) if given else None,
        parts=lambda _: frozenset(parts),
        tags=frozenset(tags),
        given_tags=frozenset(given_tags),
        shared=shared,
    )


def standard(*, hub: str = "", net: Naming = Naming.DEFAULT) -> list[Node]:
    """Ten nodes, all kinds; the hub may be given by id and the net named in the spec."""
    return [
        node("net/main", size=1, naming=net),
        node("site/home"),
        node("disk/data", "net/main"),
        node("balancer/web", "net/main"),
        node("wall/edge", "net/main", parts=(Part("allow", "80"), Part("allow", "443"))),
        node("ticket/seat"),
        node("rule/ssh", "wall/edge"),
        node("record/www", "net/main"),
        node("hub/core", given=hub),
        node("link/a", "hub/core", "net/main"),
    ]


@dataclass
class MemoryWorld:
    """The in-memory cloud and a cluster of ten resources."""

    read_lags: ReadLags = field(default_factory=ReadLags)
    nodes: Iterable[Node] = field(default_factory=standard)
    given_hub: bool = False
    old_strangers: tuple[str, ...] = ()
    traits: dict[str, Traits] = field(default_factory=lambda: dict(TRAITS))
    ring: KeyRing = RING
    owner: Owner = OWNER
    actor: str = US
    codec: Codec = field(default_factory=PlainCodec)
    _wanted: tuple[list[Node], Graph] = field(default_factory=lambda: ([], Graph([])))

    def __post_init__(self) -> None:
        self.life: Any = None
        self.clock = ManualClock()
        self.wall: Clock = self.clock
        self.audit = Recorder()
        self.cloud = Cloud(self.traits, self.read_lags, self.clock, self.codec.key if self.codec.keyed else str)
        self.nodes = list(self.nodes)
        if self.given_hub:
            hub = self.cloud.create("hub", "their-hub", {}, creator="stranger")
            self.cloud.attach(hub.target, frozenset({"team:blue"}), by="stranger")
            self.nodes = [n for n in self.nodes if n.key.kind != "hub"] + [self.given_node(hub.id)]
        for kind in self.old_strangers:
            place = {} if not self.traits[kind].parent else {self.traits[kind].parent: ""}
            self.cloud.create(kind, f"c1-{kind}-of-old", place, creator="stranger")
        self.clock.advance(3600)

    def given_node(self, hub: str) -> Node:
        return node("hub/core", given=hub)

    def begin(self, **how: Any) -> Life:
        self.life = Life(self, **how)
        return self.life

    def deps(self, port: Port) -> EngineDeps:
        port = FencedPort(ObjectPort(port, "TestCluster/prod/c1", self.audit), self.clock, FENCE)
        tagger = self.tagger(port)
        intervals = Intervals(tag_lag=max(5.0, self.read_lags.tag_lag), shallow=60.0, deep=600.0, fence=FENCE)
        registry = Registry(self.kinds(port))
        inventory = Inventory(tagger, self.wall)
        return EngineDeps(
            registry,
            self.codec,
            tagger,
            inventory,
            port,
            self.wall,
            self.ring,
            Durations(self.wall),
            intervals,
            identity=self.cloud.caller,
            lists=SharedLists(registry, self.wall, sharers=1),
        )

    def tagger(self, port: Port) -> Tagger:
        return MemoryTagger(self.cloud, port, self.codec, self.actor)

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        return kinds(self.cloud, port, self.actor)

    def graph(self) -> Graph:
        nodes = list(self.nodes)
        if nodes != self._wanted[0]:
            self._wanted = nodes, Graph(nodes)
        return self._wanted[1]

    def edit(self, *, drop: str = "", rename: str = "", add: Node | None = None) -> None:
        """Edit the spec as a user may: drop a node, change a name, add a node."""
        nodes = [n for n in self.nodes if str(n.key) != drop]
        if rename:
            nodes = [_renamed(n) if str(n.key) == rename else n for n in nodes]
        self.nodes = [*nodes, add] if add else nodes

    def living(self) -> list[Thing]:
        now = self.cloud.now()
        return [
            Thing(
                r.id,
                r.kind,
                r.role,
                r.creator == self.actor,
                r.parent,
                (r.name(now), r.tagged(now)),
                self._due(r),
                tags=r.tagged(now),
                tags_of_others=self._of_others(r),
                listed=self.traits[r.kind].indexed,
            )
            for r in self.cloud.living()
            if r.delete_at is None
        ]

    def _due(self, resource: Resource) -> tuple[str, frozenset[str]]:
        """The expected state of a resource of another object of ours: without tags that only we can have attached."""
        name = resource.names[0][1] if resource.creator not in OPERATORS else resource.name(self.cloud.now())
        return name, self._of_others(resource) | self._carried(resource) | self._users(resource)

    def _users(self, resource: Resource) -> frozenset[str]:
        """Tags of the spec are on what is given until the object is gone; for ever if a restored record forgot them."""
        wanted = frozenset[str]() if self.life is None else self._on_given(resource)
        if self.life is None or not wanted or (self.life.released and not self.life.restored):
            return frozenset()
        return resource.tagged(self.cloud.now()) & wanted

    def lacking(self, ident: str) -> frozenset[str]:
        """Of the spec, without those under whose keys somebody else wrote a value."""
        now = self.cloud.now()
        found = [r for r in self.cloud.living() if r.id == ident.rpartition("/")[2]]
        return frozenset(
            tag
            for resource in found
            for tag in self._on_given(resource) | self._on_ours(resource)
            if tag not in resource.tagged(now)
            and resource.said.get(self.cloud.key(tag), ("", self.actor, now))[1] == self.actor
        )

    def _on_given(self, resource: Resource) -> frozenset[str]:
        given = [n for n in self.nodes if self._is_given(n, resource)]
        return frozenset(tag for node in given for tag in self.life.user_tags | node.given_tags)

    def _is_given(self, node: Node, resource: Resource) -> bool:
        """By its id, or, where it is not ours, by the name that the spec has."""
        if node.given is not None:
            return node.given({}) == resource.id
        named = node.naming is Naming.EXPLICIT and node.key.kind == resource.kind and resource.creator != self.actor
        return named and node.name == resource.name(self.cloud.now())

    def _on_ours(self, resource: Resource) -> frozenset[str]:
        if resource.creator != self.actor or not self.traits[resource.kind].taggable:
            return frozenset()
        return frozenset(tag for node in self.nodes if str(node.key) == resource.role for tag in node.tags)

    def _of_others(self, resource: Resource) -> frozenset[str]:
        if resource.creator not in OPERATORS - {self.actor}:
            return resource.theirs
        read = self.codec.read
        tags = resource.tagged(self.cloud.now())
        return frozenset(tag for tag in tags if self.owner.uuid not in tag or read([tag]).within)

    def _carried(self, host: Resource) -> frozenset[str]:
        """Our marks on a foreign resource for one of ours: they may exist, copied ones, too, as long as ours does."""
        ours = {r.id for r in self.cloud.living() if r.creator == self.actor}
        inside = ours | {f"{host.id}/{ident}" for ident in ours}
        tags, codec = host.tagged(self.cloud.now()), self.codec
        return frozenset(
            tag
            for tag in tags
            if any(mark.uuid == self.owner.uuid and mark.id in inside for mark in codec.read([tag]).carried)
        )

    # -- strangers ----------------------------------------------------------------------------------

    def ours(self, kind: str) -> Resource | None:
        return next(
            (r for r in self.cloud.living() if r.kind == kind and r.creator == self.actor and not r.delete_at), None
        )

    def namesake(self, kind: str) -> None:
        """A stranger creates a resource with the name that we want, in the same place, if that exists."""
        wanted = next(n for n in self.nodes if n.key.kind == kind)
        inside = self.traits[kind].parent
        parent = self.ours(inside) if inside else None
        if inside and parent is None:
            return
        place = {inside: parent.id} if parent else {}
        with contextlib.suppress(errors.NameTaken):
            self.cloud.create(kind, wanted.name, place, creator="stranger")

    def copycat(self, kind: str) -> None:
        """A stranger creates a resource like ours and copies every tag of ours onto it."""
        model = self.ours(kind)
        if model is None:
            return
        now = self.cloud.now()
        name = model.name(now) + ("-copy" if self.traits[kind].unique else "")
        place = {self.traits[kind].parent: model.parent} if model.parent else {}
        copy = self.cloud.create(kind, name, place, creator="stranger", tags=model.tagged(now))
        copy.theirs = self._without_carried(model.tagged(now))

    def _without_carried(self, tags: frozenset[str]) -> frozenset[str]:
        """Without copied marks that name a resource of ours: they are detached when that is gone, wherever they are."""
        return frozenset(tag for tag in tags if not self.codec.read([tag]).carried)

    def brand(self, kind: str) -> None:
        """A stranger copies every tag of ours onto an old resource of theirs."""
        model = self.ours(kind)
        old = next((r for r in self.cloud.log if r.kind == kind and r.creator != US), None)
        if model is not None and old is not None:
            self.cloud.attach(old.target, model.tagged(self.cloud.now()), by="stranger")
            old.theirs = self._without_carried(old.theirs)

    def steal(self, kind: str) -> None:
        """Another owner takes over a resource of ours: its tags name them."""
        taken = self.ours(kind)
        if taken is None or any(r.parent == taken.id for r in self.cloud.living()):
            return
        taken.creator, taken.role = "another owner", ""
        self.cloud.detach(taken.target, taken.tagged(self.cloud.now()))
        self.cloud.attach(taken.target, self.codec.owner(ANOTHER), by=taken.creator)
        taken.names = taken.names[-1:]

    def claim_uuid(self, kind: str) -> None:
        """An owner of our name in another management cluster attaches its uuid beside our marks."""
        self._claim(kind, lambda marks: bool(marks.uuids))

    def claim_owner(self, kind: str) -> None:
        """Another owner attaches its name beside our marks."""
        self._claim(kind, lambda marks: bool(marks.owners))

    def _claim(self, kind: str, is_claim: Callable[[Marks], bool]) -> None:
        taken = self.ours(kind)
        if taken is None or any(r.parent == taken.id for r in self.cloud.living()):
            return
        taken.creator, taken.role = "another owner", ""
        taken.names = taken.names[-1:]
        taken.theirs = taken.tagged(self.cloud.now())
        claim = frozenset(tag for tag in self.codec.owner(ANOTHER) if is_claim(self.codec.read([tag])))
        self.cloud.attach(taken.target, claim, by=taken.creator)

    def move_in(self, kind: str) -> None:
        """A stranger puts something into ours."""
        host = self.ours(kind)
        if host is not None:
            self.cloud.create("guest", "their-machine", {kind: host.id}, creator="stranger")

    def strip(self, kind: str) -> None:
        """Somebody detaches every tag of a resource of ours."""
        victim = self.ours(kind)
        if victim is not None:
            self.cloud.detach(victim.target, victim.tagged(self.cloud.now()))

    def victim(self, kind: str, *, young: bool) -> tuple[str, str] | None:
        """A stranger's resource: old, or created now with the name that we want."""
        if young:
            self.namesake(kind)
        theirs = [r for r in self.cloud.living() if r.kind == kind and r.creator not in (US, "another owner")]
        if not theirs:
            return None
        chosen = theirs[-1] if young else theirs[0]
        return chosen.id, chosen.target if self.traits[kind].taggable else ""

    def victim_in_carrier(self) -> tuple[str, str, str] | None:
        """A stranger creates a link in the hub that carries ours."""
        hub = next((r for r in self.cloud.living() if r.kind == "hub"), None)
        if hub is None:
            return None
        link = self.cloud.create("link", f"their-link-{len(self.cloud.log)}", {"hub": hub.id}, creator="stranger")
        return "link", link.id, hub.target

    def forge(self, target: str, tags: frozenset[str]) -> None:
        self.cloud.attach(target, tags, by="stranger")

    def spy(self, kind: str, nonce: str, tags: frozenset[str]) -> None:
        """A stranger creates what a create of ours with that nonce would create."""
        wanted = next(n for n in self.nodes if n.key.kind == kind)
        inside = self.traits[kind].parent
        parent = self.ours(inside) if inside else None
        born = f"{wanted.name}-{nonce}"
        name = born if SPELLED.get(kind) == "name" else wanted.name
        marks = tags if self.traits[kind].tags_on_create else frozenset()
        place = {inside: parent.id} if parent else {}
        with contextlib.suppress(errors.NameTaken, errors.NotFound, errors.NotReady):
            made = self.cloud.create(kind, name, place, creator="stranger", nested=born, tags=marks)
            made.theirs = marks

    def strike(self, kind: str) -> None:
        """Somebody deletes a resource of ours."""
        victim = self.ours(kind)
        if victim is not None:
            self.cloud.vanish(victim.id)

    def set_clock(self, wall: Clock) -> None:
        """Set the operator's clock; the cloud keeps its own."""
        self.wall = wall

    def fail(self, kind: str) -> None:
        """New resources of this kind fail from now on."""
        self.cloud.failing.add(kind)

    def meddle(self, deed: str, kind: str) -> None:
        getattr(self, deed)(kind)

    def strangers_id(self, kind: str) -> str:
        return next(r.id for r in self.cloud.log if r.kind == kind and r.creator != US)

    def remove(self, id_: str) -> None:
        self.cloud.vanish(id_)

    def tampered(self) -> list[str]:
        return self.cloud.tampered

    def unaudited(self, sent: int) -> list[str]:
        reached = len(self.requests())
        return [f"{reached} requests changed the cloud, {sent} went through the port"] if reached != sent else []

    def requests(self) -> list[CloudRequest]:
        return self.cloud.requests[self.actor]

    def later(self, seconds: float, effect: Callable[[], object]) -> None:
        self.cloud.later(seconds, effect)

    def broken(self, call: Call) -> Any:
        with contextlib.suppress(errors.CloudError):
            call.run()
        raise (errors.Unknown if call.effect is Effect.WRITE else errors.Unavailable)(f"{call.operation}: 500")

    def partially(self, failing: bool) -> None:
        self.cloud.partial = failing


def _renamed(old: Node) -> Node:
    name = old.name + "-renamed"
    return replace(old, name=name, request=lambda known: {**old.request(known), "name": name})
