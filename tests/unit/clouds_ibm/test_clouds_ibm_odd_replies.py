"""Replies with 200 that are no answers, lists that do not end, and fields that IBM Cloud may leave out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from freehold.clouds.ibm.times import epoch
from freehold.lifecycle.errors import NotReady, Unavailable, Unknown
from freehold.lifecycle.kinds import Ref
from freehold_sim.http import Request, Response

JSON = {"Content-Type": "application/json"}
PAGE = "<html>Please sign in to this network</html>"


class Distorted:
    """A cloud of which one operation's replies are replaced, or changed field by field, on their way to us."""

    def __init__(self, cloud: Any, method: str, path: str, answer: Response | Mapping[str, Any]) -> None:
        self._cloud, self._method, self._path, self._answer = cloud, method, path, answer
        self._handle = cloud.handle
        cloud.handle = self.handle

    def handle(self, request: Request, actor: str = "api") -> Response:
        reply = self._handle(request, actor)
        if actor != "api" or request.method != self._method or not request.path.rstrip("/").endswith(self._path):
            return reply
        if isinstance(self._answer, Response):
            return self._answer
        body = {name: value for name, value in {**reply.json(), **self._answer}.items() if value is not None}
        return Response(reply.status, json.dumps(body).encode(), reply.headers)


@pytest.mark.parametrize(
    "answer",
    [Response(200, PAGE.encode(), {"Content-Type": "text/html"}), Response(200, b"", JSON), Response(200, b"7", JSON)],
    ids=["page", "empty", "number"],
)
async def test_a_200_that_is_no_answer_is_no_answer(account: Any, answer: Response) -> None:
    """A hotel's gateway says 200 to everything: a read is asked again, a write may have happened."""
    vpc = await account.ready("vpc", account.vpc())
    Distorted(account.cloud, "GET", vpc.attributes["id"], answer)
    Distorted(account.cloud, "POST", "/vpcs", answer)
    with pytest.raises(Unavailable):
        await account.look("vpc", vpc)
    with pytest.raises(Unknown):
        await account.create("vpc", account.vpc("second"), "fzzzzzzz")


async def test_a_list_whose_next_page_is_itself_ends(account: Any) -> None:
    """One wrong token would keep a thread busy for ever."""
    await account.ready("vpc", account.vpc())
    Distorted(account.cloud, "GET", "/vpcs", {"next": {"href": "https://x/v1/vpcs?start=1"}})
    with pytest.raises(Unavailable, match="does not end"):
        await account.find("vpc", account.vpc())


async def test_buckets_whose_next_page_is_itself_end(account: Any) -> None:
    storage = await account.ready("cos-instance", account.cos())
    await account.create("cos-bucket", account.bucket(storage))
    page = b"""<ListAllMyBucketsResult><IsTruncated>true</IsTruncated><Buckets><Bucket><Name>b</Name>
    <LocationConstraint>us-south-smart</LocationConstraint></Bucket></Buckets></ListAllMyBucketsResult>"""
    Distorted(account.cloud, "GET", "/us-south", Response(200, page, {"Content-Type": "application/xml"}))
    with pytest.raises(Unavailable, match="does not end"):
        await account.find("cos-bucket", account.bucket(storage))


async def test_a_dhcp_server_without_its_network_is_renamed_later(account: Any) -> None:
    """The network may show after the server; there is nothing to rename yet, and nothing is wrong."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    Distorted(account.cloud, "GET", server.id.rpartition("/")[2], {"network": None})
    with pytest.raises(NotReady):
        await account.kinds["dhcp-server"].driver.update(Ref(server.id, server.target), {"network": "n"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T00:01:00.123456789Z", 60.123456),
        ("1970-01-01T00:01:00", 60.0),
        ("1970-01-01T01:01:00+01:00", 60.0),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_times_are_read_in_every_form(text: str | None, expected: float | None) -> None:
    """Without a zone it is UTC; a time that cannot be read is no reason to fail a reconcile."""
    assert epoch(text) == expected
