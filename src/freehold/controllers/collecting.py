"""Garbage collections of the objects of one kind, and what each remembers between passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from freehold.api import names
from freehold.collection.policy import Policy
from freehold.collection.sweep import Sweep
from freehold.engine.clock import Clock
from freehold.engine.collection import Collected, Prove, Site
from freehold.engine.journal import CorruptJournal
from freehold.engine.outcomes import Outcome
from freehold.engine.ownership import Owner
from freehold.engine.value_texts import texts_in
from freehold.kube.resources import Json, key_of
from freehold.providers.access.accounts import CloudAccount
from freehold.providers.objects import identity


@dataclass(frozen=True)
class ObjectCollection:
    """One object's collection in one pass (engine.collection.Collection)."""

    memory: Sweep
    spec: Json
    ask: Callable[[], Awaitable[Policy]]
    stored: Callable[[], Awaitable[Iterable[Json]]]

    async def sweep(self, prove: Prove, *, refused: bool) -> Collected:
        return await self.memory.step(lambda: self._read_site(prove), self.ask, self._find_rivals, refused=refused)

    async def _read_site(self, prove: Prove) -> Site | Outcome:
        """Take the site from ``prove``, and drop a given network that the spec does not name."""
        site = await prove()
        if isinstance(site, Site) and site.given and site.network not in set(texts_in(self.spec)):
            return replace(site, network="")
        return site

    async def _find_rivals(self, site: Site) -> Sequence[str]:
        return find_rivals(await self.stored(), site, self.memory.name)


class Collections:
    """The collections of one kind's objects, by UID. ``stored`` reads all objects of the API server."""

    def __init__(self, clock: Clock, stored: Callable[[], Awaitable[Iterable[Json]]]) -> None:
        self._clock = clock
        self._stored = stored
        self._sweeps: dict[str, tuple[CloudAccount, Sweep]] = {}

    def open_collection(
        self, raw: Json, name: str, cloud: CloudAccount, ask: Callable[[], Awaitable[Policy]]
    ) -> ObjectCollection | None:
        """Return the collection of ``raw``; ``name`` is its cluster's in tags. None if its account collects nothing.

        ``ask`` reads the object's policy again. A collection that was begun with other credentials is dropped.
        """
        uid = raw["metadata"]["uid"]
        before, sweep = self._sweeps.get(uid, (None, None))
        if sweep is None or before is not cloud:
            survey = cloud.build_survey(f"{raw['kind']} {key_of(raw)}", name)
            if survey is None:
                return None
            sweep = Sweep(name, survey, self._clock)
            self._sweeps[uid] = cloud, sweep
        return ObjectCollection(sweep, raw.get("spec") or {}, ask, self._stored)

    def forget(self, uid: str) -> None:
        """Drop the collection of an object that is gone, or that another operator may serve."""
        self._sweeps.pop(uid, None)


def find_rivals(objects: Iterable[Json], site: Site, name: str) -> tuple[str, ...]:
    """Find the other objects whose cluster may have the same ``name`` and that use the same network."""
    return tuple(sorted(str(key_of(raw)) for raw in objects if _is_rival(raw, site.owner, name, site.network)))


def _is_rival(raw: Json, owner: Owner, name: str, network: str) -> bool:
    metadata = raw["metadata"]
    try:
        journal = identity.read_record(raw)
    except CorruptJournal:
        journal = None
    if journal is not None and journal.owner.uuid == owner.uuid:
        return False
    referred = {str(each.get("name")) for each in metadata.get("ownerReferences") or ()}
    called = {metadata["name"], (metadata.get("labels") or {}).get(names.CLUSTER_NAME_LABEL), *referred}
    ids = {entry.id for entry in journal.entries.values()} if journal else set()
    return name in called and network in {*texts_in(raw.get("spec")), *ids}
