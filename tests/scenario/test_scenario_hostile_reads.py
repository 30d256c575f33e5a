"""Reads that show less than exists: proxies, lost permissions, incomplete lists."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold_sim.http import Request, Response
from harness.powervs import Harness, example
from harness.resources import existing, made_by_us, omitted
from harness.standing import standing

KINDS = {
    "/vpc": {"vpc", "subnet", "load-balancer"},
    "/transit": {"gateway", "connection"},
    "/resource-controller/v2/resource_instances": {"instance"},
    "/power": {"dhcp", "network"},
}
"""The kinds of each service, by its path."""


class FalsifyingProxy:
    """A proxy between the operator and the cloud, which falsifies the chosen answers."""

    def __init__(self, harness: Harness) -> None:
        self._through = harness.cloud.handle
        harness.cloud.handle = self  # type: ignore[method-assign,assignment]  # a proxy on the wire
        self.lost = ""
        self.hidden: set[str] = set()
        self.forbidden: set[str] = set()

    def __call__(self, request: Request, actor: str = "api") -> Response:
        if actor == "api" and self.lost and request.path.startswith(self.lost):
            return Response(404, b"<html><h1>404 Not Found</h1>nginx</html>", {"content-type": "text/html"})
        if actor == "api" and request.path.rpartition("/")[2] in self.forbidden:
            return Response(
                403, b'{"errors":[{"code":"not_authorized","message":"the request is not authorized"}]}', {}
            )
        answer = self._through(request, actor)
        if actor == "api" and self.hidden and request.method == "GET" and request.path.endswith("/subnets"):
            return _without(answer, "subnets", self.hidden)
        return answer


def _without(answer: Response, items: str, hidden: set[str]) -> Response:
    body: dict[str, Any] = json.loads(answer.body)
    body[items] = [one for one in body[items] if one["id"] not in hidden]
    return Response(answer.status, json.dumps(body).encode(), answer.headers)


@pytest.mark.parametrize(
    ("service", "deleting"),
    [
        ("/vpc", False),
        ("/vpc", True),
        ("/transit", True),
        ("/resource-controller/v2/resource_instances", False),
        ("/power", True),
    ],
)
def test_a_404_that_is_not_from_the_service_does_not_mean_gone(deleting: bool, service: str) -> None:
    """A proxy or an ingress without its backend answers 404 in HTML: it does not know the resource."""
    harness = standing(Harness)
    ours = {row["id"] for row in made_by_us(harness) if row["kind"] in KINDS[service]}
    proxy = FalsifyingProxy(harness)
    proxy.lost = service
    if deleting:
        harness.object.delete()
    harness.for_a_while(300.0 if deleting else 700.0)
    assert not harness.object.gone
    assert {row["id"] for row in existing(harness)} >= ours

    proxy.lost = ""
    if not deleting:
        harness.for_a_while(700.0)
        again = {row["id"] for row in made_by_us(harness) if row["kind"] in KINDS[service]}
        assert again == ours, "nothing was created a second time"
        harness.object.delete()
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


@pytest.mark.parametrize("deleting", [False, True])
def test_a_resource_missing_in_a_list_is_read_by_id_before_it_counts_as_gone(deleting: bool) -> None:
    """IBM's lists omit what the key may not see; by id the answer is 403, and this is reported."""
    harness = standing(Harness, example(**omitted()))
    subnets = {row["id"] for row in made_by_us(harness) if row["kind"] == "subnet"}
    assert len(subnets) == 3
    proxy = FalsifyingProxy(harness)
    lost = sorted(subnets)[:2]
    proxy.hidden, proxy.forbidden = set(lost), set(lost)
    if deleting:
        harness.object.delete()
    harness.for_a_while(3600.0)

    assert not harness.object.gone
    assert {row["id"] for row in existing(harness, "subnet")} >= set(lost)
    assert len(existing(harness, "subnet")) <= 3
    proxy.hidden, proxy.forbidden = set(), set()
    if not deleting:
        harness.for_a_while(1800.0)
        assert {row["id"] for row in existing(harness, "subnet")} == subnets, "none was created a second time"
        harness.object.delete()
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []
