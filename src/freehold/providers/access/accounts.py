"""The account that an object is served in, and the adapter that asks it: each object may have another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.collection.survey import Survey
from freehold.engine.interface import EngineDeps
from freehold.engine.keys import KeyRing
from freehold.kube.resources import Json
from freehold.providers.objects.adapter import Adapter


class CloudAccount(Protocol):
    """One account, region and identity that objects are served in. ``name`` is that of its cloud, for messages."""

    @property
    def name(self) -> str: ...

    def deps(self, subject: str, ring: KeyRing, uuid: str) -> EngineDeps:
        """The engine's dependencies for one object; ``uuid`` is that of its identity."""
        ...

    def read_only_deps(self, ring: KeyRing) -> EngineDeps:
        """The same, sending no write."""
        ...

    def survey(self, subject: str, cluster: str) -> Survey | None:
        """What collects what the workloads of this cluster made; None where nothing is. Audited as ``deps`` is."""
        ...

    def read_only_survey(self, cluster: str) -> Survey | None:
        """The same, sending no write."""
        ...

    async def account(self) -> str:
        """The id of the account that the credentials are of. Raises CloudError."""
        ...

    def look_anew(self) -> None:
        """Somebody has asked for a look at everything: what was asked of the account before counts no more."""
        ...

    def left(self, subject: str, resource: str, why: str) -> None:
        """The object goes, and this resource stays."""
        ...

    def collected(self, subject: str, summary: str) -> None:
        """What the workloads of a cluster made was collected with it."""
        ...

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """A person's decision about a resource was acted on, or refused."""
        ...

    def forget(self, subject: str) -> None:
        """The object is gone."""
        ...


@dataclass(frozen=True)
class Binding:
    """What one object is served with: its account, and the adapter of its kind, which asks that account."""

    cloud: CloudAccount
    adapter: Adapter


@dataclass(frozen=True)
class NoCredentials:
    """The operator has no credentials for the account of this object, or it names no account.

    ``message`` says which, and where they go. ``parts`` are conditions that say it in upstream's words.
    """

    message: str
    reason: str = names.REASON_NO_CREDENTIALS
    parts: tuple[Observation, ...] = ()


class Accounts(Protocol):
    """The accounts of one kind of object."""

    async def binding(self, raw: Json) -> Binding | NoCredentials:
        """What serves ``raw``. One account is one value in memory: what was seen in another one is forgotten.

        Raises KubeError where the API server had to be asked and did not answer.
        """
        ...


@dataclass(frozen=True)
class Around:
    """What tells in which accounts objects of a kind are, or were before they were lost.

    ``objects`` are those that the API server has, ``referred`` what objects can refer to (identities). ``regions`` are
    named by a person or by the environment; ``own``: whether the operator's own credentials are to be used there.
    """

    objects: Sequence[Json] = ()
    referred: Sequence[Json] = ()
    regions: Sequence[str] = ()
    own: bool = True


@dataclass(frozen=True)
class Place:
    """One account, in some clouds one region of it. ``spec`` is what an object that is served there must say."""

    binding: Binding
    spec: Mapping[str, Any] = field(default_factory=dict)


class KnownAccounts(Accounts, Protocol):
    """The accounts of one kind, which can be listed."""

    async def places(self, around: Around) -> Sequence[Place | NoCredentials]:
        """All that are known, one identity in one region each; for a person who looks around, not for an object."""
        ...


@dataclass(frozen=True)
class OneAccount:
    """All objects of a kind are in the same account."""

    found: Binding | NoCredentials

    async def binding(self, raw: Any) -> Binding | NoCredentials:
        return self.found

    async def places(self, around: Around) -> Sequence[Place | NoCredentials]:
        return [Place(self.found) if isinstance(self.found, Binding) else self.found]
