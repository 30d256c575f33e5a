"""The committed CRDs are the generated ones, and fulfil the contracts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from freehold.api.crd import UnservableSchema, build_crd
from freehold.api.served import ServedName
from freehold.api.served_kind import ServedKind
from freehold.providers import generate
from freehold.providers.crds import build_crds
from harness.schemas import crd_of

CRDS = Path(__file__).parents[3] / "deploy" / "crds"
DOCS = Path(__file__).parents[3] / "docs" / "reference"
DATA_MODULES = (
    "api.served",
    "api.served_fields",
    "api.names",
    "api.annotations",
    "api.conditions",
    "api.patterns",
    "api.placeholders",
    "providers.registry",
)


def test_committed_crds_are_the_generated_ones() -> None:
    """Otherwise users install other CRDs than the code expects. Remedy: `make crds`."""
    assert generate.find_stale(CRDS) == ()


def test_committed_pages_are_the_generated_ones() -> None:
    """Remedy: `make crds`."""
    assert generate.find_stale_pages(DOCS) == ()


@pytest.fixture(scope="module")
def rendered() -> dict[str, str]:
    return generate.render_crds()


def test_generated_yaml_reads_back_as_the_definition_and_has_no_anchors(rendered: dict[str, str]) -> None:
    assert [yaml.safe_load(text) for text in rendered.values()] == list(build_crds())
    assert [name for name, text in rendered.items() if "&id" in text or not text.startswith("# Generated")] == []


def test_check_names_stale_files_and_write_repairs_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rendered: dict[str, str]
) -> None:
    monkeypatch.setattr(generate, "render_crds", lambda: rendered)  # it takes a second each time
    names = set(rendered)
    (tmp_path / "gone.yaml").write_text("old", encoding="utf-8")
    where = ["--directory", str(tmp_path), "--docs", str(tmp_path / "docs")]
    assert generate.main([*where, "--check"]) == 1
    said = capsys.readouterr().err
    assert (
        "gone.yaml is out of date; run `make crds`" in said
        and all(each in said for each in names)
        and "awscluster-fields.md" in said
    )
    assert generate.main(where) == 0
    assert {path.name for path in tmp_path.iterdir()} == {*names, "docs"}
    assert generate.main([*where, "--check"]) == 0


def test_contract_label_names_a_served_version_and_no_provider_label_is_set() -> None:
    """docs/reference/capi-contract.md C1, C2."""
    crd = crd_of()
    assert crd["metadata"]["labels"] == {"cluster.x-k8s.io/v1beta1": "v1beta2"}
    assert [version["name"] for version in crd["spec"]["versions"]] == ["v1beta2"]
    assert crd["spec"]["names"]["categories"] == ["cluster-api"]


def test_printer_columns_are_those_of_the_contract() -> None:
    """docs/reference/capi-contract.md C4."""
    columns: list[dict[str, Any]] = crd_of()["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [(column["name"], column.get("priority", 0)) for column in columns] == [
        ("Cluster", 0),
        ("Phase", 0),
        ("Ready", 0),
        ("Reason", 0),
        ("Age", 0),
        ("Instance ID", 1),
        ("Endpoint", 1),
        ("Port", 1),
        ("Paused", 10),
    ]
    assert columns[0]["jsonPath"] == r".metadata.labels.cluster\.x-k8s\.io/cluster-name"


def test_a_field_without_a_description_is_found() -> None:
    """`kubectl explain` is the reference that users have at hand, so every field has a description."""

    def bare(node: dict[str, Any], path: str) -> list[str]:
        missing = [] if "description" in node or path == "metadata" else [path]
        for name, child in node.get("properties", {}).items():
            missing += bare(child, f"{path}.{name}" if path else name)
        for key, mark in (("items", "[*]"), ("additionalProperties", ".*")):
            if node.get(key, {}).get("type") == "object":
                missing += bare(node[key], path + mark)
        return missing

    assert bare(crd_of()["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "") == []


def test_a_model_that_the_api_server_would_refuse_is_not_built() -> None:
    class Bad(BaseModel):
        spec: int = -1

        model_config = {"json_schema_extra": {"x-kubernetes-map-type": "odd"}}

    served = ServedKind(ServedName("example.com", "v1", "Bad", "bads", "bad.example.com"), Bad, ())
    with pytest.raises(UnservableSchema, match=r"the schema of Bad would be refused"):
        build_crd(served)


@pytest.mark.parametrize("module", DATA_MODULES)
def test_names_and_conditions_do_not_import_pydantic(module: str) -> None:
    """`freehold --help` and the light commands must not import it."""
    code = f"import sys, freehold.{module}; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
