"""The error table with answers that the simulator never gives: odd bodies, odd headers, and empty ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import requests
from ibm_botocore.exceptions import ParamValidationError
from ibm_cloud_sdk_core import ApiException

from freehold.engine import errors as engine_errors
from freehold.engine.port import Effect
from freehold.providers.ibm import errors
from freehold.providers.ibm.session import ApiKey, IbmSession
from harness.rows import over_rows


def _said(
    status: int, body: Any, headers: Mapping[str, str] | None = None, effect: Effect = Effect.WRITE
) -> engine_errors.CloudError:
    """The error for this answer."""
    response = requests.Response()
    response.status_code = status
    response._content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response.headers.update(headers or {})
    return _translated(ApiException(status, http_response=response), effect)


def _translated(error: Exception, effect: Effect = Effect.WRITE) -> engine_errors.CloudError:
    return errors.translate(
        error, effect=effect, what="create x", identity=errors.identity_of_key("KEY"), scrub=lambda text: text
    )


SEEN: dict[str, tuple[int, dict[str, Any], type[engine_errors.CloudError]]] = {
    "IBM/cloud-operators#97": (
        400,
        {"message": "Instance is pending reclamation. Please restore the instance and retry.", "status_code": 400},
        engine_errors.NotFound,
    ),
    "IBM/cloud-operators#70": (
        400,
        {"message": "Instance is already in pending_reclamation state.", "status_code": 400},
        engine_errors.NotFound,
    ),
    "IBM/cloud-operators#235": (
        400,
        {"message": "Instance is in pending_reclamation state.  Use API to reclaim the instance."},
        engine_errors.NotFound,
    ),
    "terraform-provider-ibm#3522": (
        422,
        {"message": "Instance is in reclamation, please use the API to the delete the resource reclamation"},
        engine_errors.NotFound,
    ),
    "openshift/installer#5211": (
        400,
        {"message": "Cannot delete instance or alias, resource keys must first be deleted."},
        engine_errors.InUse,
    ),
    "cloud-barista/cb-spider#1438": (
        409,
        {"errors": [{"code": "security_group_in_use", "message": "This security group is still associated to one or "
         "more network interfaces and load balancers. Please remove all associations before deleting this security "
         "group."}]},
        engine_errors.InUse,
    ),
    "terraform-provider-ibm#2779": (
        409,
        {"errors": [{"code": "subnet_in_use_network_interface_exists", "message": "Cannot delete the subnet while it "
         "is in use by one or more network interfaces. Please delete the network interfaces or their associated "
         "servers and retry: [  instances:0727-d8b55863-1000-49f6-b9ea-569559e8ac77-wsxq2  ]."}]},
        engine_errors.InUse,
    ),
    "terraform-provider-ibm#6835": (
        400,
        {"errors": [{"code": "x", "message": "The subnet with ID '02t7-8239e77f-e31c-466a-99d2-3e2a03b47693' is "
         "invalid."}]},
        engine_errors.NotReady,
    ),
    "terraform-provider-ibm#3006": (
        409,
        {"errors": [{"code": "load_balancer_update_conflict", "message": "The load balancer with ID 'r010-b6abb968' "
         "cannot be updated because its status is 'UPDATE_PENDING'."}]},
        engine_errors.NotReady,
    ),
    "ppc64le/devops-automation#6": (
        500,
        {"code": 500, "message": "user IBMid-xxxxxxx does not have any access authority"},
        engine_errors.Denied,
    ),
    "cluster-api-provider-ibmcloud#1815": (
        400,
        {"code": 0, "description": "error deleting dhcp server 3d34db53: network 21c3333e still attached to "
         "pvm-instances", "error": "bad request", "message": ""},
        engine_errors.InUse,
    ),
    "ansible-collection-ibm#114": (
        404,
        {"code": 0, "description": "The network ID x could not be found on cloud instance 8235eb2d.",
         "error": "item not found", "message": ""},
        engine_errors.NotFound,
    ),
    "terraform-provider-ibm#4190": (
        409,
        {"errors": [{"code": "conflict", "message": "A gateway with the same name already exists."}]},
        engine_errors.NameTaken,
    ),
    "vpc-python-sdk#65": (
        400,
        {"errors": [{"code": "validation_unique_failed", "message": "Provided Name (sdk-test-vpc2) is not unique"}]},
        engine_errors.NameTaken,
    ),
    "openshift/installer#9652": (
        400,
        {"errors": [{"code": "over_quota", "message": "Creating a new VPC will put the user over quota. Allocated: "
         "20, Requested: 1, Quota: 20"}]},
        engine_errors.Quota,
    ),
    "cluster-api-provider-ibmcloud#1653": (
        412,
        {"errors": [{"code": "precondition_failed", "message": "cannot add more than 5 gateways to the selected "
         "region"}]},
        engine_errors.Quota,
    ),
    "cluster-api-provider-ibmcloud#2106": (
        503,
        {"errors": [{"code": "internal_error", "message": "The system is currently unable to fulfill the request. "
         "Please retry. If the failure persists, contact support."}]},
        engine_errors.Unknown,
    ),
}  # fmt: skip


@over_rows("where", SEEN)
def test_error_texts_of_ibm_cloud(where: str) -> None:
    """Verbatim from public issues. Statuses that the issues do not show are the likely ones."""
    status, body, expected = SEEN[where]
    assert type(_said(status, body)) is expected


@pytest.mark.parametrize("status", [400, 403, 409])
@pytest.mark.parametrize("said", ["This would put the user over quota.", "exceeds the quota of 5", "quota exceeded"])
def test_a_quota_is_distinguished_from_a_missing_permission(status: int, said: str) -> None:
    """Some services answer 403 for a quota: the message must not ask for a permission."""
    assert type(_said(status, {"errors": [{"code": "x", "message": said}]})) is engine_errors.Quota


@pytest.mark.parametrize("status", [400, 409])
def test_a_network_that_is_still_connected_is_waited_for(status: int) -> None:
    """A detach takes effect late (terraform-provider-ibm#5482); nothing in the manifest is wrong."""
    said = "The requested network is already connected to an existing transit gateway."
    assert type(_said(status, {"errors": [{"code": "x", "message": said}]})) is engine_errors.InUse


@pytest.mark.parametrize(
    "body",
    [{"errors": ["plain text"]}, {"errors": {"message": "no list"}}, {"errors": [None]}, ["a", "list"], b"<html>", b""],
    ids=["text", "object", "null", "list", "html", "empty"],
)
def test_bodies_of_any_shape_are_refusals(body: Any) -> None:
    """A gateway between us and the service answers in its own format: never a traceback."""
    refused = _said(400, body)
    assert type(refused) is engine_errors.Invalid
    assert "create x" in refused.message


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "17"}, 17.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "²"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Sat, 21 Nov 2026 12:00:30 GMT", "Date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 30.0),
        ({"Retry-After": "Sat, 21 Nov 2026 12:00:30 GMT"}, None),
        ({"Retry-After": "86400"}, errors.LONGEST_WAIT),
    ],
    ids=["seconds", "decimal", "superscript", "negative", "nan", "word", "date", "date-alone", "a-day"],
)
def test_how_long_to_wait(headers: Mapping[str, str], expected: float | None) -> None:
    """RFC 9110 also allows a date, by the clock of the sender; an object that waits a day would be stuck."""
    throttled = _said(429, {}, headers)
    assert isinstance(throttled, engine_errors.Throttled)
    assert throttled.retry_after == expected


def test_an_unreadable_reply_is_not_a_refusal() -> None:
    """The create may have happened: truncated JSON is a ValueError, too, and not an error in the manifest."""
    for error in (json.JSONDecodeError("cut off", "{", 1), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")):
        assert type(_translated(error)) is engine_errors.Unknown
        assert type(_translated(error, Effect.READ)) is engine_errors.Unavailable


def test_a_request_that_the_sdk_rejects_is_refused() -> None:
    """Nothing was sent: waiting for its effect would never end."""
    for error in (ParamValidationError(report="Invalid bucket name"), ValueError("id must be provided")):
        assert type(_translated(error)) is engine_errors.Invalid


def test_a_long_error_of_a_vendor_is_cut() -> None:
    """Messages get into a status, whose size Kubernetes limits: the object would be stuck."""
    assert len(_said(400, {"message": "x" * 100_000}).message) < 2000


def test_neither_key_nor_token_is_ever_shown() -> None:
    session = IbmSession(ApiKey("the-key"))
    session.tokens.access_token = "the-token"
    assert session.scrub("the-key and the-token of it") == "*** and *** of it"


def test_the_error_of_an_untrusted_certificate_tells_what_to_do() -> None:
    """A company's proxy uses its own certificates: users behind one see this error first."""
    message = _translated(requests.exceptions.SSLError("CERTIFICATE_VERIFY_FAILED"), Effect.READ).message
    assert "REQUESTS_CA_BUNDLE" in message


@pytest.mark.parametrize("status", [400, 403, 409, 500])
def test_text_alone_does_not_make_a_resource_gone(status: int) -> None:
    """A zone, an account or a page may be "not found": if the resource counted as gone, it would be created twice."""
    for said in ("the zone was not found", "the resource group does not exist"):
        assert not isinstance(_said(status, {"message": said}), engine_errors.NotFound)


@pytest.mark.parametrize(
    ("effect", "error"), [(Effect.READ, engine_errors.Unavailable), (Effect.WRITE, engine_errors.Unknown)]
)
def test_a_404_of_a_proxy_does_not_mean_that_the_resource_is_gone(
    effect: Effect, error: type[engine_errors.CloudError]
) -> None:
    """An ingress without its backend answers so for every resource."""
    assert type(_said(404, b"default backend - 404", effect=effect)) is error
    assert isinstance(_said(404, {"errors": [{"message": "vpc not found"}]}, effect=effect), engine_errors.NotFound)


def test_a_secret_in_an_error_of_a_service_is_not_shown() -> None:
    """The message gets into a status, which many users may read."""
    response = requests.Response()
    response.status_code = 400
    response._content = json.dumps({"message": "the key s3cr3t is wrong"}).encode()
    error = errors.translate(
        ApiException(400, http_response=response),
        effect=Effect.READ,
        what="read x",
        identity=errors.identity_of_key("KEY"),
        scrub=lambda text: text.replace("s3cr3t", "***"),
    )
    assert "s3cr3t" not in error.message
    assert "***" in error.message
