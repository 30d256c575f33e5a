"""The API server takes the objects of an installation, as ``freehold manifests`` prints them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from e2e_client import Kubectl

from freehold.install.manifest import dump_objects
from freehold.install.objects import build_objects
from freehold.install.options import InstallOptions

CHOICES = {
    "defaults": InstallOptions(),
    "one namespace": InstallOptions(
        serves_namespace="default", webhook=False, replicas=1, env={"A": "b"}, token_audience="iam"
    ),
    "everything": InstallOptions(
        shards=12,
        watch_filter="blue",
        feature_gates={"EKSEnableIAM": True},
        image_pull_secret="pull",
        egress_ports=(80,),
        page=True,
    ),
}

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("choice", CHOICES)
def test_api_server_takes_each_object_of_an_installation(choice: str, kubectl: Kubectl, namespace: str) -> None:
    given = CHOICES[choice]
    options = replace(given, namespace=namespace, serves_namespace=namespace if given.serves_namespace else "")
    objects = build_objects(options)
    if choice != "defaults":  # the CRDs are the same ones
        objects = [each for each in objects if each["kind"] != "CustomResourceDefinition"]
    apply = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-")
    taken = kubectl.run(*apply, stdin=dump_objects(objects))
    assert taken.count("serverside-applied (server dry run)") == len(objects), taken
