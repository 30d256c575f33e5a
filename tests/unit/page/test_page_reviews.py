"""The gate of a cluster: what it asks the API server, what it keeps and for how long, and what it does with junk."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from freehold.engine.clock import ManualClock
from freehold.kube import errors as kube
from freehold.kube.resources import Json, Resource
from freehold.page import reviews
from freehold.page.gate import GateUnavailable, Places, Rights, TokenRefused
from freehold.page.reviews import ReviewGate, User
from harness.virtual_time import run_ready_tasks

CLUSTERS = Resource("infrastructure.cluster.x-k8s.io", "v1beta2", "awsclusters", "AWSCluster")
MACHINES = Resource("infrastructure.cluster.x-k8s.io", "v1beta2", "awsmachines", "AWSMachine")
TEAMS: Places = {CLUSTERS: {"red", "blue"}, MACHINES: {"red"}}
SAID = {"username": "anna", "uid": "u1", "groups": ["dev", "ops"], "extra": {"scope": ["page"]}}
NOTHING = Rights()


@dataclass
class Cluster:
    """An API server: the users of tokens, and what each may list where. ``answer`` takes its place if it is set."""

    clock: ManualClock = field(default_factory=ManualClock)
    users: dict[str, Json] = field(default_factory=dict)
    allowed: set[tuple[str, str, str]] = field(default_factory=set)
    asked: list[Json] = field(default_factory=list)
    answer: Callable[[str], Json] | None = None
    at_once: int = 0
    most_at_once: int = 0

    async def request(self, method: str, path: str, *, body: Any = None) -> Json:
        assert method == "POST"
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            self.asked.append({"path": path, **body["spec"]})
            return {**body, "status": self._judge(path, body["spec"])} if self.answer is None else self.answer(path)
        finally:
            self.at_once -= 1

    def _judge(self, path: str, spec: Json) -> Json:
        if path == "/apis/authentication.k8s.io/v1/tokenreviews":
            user = self.users.get(spec["token"])
            return (
                {"user": {}, "error": "invalid bearer token"} if user is None else {"authenticated": True, "user": user}
            )
        assert path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        asked = spec["resourceAttributes"]
        assert (asked["verb"], asked["group"]) == ("list", CLUSTERS.group)
        return {"allowed": (spec["user"], asked["resource"], asked["namespace"]) in self.allowed}

    def accesses(self) -> list[tuple[str, str]]:
        """The reviews of access so far: resource and namespace."""
        found = [each["resourceAttributes"] for each in self.asked if "resourceAttributes" in each]
        return [(each["resource"], each["namespace"]) for each in found]

    def tokens(self) -> list[str]:
        """The tokens that were reviewed so far."""
        return [each["token"] for each in self.asked if "token" in each]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(users={"good": SAID}, allowed={("anna", "awsclusters", "red")})


@pytest.fixture
def gate(cluster: Cluster) -> ReviewGate:
    return ReviewGate(cluster, cluster.clock.monotonic)


async def look(gate: ReviewGate, shown: str = "good", places: Places = TEAMS) -> Rights:
    return await (await gate.identify(shown)).read_rights(places)


# -- tokens -------------------------------------------------------------------------------------------------------


async def test_viewer_has_the_name_of_the_review(gate: ReviewGate) -> None:
    assert (await gate.identify("good")).name == "anna"


@pytest.mark.parametrize("token", ["bad", "", "two words", "line\nbreak", "ü", "\ud800", "a=b"])
async def test_wrong_token_is_refused_with_what_to_do(gate: ReviewGate, token: str) -> None:
    with pytest.raises(TokenRefused, match="kubectl create token NAME --namespace NAMESPACE"):
        await gate.identify(token)


async def test_what_cannot_be_a_token_is_not_sent(gate: ReviewGate, cluster: Cluster) -> None:
    for token in ("", "two words", "ü"):
        with pytest.raises(TokenRefused):
            await gate.identify(token)
    assert cluster.asked == []


async def test_no_audience_is_asked_for_so_that_it_is_the_api_servers_own(gate: ReviewGate, cluster: Cluster) -> None:
    await gate.identify("good")
    assert cluster.asked == [{"path": "/apis/authentication.k8s.io/v1/tokenreviews", "token": "good"}]


async def test_token_with_an_error_is_refused_even_if_it_is_called_authenticated(
    gate: ReviewGate, cluster: Cluster
) -> None:
    cluster.answer = lambda path: {"status": {"authenticated": True, "user": SAID, "error": "audience"}}
    with pytest.raises(TokenRefused):
        await gate.identify("good")


async def test_token_is_reviewed_once_for_requests_at_once_and_again_within_a_minute(
    gate: ReviewGate, cluster: Cluster
) -> None:
    await asyncio.gather(*(look(gate) for _ in range(9)))
    assert len(cluster.tokens()) == 1
    assert len(cluster.accesses()) == len(set(cluster.accesses()))
    cluster.clock.advance(60.0 - 10.0 - 5.0)  # kube-apiserver's own memory, and a stream's next look
    await gate.identify("good")
    assert len(cluster.tokens()) == 2


async def test_expired_token_ends_the_view_within_a_minute(gate: ReviewGate, cluster: Cluster) -> None:
    await gate.identify("good")
    cluster.users.clear()
    await gate.identify("good")
    cluster.clock.advance(45.0)
    with pytest.raises(TokenRefused, match="or no longer"):
        await gate.identify("good")


async def test_refusal_is_kept_shortly(gate: ReviewGate, cluster: Cluster) -> None:
    for _ in range(3):
        with pytest.raises(TokenRefused):
            await gate.identify("later")
    assert cluster.tokens() == ["later"]
    cluster.users["later"] = SAID
    cluster.clock.advance(5.0)
    assert (await gate.identify("later")).name == "anna"


async def test_token_itself_is_kept_nowhere(cluster: Cluster) -> None:
    token = "".join(["secret", "-", "token"])
    cluster.users[token] = SAID
    gate = ReviewGate(cluster, cluster.clock.monotonic)
    await look(gate, token)
    cluster.asked.clear()
    cluster.users.clear()
    assert token not in _reach(gate)


def _reach(start: object) -> set[str]:
    """Find the texts that an object of ours leads to."""
    seen: dict[int, object] = {}
    todo = [start]
    while todo:
        found = todo.pop()
        if id(found) not in seen and not isinstance(found, type | type(gc)):
            seen[id(found)] = found
            todo += gc.get_referents(found)
    return {each for each in seen.values() if isinstance(each, str)}


async def test_wrong_tokens_put_no_viewer_out(
    gate: ReviewGate, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviews, "MOST_TOKENS", 10)
    await look(gate)
    for number in range(50):
        with pytest.raises(TokenRefused):
            await gate.identify(f"wrong{number}")
    before = len(cluster.asked)
    await look(gate)
    assert len(cluster.asked) == before
    with pytest.raises(TokenRefused):
        await gate.identify("wrong0")
    assert len(cluster.asked) == before + 1  # it was forgotten


async def test_flood_of_tokens_is_answered_without_asking_for_all(gate: ReviewGate, cluster: Cluster) -> None:
    found = await asyncio.gather(*(gate.identify(f"wrong{each}") for each in range(500)), return_exceptions=True)
    assert {type(each) for each in found} == {TokenRefused, GateUnavailable}
    assert len(cluster.tokens()) == reviews.MOST_WAITING
    assert cluster.most_at_once <= reviews.TOKENS_AT_ONCE


async def test_tokens_that_were_reviewed_wait_no_more(gate: ReviewGate, cluster: Cluster) -> None:
    for number in range(2 * reviews.MOST_WAITING):
        with pytest.raises(TokenRefused):
            await gate.identify(f"wrong{number}")
    assert (await gate.identify("good")).name == "anna"


# -- rights -------------------------------------------------------------------------------------------------------


async def test_whole_user_of_the_token_is_asked_about(gate: ReviewGate, cluster: Cluster) -> None:
    await look(gate)
    spec = next(each for each in cluster.asked if "resourceAttributes" in each)
    assert {name: spec[name] for name in ("user", "uid", "groups", "extra")} == {
        "user": "anna", "uid": "u1", "groups": ["dev", "ops"], "extra": {"scope": ["page"]},
    }  # fmt: skip


async def test_viewer_of_one_namespace_sees_one_kind_there(gate: ReviewGate) -> None:
    rights = await look(gate)
    assert rights == Rights(within=frozenset({("AWSCluster", "red")}))
    assert rights.allow("AWSCluster", "red")
    assert not (rights.allow("AWSCluster", "blue") or rights.allow("AWSMachine", "red"))


async def test_who_may_list_everywhere_is_not_asked_about_by_namespace(gate: ReviewGate, cluster: Cluster) -> None:
    cluster.allowed |= {("anna", "awsclusters", ""), ("anna", "awsmachines", "")}
    assert await look(gate) == Rights(everywhere=frozenset({"AWSCluster", "AWSMachine"}))
    assert sorted(cluster.accesses()) == [("awsclusters", ""), ("awsmachines", "")]


async def test_two_viewers_see_different_objects(gate: ReviewGate, cluster: Cluster) -> None:
    cluster.users["other"] = {"username": "bert"}
    cluster.allowed.add(("bert", "awsmachines", "red"))
    assert (await look(gate)).within == {("AWSCluster", "red")}
    assert (await look(gate, "other")).within == {("AWSMachine", "red")}


async def test_right_that_is_taken_away_ends_within_a_minute(gate: ReviewGate, cluster: Cluster) -> None:
    await look(gate)
    cluster.allowed.clear()
    assert (await look(gate)) != NOTHING
    cluster.clock.advance(45.0)
    assert await look(gate) == NOTHING


async def test_right_that_is_given_counts_within_a_minute(gate: ReviewGate, cluster: Cluster) -> None:
    await look(gate)
    cluster.allowed.add(("anna", "awsmachines", "red"))
    cluster.clock.advance(45.0)
    assert ("AWSMachine", "red") in (await look(gate)).within


async def test_rights_are_another_users_when_the_token_is(gate: ReviewGate, cluster: Cluster) -> None:
    await look(gate)
    cluster.users["good"] = {"username": "bert"}
    cluster.clock.advance(45.0)
    assert await look(gate) == NOTHING


async def test_object_without_a_namespace_is_seen_only_with_the_right_to_all(
    gate: ReviewGate, cluster: Cluster
) -> None:
    assert await look(gate, places={CLUSTERS: {""}}) == NOTHING
    assert cluster.accesses() == [("awsclusters", "")]


def _fleet(number: int) -> Places:
    return {
        CLUSTERS: {f"team-{each:04}" for each in range(number)},
        MACHINES: {f"team-{each:04}" for each in range(number)},
    }


async def test_thousand_namespaces_are_asked_about_few_at_a_time_and_not_again_at_each_look(
    gate: ReviewGate, cluster: Cluster
) -> None:
    cluster.allowed.add(("anna", "awsmachines", "team-0500"))
    for _ in range(9):
        assert (await look(gate, places=_fleet(999))).within == {("AWSMachine", "team-0500")}
        cluster.clock.advance(5.0)
    assert len(cluster.accesses()) == 2 * 999 + 2
    assert cluster.most_at_once <= reviews.ACCESSES_AT_ONCE
    cluster.clock.advance(5.0)
    await look(gate, places=_fleet(999))
    assert len(cluster.accesses()) == 2 * 999 + 2 + 3  # what is denied counts longer, what is allowed does not


async def test_reviews_of_a_minute_are_bounded_and_the_rest_follows(gate: ReviewGate, cluster: Cluster) -> None:
    cluster.allowed.add(("anna", "awsclusters", "team-2999"))
    minutes = 0
    while not (await look(gate, places=_fleet(3000))).within:
        cluster.clock.advance(45.0)
        minutes += 1
        assert len(cluster.accesses()) <= reviews.MOST_ACCESSES * minutes
        assert minutes < 9
    assert minutes >= 2


async def test_right_whose_time_is_over_and_that_cannot_be_asked_about_now_does_not_count(
    gate: ReviewGate, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviews, "MOST_ACCESSES", 4)
    await look(gate, places={CLUSTERS: ()})
    cluster.clock.advance(20.0)
    assert (await look(gate, places={CLUSTERS: {"red"}})).within
    cluster.clock.advance(25.0)
    await look(gate, places={CLUSTERS: {"a", "b", "c"}})  # all questions of this while
    cluster.clock.advance(20.0)
    assert await look(gate, places={CLUSTERS: {"red"}}) == NOTHING


async def test_namespaces_that_are_gone_are_forgotten(gate: ReviewGate, cluster: Cluster) -> None:
    gone = "".join(["gone", "-", "namespace"])
    await look(gate, places={CLUSTERS: {gone}})
    for _ in range(2):
        cluster.clock.advance(45.0)
        await look(gate)
    cluster.asked.clear()
    assert gone not in _reach(gate)


# -- trouble ------------------------------------------------------------------------------------------------------

JUNK: list[Any] = [
    {}, {"status": None}, {"status": []}, {"status": "authenticated"},
    {"status": {"authenticated": True}}, {"status": {"authenticated": True, "user": {}}},
    {"status": {"authenticated": True, "user": {"username": ""}}},
    {"status": {"authenticated": True, "user": {"username": 7}}},
    {"status": {"authenticated": True, "user": {"username": "anna", "groups": "system:masters"}}},
    {"status": {"authenticated": True, "user": {"username": "anna", "groups": [7]}}},
    {"status": {"authenticated": True, "user": {"username": "anna", "extra": {"scope": "page"}}}},
    {"status": {"authenticated": True, "user": {"username": "anna", "extra": ["scope"]}}},
    {"status": {"authenticated": True, "user": {"username": "anna", "uid": ["u"]}}},
]  # fmt: skip


@pytest.mark.parametrize("junk", JUNK, ids=str)
async def test_token_review_that_cannot_be_read_lets_nobody_in(gate: ReviewGate, cluster: Cluster, junk: Json) -> None:
    cluster.answer = lambda path: junk
    with pytest.raises(GateUnavailable, match="answer to a TokenReview cannot be read"):
        await gate.identify("good")


@pytest.mark.parametrize("said", ["true", 1, None, ["yes"]])
async def test_token_that_is_not_plainly_authenticated_is_refused(
    gate: ReviewGate, cluster: Cluster, said: object
) -> None:
    cluster.answer = lambda path: {"status": {"authenticated": said, "user": SAID}}
    with pytest.raises(TokenRefused):
        await gate.identify("good")


@pytest.mark.parametrize(
    "junk", [{}, {"status": {}}, {"status": {"allowed": "true"}}, {"status": {"allowed": None}}], ids=str
)
async def test_access_review_that_cannot_be_read_shows_nothing(gate: ReviewGate, cluster: Cluster, junk: Json) -> None:
    viewer = await gate.identify("good")
    cluster.answer = lambda path: junk
    with pytest.raises(GateUnavailable, match="answer to a SubjectAccessReview cannot be read"):
        await viewer.read_rights(TEAMS)


async def test_what_is_denied_beside_allowed_is_denied(gate: ReviewGate, cluster: Cluster) -> None:
    viewer = await gate.identify("good")
    cluster.answer = lambda path: {"status": {"allowed": True, "denied": True}}
    assert await viewer.read_rights(TEAMS) == NOTHING


async def test_api_server_that_is_gone_ends_the_view_and_is_left_alone_for_a_moment(
    gate: ReviewGate, cluster: Cluster
) -> None:
    await look(gate)

    def fail(path: str) -> Json:
        raise kube.ServerUnavailable("POST /x: https://api cannot be reached: Connection refused")

    cluster.answer = fail
    cluster.clock.advance(45.0)
    before = len(cluster.asked)
    for _ in range(5):
        with pytest.raises(GateUnavailable, match="the API server cannot be"):
            await look(gate)
    assert len(cluster.asked) == before + 1
    cluster.answer = None
    cluster.clock.advance(2.0)
    assert (await look(gate)).within == {("AWSCluster", "red")}


@pytest.mark.parametrize("code", [0, 500])
async def test_api_server_that_fails_amid_a_thousand_reviews_is_asked_few_more(
    gate: ReviewGate, cluster: Cluster, code: int
) -> None:
    viewer = await gate.identify("good")
    await viewer.read_rights({CLUSTERS: (), MACHINES: ()})

    def fail(path: str) -> Json:
        raise kube.ServerUnavailable("POST /x: https://api did not answer in time", code=code)

    cluster.answer = fail
    with pytest.raises(GateUnavailable):
        await viewer.read_rights(_fleet(900))
    await run_ready_tasks(5000)
    assert len(cluster.accesses()) <= 2 + 2 * reviews.ACCESSES_AT_ONCE


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (
            kube.Forbidden("no", code=403),
            "may not create tokenreviews.authentication.k8s.io: install it with the option",
        ),
        (kube.ServerUnavailable("POST: HTTP 502: good", code=502), "the API server answers 502 to a TokenReview"),
        (kube.TooManyRequests("slow down", code=429), "the API server answers 429 to a TokenReview"),
        (kube.ObjectNotFound("no such resource", code=404), "the API server answers 404 to a TokenReview"),
    ],
)
async def test_failed_review_is_told_without_what_the_server_said(
    gate: ReviewGate, cluster: Cluster, problem: kube.KubeError, said: str
) -> None:
    """A proxy between might repeat the request, which has the token in it."""

    def fail(path: str) -> Json:
        raise problem

    cluster.answer = fail
    with pytest.raises(GateUnavailable) as found:
        await gate.identify("good")
    assert said in str(found.value)
    assert "good" not in str(found.value)


async def test_viewer_who_hangs_up_amid_a_review_leaves_the_gate_usable(gate: ReviewGate, cluster: Cluster) -> None:
    leaving = asyncio.create_task(look(gate))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert (await look(gate)).within == {("AWSCluster", "red")}
    assert cluster.at_once == 0


def test_user_is_asked_about_as_it_was_reviewed() -> None:
    user = reviews.read_user({"status": {"authenticated": True, "user": SAID}})
    assert user == User("anna", "u1", ("dev", "ops"), (("scope", ("page",)),))
