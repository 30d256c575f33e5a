"""Recovery of a lost object from the marks in the cloud: its identity and a part of its spec.

The rebuilt object is paused. The passes that follow find its resources again; they read the marks as after every
lost record (engine.phases.recovery). Here the marks are only judged, for the person who decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from freehold.api import names
from freehold.api.served import ServedName
from freehold.controllers.read_only_context import build_read_only_context
from freehold.controllers.recovery.orphans import UNKNOWN_KIND, MarkedOwner, MarkedResource
from freehold.engine import birth_marks, proofs
from freehold.engine import journal as journals
from freehold.engine.context import PassContext
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import Entry, Journal, Phase
from freehold.engine.ownership import Codec, Owner, Strength
from freehold.engine.resources import NodeKey
from freehold.kube.resources import Json
from freehold.providers.access.accounts import AccountPlace

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
"""Names of Kubernetes (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/): the text of a
stranger's tag must not become a name, or part of a command."""


_NOBODY = "00000000-0000-4000-8000-000000000000"


class NoOwner(Exception):
    """The owner of the marks cannot be determined; the message is for a person."""


@dataclass(frozen=True)
class JudgedResource:
    """A resource, and what its marks prove with this key ring."""

    marked: MarkedResource
    strength: Strength
    source: str
    has_birth_mark: bool = False
    """True if it has the birth mark of a create of ours, and no seal yet: the passes that follow decide about it."""


@dataclass(frozen=True)
class Recovery:
    """The recovery of one object: its owner, and its judged resources."""

    owner: Owner
    resources: tuple[JudgedResource, ...]

    @property
    def proven(self) -> tuple[JudgedResource, ...]:
        return tuple(one for one in self.resources if one.strength is Strength.PROVEN)

    @property
    def born(self) -> tuple[JudgedResource, ...]:
        """Resources with a birth mark and no seal yet. A birth mark can be copied, so it puts nothing on record."""
        return tuple(one for one in self.resources if one.has_birth_mark)

    @property
    def unread(self) -> tuple[JudgedResource, ...]:
        """Resources that could not be read: nothing is decided until they are."""
        return tuple(one for one in self.resources if one.marked.seen is None and one.source != UNKNOWN_KIND)

    @property
    def of_unknown_kind(self) -> tuple[JudgedResource, ...]:
        """Resources that a newer version has made: this one would lose them for ever."""
        return tuple(one for one in self.resources if one.marked.key.logical and one.source == UNKNOWN_KIND)

    @property
    def without_node(self) -> tuple[JudgedResource, ...]:
        """Resources with the owner's marks, but none that names their node: nobody can tell what they are for."""
        return tuple(one for one in self.resources if not one.marked.key.logical and not one.has_birth_mark)

    @property
    def unproven(self) -> tuple[JudgedResource, ...]:
        """Resources whose marks this key ring did not make, if it made none of the owner's: its key may be lost.

        If the ring made some of the marks, the others are copies, and are left out.
        """
        if self.proven or self.born:
            return ()
        return tuple(o for o in self.resources if o.strength is Strength.COPIED and o not in self.without_node)

    @property
    def claimed_twice(self) -> tuple[JudgedResource, ...]:
        """Unproven resources with the mark of the same node: one of them is a copy, and nothing tells which."""
        counts = Counter(one.marked.key for one in self.unproven)
        return tuple(one for one in self.unproven if counts[one.marked.key] > 1)

    def is_recovered(self, one: JudgedResource, *, key_lost: bool) -> bool:
        return one in self.proven or one.has_birth_mark or (key_lost and one in self.unproven)


def build_recovery(found: MarkedOwner, served: ServedName, deps: EngineDeps) -> Recovery:
    """Find the owner of the marks, and judge them with the keys of ``deps``. Raises NoOwner if that is impossible.

    Whoever may tag can add another owner's name, but the seals of the key ring fit only the right one.
    """
    if found.within:
        raise NoOwner(
            f"{' and '.join(found.names)} was part of the cluster with uuid {found.within}: a machine is not rebuilt "
            "from its marks. Make another one, and delete what is left of this one in the cloud"
        )
    room = _measure_owner_mark(deps.codec)
    named = [
        judge_resources(found, owner, deps)
        for name in found.names
        if (owner := _parse_owner(found.uuid, name, served, room))
    ]
    proven = [one for one in named if one.proven] or [one for one in named if one.born]
    if len(proven) == 1:
        return proven[0]
    if len(found.names) == 1 and named:
        return named[0]
    names_ = ", ".join(found.names) or "nobody"
    raise NoOwner(f"the marks with uuid {found.uuid} name {names_} as their owner: which object it was cannot be told")


def _parse_owner(uuid: str, text: str, served: ServedName, room: int) -> Owner | None:
    """Parse the owner in a mark; None if no object can have the name, or if it may have been cut to ``room``."""
    namespace, _, name = text.partition("/")
    if len(text) >= room or not (_LABEL.fullmatch(namespace) and _SUBDOMAIN.fullmatch(name)):
        return None
    return Owner(uuid, served.kind, namespace, name)


def _measure_owner_mark(codec: Codec) -> int:
    """Measure how many characters a mark has for namespace and name; longer ones are cut, and end in a hash."""
    longest = codec.owner(Owner(_NOBODY, "", "n" * 63, "n" * 253))
    return max(len(said) for said in codec.read(longest).owners)


def judge_resources(found: MarkedOwner, owner: Owner, deps: EngineDeps) -> Recovery:
    """Judge the resources by the ownership test of the engine, with the keys of ``deps``."""
    ctx = _build_context(owner, deps)
    return Recovery(owner, tuple(_judge_resource(ctx, one) for one in found.resources))


def _judge_resource(ctx: PassContext, one: MarkedResource) -> JudgedResource:
    if one.seen is None:
        return JudgedResource(one, Strength.NONE, one.unread)
    seen = replace(one.seen, target=one.seen.target or one.target, tags=one.tags)
    evidence = proofs.evidence(ctx, one.key, seen, one.tags)
    if not one.key.logical and not birth_marks.has_nonce(ctx, one.key, seen):
        return JudgedResource(one, evidence.strength, "owner and uuid only: no mark says what it is for")
    if evidence.strength is Strength.COPIED and birth_marks.has_nonce(ctx, one.key, seen):
        return JudgedResource(
            one, evidence.strength, "owner, uuid, and the birth mark of a create of ours; not sealed yet", True
        )
    return JudgedResource(one, evidence.strength, evidence.source)


def _build_context(owner: Owner, deps: EngineDeps) -> PassContext:
    return build_read_only_context(Journal(owner, key=deps.ring.writing), deps)


def rebuild_object(
    recovery: Recovery, served: ServedName, account: str, deps: EngineDeps, spec: Mapping[str, Any], *, seal_anew: bool
) -> Json:
    """Rebuild the object to create. ``seal_anew``: a person says that the unproven resources are this owner's, too.

    They go on record, signed with the current key, so that the passes that follow seal them.
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
    entries = {_read_key(one): _build_entry(one, owner, deps) for one in recovery.unproven} if seal_anew else {}
    journal = Journal(owner, entries, account=account, key=deps.ring.writing, defaults=served.defaults)
    annotations = {
        **plain["metadata"]["annotations"],
        names.JOURNAL_ANNOTATION: journals.dumps(journal),
    }
    # With its finalizer from the start: one that is deleted before anybody unpaused it must not be gone at once.
    return {**plain, "metadata": {**plain["metadata"], "annotations": annotations, "finalizers": [served.finalizer]}}


def _read_key(one: JudgedResource) -> NodeKey:
    return one.marked.key


def _build_entry(one: JudgedResource, owner: Owner, deps: EngineDeps) -> Entry:
    assert one.marked.seen is not None
    ctx, seen = _build_context(owner, deps), one.marked.seen
    target = seen.target or one.marked.target
    record = Entry(Phase.RECORDED, seen.id, target, seen.carried, key=deps.ring.writing)
    return replace(record, signature=ctx.sign(_read_key(one), seen.id), node_tags=_find_replaced_seal(ctx, one))


def _find_replaced_seal(ctx: PassContext, one: JudgedResource) -> tuple[str, ...]:
    """Find the tag that a new seal replaces where tags are a map; only the person's word says that it is ours."""
    codec, seen = ctx.deps.codec, one.marked.seen
    if not codec.keyed or seen is None:
        return ()
    place = codec.key(proofs.seal_mark(ctx, one.marked.key, seen))
    return tuple(sorted(tag for tag in one.marked.tags if codec.key(tag) == place))


def rebuild_spec(recovery: Recovery, place: AccountPlace) -> Mapping[str, Any]:
    """Rebuild the part of the spec that account and resources show. The person's manifest has the rest."""
    found = [
        (one.marked.key, replace(one.marked.seen, tags=one.marked.tags))
        for one in recovery.resources
        if one.marked.seen
    ]
    return {**place.binding.adapter.rebuild_spec(recovery.owner, found), **place.spec}
