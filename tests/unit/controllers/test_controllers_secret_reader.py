"""A Secret is read in the object's namespace and nowhere else, and no message has what is in it."""

from __future__ import annotations

import base64
import logging
from typing import Any

import pytest

from freehold.controllers.secret_reader import NamespaceSecrets
from freehold.engine import errors
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import SECRETS, Json, Key, Resource

VALUE = b"token: 0123456789\n"


class Server:
    """Answers every read with ``found``; an error is raised."""

    def __init__(self, found: Json | kube.KubeError) -> None:
        self.found = found
        self.asked: list[tuple[Resource, Key]] = []

    async def get(self, resource: Resource, key: Key) -> Json:
        self.asked.append((resource, key))
        if isinstance(self.found, kube.KubeError):
            raise self.found
        return self.found

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        raise AssertionError("no Secret is listed")


def secret(**data: Any) -> Json:
    return {"metadata": {"name": "boot"}, "data": data}


HELD = secret(value=base64.b64encode(VALUE).decode())


async def test_a_value_is_read_each_time_from_the_objects_namespace() -> None:
    server = Server(HELD)
    secrets = NamespaceSecrets(server, "ns")
    assert [await secrets.read("boot/value"), await secrets.read("boot/value")] == [VALUE, VALUE]
    assert server.asked == [(SECRETS, Key("ns", "boot"))] * 2


@pytest.mark.parametrize(
    "reference",
    (
        "", "boot", "/value", "boot/", "other/boot/value", "../other/secrets/boot/value", "../boot/value", "./value",
        "..%2Fother/value", "boot/../value", "boot/value/..", "boot?x/value", "boot /value", "boot\n/value",
        "Boot/value", "boot/value\n", "a" * 254 + "/value",
    ),
)  # fmt: skip
async def test_a_reference_of_another_form_reads_nothing(reference: str) -> None:
    """Who may edit an object can write any text into its journal."""
    server = Server(HELD)
    with pytest.raises(errors.NotFound):
        await NamespaceSecrets(server, "ns").read(reference)
    assert server.asked == []


FAILURES = {
    "it is gone": (kube.ObjectNotFound("x"), errors.NotFound, "Secret ns/boot does not exist"),
    "RBAC": (kube.Forbidden("x"), errors.Denied, "Grant the operator 'get' on secrets in namespace ns"),
    "no answer": (kube.ServerUnavailable("x"), errors.Unavailable, "could not be read"),
    "no such entry": (secret(other="eA=="), errors.NotFound, "no entry 'value'"),
    "no data": ({"metadata": {}}, errors.NotFound, "no entry 'value'"),
    "not base64": (secret(value=VALUE.decode()), errors.Invalid, "is not base64"),
    "no text": (secret(value=7), errors.Invalid, "is not base64"),
}


@pytest.mark.parametrize(("found", "error", "said"), FAILURES.values(), ids=FAILURES.keys())
async def test_a_failure_says_what_to_do_and_not_what_is_in_it(
    found: Any, error: type[errors.CloudError], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(error) as raised:
        await NamespaceSecrets(Server(found), "ns").read("boot/value")
    shown = f"{raised.value} {raised.value.message} {raised.value.__cause__} {caplog.text}"
    assert said in raised.value.message and "0123456789" not in shown
    hidden = raised.value.__suppress_context__ or raised.value.__context__ is None
    assert hidden, "a traceback would show what the decoder was given"
