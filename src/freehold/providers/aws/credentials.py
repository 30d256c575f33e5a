"""What requests are signed with. Fetched before a request, never within one, so that each fetch is a call of its own.

botocore would fetch and renew while it signs: a call inside a call, which no port sees and no limit counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple, Protocol

from freehold.providers.aws.identities import AssumedRole, StaticKeys

RENEW_AT = 0.8
"""The part of its life after which a session is renewed."""


class Keys(NamedTuple):
    """What a signature needs, by the names that botocore reads (botocore.credentials.ReadOnlyCredentials)."""

    access_key: str
    secret_key: str
    token: str | None = None
    account_id: str | None = None


class NoCredentials(Exception):
    """Nothing in this process's environment gives credentials for AWS."""


class Credentials(Protocol):
    """Signs for one identity. ``get_frozen_credentials`` is what botocore asks before each request."""

    def get_frozen_credentials(self) -> Keys: ...

    @property
    def stale(self) -> bool:
        """Whether :meth:`renew` must be called before the next request. Wall time, as AWS counts it."""
        ...

    def renew(self) -> None:
        """Fetch them, if nobody else has meanwhile. Blocks."""
        ...

    def forget(self, refused: str) -> bool:
        """AWS says that this access key has expired; whether another can be fetched."""
        ...


class StaticCredentials:
    """An access key that is given."""

    stale = False

    def __init__(self, identity: StaticKeys) -> None:
        self._keys = Keys(identity.access_key, identity.secret_key, identity.session_token or None)

    def get_frozen_credentials(self) -> Keys:
        return self._keys

    def renew(self) -> None:
        """Do nothing: somebody else must renew them."""

    def forget(self, refused: str) -> bool:
        return False


class RoleCredentials:
    """Temporary keys of a role. ``sts`` makes the client that signs for the source identity."""

    def __init__(self, identity: AssumedRole, sts: Callable[[], Any], wall: Callable[[], float] = time.time) -> None:
        self._identity = identity
        self._sts = sts
        self._wall = wall
        self._gate = Lock()
        self._keys = Keys("", "")
        self._renew_at = 0.0

    def get_frozen_credentials(self) -> Keys:
        return self._keys

    @property
    def stale(self) -> bool:
        return self._wall() >= self._renew_at

    def forget(self, refused: str) -> bool:
        with self._gate:
            if refused == self._keys.access_key:
                self._renew_at = 0.0
        return True

    def renew(self) -> None:
        with self._gate:
            if not self.stale:
                return
            asked_at = self._wall()
            given = self._sts().assume_role(**self._request())["Credentials"]
            self._keys = Keys(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
            self._renew_at = asked_at + (given["Expiration"].timestamp() - asked_at) * RENEW_AT

    def _request(self) -> dict[str, Any]:
        identity = self._identity
        optional: dict[str, Any] = {
            "ExternalId": identity.external_id,
            "Policy": identity.policy,
            "PolicyArns": [{"arn": arn} for arn in identity.policy_arns],
        }
        return {
            "RoleArn": identity.arn,
            "RoleSessionName": identity.session_name,
            "DurationSeconds": identity.seconds,
            **{name: value for name, value in optional.items() if value},
        }


class OwnProcessCredentials:
    """What botocore finds in the environment of this process (``find``), and renews by its own rules."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find
        self._gate = Lock()
        self._found: Any = None
        self._keys = Keys("", "")

    def get_frozen_credentials(self) -> Keys:
        return self._keys

    @property
    def stale(self) -> bool:
        """Those that never expire have no such method in botocore."""
        refresh_needed: Callable[[], bool] | None = getattr(self._found, "refresh_needed", None)
        return self._found is None or (refresh_needed is not None and refresh_needed())

    def forget(self, refused: str) -> bool:
        with self._gate:
            if refused == self._keys.access_key:
                self._found = None
        return True

    def renew(self) -> None:
        """Raises NoCredentials where there are none."""
        with self._gate:
            if not self.stale:
                return
            self._found = self._found or self._find()
            if self._found is None:
                raise NoCredentials
            frozen = self._found.get_frozen_credentials()
            self._keys = Keys(frozen.access_key, frozen.secret_key, frozen.token)
