"""``freehold tree -f``: the objects that manifests name, with the options that the other commands take."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.commands import freehold

GROUP = "infrastructure.cluster.x-k8s.io/v1beta2"


def powervs(name: str) -> dict[str, Any]:
    metadata = {"name": name, "annotations": {"cluster.x-k8s.io/paused": ""}}
    spec = {"serviceInstanceID": "a-b-c", "network": {"name": "n"}}
    return {"apiVersion": GROUP, "kind": "IBMPowerVSCluster", "metadata": metadata, "spec": spec}


def aws(name: str) -> dict[str, Any]:
    metadata = {"name": name, "annotations": {"cluster.x-k8s.io/paused": ""}}
    return {"apiVersion": GROUP, "kind": "AWSCluster", "metadata": metadata, "spec": {"region": "us-east-1"}}


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aside"}, "data": {}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with manifests, and the state of a simulated cloud in which two of their objects are stored."""
    folder = tmp_path_factory.mktemp("tree")
    files = {
        "two": [CONFIG, powervs("quiet"), aws("calm")], "absent": [aws("absent")], "aside": [CONFIG],
        "other": [{**aws("quiet"), "metadata": {"name": "quiet", "namespace": "other"}}],
    }  # fmt: skip
    for name, documents in files.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))
    made = freehold("up", *given(folder, "two"), "--simulate", "--speed", "3000", "--timeout", "1")
    assert "created" in made.stdout, made.stderr
    return folder


def given(place: Path, *names: str) -> list[str]:
    files = [word for name in names for word in ("-f", str(place / f"{name}.yaml"))]
    return [*files, "--state", str(place / "state")]


def shown(place: Path, *names: str) -> Any:
    done = freehold("tree", *given(place, *names), "--simulate", "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_objects_of_a_manifest_are_shown_in_its_order(place: Path) -> None:
    found = shown(place, "two")
    assert [(each["kind"], each["name"]) for each in found] == [("IBMPowerVSCluster", "quiet"), ("AWSCluster", "calm")]
    table = freehold("tree", *given(place, "two"), "--simulate").stdout
    assert table.index("IBMPowerVSCluster/quiet") < table.index("AWSCluster/calm")


def test_the_object_of_a_manifest_with_one_is_what_its_name_shows(place: Path, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(aws("calm")))
    state = ["--state", str(place / "state"), "-o", "json"]
    by_file = freehold("tree", "-f", str(tmp_path / "one.json"), *state)
    assert (by_file.returncode, by_file.stdout) == (0, freehold("tree", "calm", *state).stdout)


def test_an_object_that_is_not_stored_is_said_after_those_that_are(place: Path) -> None:
    done = freehold("tree", *given(place, "absent", "two"), "--simulate")
    assert done.returncode == 1
    assert "IBMPowerVSCluster/quiet" in done.stdout and "AWSCluster/calm" in done.stdout
    apply = f"freehold up --state {place / 'state'} -f {place / 'absent.yaml'} -f {place / 'two.yaml'} --simulate"
    assert done.stderr == (
        "freehold: AWSCluster default/absent is not stored here: it was not applied, or it is gone; "
        f"{apply} applies it\n"
    )


def test_an_object_is_looked_for_in_its_own_namespace(place: Path) -> None:
    """One of the same name and another kind elsewhere is another object."""
    done = freehold("tree", *given(place, "other"))
    assert done.returncode == 1
    assert "AWSCluster other/quiet is not stored here" in done.stderr
    refused = freehold("tree", *given(place, "other"), "-n", "default")
    assert refused.returncode == 1 and "-n default contradicts the manifest" in refused.stderr


def test_a_manifest_in_which_nothing_is_served_says_so(place: Path) -> None:
    done = freehold("tree", *given(place, "aside"), "-o", "json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert done.stderr == "nothing in this manifest is served by Freehold\n"


def test_the_machines_of_a_control_plane_stand_below_it(tmp_path: Path) -> None:
    paused = {"cluster.x-k8s.io/paused": ""}
    control_plane = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AWSManagedControlPlane",
        "metadata": {"name": "cp", "annotations": paused}, "spec": {"region": "us-east-1"},
    }  # fmt: skip
    labels = {"cluster.x-k8s.io/cluster-name": "cp"}
    machine = {
        "apiVersion": GROUP, "kind": "AWSMachine", "spec": {"instanceType": "t3.large"},
        "metadata": {"name": "node", "labels": labels, "annotations": paused},
    }  # fmt: skip
    (tmp_path / "both.yaml").write_text(yaml.safe_dump_all([control_plane, machine]))
    state = ["--state", str(tmp_path / "state"), "--simulate"]
    freehold("up", "-f", str(tmp_path / "both.yaml"), *state, "--speed", "3000", "--timeout", "1")
    shown = freehold("tree", "cp", *state)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.index("AWSManagedControlPlane/cp") < shown.stdout.index("AWSMachine/node")


def test_an_object_that_mirrors_a_control_plane_is_kept_and_has_no_tree(tmp_path: Path) -> None:
    """Its cluster's resources are the control plane's."""
    mirror = {"apiVersion": GROUP, "kind": "AWSManagedCluster", "metadata": {"name": "prod"}, "spec": {}}
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(mirror))
    files = ["-f", str(tmp_path / "one.yaml"), "--state", str(tmp_path / "state")]
    made = freehold("up", *files, "--simulate")
    assert (made.returncode, made.stdout.splitlines()[-1]) == (
        0, "kept, shows what its control plane has: AWSManagedCluster created",
    )  # fmt: skip
    done = freehold("tree", *files, "--simulate")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        "an AWSManagedCluster has no resources of its own: those of its cluster are the AWSManagedControlPlane's\n"
    )
    planned = freehold("plan", *files, "--simulate")
    assert planned.returncode == 1 and "nothing is planned: this has AWSManagedCluster" in planned.stderr
    gone = freehold("down", *files, "--simulate", "--yes")
    assert gone.returncode == 0 and "AWSManagedCluster default/prod" in gone.stdout


def test_of_a_manifest_about_tags_it_says_which_command_shows_what_has_them(place: Path) -> None:
    examples = Path(__file__).parents[3] / "examples"
    done = freehold("tree", "-f", str(examples / "metadata.yaml"), "--state", str(place / "state"))
    report = f"freehold tags report --state {place / 'state'}"
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"this manifest is about tags, and makes no resources: {report} says what has them\n"


def test_an_empty_state_has_none_of_them_and_stays_bound_to_no_cloud(place: Path, tmp_path: Path) -> None:
    done = freehold("tree", "-f", str(place / "absent.yaml"), "--simulate", "--state", str(tmp_path))
    assert done.returncode == 1 and "AWSCluster default/absent is not stored here" in done.stderr
    assert not (tmp_path / "cloud.json").exists()


@pytest.mark.parametrize("words", [("calm",), ("-f", "absent.yaml")], ids=" ".join)
def test_the_state_of_real_accounts_is_not_shown_as_a_simulated_one(
    place: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """As ``plan`` and ``down`` refuse it."""
    (tmp_path / "cloud.json").write_text('{"cloud": "ibm"}')
    words = tuple(str(place / each) if each.endswith(".yaml") else each for each in words)
    done = freehold("tree", *words, "--simulate", "--state", str(tmp_path))
    assert done.returncode == 1
    assert "holds the state of real accounts" in done.stderr
