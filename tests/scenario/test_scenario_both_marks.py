"""A delete takes what has both tags of the document, and keeps what had them and has lost one (ADR 7)."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api.names import DECISIONS_ANNOTATION, JOURNAL_ANNOTATION
from freehold.engine import decisions
from freehold.engine import journal as journals
from freehold.engine.journal import Journal, RecordState
from harness.powervs import Harness, ReconcilerHarness
from harness.resources import MARK, Row, existing, made_by_us, marks, only
from harness.standing import standing

KINDS = {
    "load-balancer": "load-balancer/main",
    "gateway": "transit-gateway/main",
    "vpc": "vpc/main",
    "instance": "workspace/main",
}


def strip(harness: Harness, row: Row, how: str) -> list[str]:
    """Take the owner tag, the uuid tag or all tags of ours off; those that were taken."""
    gone = [tag for tag in marks(row) if how == "all" or tag.startswith(f"{MARK}{how}:")]
    harness.cloud.strangers.detach(row["crn"], *gone)
    return gone


def own_tags(row: Row) -> list[str]:
    """Without those that name its connections, which have gone."""
    return [tag for tag in row["tags"] if "-connection:" not in tag]


def journal_of(harness: ReconcilerHarness[Any]) -> Journal:
    return journals.loads(harness.object.raw["metadata"]["annotations"][JOURNAL_ANNOTATION])


def says_kept(harness: Harness) -> bool:
    return "is kept" in harness.condition("Deleting").get("message", "")


def decide(harness: ReconcilerHarness[Any], node: str, verdict: decisions.Verdict) -> None:
    """As ``freehold resolve`` does."""
    journal = journal_of(harness)
    key = next(key for key in journal.entries if str(key) == node)
    entry = journal.entries[key]
    made = decisions.Decision(verdict, node, entry.id, entry.attempt, "somebody@desk", harness.clock.now())
    keys = harness.rings.ring.derive_keys(journal.owner)
    text = decisions.dumps([decisions.sign_decision(made, keys)])
    harness.object.patch({"metadata": {"annotations": {DECISIONS_ANNOTATION: text}}})


def node_of(harness: Harness, row: Row) -> str:
    return next(
        str(key) for key, entry in journal_of(harness).entries.items() if entry.id.rpartition("/")[2] == row["id"]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["owner", "cluster-uuid", "all"])
def test_what_has_lost_a_tag_is_kept_as_it_is_and_the_delete_ends(kind: str, how: str) -> None:
    """The document: both tags, or the resource stays. It gets no new tag, and an event and the audit log name it."""
    harness = standing(Harness)
    kept = only(harness, kind)
    strip(harness, kept, how)
    before = own_tags(only(harness, kind))
    harness.down()

    assert harness.object.gone
    assert own_tags(only(harness, kind)) == before
    row = next(row for row in harness.status()["resources"] if row.get("id") == kept["id"])
    assert row["state"] == "Kept"
    if (kind, how) == ("gateway", "all"):  # with its tags those of its connections went, which need it
        assert row["reason"] == "ServesWhatIsKept"
        return
    assert row["reason"] == "MarkLost"
    assert "ibmcloud" in row["message"]
    assert f"freehold resolve freehold-demo -n default {node_of(harness, kept)} --mine --yes" in row["message"]
    said = [message for _, reason, message in harness.events.said if reason == "ResourceKept"]
    assert any(kept["name"] in message for message in said)


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_the_kept_one_needs_stays_with_it(kind: str) -> None:
    """The cloud deletes no subnet with a load balancer in it: the delete would never end. All else goes."""
    harness = standing(Harness)
    strip(harness, only(harness, kind), "cluster-uuid")
    harness.down()
    left = [row for row in made_by_us(harness) if row["kind"] != "security-group"]  # the VPC's own
    needed = {"load-balancer": {"subnet", "vpc"}}
    assert {row["kind"] for row in left} == {kind, *needed.get(kind, set())}
    rows = [row for row in harness.status()["resources"] if row["state"] == "Kept"]
    assert {row["reason"] for row in rows} <= {"MarkLost", "ServesWhatIsKept"}
    assert {row["id"] for row in rows} == {row["id"] for row in left}


def test_a_condition_names_it_while_the_rest_is_deleted() -> None:
    harness = standing(Harness)
    kept = only(harness, "gateway")
    strip(harness, kept, "owner")
    harness.object.delete()
    harness.run(lambda: says_kept(harness), limit=900.0)
    assert kept["id"] in harness.condition("Deleting")["message"]
    assert "--mine --yes" in harness.condition("Deleting")["message"]


@pytest.mark.parametrize("how", ["owner", "all"])
def test_a_person_who_calls_it_ours_has_it_deleted_with_the_object(how: str) -> None:
    """The command in the message works while the object is being deleted, also once the resource counts as kept."""
    harness = standing(Harness)
    balancer = only(harness, "load-balancer")
    strip(harness, balancer, how)
    harness.object.delete()
    harness.run(lambda: says_kept(harness), limit=900.0)
    decide(harness, node_of(harness, balancer), decisions.Verdict.MINE)
    harness.down()
    assert made_by_us(harness) == []


def test_what_gets_its_tags_back_is_deleted() -> None:
    harness = standing(Harness)
    balancer = only(harness, "load-balancer")
    gone = strip(harness, balancer, "all")
    harness.object.delete()
    harness.run(lambda: says_kept(harness), limit=900.0)
    harness.cloud.strangers.attach(balancer["crn"], *gone)
    harness.down()
    assert made_by_us(harness) == []


def test_a_mark_that_was_being_healed_when_the_delete_came_is_not_attached_by_it() -> None:
    """The pass put on record that it marks again, and the process died before the attach: it had its marks once."""
    harness = standing(Harness)
    vpc = only(harness, "vpc")
    strip(harness, vpc, "all")
    node = node_of(harness, vpc)

    def is_healing() -> bool:
        key = next(key for key in journal_of(harness).entries if str(key) == node)
        return journal_of(harness).entries[key].state is RecordState.RECORDED

    harness.run(is_healing, limit=1500.0)
    harness.cloud.strangers.detach(vpc["crn"], *marks(only(harness, "vpc")))
    harness.start_process()
    harness.down()
    assert only(harness, "vpc")["id"] == vpc["id"]
    assert marks(only(harness, "vpc")) == []


def test_a_node_mark_alone_is_none_of_the_two_and_keeps_nothing() -> None:
    harness = standing(Harness)
    for row in existing(harness):
        strip(harness, row, "node")
    harness.down()
    assert existing(harness) == []
