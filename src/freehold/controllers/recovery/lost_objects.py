"""An object that was lost, rebuilt from the marks in the cloud: its identity, a spec skeleton, and nothing done yet.

The object is made paused. What it owns is found again by the passes that follow, which read the marks as after every
lost record (engine.phases.recovery); here they are only judged, for the person who decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from freehold.api import names
from freehold.api.served import ServedName
from freehold.controllers.recovery.orphans import UNKNOWN_KIND, Marked, MarkedOwner
from freehold.engine import birth_marks, proofs
from freehold.engine import journal as journals
from freehold.engine.context import PassContext
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import Entry, Journal, Phase
from freehold.engine.ownership import Codec, Owner, Strength
from freehold.engine.resources import NodeKey
from freehold.engine.state import ObjectState
from freehold.kube.resources import Json
from freehold.providers.access.accounts import Place

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
"""Names of Kubernetes (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/): the text of a
stranger's tag must not become a name, or part of a command."""


_NOBODY = "00000000-0000-4000-8000-000000000000"


class NoOwner(Exception):
    """The marks do not tell whose they are; the message is for a person."""


@dataclass(frozen=True)
class Judged:
    """One resource, and what its marks prove with this key ring."""

    marked: Marked
    strength: Strength
    source: str
    born: bool = False
    """It has the birth mark of a create of ours, and no seal yet: the passes that follow find out."""


@dataclass(frozen=True)
class Recovery:
    """What would be recovered."""

    owner: Owner
    resources: tuple[Judged, ...]

    @property
    def proven(self) -> tuple[Judged, ...]:
        return tuple(one for one in self.resources if one.strength is Strength.PROVEN)

    @property
    def born(self) -> tuple[Judged, ...]:
        """What was cut off between its create and its seal. A birth mark can be copied: it puts nothing on record."""
        return tuple(one for one in self.resources if one.born)

    @property
    def unread(self) -> tuple[Judged, ...]:
        """What could not be read: nothing is decided until it has been."""
        return tuple(one for one in self.resources if one.marked.seen is None and one.source != UNKNOWN_KIND)

    @property
    def of_unknown_kind(self) -> tuple[Judged, ...]:
        """What a newer version has made: this one would leave it out for ever."""
        return tuple(one for one in self.resources if one.marked.key.logical and one.source == UNKNOWN_KIND)

    @property
    def without_node(self) -> tuple[Judged, ...]:
        """What has no mark that says which node it is, but the owner's: nobody can tell what it is for."""
        return tuple(one for one in self.resources if not one.marked.key.logical and not one.born)

    @property
    def unproven(self) -> tuple[Judged, ...]:
        """What carries marks that this key ring did not make, where it made none: its key may be lost.

        Where the key made some of the marks it is there, and the others are copies: they are left out.
        """
        if self.proven or self.born:
            return ()
        return tuple(o for o in self.resources if o.strength is Strength.COPIED and o not in self.without_node)

    @property
    def claimed_twice(self) -> tuple[Judged, ...]:
        """Unproven resources with the mark of one node: one of them is a copy, and nothing tells which."""
        counts = Counter(one.marked.key for one in self.unproven)
        return tuple(one for one in self.unproven if counts[one.marked.key] > 1)

    def is_recovered(self, one: Judged, *, key_lost: bool) -> bool:
        return one in self.proven or one.born or (key_lost and one in self.unproven)


def recovery_of(found: MarkedOwner, served: ServedName, deps: EngineDeps) -> Recovery:
    """Whose marks they are, and what they prove with the keys of ``deps``. Raises NoOwner where that cannot be told.

    Whoever may tag can add another owner's name: the seals of the key ring fit only the right one.
    """
    room = _longest(deps.codec)
    named = [judged(found, owner, deps) for name in found.names if (owner := _owner(found.uuid, name, served, room))]
    proven = [one for one in named if one.proven] or [one for one in named if one.born]
    if len(proven) == 1:
        return proven[0]
    if len(found.names) == 1 and named:
        return named[0]
    names_ = ", ".join(found.names) or "nobody"
    raise NoOwner(f"the marks with uuid {found.uuid} name {names_} as their owner: which object it was cannot be told")


def _owner(uuid: str, text: str, served: ServedName, room: int) -> Owner | None:
    """None for what no object can be called, and for what may have been cut to ``room``."""
    namespace, _, name = text.partition("/")
    if len(text) >= room or not (_LABEL.fullmatch(namespace) and _SUBDOMAIN.fullmatch(name)):
        return None
    return Owner(uuid, served.kind, namespace, name)


def _longest(codec: Codec) -> int:
    """Characters that a mark has for namespace and name; longer ones are cut, and end in a hash."""
    longest = codec.owner(Owner(_NOBODY, "", "n" * 63, "n" * 253))
    return max(len(said) for said in codec.read(longest).owners)


def judged(found: MarkedOwner, owner: Owner, deps: EngineDeps) -> Recovery:
    """By the ownership test of the engine, with the keys of ``deps``."""
    ctx = _context(owner, deps)
    return Recovery(owner, tuple(_judged(ctx, one) for one in found.resources))


def _judged(ctx: PassContext, one: Marked) -> Judged:
    if one.seen is None:
        return Judged(one, Strength.NONE, one.unread)
    seen = replace(one.seen, target=one.seen.target or one.target, tags=one.tags)
    evidence = proofs.evidence(ctx, one.key, seen, one.tags)
    if not one.key.logical and not birth_marks.has_nonce(ctx, one.key, seen):
        return Judged(one, evidence.strength, "owner and uuid only: no mark says what it is for")
    if evidence.strength is Strength.COPIED and birth_marks.has_nonce(ctx, one.key, seen):
        return Judged(
            one, evidence.strength, "owner, uuid, and the birth mark of a create of ours; not sealed yet", True
        )
    return Judged(one, evidence.strength, evidence.source)


def _context(owner: Owner, deps: EngineDeps) -> PassContext:
    journal = Journal(owner, key=deps.ring.writing)
    return PassContext(deps, Graph(()), journal, _Unsaved(), ObjectState(deps.clock.monotonic()))


class _Unsaved:
    async def save(self, journal: Journal) -> None:
        """Nothing is stored by judging."""


def rebuilt(
    recovery: Recovery, served: ServedName, account: str, deps: EngineDeps, spec: Mapping[str, Any], *, seal_anew: bool
) -> Json:
    """The object to create. ``seal_anew``: a person says that what nothing proves is this owner's too.

    It goes on record, signed with the key of today, so that the passes that follow seal it.
    """
    owner = recovery.owner
    plain: dict[str, Any] = {
        "apiVersion": f"{served.group}/{served.version}",
        "kind": served.kind,
        "metadata": {
            "name": owner.name,
            "namespace": owner.namespace,
            "annotations": {names.PAUSED_ANNOTATION: names.RECOVERED},
        },
        "spec": dict(spec),
    }
    entries = {_key(one): _entry(one, owner, deps) for one in recovery.unproven} if seal_anew else {}
    journal = Journal(owner, entries, account=account, key=deps.ring.writing)
    annotations = {
        **plain["metadata"]["annotations"],
        names.JOURNAL_ANNOTATION: journals.dumps(journal),
    }
    # With its finalizer from the start: one that is deleted before anybody unpaused it must not be gone at once.
    return {**plain, "metadata": {**plain["metadata"], "annotations": annotations, "finalizers": [served.finalizer]}}


def _key(one: Judged) -> NodeKey:
    return one.marked.key


def _entry(one: Judged, owner: Owner, deps: EngineDeps) -> Entry:
    assert one.marked.seen is not None
    ctx, seen = _context(owner, deps), one.marked.seen
    target = seen.target or one.marked.target
    record = Entry(Phase.RECORDED, seen.id, target, seen.carried, key=deps.ring.writing)
    return replace(record, signature=ctx.sign(_key(one), seen.id), node_tags=_lost_seal(ctx, one))


def _lost_seal(ctx: PassContext, one: Judged) -> tuple[str, ...]:
    """Where tags are a map: the value that a new seal replaces, which nothing but the person's word says to be ours."""
    codec, seen = ctx.deps.codec, one.marked.seen
    if not codec.keyed or seen is None:
        return ()
    place = codec.key(proofs.seal_mark(ctx, one.marked.key, seen))
    return tuple(sorted(tag for tag in one.marked.tags if codec.key(tag) == place))


def skeleton(recovery: Recovery, place: Place) -> Mapping[str, Any]:
    """As much of the spec as place and resources tell. The person's manifest has the rest."""
    found = [
        (one.marked.key, replace(one.marked.seen, tags=one.marked.tags))
        for one in recovery.resources
        if one.marked.seen
    ]
    return {**place.binding.adapter.skeleton(recovery.owner, found), **place.spec}
