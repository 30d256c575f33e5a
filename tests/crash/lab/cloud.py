"""An in-memory cloud on virtual time: shares no code with the product but its value types.

Every fact has a history, so that a read can be answered as of an earlier moment: that is how list lag,
tag-index lag and reads that step back in time are made. Everything ever created stays in ``log`` with
the name of its creator: the oracles use that, never the state of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.resources import Observed, Part, State
from lab.audit import CloudRequest

US = "freehold"
NEIGHBOUR = "freehold for another object"
PROVIDER = "in-cluster provider"
OPERATORS = frozenset({US, NEIGHBOUR})
"""Actors that may change only what they have created."""


@dataclass(frozen=True)
class Traits:
    """The behaviour of one kind in this cloud, written independently of the product's ``Kind``."""

    name: str
    token: bool = False
    tags_on_create: bool = False
    taggable: bool = True
    unique: bool = False  # within the parent
    parent: str = ""  # attribute of the request that names the container
    destroys_children: bool = False
    create_time: float = 10.0
    delete_time: float = 8.0
    token_life: float = float("inf")
    shows_parts: bool = False  # a look shows what is inside
    bound_by: frozenset[str] = frozenset()  # kinds of parts that must be out of it before it is deleted
    held_by: frozenset[str] = frozenset()  # kinds of parts that name it, in others, and refuse its delete
    open_to: frozenset[str] = frozenset()  # kinds of parts that others may add, too
    indexed: bool = True
    behind: str = ""  # a kind of part that must name its parent somewhere before it is created
    answers_existing: bool = False  # a create answers with what has the name, whoever made it
    tags_in_reply: bool = True  # the reply of a create shows the tags
    secret: str = ""  # attribute of the request that no read shows
    echoes: bool = False  # a refusal repeats the whole request
    refusals_bind: bool = False  # a refused create binds its token, and is refused again under it


@dataclass(frozen=True)
class ReadLags:
    """The lag of reads in seconds; ``restless`` reads alternate between fresh and that old."""

    list_lag: float = 0.0
    read_lag: float = 0.0
    tag_lag: float = 0.0
    restless: bool = False


Weather = ReadLags
"""The name that scripts outside this repository use."""


@dataclass
class Resource:
    """One created resource, with the history of everything that can change."""

    id: str
    kind: str
    creator: str
    role: str
    parent: str
    attributes: dict[str, Any]
    created_at: float
    ready_at: float
    nested: str = ""
    token: str = ""
    secret_value: object = None
    names: list[tuple[float, str]] = field(default_factory=list)
    tags: list[tuple[float, frozenset[str]]] = field(default_factory=list)
    theirs: frozenset[str] = frozenset()  # tags that a stranger put on it, on purpose
    said: dict[str, tuple[str, str, float]] = field(default_factory=dict)  # key -> tag, who attached it, and when
    parts: dict[tuple[str, str], str] = field(default_factory=dict)  # (kind, natural key) -> who added it
    behaviors: dict[tuple[str, str], str] = field(default_factory=dict)
    inside: list[tuple[float, frozenset[Part]]] = field(default_factory=list)  # what looks show
    shown: set[str] = field(default_factory=set)  # keys whose present value a read has shown
    provided: dict[str, str] = field(default_factory=dict)  # attributes that the in-cluster provider has set
    delete_at: float | None = None
    gone_at: float | None = None
    failed: bool = False
    asked: object = None  # name, request and tags of its create

    @property
    def target(self) -> str:
        return f"crn:{self.kind}:{self.id}"

    @property
    def due(self) -> object:
        """Its state as its creator left it."""
        return self.names[0][1], self.theirs

    def exists(self, at: float) -> bool:
        return self.created_at <= at and (self.gone_at is None or at < self.gone_at)

    def name(self, at: float) -> str:
        return [name for when, name in self.names if when <= at or when == self.names[0][0]][-1]

    def tagged(self, at: float) -> frozenset[str]:
        return next((tags for when, tags in reversed(self.tags) if when <= at), frozenset())

    def inside_at(self, at: float) -> frozenset[Part]:
        return next((parts for when, parts in reversed(self.inside) if when <= at), frozenset())

    def present(self) -> frozenset[Part]:
        return frozenset(
            Part(kind, natural, id=f"{kind}-{natural}", behavior=self.behaviors.get((kind, natural), ""))
            for kind, natural in self.parts
        )

    def names_by(self, kinds: Collection[str], id_: str) -> bool:
        """Whether a part of these kinds names another resource."""
        return any(
            kind in kinds and id_ in (natural, self.behaviors.get((kind, natural))) for kind, natural in self.parts
        )

    def state(self, at: float) -> State:
        if self.delete_at is not None and at >= self.delete_at:
            return State.DELETING
        stands = State.FAILED if self.failed else State.READY
        return stands if at >= self.ready_at else State.PENDING


class Cloud:
    """The whole account. Times are the wall clock's, as a vendor would show them."""

    def __init__(
        self,
        traits: Mapping[str, Traits],
        read_lags: ReadLags,
        clock: ManualClock,
        key: Callable[[str], str] = str,
    ) -> None:
        """``key``: of a tag, where tags are a map; the tag itself where they are a set."""
        self.key = key
        self.traits = traits
        self.read_lags = read_lags
        self.clock = clock
        self.log: list[Resource] = []
        self.requests: dict[str, list[CloudRequest]] = {who: [] for who in OPERATORS}
        """Requests to change something, when they took effect or were refused."""
        self.deletes: list[tuple[float, str, str]] = []  # when, who and what
        self.tampered: list[str] = []  # foreign resources that somebody other than their creator changed
        self.partial = False
        self.failing: set[str] = set()  # kinds whose new resources fail
        self.full: set[str] = set()  # kinds of which a quota allows no more
        self.caller = ""  # whose credentials the operator uses
        self.refusals: dict[tuple[str, str], errors.CloudError] = {}  # by kind and token
        self._late: list[tuple[float, Callable[[], object]]] = []
        self._effect_at: float | None = None
        self._reads = 0
        self._serial = 0

    # -- time ---------------------------------------------------------------------------------------

    def now(self) -> float:
        """The cloud's clock; requests under way take effect at their time, also without a read."""
        if self._effect_at is not None:
            return self._effect_at
        now = self.clock.now()
        due = sorted((w for w in self._late if w[0] <= now), key=lambda w: w[0])
        self._late = [w for w in self._late if w[0] > now]
        for self._effect_at, effect in due:
            try:
                effect()
            except errors.CloudError:
                continue  # refused on arrival; its reply was lost anyway
            finally:
                self._effect_at = None
        return now

    def later(self, seconds: float, effect: Callable[[], object]) -> None:
        """A request that is still under way after its sender has given up or died."""
        self._late.append((self.clock.now() + seconds, effect))

    def _as_of(self, lag: float) -> float:
        now = self.now()
        self._reads += 1
        return now if self.read_lags.restless and self._reads % 2 else now - lag

    # -- reads --------------------------------------------------------------------------------------

    def living(self) -> list[Resource]:
        now = self.now()
        return [r for r in self.log if r.exists(now)]

    def get(self, id_: str) -> Resource:
        now = self.now()
        for resource in self.log:
            if resource.id == id_ and resource.exists(now):
                return resource
        raise errors.NotFound(f"{id_} does not exist")

    def listing(self, kind: str) -> list[tuple[Resource, float]]:
        at = self._as_of(self.read_lags.list_lag)
        # Newest first, as some consoles list: the order of a list proves nothing.
        return [(r, at) for r in reversed(self.log) if r.kind == kind and r.exists(at)]

    def look(self, kind: str, ids: list[str]) -> list[tuple[Resource, float]]:
        at = self._as_of(self.read_lags.read_lag)
        return [(r, at) for r in self.log if r.kind == kind and r.id in ids and r.exists(at)]

    def index(self) -> dict[str, frozenset[str]]:
        """The tag index: it lags by the tag lag, so it also shows deleted resources."""
        at = self._as_of(self.read_lags.tag_lag)
        listed = [r for r in self.log if self.traits[r.kind].indexed and r.exists(at)]
        return {r.target: r.tagged(at) for r in listed if r.tagged(at)}

    def tags_of(self, target: str) -> frozenset[str]:
        at = self._as_of(self.read_lags.read_lag)
        return next((self._show_tags(r, at) for r in self.log if r.target == target and r.exists(at)), frozenset())

    def _show_tags(self, resource: Resource, at: float) -> frozenset[str]:
        resource.shown |= {key for key, (_, _, when) in resource.said.items() if when <= at}
        return resource.tagged(at)

    def show(self, resource: Resource, at: float, *, nonce_fields: frozenset[str] = frozenset()) -> Observed:
        traits = self.traits[resource.kind]
        return Observed(
            id=resource.id,
            name=resource.name(at),
            state=resource.state(at),
            target=resource.target if traits.taggable else "",
            nonce_fields=nonce_fields | {resource.name(at), resource.nested},
            created_at=resource.created_at,
            tags=self._show_tags(resource, at) if traits.tags_on_create else None,
            parts=resource.inside_at(at) if traits.shows_parts else None,
            attributes={**resource.attributes, "name": resource.name(at)},
        )

    # -- writes -------------------------------------------------------------------------------------

    @contextmanager
    def _recorded(self, operation: str, subject: str, by: str) -> Iterator[None]:
        """Record a request of ours with its result."""
        refused = True
        try:
            yield
            refused = False
        finally:
            if by in OPERATORS:
                self.requests[by].append(CloudRequest(operation, subject, refused))

    def create(
        self,
        kind: str,
        name: str,
        request: Mapping[str, Any],
        *,
        creator: str,
        token: str = "",
        nested: str = "",
        tags: frozenset[str] = frozenset(),
    ) -> Resource:
        with self._recorded(f"memory.create_{kind}", str(request.get("name", name)), creator):
            if (kind, token) in self.refusals:
                raise self.refusals[kind, token]
            try:
                return self._create(kind, name, request, creator, token, nested, tags)
            except errors.CloudError as refusal:
                if self.traits[kind].echoes:
                    refusal = type(refusal)(f"{refusal.message}: {dict(request)}")
                if self.traits[kind].refusals_bind and token:
                    self.refusals.setdefault((kind, token), refusal)
                raise refusal from None

    def _create(
        self,
        kind: str,
        name: str,
        request: Mapping[str, Any],
        creator: str,
        token: str,
        nested: str,
        tags: frozenset[str],
    ) -> Resource:
        now, traits = self.now(), self.traits[kind]
        if traits.token and token:
            for resource in self.log:
                if (resource.kind, resource.token) == (kind, token) and now - resource.created_at < traits.token_life:
                    if resource.asked != (name, dict(request), tags):
                        raise errors.TokenReused(f"the token of {name} was used before, with another request")
                    return resource
        if kind in self.full and creator in OPERATORS:
            raise errors.Quota(f"no more of kind {kind} are allowed")
        parent = str(request.get(traits.parent, "")) if traits.parent else ""
        if parent and self.get(parent).state(now) is State.DELETING:
            raise errors.NotReady(f"{parent} is being deleted")
        if traits.behind and parent and not any(r.names_by({traits.behind}, parent) for r in self.living()):
            raise errors.Invalid(f"{parent} has no {traits.behind}")
        if traits.unique:
            for resource in self.living():
                if (resource.kind, resource.parent, resource.name(now)) == (kind, parent, name):
                    if traits.answers_existing and resource.delete_at is None:
                        return resource
                    raise errors.NameTaken(f"{name} is not unique", holder=resource.id)
        self._serial += 1
        resource = Resource(
            id=f"{kind}-{self._serial:03}",
            kind=kind,
            creator=creator,
            role=str(request.get("role", "")),
            parent=parent,
            attributes={k: v for k, v in request.items() if k not in ("name", "role", traits.secret)},
            created_at=now,
            ready_at=now + traits.create_time,
            nested=nested,
            token=token,
            names=[(now, name)],
            tags=[(now, tags)],
            secret_value=request.get(traits.secret),
            asked=(name, dict(request), tags),
            failed=creator == US and kind in self.failing,
        )
        resource.said = {self.key(tag): (tag, creator, now) for tag in tags}
        self.log.append(resource)
        return resource

    def delete(self, id_: str, by: str) -> None:
        with self._recorded(f"memory.delete_{_kind(id_)}", id_, by):
            self._delete(id_, by)

    def _delete(self, id_: str, by: str) -> None:
        now, resource = self.now(), self.get(id_)
        traits = self.traits[resource.kind]
        self._touch(resource, by, "deleted")
        self.deletes.append((now, by, id_))
        children = [r for r in self.living() if r.parent == id_]
        if children and not traits.destroys_children:
            raise errors.InUse(f"{id_} is in use by {children[0].id}", blocker=children[0].id)
        if inside := [f"{kind} {natural}" for kind, natural in resource.parts if kind in traits.bound_by]:
            raise errors.InUse(f"{id_} has {inside[0]}", blocker=inside[0])
        if holders := [r.id for r in self.living() if r.id != id_ and r.names_by(traits.held_by, id_)]:
            raise errors.InUse(f"{id_} is named by {holders[0]}", blocker=holders[0])
        for child in children:
            self._touch(child, by, f"destroyed with {id_}")
            child.delete_at, child.gone_at = now, now
        if resource.delete_at is None:
            resource.delete_at, resource.gone_at = now, now + traits.delete_time

    def vanish(self, id_: str) -> None:
        """Delete it at once without a request, with everything in it."""
        for child in [r for r in self.living() if r.parent == id_]:
            self.vanish(child.id)
        resource = self.get(id_)
        resource.delete_at = resource.gone_at = self.now()

    def rename(self, id_: str, name: str, by: str) -> None:
        with self._recorded(f"memory.rename_{_kind(id_)}", id_, by):
            self._rename(id_, name, by)

    def _rename(self, id_: str, name: str, by: str) -> None:
        now, resource = self.now(), self.get(id_)
        self._touch(resource, by, "renamed")
        if self.traits[resource.kind].unique:
            for other in self.living():
                same = (other.kind, other.parent, other.name(now)) == (resource.kind, resource.parent, name)
                if same and other is not resource:
                    raise errors.NameTaken(f"{name} is not unique", holder=other.id)
        resource.names.append((now, name))

    def change(self, id_: str, attribute: str, value: object, by: str) -> None:
        with self._recorded(f"memory.update_{_kind(id_)}", id_, by):
            resource = self.get(id_)
            self._touch(resource, by, "changed")
            if by in OPERATORS and resource.provided.get(attribute, by) != by:
                self.tampered.append(f"{attribute} of {id_}, set by the in-cluster provider, was changed")
            resource.attributes[attribute] = value

    def add_part(self, id_: str, kind: str, natural: str, by: str, behavior: str = "") -> None:
        with self._recorded(f"memory.add_part_{_kind(id_)}", id_, by):
            self._put_in(id_, kind, natural, by, behavior)

    def add_parts(self, id_: str, parts: Iterable[Part], by: str) -> None:
        with self._recorded(f"memory.add_parts_{_kind(id_)}", id_, by):
            for part in parts:
                self._put_in(id_, part.kind, part.natural_key, by, part.behavior)

    def _put_in(self, id_: str, kind: str, natural: str, by: str, behavior: str) -> None:
        resource = self.get(id_)
        resource.parts.setdefault((kind, natural), by)
        resource.behaviors.setdefault((kind, natural), behavior)
        resource.inside.append((self.now(), resource.present()))

    def change_part(self, id_: str, kind: str, natural: str, by: str, behavior: str) -> None:
        with self._recorded(f"memory.change_part_{_kind(id_)}", id_, by):
            resource = self.get(id_)
            if (kind, natural) not in resource.parts:
                raise errors.NotFound(f"{id_} has no {kind} {natural}")
            self._touch_part(resource, kind, natural, by, "changed")
            resource.behaviors[kind, natural] = behavior
            resource.inside.append((self.now(), resource.present()))

    def remove_part(self, id_: str, kind: str, natural: str, by: str) -> None:
        with self._recorded(f"memory.remove_part_{_kind(id_)}", id_, by):
            self._take_out(id_, kind, natural, by)

    def remove_parts(self, id_: str, parts: Iterable[Part], by: str) -> None:
        with self._recorded(f"memory.remove_parts_{_kind(id_)}", id_, by):
            for part in parts:
                self._take_out(id_, part.kind, part.natural_key, by)

    def _take_out(self, id_: str, kind: str, natural: str, by: str) -> None:
        resource = self.get(id_)
        self._touch_part(resource, kind, natural, by, "removed")
        resource.parts.pop((kind, natural), None)
        resource.behaviors.pop((kind, natural), None)
        resource.inside.append((self.now(), resource.present()))

    def _touch_part(self, resource: Resource, kind: str, natural: str, by: str, what: str) -> None:
        who = resource.parts.get((kind, natural), by)
        open_to_others = kind in self.traits[resource.kind].open_to or who == PROVIDER
        if who != by and by in OPERATORS and open_to_others:
            self.tampered.append(f"{kind} {natural} of {who} in {resource.id} was {what}")

    def provide(self, id_: str, kind: str, natural: str, **attributes: object) -> None:
        """The in-cluster provider manages what was handed to it."""
        resource = self.get(id_)
        resource.parts[kind, natural] = PROVIDER
        resource.inside.append((self.now(), resource.present()))
        resource.attributes |= attributes
        resource.provided |= dict.fromkeys(attributes, PROVIDER)

    def retag(
        self, verb: str, targets: Sequence[str], tags: frozenset[str], by: str = US
    ) -> dict[str, errors.CloudError]:
        """One request for a batch of ours. Like IBM's, the answer is success even if single targets failed."""
        apply: Callable[[str, Collection[str], str], None] = {"attach": self._attach, "detach": self._detach}[verb]
        failed: dict[str, errors.CloudError] = {}
        with self._recorded(f"tags.{verb}", ",".join(targets), by):
            for position, target in enumerate(targets):
                if self.partial and position >= len(targets) // 2:
                    failed[target] = errors.Unavailable(f"{target} was not tagged")
                    continue
                try:
                    apply(target, tags, by)
                except errors.CloudError as error:
                    failed[target] = error
        return failed

    def deny(self, operation: str, subject: str, by: str) -> None:
        with self._recorded(operation, subject, by):
            raise errors.Denied(f"no permission for {operation} of {subject}")

    def attach(self, target: str, tags: frozenset[str], by: str = US) -> None:
        if by != US:
            resource = self._target(target)
            resource.theirs = self._without(resource.theirs, tags) | tags
        self._attach(target, tags, by)

    def detach(self, target: str, tags: frozenset[str]) -> None:
        """By somebody who may."""
        self._detach(target, tags, "somebody")

    def _attach(self, target: str, tags: Collection[str], by: str) -> None:
        """In a map a value replaces the one under its key, whoever wrote that."""
        now, resource = self.now(), self._target(target)
        for tag in tags:
            if tag not in resource.tagged(now):
                self._note_taken(resource, tag, by, "overwritten")
            resource.said[self.key(tag)] = tag, by, now
            resource.shown.discard(self.key(tag))
        resource.tags.append((now, self._without(resource.tagged(now), tags) | frozenset(tags)))

    def _detach(self, target: str, tags: Collection[str], by: str) -> None:
        """In a map by key, as ``UntagResources`` does: the value is not asked."""
        now, resource = self.now(), self._target(target)
        for tag in tags:
            self._note_taken(resource, tag, by, "detached")
            resource.said.pop(self.key(tag), None)
        resource.tags.append((now, self._without(resource.tagged(now), tags)))

    def _without(self, have: frozenset[str], tags: Collection[str]) -> frozenset[str]:
        keys = {self.key(tag) for tag in tags}
        return frozenset(tag for tag in have if self.key(tag) not in keys)

    def _note_taken(self, resource: Resource, tag: str, by: str, what: str) -> None:
        """An operator changed another's value under the key of ``tag``, which a read has shown, or could have."""
        said, who, when = resource.said.get(self.key(tag), ("", by, 0.0))
        lag = max(self.read_lags.read_lag, self.read_lags.tag_lag)
        known = self.key(tag) in resource.shown or self.now() - when > lag
        if by in OPERATORS and who != by and said != tag and known:
            self.tampered.append(f"{said} on {resource.id}, attached by {who}, was {what}")

    def _target(self, target: str) -> Resource:
        for resource in self.living():
            if resource.target == target:
                return resource
        raise errors.NotFound(f"{target} does not exist")

    def _touch(self, resource: Resource, by: str, what: str) -> None:
        if by != resource.creator and by in OPERATORS:
            self.tampered.append(f"{resource.id} of {resource.creator} was {what}")


def _kind(id_: str) -> str:
    return id_.rpartition("-")[0]
