"""Access to AWS: from the environment of a process to the accounts of its objects.

Variables and files: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.kube.resources import Json
from freehold.providers.aws.credentials import METADATA_VARIABLE
from freehold.providers.aws.identities import AssumedRole, Identity, OwnCredentials, StaticKeys
from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.engine.clock import Clock
    from freehold.providers.access.accounts import AccountPlace, AccountScope, Binding, KnownAccounts, NoCredentials
    from freehold.providers.aws.accounts import AwsAccount, AwsAccounts, AwsCloud
    from freehold.providers.aws.identity_objects import StoredIdentities
    from freehold.providers.objects.adapter import Adapter
    from freehold.tags.tag_endpoint import TagAccounts

VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
FILES = {"AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials", "AWS_CONFIG_FILE": ".aws/config"}
ROLE_VARIABLE = "FREEHOLD_AWS_ROLE"
"""The ARN of a role that the operator's own credentials assume."""

SIMULATED_ACCESS_KEY, SIMULATED_SECRET_KEY = "AKIASIMULATED0000001", "simulated-secret-key"
"""The keys of the simulated account; no secrets."""
SIMULATED_REGION = "us-east-1"


def has_credentials(env: Mapping[str, str]) -> bool:
    """Return whether the SDK may find credentials, without its use: its import is slow, and it calls the network."""
    if any(env.get(name) for name in VARIABLES) or env.get(METADATA_VARIABLE, "").lower() == "false":
        return True
    home = _find_home(env)
    return any(Path(env.get(name) or home / usual).expanduser().exists() for name, usual in FILES.items())


def _find_home(env: Mapping[str, str]) -> Path:
    try:
        return Path(env.get("HOME") or "~").expanduser()
    except RuntimeError:  # the user of a container has a number only
        return Path("/")


def other_clients(simulator: str) -> Sequence[str]:
    """Return how the tools of AWS reach the simulated AWS, in lines for people."""
    keys = f"AWS_ACCESS_KEY_ID={SIMULATED_ACCESS_KEY} AWS_SECRET_ACCESS_KEY=any"
    return (
        f"other clients of the simulated AWS: AWS_ENDPOINT_URL={simulator}/aws",
        f"  {keys} AWS_DEFAULT_REGION={SIMULATED_REGION}",
    )


def access_of(env: Mapping[str, str], simulator: str) -> AwsAccess:
    """Return the access that the environment gives, or that to the simulated AWS of the simulator at this URL."""
    if simulator:
        own = StaticKeys(SIMULATED_ACCESS_KEY, SIMULATED_SECRET_KEY, origin="the simulated account")
        return AwsAccess(own=own, url=f"{simulator}/aws", regions=(SIMULATED_REGION,), has_own=True)
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or ""
    mine: Identity = OwnCredentials()
    if role := env.get(ROLE_VARIABLE):
        mine = AssumedRole(role, mine)
    return AwsAccess(own=mine, regions=(region,) if region else (), has_own=has_credentials(env))


@dataclass(frozen=True)
class AwsAccess:
    """Access to AWS. ``own`` serves objects that name no identity; ``url`` is that of a simulated AWS."""

    own: Identity = field(default_factory=OwnCredentials)
    url: str | None = None
    regions: tuple[str, ...] = ()
    has_own: bool = False

    def connect(self, shared: ConnectionContext) -> AwsConnection:
        return AwsConnection(self, shared)


class AwsConnection:
    """AWS and the stored identities of its accounts. The SDK is imported for the first object, not before."""

    def __init__(self, access: AwsAccess, shared: ConnectionContext) -> None:
        self._access = access
        self._shared = shared

    @cached_property
    def cloud(self) -> AwsCloud:
        from freehold.providers.aws.accounts import AwsCloud

        shared = self._shared
        cloud = AwsCloud(
            self._access.url,
            shared.clock,
            shared.audit,
            shared.intervals,
            limits=shared.new_limits,
            wrap=shared.wrap,
        )
        return shared.stack.enter_context(cloud)

    @cached_property
    def identities(self) -> StoredIdentities:
        from freehold.providers.aws.identity_objects import StoredIdentities

        return StoredIdentities(self._shared.reader, self._shared.namespace, self._access.own)

    def find_accounts(self, kind: ObjectKind) -> KnownAccounts:
        """Return the accounts of AWSClusters: each object names its own by identity and region."""
        return _LazyAccounts(self, kind)

    def tag_accounts(self, clock: Clock) -> TagAccounts:
        """Each metadata object names its account and regions."""
        from freehold.providers.aws.tags.endpoints import AwsTagAccounts

        return AwsTagAccounts(self.cloud, self.identities, clock)

    def adapter(self, kind: ObjectKind, account: AwsAccount) -> Adapter:
        """Return what serves an object of this kind in ``account``."""
        return kind.adapt(account, self._shared)


class _LazyAccounts:
    """The accounts of the objects of one kind, loaded when the first one asks."""

    def __init__(self, connection: AwsConnection, kind: ObjectKind) -> None:
        self._connection = connection
        self._kind = kind

    @cached_property
    def _accounts(self) -> AwsAccounts:
        from freehold.providers.aws.accounts import AwsAccounts

        adapt = partial(self._connection.adapter, self._kind)
        return AwsAccounts(self._connection.cloud, self._connection.identities, adapt)

    async def bind(self, raw: Json) -> Binding | NoCredentials:
        return await self._accounts.bind(raw)

    async def list_places(self, around: AccountScope) -> Sequence[AccountPlace | NoCredentials]:
        return await self._accounts.list_places(around)
