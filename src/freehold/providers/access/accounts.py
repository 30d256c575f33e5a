"""Accounts that objects are served in, with the adapters that ask them: each object may have another account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.api.served import ServedName
from freehold.collection.survey import Survey
from freehold.engine.interface import EngineDeps
from freehold.engine.keys import KeyRing
from freehold.kube.resources import Json
from freehold.providers.objects.adapter import Adapter
from freehold.providers.objects.identity import ParentStanding
from freehold.providers.objects.parents import put_in_place


class CloudAccount(Protocol):
    """An account, with region and identity, that objects are served in. ``name`` is that of its cloud, for messages."""

    @property
    def name(self) -> str: ...

    def build_deps(self, subject: str, ring: KeyRing, uuid: str) -> EngineDeps:
        """Build the engine's dependencies for one object; ``uuid`` is that of its identity."""
        ...

    def build_read_only_deps(self, ring: KeyRing) -> EngineDeps:
        """Build the same dependencies, sending no write."""
        ...

    def build_survey(self, subject: str, cluster: str) -> Survey | None:
        """Build the collector of this cluster's leftovers, with audited writes; None if this cloud collects nothing."""
        ...

    def build_read_only_survey(self, cluster: str) -> Survey | None:
        """Build the same collector, sending no write."""
        ...

    async def read_account(self) -> str:
        """Read the id of the account that the credentials belong to. Raises CloudError."""
        ...

    def forget_answers(self) -> None:
        """Forget cached answers about the account, for a requested full look."""
        ...

    def audit_left(self, subject: str, resource: str, why: str) -> None:
        """Write to the audit log that a deleted object leaves this resource."""
        ...

    def audit_collected(self, subject: str, summary: str) -> None:
        """Write the summary of a collection to the audit log."""
        ...

    def audit_decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """Write to the audit log that a person's decision was acted on, or refused."""
        ...

    def forget(self, subject: str) -> None:
        """Forget what is kept for an object that is gone."""
        ...


@dataclass(frozen=True)
class Binding:
    """The binding of one object: its account, and the adapter of its kind, which asks that account."""

    cloud: CloudAccount
    adapter: Adapter


@dataclass(frozen=True)
class NoCredentials:
    """The operator has no credentials for the account of this object, or it names no account.

    ``message`` says which credentials are missing, and where they belong. ``parts`` are upstream's conditions about it.
    """

    message: str
    reason: str = names.REASON_NO_CREDENTIALS
    parts: tuple[Observation, ...] = ()


class Accounts(Protocol):
    """The accounts of one kind of object."""

    async def bind(self, raw: Json) -> Binding | NoCredentials:
        """Find the account and adapter of ``raw``. One account is one value: another value is another account.

        Raises KubeError if the API server had to be asked and did not answer.
        """
        ...


async def bind_in_place(
    accounts: Accounts, raw: Json, served: ServedName, standing: ParentStanding | None
) -> Binding | NoCredentials:
    """Find the account and adapter of an object that may be in the account of its parent (parents.find_standing)."""
    if not served.parents:
        return await accounts.bind(raw)
    parent = " or ".join(each.kind for each in served.parents)
    if standing is None:
        return NoCredentials(
            f"its {parent} is not there, and neither its record nor its status says in which account it is: restore "
            f"the {parent}; or, if nothing of it is left in the cloud (freehold orphans), remove finalizer "
            f"{served.finalizer}",
            names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE,
        )
    found = await accounts.bind(put_in_place(raw, standing))
    return (
        NoCredentials(f"of its {parent}: {found.message}", found.reason) if isinstance(found, NoCredentials) else found
    )


@dataclass(frozen=True)
class AccountScope:
    """The scope of a search for the accounts of one kind's objects, also of lost ones.

    ``objects`` are those of the API server, ``referred`` the ones they can refer to (identities). ``regions`` are
    named by a person or by the environment; ``own``: search there with the operator's own credentials, too.
    """

    objects: Sequence[Json] = ()
    referred: Sequence[Json] = ()
    regions: Sequence[str] = ()
    own: bool = True


@dataclass(frozen=True)
class AccountPlace:
    """An account, in some clouds one region of it. ``spec`` are the fields of an object that is served there."""

    binding: Binding
    spec: Mapping[str, Any] = field(default_factory=dict)


class KnownAccounts(Accounts, Protocol):
    """The accounts of one kind, which can be listed."""

    async def list_places(self, around: AccountScope) -> Sequence[AccountPlace | NoCredentials]:
        """List all known accounts, one identity in one region each, for a command that searches them."""
        ...


@dataclass(frozen=True)
class OneAccount:
    """The accounts of a kind whose objects are all in the same account."""

    only: Binding | NoCredentials

    async def bind(self, raw: Any) -> Binding | NoCredentials:
        return self.only

    async def list_places(self, around: AccountScope) -> Sequence[AccountPlace | NoCredentials]:
        return [AccountPlace(self.only) if isinstance(self.only, Binding) else self.only]
