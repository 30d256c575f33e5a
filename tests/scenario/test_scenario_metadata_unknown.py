"""What is not known, or not true any more while a pass is under way, stops the writes of tags."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from freehold.controllers.controller import RequeueAfter
from freehold.kube.resources import Key
from freehold.kube.watch import WatchState
from freehold.tags.context import UNKNOWN_SECONDS
from freehold.tags.controller import GRANTS, Caches
from harness.metadata import CLASSIFIER, NAMESPACE, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.mark.parametrize("unknown", ["clusters_known", "providers_known"])
async def test_a18_nothing_is_written_while_nobody_knows_who_else_asks(lab: Lab, unknown: str) -> None:
    """Keys that a cluster asks for, or an older object, would be changed meanwhile."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    setattr(lab, unknown, False)
    assert await lab.work() == RequeueAfter(UNKNOWN_SECONDS, at_rest=True)
    assert lab.tags_on(arn) == {CLASSIFIER: "owned"}
    assert lab.condition("Applied")[:2] == ("False", "ObjectsUnknown")
    setattr(lab, unknown, True)
    await lab.settle()
    assert lab.condition("Ready")[0] == "True"


@pytest.mark.parametrize("unknown", ["clusters_known", "providers_known"])
async def test_a24_nothing_is_removed_while_nobody_knows_who_else_asks(lab: Lab, unknown: str) -> None:
    (arn,) = lab.groups(1)
    await lab.tags("awstags", {"env": "test"}, deletionPolicy="Remove")
    await lab.cloud("metadata", "awstags")
    await lab.settle()
    setattr(lab, unknown, False)
    await lab.remove("awstags", passes=2)
    assert lab.tags_on(arn)["env"] == "test"
    assert ("AWSMetadata", Key(NAMESPACE, "awstags")) in lab.objects.objects


@pytest.mark.parametrize(
    ("state", "known"),
    [(WatchState.SYNCED, True), (WatchState.ABSENT, True), (WatchState.FAILING, False), (WatchState.STARTING, False)],
    ids=["listed", "its CRD is not installed: there is none", "its watch fails", "it was not listed yet"],
)
def test_a_watch_that_fails_does_not_read_as_there_is_none(state: WatchState, known: bool) -> None:
    follower = SimpleNamespace(objects={}, state=state)
    controller: Any = SimpleNamespace(find_reflector=lambda resource: follower)
    caches = Caches(lambda: controller)
    assert (caches.clusters(), caches.providers()) == (([], []) if known else (None, None))


async def test_a_grant_that_is_withdrawn_while_tags_are_written_stops_the_rest(lab: Lab) -> None:
    """A pass over a large fleet takes minutes."""
    arns = lab.groups(450)
    await lab.objects.create(GRANTS, {"metadata": {"name": "g"}, "spec": {"namespaces": [NAMESPACE]}})
    await lab.apply_examples()
    calls = 0

    async def withdraw(operation: str) -> None:
        nonlocal calls
        calls += operation == "create_tags"
        if calls == 1:
            await lab.objects.patch(GRANTS, Key("", "g"), {"spec": {"namespaces": ["other"]}})

    lab.port.between = withdraw
    await lab.work()
    written = [arn for arn in arns if "env" in lab.tags_on(arn)]
    assert (calls, len(written)) == (1, 200), "the call that was under way, and no other one"
    await lab.work()
    assert lab.condition("Approved")[:2] == ("False", "NotGranted")
    known = await lab.means.record.load(lab.rings.ring, begun=True)
    writer = lab.object("AWSMetadata", "awstags")["metadata"]["uid"]
    assert set(known.written_for(writer)) == set(written), "what was not sent is no claim"
