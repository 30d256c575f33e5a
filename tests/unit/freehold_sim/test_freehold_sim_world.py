"""The world as data: snapshots, determinism, foreign actors."""

import json
from typing import Any

import pytest
from ibm_cloud_sdk_core import ApiException

from freehold_sim import store
from freehold_sim.clock import VirtualClock
from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.cloud import SimulatedIBM


def test_restore_restores_everything(account: Any) -> None:
    account.a_vpc("before")
    account.cloud.faults.add(Fault(Effect.DENIED, "vpc.create_subnet"))
    taken, before = account.cloud.snapshot(), account.cloud.strangers.resources()
    calls = len(account.cloud.calls)
    account.a_vpc("after")
    account.cloud.faults.clear()
    account.cloud.restore(taken)
    assert account.cloud.strangers.resources() == before
    assert len(account.cloud.calls) == calls
    assert [rule["operation"] for rule in account.cloud.faults.rules()] == ["vpc.create_subnet"]


def test_a_snapshot_can_be_restored_more_than_once(account: Any) -> None:
    taken = account.cloud.snapshot()
    made = []
    for _ in range(2):
        account.cloud.restore(taken)
        made.append(account.vpc.create_vpc(name="net").get_result()["id"])
    assert made[0] == made[1], "the same history gives the same ids"


def test_changes_under_way_survive_in_a_file(account: Any, tmp_path: Any) -> None:
    made = account.vpc.create_vpc(name="net").get_result()
    account.cloud.strangers.attach(made["crn"], "a:b")
    path = tmp_path / "world.json"
    store.save({"ibm": account.cloud}, account.cloud.clock.now(), path)
    saved = store.load(path)
    assert saved is not None
    clock = VirtualClock(saved.time)
    again = SimulatedIBM(clock)
    again.resume(saved.clouds["ibm"].state, saved.clouds["ibm"].calls)
    clock.advance(15)
    seen = next(row for row in again.strangers.resources() if row["id"] == made["id"])
    assert (seen["state"], seen["tags"]) == ("available", ["a:b"])
    assert again.calls[-1] == account.cloud.calls[-1]


def test_a_saved_file_keeps_every_write_however_many_reads_follow(account: Any, tmp_path: Any) -> None:
    account.vpc.create_vpc(name="net")
    wrote = [call for call in account.cloud.calls if call.mutating]
    read = account.cloud.calls[-1]._replace(mutating=False)
    last = account.cloud.calls[-1].sequence
    account.cloud.calls += [read._replace(sequence=last + number) for number in range(1, 2001)]
    store.save({"ibm": account.cloud}, account.cloud.clock.now(), tmp_path / "world.json")
    saved = store.load(tmp_path / "world.json")
    assert saved is not None
    kept = saved.clouds["ibm"].calls
    assert [call for call in kept if call.mutating] == wrote
    assert wrote and len(kept) == 1000 + len(wrote)
    assert kept[-1] == account.cloud.calls[-1]


def test_a_file_from_before_there_was_a_second_cloud_is_read(account: Any, tmp_path: Any) -> None:
    account.vpc.create_vpc(name="net")
    path = tmp_path / "world.json"
    calls = [list(call) for call in account.cloud.calls]
    path.write_text(json.dumps({"time": 5.0, "data": account.cloud.world.data, "calls": calls}))
    saved = store.load(path)
    assert saved is not None
    assert saved.time == 5.0
    assert saved.clouds["ibm"].calls == account.cloud.calls
    again = SimulatedIBM(VirtualClock(saved.time))
    again.resume(saved.clouds["ibm"].state, saved.clouds["ibm"].calls)
    assert again.resources() == account.cloud.resources()


def test_a_file_that_is_no_world_is_named(tmp_path: Any) -> None:
    path = tmp_path / "world.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"world\.json is not a simulator"):
        store.load(path)
    assert store.load(tmp_path / "none.json") is None


def test_state_is_plain_data(account: Any) -> None:
    account.a_balancer(account.a_subnet(account.a_vpc()))
    account.a_dhcp(account.a_workspace())
    assert json.loads(json.dumps(account.cloud.world.data)) == account.cloud.world.data


def test_strangers_make_every_usual_kind_at_once_in_its_final_state(account: Any) -> None:
    make = account.cloud.strangers.make
    vpc = make("vpc", region="us-south", name="theirs", tags=["owner:x"])
    subnet = make("subnet", region="us-south", vpc=vpc["id"], zone="us-south-1", name="s")
    make("security-group", region="us-south", vpc=vpc["id"], name="g")
    make("load-balancer", region="us-south", subnet=subnet["id"], name="l")
    gateway = make("gateway", location="us-south", name="t")
    make("connection", gateway=gateway["id"], network=vpc["crn"], name="c")
    workspace = make("workspace", zone="dal10", name="w")
    there = {"region": "dal", "workspace": workspace["id"]}
    make("dhcp", **there, name="d")
    network = make("network", **there, name="n")
    make("vm", **there, network=network["id"], name="v")
    make("cos-instance", name="o")
    rows = account.cloud.strangers.resources()
    assert {row["created_by"] for row in rows} == {"stranger"}
    assert not {row["state"] for row in rows} & {"pending", "BUILD", "provisioning", "create_pending"}
    assert rows[0]["tags"] == ["owner:x"]
    parents = {row["name"]: row["parent"] for row in rows}
    assert (parents["s"], parents["c"], parents["v"]) == (vpc["id"], gateway["id"], workspace["id"])


def test_strangers_can_prevent_deletes(account: Any) -> None:
    vpc = account.a_vpc()
    subnet = account.a_subnet(vpc)
    account.cloud.strangers.occupy(
        "virtual-server", "vm", vpc=vpc["id"], region="us-south", subnets=[subnet["id"]], service="is"
    )
    with pytest.raises(ValueError, match="409"):
        account.cloud.strangers.send("DELETE", f"/vpc/us-south/v1/subnets/{subnet['id']}")


def test_strangers_delete_a_resource_with_everything_that_refers_to_it(account: Any) -> None:
    vpc, gateway = account.a_vpc(), account.a_gateway()
    account.a_subnet(vpc)
    connect = account.transit.create_transit_gateway_connection
    made = connect(gateway["id"], network_type="vpc", network_id=vpc["crn"]).get_result()
    account.cloud.strangers.delete(made["id"])
    account.cloud.strangers.delete(vpc["crn"])
    assert [row["kind"] for row in account.cloud.strangers.resources()] == ["gateway"]


def test_strangers_change_tags_names_and_states(account: Any) -> None:
    vpc = account.a_vpc()
    strangers = account.cloud.strangers
    strangers.attach(vpc["crn"], "a:b", "c:d")
    strangers.detach(vpc["crn"], "A:B")
    assert strangers.resources()[0]["tags"] == ["c:d"]
    strangers.strip(vpc["crn"])
    strangers.rename(vpc["id"], "stolen")
    strangers.change(vpc["id"], state="failed")
    seen = strangers.resources()[0]
    assert (seen["tags"], seen["name"], seen["state"]) == ([], "stolen", "failed")
    with pytest.raises(KeyError):
        strangers.find("none")
    with pytest.raises(ValueError, match="default security group"):
        strangers.delete(vpc["default_security_group"]["id"])


def test_calls_from_several_threads_take_turns(account: Any) -> None:
    """The product calls from a thread pool: no call may be lost and no name given twice."""
    from concurrent.futures import ThreadPoolExecutor

    def create(number: int) -> int:
        try:
            return int(account.vpc.create_vpc(name=f"net-{number // 2}").get_status_code())
        except ApiException as error:
            return int(error.status_code)

    account.fetch_token()
    assert account.vpc is not None
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(create, range(16)))
    assert sorted(statuses) == [201] * 8 + [400] * 8
