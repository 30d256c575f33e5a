"""The examples: the upstream template with its variables filled in and nothing else changed, and small ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from freehold.api.names import INFRASTRUCTURE_GROUP
from freehold.providers.crds import PLACEHOLDERS, SERVED
from freehold.providers.ibm.api_names import POWERVS_CLUSTER_KIND
from freehold.providers.ibm.powervs.create_infra import CreateInfra, create_infra
from harness.schemas import crd_of, powervs_spec

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
UPSTREAM = ROOT / "tests" / "data" / "upstream"
TEMPLATES = ("cluster-template-powervs-create-infra.yaml", "cluster-template-powervs.yaml")
OF_EKS = ("", "-clusterclass", "-managedmachinepool")
ALL_TEMPLATES = (
    *TEMPLATES, "capa/cluster-template.yaml", *(f"capa/cluster-template-eks{flavor}.yaml" for flavor in OF_EKS),
)  # fmt: skip

VARIABLES = {
    "BASE64_API_KEY": "PUT-THE-BASE64-OF-YOUR-API-KEY-HERE",
    "CLUSTER_NAME": "freehold-demo",
    "CONTROL_PLANE_MACHINE_COUNT": "3",
    "COS_BUCKET_NAME": "power-oss-bucket",
    "COS_BUCKET_REGION": "us-south",
    "COS_OBJECT_NAME": "capibm-powervs-centos-9-1-33-1.ova.gz",
    "IBMACCOUNT_ID": "0123456789abcdef0123456789abcdef",
    "IBMPOWERVS_REGION": "us-south",
    "IBMPOWERVS_SSHKEY_NAME": "freehold-demo-key",
    "IBMPOWERVS_ZONE": "dal10",
    "IBMVPC_REGION": "us-south",
    "IBM_RESOURCE_GROUP": "Default",
    "KUBERNETES_VERSION": "v1.33.1",
    "WORKER_MACHINE_COUNT": "2",
}

# Variables of the template for given infrastructure.
GIVEN = {
    "IBMPOWERVS_IMAGE_NAME": "centos-9",
    "IBMPOWERVS_NETWORK_NAME": "private",
    "IBMPOWERVS_SERVICE_INSTANCE_ID": "7845d372-d4e1-46b8-91fc-41051c984601",
    "IBMPOWERVS_VIP": "192.168.151.22",
    "IBMPOWERVS_VIP_CIDR": "29",
    "IBMPOWERVS_VIP_EXTERNAL": "158.175.162.22",
}

OF_AWS = {
    "CLUSTER_CLASS_NAME": "eks",
    "AWS_CONTROL_PLANE_MACHINE_TYPE": "t3.large",
    "AWS_NODE_MACHINE_TYPE": "t3.large",
    "AWS_REGION": "us-east-1",
    "AWS_SSH_KEY_NAME": "key",
}

_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::[-=](?P<default>[^}]*))?\}")


def substituted(template: str, variables: dict[str, str]) -> str:
    """As clusterctl's envsubst does: the value, else the default with its quotes, else an error."""

    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        return variables[name] if default is None else variables.get(name, default)

    return _VARIABLE.sub(value, template)


def documents(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def powervs_clusters(path: Path) -> list[dict[str, Any]]:
    return [each for each in documents(path.read_text(encoding="utf-8")) if each["kind"] == POWERVS_CLUSTER_KIND]


def test_the_example_is_the_upstream_template_with_its_variables_filled_in() -> None:
    """Nothing else is changed; only a header is added."""
    template = (UPSTREAM / TEMPLATES[0]).read_text(encoding="utf-8")
    lines = (EXAMPLES / "powervs-create-infra.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    assert "".join(lines[start:]) == substituted(template, VARIABLES)
    assert "Apache" in "".join(lines[:start])


def test_the_example_holds_no_secret() -> None:
    (secret,) = [
        each
        for each in documents((EXAMPLES / "powervs-create-infra.yaml").read_text(encoding="utf-8"))
        if each["kind"] == "Secret"
    ]
    inner = yaml.safe_load(secret["stringData"]["ibmpowervs-credential.yaml"])
    assert inner["data"] == {"ibmcloud_api_key": "PUT-THE-BASE64-OF-YOUR-API-KEY-HERE"}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("powervs-*.yaml")), ids=lambda path: str(path.name))
def test_every_example_passes_the_schema_and_parses(path: Path) -> None:
    """A user's first apply must not be refused."""
    crd = crd_of()
    validator = jsonschema_rs.validator_for(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    found = powervs_clusters(path)
    assert found
    for each in found:
        assert [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(each)] == []
        assert create_infra(each["metadata"]["annotations"]) is CreateInfra.REQUESTED
        spec = powervs_spec(each)
        assert spec.zone and spec.vpc and spec.vpc.region and spec.resource_group and spec.resource_group.name


@pytest.mark.parametrize("name", ALL_TEMPLATES)
def test_every_kind_of_upstreams_templates_is_served_or_kept(name: str) -> None:
    """The unmodified manifest applies as a whole: built in, served, or a placeholder."""
    known = {(kind.group, kind.version, kind.kind) for kind in (*SERVED, *PLACEHOLDERS)}
    known |= {(kind.group, kind.also, kind.kind) for kind in PLACEHOLDERS}
    for each in documents(substituted((UPSTREAM / name).read_text(encoding="utf-8"), VARIABLES | GIVEN | OF_AWS)):
        group, _, version = each["apiVersion"].rpartition("/")
        assert group == "" or (group, version, each["kind"]) in known


@pytest.mark.parametrize("name", TEMPLATES)
def test_parsing_upstreams_manifests_loses_nothing(name: str) -> None:
    """Reading and writing keeps everything, and adds the schema's defaults."""
    text = substituted((UPSTREAM / name).read_text(encoding="utf-8"), VARIABLES | GIVEN)
    (manifest,) = [each for each in documents(text) if each["kind"] == POWERVS_CLUSTER_KIND]
    expected = manifest["spec"]
    for balancer in expected.get("loadBalancers", []):
        balancer["public"] = True
    assert powervs_spec(manifest).to_wire() == expected


def test_there_is_no_placeholder_for_a_served_kind() -> None:
    """Two CRDs of one name would make the second apply fail."""
    names = [f"{kind.plural}.{kind.group}" for kind in (*SERVED, *PLACEHOLDERS)]
    assert len(set(names)) == len(names)
    assert all(kind.plural == kind.build_crd()["spec"]["names"]["plural"] for kind in PLACEHOLDERS)
    assert INFRASTRUCTURE_GROUP in {kind.group for kind in PLACEHOLDERS}
