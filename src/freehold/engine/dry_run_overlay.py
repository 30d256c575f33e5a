"""What the passes of a dry run would have written, laid over what they read of the cloud (:mod:`dry_run`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from freehold.engine.clock import ManualClock
from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagsByTarget
from freehold.engine.kinds import Kind
from freehold.engine.resources import Observed, Part, Request, State
from freehold.engine.value_texts import texts_in

T = TypeVar("T")
PLANNED = "planned-"
"""Begins the ids, and ``planned:`` the targets, of what does not exist yet."""
UNKNOWN = "(known after create)"


class Action(StrEnum):
    """One write."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    ADD_PART = "add part"
    REMOVE_PART = "remove part"
    ATTACH = "attach"
    DETACH = "detach"


@dataclass(frozen=True)
class Write:
    """What a pass would have sent.

    ``id`` is the engine's; of a tag change it is the target. ``attribute`` names what changes inside: an attribute, a
    part or a tag; ``before`` and ``after`` are its values.
    """

    action: Action
    kind: str
    id: str
    attribute: str = ""
    before: Any = None
    after: Any = None


@dataclass
class Overlay:
    """What the passes of one dry run would have written, and what they have read."""

    clock: ManualClock
    identity: str = ""
    tag_api: str = ""
    writes: list[Write] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    """At most how many writes each API gets."""
    created: dict[str, Observed] = field(default_factory=dict)
    """By id. Their targets and ids exist nowhere else."""
    attributes: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    parts: dict[tuple[str, str], frozenset[Part]] = field(default_factory=dict)
    gone: set[tuple[str, str]] = field(default_factory=set)
    unfinished: set[str] = field(default_factory=set)
    """Ids and targets of what the cloud still creates: it may refuse to tell what is inside."""
    gone_targets: set[str] = field(default_factory=set)
    """The targets of what was deleted, under which another read may still show it."""
    tags: dict[str, frozenset[str]] = field(default_factory=dict)
    """The tags of each target that a tag was attached to or detached from, all of them."""
    carriers: dict[str, tuple[str, Observed]] = field(default_factory=dict)
    """What was seen or created, by id and by target: its kind, and the resource."""
    identified: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Ids of created resources by kind, target and last part of the id."""
    _read: dict[Hashable, Any] = field(default_factory=dict)

    async def once(self, question: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask the cloud once, because nothing changes while a plan is made. Failures are asked again."""
        if question not in self._read:
            self._read[question] = await ask()
        found: T = self._read[question]
        return found

    async def each_once(
        self, name: str, keys: Sequence[str], ask: Callable[[Sequence[str]], Awaitable[Mapping[str, T | CloudError]]]
    ) -> Mapping[str, T | CloudError]:
        """Ask once for each of several, for those that were not asked for yet in one call."""
        asked = [key for key in keys if (name, key) not in self._read]
        answers = await ask(asked) if asked else {}
        self._read |= {(name, key): found for key, found in answers.items() if not isinstance(found, CloudError)}
        return {key: answers[key] if key in answers else self._read[name, key] for key in keys}

    def predict_observed(self, kind: Kind, observed: Observed) -> Observed:
        """Return ``observed`` as it will be once the cloud is done with it, with what the passes have changed."""
        changed = self.attributes.get((kind.name, observed.id), {})
        if observed.state is State.PENDING:
            known = {**unknown_outputs(kind), **observed.attributes}
            observed = replace(observed, state=State.READY, attributes=known)
            if observed.id not in self.unfinished and kind.carrier:
                self.calls[self.tag_api] += 1
            self.unfinished |= {observed.id, observed.target, str(known.get("id", ""))}
        if changed:
            name = str(changed.get("name", observed.name))
            observed = replace(observed, name=name, attributes={**observed.attributes, **changed})
        if observed.parts is not None:
            observed = replace(observed, parts=self.parts.get((kind.name, observed.id), observed.parts))
        if observed.tags is not None and observed.target in self.tags:
            observed = replace(observed, tags=self.tags[observed.target])
        self.carriers[observed.id] = self.carriers[observed.target] = kind.name, observed
        return observed

    def predict_remaining(self, kind: Kind, found: Sequence[Observed]) -> list[Observed]:
        """Return what the cloud shows and will still be there."""
        return [
            self.predict_observed(kind, o)
            for o in found
            if o.state is not State.DELETING and not self._is_gone(kind, o)
        ]

    def _is_gone(self, kind: Kind, observed: Observed) -> bool:
        return (kind.name, observed.id) in self.gone or (not observed.carried and observed.target in self.gone_targets)

    def without_gone(self, tags: TagsByTarget) -> TagsByTarget:
        """Return ``tags`` with what was changed of them, and without the targets that are gone."""
        return {target: found for target, found in {**tags, **self.tags}.items() if target not in self.gone_targets}

    def is_unfinished(self, request: Request) -> bool:
        """Return whether it names a resource that the cloud still creates."""
        return any(text in self.unfinished for text in texts_in(request))


def unknown_outputs(kind: Kind) -> dict[str, Any]:
    """Return placeholders for the attributes that the cloud has yet to fill in."""
    return {name: (UNKNOWN,) if name in kind.attributes.output_lists else UNKNOWN for name in kind.attributes.outputs}


def mentions_planned(request: Request) -> bool:
    """Return whether it names a resource that does not exist yet: nothing can be inside that."""
    return any(is_planned(text) for text in texts_in(request))


def is_planned(text: str) -> bool:
    """Return whether an id or a target is one of a resource that does not exist yet."""
    return PLANNED in text or text == UNKNOWN
