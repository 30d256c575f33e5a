"""The accounts and regions that a command looks through for what objects have lost: all that are known here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from freehold.api.served import ServedName
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access
from freehold.cli.local.cloud_reads import connections_with, settings_of, simulator_of
from freehold.cli.local.session import Session
from freehold.cli.objects.kinds import OURS
from freehold.cli.objects.object_lookup import all_of
from freehold.kube.resources import Json, Resource
from freehold.providers.registry import READ_RESOURCES, SERVED, provider_of

if TYPE_CHECKING:
    from freehold.engine.interface import EngineDeps
    from freehold.engine.keys import KeyRing
    from freehold.providers.access.accounts import AccountPlace, KnownAccounts


@dataclass(frozen=True)
class Searched:
    """One account that answers, and the kind of object that may have lost something there.

    ``accounts`` are all of that kind.
    """

    accounts: KnownAccounts
    place: AccountPlace
    resource: Resource
    served: ServedName
    account: str
    deps: EngineDeps

    @property
    def name(self) -> str:
        """Return the name of the account for a person."""
        return f"{self.place.binding.cloud.name} {self.account}"


@dataclass(frozen=True)
class SearchScope:
    """``searched`` has each account once for each kind of object that can have lost something there.

    ``unknown``: what is not looked through for want of credentials or a region. ``failed``: what did not answer.
    """

    searched: Sequence[Searched]
    unknown: Sequence[str]
    failed: Sequence[str]

    @property
    def not_searched(self) -> tuple[str, ...]:
        return (*self.unknown, *self.failed)

    def list_accounts(self) -> Sequence[Sequence[Searched]]:
        """List the accounts, each by all kinds of objects that can have lost something there."""
        found: dict[str, list[Searched]] = {}
        for each in self.searched:
            found.setdefault(each.name, []).append(each)
        return tuple(found.values())

    def __str__(self) -> str:
        return ", ".join(dict.fromkeys(each.name for each in self.searched))


async def _list_children(session: Session, served: ServedName) -> list[Json]:
    """List the objects of kinds that are part of this one, each with the fields that say its account."""
    from freehold.providers.objects.parents import find_standing, put_in_place

    found: list[Json] = []
    for child, resource in zip(SERVED, OURS, strict=True):
        if (served.group, served.kind) in {(each.group, each.kind) for each in child.parents}:
            for raw in await all_of(session, [resource], ""):
                standing = find_standing(raw, child, None)
                found += [put_in_place(raw, standing)] if standing else []
    return found


async def find_search_scope(
    session: Session, target: Access, regions: Sequence[str], ring: KeyRing, stack: AsyncExitStack
) -> SearchScope:
    """Return every account and region that is known here. Raises CliError where there is none.

    ``regions`` are those that the person named.
    """
    from freehold.controllers.connections import find_accounts
    from freehold.engine.errors import CloudError
    from freehold.providers.access.accounts import AccountScope, NoCredentials

    settings = await settings_of(session, target, await simulator_of(session, target, stack))
    connections = connections_with(settings, session, stack)
    referred = await all_of(session, READ_RESOURCES, "")
    searched: dict[tuple[str, str], Searched] = {}
    unknown: dict[str, None] = {}
    failed: dict[str, None] = {}
    for served, resource in zip(SERVED, OURS, strict=True):
        if served.parents:
            continue  # its objects are where those of its parents' kinds are, and are looked for with them
        objects = [*await all_of(session, [resource], ""), *await _list_children(session, served)]
        access = settings.access[provider_of(served).name]
        around = AccountScope(objects, referred, (*regions, *access.regions), access.has_own)
        accounts = find_accounts(connections, served)
        for place in await accounts.list_places(around):
            if isinstance(place, NoCredentials):
                unknown[place.message] = None
                continue
            try:
                account = await place.binding.cloud.read_account()
            except CloudError as error:
                failed[error.message] = None
                continue
            deps = place.binding.cloud.build_read_only_deps(ring)
            found = Searched(accounts, place, resource, served, account, deps)
            searched.setdefault((served.kind, account), found)
    if not searched:
        raise CliError("no account can be looked through", [*unknown, *failed])
    return SearchScope(tuple(searched.values()), tuple(unknown), tuple(failed))
