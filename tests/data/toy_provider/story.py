"""What follows from the value TOY alone: CRD, page of docs, plan, commands. It stands in ``tests/test_story.py``.

The clock of the commands runs thirty times as fast as the real one.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from freehold.engine.clock import SystemClock
from freehold.providers import generate
from harness.commands import freehold_in

TAGS = {"team": "bears"}
MANIFEST = {
    "apiVersion": "toy.freehold.dev/v1",
    "kind": "Toy",
    "metadata": {"name": "bear"},
    "spec": {"size": 3, "color": "red", "tags": TAGS},
}


def test_generated_files_have_the_toy(tmp_path: Path) -> None:
    assert generate.main(["--directory", str(tmp_path / "crds"), "--docs", str(tmp_path / "docs")]) == 0
    crd = yaml.safe_load((tmp_path / "crds/toy.freehold.dev_toys.yaml").read_text())
    assert crd["spec"]["names"]["kind"] == "Toy"
    page = (tmp_path / "docs/toy-fields.md").read_text()
    assert "| `spec.color` | no | boxes have no color yet |" in page
    assert "upstream" not in page


def test_a_toy_is_planned_created_shown_recovered_changed_and_deleted(tmp_path: Path) -> None:
    cloud, manifest, state = tmp_path / "cloud.json", tmp_path / "toy.yaml", tmp_path / "state"
    manifest.write_text(json.dumps(MANIFEST))

    def run(*arguments: str) -> str:
        done = freehold_in(state, *arguments, TOY_CLOUD=str(cloud))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def resources() -> list[dict[str, Any]]:
        return list(json.loads(cloud.read_text())["resources"].values())

    with mock.patch.object(SystemClock.__init__, "__defaults__", (30.0, None)):
        assert "2 to create" in run("plan", "-f", str(manifest))
        up = run("up", "-f", str(manifest))
        assert "Toy default/bear is Ready: 2 resources" in up and "Toy Cloud" in up
        assert [(each["kind"], each["name"]) for each in resources()] == [
            ("toy-net", "bear-net"),
            ("toy-box", "bear-box"),
        ]
        assert all(TAGS.items() <= each["tags"].items() for each in resources())
        assert "bear" in run("get") and "bear" in run("get", "toys")
        tree = run("tree", "bear")
        assert "toy-net/bear-net" in tree and "own marks, read back" in tree

        exported = tmp_path / "exported.yaml"
        exported.write_text(run("get", "bear", "-o", "yaml"))
        assert "unchanged" in run("up", "-f", str(exported)), "an applier must not own the operator's finalizer"

        shutil.rmtree(state)
        assert "default/bear" in run("orphans")
        run("recover", "bear", "--yes")
        run("up", "-f", str(manifest))
        assert len(resources()) == 2, "nothing was created a second time"

        manifest.write_text(json.dumps({**MANIFEST, "spec": {"size": 5}}))
        assert "size: is 3, the spec says 5" in run("plan", "-f", str(manifest))
        run("up", "-f", str(manifest))
        assert resources()[1]["size"] == 5
        assert "2 to delete" in run("plan", "--down", "bear")
        assert "everything that it owned" in run("down", "bear", "--yes")
        assert resources() == []


def test_marks_cannot_be_given_as_tags(tmp_path: Path) -> None:
    manifest, tag = tmp_path / "toy.yaml", "freehold.dev/owner"
    manifest.write_text(json.dumps({**MANIFEST, "spec": {"size": 3, "tags": {tag: "me"}}}))
    done = freehold_in(tmp_path / "state", "plan", "-f", str(manifest), TOY_CLOUD=str(tmp_path / "cloud.json"))
    assert f"spec.tags.{tag}: keys that begin with freehold.dev/ are ours" in done.stdout + done.stderr
    assert done.returncode == 1
