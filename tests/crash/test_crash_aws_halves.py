"""What is half made when the process dies, by name, and that nothing of it is lost: halves that CAPA loses.

For each: the process comes back, the object was deleted meanwhile, or its journal was restored to before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from lab import catalogue, families, faults
from lab.aws import AwsLife, AwsWorld
from lab.aws_neighbours import existing
from lab.catalogue import Fresh
from lab.families import Case
from lab.families_aws import AWS, SECOND
from lab.faults import Fault, Script


@dataclass(frozen=True)
class Half:
    """The process dies ``when`` the first ``operation`` is sent; ``there``: whether the half is there then."""

    operation: str
    when: Fault
    there: Callable[[AwsWorld], bool]
    world: Fresh = AWS.world


def _ours(world: AwsWorld, kind: str) -> list[Mapping[str, Any]]:
    return [record for record in existing(world.harness) if record["by"] == "api" and record["kind"] == kind]


def _not_recorded(world: AwsWorld, kind: str) -> bool:
    made = [record["id"] for record in _ours(world, kind)]
    return bool(made) and not any(entry.id in made for entry in world.life.journal.entries.values())


HALVES = {
    "internet gateway made and not attached": Half(
        "attach_internet_gateway",
        faults.BEFORE,
        lambda world: [gateway["view"]["Attachments"] for gateway in _ours(world, "internet-gateway")] == [[]],
    ),
    "route table not associated": Half(
        "associate_route_table",
        faults.BEFORE,
        lambda world: not _ours(world, "route-table")[0]["view"]["Associations"],
    ),
    "VPC not recorded": Half("create_vpc", faults.AFTER, lambda world: _not_recorded(world, "vpc")),
    "address not recorded": Half("allocate_address", faults.AFTER, lambda world: _not_recorded(world, "elastic-ip")),
    "target group without listener": Half(
        "create_listener",
        faults.BEFORE,
        lambda world: bool(_ours(world, "target-group")) and not _ours(world, "listener"),
        SECOND,
    ),
    "bucket without its policy": Half(
        "put_bucket_policy", faults.BEFORE, lambda world: bool(_ours(world, "bucket")), SECOND
    ),
}


def _comes_back(life: AwsLife) -> None:
    """Nothing happens meanwhile."""


def _restored(life: AwsLife) -> None:
    life.roll_back(2)


def _restored_and_deleted(life: AwsLife) -> None:
    life.roll_back(2)
    life.deleting = True


MEANWHILE = [
    pytest.param(_comes_back, id="comes back"),
    pytest.param(catalogue.delete_now, id="deleted"),
    pytest.param(_restored, id="restored", marks=pytest.mark.slow),
    pytest.param(_restored_and_deleted, id="restored and deleted", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES.keys())
def test_nothing_is_lost_or_made_twice(half: Half, meanwhile: Callable[[Any], None]) -> None:
    calls, _ = families.calls_of(half.world)
    number = next(number for number, call in enumerate(calls) if call.operation == half.operation)
    seen: list[bool] = []

    def on_crash(life: AwsLife) -> None:
        seen.append(half.there(life.world))
        meanwhile(life)

    script = partial(catalogue.given, Script({number: half.when}))
    verdict = families.run(Case(half.operation, half.world, script, on_crash=on_crash))
    assert seen == [True]
    assert verdict.faults == []
    assert verdict.named == []


@pytest.mark.parametrize("kind", ["vpc", "internet-gateway", "elastic-ip"])
def test_what_lost_its_tags_before_its_record_is_named_and_not_made_twice(kind: str) -> None:
    """Nothing tells such a one from anybody's: a person is shown it, who knows from the cloud's log (ADR 7)."""
    after_the_create = 8  # its id is saved with those of the whole wave
    (case,) = catalogue.meddling(AwsWorld, "strip", (kind,), faults.BEFORE, (after_the_create,))
    verdict = families.run(case)
    assert verdict.faults == []
    assert verdict.named == []
