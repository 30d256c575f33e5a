"""Access to IBM Cloud: from the environment of a process to the account of its objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.engine.clock import Clock
    from freehold.providers.access.accounts import KnownAccounts
    from freehold.providers.ibm.accounts import IbmAccount
    from freehold.tags.tag_endpoint import TagAccounts

KEY_VARIABLE = "IBMCLOUD_API_KEY"
PROFILE_VARIABLE = "FREEHOLD_IBM_PROFILE"
"""The id of a trusted profile that the identity of the API key assumes."""

SIMULATED_KEY = "simulated-api-key"
"""The key of the simulated account; no secret."""

NO_CREDENTIALS = f"the operator has no credentials for IBM Cloud: start it with {KEY_VARIABLE}"


def api_key_of(env: Mapping[str, str]) -> str:
    """Return the key of the account; empty where there is none."""
    return env.get(KEY_VARIABLE, "").strip()


def access_of(env: Mapping[str, str], simulator: str) -> IbmAccess:
    """Return the access that the environment gives, or that to the simulated IBM Cloud of the simulator at this URL."""
    if simulator:
        return IbmAccess(key=SIMULATED_KEY, url=f"{simulator}/ibm")
    return IbmAccess(key=api_key_of(env), profile=env.get(PROFILE_VARIABLE, "").strip())


@dataclass(frozen=True)
class IbmAccess:
    """Access to IBM Cloud. ``key`` is empty where there is none. ``url`` is that of a simulated cloud.

    ``profile`` is the id of a trusted profile that is assumed with the key, empty for none.
    """

    key: str = field(default="", repr=False)
    profile: str = ""
    url: str | None = None
    regions: tuple[str, ...] = ()

    @property
    def has_own(self) -> bool:
        return bool(self.key)

    def connect(self, shared: ConnectionContext) -> IbmConnection:
        return IbmConnection(self, shared)


class IbmConnection:
    """The one account of the API key."""

    def __init__(self, access: IbmAccess, shared: ConnectionContext) -> None:
        self._access = access
        self._shared = shared

    @cached_property
    def account(self) -> IbmAccount | None:
        """The account; None without a key."""
        from freehold.providers.ibm.accounts import IbmAccount

        access, shared = self._access, self._shared
        if not access.key:
            return None
        account = IbmAccount(
            access.key,
            access.url,
            shared.clock,
            shared.audit,
            shared.intervals,
            limits=shared.new_limits(),
            profile=access.profile,
            wrap=shared.wrap,
        )
        return shared.stack.enter_context(account)

    def find_accounts(self, kind: ObjectKind) -> KnownAccounts:
        """Return the account of the API key, which all objects share."""
        from freehold.providers.access.accounts import Binding, NoCredentials, OneAccount

        if self.account is None:
            return OneAccount(NoCredentials(NO_CREDENTIALS))
        return OneAccount(Binding(self.account, kind.adapt(self.account, self._shared)))

    def tag_accounts(self, clock: Clock) -> TagAccounts:
        """All tags are in the account of the API key."""
        from freehold.providers.ibm.tag_endpoints import IbmTagAccounts

        return IbmTagAccounts(self.account, clock)
