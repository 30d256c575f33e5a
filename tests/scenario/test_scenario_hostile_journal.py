"""Edited annotations: a user who may edit the object must not be able to delete resources of others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names as api_names
from harness.powervs import Harness
from harness.resources import existing, infrastructure, snapshot
from harness.standing import standing

Json = dict[str, Any]


def journal_of(harness: Harness) -> Json:
    found: Json = json.loads(harness.object.raw["metadata"]["annotations"][api_names.JOURNAL_ANNOTATION])
    return found


def forge(harness: Harness, journal: Json) -> None:
    """kubectl edit."""
    harness.object.patch({"metadata": {"annotations": {api_names.JOURNAL_ANNOTATION: json.dumps(journal)}}})


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("before_delete", [0.0, 1500.0])
def test_a_strangers_ids_in_the_journal_delete_nothing_of_theirs(restarted: bool, before_delete: float) -> None:
    """A record alone is not evidence: it must not lead to a mark, and the mark to a delete."""
    harness = standing(Harness)
    harness.settle(1)  # this process knows the journal
    ours = {row["id"] for row in existing(harness)}
    theirs = infrastructure(harness)
    before = snapshot(harness, {row["id"] for row in existing(harness)} - ours)
    journal = journal_of(harness)
    gateway, crn = theirs.gateway["id"], theirs.gateway["crn"]
    journal["nodes"] |= {
        "vpc/old": {"p": "o", "id": f"us-south/{theirs.vpc['id']}", "t": theirs.vpc["crn"]},
        "vpc-subnet/old": {"p": "r", "id": f"us-south/{theirs.subnet['id']}", "t": theirs.subnet["crn"]},
        "load-balancer/old": {"p": "r", "id": f"us-south/{theirs.balancer['id']}", "t": theirs.balancer["crn"]},
        "workspace/old": {"p": "o", "id": theirs.workspace["id"], "t": theirs.workspace["crn"]},
        "transit-gateway/old": {"p": "o", "id": gateway, "t": crn},
        "transit-gateway-connection/old": {
            "p": "r", "id": f"{gateway}/{theirs.vpc_connection['id']}", "t": crn, "c": True,
        },
    }  # fmt: skip
    forge(harness, journal)
    if restarted:
        harness.start_process()
    harness.for_a_while(before_delete)
    harness.object.delete()
    harness.for_a_while(1200.0)

    assert snapshot(harness, before) == before
    assert {row["id"] for row in existing(harness)} == set(before), "and ours is gone"


def test_with_a_rotated_key_of_the_same_account_all_is_served_and_deleted() -> None:
    """The records were signed with the old key; the marks in the cloud prove the same."""
    harness = standing(Harness)
    _rotate(harness)
    harness.for_a_while(60.0)
    assert harness.ready()

    harness.down()
    assert existing(harness) == []


def test_a_tag_stripped_after_a_rotated_key_is_attached_again() -> None:
    """A deep pass proves everything by its marks and signs the records again."""
    harness = standing(Harness)
    _rotate(harness)
    harness.for_a_while(900.0)
    vpc = next(row for row in existing(harness, "vpc"))
    harness.cloud.strangers.strip(vpc["crn"])
    harness.for_a_while(1200.0)

    assert len([tag for tag in next(iter(existing(harness, "vpc")))["tags"] if "cluster-uuid" in tag]) == 1
    harness.down()
    assert existing(harness) == []


def _rotate(harness: Harness) -> None:
    """A new API key of the same account, and a restart."""
    harness.cloud.settings = replace(harness.cloud.settings, api_key="another-key")
    harness._api_key = "another-key"
    harness.start_process()
