"""Which of several stored objects may begin, where an account can have one cluster of a name: the first one.

The name check of a provider finds what is in the cloud already. Two objects that are checked before either has made
anything see nothing of each other there; where both are in this API server, it shows them.
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
from freehold.providers.objects import identity
from freehold.providers.objects.adapter import Refused, Wanted
from freehold.providers.objects.gate import cluster_name
from freehold.providers.objects.spec_problems import Problem
from freehold.providers.registry import object_kind_of

_YOUNGEST = "~"
"""Sorts behind every time: the age of an object that is not stored yet."""


class First(Enum):
    """Why an object goes before another one."""

    HAS_BEGUN = "it has records, or this process has let it begin"
    IS_OLDER = "it is older"
    GOES = "it is being deleted, and still has records"


@dataclass(frozen=True)
class Holder:
    """Who has a name, and why."""

    object: Key
    why: First


class NameClaims:
    """The names of one kind's clusters in this process.

    ``objects`` are those that are stored, as a watch shows them: where an object is seen, all older ones are.
    Their records may be behind, so what this process has let begin is remembered. ``read`` is awaited before they are
    asked for, where no watch shows them.
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
        """UIDs by account and name."""

    async def holder(self, raw: Json, account: str) -> Holder | None:
        """The object that goes before ``raw``, which has nothing on record; None: it may begin, and has the name now.

        What has records goes first, then what this process has let begin, then the older one. Raises KubeError.
        """
        if self._read is not None:
            await self._read()
        name, places = self._name(raw), dict[Key, str]()
        others = self._others(raw, name)
        while unplaced := [each for each in others if key_of(each) not in places]:
            for each in unplaced:
                places[key_of(each)] = await self._account_of(each)
            others = self._others(raw, name)
        # Nothing is awaited from here on: of two that ask at a time the second one sees the first.
        rivals = [each for each in others if places[key_of(each)] == account]
        begun = self._begun.get((account, name), "")
        first = min(
            [*rivals, raw], key=lambda each: (not _has_records(each), each["metadata"]["uid"] != begun, *_age(each))
        )
        if first is not raw:
            return Holder(key_of(first), _why(first, begun))
        self._begun[account, name] = raw["metadata"]["uid"]
        return None

    def refused(self, raw: Json, account: str, holder: Holder, plan: Wanted) -> Refused:
        """What a person is told. A command is offered only for what has nothing that it would delete."""
        key = holder.object
        match holder.why:
            case First.GOES:
                help_ = "which is being deleted; nothing is created until it has gone, and nobody needs to act"
            case First.HAS_BEGUN:
                help_ = "which has resources or is about to; nothing is created. Choose another name"
            case First.IS_OLDER:
                help_ = (
                    "which is older and has made nothing so far; nothing is created. Choose another name, or, if "
                    f"nobody needs that one, delete it: freehold down {key.name} -n {key.namespace}"
                )
        message = f"{self._name(raw)!r} is the name of another cluster in {account}: {self._served.kind} {key}, {help_}"
        return Refused((Problem("metadata.name", message),), plan.notes, Reason.NAME_TAKEN.value)

    def _name(self, raw: Json) -> str:
        """As its resources are named, which a label can no longer change."""
        journal = _journal(raw)
        return self._cluster_name(raw, journal.entries if journal else {})

    def _others(self, raw: Json, name: str) -> list[Json]:
        """Those of the name that have begun or will."""
        own = key_of(raw)
        named = (each for each in self._objects() if self._may_be(each, name) and key_of(each) != own)
        return [each for each in named if self._name(each) == name and _counts(each)]

    def _may_be(self, raw: Json, name: str) -> bool:
        """Without reading the record, of which there may be a thousand."""
        record = (raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION, "")
        return name in record or cluster_name(raw, self._served.link) == name

    async def _account_of(self, raw: Json) -> str:
        """Empty where it is not known: what has no credentials begins nothing, and asks when it has some."""
        journal = _journal(raw)
        if journal is not None and journal.account:
            return journal.account
        binding = await self._accounts.binding(raw)
        try:
            return "" if isinstance(binding, NoCredentials) else await binding.cloud.account()
        except CloudError:
            return ""


def _why(raw: Json, begun: str) -> First:
    if "deletionTimestamp" in raw["metadata"]:
        return First.GOES
    return First.HAS_BEGUN if _has_records(raw) or raw["metadata"]["uid"] == begun else First.IS_OLDER


def _counts(raw: Json) -> bool:
    """Not where it goes and has nothing, nor where something else manages it."""
    metadata = raw["metadata"]
    manager = (metadata.get("annotations") or {}).get(names.MANAGED_BY_ANNOTATION)
    if manager is not None and manager != names.MANAGED_BY_FREEHOLD:
        return False
    return not metadata.get("deletionTimestamp") or _has_records(raw)


def _has_records(raw: Json) -> bool:
    journal = _journal(raw)
    return journal is not None and journal.begun


def _age(raw: Json) -> tuple[Any, ...]:
    metadata = raw["metadata"]
    return metadata.get("creationTimestamp") or _YOUNGEST, metadata["uid"]


def _journal(raw: Json) -> Journal | None:
    try:
        return identity.recorded(raw)
    except CorruptJournal:
        return None
