"""Who calls, and which service and region are meant: what the signature of a request tells (Signature Version 4).

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. Signatures in headers are
not checked; those in query strings are, in signatures.py.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freehold_sim.http import Request

_SCOPE = re.compile(r"Credential=(?P<key>[^/,\s]+)/(?P<date>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")


@dataclass(frozen=True, slots=True)
class Scope:
    """The credential scope of a signed request."""

    access_key: str
    region: str
    service: str
    session_token: str = ""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller. `policies` None means everything is allowed (the account's administrator).

    A role session may do what one of the role's `policies` allows, and one of its `session_policies` too; None where
    it was given none. What any of them denies it may not do.
    """

    account: str
    arn: str
    user_id: str
    policies: tuple[Mapping[str, Any], ...] | None = None
    session_policies: tuple[Mapping[str, Any], ...] | None = None


def scope_of_request(request: Request) -> Scope | None:
    """Return the credential scope, None for a request without a signature."""
    credential = f"Credential={request.query.get('X-Amz-Credential', '')}"
    found = _SCOPE.search(request.headers.get("authorization", credential))
    if found is None:
        return None
    token = request.headers.get("x-amz-security-token", request.query.get("X-Amz-Security-Token", ""))
    return Scope(found["key"], found["region"], found["service"], token)


def administrator(account: str) -> Principal:
    return Principal(account, f"arn:aws:iam::{account}:user/admin", "AIDASIMULATEDADMIN000")
