"""What a pass of the metadata controller costs: counts that must not grow faster than the fleet."""

from __future__ import annotations

import cProfile
import json
import pstats
from datetime import UTC, datetime
from pathlib import Path

import freehold
from freehold.tags.policy.ledger_format import SHARDS
from freehold.tags.policy.references import Refused
from freehold.tags.policy.status import of_provider
from freehold_sim.aws.settings import Settings
from harness.metadata import Lab

PRODUCT = str(Path(freehold.__file__).parent)


async def _first_pass(resources: int) -> tuple[float, list[str], list[str]]:
    """Calls of our own functions for each resource, what was sent, and what was stored."""
    lab = Lab(Settings(limits={}))
    await lab.apply_examples()
    await lab.work()  # what is loaded for the first object does not count
    lab.groups(resources)
    lab.sent()
    lab.objects.written.clear()
    profile = cProfile.Profile()
    profile.enable()
    await lab.work()
    profile.disable()
    rows = pstats.Stats(profile).stats.items()  # type: ignore[attr-defined]  # typeshed has no stats
    calls = sum(count for (file, _, _), (_, count, *_) in rows if file.startswith(PRODUCT))
    assert lab.condition("Ready")[0] == "True"
    return calls / resources, lab.sent(), list(lab.objects.written)


async def test_the_work_for_a_resource_does_not_grow_with_the_fleet() -> None:
    """10,000 resources must end. Counted, so that it does not hang on the machine."""
    few, _, _ = await _first_pass(100)
    many, _, _ = await _first_pass(1000)
    assert many <= few * 1.2


async def test_each_shard_of_the_record_is_written_once_before_the_calls_and_once_after_them() -> None:
    """However many calls there are: 1,000 resources take five."""
    _, sent, stored = await _first_pass(1000)
    assert sent.count("ec2.create_tags") == 5
    shards = [each for each in stored if "freehold-tags-" in each]
    assert len(shards) == 2 * SHARDS
    assert len(stored) == 2 * SHARDS + 3, "the annotation, and two statuses"


async def _pass_beside(others: int, resources: int) -> int:
    """Calls of our own functions in a pass at rest, beside this many other objects."""
    lab = Lab(Settings(limits={}))
    lab.groups(resources)
    await lab.apply_examples()
    for number in range(others):
        await lab.tags(f"tags-{number}", {f"key-{number}": ""})
        await lab.cloud(f"cloud-{number}", f"tags-{number}", classifiers={f"other-{number}": ""})
    await lab.settle()
    lab.wait()
    profile = cProfile.Profile()
    profile.enable()
    await lab.work()
    profile.disable()
    rows = pstats.Stats(profile).stats.items()  # type: ignore[attr-defined]  # typeshed has no stats
    return sum(count for (file, _, _), (_, count, *_) in rows if file.startswith(PRODUCT))


async def test_other_objects_cost_a_pass_little_and_a_resource_nothing() -> None:
    """A thousand objects look at each other in each pass: they are not parsed anew, nor tried on each resource."""
    alone, beside = await _pass_beside(0, 10), await _pass_beside(50, 10)
    assert (beside - alone) / 50 < 40
    more = await _pass_beside(50, 110)
    assert (more - beside) / 100 <= 1.1 * (await _pass_beside(0, 110) - alone) / 100


async def test_a_change_of_one_resource_writes_one_shard() -> None:
    lab = Lab()
    ours = lab.groups(40)
    await lab.apply_examples()
    await lab.settle()
    lab.somebody_strips(ours[7], "env")
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": "eng"}})
    lab.wait()
    lab.objects.written.clear()
    await lab.settle()
    assert [each for each in lab.objects.written if "freehold-tags" in each] == []
    lab.somebody_strips(ours[7], "env")
    fresh = lab.group("fresh", **dict.fromkeys([next(iter(lab.tags_on(ours[0])))], "owned"))
    lab.wait()
    lab.objects.written.clear()
    await lab.settle()
    assert lab.tags_on(fresh)["env"] == "test"
    assert len([each for each in lab.objects.written if "freehold-tags" in each]) == 2


async def test_a_status_has_a_bound_whatever_the_specs_say() -> None:
    """An API server stores no object of megabytes: the status would never be written at all."""
    lab = Lab()
    lab.groups(1)
    for number in range(6):
        operations = [
            {"resourcetags": {f"kubernetes.io/{number}/{part}/{key}".ljust(128, "x"): "v" for key in range(50)}}
            for part in range(16)
        ]
        await lab.tags(f"t{number}", {}, operations=operations)
    refs = [{"kind": "AWSMetadata", "name": f"t{number}"} for number in range(6)]
    await lab.cloud("metadata", "t0", cloudprovider={"refs": refs})
    await lab.work()
    assert lab.condition("Ready")[:2] == ("False", "InvalidTags")
    assert "and 796 more" in lab.status("AWSMetadata", "t0")["message"]
    assert len(json.dumps(lab.status())) < 60_000
    assert len(json.dumps(lab.status("AWSMetadata", "t0"))) < 60_000


def test_the_flat_message_has_the_bound_of_a_condition() -> None:
    now = datetime(2026, 11, 23, tzinfo=UTC)
    told = of_provider({"metadata": {"generation": 1}}, Refused("InvalidSpec", "x" * 1_000_000), now)
    assert len(json.dumps(told)) < 40_000
