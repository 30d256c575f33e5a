"""The operator beside a CRD of another version of Freehold: fields are missing in it, or it has more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e_client import Kubectl
from e2e_operator_lab import CRD, Cloud, staged
from e2e_servers import steady_port
from test_e2e_operator_life import once_each, own_server

Json = dict[str, Any]
pytestmark = [pytest.mark.e2e, pytest.mark.slow]  # `make edits`


def take_fields_out(schema: Json) -> None:
    """Leave the status of upstream: what Freehold adds to it was not there once."""
    for name in ("resources", "phase", "identity", "observedGeneration"):
        schema["properties"]["status"]["properties"].pop(name, None)


def add_fields(schema: Json) -> None:
    """Add fields that a later version may have."""
    schema["properties"]["spec"]["properties"]["later"] = {"type": "string", "default": "unknown here"}
    schema["properties"]["status"]["properties"]["later"] = {"type": "string", "default": "unknown here"}


@pytest.mark.parametrize("change", [take_fields_out, add_fields])
def test_a_crd_of_another_version_is_served(
    change: Callable[[Json], None], cloud: Cloud, home: Path, tmp_path: Path
) -> None:
    """It becomes Ready, is at rest then, and its delete leaves nothing."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(own_server(tmp_path, steady_port()))
        definition = yaml.safe_load(CRD.read_text())
        for version in definition["spec"]["versions"]:
            change(version["schema"]["openAPIV3Schema"])
        kubectl = Kubectl(server, "default", home)
        for path in sorted(CRD.parent.glob("*.yaml")):
            kubectl.apply(definition if path == CRD else yaml.safe_load(path.read_text()))
        stage = stack.enter_context(staged(server, cloud, home, tmp_path))
        with stage.operator(), stage.witness() as witness:
            stage.kubectl.apply(stage.powervs())
            stage.await_ready()
            once_each(cloud, stage.name)
            assert any(witness.quiet(1.0) for _ in range(20)), "it is not written over and over"
            stage.delete()
