"""From what IBM Cloud and its SDKs say to the lifecycle's errors: one table (docs/reference/ibm-cloud.md#common).

The first rule that fits decides. Messages are for people: what was asked, of which resource, what IBM Cloud
answered, what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import requests
from ibm_cloud_sdk_core import ApiException

from freehold.engine import errors as lifecycle
from freehold.engine.port import Effect

LONGEST_WAIT = 600.0
"""Most seconds that a Retry-After is obeyed: a wrong one must not park an object for a day."""
_LONGEST_TEXT = 1000
"""Most characters of a vendor's words: they go into a status, whose size Kubernetes limits."""


class TokenRejected(lifecycle.Denied):
    """401: the access token is not accepted; one new token is worth a try."""


class ListNotFound(lifecycle.Unavailable):
    """404 for a list: no proof that what it would list is gone. The place that it is of must be asked for by its id."""


class Unreadable(Exception):
    """A reply that says success and is not the answer to what was asked."""


def endless(operation: str, subject: str) -> lifecycle.CloudError:
    """A list that names one page twice."""
    return lifecycle.Unavailable(
        f"{operation.replace('_', ' ')} ({subject}) does not end: IBM Cloud names a page twice. It is asked again"
    )


def no_list(operation: str, subject: str) -> lifecycle.CloudError:
    """A reply with 200 that has not the list which was asked for."""
    return lifecycle.Unavailable(
        f"IBM Cloud did not {operation.replace('_', ' ')} ({subject}): its reply has no list. It is asked again"
    )


@dataclass(frozen=True)
class Failure:
    """What a service answered instead of doing what was asked."""

    status: int
    code: str
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)
    spoken: bool = True
    """Whether a service said it; a proxy or an ingress that has lost its backend answers 404 without a word of it."""

    @property
    def request_id(self) -> str:
        names = ("x-global-transaction-id", "x-request-id", "transaction-id", "x-correlation-id")
        return next((self.headers[name] for name in names if self.headers.get(name)), "")

    @property
    def retry_after(self) -> float | None:
        """Seconds, when the service says how many, or until when by its own clock (RFC 9110 §10.2.3)."""
        text = self.headers.get("retry-after", "")
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            return min(float(text), LONGEST_WAIT)
        try:
            wait = parsedate_to_datetime(text) - parsedate_to_datetime(self.headers.get("date", ""))
        except (TypeError, ValueError):
            return None
        return min(max(wait.total_seconds(), 0.0), LONGEST_WAIT)


@dataclass(frozen=True)
class Rule:
    """Fits a failure that has one of ``statuses``, and one of ``codes`` or ``words`` where any are given."""

    error: type[lifecycle.CloudError]
    advice: str
    statuses: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    words: re.Pattern[str] | None = None

    def fits(self, failure: Failure) -> bool:
        if self.statuses and failure.status not in self.statuses:
            return False
        if not self.codes and self.words is None:
            return True
        return failure.code in self.codes or bool(self.words and self.words.search(failure.text))


def _rule(
    error: type[lifecycle.CloudError], advice: str, *statuses: int, codes: tuple[str, ...] = (), words: str = ""
) -> Rule:
    pattern = re.compile(words, re.IGNORECASE) if words else None
    return Rule(error, advice, frozenset(statuses), frozenset(codes), pattern)


RULES: tuple[Rule, ...] = (
    _rule(lifecycle.Throttled, "It is asked again more slowly", 429),
    _rule(lifecycle.Throttled, "It is asked again more slowly", codes=("SlowDown",)),
    # IAM answers a wrong API key with 400 (BXNIM0415E) and other faults of it with codes of the same family.
    _rule(
        lifecycle.Denied,
        "Put a valid IBM Cloud API key into the environment variable {variable} and restart",
        400, 401, 403,
        words=r"BXNIM\d+E|api ?key could not be found",
    ),
    _rule(  # PowerVS says it with 500 (ppc64le/devops-automation#6)
        lifecycle.Denied,
        "Grant the owner of the API key in {variable} a role on the workspace in IBM Cloud IAM",
        403, 500,
        words=r"not have any access authority",
    ),
    _rule(TokenRejected, "Check the API key in the environment variable {variable}", 401),
    _rule(
        lifecycle.Quota,
        "Delete what is not needed, or ask IBM to raise the limit",
        400, 402, 403, 409, 412, 422,
        codes=("over_quota",),
        words=r"over quota|cannot add more than \d+|quota (is )?(reached|exceeded)|exceeds? the quota|too many tags"
        r"|already has a dhcp server",
    ),
    _rule(
        lifecycle.Denied,
        "Grant the owner of the API key in {variable} the missing permission in IBM Cloud IAM",
        403,
    ),
    # An instance in reclamation counts as deleted (docs/reference/ibm-cloud.md#resource-controller).
    _rule(lifecycle.NotFound, "It is gone", 400, 410, 422, words=r"pending[ _]reclamation|in reclamation|is removed"),
    _rule(lifecycle.NotFound, "Check that it still exists", 404, 410),
    _rule(lifecycle.NotFound, "It is gone", words=r"dhcp server does not exist"),
    _rule(
        lifecycle.NameTaken,
        "Choose another name, or remove the resource that has it",
        400, 409,
        codes=("validation_unique_failed", "BucketAlreadyExists", "BucketAlreadyOwnedByYou"),
        words=r"is not unique|with the (same )?name .*exists|network \S+ already exists|name .*already (in use|taken)",
    ),
    # A transition, ours or another's: what was asked will be possible when it is over.
    _rule(
        lifecycle.NotReady,
        "It is asked again when the change that is under way is over",
        400, 409, 423,
        codes=("load_balancer_update_conflict", "vpc_not_available", "subnet_not_available"),
        words=r"is being deleted|being detached|is not available|is not ready|_PENDING\b|status is '"
        r"|subnet with id \S+ is invalid",  # which load balancers learn of late (terraform-provider-ibm#6835)
    ),
    _rule(
        lifecycle.InUse,
        "Remove what uses it; it is asked again",
        400, 409,
        codes=("BucketNotEmpty", "gateway_in_use"),
        words=r"\bin use\b|still (attached|associated) to|has connections|must first be deleted|connections? remain"
        r"|is managed by"
        r"|already connected to|connection already added|not empty|is locked",
    ),
    _rule(lifecycle.NotReady, "It is asked again soon", 409, 423),
    _rule(
        lifecycle.Invalid,
        "Correct the manifest",
        *range(400, 408), *range(410, 423), *range(424, 429), *range(430, 500),
    ),
)  # fmt: skip

_BLOCKER = re.compile(
    r"cannot be deleted[.:] (?P<a>.+)|pvm-instances:? (?P<b>\S+)|by a rule of (?P<c>\S+)|managed by (?P<d>.+)"
)


def translate(
    error: Exception, *, effect: Effect, what: str, variable: str, scrub: Callable[[str], str]
) -> lifecycle.CloudError:
    """The lifecycle's error for what an SDK raised.

    ``what`` says what was asked of which resource (``create vpc cluster-vpc``); ``scrub`` removes secrets.
    """
    failure = read(error)
    if failure is None:
        return _of_transport(error, effect, what, scrub)
    said = scrub(failure.text)[:_LONGEST_TEXT] or "nothing"
    if failure.status == 404 and not failure.spoken:
        return _unserved(effect, f"IBM Cloud could not {what}: {said}", {"code": "404"})
    facts: dict[str, Any] = {"code": failure.code or str(failure.status), "request_id": failure.request_id}
    for rule in RULES:
        if rule.fits(failure):
            fact = f"IBM Cloud refused to {what}: {said.removesuffix('.')}"
            facts["advice"] = rule.advice.format(variable=variable)
            if issubclass(rule.error, lifecycle.Throttled):
                return rule.error(fact, retry_after=failure.retry_after, **facts)
            if issubclass(rule.error, lifecycle.InUse):
                return rule.error(fact, blocker=_blocker(said), **facts)
            return rule.error(fact, **facts)
    return _unserved(effect, f"IBM Cloud could not {what}: {said}", facts)


def _blocker(said: str) -> str:
    found = _BLOCKER.search(said)
    return next((group for group in found.groups() if group), "") if found else ""


def _unserved(effect: Effect, message: str, facts: Mapping[str, Any]) -> lifecycle.CloudError:
    if effect is Effect.READ:
        return lifecycle.Unavailable(f"{message}. It is asked again", **facts)
    return lifecycle.Unknown(f"{message}. Whether it took effect is found out before it is tried again", **facts)


def _of_transport(error: Exception, effect: Effect, what: str, scrub: Callable[[str], str]) -> lifecycle.CloudError:
    """No answer: the request was never sent, or nobody knows what became of it."""
    message = f"IBM Cloud did not answer when asked to {what} ({scrub(_plain(error))})"
    if _refused_by_sdk(error):
        return lifecycle.Invalid(f"cannot {what}: {scrub(str(error))}. Correct the manifest")
    if _never_sent(error):
        return lifecycle.Unavailable(f"{message}. Check the network; it is asked again", code=type(error).__name__)
    return _unserved(effect, message, {"code": type(error).__name__})


def _refused_by_sdk(error: Exception) -> bool:
    """Whether an SDK, or we, would not send it. Subclasses of ValueError come from replies that cannot be read."""
    return type(error) is ValueError or type(error).__name__ == "ParamValidationError"


def _plain(error: Exception) -> str:
    """Why, without the address and the object that requests prints."""
    if type(error).__name__ == "SSLError":
        return "its certificate is not trusted; behind a proxy that signs anew, set REQUESTS_CA_BUNDLE to its CA"
    if isinstance(error, requests.Timeout):
        return "time-out"
    if _never_sent(error):
        return "no connection"
    no_answer = "what came is no answer of it"
    said = {"ConnectionError": "connection lost", "Unreadable": no_answer, "ApiException": no_answer}
    return said.get(type(error).__name__, type(error).__name__)


def _never_sent(error: Exception) -> bool:
    """Whether the connection could not even be opened."""
    if type(error).__name__ in {"EndpointConnectionError", "ConnectTimeoutError", "ConnectTimeout"}:
        return True
    cause = error.args[0] if isinstance(error, requests.ConnectionError) and error.args else None
    reason = getattr(cause, "reason", None)
    return type(reason).__name__ in {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"}


def read(error: Exception) -> Failure | None:
    """What the service answered, None when ``error`` is not an answer of a service."""
    if isinstance(error, ApiException) and error.http_response is not None:
        if error.http_response.status_code < 400:
            return None  # an answer that is cut off or no JSON: as good as lost
        return _of_response(error.http_response)
    raw = getattr(error, "response", None)
    if isinstance(raw, dict) and "Error" in raw:  # ClientError of ibm_botocore
        meta = raw.get("ResponseMetadata", {})
        headers = {str(k).lower(): str(v) for k, v in meta.get("HTTPHeaders", {}).items()}
        code = str(raw["Error"].get("Code", ""))
        return Failure(int(meta.get("HTTPStatusCode", 0)), code, f"{raw['Error'].get('Message', '')} ({code})", headers)
    return None


def _of_response(response: requests.Response) -> Failure:
    """Each service has a body of its own (docs/reference/ibm-cloud.md#common)."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    try:
        body = response.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    several = body.get("errors")
    first = several[0] if isinstance(several, list) and several else several
    if not isinstance(first, dict):
        first = {"message": first}
    code = str(first.get("code") or body.get("errorCode") or "")
    parts = (
        first.get("message"),
        body.get("errorCode"),
        body.get("errorMessage"),
        body.get("description"),
        body.get("message"),
    )
    text = " ".join(dict.fromkeys(str(part) for part in parts if part))
    text = text or str(body.get("error") or response.reason or f"status {response.status_code}")
    return Failure(response.status_code, code, text, headers, spoken=bool(body))
