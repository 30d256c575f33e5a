"""A kind with its model, its columns and the labels of its CRD."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from freehold.api.names import CLUSTER_NAME_LABEL
from freehold.api.served import ServedName


@dataclass(frozen=True)
class Column:
    """One column of ``kubectl get``. With ``priority`` above 0 only ``-o wide`` shows it."""

    name: str
    json_path: str
    description: str
    type: str = "string"
    priority: int = 0

    def to_wire(self) -> dict[str, Any]:
        """Return the entry of ``additionalPrinterColumns``."""
        wire: dict[str, Any] = {
            "description": self.description,
            "jsonPath": self.json_path,
            "name": self.name,
            "type": self.type,
        }
        return {**wire, "priority": self.priority} if self.priority else wire


@dataclass(frozen=True)
class ServedKind:
    """A kind that Freehold serves: its names, its model, its columns, the labels of its CRD."""

    name: ServedName
    model: type[BaseModel]
    columns: tuple[Column, ...]
    labels: dict[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ("cluster-api",)
    short_names: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        return self.name.group

    @property
    def version(self) -> str:
        return self.name.version

    @property
    def kind(self) -> str:
        return self.name.kind

    @property
    def plural(self) -> str:
        return self.name.plural

    @property
    def crd_name(self) -> str:
        """The name of the CRD, also the stem of its file: ``<plural>.<group>``."""
        return self.name.crd

    @property
    def subresources(self) -> dict[str, Any]:
        """The ``status`` subresource, if the model has a status: it is then written separately."""
        return {"subresources": {"status": {}}} if "status" in self.model.model_fields else {}


def build_condition_path(name: str, field: str = "status") -> str:
    """Build the JSONPath of one field of a condition, for a column."""
    return f'.status.conditions[?(@.type=="{name}")].{field}'


CLUSTER_LABEL_PATH = f".metadata.labels.{CLUSTER_NAME_LABEL.replace('.', chr(92) + '.')}"
"""The JSONPath of the name of the Cluster that an object belongs to, for a column."""
