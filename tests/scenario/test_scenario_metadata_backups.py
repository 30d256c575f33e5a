"""The record of what was written comes back from a backup: what it forgot since then is somebody else's by now."""

from __future__ import annotations

import copy

import pytest

from freehold.api import names
from freehold.kube.resources import Json, Key
from harness.metadata import CLASSIFIER, PLACE, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


def _backup(lab: Lab) -> dict[str, Json]:
    return {key.name: copy.deepcopy(row) for (kind, key), row in lab.objects.objects.items() if kind == "ConfigMap"}


async def _put_back(lab: Lab, saved: dict[str, Json]) -> None:
    """With all that was there gone before, as a restore into an empty namespace does."""
    await lab.lose_record()
    for name, row in saved.items():
        row["metadata"]["resourceVersion"] += "0"
        lab.objects.objects["ConfigMap", Key(PLACE, name)] = row
    lab.restart()
    lab.wait()


def _noted(lab: Lab) -> str:
    return str(lab.object("AWSMetadata", "awstags")["metadata"]["annotations"][names.TAGS_WRITER_ANNOTATION])


async def _dropped_and_set_by_a_person(lab: Lab) -> tuple[str, dict[str, Json]]:
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    saved = _backup(lab)
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    lab.somebody_sets(arn, centre="eng")
    lab.wait()
    await lab.settle()
    return arn, saved


async def test_a12_a_record_that_is_put_back_removes_nothing_that_a_person_has_set_since(lab: Lab) -> None:
    arn, saved = await _dropped_and_set_by_a_person(lab)
    await _put_back(lab, saved)
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test", "centre": "eng"}
    assert lab.condition("Policy")[1] == "RecordLost"
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"team": "x"}})
    lab.wait()
    await lab.settle()
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"team": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test", "centre": "eng"}, "what is written since counts"


async def test_a_record_that_is_put_back_as_it_was_last_is_believed(lab: Lab) -> None:
    arn, _ = await _dropped_and_set_by_a_person(lab)
    await _put_back(lab, _backup(lab))
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"env": None, "team": "x"}})
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "team": "x", "centre": "eng"}


async def test_what_was_counted_is_noted_once_on_one_object(lab: Lab) -> None:
    """At rest nothing is written, and what is only added is not counted."""
    lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    assert len(_noted(lab).split()) == 3
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    assert _noted(lab).endswith(" 1")
    lab.wait()
    lab.objects.written.clear()
    await lab.settle()
    assert lab.objects.written == []
