"""From what AWS and botocore say to the lifecycle's errors: one table of codes (docs/reference/aws.md#errors).

The first rule that fits decides. EC2 declares no errors in its service model, so the table is kept by hand; what the
other services declare is checked against it. Messages are for people: what was asked, of which resource, what AWS
answered, what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate as pattern_of
from typing import Any

from freehold.engine import errors as lifecycle
from freehold.engine.port import Effect
from freehold.providers.aws.credentials import NoCredentials
from freehold.providers.aws.permissions.policies import iam_action

LONGEST_WAIT = 600.0
"""Most seconds that a Retry-After is obeyed: a wrong one must not park an object for a day."""
_LONGEST_TEXT = 1000
"""Most characters of AWS's words: they go into a status, whose size Kubernetes limits."""


class CredentialsExpired(lifecycle.Denied):
    """The session has ended: new credentials are worth a try."""


class NoCapacity(lifecycle.Quota):
    """AWS has no more of it in this zone or subnet now; another zone may."""


class AlreadyThere(lifecycle.NameTaken):
    """A part with this natural key is there: whether it is the wanted one is to be read."""


class DryRunPassed(lifecycle.CloudError):
    """Nothing happened; without ``DryRun`` it would have."""


class ListNotFound(lifecycle.Unavailable):
    """Not found, said of a list: no proof that what it would list is gone."""


@dataclass(frozen=True)
class Failure:
    """What a service answered instead of doing what was asked. ``operation`` as in the API: ``CreateVpc``."""

    status: int
    code: str
    text: str
    service: str = ""
    operation: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    request_id: str = ""

    @property
    def retry_after(self) -> float | None:
        """Seconds, when the service says how many."""
        text = self.headers.get("retry-after", "")
        return min(float(text), LONGEST_WAIT) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else None


@dataclass(frozen=True)
class Rule:
    """Fits a failure with one of ``codes`` (``*`` for any text), of ``operations`` and with ``words`` where given."""

    error: type[lifecycle.CloudError]
    advice: str
    codes: tuple[str, ...]
    operations: frozenset[str] = frozenset()
    words: re.Pattern[str] | None = None

    def fits(self, failure: Failure) -> bool:
        if self.operations and failure.operation not in self.operations:
            return False
        if self.words and not self.words.search(failure.text):
            return False
        return any(_matches(code, failure.code) for code in self.codes)


def _matches(pattern: str, code: str) -> bool:
    return pattern == code or ("*" in pattern and re.fullmatch(pattern_of(pattern), code) is not None)


def _rule(error: type[lifecycle.CloudError], advice: str, codes: str, *, of: str = "", words: str = "") -> Rule:
    pattern = re.compile(words, re.IGNORECASE) if words else None
    return Rule(error, advice, tuple(codes.split()), frozenset(of.split()), pattern)


_SLOWER = "It is asked again more slowly"
_SOON = "It is asked again soon"

RULES: tuple[Rule, ...] = (
    _rule(DryRunPassed, "Nothing was changed", "DryRunOperation"),
    _rule(
        lifecycle.Throttled,
        _SLOWER,
        "Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException "
        "RequestLimitExceeded TooManyRequestsException SlowDown BandwidthLimitExceeded PriorRequestNotComplete "
        "EC2ThrottledException ProvisionedThroughputExceeded ProvisionedThroughputExceededException "
        "TransactionInProgressException DependencyThrottle",
    ),
    # -- credentials and permissions ---------------------------------------------------------------------------
    _rule(
        CredentialsExpired,
        "Renew {origin}; if they are new, correct the clock of this machine",
        "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired",
    ),
    _rule(lifecycle.Unavailable, "Correct the clock of this machine", "RequestTimeTooSkewed"),
    # EC2 says AuthFailure also of what a service keeps: the address of a NAT gateway, a load balancer's interface
    # (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/requester-managed-eni.html).
    _rule(
        lifecycle.InUse,
        "Delete what it belongs to first; it is asked again",
        "AuthFailure",
        of="ReleaseAddress DisassociateAddress DeleteNetworkInterface DetachNetworkInterface",
        words=r"do not have permission|not allowed to manage|does not belong to you|is in use|currently in use",
    ),
    _rule(
        lifecycle.Denied,
        "Check {origin}",
        "AuthFailure InvalidClientTokenId UnrecognizedClientException SignatureDoesNotMatch InvalidAccessKeyId "
        "InvalidSignatureException IncompleteSignature MissingAuthenticationToken InvalidToken NotSignedUp",
    ),
    _rule(
        lifecycle.Denied,
        "Make the request agree with the tag policy of the organization, or change the policy",
        "TagPolicyException TagPolicyViolation TagPolicyViolationException",
    ),
    _rule(
        lifecycle.Denied,
        "Grant {action} to {origin}",
        "UnauthorizedOperation AccessDenied AccessDeniedException OptInRequired AuthorizationError NotAuthorized 403 "
        "AllAccessDisabled OperationNotPermittedException",
    ),
    # -- limits ------------------------------------------------------------------------------------------------
    _rule(
        NoCapacity,
        "Choose another zone, subnet or size, or wait",
        "InsufficientInstanceCapacity InsufficientFreeAddressesInSubnet InsufficientAddressCapacity "
        "InsufficientHostCapacity InsufficientCapacity Unsupported",
    ),
    # LimitExceededException: throttling in the eyes of botocore, a quota in the models of IAM and Secrets Manager.
    _rule(
        lifecycle.Quota,
        "Delete what is not needed, or ask AWS to raise the limit",
        "*LimitExceeded *LimitExceededException *QuotaExceeded *QuotaExceededException TooMany* "
        "TargetGroupAssociationLimit InsufficientCidrBlocks",
    ),
    # -- tokens and names --------------------------------------------------------------------------------------
    _rule(
        lifecycle.TokenReused,
        "What the token made is looked for",
        "IdempotentParameterMismatch IdempotentParameterMismatchException",
    ),
    _rule(lifecycle.Invalid, "Correct the manifest", "DuplicateTagKeys InvalidSubnet.Conflict InvalidAMI*"),
    _rule(
        AlreadyThere,
        "It is read what is there",
        "RouteAlreadyExists Resource.AlreadyAssociated InvalidPermission.Duplicate DuplicateListener PriorityInUse",
    ),
    _rule(
        lifecycle.NameTaken,
        "Choose another name, or remove the resource that has it",
        "ResourceInUseException",
        of="CreateCluster CreateNodegroup CreateAddon CreateFargateProfile CreateAccessEntry",
    ),
    _rule(
        lifecycle.NameTaken,
        "Choose another name, or remove the resource that has it",
        "*.Duplicate *AlreadyExists *AlreadyExistsException *AlreadyExistsFault Duplicate* EntityAlreadyExists "
        "ResourceExistsException BucketAlreadyOwnedByYou BucketAlreadyExists",
    ),
    # -- what stands in the way --------------------------------------------------------------------------------
    _rule(
        lifecycle.InUse,
        "Remove what uses it; it is asked again",
        "DependencyViolation ResourceInUse ResourceInUseException *.InUse VolumeInUse DeleteConflict "
        "DeleteConflictException BucketNotEmpty HostedZoneNotEmpty CannotDelete TargetGroupInUse",
    ),
    # Its one parameter is the id, and an id that cannot be has codes of its own (gruntwork-io/cloud-nuke#431).
    _rule(lifecycle.InUse, "Detach it; it is asked again", "InvalidParameterValue", of="DeleteNetworkInterface"),
    _rule(lifecycle.InUse, "Take its protection against deletion off", "OperationNotPermitted"),
    _rule(
        lifecycle.NotReady,
        "It is asked again when the change that is under way is over",
        "Incorrect* OperationInProgress OperationAborted Concurrent* ConflictException Conflict InvalidState "
        "InvalidStateException InvalidGatewayState UnmodifiableEntity ResourceNotReady "
        "ResourcePropagationDelayException EntityTemporarilyUnmodifiable *NotReady CapacityReservationPending",
    ),
    # -- what is missing ---------------------------------------------------------------------------------------
    _rule(
        lifecycle.NotFound,
        "Create that key pair, or name another one in sshKeyName ('default' where it is not set, '' for no key)",
        "InvalidKeyPair.NotFound",
    ),
    # It exists, in a VPC that is not connected with this one (ansible#45782).
    _rule(
        lifecycle.Invalid,
        "Name a security group of the cluster's VPC, or connect the two VPCs",
        "InvalidGroup.NotFound",
        words=r"belong to different networks",
    ),
    _rule(
        lifecycle.NotFound,
        "Check that it still exists",
        "*.NotFound *NotFound *NotFoundException NoSuch* Gateway.NotAttached *.NotFoundException "
        "InvalidInstance LoadBalancerNotFoundException 404",
    ),
    # -- AWS's side --------------------------------------------------------------------------------------------
    _rule(
        lifecycle.Unavailable,
        "The list is asked for again from its beginning",
        "PaginationTokenExpired PaginationTokenExpiredException ExpiredNextToken ExpiredNextTokenException "
        "InvalidNextToken InvalidNextTokenException InvalidPaginationToken",
    ),
    _rule(lifecycle.Unavailable, _SOON, "RequestTimeout RequestTimeoutException"),
    _rule(
        lifecycle.Unknown,
        "",
        "InternalError InternalFailure InternalServiceError InternalServiceException InternalServerError "
        "ServerException ServiceFailure ServiceFailureException ServiceUnavailable ServiceUnavailableException "
        "Unavailable ServerInternal HealthUnavailable",
    ),
    _rule(
        lifecycle.Invalid,
        "The bucket is in another region; name one that does not exist",
        "PermanentRedirect TemporaryRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException 301",
    ),
    # -- the request itself ------------------------------------------------------------------------------------
    _rule(
        lifecycle.Invalid,
        "Correct the manifest",
        "Invalid* *Invalid Missing* Malformed* Validation* Unknown* Unsupported* *.Malformed *NotSupported "
        "*NotSupportedException *UnsupportedException SerializationException PackedPolicyTooLarge "
        "PolicyNotAttachable RegionDisabled* *Mismatch MethodNotAllowed ClientException BadRequestException "
        "IncompatibleProtocols ResourcesNotAssociated* PublicPolicyException DecryptionFailure EncryptionFailure",
    ),
)  # fmt: skip


def translate(
    error: Exception, *, effect: Effect, service: str, what: str, origin: str, scrub: Callable[[str], str]
) -> lifecycle.CloudError:
    """The lifecycle's error for what botocore raised.

    ``what`` says what was asked of which resource (``create vpc default/prod``), ``origin`` whose credentials were
    used; ``scrub`` removes secrets.
    """
    failure = read(error, service)
    if failure is None:
        return _of_transport(error, effect, what, origin, scrub)
    return of_failure(failure, effect=effect, what=what, origin=origin, scrub=scrub)


def of_failure(
    failure: Failure, *, effect: Effect, what: str, origin: str, scrub: Callable[[str], str]
) -> lifecycle.CloudError:
    """The same for what a service answered, which may concern one resource of a batch."""
    said = scrub(_plain(failure.text))[:_LONGEST_TEXT] or "nothing"
    facts: dict[str, Any] = {"code": failure.code or str(failure.status), "request_id": failure.request_id}
    rule = rule_for(failure)
    if rule is None or rule.error is lifecycle.Unknown:
        return _unserved(effect, f"AWS could not {what}: {said}", facts)
    advice = rule.advice.format(origin=origin, action=iam_action(failure.service, failure.operation))
    fact = f"AWS refused to {what}: {said.removesuffix('.')} ({failure.code})"
    if issubclass(rule.error, lifecycle.Throttled):
        return rule.error(fact, advice=advice, retry_after=failure.retry_after, **facts)
    return rule.error(fact, advice=advice, **facts)


def rule_for(failure: Failure) -> Rule | None:
    """The row of the table; of codes that it lacks, 4xx is the request's fault, and anything else AWS's (None)."""
    if (rule := explicit_rule(failure)) is not None:
        return rule
    if failure.status == 429:
        return next(rule for rule in RULES if rule.error is lifecycle.Throttled)
    return RULES[-1] if 400 <= failure.status < 500 else None


def explicit_rule(failure: Failure) -> Rule | None:
    """The first row with this code; None for a code that the table lacks."""
    return next((rule for rule in RULES if rule.fits(failure)), None)


def is_unreachable(error: lifecycle.CloudError) -> bool:
    """Whether the service could not be connected to at all: it may have no endpoint in this network or partition."""
    return error.code in _NEVER_SENT


def denied(expired: CredentialsExpired) -> lifecycle.Denied:
    """The same, once new credentials have been tried or there are none to be had."""
    return lifecycle.Denied(expired.message, code=expired.code, request_id=expired.request_id)


def no_list(operation: str, subject: str) -> lifecycle.CloudError:
    """A successful reply that has not the list which was asked for."""
    return lifecycle.Unavailable(
        f"AWS did not {operation.replace('_', ' ')} ({subject}): its reply has no list. It is asked again"
    )


def endless(operation: str, subject: str) -> lifecycle.CloudError:
    """A list that names one page twice."""
    return lifecycle.Unavailable(
        f"{operation.replace('_', ' ')} ({subject}) does not end: AWS names a page twice. It is asked again"
    )


def _plain(text: str) -> str:
    """Without the encoded message, which is a page long and only its account's administrator can decode."""
    return re.sub(r"\s*Encoded authorization failure message: \S+", "", text).strip()


def _unserved(effect: Effect, message: str, facts: Mapping[str, Any]) -> lifecycle.CloudError:
    if effect is Effect.READ:
        return lifecycle.Unavailable(f"{message}. It is asked again", **facts)
    return lifecycle.Unknown(f"{message}. Whether it took effect is found out before it is tried again", **facts)


_NEVER_SENT = frozenset({"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError"})
_NO_CREDENTIALS = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound",
     "TokenRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError"}
)  # fmt: skip
_NOT_SENT_BY_US = frozenset({"ParamValidationError", "UnknownRegionError", "InvalidRegionError", "NoRegionError"})


def _of_transport(
    error: Exception, effect: Effect, what: str, origin: str, scrub: Callable[[str], str]
) -> lifecycle.CloudError:
    """No answer: the request was never sent, or nobody knows what became of it."""
    name = type(error).__name__
    if isinstance(error, NoCredentials) or name in _NO_CREDENTIALS:
        told = f": {scrub(str(error))}" if str(error) else ""
        return lifecycle.Denied(f"cannot {what}: there are no AWS credentials{told}. Check {origin}", code=name)
    if type(error) is ValueError or name in _NOT_SENT_BY_US:
        return lifecycle.Invalid(f"cannot {what}: {scrub(str(error))}. Correct the manifest", code=name)
    message = f"AWS did not answer when asked to {what} ({_REASONS.get(name, name)})"
    if name in _NEVER_SENT:
        return lifecycle.Unavailable(f"{message}. Check the network; it is asked again", code=name)
    return _unserved(effect, message, {"code": name})


_REASONS = {
    "EndpointConnectionError": "no connection",
    "ConnectTimeoutError": "no connection",
    "ProxyConnectionError": "no connection to the proxy",
    "SSLError": "its certificate is not trusted; behind a proxy that signs anew, set AWS_CA_BUNDLE to its CA",
    "ReadTimeoutError": "time-out",
    "ConnectionClosedError": "connection lost",
    "ResponseParserError": "what came is no answer of it",
}
"""botocore's exceptions in words, without the address that it prints."""


def read(error: Exception, service: str) -> Failure | None:
    """What the service answered, None when ``error`` is not an answer of a service."""
    raw = getattr(error, "response", None)
    if not isinstance(raw, dict) or "Error" not in raw:
        return None
    meta = raw.get("ResponseMetadata", {})
    headers = {str(name).lower(): str(value) for name, value in meta.get("HTTPHeaders", {}).items()}
    return Failure(
        status=int(meta.get("HTTPStatusCode", 0)),
        code=str(raw["Error"].get("Code", "")).removeprefix("Client.").removeprefix("Server."),
        text=str(raw["Error"].get("Message", "")),
        service=service,
        operation=str(getattr(error, "operation_name", "")),
        headers=headers,
        request_id=str(meta.get("RequestId", "")),
    )
