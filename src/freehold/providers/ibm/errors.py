"""IBM Cloud's and its SDKs' failures as the engine's errors: one table (docs/reference/ibm-cloud.md#common).

The first rule that fits decides. Messages are for people: the request, the resource, IBM Cloud's answer, what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import requests
from ibm_cloud_sdk_core import ApiException

from freehold.engine import errors as engine_errors
from freehold.engine.port import Effect
from freehold.providers.ibm.tokens import NoTokenOfPod

LONGEST_WAIT = 600.0
"""Most seconds that a Retry-After is obeyed: a wrong one must not park an object for a day."""
_LONGEST_TEXT = 1000
"""Most characters of a vendor's words: they go into a status, whose size Kubernetes limits."""


class Identity(NamedTuple):
    """Whose requests they are, in words: who has the rights, what proves it, and how to give another proof."""

    owner: str
    proof: str
    renewal: str


def identity_of_key(variable: str) -> Identity:
    """Name the owner of the API key in an environment variable."""
    return Identity(
        f"the owner of the API key in {variable}",
        f"the API key in the environment variable {variable}",
        f"Put a valid IBM Cloud API key into the environment variable {variable} and restart",
    )


def identity_of_profile(profile: str, token_file: str) -> Identity:
    """Name a trusted profile that a pod assumes."""
    return Identity(
        f"the trusted profile {profile}",
        f"the trusted profile {profile} and the token in {token_file}",
        f"Link the trusted profile {profile} to the service account of this pod (ibmcloud iam "
        f"trusted-profile-link-create), and let Kubernetes project its token with audience iam into {token_file}",
    )


class TokenRejected(engine_errors.Denied):
    """A 401: the access token is not accepted; one new token is worth a try."""


class ListNotFound(engine_errors.Unavailable):
    """A 404 for a list, which does not prove that its items are gone. A read of its parent by id decides."""


class Unreadable(Exception):
    """A reply that says success and is not the answer to the request."""


def endless_list_error(operation: str, subject: str) -> engine_errors.CloudError:
    """Return the error for a list that names one page twice."""
    return engine_errors.Unavailable(
        f"{operation.replace('_', ' ')} ({subject}) does not end: IBM Cloud names a page twice. It is asked again"
    )


def missing_list_error(operation: str, subject: str) -> engine_errors.CloudError:
    """Return the error for a reply with 200 without the list that was asked for."""
    return engine_errors.Unavailable(
        f"IBM Cloud did not {operation.replace('_', ' ')} ({subject}): its reply has no list. It is asked again"
    )


@dataclass(frozen=True)
class IbmFailure:
    """A service's answer to a request that failed."""

    status: int
    code: str
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)
    from_service: bool = True
    """True if the service itself answered; a proxy or ingress that lost its backend answers 404 with an empty body."""

    @property
    def request_id(self) -> str:
        names = ("x-global-transaction-id", "x-request-id", "transaction-id", "x-correlation-id")
        return next((self.headers[name] for name in names if self.headers.get(name)), "")

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, if the service gives them, or a time by its own clock (RFC 9110 §10.2.3)."""
        text = self.headers.get("retry-after", "")
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            return min(float(text), LONGEST_WAIT)
        try:
            wait = parsedate_to_datetime(text) - parsedate_to_datetime(self.headers.get("date", ""))
        except (TypeError, ValueError):
            return None
        return min(max(wait.total_seconds(), 0.0), LONGEST_WAIT)


@dataclass(frozen=True)
class IbmErrorRule:
    """A row of the table, with ``statuses`` and, where given, one of ``codes`` or ``words``."""

    error: type[engine_errors.CloudError]
    advice: str
    statuses: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    words: re.Pattern[str] | None = None

    def fits(self, failure: IbmFailure) -> bool:
        if self.statuses and failure.status not in self.statuses:
            return False
        if not self.codes and self.words is None:
            return True
        return failure.code in self.codes or bool(self.words and self.words.search(failure.text))


def _rule(
    error: type[engine_errors.CloudError], advice: str, *statuses: int, codes: tuple[str, ...] = (), words: str = ""
) -> IbmErrorRule:
    pattern = re.compile(words, re.IGNORECASE) if words else None
    return IbmErrorRule(error, advice, frozenset(statuses), frozenset(codes), pattern)


RULES: tuple[IbmErrorRule, ...] = (
    _rule(engine_errors.Throttled, "It is asked again more slowly", 429),
    _rule(engine_errors.Throttled, "It is asked again more slowly", codes=("SlowDown",)),
    # IAM answers a wrong API key with 400 (BXNIM0415E) and other faults of it with codes of the same family.
    _rule(
        engine_errors.Denied,
        "{identity.renewal}",
        400, 401, 403,
        words=r"BXNIM\d+E|api ?key could not be found",
    ),
    _rule(  # PowerVS says it with 500 (ppc64le/devops-automation#6)
        engine_errors.Denied,
        "Grant {identity.owner} a role on the workspace in IBM Cloud IAM",
        403, 500,
        words=r"not have any access authority",
    ),
    _rule(TokenRejected, "Check {identity.proof}", 401),
    _rule(
        engine_errors.Quota,
        "Delete what is not needed, or ask IBM to raise the limit",
        400, 402, 403, 409, 412, 422,
        codes=("over_quota",),
        words=r"over quota|cannot add more than \d+|quota (is )?(reached|exceeded)|exceeds? the quota|too many tags"
        r"|already has a dhcp server",
    ),
    _rule(
        engine_errors.Denied,
        "Grant {identity.owner} the missing permission in IBM Cloud IAM",
        403,
    ),
    # An instance in reclamation counts as deleted (docs/reference/ibm-cloud.md#resource-controller).
    _rule(
        engine_errors.NotFound,
        "It is gone",
        400, 410, 422,
        words=r"pending[ _]reclamation|in reclamation|is removed",
    ),
    _rule(engine_errors.NotFound, "Check that it still exists", 404, 410),
    _rule(engine_errors.NotFound, "It is gone", words=r"dhcp server does not exist"),
    _rule(
        engine_errors.NameTaken,
        "Choose another name, or remove the resource that has it",
        400, 409,
        codes=("validation_unique_failed", "BucketAlreadyExists", "BucketAlreadyOwnedByYou"),
        words=r"is not unique|with the (same )?name .*exists|network \S+ already exists|name .*already (in use|taken)",
    ),
    # A change is under way, ours or another's: the request is possible after it.
    _rule(
        engine_errors.NotReady,
        "It is asked again when the change that is under way is over",
        400, 409, 423,
        codes=("load_balancer_update_conflict", "vpc_not_available", "subnet_not_available"),
        words=r"is being deleted|being detached|is not available|is not ready|_PENDING\b|status is '"
        r"|subnet with id \S+ is invalid",  # load balancers see new subnets late (terraform-provider-ibm#6835)
    ),
    _rule(
        engine_errors.InUse,
        "Remove what uses it; it is asked again",
        400, 409,
        codes=("BucketNotEmpty", "gateway_in_use"),
        words=r"\bin use\b|still (attached|associated) to|has connections|must first be deleted|connections? remain"
        r"|is managed by"
        r"|already connected to|connection already added|not empty|is locked",
    ),
    _rule(engine_errors.NotReady, "It is asked again soon", 409, 423),
    _rule(
        engine_errors.Invalid,
        "Correct the manifest",
        *range(400, 408), *range(410, 423), *range(424, 429), *range(430, 500),
    ),
)  # fmt: skip

_BLOCKER = re.compile(
    r"cannot be deleted[.:] (?P<a>.+)|pvm-instances:? (?P<b>\S+)|by a rule of (?P<c>\S+)|managed by (?P<d>.+)"
)


def translate(
    error: Exception, *, effect: Effect, what: str, identity: Identity, scrub: Callable[[str], str]
) -> engine_errors.CloudError:
    """Return the engine's error for what an SDK raised.

    ``what`` names the request and its resource (``create vpc cluster-vpc``); ``scrub`` removes secrets.
    """
    failure = parse_failure(error)
    if failure is None:
        return _translate_transport(error, effect, what, identity, scrub)
    said = scrub(failure.text)[:_LONGEST_TEXT] or "nothing"
    if failure.status == 404 and not failure.from_service:
        return _unserved_error(effect, f"IBM Cloud could not {what}: {said}", {"code": "404"})
    facts: dict[str, Any] = {"code": failure.code or str(failure.status), "request_id": failure.request_id}
    for rule in RULES:
        if rule.fits(failure):
            fact = f"IBM Cloud refused to {what}: {said.removesuffix('.')}"
            facts["advice"] = rule.advice.format(identity=identity)
            if issubclass(rule.error, engine_errors.Throttled):
                return rule.error(fact, retry_after=failure.retry_after, **facts)
            if issubclass(rule.error, engine_errors.InUse):
                return rule.error(fact, blocker=_blocker(said), **facts)
            return rule.error(fact, **facts)
    return _unserved_error(effect, f"IBM Cloud could not {what}: {said}", facts)


def _blocker(said: str) -> str:
    found = _BLOCKER.search(said)
    return next((group for group in found.groups() if group), "") if found else ""


def _unserved_error(effect: Effect, message: str, facts: Mapping[str, Any]) -> engine_errors.CloudError:
    if effect is Effect.READ:
        return engine_errors.Unavailable(f"{message}. It is asked again", **facts)
    return engine_errors.Unknown(f"{message}. Whether it took effect is found out before it is tried again", **facts)


def _translate_transport(
    error: Exception, effect: Effect, what: str, identity: Identity, scrub: Callable[[str], str]
) -> engine_errors.CloudError:
    """Return the error for a missing answer: the request was never sent, or its outcome is unknown."""
    if isinstance(error, NoTokenOfPod):
        return engine_errors.Denied(f"cannot {what}: {error}", advice=identity.renewal, code=type(error).__name__)
    message = f"IBM Cloud did not answer when asked to {what} ({scrub(_transport_reason(error))})"
    if _is_refused_by_sdk(error):
        return engine_errors.Invalid(f"cannot {what}: {scrub(str(error))}. Correct the manifest")
    if _was_never_sent(error):
        return engine_errors.Unavailable(f"{message}. Check the network; it is asked again", code=type(error).__name__)
    return _unserved_error(effect, message, {"code": type(error).__name__})


def _is_refused_by_sdk(error: Exception) -> bool:
    """Return whether an SDK, or we, would not send it. Subclasses of ValueError come from unreadable replies."""
    return type(error) is ValueError or type(error).__name__ == "ParamValidationError"


def _transport_reason(error: Exception) -> str:
    """Return the reason, without the address and the object that requests prints."""
    if type(error).__name__ == "SSLError":
        return "its certificate is not trusted; behind a proxy that signs anew, set REQUESTS_CA_BUNDLE to its CA"
    if isinstance(error, requests.Timeout):
        return "time-out"
    if _was_never_sent(error):
        return "no connection"
    no_answer = "what came is no answer of it"
    said = {"ConnectionError": "connection lost", "Unreadable": no_answer, "ApiException": no_answer}
    return said.get(type(error).__name__, type(error).__name__)


def _was_never_sent(error: Exception) -> bool:
    """Return whether the connection could not even be opened."""
    if type(error).__name__ in {"EndpointConnectionError", "ConnectTimeoutError", "ConnectTimeout"}:
        return True
    cause = error.args[0] if isinstance(error, requests.ConnectionError) and error.args else None
    reason = getattr(cause, "reason", None)
    return type(reason).__name__ in {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"}


def parse_failure(error: Exception) -> IbmFailure | None:
    """Return the service's answer; None when ``error`` is not an answer of a service."""
    if isinstance(error, ApiException) and error.http_response is not None:
        if error.http_response.status_code < 400:
            return None  # a success that is cut off or no JSON counts as lost
        return _parse_response(error.http_response)
    raw = getattr(error, "response", None)
    if isinstance(raw, dict) and "Error" in raw:  # ClientError of ibm_botocore
        meta = raw.get("ResponseMetadata", {})
        headers = {str(k).lower(): str(v) for k, v in meta.get("HTTPHeaders", {}).items()}
        code = str(raw["Error"].get("Code", ""))
        return IbmFailure(
            int(meta.get("HTTPStatusCode", 0)), code, f"{raw['Error'].get('Message', '')} ({code})", headers
        )
    return None


def _parse_response(response: requests.Response) -> IbmFailure:
    """Parse a reply. Each service has a body of its own (docs/reference/ibm-cloud.md#common)."""
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
    return IbmFailure(response.status_code, code, text, headers, from_service=bool(body))
