"""Claims of cluster names: where an account can have one cluster of a name, the first object may create it.

A provider's name check finds what is in the cloud already. It does not see the second of two objects that both have
created nothing yet. If both are in this API server, this check does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from freehold.api import names
from freehold.api.served import ServedName
from freehold.engine.errors import CloudError
from freehold.engine.journal import CorruptJournal, Journal
from freehold.engine.reasons import Reason
from freehold.kube.resources import Json, Key, key_of
from freehold.providers.access.accounts import Accounts, NoCredentials
from freehold.providers.base import ClusterName
from freehold.providers.objects import identity
from freehold.providers.objects.adapter import RefusedSpec, WantedGraph
from freehold.providers.objects.spec_problems import SpecProblem
from freehold.providers.registry import object_kind_of

_YOUNGEST = "~"
"""A creation time that sorts after every other, for an object that is not stored yet."""


class HolderReason(Enum):
    """The reason why an object has a name before another one."""

    HAS_BEGUN = "it has records, or this process has let it begin"
    IS_OLDER = "it is older"
    IS_BEING_DELETED = "it is being deleted, and still has records"


@dataclass(frozen=True)
class NameHolder:
    """The object that has a name, and why."""

    object: Key
    why: HolderReason


class NameClaims:
    """The names of one kind's clusters in this process.

    ``objects`` are the stored ones as a watch shows them; it shows all objects that are older than a shown one.
    Their records may be stale, so this process remembers which objects it let begin. ``read`` is awaited before
    ``objects`` is called, where there is no watch.
    """

    def __init__(
        self,
        served: ServedName,
        accounts: Accounts,
        objects: Callable[[], Iterable[Json]],
        read: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._served = served
        self._cluster_name = object_kind_of(served).cluster_name
        self._accounts = accounts
        self._objects = objects
        self._read = read
        self._begun: dict[tuple[str, str], str] = {}
        """UIDs of objects that this process let begin, by account and name."""

    async def claim_name(self, raw: Json, account: str) -> NameHolder | None:
        """Claim the name for ``raw``, which has nothing on record. Return the object that has it already, else None.

        An object with records comes first, then one that this process let begin, then the older one. Raises KubeError.
        """
        if self._read is not None:
            await self._read()
        name, places = self._read_name(raw), dict[Key, str]()
        others = self._find_others(raw, name)
        while unplaced := [each for each in others if key_of(each) not in places]:
            for each in unplaced:
                places[key_of(each)] = await self._find_account(each)
            others = self._find_others(raw, name)
        # There is no await from here on, so that of two simultaneous claims the second one sees the first.
        rivals = [each for each in others if places[key_of(each)] == account]
        begun = self._begun.get((account, name), "")
        first = min(
            [*rivals, raw],
            key=lambda each: (not _has_records(each), each["metadata"]["uid"] != begun, *_build_age_key(each)),
        )
        if first is not raw:
            return NameHolder(key_of(first), explain_precedence(first, begun))
        self._begun[account, name] = raw["metadata"]["uid"]
        return None

    def refuse_name(self, raw: Json, account: str, holder: NameHolder, plan: WantedGraph) -> RefusedSpec:
        """Explain who has the name."""
        problem = explain_taken_name(self._served, self._read_name(raw), account, holder)
        return RefusedSpec((problem,), plan.notes, Reason.NAME_TAKEN.value)

    def _read_name(self, raw: Json) -> str:
        return read_cluster_name(self._cluster_name, raw)

    def _find_others(self, raw: Json, name: str) -> list[Json]:
        """Find the other objects with this name that have resources or will create some."""
        own = key_of(raw)
        named = (each for each in self._objects() if self._may_have_name(each, name) and key_of(each) != own)
        return [each for each in named if self._read_name(each) == name and may_hold_name(each)]

    def _may_have_name(self, raw: Json, name: str) -> bool:
        """Return whether the object may have the name, without parsing its journal: there may be a thousand objects."""
        record = (raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION, "")
        return name in record or self._cluster_name(raw, {}) == name

    async def _find_account(self, raw: Json) -> str:
        """Find the account of an object; empty without credentials, because such an object creates nothing."""
        journal = _read_journal(raw)
        if journal is not None and journal.account:
            return journal.account
        binding = await self._accounts.bind(raw)
        try:
            return "" if isinstance(binding, NoCredentials) else await binding.cloud.read_account()
        except CloudError:
            return ""


def name_by_claim(served: ServedName) -> Callable[[Json], str]:
    """Return what names the shard of an object of this kind: its cluster's name, so that one process claims it."""
    cluster_name = object_kind_of(served).cluster_name
    return lambda raw: f"{served.kind} {read_cluster_name(cluster_name, raw)}"


def read_cluster_name(cluster_name: ClusterName, raw: Json) -> str:
    """Return the cluster name in the names of the object's resources, which a later label does not change."""
    journal = _read_journal(raw)
    return cluster_name(raw, journal.entries if journal else {})


def explain_taken_name(served: ServedName, name: str, account: str, holder: NameHolder) -> SpecProblem:
    """Explain who has a name. The delete command is offered only for an object that has no resources."""
    key = holder.object
    match holder.why:
        case HolderReason.IS_BEING_DELETED:
            help_ = "which is being deleted; nothing is created until it has gone, and nobody needs to act"
        case HolderReason.HAS_BEGUN:
            help_ = "which has resources or is about to; nothing is created. Choose another name"
        case HolderReason.IS_OLDER:
            help_ = (
                "which is older and has made nothing so far; nothing is created. Choose another name, or, if "
                f"nobody needs that one, delete it: freehold down {key.name} -n {key.namespace}"
            )
    message = f"{name!r} is the name of another cluster in {account}: {served.kind} {key}, {help_}"
    return SpecProblem("metadata.name", message)


def explain_precedence(raw: Json, begun: str = "") -> HolderReason:
    """Explain why an object has its name before a younger one. ``begun`` is the UID of one that was let begin."""
    if "deletionTimestamp" in raw["metadata"]:
        return HolderReason.IS_BEING_DELETED
    return HolderReason.HAS_BEGUN if _has_records(raw) or raw["metadata"]["uid"] == begun else HolderReason.IS_OLDER


def may_hold_name(raw: Json) -> bool:
    """Return whether the object can hold a name: Freehold manages it, and it is not being deleted without resources."""
    metadata = raw["metadata"]
    manager = (metadata.get("annotations") or {}).get(names.MANAGED_BY_ANNOTATION)
    if manager is not None and manager != names.MANAGED_BY_FREEHOLD:
        return False
    return not metadata.get("deletionTimestamp") or _has_records(raw)


def _has_records(raw: Json) -> bool:
    journal = _read_journal(raw)
    return journal is not None and journal.begun


def _build_age_key(raw: Json) -> tuple[Any, ...]:
    metadata = raw["metadata"]
    return metadata.get("creationTimestamp") or _YOUNGEST, metadata["uid"]


def _read_journal(raw: Json) -> Journal | None:
    try:
        return identity.read_record(raw)
    except CorruptJournal:
        return None
