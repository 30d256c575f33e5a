"""The work of a shard: begun when it is taken, ended before it is handed over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from freehold.controllers.app import Operator
from freehold.controllers.controller import Controller, Done, Result
from freehold.controllers.leadership.shards import SINGLE, find_shard
from freehold.controllers.leadership.work import ShardedWork, ShardedWorks, name_by_uid
from freehold.controllers.name_claims import name_by_claim
from freehold.controllers.settings import Settings
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import CONFIG_MAPS, Json, Key, key_of
from freehold.providers.registry import SERVED
from harness.commands import freehold
from harness.virtual_time import VirtualTime, run_ready_tasks

SHARDS = 4
NOWHERE = Connection("http://127.0.0.1:9")


def thing(name: str, uid: str) -> Json:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": "1"}}


UIDS = {shard: next(str(each) for each in range(99) if find_shard(str(each), SHARDS) == shard) for shard in range(4)}
THINGS = [thing(f"of-{shard}", uid) for shard, uid in UIDS.items()]


@dataclass
class Place:
    """A controller whose cache shows an object of each shard."""

    begun: list[Key] = field(default_factory=list)
    forgotten: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        async def reconcile(key: Key) -> Result:
            return Done()

        self.controller = Controller(KubeClient(NOWHERE), CONFIG_MAPS, reconcile, time=VirtualTime())
        self.controller.find_reflector(CONFIG_MAPS).objects.update({key_of(each): each for each in THINGS})
        work = ShardedWork(self.controller, name_by_uid, self.begun.append, self.forgotten.append)
        self.works = ShardedWorks([work], SHARDS)

    async def take_from_queue(self) -> Key:
        key = await self.controller.queue.get()
        assert key is not None
        return key


async def test_a_shard_that_is_taken_is_looked_at_and_no_other() -> None:
    place = Place()
    place.works.take(2)
    assert place.begun == [Key("ns", "of-2")] and len(place.controller.queue) == 1


@pytest.mark.parametrize("gone", [False, True], ids=["of the shard", "an object that is gone meanwhile"])
async def test_a_shard_is_drained_when_its_reconciles_have_ended(gone: bool) -> None:
    place = Place()
    for name in ("of-1", "of-2"):
        place.controller.queue.add(Key("ns", name))
        await place.take_from_queue()
    if gone:
        del place.controller.find_reflector(CONFIG_MAPS).objects[Key("ns", "of-1")]
    draining = asyncio.create_task(place.works.drain(1))
    await run_ready_tasks()
    assert not draining.done() and not place.forgotten
    place.controller.queue.finish(Key("ns", "of-1"))
    await draining
    assert place.forgotten == ([] if gone else [THINGS[1]]), "that of another shard goes on"


def test_objects_that_claim_one_name_are_in_one_shard() -> None:
    served = next(each for each in SERVED if each.kind == "AWSCluster")
    names = {name_by_claim(served)(thing("same", uid) | {"kind": served.kind}) for uid in UIDS.values()}
    assert names == {"AWSCluster same"}


def test_an_operator_that_is_not_elected_follows() -> None:
    alone, elected = (Operator(Settings(kube=NOWHERE, access={}, leader_elect=each)) for each in (False, True))
    assert alone.leads() and alone.leads_all() and not alone.read_process_health().follows
    assert not elected.leads() and not elected.leads_all() and elected.read_process_health().follows
    assert find_shard(SINGLE, SHARDS) == 0


def test_shards_need_an_election() -> None:
    done = freehold("operator", "--shards", "4", "--no-leader-elect")
    assert done.returncode == 1 and "--shards needs --leader-elect" in done.stderr
    assert freehold("operator", "--shards", "0").returncode == 2
