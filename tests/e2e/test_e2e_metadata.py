"""The proposal's two manifests through kubectl, unmodified: tags are applied, drift is repaired and told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from e2e_client import Kubectl
from e2e_operator_lab import Cloud, ServeOptions, operator_here
from e2e_rights import judged, shipped_rights
from e2e_servers import PATIENTLY, Server, until

from freehold.install.options import InstallOptions
from harness.metadata import CLASSIFIER, EXAMPLES, NAMESPACE, WANTED
from harness.simulated_aws import tagged

pytestmark = pytest.mark.e2e


class Account:
    """The simulated AWS account, as its other users see it."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._vpc = self._create("CreateVpc", {"CidrBlock": "10.0.0.0/16"})["id"]

    def _create(self, operation: str, params: dict[str, Any]) -> dict[str, Any]:
        body = {"service": "ec2", "operation": operation, "params": params}
        made: dict[str, Any] = self._cloud.ask("strangers/create?cloud=aws", body)
        return made

    def group(self, name: str, **tags: str) -> str:
        request = {"GroupName": name, "Description": "of a test", "VpcId": self._vpc}
        request["TagSpecifications"] = tagged("security-group", **tags)
        return str(self._create("CreateSecurityGroup", request)["id"])

    def tag(self, ident: str, **tags: str) -> None:
        self._cloud.ask("strangers/tag?cloud=aws", {"id": ident, "tags": tags})

    def tags(self, ident: str) -> dict[str, str]:
        rows = self._cloud.ask("resources?cloud=aws")["resources"]
        return next(dict(row["tags"]) for row in rows if row["id"] == ident)


@pytest.fixture
def kubectl(server: Server, our_crds: None, home: Path) -> Iterator[Kubectl]:
    """In the namespace of the manifests; skipped where somebody has it already."""
    found = Kubectl(server, NAMESPACE, home)
    if "AlreadyExists" in found.run("create", "namespace", NAMESPACE, ok=False):
        pytest.skip(f"{server.label} has a namespace {NAMESPACE}")
    yield found
    found.run("delete", "cloudmetadata,awsmetadata", "--all", PATIENTLY)
    default = Kubectl(server, "default", home)
    default.run("delete", "configmap", "-l", f"freehold.dev/record=keys-of-{NAMESPACE}-tags", PATIENTLY)
    default.run("delete", "secret", f"keys-of-{NAMESPACE}", "--ignore-not-found", PATIENTLY)
    found.delete_namespace()


@pytest.fixture
def judged_kubeconfig(server: Server, tmp_path: Path) -> Iterator[str]:
    """For an operator with the rights that are shipped for one namespace; nothing is refused to it."""
    rights = shipped_rights(InstallOptions("default", serves_namespace=NAMESPACE), f"keys-of-{NAMESPACE}")
    with judged(server.url, rights, tmp_path) as (proxy, kubeconfig):
        yield kubeconfig
    assert proxy.verdicts.refused == []


GRANT = """
apiVersion: metadata-controller.cloud.io/v1alpha1
kind: MetadataGrant
metadata:
  name: for-nobody-here
spec:
  namespaces: [another]
"""


def test_a_grant_of_others_stops_an_object_and_its_tags_go_with_it(
    server: Server, cloud: Cloud, kubectl: Kubectl, home: Path, judged_kubeconfig: str
) -> None:
    """The watches wake it: nobody waits for a sync period."""
    account = Account(cloud)
    ours = account.group("granted", owner="x", **{CLASSIFIER: "owned"})
    everywhere = Kubectl(server, "default", home)
    everywhere.run("apply", "-f", "-", stdin=GRANT)
    try:
        with operator_here(ServeOptions(judged_kubeconfig, cloud.url, NAMESPACE)):
            kubectl.run("apply", "-f", "-", stdin=EXAMPLES)
            policy = '{"spec":{"deletionPolicy":"Remove"}}'
            kubectl.run("patch", "awsmetadata", "awstags", "--type=merge", "-p", policy)
            told = "--for=jsonpath={.status.reason}=NotGranted"
            kubectl.run("wait", "cloudmetadata/metadata", told, PATIENTLY)
            assert account.tags(ours) == {CLASSIFIER: "owned", "owner": "x"}
            everywhere.run("delete", "metadatagrant", "for-nobody-here")
            kubectl.run("wait", "cloudmetadata/metadata", "--for=condition=Ready", PATIENTLY)
            assert account.tags(ours) == {CLASSIFIER: "owned", "owner": "x", **WANTED}
            kubectl.run("delete", "awsmetadata", "awstags", PATIENTLY)
            assert account.tags(ours) == {CLASSIFIER: "owned", "owner": "x"}
    finally:
        everywhere.run("delete", "metadatagrant", "for-nobody-here", "--ignore-not-found", PATIENTLY)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["A28 cloud first", "A28 tags first"])
def test_the_examples_as_they_are(cloud: Cloud, kubectl: Kubectl, judged_kubeconfig: str, order: Sequence[int]) -> None:
    account = Account(cloud)
    name = f"of-order-{order[0]}"
    ours, other = account.group(name, owner="x", **{CLASSIFIER: "owned"}), account.group(f"{name}-other", owner="x")
    manifests = EXAMPLES.split("---")
    with operator_here(ServeOptions(judged_kubeconfig, cloud.url, NAMESPACE)):
        for number in order:
            kubectl.run("apply", "-f", "-", stdin=manifests[number])
        kubectl.run("wait", "cloudmetadata/metadata", "--for=condition=Ready", PATIENTLY)
        until(lambda: account.tags(ours).items() >= WANTED.items(), "the resource is tagged")
        assert account.tags(ours) == {CLASSIFIER: "owned", "owner": "x", **WANTED}
        account.tag(ours, env="prod")
        until(lambda: account.tags(ours)["env"] == "test", "the drift is repaired")
        until(lambda: "DriftRepaired" in kubectl.run("describe", "cloudmetadata", "metadata"), "the event")
        said = kubectl.run("describe", "cloudmetadata", "metadata")
        assert "was 'prod' and is 'test' again" in said and "tags are applied successfully" in said
    assert account.tags(other) == {"owner": "x"}
    status = kubectl.json("get", "awsmetadata", "awstags")["status"]
    assert (status["type"], status["status"], status["resourcetags"]) == ("applied", "True", WANTED)
    header, row = kubectl.run("get", "cloudmetadata", "metadata").splitlines()
    assert header.split() == ["NAME", "READY", "REASON", "AWS", "IBM", "AGE"]
    assert row.split()[:2] == ["metadata", "True"]
