"""Signatures in a query string (Signature Version 4): of what they are, how long they are valid, whether they fit.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. STS takes such a request for
15 minutes, whatever its X-Amz-Expires says (https://github.com/aws/aws-sdk-go/issues/2167). The signature is compared
where the secret is known: of role sessions, and of the keys in `settings.secret_keys`.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

from freehold_sim.aws.call import Refused
from freehold_sim.http import Request

MINUTES = 15
FORM = "%Y%m%dT%H%M%SZ"
_ALGORITHM = "AWS4-HMAC-SHA256"
_SIGNATURE = re.compile("[0-9a-f]{64}")


def is_presigned(request: Request) -> bool:
    return "X-Amz-Credential" in request.query


def without(request: Request) -> Request:
    """Return a presigned request without what belongs to its signature."""
    return replace(request, query={name: text for name, text in request.query.items() if not name.startswith("X-Amz-")})


def check(request: Request, secret: str | None, now: float) -> None:
    """Refuse a presigned request that is too old, of the future, or whose signature does not fit."""
    query = request.query
    try:
        signed_at = datetime.strptime(query.get("X-Amz-Date", ""), FORM).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise Refused("IncompleteSignature", "X-Amz-Date must be an ISO8601 date", 400) from None
    if abs(now - signed_at) > MINUTES * 60:
        what = "Signature expired" if now > signed_at else "Signature not yet current"
        raise _mismatch(f"{what}: {query['X-Amz-Date']} and now {_text(now)} are more than {MINUTES} min. apart")
    names, given = query.get("X-Amz-SignedHeaders", "").split(";"), query.get("X-Amz-Signature", "")
    fits = query.get("X-Amz-Algorithm") == _ALGORITHM and bool(_SIGNATURE.fullmatch(given))
    if not fits or "host" not in names or any(name not in request.headers for name in names):
        raise _mismatch()
    if secret is not None and not hmac.compare_digest(given, _signature(request, names, secret)):
        raise _mismatch()


def _mismatch(text: str = "") -> Refused:
    usual = "The request signature we calculated does not match the signature you provided."
    return Refused(
        "SignatureDoesNotMatch", text or f"{usual} Check your AWS Secret Access Key and signing method.", 403
    )


def _text(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime(FORM)


def _signature(request: Request, names: list[str], secret: str) -> str:
    query = request.query
    scope = query["X-Amz-Credential"].split("/", 1)[1]
    canonical = "\n".join([
        request.method, request.path or "/", _canonical_query(query),
        *(f"{name}:{' '.join(request.headers[name].split())}" for name in names), "",
        ";".join(names), hashlib.sha256(request.body).hexdigest(),
    ])  # fmt: skip
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, f"{_ALGORITHM}\n{query['X-Amz-Date']}\n{scope}\n{digest}".encode(), "sha256").hexdigest()


def _canonical_query(query: Mapping[str, str]) -> str:
    pairs = [(quote(name, safe="-_.~"), quote(text, safe="-_.~")) for name, text in query.items()]
    return "&".join(f"{name}={text}" for name, text in sorted(pairs) if name != "X-Amz-Signature")
