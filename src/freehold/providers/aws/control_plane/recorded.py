"""The choices in the journal of a control plane that must not be made a second time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freehold.engine.dry_run_overlay import is_planned
from freehold.engine.journal import Entry
from freehold.engine.resources import NodeKey
from freehold.providers.aws.control_plane.keys import CLUSTER
from freehold.providers.aws.control_plane.names import build_eks_name


def read_eks_name(entries: Mapping[NodeKey, Entry]) -> str:
    """Return the name of the EKS cluster that is on record, also of one that was; empty if none is."""
    entry = entries.get(CLUSTER)
    if entry is None:
        return ""
    ident = "" if is_planned(entry.id) else entry.id or entry.gone
    return ident.rpartition("/")[2] or str((entry.request or {}).get("name") or "")


def eks_name_of(raw: Mapping[str, Any], entries: Mapping[NodeKey, Entry]) -> str:
    """Return the name of the EKS cluster. Once there is one it stays, whatever the spec says."""
    said = str((raw.get("spec") or {}).get("eksClusterName") or "")
    metadata = raw["metadata"]
    return read_eks_name(entries) or said or build_eks_name(metadata["name"], metadata.get("namespace", ""))
