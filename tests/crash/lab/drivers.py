"""Drivers for the in-memory cloud: one class, whose behaviour depends on the traits of a kind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from freehold.lifecycle import errors
from freehold.lifecycle.inventory import TagChange
from freehold.lifecycle.kinds import Birth, Listed, NodeKey, Observed, Part, Place, Ref, Request, Want
from freehold.lifecycle.port import Call, Effect, Port
from lab.cloud import US, Cloud, Resource


class MemoryDriver:
    """``nonce``: the place of the nonce ("name": its own name, renamed later; "nested"; "" none)."""

    def __init__(
        self, cloud: Cloud, port: Port, kind: str, *, nonce: str = "", carrier: str = "", actor: str = US
    ) -> None:
        self.cloud, self.port, self.kind, self.nonce, self.carrier = cloud, port, kind, nonce, carrier
        self.actor = actor
        self.lists_read = 0

    async def _send(self, operation: str, effect: Effect, run: Callable[[], Any], subject: str) -> Any:
        call = Call("memory", f"{operation}_{self.kind}", effect, run, subject, fenced=operation == "create")
        return await self.port.send(call)

    def _show(self, resource: Resource, at: float) -> Observed:
        seen = self.cloud.show(resource, at)
        if not self.carrier:
            return seen
        carrier = str(resource.attributes[self.carrier])
        target = f"crn:{self.carrier}:{carrier}"
        return replace(seen, id=f"{carrier}/{resource.id}", target=target, carried=True)

    async def create(self, request: Request, birth: Birth) -> Observed:
        name = str(request["name"])

        def run() -> Resource:
            return self.cloud.create(
                self.kind,
                f"{name}-{birth.nonce}" if self.nonce == "name" else name,
                request,
                creator=self.actor,
                token=birth.token,
                nested=f"{name}-{birth.nonce}" if self.nonce == "nested" else "",
                tags=birth.marks,
            )

        resource = await self._send("create", Effect.WRITE, run, name)
        return self._show(resource, max(self.cloud.now(), resource.created_at))

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        ids = [ref.id.rpartition("/")[2] for ref in refs]
        seen = await self._send("list", Effect.READ, lambda: self.cloud.look(self.kind, ids), ",".join(ids))
        shown = [self._show(resource, at) for resource, at in seen]
        return {observed.id: observed for observed in shown}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        listing = await self._send("find", Effect.READ, lambda: self.cloud.listing(self.kind), self.kind)
        parent = self.cloud.traits[self.kind].parent
        return {
            want.key: [
                self._show(resource, at)
                for resource, at in listing
                if resource.parent == str(want.request.get(parent, "")) and self._matches(want, resource, at)
            ]
            for want in wants
        }

    def _matches(self, want: Want, resource: Resource, at: float) -> bool:
        texts = {resource.name(at), resource.nested}
        if self.cloud.traits[self.kind].tags_on_create:
            texts |= resource.tagged(at)
        return resource.name(at) == want.name or _holds(texts, want.nonces)

    async def by_nonce(
        self, places: Sequence[Place], wants: Sequence[Want], nonces: Container[str]
    ) -> Sequence[Observed]:
        inside = self.cloud.traits[self.kind].parent
        parents = {place.ref.id.rpartition("/")[2] for place in places if place.kind == inside}
        if inside and not parents:
            return ()
        listing = await self._send("find", Effect.READ, lambda: self.cloud.listing(self.kind), self.kind)
        return [
            self._show(resource, at)
            for resource, at in listing
            if (not inside or resource.parent in parents)
            and (
                _holds({resource.name(at), resource.nested, *resource.tagged(at)}, nonces)
                or any(
                    resource.parent == str(want.request.get(inside, "")) and self._matches(want, resource, at)
                    for want in wants
                )
            )
        ]

    def identify(self, target: str, carried: str = "") -> str:
        _, kind, own = target.split(":")
        if carried:
            return f"{own}/{carried}" if kind == self.carrier else ""
        return own if kind == self.kind else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        id_ = ref.id.rpartition("/")[2]
        for attribute, value in changes.items():
            change = functools.partial(self._change, id_, attribute, value)
            verb = "rename" if attribute == "name" else "update"
            await self._send(verb, Effect.WRITE, change, id_)

    def _change(self, id_: str, attribute: str, value: object) -> None:
        if attribute == "name":
            self.cloud.rename(id_, str(value), self.actor)
        else:
            self.cloud.change(id_, attribute, value, self.actor)

    async def delete(self, ref: Ref) -> None:
        id_ = ref.id.rpartition("/")[2]
        await self._send("delete", Effect.WRITE, lambda: self.cloud.delete(id_, self.actor), id_)

    # -- shared lists ---------------------------------------------------------------------------------

    page = 100

    def list_of(self, ref: Ref) -> str:
        return ""

    async def listed(self, name: str) -> Sequence[Listed]:
        """A restless one leaves out every second row each second time, as if a page were missing."""
        listing = await self._send("list_all", Effect.READ, lambda: self.cloud.listing(self.kind), self.kind)
        self.lists_read += 1
        if self.cloud.read_lags.restless and self.lists_read % 2:
            listing = listing[::2]
        return [Listed(self._show(resource, at), _parts(resource)) for resource, at in listing]

    # -- parts and children -------------------------------------------------------------------------

    async def parts(self, ref: Ref) -> frozenset[Part]:
        parts: frozenset[Part] = await self._send("parts", Effect.READ, lambda: _parts(self.cloud.get(ref.id)), ref.id)
        return parts

    async def add_part(self, ref: Ref, part: Part) -> None:
        add = functools.partial(self.cloud.add_part, ref.id, part.kind, part.natural_key, self.actor)
        await self._send("add_part", Effect.WRITE, add, ref.id)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        remove = functools.partial(self.cloud.remove_part, ref.id, part.kind, part.natural_key, self.actor)
        await self._send("remove_part", Effect.WRITE, remove, ref.id)

    async def children(self, ref: Ref) -> Sequence[Observed]:
        def run() -> list[Observed]:
            now = self.cloud.now()
            return [self.cloud.show(r, now) for r in self.cloud.living() if r.parent == ref.id]

        reply: list[Observed] = await self._send("children", Effect.READ, run, ref.id)
        return reply


def _parts(resource: Resource) -> frozenset[Part]:
    return frozenset(Part(kind, natural, id=f"{kind}-{natural}") for kind, natural in resource.parts)


def _has_uuid(tags: Collection[str], uuid: str) -> bool:
    """Whether it has a mark of this owner, or carries one for this owner."""
    return any(f"uuid:{uuid}" == tag or (tag.startswith("carried:") and f":{uuid}:" in tag) for tag in tags)


def _holds(texts: Collection[str], nonces: Container[str]) -> bool:
    return any(word in nonces for text in texts for word in text.replace(":", "-").split("-"))


class MemoryTagger:
    """Tags in the in-memory cloud; one call for each set of equal tags."""

    api = "tags"

    def __init__(self, cloud: Cloud, port: Port, actor: str = US) -> None:
        self.cloud, self.port, self.actor = cloud, port, actor

    async def _send(self, operation: str, effect: Effect, run: Callable[[], Any], subject: str) -> Any:
        return await self.port.send(Call("tags", operation, effect, run, subject, fenced=operation == "attach"))

    async def marked(self, uuid: str, also: Collection[str] = ()) -> Mapping[str, frozenset[str]]:
        index = await self._send("search", Effect.READ, self.cloud.index, uuid)
        return {target: tags for target, tags in index.items() if target in also or _has_uuid(tags, uuid)}

    async def everything(self) -> Mapping[str, frozenset[str]]:
        index = await self._send("search_all", Effect.READ, self.cloud.index, "all")
        return {
            target: tags for target, tags in index.items() if any(t.startswith(("uuid:", "carried:")) for t in tags)
        }

    async def tags_of(self, target: str) -> frozenset[str]:
        tags: frozenset[str] = await self._send("tags_of", Effect.READ, lambda: self.cloud.tags_of(target), target)
        return tags

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, errors.CloudError]:
        return await self._change("attach", changes)

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, errors.CloudError]:
        return await self._change("detach", changes)

    async def _change(self, verb: str, changes: Sequence[TagChange]) -> dict[str, errors.CloudError]:
        failed: dict[str, errors.CloudError] = {}
        batches: dict[frozenset[str], list[str]] = {}
        for change in changes:
            batches.setdefault(change.tags, []).append(change.target)
        for tags, targets in batches.items():
            run = functools.partial(self.cloud.retag, verb, targets, tags, self.actor)
            try:
                failed |= await self._send(verb, Effect.WRITE, run, ",".join(targets))
            except errors.CloudError as error:
                failed |= dict.fromkeys(targets, error)
        return failed
