"""Helm's own binary, where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

KUBERNETES = "1.33.0"
"""The version of Kubernetes that is rendered for; a binary that was built by hand would say 1.20."""
MISSING = "no helm: set HELM to its path, or put it on the PATH (go install helm.sh/helm/v3/cmd/helm@latest)"


@cache
def find_helm() -> str:
    """Find the binary; skip the test without one."""
    found = os.environ.get("HELM") or shutil.which("helm")
    if not found:
        pytest.skip(MISSING)
    return found


def run_helm(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Helm about a chart, with a home of its own and without a cluster."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(home / "none")}
    command = [find_helm(), *arguments, "--kube-version", KUBERNETES]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def render(home: Path, chart: Path, values: Mapping[str, Any], namespace: str) -> list[dict[str, Any]]:
    """Render a chart with these values."""
    file = home / "values.yaml"
    file.write_text(yaml.safe_dump(dict(values)))
    done = run_helm(home, "template", "freehold", str(chart), "--namespace", namespace, "--values", str(file))
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]
