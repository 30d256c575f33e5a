"""From nothing to Ready and back: what a user sees, and that only what existed before is left."""

from __future__ import annotations

import pytest

from freehold.api import names as api_names
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, FoundCluster
from harness.powervs import Harness, example
from harness.resources import (
    existing,
    infrastructure,
    made_by_us,
    marks,
    messages,
    names,
    omitted,
    only,
    record,
    snapshot,
)
from harness.standing import standing


def test_create_and_delete_leave_exactly_what_existed_before() -> None:
    """The main guarantee: everything owned is deleted, and foreign resources do not change by a byte."""
    harness = Harness()
    infrastructure(harness)
    before = snapshot(harness)

    harness.up()

    assert {row["kind"] for row in made_by_us(harness)} == {
        "instance", "network", "dhcp", "vpc", "security-group", "subnet", "load-balancer", "gateway", "connection",
    }  # fmt: skip
    assert snapshot(harness, before) == before

    harness.down()

    assert snapshot(harness) == before
    assert harness.object.raw["metadata"]["finalizers"] == []


def test_every_created_resource_has_the_ownership_marks() -> None:
    """Without both marks no later process could prove ownership, and a delete would leave the resource behind."""
    harness = standing(Harness)
    uid = harness.object.raw["metadata"]["uid"]

    for kind in ("instance", "network", "vpc", "subnet", "load-balancer", "gateway"):
        tags = only(harness, kind)["tags"]
        assert "powervs.cluster.x-k8s.io.owner:default.freehold-demo" in tags, kind
        assert f"powervs.cluster.x-k8s.io.cluster-uuid:{uid}" in tags, kind
    carried = [tag for tag in marks(only(harness, "gateway")) if ".transit-gateway-connection:" in tag]
    assert {tag.rpartition(".")[2] for tag in carried} == {row["id"] for row in existing(harness, "connection")}


def test_ready_shows_the_endpoint_and_every_condition_is_true() -> None:
    """docs/reference/capi-contract.md C5: a ready status has the host of the public load balancer and a port."""
    harness = standing(Harness)

    host = harness.status()["loadBalancers"]["freehold-demo-loadbalancer"]["hostname"]
    assert harness.object.raw["spec"]["controlPlaneEndpoint"] == {"host": host, "port": 6443}
    assert harness.status()["ready"] is True
    assert harness.status()["initialization"] == {"provisioned": True}
    calm = {api_names.DELETING, api_names.PAUSED}
    assert {type_ for type_, text in harness.conditions().items() if not text.startswith("True")} == calm
    for version in harness.object.history:
        if (version.get("status") or {}).get("ready"):
            assert version["spec"]["controlPlaneEndpoint"]["host"] == host


def test_status_shows_that_we_created_all_resources() -> None:
    """``controllerCreated`` is upstream's field; here each pass computes it from the marks."""
    harness = standing(Harness)

    status = harness.status()
    for field in ("serviceInstance", "network", "dhcpServer", "vpc", "transitGateway"):
        assert status[field]["controllerCreated"] is True, field
    assert [one["controllerCreated"] for one in status["vpcSubnet"].values()] == [True]
    assert [one["controllerCreated"] for one in status["loadBalancers"].values()] == [True]
    assert status["transitGateway"]["vpcConnection"]["controllerCreated"] is True
    assert status["network"]["id"] == only(harness, "network")["id"]
    assert {row["ownership"] for row in status["resources"]} == {"managed"}


def test_omitted_resources_get_the_default_names_of_upstream() -> None:
    """Omitted resources (docs/reference/requirements.md I11 to I20): a subnet in each zone, one of each other kind."""
    harness = standing(Harness, example(**omitted()))

    assert names(harness) >= {
        "freehold-demo-serviceInstance",
        "DHCPSERVERfreehold-demo_Private",
        "freehold-demo-vpc",
        "freehold-demo-vpcsubnet-us-south-1",
        "freehold-demo-vpcsubnet-us-south-2",
        "freehold-demo-vpcsubnet-us-south-3",
        "freehold-demo-transitgateway",
        "freehold-demo-loadbalancer",
    }
    assert len(existing(harness, "subnet")) == 3
    harness.down()
    assert existing(harness) == []


def test_events_tell_a_person_what_happened() -> None:
    """One event for each resource, one for Ready; none is a warning, and none is sent twice."""
    harness = standing(Harness)

    created = [message for _, reason, message in harness.events.said if reason == "ResourceCreated"]
    assert len(created) == len(set(created)) == 8
    assert [reason for _, reason, _ in harness.events.said].count("Ready") == 1
    assert [said for said in harness.events.said if said[0] != "Normal"] == []


def test_nothing_is_written_once_it_is_ready() -> None:
    """Twenty idle passes change neither the cloud nor the object: otherwise its own writes would wake it."""
    harness = standing(Harness)
    harness.for_a_while(120.0)
    version = harness.object.raw["metadata"]["resourceVersion"]
    world, writes = snapshot(harness), len(harness.calls(mutating=True))

    harness.settle(20)

    assert len(harness.calls(mutating=True)) == writes
    assert harness.object.raw["metadata"]["resourceVersion"] == version
    assert snapshot(harness) == world


def test_a_restart_of_the_operator_creates_nothing_and_stays_ready() -> None:
    """What is owned is known from journal and marks, not from memory."""
    harness = standing(Harness)
    world = snapshot(harness)

    harness.start_process()
    harness.settle(6)

    assert snapshot(harness) == world
    assert harness.ready()


def test_the_api_servers_port_comes_from_the_cluster() -> None:
    """6443 unless the Cluster has another; rule, listener and endpoint follow it."""
    cluster = {"metadata": {"name": "freehold-demo"}, "spec": {"clusterNetwork": {"apiServerPort": 7443}}}
    harness = Harness(around=ClusterContext(ClusterApiMode.OFF, referrer=FoundCluster(cluster)))
    harness.up()

    assert harness.object.raw["spec"]["controlPlaneEndpoint"]["port"] == 7443
    assert [listener["port"] for listener in record(harness, only(harness, "load-balancer")["id"])["listeners"]] == [
        7443
    ]
    assert 7443 in {rule.get("port_min") for rule in record(harness, only(harness, "security-group")["id"])["rules"]}


@pytest.mark.parametrize("endpoint", [{"host": "api.example.com", "port": 443}, {"host": "api.example.com"}])
def test_a_users_endpoint_is_never_overwritten(endpoint: dict[str, object]) -> None:
    """The user may have put a name of their own in front of the load balancer. A port that is left out is set."""
    harness = Harness(example(controlPlaneEndpoint=endpoint))
    harness.up()
    harness.settle(3)
    assert harness.object.raw["spec"]["controlPlaneEndpoint"] == {"port": 6443, **endpoint}


def test_user_tags_are_on_everything_that_was_created() -> None:
    """docs/reference/requirements.md T4. A key alone is a tag, too."""
    harness = Harness(example(tags=[{"key": "team", "value": "payments"}, {"key": "temporary"}]))
    harness.up()

    for kind in ("instance", "network", "vpc", "subnet", "load-balancer", "gateway"):
        assert {"team:payments", "temporary"} <= set(only(harness, kind)["tags"]), kind


def test_a_user_tag_added_later_is_attached() -> None:
    """Tags follow today's spec, not the spec at the creation."""
    harness = standing(Harness)
    harness.object.patch({"spec": {"tags": [{"key": "team", "value": "payments"}]}})
    harness.for_a_while(300.0)

    assert "team:payments" in only(harness, "vpc")["tags"]
    assert harness.ready()


def test_a_failure_after_ready_changes_the_condition_and_not_the_flag() -> None:
    """docs/reference/capi-contract.md C7: ``ready`` and ``provisioned`` stay; the condition shows the current state."""
    harness = standing(Harness)
    harness.cloud.strangers.change(only(harness, "load-balancer")["id"], state="failed")
    harness.object.patch({"metadata": {"annotations": {"poke": "1"}}})
    harness.for_a_while(900.0)

    assert not harness.ready()
    assert "freehold-demo-loadbalancer" in messages(harness)
    assert harness.status()["ready"] is True
    assert harness.status()["initialization"] == {"provisioned": True}
