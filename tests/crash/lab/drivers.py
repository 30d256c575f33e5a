"""Drivers for the in-memory cloud: one class, whose behaviour depends on the traits of a kind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from freehold.engine import errors
from freehold.engine.drivers import Listed
from freehold.engine.inventory import TagChange, one_by_one
from freehold.engine.ownership import Codec
from freehold.engine.port import Call, Effect, Port
from freehold.engine.resources import Birth, NodeKey, Observed, ParentResource, Part, Ref, Request, Want
from freehold.engine.secret_values import SecretValue, values_in
from lab.cloud import US, Cloud, Resource

FENCED = ("create", "add_part", "add_parts")
"""What clouds make by a create: a rule, a listener, a route."""


class MemoryDriver:
    """``nonce``: the place of the nonce ("name": its own name, renamed later; "nested"; "" none)."""

    nameless = False

    def __init__(
        self, cloud: Cloud, port: Port, kind: str, *, nonce: str = "", carrier: str = "", actor: str = US
    ) -> None:
        self.cloud, self.port, self.kind, self.nonce, self.carrier = cloud, port, kind, nonce, carrier
        self.actor = actor
        self.lists_read = 0

    async def _send(
        self, operation: str, effect: Effect, run: Callable[[], Any], subject: str, request: Request | None = None
    ) -> Any:
        call = Call("memory", f"{operation}_{self.kind}", effect, run, subject, fenced=operation in FENCED)
        if request is not None:
            call = call._replace(detail=_plain(request), hidden=values_in(request))
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
                _plain(request),
                creator=self.actor,
                token=birth.token,
                nested=f"{name}-{birth.nonce}" if self.nonce == "nested" else "",
                tags=birth.marks,
            )

        resource = await self._send("create", Effect.WRITE, run, name, request)
        made = self._show(resource, max(self.cloud.now(), resource.created_at))
        return made if self.cloud.traits[self.kind].tags_in_reply else replace(made, tags=None)

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
        return (resource.name(at) == want.name and not self.nameless) or _holds(texts, want.nonces)

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: Container[str]
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
            within = carried.removeprefix(f"{own}/")  # where tags are a map, a mark has the whole id
            return f"{own}/{within}" if kind == self.carrier and "/" not in within else ""
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

    async def read_rows(self, name: str) -> Sequence[Listed]:
        """A restless one leaves out every second row each second time, as if a page were missing."""
        listing = await self._send("list_all", Effect.READ, lambda: self.cloud.listing(self.kind), self.kind)
        self.lists_read += 1
        if self.cloud.read_lags.restless and self.lists_read % 2:
            listing = listing[::2]
        return [Listed(self._show(resource, at), resource.present()) for resource, at in listing]

    # -- parts and children -------------------------------------------------------------------------

    async def parts(self, ref: Ref) -> frozenset[Part]:
        def run() -> frozenset[Part]:
            return self.cloud.get(ref.id).present()

        parts: frozenset[Part] = await self._send("parts", Effect.READ, run, ref.id)
        return parts

    async def add_part(self, ref: Ref, part: Part) -> None:
        add = functools.partial(self.cloud.add_part, ref.id, part.kind, part.natural_key, self.actor, part.behavior)
        await self._send("add_part", Effect.WRITE, add, ref.id)

    async def add_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        add = functools.partial(self.cloud.add_parts, ref.id, parts, self.actor)
        await self._send("add_parts", Effect.WRITE, add, ref.id)

    async def remove_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        remove = functools.partial(self.cloud.remove_parts, ref.id, parts, self.actor)
        await self._send("remove_parts", Effect.WRITE, remove, ref.id)

    async def change_part(self, ref: Ref, part: Part) -> None:
        change = functools.partial(
            self.cloud.change_part, ref.id, part.kind, part.natural_key, self.actor, part.behavior
        )
        await self._send("change_part", Effect.WRITE, change, ref.id)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        remove = functools.partial(self.cloud.remove_part, ref.id, part.kind, part.natural_key, self.actor)
        await self._send("remove_part", Effect.WRITE, remove, ref.id)

    async def children(self, ref: Ref) -> Sequence[Observed]:
        def run() -> list[Observed]:
            now = self.cloud.now()
            return [self.cloud.show(r, now) for r in self.cloud.living() if r.parent == ref.id]

        reply: list[Observed] = await self._send("children", Effect.READ, run, ref.id)
        return reply


def _plain(request: Request) -> Request:
    """With the secret values, as it goes over the wire."""
    return {k: _text(value) if isinstance(value, SecretValue) else value for k, value in request.items()}


def _text(value: SecretValue) -> str:
    return value.reveal().decode(errors="replace")


def _holds(texts: Collection[str], nonces: Container[str]) -> bool:
    return any(word in nonces for text in texts for word in text.replace(":", "-").replace("=", "-").split("-"))


class MemorySecrets:
    """The Secrets in the object's namespace: a person, or another controller, changes them."""

    def __init__(self, secrets: Mapping[str, bytes], port: Port) -> None:
        self.secrets, self.port = secrets, port

    async def read(self, reference: str) -> bytes:
        def run() -> bytes:
            if reference not in self.secrets:
                raise errors.NotFound(f"secret {reference} does not exist")
            return self.secrets[reference]

        value: bytes = await self.port.send(Call("secrets", "read_secret", Effect.READ, run, reference))
        return value


class MemoryTagger:
    """Tags in the in-memory cloud; one call for each set of equal tags."""

    api = "tags"

    batches_reads = False
    asks_resources = False

    def __init__(self, cloud: Cloud, port: Port, codec: Codec, actor: str = US) -> None:
        self.cloud, self.port, self.codec, self.actor = cloud, port, codec, actor

    async def _send(self, operation: str, effect: Effect, run: Callable[[], Any], subject: str) -> Any:
        return await self.port.send(Call("tags", operation, effect, run, subject, fenced=operation == "attach"))

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> Mapping[str, frozenset[str]]:
        index = await self._send("search", Effect.READ, self.cloud.index, uuid)
        return {target: tags for target, tags in index.items() if target in also or uuid in self._uuids(tags)}

    def _uuids(self, tags: frozenset[str]) -> set[str]:
        """The owners whose marks it has or carries."""
        marks = self.codec.read(tags)
        return {*marks.uuids, *(mark.uuid for mark in marks.carried)}

    async def everything(self, without: frozenset[str] = frozenset()) -> Mapping[str, frozenset[str]]:
        index = await self._send("search_all", Effect.READ, self.cloud.index, "all")
        kinds = {resource.target: resource.kind for resource in self.cloud.log}
        return {target: tags for target, tags in index.items() if self._uuids(tags) and kinds[target] not in without}

    async def tags_of(self, target: str) -> frozenset[str]:
        tags: frozenset[str] = await self._send("tags_of", Effect.READ, lambda: self.cloud.tags_of(target), target)
        return tags

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | errors.CloudError]:
        if not self.batches_reads:
            return await one_by_one(self, targets)

        def run() -> Mapping[str, frozenset[str]]:
            return {target: self.cloud.tags_of(target) for target in targets}

        try:
            found: Mapping[str, frozenset[str]] = await self._send("tags_of_each", Effect.READ, run, ",".join(targets))
        except errors.CloudError as error:
            return dict.fromkeys(targets, error)
        return found

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


class DeniedTagger(MemoryTagger):
    """The tag API of an account that denies it."""

    async def _send(self, operation: str, effect: Effect, run: Callable[[], Any], subject: str) -> Any:
        def deny() -> None:
            self.cloud.deny(f"tags.{operation}", subject, self.actor if effect is Effect.WRITE else "")

        return await super()._send(operation, effect, deny, subject)
