"""One IAM token for every SDK of one account.

The SDK core's token manager sleeps while another thread fetches, and sends its request outside any session
of ours; this one fetches through the shared session, once, under a lock (docs/reference/ibm-cloud.md#iam).
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, MutableMapping
from pathlib import Path
from threading import Lock
from typing import Any

import requests
from ibm_cloud_sdk_core import ApiException
from ibm_cloud_sdk_core.authenticators import IAMAuthenticator
from ibm_cloud_sdk_core.token_managers.iam_token_manager import IAMTokenManager

ASSUME = "urn:ibm:params:oauth:grant-type:assume"
COMPUTE = "urn:ibm:params:oauth:grant-type:cr-token"
"""As in ibm_cloud_sdk_core.token_managers.container_token_manager, whose requests go past our session."""
REFRESH_AT = 0.8
"""The part of its life after which a token is replaced: the SDK's own rule."""


class NoTokenOfPod(Exception):
    """The file with the token of this pod cannot be read; the text says which, and why."""


def decode_claims(token: str) -> dict[str, Any]:
    """Return the claims of a JWT, its signature unchecked: IAM sent it to us over TLS."""
    payload = token.split(".")[1]
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return decoded


class SessionTokenManager(IAMTokenManager):  # type: ignore[misc]  # the SDK ships no type information
    """The current token; ``session`` sends the requests for it to IAM.

    ``profile``: the id of a trusted profile, which the identity of the API key assumes; empty for none. With
    ``token_file`` there is no key: this pod assumes it, with the token that Kubernetes keeps in that file and renews.
    """

    def __init__(
        self,
        api_key: str,
        url: str,
        session: requests.Session,
        timeout: tuple[float, float],
        wall: Callable[[], float] = time.time,
        *,
        profile: str = "",
        token_file: str = "",
    ) -> None:
        super().__init__(api_key, url=url)
        self._session = session
        self._timeout = timeout
        self._wall = wall
        self._profile = profile
        self._token_file = token_file
        self.exchanged = ""
        """The token of the API key's own identity, or of this pod, that was exchanged for the profile's."""
        self._gate = Lock()
        self._replace_at = 0.0
        self._claims: dict[str, Any] = {}

    @property
    def stale(self) -> bool:
        """True if the next request needs a new token first. Runs on wall time, as tokens do."""
        return self._wall() >= self._replace_at

    @property
    def account_id(self) -> str:
        """The account that the identity belongs to; empty before the first token."""
        return str(self._claims.get("account", {}).get("bss", ""))

    @property
    def iam_id(self) -> str:
        """The identity that requests are made under: the API key's, or the profile; empty before the first token."""
        return str(self._claims.get("iam_id", ""))

    def forget(self, refused: str) -> None:
        """Forget a token that the cloud refused: the next request fetches another, unless one has already."""
        with self._gate:
            if refused == self.access_token:
                self._replace_at = 0.0

    def get_token(self) -> str:
        """Return the token, fetched if none is fresh. Raises ApiException or requests' exceptions."""
        with self._gate:
            if self.stale:
                self.access_token = str(self.request_token()["access_token"])
                self._claims = decode_claims(self.access_token)
                issued, expires = float(self._claims["iat"]), float(self._claims["exp"])
                self._replace_at = issued + (expires - issued) * REFRESH_AT
            return str(self.access_token)

    def request_token(self) -> dict[str, Any]:
        """Fetch a token of the API key's identity, and exchange it for the profile's where one is assumed.

        Raises NoTokenOfPod too.
        """
        if self._token_file:
            self.exchanged = _read_token(self._token_file)
            return self._exchange({"grant_type": COMPUTE, "cr_token": self.exchanged, "profile_id": self._profile})
        own: dict[str, Any] = super().request_token()
        if not self._profile:
            return own
        self.exchanged = str(own["access_token"])
        return self._exchange({"grant_type": ASSUME, "access_token": self.exchanged, "profile_id": self._profile})

    def _exchange(self, form: dict[str, str]) -> dict[str, Any]:
        assumed: dict[str, Any] = self._request("POST", f"{self.url}/identity/token", data=form)
        return assumed

    def _request(self, method: str, url: str, **parts: Any) -> Any:
        auth = parts.pop("auth_tuple", None)
        response = self._session.request(method, url, auth=auth, **{**parts, "timeout": self._timeout})
        if not response.ok:
            raise ApiException(response.status_code, http_response=response)
        return response.json()


def _read_token(file: str) -> str:
    """Read it anew each time: Kubernetes replaces the file before the token ends."""
    try:
        token = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as unreadable:
        raise NoTokenOfPod(f"cannot read {file}: {getattr(unreadable, 'strerror', '') or 'no text'}") from unreadable
    if not token:
        raise NoTokenOfPod(f"{file} is empty")
    return token


class SessionAuthenticator(IAMAuthenticator):  # type: ignore[misc]  # the SDK ships no type information
    """An IAM authenticator whose token requests go through our session."""

    def __init__(self, manager: SessionTokenManager) -> None:
        super().__init__(manager.apikey, url=manager.url)
        self.token_manager: SessionTokenManager = manager

    def authenticate(self, req: MutableMapping[str, Any]) -> None:
        req["headers"]["Authorization"] = f"Bearer {self.token_manager.get_token()}"
