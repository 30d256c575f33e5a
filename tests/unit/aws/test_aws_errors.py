"""The error table: a row for each code that AWS documents, and for each that the service models declare."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.retries.standard import ThrottledRetryableChecker

from freehold.engine import errors as engine_errors
from freehold.engine.port import Effect
from freehold.providers.aws import errors
from freehold.providers.aws.kind_facts import KINDS, OTHER_OPERATIONS
from freehold_sim.faults import Effect as Trouble
from freehold_sim.faults import Fault
from harness.aws_account import AwsAccount
from harness.rows import over_rows


def _said(
    code: str, operation: str = "CreateVpc", *, service: str = "ec2", text: str = "no", status: int = 400,
    effect: Effect = Effect.WRITE, headers: dict[str, str] | None = None,
) -> engine_errors.CloudError:  # fmt: skip
    """The error for this answer."""
    meta = {"HTTPStatusCode": status, "HTTPHeaders": headers or {}, "RequestId": "r-1"}
    reply: Any = {"Error": {"Code": code, "Message": text}, "ResponseMetadata": meta}
    return _translated(ClientError(reply, operation), effect, service)


def _translated(error: Exception, effect: Effect = Effect.WRITE, service: str = "ec2") -> engine_errors.CloudError:
    return errors.translate(
        error, effect=effect, service=service, what="create x", origin="the key", scrub=lambda text: text
    )


CODES: dict[type[engine_errors.CloudError], str] = {
    engine_errors.Throttled:
        "Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException "
        "RequestLimitExceeded TooManyRequestsException SlowDown BandwidthLimitExceeded PriorRequestNotComplete "
        "EC2ThrottledException ProvisionedThroughputExceeded ProvisionedThroughputExceededException "
        "TransactionInProgressException DependencyThrottle",
    engine_errors.NotFound:
        "InvalidVpcID.NotFound InvalidSubnetID.NotFound InvalidInternetGatewayID.NotFound "
        "InvalidRouteTableID.NotFound InvalidAllocationID.NotFound InvalidInstanceID.NotFound "
        "InvalidNetworkInterfaceID.NotFound InvalidVolume.NotFound InvalidVpcEndpointId.NotFound "
        "InvalidAssociationID.NotFound InvalidGroup.NotFound InvalidPermission.NotFound InvalidRoute.NotFound "
        "InvalidKeyPair.NotFound InvalidLaunchTemplateName.NotFoundException NatGatewayNotFound "
        "InvalidNatGatewayID.NotFound Gateway.NotAttached LoadBalancerNotFound TargetGroupNotFound ListenerNotFound "
        "ResourceNotFoundException NoSuchEntity NoSuchBucket NoSuchHostedZone InvalidInstance "
        "LoadBalancerNotFoundException ParameterNotFound 404",
    engine_errors.InUse:
        "DependencyViolation ResourceInUse ResourceInUseException InvalidIPAddress.InUse VolumeInUse "
        "InvalidNetworkInterface.InUse InvalidGroup.InUse DeleteConflict DeleteConflictException BucketNotEmpty "
        "HostedZoneNotEmpty CannotDelete TargetGroupInUse OperationNotPermitted",
    engine_errors.NameTaken:
        "InvalidGroup.Duplicate InvalidKeyPair.Duplicate InvalidLaunchTemplateName.AlreadyExistsException "
        "DuplicateLoadBalancerName DuplicateTargetGroupName EntityAlreadyExists BucketAlreadyOwnedByYou "
        "BucketAlreadyExists HostedZoneAlreadyExists ResourceExistsException DBClusterAlreadyExistsFault",
    errors.PartExists:
        "RouteAlreadyExists Resource.AlreadyAssociated InvalidPermission.Duplicate DuplicateListener PriorityInUse",
    engine_errors.TokenReused: "IdempotentParameterMismatch IdempotentParameterMismatchException",
    engine_errors.NotReady:
        "IncorrectInstanceState IncorrectState OperationInProgress ConcurrentModification "
        "ConcurrentModificationException ConflictException Conflict InvalidState InvalidStateException "
        "InvalidGatewayState OperationAborted UnmodifiableEntity EntityTemporarilyUnmodifiable ResourceNotReady "
        "ResourcePropagationDelayException CapacityReservationPending TrustStoreNotReady "
        "OpenIdIdpCommunicationError OpenIdIdpCommunicationErrorException",
    engine_errors.Quota:
        "VpcLimitExceeded AddressLimitExceeded NatGatewayLimitExceeded SecurityGroupLimitExceeded "
        "RulesPerSecurityGroupLimitExceeded InstanceLimitExceeded VcpuLimitExceeded VolumeLimitExceeded "
        "TooManyLoadBalancers TooManyTargetGroups TooManyTagsException TagLimitExceeded LimitExceeded "
        "LimitExceededException ResourceLimitExceededException ServiceQuotaExceeded ServiceQuotaExceededException "
        "TooManyBuckets TargetGroupAssociationLimit InsufficientCidrBlocks",
    engine_errors.NoCapacity:
        "InsufficientInstanceCapacity InsufficientFreeAddressesInSubnet InsufficientAddressCapacity "
        "InsufficientHostCapacity InsufficientCapacity InsufficientCapacityOnHost InsufficientReservedInstanceCapacity "
        "ReservationCapacityExceeded SpotMaxPriceTooLow Unsupported",
    errors.CredentialsExpired: "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired",
    engine_errors.Denied:
        "UnauthorizedOperation AccessDenied AccessDeniedException AuthFailure InvalidClientTokenId OptInRequired "
        "UnrecognizedClientException SignatureDoesNotMatch InvalidAccessKeyId InvalidSignatureException "
        "IncompleteSignature MissingAuthenticationToken InvalidToken NotSignedUp AuthorizationError NotAuthorized 403 "
        "AllAccessDisabled OperationNotPermittedException TagPolicyException TagPolicyViolation "
        "TagPolicyViolationException AuthFailure.ServiceLinkedRoleCreationNotPermitted",
    engine_errors.Invalid:
        "InvalidParameterValue InvalidParameterCombination InvalidParameter InvalidParameterException ValidationError "
        "ValidationException MalformedPolicyDocument InvalidSubnet.Range InvalidSubnet.Conflict InvalidAMIID.NotFound "
        "InvalidAMIID.Malformed MissingParameter MalformedQueryString InvalidTagKey.Malformed "
        "InvalidVpcID.Malformed UnknownParameter UnsupportedOperation InvalidVpc.Range DuplicateTagKeys "
        "PermanentRedirect TemporaryRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException 301 "
        "SerializationException PackedPolicyTooLarge PolicyNotAttachable MethodNotAllowed ClientException "
        "IncompatibleProtocols PublicPolicyException DecryptionFailure EncryptionFailure PreconditionNotMetException "
        "ReceiptHandleIsInvalid AvailabilityZoneNotSupported ResourceTypeNotSupportedException "
        "ResourceTypeUnsupportedException RegionDisabledException KeyPairMismatch ResourcesNotAssociated "
        "BadRequestException UnsupportedAvailabilityZoneException",
    engine_errors.Unavailable:
        "RequestTimeout RequestTimeoutException RequestTimeTooSkewed PaginationTokenExpiredException "
        "PaginationTokenExpired ExpiredNextToken ExpiredNextTokenException InvalidNextToken "
        "InvalidNextTokenException InvalidPaginationToken IDPCommunicationError",
    engine_errors.Unknown:
        "InternalError InternalFailure InternalServiceError InternalServiceException InternalServerError "
        "ServerException ServiceFailure ServiceFailureException ServiceUnavailable ServiceUnavailableException "
        "Unavailable ServerInternal HealthUnavailable DependencyTimeoutException KMSInternalException",
    errors.DryRunPassed: "DryRunOperation",
}  # fmt: skip
"""The wished classes, by hand. Of codes that only some operations answer with, or by whose text is decided, what the
others mean; those have tests of their own below."""
ROWS = [(code, error) for error, codes in CODES.items() for code in codes.split()]


def _failure(code: str, operation: str = "CreateVpc", service: str = "ec2", status: int = 400) -> errors.AwsFailure:
    return errors.AwsFailure(status, code, "no", service, operation)


@over_rows(("code", "error"), ROWS, ids=[code for code, _ in ROWS])
def test_each_code_has_its_class(code: str, error: type[engine_errors.CloudError]) -> None:
    """The class says what the engine does next (docs/reference/reliability.md R12 to R18)."""
    found = _said(code)
    assert type(found) is error
    assert (found.code, found.request_id) == (code, "r-1")


def test_no_code_has_two_rows() -> None:
    assert len({code for code, _ in ROWS}) == len(ROWS)


OF_EVERY_OPERATION = [rule for rule in errors.RULES if not rule.operations and not rule.words]


@over_rows("rule", OF_EVERY_OPERATION, ids=[rule.codes[0] for rule in OF_EVERY_OPERATION])
def test_each_code_and_each_pattern_of_the_table_has_its_row(rule: errors.AwsErrorRule) -> None:
    """What no row names could be moved to another class, and no test would tell."""
    rows = {code for code, error in ROWS if error is rule.error}
    literal = {code for code in rule.codes if "*" not in code}
    assert literal - rows == set()
    decided = {code for code in rows if errors.explicit_rule(_failure(code)) is rule}
    assert {pattern for pattern in rule.codes if not any(fnmatchcase(code, pattern) for code in decided)} == set()


@over_rows("code", CODES[engine_errors.Unknown].split())
def test_what_aws_failed_to_read_is_asked_again(code: str) -> None:
    assert type(_said(code, "DescribeVpcs", status=500, effect=Effect.READ)) is engine_errors.Unavailable


@pytest.mark.parametrize(
    ("status", "effect", "error"),
    [
        (400, Effect.WRITE, engine_errors.Invalid),
        (429, Effect.WRITE, engine_errors.Throttled),
        (500, Effect.WRITE, engine_errors.Unknown),
        (503, Effect.READ, engine_errors.Unavailable),
    ],
)
def test_of_a_new_code_the_status_decides(status: int, effect: Effect, error: type[engine_errors.CloudError]) -> None:
    assert type(_said("BrandNew", status=status, effect=effect)) is error


KEPT_BY_A_SERVICE = "You do not have permission to access the specified resource."
SOME_OPERATIONS: list[tuple[str, str, str, type[engine_errors.CloudError]]] = [
    ("AuthFailure", "ReleaseAddress", KEPT_BY_A_SERVICE, engine_errors.InUse),
    ("AuthFailure", "DisassociateAddress", "The address does not belong to you.", engine_errors.InUse),
    ("AuthFailure", "DetachNetworkInterface", "The interface is in use.", engine_errors.InUse),
    ("AuthFailure", "DetachNetworkInterface", "The interface is currently in use.", engine_errors.InUse),
    ("AuthFailure", "DeleteNetworkInterface", "You are not allowed to manage 'ela-attach' attachments.",
     engine_errors.InUse),
    ("AuthFailure", "ReleaseAddress", "AWS was not able to validate the provided access credentials",
     engine_errors.Denied),
    ("AuthFailure", "DescribeVpcs", KEPT_BY_A_SERVICE, engine_errors.Denied),
    *(
        ("ResourceInUseException", operation, "Cannot X because cluster a currently has update 1 in progress",
         engine_errors.NotReady)
        for operation in ("UpdateClusterConfig", "UpdateClusterVersion", "AssociateEncryptionConfig", "UpdateAddon")
    ),
    *(
        ("InvalidRequestException", operation, "Cluster 'a' is not in ACTIVE status", engine_errors.NotReady)
        for operation in ("UpdateClusterConfig", "UpdateClusterVersion", "AssociateEncryptionConfig", "CreateAddon",
                          "UpdateAddon", "DeleteAddon")
    ),
    *(
        ("InvalidRequestException", operation, "User not authorized to perform kms:CreateGrant operation",
         engine_errors.Denied)
        for operation in ("CreateCluster", "AssociateEncryptionConfig")
    ),
    ("InvalidRequestException", "DeleteCluster", "Cluster a has deletion protection", engine_errors.InUse),
    ("InvalidRequestException", "CreateAccessEntry", "The cluster's authentication mode must be set",
     engine_errors.Invalid),
    ("InvalidRequestException", "CreateSecret", "no", engine_errors.Invalid),
    ("ResourceInUseException", "DeleteCluster", "Cluster has nodegroups attached", engine_errors.InUse),
    ("InvalidParameterException", "CreateCluster", "Role with arn: a, could not be assumed because",
     engine_errors.NotReady),
    ("InvalidParameterException", "CreateCluster", "unsupported Kubernetes version", engine_errors.Invalid),
    ("InvalidParameterValue", "DeleteNetworkInterface", "Network interface 'eni-1' is currently in use.",
     engine_errors.InUse),
    ("InvalidParameterValue", "CreateNetworkInterface", "no", engine_errors.Invalid),
    ("ResourceInUseException", "CreateCluster", "no", engine_errors.NameTaken),
    ("ResourceInUseException", "CreateNodegroup", "no", engine_errors.NameTaken),
    ("ResourceInUseException", "CreateAddon", "no", engine_errors.NameTaken),
    ("ResourceInUseException", "CreateFargateProfile", "no", engine_errors.NameTaken),
    ("ResourceInUseException", "CreateAccessEntry", "no", engine_errors.NameTaken),
    ("ResourceInUseException", "DeleteCluster", "no", engine_errors.InUse),
    ("InvalidTarget", "RegisterTargets",
     "The following targets are not in a running state and cannot be registered: 'i-1'", engine_errors.NotReady),
    ("InvalidTarget", "RegisterTargets", "The following targets are not in the target group VPC 'vpc-1': 'i-1'",
     engine_errors.Invalid),
    ("InvalidInstance", "RegisterInstancesWithLoadBalancer", "Could not find EC2 instance i-1.",
     engine_errors.NotReady),
    ("InvalidInstance", "RegisterInstancesWithLoadBalancer", "EC2 instance i-1 is not in the same VPC as ELB.",
     engine_errors.NotFound),
    *(
        (code, "AssumeRoleWithWebIdentity", "no", engine_errors.Denied)
        for code in ("AccessDenied", "InvalidIdentityToken", "ExpiredTokenException", "IDPRejectedClaim")
    ),
    ("InvalidInstance", "DescribeInstanceHealth", "Could not find EC2 instance i-1.", engine_errors.NotFound),
]  # fmt: skip
"""EC2 says AuthFailure also of what a service keeps, the address of a NAT gateway that is being deleted: waiting helps,
other credentials do not. Of a create in EKS, in use means that the name is taken."""


@over_rows(
    ("code", "operation", "text", "error"), SOME_OPERATIONS, ids=[f"{row[0]} of {row[1]}" for row in SOME_OPERATIONS]
)
def test_what_some_operations_mean_by_a_code(
    code: str, operation: str, text: str, error: type[engine_errors.CloudError]
) -> None:
    assert type(_said(code, operation, text=text)) is error


def test_a_group_of_another_network_is_there_and_will_not_do() -> None:
    """The code is that of a group which is missing."""
    text = "You have specified two resources that belong to different networks."
    found = _said("InvalidGroup.NotFound", "AuthorizeSecurityGroupIngress", text=text)
    assert type(found) is engine_errors.Invalid and "connect the two VPCs" in found.message


def test_each_operation_that_the_table_names_has_its_row() -> None:
    named = {
        (code, operation, rule.error) for rule in errors.RULES for code in rule.codes for operation in rule.operations
    }
    assert named <= {(code, operation, error) for code, operation, _, error in SOME_OPERATIONS}


def test_what_botocore_takes_for_throttling_is_throttling() -> None:
    """But for LimitExceededException, which is a quota in the models of the services that we use."""
    other = {
        code
        for code in ThrottledRetryableChecker._THROTTLED_ERROR_CODES
        if type(_said(code)) is not engine_errors.Throttled
    }
    assert other == {"LimitExceededException"}


def test_a_denial_names_action_and_resource() -> None:
    text = "You are not authorized to perform this operation. Encoded authorization failure message: " + "x" * 3000
    found = _said("UnauthorizedOperation", "CreateLoadBalancer", service="elbv2", text=text, status=403)
    assert found.message == (
        "AWS refused to create x: You are not authorized to perform this operation (UnauthorizedOperation). "
        "Grant elasticloadbalancing:CreateLoadBalancer to the key"
    )


def test_a_denial_of_what_a_call_needs_beside_its_own_permission_names_that() -> None:
    text = "You are not authorized to perform: iam:PassRole on resource: arn:aws:iam::111122223333:role/nodes"
    found = _said("UnauthorizedOperation", "RunInstances", text=text, status=403)
    assert found.message.endswith("Grant iam:PassRole for that role to the key")
    spot = _said("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "RunInstances", status=403)
    assert "iam:CreateServiceLinkedRole" in spot.message


def test_retry_after_is_obeyed_within_limits() -> None:
    found = _said("Throttling", headers={"Retry-After": "3"}), _said("Throttling", headers={"retry-after": "86400"})
    assert [each.retry_after for each in found if isinstance(each, engine_errors.Throttled)] == [3.0, 600.0]


@pytest.mark.parametrize(
    ("raised", "effect", "error"),
    [
        (ReadTimeoutError(endpoint_url="https://x"), Effect.WRITE, engine_errors.Unknown),
        (ReadTimeoutError(endpoint_url="https://x"), Effect.READ, engine_errors.Unavailable),
        (ConnectionClosedError(endpoint_url="https://x"), Effect.WRITE, engine_errors.Unknown),
        (EndpointConnectionError(endpoint_url="https://x"), Effect.WRITE, engine_errors.Unavailable),
        (ConnectTimeoutError(endpoint_url="https://x"), Effect.WRITE, engine_errors.Unavailable),
        (NoCredentialsError(), Effect.WRITE, engine_errors.Denied),
        (ValueError("x is no region"), Effect.WRITE, engine_errors.Invalid),
        (KeyError("x"), Effect.WRITE, engine_errors.Unknown),
    ],
)
def test_without_an_answer(raised: Exception, effect: Effect, error: type[engine_errors.CloudError]) -> None:
    """What was sent may have taken effect; what was not sent has not."""
    found = _translated(raised, effect)
    assert type(found) is error
    assert "https://x" not in found.message


# -- the service models -----------------------------------------------------------------------------------------

SERVICES = sorted({kind.service for kind in KINDS}.union(*OTHER_OPERATIONS) - {"ec2"})
"""All that are asked anything. EC2 declares no errors: its codes are the lists above."""


@cache
def _declared(service: str) -> tuple[tuple[str, str, int], ...]:
    """Operation, code and status of every error that a service model declares."""
    model = botocore.session.get_session().get_service_model(service)
    return tuple(
        (name, str(shape.error_code or shape.name), int(shape.metadata.get("error", {}).get("httpStatusCode", 400)))
        for name in model.operation_names
        for shape in model.operation_model(name).error_shapes
    )


@pytest.mark.parametrize("service", SERVICES)
def test_every_error_that_a_used_operation_declares_has_a_row(service: str, used_operations: Any) -> None:
    found = [row for row in _declared(service) if row[0] in used_operations(service)]
    missing = {
        code
        for operation, code, status in found
        if errors.explicit_rule(_failure(code, operation, service, status)) is None
    }
    assert missing == set()
    assert found, "the model declares errors of what is used"


def test_ec2_declares_no_errors() -> None:
    """Once it does, this table can be checked against them."""
    assert _declared("ec2") == ()


# -- what the simulator answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "error"),
    [
        (Trouble.THROTTLE, engine_errors.Throttled),
        (Trouble.DENIED, engine_errors.Denied),
        (Trouble.QUOTA, engine_errors.Quota),
        (Trouble.ERROR_BEFORE, engine_errors.Unknown),
        (Trouble.ERROR_AFTER, engine_errors.Unknown),
        (Trouble.REPLY_LOST, engine_errors.Unknown),
        (Trouble.RESET, engine_errors.Unknown),
    ],
)
async def test_trouble_of_a_create_in_each_service(
    account: AwsAccount, effect: Trouble, error: type[engine_errors.CloudError]
) -> None:
    vpc = account.vpc()
    creates: list[tuple[str, str, dict[str, Any]]] = [
        ("ec2", "create_vpc", {"CidrBlock": "10.1.0.0/16"}),
        ("elbv2", "create_target_group", {"Name": "t", "Protocol": "TCP", "Port": 1, "VpcId": vpc}),
        ("s3", "create_bucket", {"Bucket": "our-bucket"}),
        ("resourcegroupstaggingapi", "tag_resources", {"ResourceARNList": ["arn:aws:s3:::x"], "Tags": {"a": "b"}}),
    ]
    for service, operation, params in creates:
        account.cloud.faults.add(Fault(effect, f"{service}.*"))
        with pytest.raises(engine_errors.CloudError) as caught:
            await account.api.write(service, operation, "x", **params)
        assert type(caught.value) is error, (service, caught.value)


async def test_a_list_that_is_not_found_is_not_empty(account: AwsAccount) -> None:
    with pytest.raises(errors.ListNotFound):
        await account.api.read_list("elbv2", "describe_listeners", "Listeners", "x", ListenerArns=[MISSING])


MISSING = "arn:aws:elasticloadbalancing:us-east-1:111122223333:listener/net/x/0123456789abcdef/0123456789abcdef"


async def test_a_list_is_read_to_its_end_page_by_page(make_account: Any) -> None:
    account = make_account(page_size=1)
    names = {account.vpc(f"10.{number}.0.0/16") for number in range(3)}
    found = await account.api.read_list("ec2", "describe_vpcs", "Vpcs", "all")
    assert {vpc["VpcId"] for vpc in found} == names
    assert account.sent() == ["ec2.describe_vpcs"] * 3
