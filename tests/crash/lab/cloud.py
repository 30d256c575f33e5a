"""An in-memory cloud on virtual time: shares no code with the product but its value types.

Every fact has a history, so that a read can be answered as of an earlier moment: that is how list lag,
tag-index lag and reads that step back in time are made. Everything ever created stays in ``log`` with
the name of its creator: the oracles use that, never the state of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from freehold.lifecycle import errors
from freehold.lifecycle.clock import ManualClock
from freehold.lifecycle.kinds import Observed, State
from lab.audit import CloudRequest

US = "freehold"
NEIGHBOUR = "freehold for another object"
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
    names: list[tuple[float, str]] = field(default_factory=list)
    tags: list[tuple[float, frozenset[str]]] = field(default_factory=list)
    theirs: frozenset[str] = frozenset()  # tags that a stranger put on it, on purpose
    parts: dict[tuple[str, str], str] = field(default_factory=dict)  # (kind, natural key) -> who added it
    delete_at: float | None = None
    gone_at: float | None = None
    failed: bool = False
    asked: object = None  # name and request of its create

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

    def state(self, at: float) -> State:
        if self.delete_at is not None and at >= self.delete_at:
            return State.DELETING
        stands = State.FAILED if self.failed else State.READY
        return stands if at >= self.ready_at else State.PENDING


class Cloud:
    """The whole account. Times are the wall clock's, as a vendor would show them."""

    def __init__(self, traits: Mapping[str, Traits], read_lags: ReadLags, clock: ManualClock) -> None:
        self.traits = traits
        self.read_lags = read_lags
        self.clock = clock
        self.log: list[Resource] = []
        self.requests: dict[str, list[CloudRequest]] = {who: [] for who in OPERATORS}
        """Requests to change something, when they took effect or were refused."""
        self.tampered: list[str] = []  # foreign resources that somebody other than their creator changed
        self.partial = False
        self.failing: set[str] = set()  # kinds whose new resources fail
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
        return {r.target: r.tagged(at) for r in self.log if r.exists(at) and r.tagged(at)}

    def tags_of(self, target: str) -> frozenset[str]:
        at = self._as_of(self.read_lags.read_lag)
        return next((r.tagged(at) for r in self.log if r.target == target and r.exists(at)), frozenset())

    def show(self, resource: Resource, at: float, *, nonce_fields: frozenset[str] = frozenset()) -> Observed:
        traits = self.traits[resource.kind]
        return Observed(
            id=resource.id,
            name=resource.name(at),
            state=resource.state(at),
            target=resource.target if traits.taggable else "",
            nonce_fields=nonce_fields | {resource.name(at), resource.nested},
            created_at=resource.created_at,
            tags=resource.tagged(at) if traits.tags_on_create else None,
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
            return self._create(kind, name, request, creator, token, nested, tags)

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
                    if resource.asked != (name, dict(request)):
                        raise errors.Invalid(f"the token of {name} was used before, with another request")
                    return resource
        parent = str(request.get(traits.parent, "")) if traits.parent else ""
        if parent and self.get(parent).state(now) is State.DELETING:
            raise errors.NotReady(f"{parent} is being deleted")
        if traits.unique:
            for resource in self.living():
                if (resource.kind, resource.parent, resource.name(now)) == (kind, parent, name):
                    raise errors.NameTaken(f"{name} is not unique", holder=resource.id)
        self._serial += 1
        resource = Resource(
            id=f"{kind}-{self._serial:03}",
            kind=kind,
            creator=creator,
            role=str(request.get("role", "")),
            parent=parent,
            attributes={k: v for k, v in request.items() if k not in ("name", "role")},
            created_at=now,
            ready_at=now + traits.create_time,
            nested=nested,
            token=token,
            names=[(now, name)],
            tags=[(now, tags)],
            asked=(name, dict(request)),
            failed=creator == US and kind in self.failing,
        )
        self.log.append(resource)
        return resource

    def delete(self, id_: str, by: str) -> None:
        with self._recorded(f"memory.delete_{_kind(id_)}", id_, by):
            self._delete(id_, by)

    def _delete(self, id_: str, by: str) -> None:
        now, resource = self.now(), self.get(id_)
        traits = self.traits[resource.kind]
        self._touch(resource, by, "deleted")
        children = [r for r in self.living() if r.parent == id_]
        if children and not traits.destroys_children:
            raise errors.InUse(f"{id_} is in use by {children[0].id}", blocker=children[0].id)
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
            resource.attributes[attribute] = value

    def add_part(self, id_: str, kind: str, natural: str, by: str) -> None:
        with self._recorded(f"memory.add_part_{_kind(id_)}", id_, by):
            self.get(id_).parts[kind, natural] = by

    def remove_part(self, id_: str, kind: str, natural: str, by: str) -> None:
        with self._recorded(f"memory.remove_part_{_kind(id_)}", id_, by):
            self.get(id_).parts.pop((kind, natural), None)

    def retag(
        self, verb: str, targets: Sequence[str], tags: frozenset[str], by: str = US
    ) -> dict[str, errors.CloudError]:
        """One request for a batch of ours. Like IBM's, the answer is success even if single targets failed."""
        apply: Callable[[str, Collection[str]], None] = {"attach": self._attach, "detach": self._detach}[verb]
        failed: dict[str, errors.CloudError] = {}
        with self._recorded(f"tags.{verb}", ",".join(targets), by):
            for position, target in enumerate(targets):
                if self.partial and position >= len(targets) // 2:
                    failed[target] = errors.Unavailable(f"{target} was not tagged")
                    continue
                try:
                    apply(target, tags)
                except errors.CloudError as error:
                    failed[target] = error
        return failed

    def attach(self, target: str, tags: frozenset[str], by: str = US) -> None:
        if by != US:
            self._target(target).theirs |= tags
        self._attach(target, tags)

    def detach(self, target: str, tags: frozenset[str]) -> None:
        self._detach(target, tags)

    def _attach(self, target: str, tags: Collection[str]) -> None:
        resource = self._target(target)
        resource.tags.append((self.now(), resource.tagged(self.now()) | frozenset(tags)))

    def _detach(self, target: str, tags: Collection[str]) -> None:
        resource = self._target(target)
        resource.tags.append((self.now(), resource.tagged(self.now()) - frozenset(tags)))

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
