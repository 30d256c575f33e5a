"""The detail of an object: what requires what, what proves each resource, what drifted, and what is not known."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from freehold.api import names
from freehold.engine.keys import KeyRing
from freehold.kube.resources import Json
from freehold.page.detail import build_detail
from harness.page_world import RING, PageWorld, Watched


def resource(detail: Json, kind: str) -> Json:
    found: Json = next(each for each in detail["resources"] if each["kind"] == kind)
    return found


def look(watched: Watched, raw: Json | None = None, ring: KeyRing | None = RING) -> Json:
    return build_detail(watched.resource, raw or watched.raw, None, ring, watched.harness.clock.now())


def with_journal(watched: Watched, change: Any) -> Json:
    raw = copy.deepcopy(watched.raw)
    annotations = raw["metadata"]["annotations"]
    journal = json.loads(annotations[names.JOURNAL_ANNOTATION])
    change(journal)
    annotations[names.JOURNAL_ANNOTATION] = json.dumps(journal)
    return raw


def test_edges_name_resources_of_the_same_object(page_world: PageWorld) -> None:
    for name, watched in page_world.watched.items():
        detail = watched.detail()
        keys = [each["key"] for each in detail["resources"]]
        assert len(set(keys)) == len(keys), name
        named = {key for each in detail["resources"] for key in (*each["requires"], *each["waits_for"])}
        assert named <= set(keys), name
        assert {bar["key"] for bar in (detail["history"] or {"bars": []})["bars"]} <= set(keys), name


def test_gateway_requires_its_subnet_and_its_address(page_world: PageWorld) -> None:
    requires = resource(page_world.watched["ready"].detail(), "nat-gateway")["requires"]
    assert {key.partition("/")[0] for key in requires} == {"subnet", "elastic-ip", "internet-gateway"}


def test_edges_that_go_round_in_a_circle_are_shown(page_world: PageWorld) -> None:
    watched = page_world.watched["ready"]
    subnet = next(
        each
        for each in json.loads(watched.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])["nodes"]
        if "subnet" in each
    )

    def turn(journal: Json) -> None:
        journal["nodes"]["vpc/main"]["q"] = [subnet]

    (required,) = resource(look(watched, with_journal(watched, turn)), "vpc")["requires"]
    assert required.startswith("subnet/")


def test_what_waits_says_for_what(page_world: PageWorld) -> None:
    waiting = [each for each in page_world.watched["blocked"].detail()["resources"] if each["waits_for"]]
    assert {each["kind"] for each in waiting} == {"nat-gateway"}
    assert all(each["waits_for"][0].startswith("elastic-ip/") for each in waiting)


def test_edges_of_what_a_delete_has_taken_are_shown(page_world: PageWorld) -> None:
    """Its records have left the journal."""
    gone = [each for each in page_world.watched["stuck"].detail()["resources"] if each["state"] == "Gone"]
    assert {each["kind"] for each in gone if not each["requires"]} == {"elastic-ip"}


def test_owner_account_and_endpoint_are_shown(page_world: PageWorld) -> None:
    watched = page_world.watched["ready"]
    detail = watched.detail()
    assert detail["owner"] == watched.raw["metadata"]["uid"]
    assert detail["account"] == "111122223333/us-east-1"
    assert detail["endpoint"].endswith(".elb.amazonaws.com:6443")


def test_proof_is_checked_with_the_ring(page_world: PageWorld) -> None:
    watched = page_world.watched["ready"]
    assert resource(look(watched), "vpc")["proof"] == "own marks, read back; record signed"
    assert "not checked" in resource(look(watched, ring=None), "vpc")["proof"]
    assert "lacks key" in resource(look(watched, ring=KeyRing.single(b"another" * 5)), "vpc")["proof"]


def test_record_that_somebody_wrote_is_told(page_world: PageWorld) -> None:
    watched = page_world.watched["ready"]

    def forge(journal: Json) -> None:
        for key, entry in journal["nodes"].items():
            if key.startswith("vpc/"):
                entry["s"] = "forged"

    assert "NOT signed" in resource(look(watched, with_journal(watched, forge)), "vpc")["proof"]


def test_copied_journal_proves_nothing(page_world: PageWorld) -> None:
    watched = page_world.watched["ready"]
    raw = copy.deepcopy(watched.raw)
    raw["metadata"] |= {"name": "copy", "uid": "another"}
    detail = look(watched, raw)
    assert {each["proof"] for each in detail["resources"]} == {"none: its record is of AWSCluster default/prod"}
    assert any("copy of that of AWSCluster default/prod" in note for note in detail["notes"])


def test_journal_that_cannot_be_read_is_told(page_world: PageWorld) -> None:
    watched = page_world.watched["ready"]
    detail = look(watched, with_journal(watched, lambda journal: journal.pop("owner")))
    assert any("journal of this object cannot be read" in note for note in detail["notes"])
    assert {each["proof"] for each in detail["resources"]} == {""}
    assert detail["owner"], "the status has a copy"


def test_drift_that_was_brought_back_is_shown_from_what_to_what(page_world: PageWorld) -> None:
    drift = {
        each["kind"]: each["drift"] for each in page_world.watched["drifted"].detail()["resources"] if each["drift"]
    }
    assert drift.keys() == {"subnet", "security-group", "route-table"}
    (address,) = drift["subnet"]
    assert (address["field"], address["before"], address["after"]) == ("map_public_ip_on_launch", "false", "true")
    assert {(each["before"], each["after"]) for each in drift["security-group"]} == {("missing", "added again")}
    (table,) = drift["route-table"]
    assert table["before"].endswith("was deleted") and table["after"] == "created anew"


def test_history_that_nobody_saw_is_told_from_the_status_as_incomplete(page_world: PageWorld) -> None:
    history = look(page_world.watched["ready"])["history"]
    assert (history["operation"], history["complete"]) == ("create", False)
    assert all(bar["ended"] and bar["waited_until"] is None for bar in history["bars"])
    history = look(page_world.watched["deleting"])["history"]
    assert (history["operation"], history["complete"], history["ended"]) == ("delete", False, None)
    assert {bar["ended"] is None for bar in history["bars"]} == {True, False}


def test_object_without_resources_has_no_history(page_world: PageWorld) -> None:
    assert look(page_world.watched["keyless"])["history"] is None


@pytest.mark.parametrize("field", ["id", "name"])
def test_resources_of_one_name_have_keys_of_their_own(page_world: PageWorld, field: str) -> None:
    watched = page_world.watched["ready"]
    raw = copy.deepcopy(watched.raw)
    for row in raw["status"]["resources"]:
        row[field] = "same"
        row["kind"] = "vpc"
    keys = [each["key"] for each in look(watched, raw)["resources"]]
    assert len(set(keys)) == 25
