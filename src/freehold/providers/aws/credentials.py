"""Credentials that sign requests. Each is fetched before a request, by a call of its own.

botocore would fetch and renew while it signs: a call inside a call, which no port sees and no limit counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, NamedTuple, Protocol

from freehold.providers.aws.identities import AssumedRole, StaticKeys

RENEW_AT = 0.8
"""The part of its life after which a session is renewed."""


class Keys(NamedTuple):
    """The keys of a signature, under the names that botocore reads (botocore.credentials.ReadOnlyCredentials)."""

    access_key: str
    secret_key: str
    token: str | None = None
    account_id: str | None = None


METADATA_VARIABLE = "AWS_EC2_METADATA_DISABLED"
"""The SDKs' own switch: ``true`` keeps them from asking the machine for its role."""


class NoAwsCredentials(Exception):
    """This process's environment has no credentials for AWS, or names some that cannot be read."""


def may_ask_node(env: Mapping[str, str]) -> bool:
    """Return whether the role of the machine may be used: in a pod, where it is the node's, only if that is asked for.

    A node's role is for the kubelet; whoever may start pods would have its rights through us.
    """
    said = env.get(METADATA_VARIABLE, "").lower()
    return said == "false" or (said != "true" and "KUBERNETES_SERVICE_HOST" not in env)


class SigningCredentials(Protocol):
    """Credentials of one identity. botocore calls ``get_frozen_credentials`` before each request."""

    def get_frozen_credentials(self) -> Keys: ...

    @property
    def stale(self) -> bool:
        """True if :meth:`renew` must be called before the next request. Wall time, as AWS counts it."""
        ...

    def require_life(self, seconds: float) -> None:
        """Make keys stale that AWS refuses sooner than in so many seconds, where that is known."""
        ...

    def renew(self) -> None:
        """Fetch new credentials, unless another thread has meanwhile. Blocks."""
        ...

    def forget(self, refused: str) -> bool:
        """Forget an access key that AWS calls expired. Return whether another one can be fetched."""
        ...


class StaticCredentials:
    """A given access key."""

    stale = False

    def __init__(self, identity: StaticKeys) -> None:
        self._keys = Keys(identity.access_key, identity.secret_key, identity.session_token or None)

    def get_frozen_credentials(self) -> Keys:
        return self._keys

    def require_life(self, seconds: float) -> None:
        """Do nothing: nobody knows how long a given key lives."""

    def renew(self) -> None:
        """Do nothing: a given key is renewed by a person."""

    def forget(self, refused: str) -> bool:
        return False


class RoleCredentials:
    """Temporary keys of a role. ``sts`` builds the client that signs for the source identity."""

    def __init__(self, identity: AssumedRole, sts: Callable[[], Any], wall: Callable[[], float] = time.time) -> None:
        self._identity = identity
        self._sts = sts
        self._wall = wall
        self._gate = Lock()
        self._keys = Keys("", "")
        self._renew_at = 0.0
        self._ends_at = 0.0

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

    def require_life(self, seconds: float) -> None:
        with self._gate:
            if self._wall() + seconds > self._ends_at:
                self._renew_at = 0.0

    def renew(self) -> None:
        with self._gate:
            if not self.stale:
                return
            asked_at = self._wall()
            given = self._sts().assume_role(**self._request())["Credentials"]
            self._keys = Keys(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
            self._ends_at = given["Expiration"].timestamp()
            self._renew_at = asked_at + (self._ends_at - asked_at) * RENEW_AT

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
    """Credentials that botocore finds in the environment of this process (``find``), and renews by its own rules."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find
        self._gate = Lock()
        self._found: Any = None
        self._keys = Keys("", "")

    def get_frozen_credentials(self) -> Keys:
        return self._keys

    @property
    def stale(self) -> bool:
        """True if they must be renewed. In botocore, credentials that never expire have no such method."""
        refresh_needed: Callable[[], bool] | None = getattr(self._found, "refresh_needed", None)
        return self._found is None or (refresh_needed is not None and refresh_needed())

    def forget(self, refused: str) -> bool:
        with self._gate:
            if refused == self._keys.access_key:
                self._found = None
        return True

    def require_life(self, seconds: float) -> None:
        """Do nothing: botocore renews 15 minutes before the end."""

    def renew(self) -> None:
        """Fetch them. Raises NoAwsCredentials where the environment has none."""
        with self._gate:
            if not self.stale:
                return
            try:
                self._fetch()
            except OSError as unreadable:
                if unreadable.filename is None:
                    raise
                raise NoAwsCredentials(f"cannot read {unreadable.filename}: {unreadable.strerror}") from unreadable
            except ValueError as wrong:  # of the SDK: an address or a token file that it does not take
                raise NoAwsCredentials(str(wrong)) from wrong

    def _fetch(self) -> None:
        self._found = self._found or self._find()
        if self._found is None:
            raise NoAwsCredentials
        frozen = self._found.get_frozen_credentials()
        self._keys = Keys(frozen.access_key, frozen.secret_key, frozen.token)
