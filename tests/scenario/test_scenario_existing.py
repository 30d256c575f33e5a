"""Without the create-infra annotation: workspace and network are there already, and are found by id or by name."""

from __future__ import annotations

from typing import Any

from harness.powervs import Harness, example
from harness.resources import existing, messages, snapshot

ENDPOINT = {"host": "api.example.com"}


def _cluster(**spec: Any) -> Harness:
    manifest = example()
    manifest["metadata"]["annotations"] = {}
    manifest["spec"] = {"controlPlaneEndpoint": dict(ENDPOINT), **spec}
    return Harness(manifest)


def _workspace(harness: Harness, name: str = "team-a", zone: str = "dal10") -> dict[str, Any]:
    made = harness.cloud.strangers.make("workspace", zone=zone, name=name)
    return dict(made)


def test_a_workspace_by_name_needs_no_zone() -> None:
    harness = _cluster(serviceInstance={"name": "team-a"}, network={"name": "pods"})
    theirs = _workspace(harness)
    harness.cloud.strangers.make("network", region="dal", workspace=theirs["id"], name="pods")
    before = snapshot(harness)
    harness.up()
    assert harness.status()["serviceInstance"]["id"] == theirs["id"]
    assert snapshot(harness) == before


def test_two_workspaces_of_one_name_need_a_person() -> None:
    """The first of them may be another team's."""
    harness = _cluster(serviceInstance={"name": "team-a"}, network={"name": "pods"})
    ids = sorted(_workspace(harness, zone=zone)["id"] for zone in ("dal10", "dal12"))
    harness.for_a_while(600.0)
    told = harness.condition("SpecValid")["message"]
    assert "spec.serviceInstance.name: 2 resources have this name" in told
    assert all(ident in told for ident in ids)
    assert not harness.ready()


def test_an_endpoint_without_a_port_gets_the_api_servers() -> None:
    harness = _cluster(serviceInstance={"name": "team-a"}, network={"name": "pods"})
    theirs = _workspace(harness)
    harness.cloud.strangers.make("network", region="dal", workspace=theirs["id"], name="pods")
    harness.up()
    assert harness.object.raw["spec"]["controlPlaneEndpoint"] == {**ENDPOINT, "port": 6443}
    assert len(existing(harness)) == 2, messages(harness)
