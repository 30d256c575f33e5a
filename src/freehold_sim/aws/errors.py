"""The codes that the services have for the same mistakes (docs/reference/simulator-aws.md#errors)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from freehold_sim.aws.call import Refused
from freehold_sim.aws.protocols.invalid import Invalid, Wrong
from freehold_sim.faults import Effect, Fault

Code = tuple[str, int]
"""An error code and its HTTP status."""


@dataclass(frozen=True)
class Codes:
    """The error codes of one service."""

    unknown: str
    missing: str
    wrong_type: str
    value: str
    throttled: Code
    internal: str
    denied: Code
    expired: Code
    bad_key: Code
    quota: Code
    no_action: Code


_QUERY = Codes(
    unknown="ValidationError",
    missing="ValidationError",
    wrong_type="ValidationError",
    value="ValidationError",
    throttled=("Throttling", 400),
    internal="InternalFailure",
    denied=("AccessDenied", 403),
    expired=("ExpiredToken", 403),
    bad_key=("InvalidClientTokenId", 403),
    quota=("LimitExceeded", 400),
    no_action=("InvalidAction", 400),
)
_JSON = Codes(
    unknown="SerializationException",
    missing="ValidationException",
    wrong_type="SerializationException",
    value="ValidationException",
    throttled=("ThrottlingException", 400),
    internal="InternalServiceError",
    denied=("AccessDeniedException", 400),
    expired=("ExpiredTokenException", 400),
    bad_key=("UnrecognizedClientException", 400),
    quota=("LimitExceededException", 400),
    no_action=("UnknownOperationException", 400),
)
CODES: Mapping[str, Codes] = {
    "ec2": Codes(
        unknown="UnknownParameter",
        missing="MissingParameter",
        wrong_type="InvalidParameterValue",
        value="InvalidParameterValue",
        throttled=("RequestLimitExceeded", 503),
        internal="InternalError",
        denied=("UnauthorizedOperation", 403),
        expired=("RequestExpired", 400),
        bad_key=("AuthFailure", 401),
        quota=("ResourceLimitExceeded", 400),
        no_action=("InvalidAction", 400),
    ),
    "elb": _QUERY,
    "elbv2": _QUERY,
    "iam": replace(_QUERY, quota=("LimitExceeded", 409)),
    "sts": _QUERY,
    "resourcegroupstaggingapi": replace(
        _JSON,
        missing="InvalidParameterException",
        value="InvalidParameterException",
        throttled=("ThrottledException", 400),
        internal="InternalServiceException",
    ),
    "secretsmanager": replace(_JSON, value="ValidationException", missing="ValidationException"),
    "ssm": _JSON,
    "kms": _JSON,
    "eks": replace(
        _JSON,
        unknown="InvalidParameterException",
        missing="InvalidParameterException",
        wrong_type="SerializationException",
        value="InvalidParameterException",
        throttled=("ThrottlingException", 429),
        internal="ServerException",
        denied=("AccessDeniedException", 403),
        expired=("ExpiredTokenException", 403),
        bad_key=("UnrecognizedClientException", 403),
        quota=("ResourceLimitExceededException", 400),
        no_action=("UnknownOperationException", 404),
    ),
    "s3": Codes(
        unknown="InvalidArgument",
        missing="MissingRequestBodyError",
        wrong_type="MalformedXML",
        value="InvalidArgument",
        throttled=("SlowDown", 503),
        internal="InternalError",
        denied=("AccessDenied", 403),
        expired=("ExpiredToken", 400),
        bad_key=("InvalidAccessKeyId", 403),
        quota=("TooManyBuckets", 400),
        no_action=("MethodNotAllowed", 405),
    ),
}

_QUOTA_CODES: Mapping[str, str] = {
    "ec2.CreateVpc": "VpcLimitExceeded",
    "ec2.AssociateVpcCidrBlock": "CidrLimitExceeded",
    "ec2.CreateSubnet": "SubnetLimitExceeded",
    "ec2.CreateInternetGateway": "InternetGatewayLimitExceeded",
    "ec2.AllocateAddress": "AddressLimitExceeded",
    "ec2.CreateNatGateway": "NatGatewayLimitExceeded",
    "ec2.CreateRouteTable": "RouteTableLimitExceeded",
    "ec2.CreateRoute": "RouteLimitExceeded",
    "ec2.CreateSecurityGroup": "SecurityGroupLimitExceeded",
    "ec2.AuthorizeSecurityGroupIngress": "RulesPerSecurityGroupLimitExceeded",
    "ec2.AuthorizeSecurityGroupEgress": "RulesPerSecurityGroupLimitExceeded",
    "ec2.CreateNetworkInterface": "NetworkInterfaceLimitExceeded",
    "ec2.CreateVpcEndpoint": "VpcEndpointLimitExceeded",
    "ec2.RunInstances": "VcpuLimitExceeded",
    "elb.CreateLoadBalancer": "TooManyLoadBalancers",
    "elbv2.CreateLoadBalancer": "TooManyLoadBalancers",
    "elbv2.CreateTargetGroup": "TooManyTargetGroups",
    "elbv2.CreateListener": "TooManyListeners",
}
"""The codes of full quotas, where the operation has one of its own."""


def of_invalid(service: str, invalid: Invalid) -> Refused:
    """Return the refusal of a request that contradicts the service model."""
    codes = CODES[service]
    code = {
        Wrong.UNKNOWN: codes.unknown,
        Wrong.MISSING: codes.missing,
        Wrong.TYPE: codes.wrong_type,
        Wrong.LENGTH: codes.value,
        Wrong.VALUE: codes.value,
    }[invalid.wrong]
    if service == "ec2":
        return Refused(code, _ec2_message(invalid))
    return Refused(code, f"1 validation error detected: {invalid.wrong} at '{invalid.path}'. {invalid.detail}".strip())


def _ec2_message(invalid: Invalid) -> str:
    match invalid.wrong:
        case Wrong.UNKNOWN:
            return f"The parameter {invalid.path} is not recognized"
        case Wrong.MISSING:
            return f"The request must contain the parameter {invalid.path}"
        case _:
            return f"Invalid value for parameter {invalid.path}: {invalid.detail}"


def of_fault(service: str, operation: str, fault: Fault) -> Refused:
    """Return the refusal that a fault asks for, in the words of the service."""
    codes, name = CODES[service], f"{service}.{operation}"
    match fault.effect:
        case Effect.THROTTLE:
            refused = Refused(codes.throttled[0], fault.message or "Rate exceeded", codes.throttled[1])
        case Effect.DENIED:
            text = fault.message or f"You are not authorized to perform: {operation}"
            refused = Refused(codes.denied[0], text, codes.denied[1])
        case Effect.EXPIRED:
            text = fault.message or "The security token included in the request is expired"
            refused = Refused(codes.expired[0], text, codes.expired[1])
        case Effect.QUOTA:
            refused = quota(service, operation, fault.message or f"The quota of {name} is used up")
        case _:
            unavailable = fault.status == 503 and service == "ec2"
            code = "Unavailable" if unavailable else codes.internal
            refused = Refused(code, fault.message or "An internal error has occurred", fault.status)
    if fault.retry_after is not None:
        refused.headers["Retry-After"] = str(fault.retry_after)
    return refused


def quota(service: str, operation: str, message: str, code: str = "") -> Refused:
    """Return the refusal of a create that is over a quota; `code` is that of a quota which several operations have."""
    general, status = CODES[service].quota
    return Refused(code or _QUOTA_CODES.get(f"{service}.{operation}", general), message, status)
