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
    """The first of them may be another team's. The reason is the one that the way with the annotation gives."""
    harness = _cluster(serviceInstance={"name": "team-a"}, network={"name": "pods"})
    ids = sorted(_workspace(harness, zone=zone)["id"] for zone in ("dal10", "dal12"))
    harness.for_a_while(600.0)
    told = harness.condition("SpecValid")
    assert "spec.serviceInstance.name: 2 resources have this name" in told["message"]
    assert all(ident in told["message"] for ident in ids)
    assert not harness.ready()
    assert told["reason"] == harness.condition("Ready")["reason"] == "Ambiguous"


def test_what_is_wrong_in_the_manifest_goes_before_two_of_one_name() -> None:
    """A person corrects the manifest either way; that it is wrong is what the reason tells."""
    harness = _cluster(serviceInstance={"name": "team-a"})
    for zone in ("dal10", "dal12"):
        _workspace(harness, zone=zone)
    harness.for_a_while(600.0)
    told = harness.condition("SpecValid")
    assert "spec.network: it is missing" in told["message"] and "2 resources have this name" in told["message"]
    assert told["reason"] == "InvalidSpec"


def test_an_endpoint_without_a_port_gets_the_api_servers() -> None:
    harness = _cluster(serviceInstance={"name": "team-a"}, network={"name": "pods"})
    theirs = _workspace(harness)
    harness.cloud.strangers.make("network", region="dal", workspace=theirs["id"], name="pods")
    harness.up()
    assert harness.object.raw["spec"]["controlPlaneEndpoint"] == {**ENDPOINT, "port": 6443}
    assert len(existing(harness)) == 2, messages(harness)
