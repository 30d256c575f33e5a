"""The Helm chart has the objects of ``freehold manifests``, whatever its values are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from freehold.install.chart import build_schema, render_chart
from freehold.install.generate import find_stale, render_files, write_files
from freehold.install.objects import build_objects
from freehold.install.options import InstallOptions, build_values
from harness import helm

DEPLOY = Path(__file__).parents[3] / "deploy"
CHART = DEPLOY / "chart/freehold"

VALUES = {
    "defaults": InstallOptions(),
    "one cloud": InstallOptions(providers=("ibm",), credentials={"aws": "", "ibm": "key"}),
    "one namespace, without a webhook": InstallOptions(
        namespace="tenants", serves_namespace="team-a", webhook=False, network_policy=False, replicas=1
    ),
    "the page": InstallOptions(page=True),
    "everything": InstallOptions(
        namespace="freehold",
        replicas=5,
        image="registry.example:5000/a/freehold@sha256:" + "0" * 64,
        image_pull_secret="pull",
        providers=("aws",),
        feature_gates={"EKSEnableIAM": True, "ExternalResourceGC": False},
        watch_filter="blue",
        shards=12,
        log_level="debug",
        log_format="text",
        cert_manager=True,
        credentials={"aws": "", "ibm": ""},
        env={"B": "say \"{{ .Values.image }}\" 'and' more: # [x]", "A": "1", "EMPTY": ""},
        token_audience="iam",
        service_account_annotations={"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x", "yes": "no"},
        monitoring=True,
        page=True,
        egress_ports=(443, 16443, 80),
        memory_limit="2Gi",
    ),
}

JUNK: dict[str, dict[str, Any]] = {
    "a value that there is not": {"replica": 2},
    "one within another": {"webhook": {"enable": True}},
    "no replicas": {"replicas": 0},
    "no shards": {"shards": 0},
    "half a replica": {"replicas": 1.5},
    "a number as text": {"replicas": "2"},
    "another cloud": {"providers": ["gcp"]},
    "no cloud": {"providers": []},
    "a cloud twice": {"providers": ["aws", "aws"]},
    "an unknown gate": {"featureGates": {"Fly": True}},
    "a gate that is neither on nor off": {"featureGates": {"EKSEnableIAM": "true"}},
    "a namespace that cannot be": {"namespaceOnly": "Team_A"},
    "a filter that is no label": {"watchFilter": "a b"},
    "a level that there is not": {"logLevel": "loud"},
    "a port that there is not": {"networkPolicy": {"egressPorts": [0]}},
    "a quantity in words": {"resources": {"limits": {"memory": "much"}}},
    "an image with a line break": {"image": "freehold\n- evil"},
    "a variable with a line break": {"env": {"A": "b\nc"}},
    "a list of variables": {"env": [{"name": "A", "value": "b"}]},
}


@pytest.mark.parametrize("options", VALUES.values(), ids=VALUES)
def test_chart_renders_to_the_objects_of_the_options(options: InstallOptions, tmp_path: Path) -> None:
    rendered = helm.render(tmp_path, CHART, build_values(options), options.namespace)
    wanted = [each for each in build_objects(options) if each["kind"] != "Namespace"]
    assert _by_name(rendered) == _by_name(wanted)


def test_chart_of_default_values_needs_no_values(tmp_path: Path) -> None:
    rendered = helm.render(tmp_path, CHART, {}, InstallOptions().namespace)
    assert _by_name(rendered) == _by_name(build_objects(InstallOptions())[1:])


def test_helm_finds_nothing_wrong_with_the_chart(tmp_path: Path) -> None:
    done = helm.run_helm(tmp_path, "lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("junk", [JUNK["no replicas"], JUNK["a value that there is not"]], ids=str)
def test_helm_refuses_junk_with_the_name_of_the_value(junk: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "junk.yaml").write_text(str(junk))
    done = helm.run_helm(tmp_path, "template", "x", str(CHART), "--values", str(tmp_path / "junk.yaml"))
    assert done.returncode != 0
    assert next(iter(junk)) in done.stderr


def test_helm_refuses_a_certificate_without_a_webhook(tmp_path: Path) -> None:
    sets = ["--set", "webhook.enabled=false", "--set", "certManager.enabled=true"]
    done = helm.run_helm(tmp_path, "template", "x", str(CHART), *sets)
    assert done.returncode != 0
    assert "certManager.enabled is for the certificate of the webhook" in done.stderr


@pytest.mark.parametrize("options", VALUES.values(), ids=VALUES)
def test_schema_takes_what_the_options_take(options: InstallOptions) -> None:
    jsonschema_rs.validate(build_schema(), build_values(options))


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_schema_refuses_junk(junk: dict[str, Any]) -> None:
    assert not jsonschema_rs.is_valid(build_schema(), junk)


@pytest.fixture(scope="module")
def chart() -> dict[str, str]:
    return render_chart()


def test_each_value_of_the_schema_is_used_by_a_template(chart: dict[str, str]) -> None:
    templates = "".join(text for path, text in chart.items() if path.startswith("templates/"))
    assert not [path for path in _list_paths(build_values(InstallOptions())) if f".Values.{path}" not in templates]


def test_crds_are_upgraded_with_the_chart_and_kept_when_it_goes(chart: dict[str, str]) -> None:
    crds = [text for path, text in chart.items() if "kind: CustomResourceDefinition" in text]
    assert crds
    assert all(path.startswith("templates/") for path, text in chart.items() if text in crds)
    assert all("helm.sh/resource-policy: keep\n" in text for text in crds)


def test_generated_files_are_up_to_date() -> None:
    assert find_stale(DEPLOY, render_files()) == []


def test_a_file_that_is_edited_lost_or_left_over_is_found_and_put_right(tmp_path: Path) -> None:
    wanted = {"chart/freehold/a.yaml": "a", "chart/freehold/b.yaml": "b", "install.yaml": "c"}
    write_files(tmp_path, wanted)
    (tmp_path / "chart/freehold/a.yaml").write_text("edited")
    (tmp_path / "clusterctl").mkdir()
    (tmp_path / "clusterctl/old.yaml").write_text("")
    (tmp_path / "install.yaml").unlink()
    (tmp_path / "by-hand.yaml").write_text("")
    assert find_stale(tmp_path, wanted) == ["chart/freehold/a.yaml", "clusterctl/old.yaml", "install.yaml"]
    write_files(tmp_path, wanted)
    assert find_stale(tmp_path, wanted) == []
    assert (tmp_path / "by-hand.yaml").exists()


def _by_name(objects: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    found = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}
    assert len(found) == len(objects)
    return found


def _list_paths(values: dict[str, Any], path: str = "") -> list[str]:
    """List the paths of the table: what is below one of its maps is no value of its own."""
    found: list[str] = []
    for name, value in values.items():
        inner = isinstance(value, dict) and value and name not in ("credentials",)
        found += _list_paths(value, f"{path}{name}.") if inner else [f"{path}{name}"]
    return found
