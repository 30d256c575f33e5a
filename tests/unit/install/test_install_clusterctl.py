"""The files of a provider keep to clusterctl's rules (docs/reference/capi-contract.md C44 to C48)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from freehold.install.clusterctl import RELEASE, complete_image, render_provider, write_provider
from freehold.install.objects import build_objects
from freehold.install.options import InstallOptions, InvalidInstallOption
from freehold.providers.crds import build_crds

MISSING = "no clusterctl: set CLUSTERCTL to its path, or put it on the PATH"
GIVEN = {
    "CLUSTER_NAME": "demo",
    "NAMESPACE": "team",
    "KUBERNETES_VERSION": "v1.33.1",
    "CONTROL_PLANE_MACHINE_COUNT": "3",
    "WORKER_MACHINE_COUNT": "2",
    "AWS_REGION": "us-east-1",
    "AWS_AMI_ID": "ami-0d000000000134200",
    "IBM_RESOURCE_GROUP": "Default",
    "IBMPOWERVS_ZONE": "dal10",
    "IBMVPC_REGION": "us-south",
}
"""The variables without a default."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::=([^}]*))?\}")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    rendered = render_provider(InstallOptions())
    assert {path.rpartition("/")[0] for path in rendered} == {f"infrastructure-freehold/v{RELEASE}"}
    return {path.rpartition("/")[2]: content for path, content in rendered.items()}


@pytest.fixture(scope="module")
def components(files: dict[str, str]) -> list[dict[str, Any]]:
    return _load(files["infrastructure-components.yaml"])


def test_metadata_has_the_series_of_the_version_and_the_contract_of_the_crds(
    files: dict[str, str], components: list[dict[str, Any]]
) -> None:
    major, minor, _ = map(int, RELEASE.split("."))
    assert yaml.safe_load(files["metadata.yaml"]) == {
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
        "kind": "Metadata",
        "releaseSeries": [{"major": major, "minor": minor, "contract": "v1beta1"}],
    }
    contracts = {
        label
        for each in components
        if each["kind"] == "CustomResourceDefinition"
        for label in each["metadata"]["labels"]
        if re.fullmatch(r"cluster\.x-k8s\.io/v\w+", label)
    }
    assert contracts == {"cluster.x-k8s.io/v1beta1"}


def test_components_have_one_namespace_with_all_that_is_in_one(components: list[dict[str, Any]]) -> None:
    (namespace,) = [each["metadata"]["name"] for each in components if each["kind"] == "Namespace"]
    assert {each["metadata"].get("namespace", namespace) for each in components} == {namespace}


def test_each_component_names_its_provider(components: list[dict[str, Any]]) -> None:
    labels = [each["metadata"]["labels"]["cluster.x-k8s.io/provider"] for each in components]
    assert set(labels) == {"infrastructure-freehold"}


def test_container_and_image_have_the_names_that_clusterctl_expects(components: list[dict[str, Any]]) -> None:
    (deployment,) = [each for each in components if each["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "manager"
    assert container["image"] == f"docker.io/library/freehold:{RELEASE}"


def test_components_with_default_variables_are_the_objects_of_the_options(components: list[dict[str, Any]]) -> None:
    objects = build_objects(InstallOptions())
    assert [each for each in components if each["kind"] != "Deployment"] == [
        each for each in objects if each["kind"] != "Deployment"
    ]


def test_no_dollar_is_lost_in_the_substitution(files: dict[str, str]) -> None:
    text = files["infrastructure-components.yaml"]
    assert {name for name, _ in _VARIABLE.findall(text)} == {"FREEHOLD_LOG_LEVEL", "FREEHOLD_FEATURE_GATES"}
    assert "$${" not in text
    assert all(default for _, default in _VARIABLE.findall(text))


def test_variables_of_templates_have_a_value_or_a_default(files: dict[str, str]) -> None:
    templates = [text for name, text in files.items() if name.startswith("cluster-template")]
    assert len(templates) == 3
    for text in templates:
        without = {name for name, default in _VARIABLE.findall(text) if not default}
        assert without <= GIVEN.keys()
        objects = _load(text)
        assert {each["metadata"]["namespace"] for each in objects} == {"team"}
        assert objects[0]["kind"] == "Cluster"
        assert objects[0]["metadata"]["name"] == "demo"


def test_templates_have_objects_that_our_crds_take(files: dict[str, str]) -> None:
    schemas = {
        crd["spec"]["names"]["kind"]: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for crd in build_crds()
    }
    taken = set()
    for name, text in files.items():
        for each in _load(text) if name.startswith("cluster-template") else []:
            if schema := schemas.get(each["kind"]):
                jsonschema_rs.validate(_close(schema), each)
                taken.add(each["kind"])
    assert {"AWSCluster", "AWSMachineTemplate", "AWSManagedControlPlane", "IBMPowerVSCluster"} <= taken


def test_references_of_templates_are_to_objects_in_them(files: dict[str, str]) -> None:
    for name, text in files.items():
        if name.startswith("cluster-template"):
            objects = _load(text)
            known = {(each["apiVersion"].partition("/")[0], each["kind"], each["metadata"]["name"]) for each in objects}
            assert {_reference(each) for each in _find_references(objects)} <= known


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (InstallOptions(serves_namespace="team"), "leave out --namespace-only"),
        (InstallOptions(env={"A": "${HOME}"}), "for a variable"),
    ],
)
def test_what_clusterctl_would_not_take_is_refused(options: InstallOptions, said: str) -> None:
    with pytest.raises(InvalidInstallOption, match=said):
        render_provider(options)


@pytest.mark.parametrize(
    ("given", "complete"),
    [
        ("freehold:1", "docker.io/library/freehold:1"),
        ("team/freehold:1", "docker.io/team/freehold:1"),
        ("registry:5000/freehold:1", "registry:5000/freehold:1"),
        ("localhost/freehold:1", "localhost/freehold:1"),
        ("example.org/a/b@sha256:0", "example.org/a/b@sha256:0"),
    ],
)
def test_images_get_the_registry_that_is_meant(given: str, complete: str) -> None:
    assert complete_image(given) == complete


def test_clusterctl_takes_components_and_templates(tmp_path: Path, files: dict[str, str]) -> None:
    program = os.environ.get("CLUSTERCTL") or shutil.which("clusterctl")
    if not program:
        pytest.skip(MISSING)
    write_provider(tmp_path, InstallOptions())
    url = tmp_path / f"infrastructure-freehold/v{RELEASE}/infrastructure-components.yaml"
    provider = {"name": "freehold", "type": "InfrastructureProvider", "url": str(url)}
    configuration = tmp_path / "clusterctl.yaml"
    configuration.write_text(yaml.safe_dump({"providers": [provider], **GIVEN}))

    def run(*arguments: str) -> list[dict[str, Any]]:
        command = [program, "--config", str(configuration), "generate", *arguments]
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CLUSTERCTL_DISABLE_VERSIONCHECK": "true"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]

    kinds = [each["kind"] for each in run("provider", "--infrastructure", f"freehold:v{RELEASE}")]
    assert sorted(kinds) == sorted(each["kind"] for each in build_objects(InstallOptions()))
    for name in files:
        if name.startswith("cluster-template"):
            flavor = name.removeprefix("cluster-template").removesuffix(".yaml").removeprefix("-")
            more = ["--flavor", flavor] if flavor else []
            counts = ["--control-plane-machine-count", "3", "--worker-machine-count", "2"]
            version = ["--kubernetes-version", "v1.33.1", "--target-namespace", "team"]
            assert run("cluster", "demo", "--infrastructure", f"freehold:v{RELEASE}", *counts, *version, *more)


def _load(text: str) -> list[dict[str, Any]]:
    """Load objects, each variable replaced by what is given or by its default, as clusterctl does it."""

    def substitute(found: re.Match[str]) -> str:
        return GIVEN.get(found[1]) or (found[2] or "")

    return list(yaml.load_all(_VARIABLE.sub(substitute, text), Loader=yaml.CSafeLoader))


def _close(schema: dict[str, Any]) -> dict[str, Any]:
    """Refuse fields that the schema does not name, as the API server's strict validation does."""
    closed = {name: _close(value) if isinstance(value, dict) else value for name, value in schema.items()}
    named = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if named and "x-kubernetes-preserve-unknown-fields" not in schema and schema["properties"].keys() != {"metadata"}:
        closed["additionalProperties"] = False
    if "properties" in closed and isinstance(schema["properties"].get("metadata"), dict):
        closed["properties"]["metadata"] = {"type": "object"}
    return closed


def _find_references(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for each in value for found in _find_references(each)]
    if not isinstance(value, dict):
        return []
    if "apiGroup" in value:
        return [value]
    return [found for each in value.values() for found in _find_references(each)]


def _reference(value: dict[str, Any]) -> tuple[str, str, str]:
    return value["apiGroup"], value["kind"], value["name"]
