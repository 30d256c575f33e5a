"""An object that was lost, rebuilt from the marks in the cloud: its identity, a spec skeleton, and nothing done yet.

The object is made paused. What it owns is found again by the passes that follow, which read the marks as after every
lost record (lifecycle.phases.recovery); here they are only judged, for the person who decides.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from freehold.api import names
from freehold.api.served import ServedName
from freehold.kube.resources import Json
from freehold.lifecycle import journal as journals
from freehold.lifecycle import proofs
from freehold.lifecycle.context import PassContext
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.interface import EngineDeps
from freehold.lifecycle.journal import Entry, Journal, Phase
from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.ownership import Owner, Strength
from freehold.lifecycle.state import ObjectState
from freehold.operator.orphans import Marked, MarkedOwner

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
"""Names of Kubernetes (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/): the text of a
stranger's tag must not become a name, or part of a command."""

LONGEST_OWNER = 97
"""Characters that a mark has for namespace and name; a longer one is cut, and ends in a hash."""


class NoOwner(Exception):
    """The marks do not tell whose they are; the message is for a person."""


@dataclass(frozen=True)
class Judged:
    """One resource, and what its marks prove with this key ring."""

    marked: Marked
    strength: Strength
    source: str


@dataclass(frozen=True)
class Recovery:
    """What would be recovered."""

    owner: Owner
    resources: tuple[Judged, ...]

    @property
    def proven(self) -> tuple[Judged, ...]:
        return tuple(one for one in self.resources if one.strength is Strength.PROVEN)

    @property
    def unread(self) -> tuple[Judged, ...]:
        """What could not be read: nothing is decided until it has been."""
        return tuple(one for one in self.resources if one.marked.seen is None)

    @property
    def unproven(self) -> tuple[Judged, ...]:
        """What carries marks that this key ring did not make, where it made none: its key may be lost.

        Where some are proven the key is there, and the others are copies: they are left out.
        """
        if self.proven:
            return ()
        return tuple(one for one in self.resources if one.strength is Strength.COPIED)

    @property
    def claimed_twice(self) -> tuple[Judged, ...]:
        """Unproven resources with the mark of one node: one of them is a copy, and nothing tells which."""
        counts = Counter(one.marked.key for one in self.unproven)
        return tuple(one for one in self.unproven if counts[one.marked.key] > 1)

    def is_recovered(self, one: Judged, *, key_lost: bool) -> bool:
        return one in self.proven or (key_lost and one in self.unproven)


def recovery_of(found: MarkedOwner, served: ServedName, deps: EngineDeps) -> Recovery:
    """Whose marks they are, and what they prove with the keys of ``deps``. Raises NoOwner where that cannot be told.

    Whoever may tag can add another owner's name: the seals of the key ring fit only the right one.
    """
    named = [judged(found, owner, deps) for name in found.names if (owner := _owner(found.uuid, name, served))]
    proven = [one for one in named if one.proven]
    if len(proven) == 1:
        return proven[0]
    if len(found.names) == 1 and named:
        return named[0]
    names_ = ", ".join(found.names) or "nobody"
    raise NoOwner(f"the marks with uuid {found.uuid} name {names_} as their owner: which object it was cannot be told")


def _owner(uuid: str, text: str, served: ServedName) -> Owner | None:
    """None for what no object can be called, and for what may have been cut."""
    namespace, _, name = text.partition(".")
    if len(text) >= LONGEST_OWNER or not (_LABEL.fullmatch(namespace) and _SUBDOMAIN.fullmatch(name)):
        return None
    return Owner(uuid, served.kind, namespace, name)


def judged(found: MarkedOwner, owner: Owner, deps: EngineDeps) -> Recovery:
    """By the ownership test of the engine, with the keys of ``deps``."""
    ctx = _context(owner, deps)
    return Recovery(owner, tuple(_judged(ctx, one) for one in found.resources))


def _judged(ctx: PassContext, one: Marked) -> Judged:
    if one.seen is None:
        return Judged(one, Strength.NONE, one.unread)
    seen = replace(one.seen, target=one.seen.target or one.target)
    evidence = proofs.evidence(ctx, one.key, seen, one.tags)
    return Judged(one, evidence.strength, evidence.source)


def _context(owner: Owner, deps: EngineDeps) -> PassContext:
    journal = Journal(owner, key=deps.ring.writing)
    return PassContext(deps, Graph(()), journal, _Unsaved(), ObjectState(deps.clock.monotonic()))


class _Unsaved:
    async def save(self, journal: Journal) -> None:
        """Nothing is stored by judging."""


def rebuilt(recovery: Recovery, served: ServedName, account: str, deps: EngineDeps, *, seal_anew: bool) -> Json:
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
        "spec": skeleton([one.marked for one in recovery.resources]),
    }
    entries = {_key(one): _entry(one, owner, deps) for one in recovery.unproven} if seal_anew else {}
    journal = Journal(owner, entries, account=account, key=deps.ring.writing)
    annotations = {
        **plain["metadata"]["annotations"],
        names.JOURNAL_ANNOTATION: journals.dumps(journal),
        names.LAST_APPLIED: json.dumps(plain, separators=(",", ":"), sort_keys=True),
    }
    # With its finalizer from the start: one that is deleted before anybody unpaused it must not be gone at once.
    return {**plain, "metadata": {**plain["metadata"], "annotations": annotations, "finalizers": [served.finalizer]}}


def _key(one: Judged) -> NodeKey:
    return one.marked.key


def _entry(one: Judged, owner: Owner, deps: EngineDeps) -> Entry:
    assert one.marked.seen is not None
    ctx, seen = _context(owner, deps), one.marked.seen
    target = seen.target or one.marked.target
    signature = ctx.sign(_key(one), seen.id)
    return Entry(Phase.RECORDED, seen.id, target, seen.carried, signature=signature, key=deps.ring.writing)


def skeleton(resources: Sequence[Marked]) -> Mapping[str, Any]:
    """As much of the spec as ids tell: where the workspace and the VPC are. The person's manifest has the rest."""
    spec: dict[str, Any] = {}
    for one in resources:
        if one.seen is None:
            continue
        if one.key.kind == "workspace" and one.seen.attributes.get("zone"):
            spec["zone"] = one.seen.attributes["zone"]
        elif one.key.kind == "vpc" and one.seen.region:
            spec["vpc"] = {"region": one.seen.region}
    return spec
