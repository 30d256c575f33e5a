"""AWS's and botocore's failures as the engine's errors: one table of codes (docs/reference/aws.md#errors).

The first rule that fits decides. EC2 declares no errors in its service model, so the table is kept by hand; it is
checked against what the other services declare. Messages are for people: the request, the resource, AWS's answer, what
to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate as pattern_of
from functools import cache
from typing import Any

from freehold.engine import errors as engine_errors
from freehold.engine.port import Effect
from freehold.providers.aws.credentials import NoAwsCredentials
from freehold.providers.aws.permissions.policies import iam_action

LONGEST_WAIT = 600.0
"""Most seconds that a Retry-After is obeyed: a wrong one must not park an object for a day."""
_LONGEST_TEXT = 1000
"""Most characters of AWS's words: they go into a status, whose size Kubernetes limits."""


class CredentialsExpired(engine_errors.Denied):
    """The session has ended: new credentials are worth a try."""


class PartExists(engine_errors.NameTaken):
    """A part with this natural key exists; a read shows whether it is the wanted one."""


class DryRunPassed(engine_errors.CloudError):
    """A dry run succeeded; nothing happened."""


class ListNotFound(engine_errors.Unavailable):
    """A list was not found, which does not prove that its items are gone."""


@dataclass(frozen=True)
class AwsFailure:
    """A service's answer to a request that failed. ``operation`` as in the API: ``CreateVpc``."""

    status: int
    code: str
    text: str
    service: str = ""
    operation: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    request_id: str = ""

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, if the service gives them."""
        text = self.headers.get("retry-after", "")
        return min(float(text), LONGEST_WAIT) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else None


@dataclass(frozen=True)
class AwsErrorRule:
    """A row of the table, with ``codes`` (``*`` for any text) and, where given, ``operations`` and ``words``."""

    error: type[engine_errors.CloudError]
    advice: str
    codes: tuple[str, ...]
    operations: frozenset[str] = frozenset()
    words: re.Pattern[str] | None = None

    def fits(self, failure: AwsFailure) -> bool:
        if self.operations and failure.operation not in self.operations:
            return False
        if self.words and not self.words.search(failure.text):
            return False
        return any(_matches(code, failure.code) for code in self.codes)


def _matches(pattern: str, code: str) -> bool:
    return pattern == code or ("*" in pattern and _compile(pattern).fullmatch(code) is not None)


@cache  # the table has more patterns than fnmatch and re keep
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern_of(pattern))


def _rule(
    error: type[engine_errors.CloudError], advice: str, codes: str, *, operations: str = "", words: str = ""
) -> AwsErrorRule:
    pattern = re.compile(words, re.IGNORECASE) if words else None
    return AwsErrorRule(error, advice, tuple(codes.split()), frozenset(operations.split()), pattern)


_SLOWER = "It is asked again more slowly"
_SOON = "It is asked again soon"

RULES: tuple[AwsErrorRule, ...] = (
    _rule(DryRunPassed, "Nothing was changed", "DryRunOperation"),
    _rule(
        engine_errors.Throttled,
        _SLOWER,
        "Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException "
        "RequestLimitExceeded TooManyRequestsException SlowDown BandwidthLimitExceeded PriorRequestNotComplete "
        "EC2ThrottledException ProvisionedThroughputExceeded ProvisionedThroughputExceededException "
        "TransactionInProgressException DependencyThrottle",
    ),
    # -- credentials and permissions ---------------------------------------------------------------------------
    # A service account's token for a role: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
    _rule(
        engine_errors.Denied,
        "Let the trust policy of the role in AWS_ROLE_ARN allow it to this service account",
        "AccessDenied",
        operations="AssumeRoleWithWebIdentity",
    ),
    _rule(
        engine_errors.Denied,
        "Check the token file of AWS_WEB_IDENTITY_TOKEN_FILE, and IAM's identity provider for the issuer of its token",
        "InvalidIdentityToken ExpiredTokenException IDPRejectedClaim",
        operations="AssumeRoleWithWebIdentity",
    ),
    _rule(engine_errors.Unavailable, _SOON, "IDPCommunicationError"),
    _rule(
        CredentialsExpired,
        "Renew {origin}; if new ones are refused too, correct the clock of this machine",
        "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired",
    ),
    _rule(engine_errors.Unavailable, "Correct the clock of this machine", "RequestTimeTooSkewed"),
    # EC2 also answers AuthFailure for what a service manages: a NAT gateway's address, a load balancer's interface
    # (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/requester-managed-eni.html).
    _rule(
        engine_errors.InUse,
        "Delete what it belongs to first; it is asked again",
        "AuthFailure",
        operations="ReleaseAddress DisassociateAddress DeleteNetworkInterface DetachNetworkInterface",
        words=r"do not have permission|not allowed to manage|does not belong to you|is in use|currently in use",
    ),
    _rule(
        engine_errors.Denied,
        "Check {origin}",
        "AuthFailure InvalidClientTokenId UnrecognizedClientException SignatureDoesNotMatch InvalidAccessKeyId "
        "InvalidSignatureException IncompleteSignature MissingAuthenticationToken InvalidToken NotSignedUp",
    ),
    _rule(
        engine_errors.Denied,
        "Make the request agree with the tag policy of the organization, or change the policy",
        "TagPolicyException TagPolicyViolation TagPolicyViolationException",
    ),
    _rule(
        engine_errors.Denied,
        "Grant iam:PassRole for that role to {origin}",
        "UnauthorizedOperation AccessDenied AccessDeniedException",
        words=r"iam:PassRole",
    ),
    _rule(
        engine_errors.Denied,
        "Grant iam:CreateServiceLinkedRole to {origin}, or start one spot instance as somebody who has it",
        "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
    ),
    _rule(
        engine_errors.Denied,
        "Grant {action} to {origin}",
        "UnauthorizedOperation AccessDenied AccessDeniedException OptInRequired AuthorizationError NotAuthorized 403 "
        "AllAccessDisabled OperationNotPermittedException",
    ),
    # EKS asks KMS as its caller: kubernetes-sigs/cluster-api-provider-aws#2432.
    _rule(
        engine_errors.Denied,
        "Grant kms:DescribeKey and kms:CreateGrant on that key to {origin}; the policies of deploy/iam do so for keys "
        "with an alias that begins with cluster-api-provider-aws-",
        "InvalidRequestException",
        operations="CreateCluster AssociateEncryptionConfig",
        words=r"authorized to perform:? kms:",
    ),
    # -- limits ------------------------------------------------------------------------------------------------
    _rule(
        engine_errors.NoCapacity,
        "Choose another zone, subnet or size, or wait",
        "InsufficientInstanceCapacity InsufficientFreeAddressesInSubnet InsufficientAddressCapacity "
        "InsufficientHostCapacity InsufficientCapacity InsufficientCapacityOnHost InsufficientReservedInstanceCapacity "
        "ReservationCapacityExceeded Unsupported",
    ),
    _rule(
        engine_errors.NoCapacity,
        "Raise the highest price, or choose another zone or size",
        "SpotMaxPriceTooLow",
    ),
    # LimitExceededException: throttling in the eyes of botocore, a quota in the models of IAM and Secrets Manager.
    _rule(
        engine_errors.Quota,
        "Delete what is not needed, or ask AWS to raise the limit",
        "*LimitExceeded *LimitExceededException *QuotaExceeded *QuotaExceededException TooMany* "
        "TargetGroupAssociationLimit InsufficientCidrBlocks",
    ),
    # -- tokens and names --------------------------------------------------------------------------------------
    _rule(
        engine_errors.TokenReused,
        "The resource that this token made is searched for",
        "IdempotentParameterMismatch IdempotentParameterMismatchException",
    ),
    _rule(engine_errors.Invalid, "Correct the manifest", "DuplicateTagKeys InvalidSubnet.Conflict InvalidAMI*"),
    _rule(
        PartExists,
        "The existing one is read first",
        "RouteAlreadyExists Resource.AlreadyAssociated InvalidPermission.Duplicate DuplicateListener PriorityInUse",
    ),
    _rule(
        engine_errors.NameTaken,
        "Choose another name, or remove the resource that has it",
        "ResourceInUseException",
        operations="CreateCluster CreateNodegroup CreateAddon CreateFargateProfile CreateAccessEntry",
    ),
    _rule(
        engine_errors.NameTaken,
        "Choose another name, or remove the resource that has it",
        "*.Duplicate *AlreadyExists *AlreadyExistsException *AlreadyExistsFault Duplicate* EntityAlreadyExists "
        "ResourceExistsException BucketAlreadyOwnedByYou BucketAlreadyExists",
    ),
    # One update at a time: https://github.com/aws-controllers-k8s/community/issues/1192.
    _rule(
        engine_errors.NotReady,
        "It is asked again when the update that is under way is over",
        "ResourceInUseException",
        operations="UpdateClusterConfig UpdateClusterVersion AssociateEncryptionConfig UpdateAddon",
    ),
    _rule(
        engine_errors.InUse,
        "Take its protection against deletion off",
        "InvalidRequestException",
        operations="DeleteCluster",
    ),
    # "The request is invalid given the state of the cluster" (the errors of each of these operations).
    _rule(
        engine_errors.NotReady,
        "It is asked again when the change that is under way is over",
        "InvalidRequestException",
        operations="UpdateClusterConfig UpdateClusterVersion AssociateEncryptionConfig CreateAddon UpdateAddon "
        "DeleteAddon",
    ),
    # A new role can be assumed some seconds later: https://github.com/aws/aws-cdk/issues/16037.
    _rule(
        engine_errors.NotReady,
        "A new role can be used after some seconds; check that it exists and trusts eks.amazonaws.com",
        "InvalidParameterException",
        operations="CreateCluster",
        words=r"could not be assumed",
    ),
    _rule(
        engine_errors.Invalid,
        "Choose subnets in the zones that it names",
        "UnsupportedAvailabilityZoneException",
    ),
    # -- what stands in the way --------------------------------------------------------------------------------
    _rule(
        engine_errors.InUse,
        "Remove what uses it; it is asked again",
        "DependencyViolation ResourceInUse ResourceInUseException *.InUse VolumeInUse DeleteConflict "
        "DeleteConflictException BucketNotEmpty HostedZoneNotEmpty CannotDelete TargetGroupInUse",
    ),
    # Its only parameter is the id, and malformed ids have codes of their own (gruntwork-io/cloud-nuke#431).
    _rule(
        engine_errors.InUse,
        "Detach it; it is asked again",
        "InvalidParameterValue",
        operations="DeleteNetworkInterface",
    ),
    _rule(engine_errors.InUse, "Take its protection against deletion off", "OperationNotPermitted"),
    _rule(
        engine_errors.NotReady,
        "It is asked again when the change that is under way is over",
        "Incorrect* OperationInProgress OperationAborted Concurrent* ConflictException Conflict InvalidState "
        "InvalidStateException InvalidGatewayState UnmodifiableEntity ResourceNotReady "
        "ResourcePropagationDelayException EntityTemporarilyUnmodifiable *NotReady CapacityReservationPending",
    ),
    _rule(engine_errors.NotReady, "It is asked again when the issuer answers", "OpenIdIdpCommunicationError*"),
    # Elastic Load Balancing learns from EC2 that an instance runs.
    _rule(
        engine_errors.NotReady,
        "It is registered when the load balancer sees it running",
        "InvalidTarget",
        operations="RegisterTargets",
        words=r"not in a running state",
    ),
    _rule(
        engine_errors.NotReady,
        "It is registered when the load balancer sees it",
        "InvalidInstance",
        operations="RegisterInstancesWithLoadBalancer",
        words=r"could not find",
    ),
    # -- what is missing ---------------------------------------------------------------------------------------
    _rule(
        engine_errors.NotFound,
        "Create that key pair, or name another one in sshKeyName ('default' where it is not set, '' for no key)",
        "InvalidKeyPair.NotFound",
    ),
    # The group exists, in a VPC without a connection to this one (ansible#45782).
    _rule(
        engine_errors.Invalid,
        "Name a security group of the cluster's VPC, or connect the two VPCs",
        "InvalidGroup.NotFound",
        words=r"belong to different networks",
    ),
    _rule(
        engine_errors.NotFound,
        "Check that it still exists",
        "*.NotFound *NotFound *NotFoundException NoSuch* Gateway.NotAttached *.NotFoundException "
        "InvalidInstance LoadBalancerNotFoundException 404",
    ),
    # -- AWS's side --------------------------------------------------------------------------------------------
    _rule(
        engine_errors.Unavailable,
        "The list is asked for again from its beginning",
        "PaginationTokenExpired PaginationTokenExpiredException ExpiredNextToken ExpiredNextTokenException "
        "InvalidNextToken InvalidNextTokenException InvalidPaginationToken",
    ),
    _rule(engine_errors.Unavailable, _SOON, "RequestTimeout RequestTimeoutException"),
    _rule(
        engine_errors.Unknown,
        "",
        "InternalError InternalFailure InternalServiceError InternalServiceException InternalServerError "
        "ServerException ServiceFailure ServiceFailureException ServiceUnavailable ServiceUnavailableException "
        "Unavailable ServerInternal HealthUnavailable DependencyTimeoutException KMSInternalException",
    ),
    _rule(
        engine_errors.Invalid,
        "The bucket is in another region; name one that does not exist",
        "PermanentRedirect TemporaryRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException 301",
    ),
    # -- the request itself ------------------------------------------------------------------------------------
    _rule(
        engine_errors.Invalid,
        "Correct the manifest",
        "Invalid* *Invalid Missing* Malformed* Validation* Unknown* Unsupported* *.Malformed *NotSupported "
        "*NotSupportedException *UnsupportedException SerializationException PackedPolicyTooLarge "
        "PolicyNotAttachable RegionDisabled* *Mismatch MethodNotAllowed ClientException BadRequestException "
        "IncompatibleProtocols ResourcesNotAssociated* PublicPolicyException DecryptionFailure EncryptionFailure "
        "PreconditionNotMetException",
    ),
)  # fmt: skip


def translate(
    error: Exception, *, effect: Effect, service: str, what: str, origin: str, scrub: Callable[[str], str]
) -> engine_errors.CloudError:
    """Return the engine's error for what botocore raised.

    ``what`` names the request and its resource (``create vpc default/prod``), ``origin`` whose credentials were used;
    ``scrub`` removes secrets.
    """
    failure = parse_failure(error, service)
    if failure is None:
        return _translate_transport(error, effect, what, origin, scrub)
    return translate_failure(failure, effect=effect, what=what, origin=origin, scrub=scrub)


def translate_failure(
    failure: AwsFailure, *, effect: Effect, what: str, origin: str, scrub: Callable[[str], str]
) -> engine_errors.CloudError:
    """Return the engine's error for a service's answer, which may concern one resource of a batch."""
    said = scrub(_strip_encoded_message(failure.text))[:_LONGEST_TEXT] or "nothing"
    facts: dict[str, Any] = {"code": failure.code or str(failure.status), "request_id": failure.request_id}
    rule = rule_for(failure)
    if rule is None or rule.error is engine_errors.Unknown:
        return _unserved_error(effect, f"AWS could not {what}: {said}", facts)
    advice = rule.advice.format(origin=origin, action=iam_action(failure.service, failure.operation))
    fact = f"AWS refused to {what}: {said.removesuffix('.')} ({failure.code})"
    if issubclass(rule.error, engine_errors.Throttled):
        return rule.error(fact, advice=advice, retry_after=failure.retry_after, **facts)
    return rule.error(fact, advice=advice, **facts)


def rule_for(failure: AwsFailure) -> AwsErrorRule | None:
    """Return the row of the table. A code that the table lacks is the request's fault with 4xx, else AWS's (None)."""
    if (rule := explicit_rule(failure)) is not None:
        return rule
    if failure.status == 429:
        return next(rule for rule in RULES if rule.error is engine_errors.Throttled)
    return RULES[-1] if 400 <= failure.status < 500 else None


def explicit_rule(failure: AwsFailure) -> AwsErrorRule | None:
    """Return the first row with this code; None for a code that the table lacks."""
    return next((rule for rule in RULES if rule.fits(failure)), None)


def is_unreachable(error: engine_errors.CloudError) -> bool:
    """Return whether no connection was made at all: the service may have no endpoint in this network or partition."""
    return error.code in _NEVER_SENT


def to_denied(expired: CredentialsExpired) -> engine_errors.Denied:
    """Return the refusal as final: new credentials have been tried, or there are none."""
    return engine_errors.Denied(expired.message, code=expired.code, request_id=expired.request_id)


def missing_list_error(operation: str, subject: str) -> engine_errors.CloudError:
    """Return the error for a successful reply without the list that was asked for."""
    return engine_errors.Unavailable(
        f"AWS did not {operation.replace('_', ' ')} ({subject}): its reply has no list. It is asked again"
    )


def endless_list_error(operation: str, subject: str) -> engine_errors.CloudError:
    """Return the error for a list that names one page twice."""
    return engine_errors.Unavailable(
        f"{operation.replace('_', ' ')} ({subject}) does not end: AWS names a page twice. It is asked again"
    )


def _strip_encoded_message(text: str) -> str:
    """Remove the encoded message, which is a page long and only its account's administrator can decode."""
    return re.sub(r"\s*Encoded authorization failure message: \S+", "", text).strip()


def _unserved_error(effect: Effect, message: str, facts: Mapping[str, Any]) -> engine_errors.CloudError:
    if effect is Effect.READ:
        return engine_errors.Unavailable(f"{message}. It is asked again", **facts)
    return engine_errors.Unknown(f"{message}. Whether it took effect is found out before it is tried again", **facts)


_NEVER_SENT = frozenset({"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError"})
_NO_CREDENTIALS = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound",
     "TokenRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError", "InvalidConfigError"}
)  # fmt: skip
_NOT_SENT_BY_US = frozenset({"ParamValidationError", "UnknownRegionError", "InvalidRegionError", "NoRegionError"})


def _translate_transport(
    error: Exception, effect: Effect, what: str, origin: str, scrub: Callable[[str], str]
) -> engine_errors.CloudError:
    """Return the error for a missing answer: the request was never sent, or its outcome is unknown."""
    name = type(error).__name__
    if isinstance(error, NoAwsCredentials) or name in _NO_CREDENTIALS:
        said = " ".join(scrub(str(error)).split())  # an agent's answer ends its line
        reason = f": {said}" if said else ""
        return engine_errors.Denied(f"cannot {what}: there are no AWS credentials{reason}. Check {origin}", code=name)
    if type(error) is ValueError or name in _NOT_SENT_BY_US:
        return engine_errors.Invalid(f"cannot {what}: {scrub(str(error))}. Correct the manifest", code=name)
    message = f"AWS did not answer when asked to {what} ({_REASONS.get(name, name)})"
    if name in _NEVER_SENT:
        return engine_errors.Unavailable(f"{message}. Check the network; it is asked again", code=name)
    return _unserved_error(effect, message, {"code": name})


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


def parse_failure(error: Exception, service: str) -> AwsFailure | None:
    """Return the service's answer; None when ``error`` is not an answer of a service."""
    raw = getattr(error, "response", None)
    if not isinstance(raw, dict) or "Error" not in raw:
        return None
    meta = raw.get("ResponseMetadata", {})
    headers = {str(name).lower(): str(value) for name, value in meta.get("HTTPHeaders", {}).items()}
    return AwsFailure(
        status=int(meta.get("HTTPStatusCode", 0)),
        code=str(raw["Error"].get("Code", "")).removeprefix("Client.").removeprefix("Server."),
        text=str(raw["Error"].get("Message", "")),
        service=service,
        operation=str(getattr(error, "operation_name", "")),
        headers=headers,
        request_id=str(meta.get("RequestId", "")),
    )
