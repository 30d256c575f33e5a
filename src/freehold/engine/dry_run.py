"""A dry run: the real passes over a cloud that answers reads and keeps every write to itself.

The engine runs unchanged. Its drivers and its tagger read the cloud once and lay over it what the passes would have
written, so that the next pass sees its own work: what was created is there and ready, what was deleted is gone. What
the cloud is still busy with counts as finished. No write is sent: the inner drivers are behind a
:class:`port.ReadOnlyPort`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from freehold.engine.dry_run_overlay import (
    PLANNED,
    Action,
    Overlay,
    Write,
    is_planned,
    mentions_planned,
    unknown_outputs,
)
from freehold.engine.durations import Durations
from freehold.engine.errors import CloudError, NotFound, NotReady, Retryable
from freehold.engine.interface import EngineDeps
from freehold.engine.inventory import Inventory, TagChange, Tagger, TagsByTarget
from freehold.engine.kinds import Dedupe, Kind, Registry, Tagging
from freehold.engine.ownership import Codec
from freehold.engine.port import Call, Effect, Port
from freehold.engine.resources import (
    Birth,
    NodeKey,
    NonceSet,
    Observed,
    ParentResource,
    Part,
    Ref,
    Request,
    State,
    Want,
)

T = TypeVar("T")


class DryRunDriver:
    """The verbs of one kind on the overlay; reads go on to the real driver, writes never do."""

    def __init__(self, kind: Kind, overlay: Overlay) -> None:
        self._kind = kind
        self._overlay = overlay

    async def create(self, request: Request, birth: Birth) -> Observed:
        overlay, kind = self._overlay, self._kind
        bare = f"{PLANNED}{len(overlay.created) + 1}"
        carrier = self._carrier(request) if kind.tagging is Tagging.NEVER else None
        target = carrier.target if carrier else f"planned:{bare}"
        values = {**unknown_outputs(kind), "id": bare, "crn": target, **request}
        made = Observed(
            id=bare,
            name=str(request.get("name", "")),
            state=State.READY,
            target=target if kind.markable else "",
            carried=carrier is not None,
            nonce_fields=frozenset({birth.nonce}),
            created_at=overlay.clock.now(),
            created_by=overlay.identity,
            tags=birth.marks if kind.tagging is Tagging.ON_CREATE else None,
            attributes=values,
        )
        overlay.writes.append(Write(Action.CREATE, kind.name, bare, after=dict(request)))
        overlay.calls[kind.api] += 1 + self._calls_after_create(request)
        if kind.carrier:  # one attach more: to the carrier first, or not in one batch with others that it carries
            overlay.calls[overlay.tag_api] += 1
        overlay.created[bare] = made
        if made.tags is not None:
            overlay.tags[made.target] = made.tags
        overlay.identified[kind.name, made.target, bare] = bare
        return overlay.predict_observed(kind, made)

    def _calls_after_create(self, request: Request) -> int:
        """Return how many calls at most bring what the create does not: the name without the birth mark, attributes."""
        kind = self._kind
        if kind.dedupe is Dedupe.NONCE and kind.tagging is not Tagging.ON_CREATE:
            return 1 if kind.attributes.mutable else 0
        born = kind.attributes.at_birth(request)
        later = {name: request[name] for name in sorted(kind.attributes.mutable & request.keys() & born.keys())}
        later = {name: value for name, value in later.items() if value != born[name]}
        return kind.attributes.calls_a_change(later) if later else 0

    def _carrier(self, request: Request) -> Observed | None:
        """Return the resource that will carry its mark: the request says in which it is created."""
        named = [
            self._overlay.carriers[v] for v in request.values() if isinstance(v, str) and v in self._overlay.carriers
        ]
        named += [
            pair
            for pair in self._overlay.carriers.values()
            if any(isinstance(v, str) and v == pair[1].attributes.get("id") for v in request.values())
        ]
        return next((observed for kind, observed in named if kind == self._kind.carrier), None)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        overlay, kind = self._overlay, self._kind
        there = [overlay.created[ref.id] for ref in refs if ref.id in overlay.created]
        real = [ref for ref in refs if not is_planned(ref.id)]
        if real:
            question = ("observe", kind.name, frozenset(real))
            there += (await overlay.once(question, lambda: kind.driver.observe(real))).values()
        return {observed.id: observed for observed in overlay.predict_remaining(kind, there)}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        kind, overlay = self._kind, self._overlay
        real = [want for want in wants if kind.naming.name_in_region or not mentions_planned(want.request)]
        unfinished = [want for want in real if overlay.is_unfinished(want.request)]
        found = dict(await self._find_once([want for want in real if want not in unfinished]))
        for want in unfinished:
            try:
                found |= await self._find_once([want])
            except (Retryable, NotReady, NotFound):
                found[want.key] = ()  # it cannot be looked into yet, and holds nothing
        return {key: overlay.predict_remaining(kind, seen) for key, seen in found.items()}

    async def _find_once(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        if not wants:
            return {}
        question = ("find", self._kind.name, _text([(str(want.key), want.name, want.request) for want in wants]))
        return await self._overlay.once(question, lambda: self._kind.driver.find(wants))

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        kind, overlay = self._kind, self._overlay
        real = [want for want in wants if not mentions_planned(want.request)]
        gone = {ident for _, ident in overlay.gone}
        there = [place for place in places if not is_planned(place.ref.id) and place.ref.id not in gone]
        return overlay.predict_remaining(kind, await kind.driver.by_nonce(there, real, nonces))

    async def find_impossible(self, seen: Observed, changes: Request) -> Mapping[str, CloudError]:
        inner = self._kind.attributes.judge
        if inner is None or is_planned(seen.id):
            return {}
        question = ("find_impossible", self._kind.name, seen.id, _text(changes))
        return await self._overlay.once(question, lambda: inner.find_impossible(seen, changes))

    async def find_untagged(self, request: Request, tags: frozenset[str]) -> Sequence[Observed]:
        inner, overlay = self._kind.creation.find_untagged, self._overlay
        if inner is None or mentions_planned(request):
            return ()
        question = ("find_untagged", self._kind.name, _text(request), tags)
        return overlay.predict_remaining(
            self._kind, await overlay.once(question, lambda: inner.find_untagged(request, tags))
        )

    def identify(self, target: str, carried: str = "") -> str:
        if known := self._overlay.identified.get((self._kind.name, target, carried)):
            return known
        if is_planned(target):
            bare = target.removeprefix("planned:")
            return self._overlay.identified.get((self._kind.name, target, bare), "") if not carried else ""
        return self._kind.driver.identify(target, carried)

    async def update(self, ref: Ref, changes: Request) -> None:
        overlay, kind = self._overlay, self._kind
        before = (await self.observe([ref]))[ref.id]
        changes = {name: value for name, value in changes.items() if before.attributes.get(name) != value}
        changes = {name: value for name, value in changes.items() if name in kind.attributes.mutable}
        for attribute, after in sorted(changes.items()):
            had = before.attributes.get(attribute)
            overlay.writes.append(Write(Action.UPDATE, kind.name, ref.id, attribute, had, after))
        overlay.calls[kind.api] += kind.attributes.calls_a_change(changes)
        overlay.attributes.setdefault((kind.name, ref.id), {}).update(changes)

    async def delete(self, ref: Ref) -> None:
        _, seen = self._overlay.carriers.get(ref.id, ("", None))
        if seen is not None and seen.target and not seen.carried:
            self._overlay.gone_targets.add(seen.target)
        self._overlay.writes.append(Write(Action.DELETE, self._kind.name, ref.id))
        self._overlay.calls[self._kind.api] += 1
        self._overlay.gone.add((self._kind.name, ref.id))

    async def parts(self, ref: Ref) -> frozenset[Part]:
        overlay, kind = self._overlay, self._kind
        known = overlay.parts.get((kind.name, ref.id))
        if known is not None:
            return known
        inner = kind.parts.driver
        if is_planned(ref.id) or inner is None:
            return frozenset()
        _, seen = overlay.carriers.get(ref.id, ("", None))
        if seen is not None and seen.parts is not None:
            return seen.parts
        return await overlay.once(("parts", kind.name, ref.id), lambda: inner.parts(ref))

    async def find_parts(self, ref: Ref, parts: Collection[Part]) -> frozenset[Part]:
        overlay, kind = self._overlay, self._kind
        known, inner = overlay.parts.get((kind.name, ref.id)), kind.parts.finder
        if known is not None or is_planned(ref.id) or inner is None:
            return (known or frozenset()) & frozenset(parts)
        question = ("find_parts", kind.name, ref.id, frozenset(parts))
        return await overlay.once(question, lambda: inner.find_parts(ref, parts))

    async def find_draining(self, ref: Ref, parts: Collection[Part]) -> frozenset[Part]:
        """Return nothing: a plan does not wait."""
        return frozenset()

    async def add_part(self, ref: Ref, part: Part) -> None:
        await self._add(ref, [part])
        if not self._is_born_with_parts(ref):
            self._overlay.calls[self._kind.api] += self._kind.parts.calls_a_part

    async def add_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        await self._add(ref, parts)
        if not self._is_born_with_parts(ref):
            self._overlay.calls[self._kind.api] += len({part.kind for part in parts})

    async def remove_part(self, ref: Ref, part: Part) -> None:
        await self._remove(ref, [part])
        self._overlay.calls[self._kind.api] += 1

    async def remove_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        await self._remove(ref, parts)
        self._overlay.calls[self._kind.api] += len({part.kind for part in parts})

    def _is_born_with_parts(self, ref: Ref) -> bool:
        """Return whether its create brings them."""
        return self._kind.parts.born_with and is_planned(ref.id)

    async def _add(self, ref: Ref, parts: Sequence[Part]) -> None:
        overlay, kind = self._overlay, self._kind
        have = await self.parts(ref)
        if not self._is_born_with_parts(ref):
            overlay.writes += [
                Write(Action.ADD_PART, kind.name, ref.id, str(part), after=dict(part.request)) for part in parts
            ]
        overlay.parts[kind.name, ref.id] = have | frozenset(parts)

    async def _remove(self, ref: Ref, parts: Sequence[Part]) -> None:
        overlay, kind = self._overlay, self._kind
        have = await self.parts(ref)
        overlay.writes += [
            Write(Action.REMOVE_PART, kind.name, ref.id, str(part), dict(part.request)) for part in parts
        ]
        overlay.parts[kind.name, ref.id] = have - frozenset(parts)

    async def change_part(self, ref: Ref, part: Part) -> None:
        have = await self.parts(ref)
        before = next((each.behavior for each in have if each == part), "")
        self._overlay.writes.append(Write(Action.UPDATE, self._kind.name, ref.id, str(part), before, part.behavior))
        self._overlay.calls[self._kind.api] += self._kind.parts.calls_a_part
        self._overlay.parts[self._kind.name, ref.id] = (have - {part}) | {part}

    async def neighbours(self, home: Ref) -> Sequence[Observed]:
        inner, overlay = self._kind.creation.neighbours, self._overlay
        if inner is None or is_planned(home.id):
            return ()
        found = await overlay.once(("neighbours", self._kind.name, home), lambda: inner.neighbours(home))
        return overlay.predict_remaining(self._kind, found)

    def refusal(self, request: Request, neighbours: Sequence[Observed]) -> CloudError | None:
        return self._kind.creation.neighbours.refusal(request, neighbours) if self._kind.creation.neighbours else None

    async def children(self, ref: Ref) -> Sequence[Observed]:
        inner, overlay = self._kind.deletion.container, self._overlay
        if inner is None or is_planned(ref.id):
            return ()
        found = await overlay.once(("children", self._kind.name, ref.id), lambda: inner.children(ref))
        gone = {ident for _, ident in overlay.gone}
        return [child for child in found if child.state is not State.DELETING and child.id not in gone]


class DryRunTagger:
    """Tags on the overlay."""

    def __init__(self, inner: Tagger, overlay: Overlay, codec: Codec) -> None:
        self._inner = inner
        self._overlay = overlay
        self._codec = codec

    @property
    def api(self) -> str:
        return self._inner.api

    @property
    def asks_resources(self) -> bool:
        return self._inner.asks_resources

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByTarget:
        real = frozenset(target for target in also if not is_planned(target))
        found = await self._overlay.once(("find_marked", uuid, real), lambda: self._inner.find_marked(uuid, real))
        return self._overlay.without_gone(found)

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        found = await self._overlay.once("everything", self._inner.everything)
        return self._overlay.without_gone(found)

    async def tags_of(self, target: str) -> frozenset[str]:
        if target in self._overlay.tags:
            return self._overlay.tags[target]
        if is_planned(target):
            return frozenset()
        return await self._overlay.once(("tags", target), lambda: self._inner.tags_of(target))

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | CloudError]:
        known = {target: self._overlay.tags[target] for target in targets if target in self._overlay.tags}
        planned = {target: frozenset[str]() for target in targets if is_planned(target)}
        real = [target for target in targets if target not in known and target not in planned]
        found = await self._overlay.each_once("tags", real, self._inner.tags_of_each)
        return {**planned, **found, **known}

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._change(Action.ATTACH, changes)

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._change(Action.DETACH, changes)

    async def _change(self, action: Action, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        failed: dict[str, CloudError] = {}
        for change in changes:
            try:
                have = await self.tags_of(change.target)
            except CloudError as error:
                failed[change.target] = error
                continue
            self._overlay.calls[self.api] += 1
            folded, by_key = self._codec.fold(have), {self._codec.key(tag): tag for tag in have}
            for tag in sorted(change.tags):
                if (self._codec.fold([tag]) <= folded) is (action is Action.DETACH):
                    overwritten = by_key.get(self._codec.key(tag))
                    before, after = (overwritten, tag) if action is Action.ATTACH else (tag, None)
                    self._overlay.writes.append(Write(action, "", change.target, tag, before, after))
            named = {self._codec.key(tag) for tag in change.tags}
            left = frozenset(tag for tag in have if self._codec.key(tag) not in named)
            self._overlay.tags[change.target] = left | (change.tags if action is Action.ATTACH else frozenset())
        return failed


class DryRunPort:
    """Writes of the object go to the copy that the dry run keeps; everything else goes through the drivers."""

    def __init__(self, inner: Port) -> None:
        self._inner = inner

    async def send(self, call: Call) -> Any:
        return await call.run() if call.effect is Effect.STORE else await self._inner.send(call)


def dry_run_deps(deps: EngineDeps, overlay: Overlay) -> EngineDeps:
    """Return ``deps``, behind a :class:`port.ReadOnlyPort`, with everything that writes on ``overlay``."""
    overlay.identity, overlay.tag_api = deps.identity, deps.tagger.api
    tagger = DryRunTagger(deps.tagger, overlay, deps.codec)
    return replace(
        deps,
        registry=Registry([_dry(kind, overlay) for kind in deps.registry.values()]),
        tagger=tagger,
        inventory=Inventory(tagger, overlay.clock),
        port=DryRunPort(deps.port),
        clock=overlay.clock,
        durations=Durations(overlay.clock),
        lists=None,
        foresees=True,
    )


def _dry(kind: Kind, overlay: Overlay) -> Kind:
    driver = DryRunDriver(kind, overlay)
    return replace(
        kind,
        driver=driver,
        creation=replace(
            kind.creation,
            neighbours=driver if kind.creation.neighbours else None,
            find_untagged=driver if kind.creation.find_untagged else None,
        ),
        attributes=replace(kind.attributes, judge=driver if kind.attributes.judge else None),
        parts=replace(
            kind.parts,
            driver=driver if kind.parts.driver else None,
            finder=driver if kind.parts.finder else None,
            batches=driver if kind.parts.batches else None,
            changer=driver if kind.parts.changer else None,
        ),
        deletion=replace(kind.deletion, container=driver if kind.deletion.container else None, leftovers=None),
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
