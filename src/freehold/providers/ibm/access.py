"""Access to IBM Cloud: from the environment of a process to the account of its objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.engine.clock import Clock
    from freehold.providers.access.accounts import KnownAccounts
    from freehold.providers.ibm.accounts import IbmAccount
    from freehold.tags.tag_endpoint import TagAccounts

KEY_VARIABLE = "IBMCLOUD_API_KEY"
PROFILE_VARIABLE = "FREEHOLD_IBM_PROFILE"
"""The id of a trusted profile that the identity of the API key assumes, or without a key this pod."""
TOKEN_FILE_VARIABLE = "FREEHOLD_IBM_TOKEN_FILE"  # noqa: S105 - the name of a variable
"""The file with the token by which IAM knows this pod."""
USUAL_TOKEN_FILE = "/var/run/secrets/tokens/sa-token"  # noqa: S105 - the name of a file
"""Where IBM's guide mounts it: https://cloud.ibm.com/docs/containers?topic=containers-pod-iam-identity."""

SIMULATED_KEY = "simulated-api-key"
"""The key of the simulated account; no secret."""

NO_CREDENTIALS = (
    f"the operator has no credentials for IBM Cloud: start it with {KEY_VARIABLE}, or in a cluster of IBM Cloud with "
    f"{PROFILE_VARIABLE} and the token of its service account in {USUAL_TOKEN_FILE}"
)


def api_key_of(env: Mapping[str, str]) -> str:
    """Return the key of the account; empty where there is none."""
    return env.get(KEY_VARIABLE, "").strip()


def token_file_of(env: Mapping[str, str]) -> str:
    """Return the file with this pod's token; empty where a key is given, or no profile, or there is no such file."""
    if api_key_of(env) or not env.get(PROFILE_VARIABLE, "").strip():
        return ""
    return env.get(TOKEN_FILE_VARIABLE, "").strip() or (USUAL_TOKEN_FILE if Path(USUAL_TOKEN_FILE).exists() else "")


def has_credentials(env: Mapping[str, str]) -> bool:
    """Return whether there are some, without asking anybody."""
    return bool(api_key_of(env) or token_file_of(env))


def access_of(env: Mapping[str, str], simulator: str) -> IbmAccess:
    """Return the access that the environment gives, or that to the simulated IBM Cloud of the simulator at this URL."""
    if simulator:
        return IbmAccess(key=SIMULATED_KEY, url=f"{simulator}/ibm")
    profile = env.get(PROFILE_VARIABLE, "").strip()
    return IbmAccess(key=api_key_of(env), profile=profile, token_file=token_file_of(env))


@dataclass(frozen=True)
class IbmAccess:
    """Access to IBM Cloud. ``key`` is empty where there is none. ``url`` is that of a simulated cloud.

    ``profile`` is the id of a trusted profile that is assumed with the key or with the token in ``token_file``, empty
    for none.
    """

    key: str = field(default="", repr=False)
    profile: str = ""
    token_file: str = ""
    url: str | None = None
    regions: tuple[str, ...] = ()

    @property
    def has_own(self) -> bool:
        return bool(self.key or self.token_file)

    def connect(self, shared: ConnectionContext) -> IbmConnection:
        return IbmConnection(self, shared)


class IbmConnection:
    """The one account of the API key, or of the trusted profile."""

    def __init__(self, access: IbmAccess, shared: ConnectionContext) -> None:
        self._access = access
        self._shared = shared

    @cached_property
    def account(self) -> IbmAccount | None:
        """The account; None without credentials."""
        from freehold.providers.ibm.accounts import IbmAccount

        access, shared = self._access, self._shared
        if not access.has_own:
            return None
        account = IbmAccount(
            access.key,
            access.url,
            shared.clock,
            shared.audit,
            shared.intervals,
            limits=shared.new_limits(),
            profile=access.profile,
            token_file=access.token_file,
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
