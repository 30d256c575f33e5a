"""Who may look at the live page of a cluster, by a kube-apiserver, and by the judging proxy that answers like it."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
import requests
from e2e_lookers import Json, Lookers, looking
from e2e_servers import PATIENCE, Server, steady_port

from freehold.engine.clock import ManualClock
from freehold.install.options import InstallOptions
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import ACCESS_REVIEWS, TOKEN_REVIEWS
from freehold.page.gate import GateUnavailable, Places, Rights, TokenRefused
from freehold.page.reviews import KEPT_SECONDS, ReviewGate
from freehold.providers.registry import SERVED_RESOURCES

pytestmark = pytest.mark.e2e

CLUSTERS = next(each for each in SERVED_RESOURCES if each.plural == "awsclusters")
NOTHING = Rights()


@pytest.fixture(scope="module")
def lookers(server: Server) -> Iterator[Lookers]:
    if server.label == "kubeconfig":
        pytest.skip("tokens of a cluster are its administrator's business")
    with looking(server, InstallOptions(page=True)) as found:
        yield found


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def gate(lookers: Lookers, clock: ManualClock) -> AsyncIterator[ReviewGate]:
    async with KubeClient(Connection(lookers.proxy.url)) as client:
        yield ReviewGate(client, clock.monotonic)


@pytest.fixture
def name() -> str:
    return f"looker-{uuid.uuid4().hex[:8]}"


def places(*namespaces: str) -> Places:
    return dict.fromkeys(SERVED_RESOURCES, namespaces)


async def look(gate: ReviewGate, shown: str, *namespaces: str) -> Rights:
    return await (await gate.identify(shown)).read_rights(places(*namespaces))


async def test_viewer_is_the_account_of_the_token(
    gate: ReviewGate, lookers: Lookers, namespace: str, name: str
) -> None:
    viewer = await gate.identify(lookers.make_account(name, namespace))
    assert viewer.name == f"system:serviceaccount:{namespace}:{name}"


async def test_reader_of_one_namespace_sees_this_one(
    gate: ReviewGate, lookers: Lookers, namespace: str, name: str
) -> None:
    rights = await look(gate, lookers.admit(name, namespace), namespace, "default", "not-there")
    assert rights == Rights(within=frozenset((each.kind, namespace) for each in SERVED_RESOURCES))


async def test_reader_of_all_namespaces_sees_all(gate: ReviewGate, lookers: Lookers, namespace: str, name: str) -> None:
    rights = await look(gate, lookers.admit(name, namespace, everywhere=True), namespace, "default")
    assert rights == Rights(everywhere=frozenset(each.kind for each in SERVED_RESOURCES))


async def test_account_without_rights_sees_nothing(
    gate: ReviewGate, lookers: Lookers, namespace: str, name: str
) -> None:
    assert await look(gate, lookers.make_account(name, namespace), namespace, "default") == NOTHING


async def test_wrong_and_expired_tokens_are_refused(
    gate: ReviewGate, lookers: Lookers, namespace: str, name: str
) -> None:
    token = lookers.admit(name, namespace)
    for shown in ("wrong", f"{token[:-4]}AAAA", lookers.make_stale(token)):
        with pytest.raises(TokenRefused):
            await gate.identify(shown)


async def test_token_for_somebody_else_is_refused(
    gate: ReviewGate, lookers: Lookers, namespace: str, name: str
) -> None:
    if lookers.server.label == "embedded":
        pytest.skip("the stand-in knows no audiences")
    lookers.admit(name, namespace)
    with pytest.raises(TokenRefused):
        await gate.identify(lookers.issue(name, namespace, "vault"))


async def test_right_that_is_taken_away_ends_the_view(
    gate: ReviewGate, lookers: Lookers, clock: ManualClock, namespace: str, name: str
) -> None:
    token = lookers.admit(name, namespace)
    assert (await look(gate, token, namespace)).allow(CLUSTERS.kind, namespace)
    lookers.unbind(name, namespace)
    assert (await look(gate, token, namespace)).allow(CLUSTERS.kind, namespace), "it is kept"
    deadline, tick = time.monotonic() + PATIENCE, threading.Event()
    while True:  # kube-apiserver's authorizer follows the bindings a moment behind
        clock.advance(KEPT_SECONDS)
        if await look(gate, token, namespace) == NOTHING:
            break
        assert time.monotonic() < deadline
        tick.wait(0.05)


async def test_account_that_is_deleted_ends_the_view(
    gate: ReviewGate, lookers: Lookers, clock: ManualClock, namespace: str, name: str
) -> None:
    token = lookers.admit(name, namespace)
    await gate.identify(token)
    lookers.delete_account(name, namespace)
    deadline, tick = time.monotonic() + PATIENCE, threading.Event()
    with pytest.raises(TokenRefused):
        while time.monotonic() < deadline:  # kube-apiserver keeps a token for ten seconds
            clock.advance(KEPT_SECONDS)
            await gate.identify(token)
            tick.wait(0.2)


async def test_viewers_of_two_namespaces_do_not_see_each_others(
    gate: ReviewGate, lookers: Lookers, namespace: str, name: str
) -> None:
    one, other = lookers.admit(name, namespace), lookers.admit(f"{name}-b", namespace)
    lookers.bind(f"{name}-b", namespace, place="default")
    assert not (await look(gate, one, namespace, "default")).allow(CLUSTERS.kind, "default")
    assert (await look(gate, other, namespace, "default")).allow(CLUSTERS.kind, "default")


async def test_operator_uses_its_two_rights_and_without_them_says_which_is_missing(
    gate: ReviewGate, lookers: Lookers, clock: ManualClock, namespace: str, name: str
) -> None:
    token = lookers.admit(name, namespace)
    await look(gate, token, namespace)
    used = {str(each) for each in lookers.proxy.verdicts.used}
    assert used == {f"ClusterRole freehold-operator: create {each}" for each in (TOKEN_REVIEWS, ACCESS_REVIEWS)}
    rights = lookers.proxy.rights
    lookers.proxy.rights = tuple(each for each in rights if "reviews" not in each.resource)
    clock.advance(KEPT_SECONDS)
    try:
        with pytest.raises(GateUnavailable, match=r"may not create tokenreviews\..*: install it with"):
            await gate.identify(token)
    finally:
        lookers.proxy.rights = rights


async def test_nobody_looks_while_the_api_server_is_gone() -> None:
    async with KubeClient(Connection(f"http://127.0.0.1:{steady_port()}")) as client:
        with pytest.raises(GateUnavailable, match="the API server cannot be asked"):
            await ReviewGate(client).identify("any")


def test_reviews_are_answered_alike(lookers: Lookers, namespace: str, name: str) -> None:
    """Hold the stand-in to what a kube-apiserver answers: this test is the same for both."""
    token = lookers.admit(name, namespace)
    user = f"system:serviceaccount:{namespace}:{name}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]

    def review(kind: str, path: str, spec: Json) -> Json:
        body = {"apiVersion": path.removesuffix(f"/{kind.lower()}s").removeprefix("/apis/"), "kind": kind, "spec": spec}
        answer = requests.post(f"{lookers.proxy.url}{path}", json=body, timeout=PATIENCE)
        assert answer.status_code == 201, answer.text
        found: Json = answer.json()
        assert (found["kind"], found["spec"]) == (kind, spec)
        status: Json = found["status"]
        return status

    good = review("TokenReview", TOKEN_REVIEWS.build_collection_path(), {"token": token})
    said = good["user"]
    assert (good["authenticated"], said["username"], said["groups"]) == (True, user, groups)
    assert said["uid"]
    wrong = review("TokenReview", TOKEN_REVIEWS.build_collection_path(), {"token": "wrong"})
    assert (wrong["user"], bool(wrong["error"]), wrong.get("authenticated")) == ({}, True, None)
    for group, verb, place, allowed in [
        (CLUSTERS.group, "list", namespace, True),
        (CLUSTERS.group, "list", "", False),
        (CLUSTERS.group, "list", "default", False),
        (CLUSTERS.group, "create", namespace, False),
        ("apps", "list", namespace, False),
    ]:
        asked = {"verb": verb, "group": group, "resource": CLUSTERS.plural, "namespace": place}
        asked = {key: value for key, value in asked.items() if value}
        spec = {"user": user, "groups": groups, "resourceAttributes": asked}
        found = review("SubjectAccessReview", ACCESS_REVIEWS.build_collection_path(), spec)
        assert found["allowed"] is allowed, asked
