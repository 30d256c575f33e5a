"""The error table on answers that the simulator never gives: odd bodies, odd headers, and nothing said at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import requests
from ibm_botocore.exceptions import ParamValidationError
from ibm_cloud_sdk_core import ApiException

from freehold.clouds.ibm import errors
from freehold.clouds.ibm.session import Credentials, IbmSession
from freehold.lifecycle import errors as lifecycle
from freehold.lifecycle.port import Effect


def _said(
    status: int, body: Any, headers: Mapping[str, str] | None = None, effect: Effect = Effect.WRITE
) -> lifecycle.CloudError:
    """What becomes of this answer."""
    response = requests.Response()
    response.status_code = status
    response._content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response.headers.update(headers or {})
    return _translated(ApiException(status, http_response=response), effect)


def _translated(error: Exception, effect: Effect = Effect.WRITE) -> lifecycle.CloudError:
    return errors.translate(error, effect=effect, what="create x", variable="KEY", scrub=lambda text: text)


@pytest.mark.parametrize("status", [400, 403, 409])
@pytest.mark.parametrize("said", ["This would put the user over quota.", "exceeds the quota of 5", "quota exceeded"])
def test_a_quota_is_told_from_a_missing_permission(status: int, said: str) -> None:
    """Some services answer 403: a permission that nobody lacks must not be asked for."""
    assert type(_said(status, {"errors": [{"code": "x", "message": said}]})) is lifecycle.Quota


@pytest.mark.parametrize("status", [400, 409])
def test_a_network_that_is_connected_still_is_waited_for(status: int) -> None:
    """A detach takes effect late (terraform-provider-ibm#5482); nothing in the manifest is wrong."""
    said = "The requested network is already connected to an existing transit gateway."
    assert type(_said(status, {"errors": [{"code": "x", "message": said}]})) is lifecycle.InUse


@pytest.mark.parametrize(
    "body",
    [{"errors": ["plain text"]}, {"errors": {"message": "no list"}}, {"errors": [None]}, ["a", "list"], b"<html>", b""],
    ids=["text", "object", "null", "list", "html", "empty"],
)
def test_bodies_of_any_shape_are_refusals(body: Any) -> None:
    """A gateway between us and the service answers in words of its own: never a traceback."""
    refused = _said(400, body)
    assert type(refused) is lifecycle.Invalid
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
    """RFC 9110 allows a date too, measured by the clock that wrote it; a day would be a stuck object."""
    throttled = _said(429, {}, headers)
    assert isinstance(throttled, lifecycle.Throttled)
    assert throttled.retry_after == expected


def test_a_reply_that_cannot_be_read_is_no_refusal() -> None:
    """The create may have happened: JSON cut off after the effect is a ValueError too, and not the manifest's."""
    for error in (json.JSONDecodeError("cut off", "{", 1), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")):
        assert type(_translated(error)) is lifecycle.Unknown
        assert type(_translated(error, Effect.READ)) is lifecycle.Unavailable


def test_what_an_sdk_will_not_send_is_refused() -> None:
    """Nothing was sent, and nothing ever will be: waiting for its effect would go on for ever."""
    for error in (ParamValidationError(report="Invalid bucket name"), ValueError("id must be provided")):
        assert type(_translated(error)) is lifecycle.Invalid


def test_a_vendor_s_novel_is_cut() -> None:
    """Messages stand in a status, which Kubernetes refuses to store above a size: the object would be stuck."""
    assert len(_said(400, {"message": "x" * 100_000}).message) < 2000


def test_neither_key_nor_token_is_ever_shown() -> None:
    session = IbmSession(Credentials("the-key"))
    session.tokens.access_token = "the-token"
    assert session.scrub("the-key and the-token of it") == "*** and *** of it"


def test_a_certificate_that_is_not_trusted_says_what_to_do() -> None:
    """A company's proxy signs anew: the first thing that anybody behind one sees."""
    message = _translated(requests.exceptions.SSLError("CERTIFICATE_VERIFY_FAILED"), Effect.READ).message
    assert "REQUESTS_CA_BUNDLE" in message
