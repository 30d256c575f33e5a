"""A Ready cluster on any API server, as a user of kubectl sees it."""

from __future__ import annotations

import json
import re

import pytest
from e2e_operator_lab import KIND, Served, condition, is_ready
from e2e_servers import PATIENTLY, until

from freehold.api import names
from freehold.providers.ibm import api_names as ibm_names

pytestmark = pytest.mark.e2e

CONTRACT_REASON = re.compile(r"^[A-Z][A-Za-z0-9]*$")
"""Stricter than Kubernetes' own pattern for a reason; see docs/reference/capi-contract.md C10."""

PARTS = {ibm_names.SERVICE_INSTANCE_READY, ibm_names.NETWORK_READY, ibm_names.VPC_READY, ibm_names.VPC_SUBNET_READY,
         ibm_names.TRANSIT_GATEWAY_READY, names.LOAD_BALANCER_READY}  # fmt: skip


def test_wait_for_a_condition_and_for_a_field(served: Served) -> None:
    kubectl, name = served.stage.kubectl, served.stage.name
    for what in ("condition=Ready", "jsonpath={.status.ready}=true", "condition=VPCReady"):
        assert "condition met" in kubectl.run("wait", f"{KIND}/{name}", f"--for={what}", PATIENTLY)


def test_the_resources_in_the_cloud(served: Served) -> None:
    """One of each kind, and nothing that the manifest does not request."""
    assert served.stage.cloud.kinds(served.stage.name) == [
        "connection", "connection", "dhcp", "gateway", "instance", "load-balancer", "network", "subnet", "vpc",
    ]  # fmt: skip


def test_the_endpoint_is_set_before_ready(served: Served) -> None:
    """Cluster API reads the endpoint only once, when it sees ready (docs/reference/capi-contract.md C5)."""
    ready = [each for each in served.witness.seen if (each.get("status") or {}).get("ready")]
    assert ready, "ready was seen"
    for each in ready:
        endpoint = each["spec"]["controlPlaneEndpoint"]
        assert endpoint["host"].endswith(".appdomain.cloud") and endpoint["port"] == 6443
        assert is_ready(each)


def test_conditions_over_the_whole_stream(served: Served) -> None:
    """Every visible version has conditions that a program can read."""
    for each in served.witness.seen:
        for found in (each.get("status") or {}).get("conditions", ()):
            assert CONTRACT_REASON.match(found["reason"]), found
            assert found["status"] in ("True", "False", "Unknown") and found["lastTransitionTime"], found
            assert "Traceback" not in found.get("message", "") and "Error(" not in found.get("message", ""), found
    last = served.stage.object()
    assert {each["type"] for each in last["status"]["conditions"] if each["status"] == "True"} >= PARTS | {names.READY}


def test_ready_does_not_become_false_again(served: Served) -> None:
    """Nothing was changed, so no version may be not ready after a ready one."""
    words = [each["status"].get("ready", False) for each in served.witness.seen if "status" in each]
    assert words == sorted(words)
    assert len(words) < 40, "few writes: nine resources, each requested, created and marked"


def test_columns(served: Served) -> None:
    kubectl, name = served.stage.kubectl, served.stage.name
    header, row = kubectl.run("get", KIND, name).splitlines()
    assert header.split() == ["NAME", "CLUSTER", "PHASE", "READY", "REASON", "AGE"]
    assert row.split()[:4] == [name, "Ready", "True", "Ready"], "no label names a Cluster"
    header, row = kubectl.run("get", KIND, "-o", "wide").splitlines()
    assert re.split(r" {2,}", header.strip()) == [
        "NAME", "CLUSTER", "PHASE", "READY", "REASON", "AGE", "INSTANCE ID", "ENDPOINT", "PORT", "PAUSED",
    ]  # fmt: skip
    found = served.stage.object()
    assert row.split()[-4:] == [
        found["status"]["serviceInstance"]["id"], found["spec"]["controlPlaneEndpoint"]["host"], "6443", "False",
    ]  # fmt: skip


def test_describe_shows_the_events(served: Served) -> None:
    def told() -> str:
        return served.stage.kubectl.run("describe", KIND, served.stage.name)

    until(lambda: "Ready is True" in told(), "the last event: each is posted after its status")
    said, _, events = told().partition("Events:")
    assert f"{served.stage.name}-vpc" in said and "Conditions:" in said
    assert "ResourceCreated" in events and "Ready is True" in events and "<none>" not in events


def test_explain_reads_the_generated_schema(served: Served) -> None:
    said = served.stage.kubectl.run("explain", f"{KIND}.spec.loadBalancers.additionalListeners.port")
    assert "<integer>" in said and "DESCRIPTION" in said
    assert "FIELDS" in served.stage.kubectl.run("explain", f"{KIND}.status.conditions")


def test_applying_the_same_again_changes_nothing(served: Served) -> None:
    """What we added (endpoint, journal, finalizer) stays.

    kubectl itself may print "configured": it sends a list again whose items have defaults (``public``).
    """
    stage = served.stage
    before = stage.object()
    stage.kubectl.apply(stage.powervs())
    after = stage.object()
    assert after["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    assert after["metadata"]["finalizers"] == [ibm_names.POWERVS_CLUSTER_FINALIZER]
    assert after == before


def test_idle_writes_nothing(served: Served) -> None:
    """Shallow and deep passes in twenty minutes write nothing, here or in the cloud."""
    stage = served.stage
    version = stage.object()["metadata"]["resourceVersion"]
    seen = stage.cloud.calls()["total"]
    assert served.witness.quiet(2.0), served.witness.last()
    both = {"search.search", "vpc.get_load_balancer"}
    until(lambda: both <= stage.cloud.calls(seen)["by_operation"].keys(), "a shallow and a deep pass")
    assert stage.cloud.calls(seen)["mutating"] == 0, "it has read, and only read"
    assert stage.object()["metadata"]["resourceVersion"] == version


def test_a_label_has_no_effect(served: Served) -> None:
    stage = served.stage
    before = stage.object()
    stage.kubectl.run("label", KIND, stage.name, "team=x")
    served.witness.wait_from_now(lambda obj: obj["metadata"].get("labels", {}).get("team") == "x", "the label")
    assert served.witness.quiet(0.5), "a label causes no write of ours"
    after = stage.object()
    assert (after["spec"], after["status"]) == (before["spec"], before["status"])
    stage.kubectl.run("label", KIND, stage.name, "team-")


def test_an_error_of_the_schema_is_reported_at_once(served: Served) -> None:
    """A mistake that the schema can detect is refused when it is applied."""
    wrong = served.stage.powervs()
    wrong["metadata"]["name"] += "x"
    wrong["spec"]["ignition"] = {"version": "9.9"}
    wrong["spec"]["loadBalancers"][0]["additionalListeners"] = [{"port": 70000}]
    said = served.stage.kubectl.fails("apply", "-f", "-", stdin=json.dumps(wrong))
    assert "spec.ignition.version" in said and "spec.loadBalancers[0].additionalListeners[0].port" in said
    assert condition(served.stage.object(), names.READY)["status"] == "True"
