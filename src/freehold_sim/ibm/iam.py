"""IAM: exchanges API keys for access tokens. Tokens use wall time, because the SDKs compare `exp` with it.

Source: docs/reference/ibm-cloud.md#iam.
"""

import base64
import hashlib
import hmac
import json
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs

from freehold_sim import service_accounts
from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, reads
from freehold_sim.ibm.settings import Settings

STRANGER = "IBMid-0STRANGER0"
"""The IAM id of all other users of the account."""
_GRANT = "urn:ibm:params:oauth:grant-type:apikey"
_ASSUME = "urn:ibm:params:oauth:grant-type:assume"
_COMPUTE = "urn:ibm:params:oauth:grant-type:cr-token"
_AUDIENCE = "iam"


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _key(settings: Settings) -> str:
    return f"{settings.account_id}:{settings.api_key}"


def _signature(key: str, signed: str) -> str:
    return _encode(hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest())


def issue(settings: Settings, serial: int, wall: float, profile: str = "", grant: str = _ASSUME) -> str:
    """Return an access token: HS256, because Go clients fail on `alg: none` (docs/reference/ibm-cloud.md#iam).

    With ``profile`` it is one of this trusted profile, which has an IAM id of its own.
    """
    iam_id, realm, grant = (f"iam-{profile}", "iam", grant) if profile else (settings.iam_id, "IBMid", _GRANT)
    claims = {
        "iam_id": iam_id, "id": iam_id, "realmid": realm, "jti": f"sim-{serial}",
        "email": settings.email, "sub": settings.email,
        "account": {"valid": True, "bss": settings.account_id, "frozen": True},
        "iat": int(wall), "exp": int(wall) + settings.token_seconds,
        "iss": "https://iam.cloud.ibm.com/identity", "grant_type": grant, "scope": "ibm openid",
        "client_id": "default",
    }  # fmt: skip
    header = {"kid": "sim", "alg": "HS256", "typ": "JWT"}
    signed = f"{_encode(json.dumps(header).encode())}.{_encode(json.dumps(claims).encode())}"
    return f"{signed}.{_signature(_key(settings), signed)}"


def identity(call: Call) -> str:
    """Return the IAM id of the caller, from its token."""
    if call.actor == "stranger":
        return STRANGER
    bearer = call.request.headers.get("authorization", "").partition(" ")[2]
    claims: dict[str, Any] = json.loads(_decode(bearer.split(".")[1]))
    return str(claims["iam_id"])


@lru_cache(maxsize=64)
def _expiry(key: str, bearer: str) -> int | None:
    """Return the expiry of this token (epoch seconds), None if it was not signed with the account's key."""
    signed, _, signature = bearer.rpartition(".")
    if signed.count(".") != 1 or not hmac.compare_digest(signature, _signature(key, signed)):
        return None
    claims: dict[str, Any] = json.loads(_decode(signed.partition(".")[2]))
    return int(claims["exp"])


def rejects(settings: Settings, authorization: str, wall: float) -> str:
    """Return why this Authorization header is rejected, "" if it is valid."""
    scheme, _, bearer = authorization.partition(" ")
    if scheme.lower() != "bearer" or not bearer:
        return "No valid authorization token was given"
    expiry = _expiry(_key(settings), bearer)
    if expiry is None:
        return "The authorization token is not known"
    return "The authorization token has expired" if expiry <= wall else ""


def _asked_for(call: Call, form: dict[str, list[str]]) -> str:
    """Return the trusted profile that a token is asked for, "" for one of the API key's owner."""
    grant = form.get("grant_type")
    if grant == [_COMPUTE]:
        return _linked_profile(call, form)
    if grant == [_GRANT]:
        if form.get("apikey") != [call.settings.api_key]:
            raise errors.iam(400, "BXNIM0415E", "Provided API key could not be found.")
        return ""
    if grant != [_ASSUME]:
        raise errors.iam(400, "BXNIM0400E", "Property missing or not valid: grant_type")
    [bearer], [profile] = form.get("access_token", [""]), form.get("profile_id", [""])
    if not bearer or rejects(call.settings, f"Bearer {bearer}", call.wall):
        raise errors.iam(400, "BXNIM0400E", "Property missing or not valid: access_token")
    if profile not in call.settings.trusted_profiles:
        # https://github.com/confidential-containers/cloud-api-adaptor/pull/991
        raise errors.iam(400, "BXNIM0398E", "Selected trusted profile not eligible.")
    return profile


def _linked_profile(call: Call, form: dict[str, list[str]]) -> str:
    """Return the profile that a pod asks for, if it is linked to the service account of its token.

    https://cloud.ibm.com/docs/containers?topic=containers-pod-iam-identity. The codes of its refusals are not known.
    """
    [bearer], [profile] = form.get("cr_token", [""]), form.get("profile_id", [""])
    try:
        claims = service_accounts.decode(bearer)
    except ValueError:
        raise errors.iam(400, "BXNIM0400E", "Property missing or not valid: cr_token") from None
    if claims.audience != _AUDIENCE or claims.expires <= call.wall:
        raise errors.iam(400, "BXNIM0400E", "Property missing or not valid: cr_token")
    linked = f"{claims.namespace}/{claims.name}" in call.settings.linked_service_accounts
    if profile not in call.settings.trusted_profiles or not linked:
        raise errors.iam(400, "BXNIM0398E", "Selected trusted profile not eligible.")
    return profile


def token(call: Call) -> Reply:
    form = parse_qs(call.request.body.decode())
    profile, [grant] = _asked_for(call, form), form["grant_type"]
    call.world.data["tokens"] += 1
    seconds = call.settings.token_seconds
    body = {
        "access_token": issue(call.settings, call.world.data["tokens"], call.wall, profile, grant),
        "refresh_token": "not_supported",
        "token_type": "Bearer",
        "expires_in": seconds,
        "expiration": int(call.wall) + seconds,
        "scope": "ibm openid",
    }
    return Reply(200, body)


ROUTES = (reads("POST", "/iam/identity/token", "iam.issue_token", token, without_token=True),)
