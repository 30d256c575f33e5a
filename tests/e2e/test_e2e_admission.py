"""The admission webhook, called by the API server under test: a wrong object is refused with the name of its field."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from e2e_client import Kubectl
from e2e_operator_lab import AWS_KIND, Stage, aws
from e2e_servers import steady_port, until

from freehold.admission.running import serve_operator_webhook
from freehold.admission.webhook_configuration import (
    VALIDATE_PATH,
    WebhookOptions,
    build_webhook_configuration,
    name_configuration,
)
from freehold.api import names
from freehold.controllers.settings import RingSecret

Json = dict[str, Any]
pytestmark = pytest.mark.e2e
CONFIGURATION = "validatingwebhookconfiguration"


@contextlib.contextmanager
def admission(stage: Stage) -> Iterator[None]:
    """Serve the webhook of an operator that leads, and tell the API server; afterwards nobody answers any more."""
    settings, port = replace(stage.wish().settings(), keys=RingSecret(stage.namespace)), steady_port()
    stage.kubectl.apply(configuration(stage, port))
    with serve_operator_webhook(settings, ("127.0.0.1", port), None, leads=lambda: True):
        until(lambda: "caBundle" in told(stage)["clientConfig"], "the authority is in the configuration")
        wrong = json.dumps(cluster(stage, sshKeyName=" k "))
        until(lambda: "spec.sshKeyName" in stage.kubectl.run(*DRY_RUN, stdin=wrong, ok=False), "the API server asks")
        yield


DRY_RUN = ("apply", "--dry-run=server", "-f", "-")


def configuration(stage: Stage, port: int) -> Json:
    """What an installation would apply, but for the address: no Service leads out of this API server."""
    found = build_webhook_configuration(WebhookOptions(stage.namespace, watched=stage.namespace))
    found["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{port}{VALIDATE_PATH}"}
    return found


def told(stage: Stage) -> Json:
    entry: Json = stage.kubectl.json("get", CONFIGURATION, name_configuration(stage.namespace))["webhooks"][0]
    return entry


@pytest.fixture
def installed(stage: Stage) -> Iterator[Stage]:
    if stage.server.label == "kubeconfig":
        pytest.skip("the API server of KUBECONFIG does not reach a webhook on this machine")
    try:
        yield stage
    finally:
        stage.kubectl.run("delete", CONFIGURATION, name_configuration(stage.namespace), "--ignore-not-found")


def cluster(stage: Stage, annotations: Json | None = None, **spec: Any) -> Json:
    found = aws(stage.name, stage.namespace)
    found["metadata"]["annotations"] = annotations or {}
    found["spec"] = {name: value for name, value in {**found["spec"], **spec}.items() if value is not None}
    return found


def refused(kubectl: Kubectl, body: Json, *arguments: str) -> str:
    return kubectl.fails("apply", *arguments, "-f", "-", stdin=json.dumps(body))


def test_a_wrong_object_is_refused_at_once_and_what_must_go_on_does_without_an_answer(installed: Stage) -> None:
    stage, kubectl, one = installed, installed.kubectl, (AWS_KIND, installed.name)
    overlapping = [
        {"id": name, "cidrBlock": cidr, "availabilityZone": f"us-east-1{name}", "isPublic": True}
        for name, cidr in (("a", "10.0.0.0/20"), ("b", "10.0.0.0/24"))
    ]
    with admission(stage):
        said = refused(kubectl, cluster(stage, network={"subnets": overlapping}))
        assert "is invalid: spec.network.subnets[1].cidrBlock: '10.0.0.0/24' overlaps" in said
        assert "overlaps" in refused(kubectl, cluster(stage, network={"subnets": overlapping}), "--dry-run=server")
        said = refused(kubectl, cluster(stage, {names.EXTERNAL_RESOURCE_GC_ANNOTATION: "maybe"}))
        assert f"metadata.annotations: annotation {names.EXTERNAL_RESOURCE_GC_ANNOTATION} is 'maybe'" in said
        assert kubectl.run("get", *one, "--ignore-not-found") == ""

        said = kubectl.apply(cluster(stage, network={"vpc": {"carrierGatewayId": "cagw-1"}}))
        assert "Warning: spec.network.vpc.carrierGatewayId: not acted on" in said
        said = kubectl.fails("annotate", *one, f"{names.GC_VOLUMES_ANNOTATION}=all")
        assert "none of retain, delete, snapshot" in said
        said = kubectl.fails("patch", *one, "--type=merge", "-p", '{"spec":{"partition":"aws-cn"}}')
        assert "is invalid: spec.partition: " in said
        kubectl.run("patch", *one, "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/held"]}}')
    assert "failed calling webhook" in refused(kubectl, cluster(stage, sshKeyName="k"))
    assert "is invalid: spec.region" in refused(kubectl, cluster(stage, region="Frankfurt")), "the schema says so first"
    kubectl.run("label", *one, "a=b")
    kubectl.run("delete", *one, "--wait=false")
    kubectl.run("patch", *one, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert kubectl.run("get", *one, "--ignore-not-found") == ""
