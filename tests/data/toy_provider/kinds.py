"""The kinds of resources of the toy cloud: ``toy-net``, and ``toy-box`` in a net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.keyed_codec import BIRTH
from freehold.engine.kinds import AttributeRules, Dedupe, DeleteRules, Kind, Registry, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.engine.tag_text import tag_map, texts
from freehold.providers.toy.calls import API, ToyClient
from freehold.providers.toy.cloud import Row

NET, BOX = "toy-net", "toy-box"


def _observed(row: Row) -> Observed:
    """What is in the cloud is ready, and what is deleted is gone: there is nothing between."""
    own = {name: value for name, value in row.items() if name not in ("kind", "name", "tags")}
    return Observed(row["id"], row["name"], State.READY, row["id"], tags=texts(row["tags"]), attributes=own)


class ToyDriver:
    """The verbs of one kind (engine.drivers.Driver). Its own create is recognised by the birth mark among its tags."""

    def __init__(self, client: ToyClient, kind: str) -> None:
        self._client = client
        self._kind = kind

    async def create(self, request: Request, birth: Birth) -> Observed:
        name, fields = request["name"], {key: value for key, value in request.items() if key != "name"}
        tags = tag_map(birth.marks)
        row = await self._client.write("create", name, kind=self._kind, name=name, tags=tags, fields=fields)
        return _observed(row)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        wanted = {ref.id for ref in refs}
        return {row["id"]: _observed(row) for row in await self._client.list(self._kind) if row["id"] in wanted}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        rows = await self._client.list(self._kind)
        return {want.key: [_observed(row) for row in rows if _is_one(row, [want], want.nonces)] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        return [_observed(row) for row in await self._client.list(self._kind) if _is_one(row, wants, nonces)]

    def identify(self, target: str, carried: str = "") -> str:
        return target if target.startswith(f"{self._kind}-") else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._client.write("change", ref.id, ident=ref.id, fields=dict(changes))

    async def delete(self, ref: Ref) -> None:
        await self._client.write("delete", ref.id, ident=ref.id)


def _is_one(row: Row, wants: Sequence[Want], nonces: NonceSet) -> bool:
    return row["tags"].get(BIRTH) in nonces or row["name"] in [want.name for want in wants]


def toy_kinds(client: ToyClient) -> Registry:
    """Return every kind, its driver sending through ``client``."""
    net = Kind(NET, Tagging.ON_CREATE, Dedupe.NONCE, ToyDriver(client, NET), api=API)
    box = Kind(
        BOX, Tagging.ON_CREATE, Dedupe.NONCE, ToyDriver(client, BOX), api=API,
        requires=(NET,), attributes=AttributeRules(mutable=frozenset({"size"})), deletion=DeleteRules(prunable=True),
    )  # fmt: skip
    return Registry((net, box))
