"""Tokens of Kubernetes' service accounts, as an API server projects them into pods.

https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#bound-service-account-tokens. A real
issuer signs with RS256 and publishes its keys. Here the simulated clouds know the key of every issuer, so that no test
needs a key pair.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ServiceAccountToken:
    """What a token says. Times are seconds of the epoch."""

    issuer: str
    namespace: str
    name: str
    audience: str
    issued: int
    expires: int

    @property
    def subject(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def encode(self) -> str:
        """Return the token itself."""
        claims = {
            "iss": self.issuer, "sub": self.subject, "aud": [self.audience],
            "iat": self.issued, "nbf": self.issued, "exp": self.expires,
            "kubernetes.io": {"namespace": self.namespace, "serviceaccount": {"name": self.name}},
        }  # fmt: skip
        signed = f"{_encode({'alg': 'HS256', 'kid': 'sim'})}.{_encode(claims)}"
        return f"{signed}.{_signature(self.issuer, signed)}"


class Malformed(ValueError):
    """The text is no token of a service account."""


class Forged(ValueError):
    """The token was not signed by its issuer."""


def decode(text: str) -> ServiceAccountToken:
    """Return what a token says. Raises Malformed and Forged; its end is for the caller to look at."""
    try:
        _, payload, signature = text.split(".")
        claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        account, [audience] = claims["kubernetes.io"], claims["aud"]
        namespace, name = account["namespace"], account["serviceaccount"]["name"]
        token = ServiceAccountToken(claims["iss"], namespace, name, audience, claims["iat"], claims["exp"])
    except (ValueError, KeyError, TypeError, binascii.Error) as bad:
        raise Malformed(str(bad)) from None
    if not hmac.compare_digest(signature, _signature(token.issuer, text.rpartition(".")[0])):
        raise Forged(token.issuer)
    return token


def issue(body: dict[str, Any], now: float) -> dict[str, str]:
    """Make a token for a request of the admin API: namespace, name, issuer, audience, and seconds (an hour)."""
    issued, seconds = int(now), int(body.get("seconds", 3600))
    token = ServiceAccountToken(
        body["issuer"], body["namespace"], body["name"], body["audience"], issued, issued + seconds
    )
    return {"token": token.encode()}


def _encode(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _signature(issuer: str, signed: str) -> str:
    digest = hmac.digest(f"key of {issuer}".encode(), signed.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
