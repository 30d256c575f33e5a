"""Objects of an installation as YAML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from freehold.install.objects import build_objects
from freehold.install.options import InstallOptions
from freehold.kube.resources import Json


class _BlockDumper(yaml.SafeDumper):
    """A dumper of block YAML without anchors: what is used in two places is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def render_manifest(options: InstallOptions) -> str:
    """Render all objects of an installation, in the order in which they are applied. Raises InvalidInstallOption."""
    return dump_objects(build_objects(options))


def dump_objects(objects: Iterable[Json]) -> str:
    """Dump objects as documents of one file."""
    return yaml.dump_all(
        objects, Dumper=_BlockDumper, sort_keys=False, width=110, allow_unicode=True, explicit_start=True
    )
