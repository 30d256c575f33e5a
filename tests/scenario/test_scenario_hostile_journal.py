"""Whoever may edit the object may edit its annotations: that must never delete what is not theirs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names as api_names
from stage.powervs import Stage
from stage.scenery import infrastructure, photograph, standing

Json = dict[str, Any]


def journal_of(stage: Stage) -> Json:
    found: Json = json.loads(stage.object.raw["metadata"]["annotations"][api_names.JOURNAL_ANNOTATION])
    return found


def forge(stage: Stage, journal: Json) -> None:
    """kubectl edit."""
    stage.object.patch({"metadata": {"annotations": {api_names.JOURNAL_ANNOTATION: json.dumps(journal)}}})


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("before_delete", [0.0, 1500.0])
def test_a_strangers_ids_in_the_journal_delete_nothing_of_theirs(restarted: bool, before_delete: float) -> None:
    """A record alone is no evidence: it must not be laundered into a mark, and the mark into a delete."""
    stage = Stage()
    theirs = infrastructure(stage)
    before = photograph(stage)
    stage.up()
    journal = journal_of(stage)
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
    forge(stage, journal)
    if restarted:
        stage.start_process()
    stage.for_a_while(before_delete)
    stage.object.delete()
    stage.for_a_while(3600.0)

    assert photograph(stage, before) == before
    assert {row["id"] for row in standing(stage)} == set(before), "and ours is gone"


def test_a_rotated_key_of_the_same_account_goes_on_and_deletes_all() -> None:
    """The deeds were written with the old key; the marks in the cloud prove what they would."""
    stage = Stage()
    stage.up()
    _rotate(stage)
    stage.for_a_while(60.0)
    assert stage.ready()

    stage.down()
    assert standing(stage) == []


def test_a_rotated_key_then_a_stripped_tag_is_healed() -> None:
    """A deep pass proves everything by its marks and writes the deeds anew."""
    stage = Stage()
    stage.up()
    _rotate(stage)
    stage.for_a_while(900.0)
    vpc = next(row for row in standing(stage, "vpc"))
    stage.cloud.strangers.strip(vpc["crn"])
    stage.for_a_while(1200.0)

    assert len([tag for tag in next(iter(standing(stage, "vpc")))["tags"] if "cluster-uuid" in tag]) == 1
    stage.down()
    assert standing(stage) == []


def _rotate(stage: Stage) -> None:
    """A new API key of the same account, and a restart."""
    stage.cloud.settings = replace(stage.cloud.settings, api_key="another-key")
    stage._api_key = "another-key"
    stage.start_process()
