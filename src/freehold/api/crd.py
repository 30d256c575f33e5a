"""CustomResourceDefinitions of the kinds that Freehold serves, generated from the types.

``SERVED`` adds the model and the columns to each kind of :mod:`freehold.api.served`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from freehold.api.names import CLUSTER_NAME_LABEL, CONTRACT_V1BETA1_LABEL, V1BETA2
from freehold.api.powervs import IBMPowerVSCluster
from freehold.api.schema_lint import Finding, lint
from freehold.api.served import POWERVS_CLUSTER, ServedName
from freehold.api.structural import Schema, structural


@dataclass(frozen=True)
class Column:
    """One column of ``kubectl get``. With ``priority`` above 0 only ``-o wide`` shows it."""

    name: str
    json_path: str
    description: str
    type: str = "string"
    priority: int = 0

    def to_wire(self) -> dict[str, Any]:
        """The entry of ``additionalPrinterColumns``."""
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


class UnservableSchema(ValueError):
    """A schema that the API server would refuse; the message lists every finding."""

    def __init__(self, kind: str, findings: tuple[Finding, ...]) -> None:
        super().__init__(
            f"the schema of {kind} would be refused:\n" + "\n".join(f"  {finding}" for finding in findings)
        )
        self.findings = findings


def custom_resource_definition(served: ServedKind) -> dict[str, Any]:
    """The CRD of one kind.

    Raises ``NotStructural`` or ``UnservableSchema`` when a CRD cannot express the model.
    """
    schema = _with_type_meta(structural(served.model))
    if findings := lint(schema):
        raise UnservableSchema(served.kind, findings)
    names: dict[str, Any] = {
        "categories": list(served.categories),
        "kind": served.kind,
        "listKind": f"{served.kind}List",
        "plural": served.plural,
        "singular": served.kind.lower(),
    }
    if served.short_names:
        names["shortNames"] = list(served.short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": served.crd_name, "labels": dict(served.labels)},
        "spec": {
            "group": served.group,
            "names": names,
            "scope": "Namespaced" if served.name.namespaced else "Cluster",
            "versions": [
                {
                    "additionalPrinterColumns": [column.to_wire() for column in served.columns],
                    "name": served.version,
                    "schema": {"openAPIV3Schema": schema},
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def custom_resource_definitions() -> tuple[dict[str, Any], ...]:
    """The CRDs of all kinds in ``SERVED``."""
    return tuple(custom_resource_definition(served) for served in SERVED)


def _with_type_meta(schema: Schema) -> Schema:
    """The fields of every object besides spec and status; the API server adds the schema of metadata."""
    own = {
        "apiVersion": {"description": "Group and version of this representation of the object.", "type": "string"},
        "kind": {"description": "The kind of the object.", "type": "string"},
        "metadata": {"type": "object"},
    }
    return {**schema, "properties": {**own, **schema["properties"]}}


def _condition(name: str, field: str = "status") -> str:
    return f'.status.conditions[?(@.type=="{name}")].{field}'


_CLUSTER_LABEL_PATH = f".metadata.labels.{CLUSTER_NAME_LABEL.replace('.', chr(92) + '.')}"

# Columns of docs/reference/capi-contract.md C4: those of upstream, the phase, Ready with its reason, Paused.
SERVED: tuple[ServedKind, ...] = (
    ServedKind(
        name=POWERVS_CLUSTER,
        model=IBMPowerVSCluster,
        labels={CONTRACT_V1BETA1_LABEL: V1BETA2},
        columns=(
            Column("Cluster", _CLUSTER_LABEL_PATH, "The Cluster that the object belongs to"),
            Column("Phase", ".status.phase", "The state of the object in one word"),
            Column("Ready", _condition("Ready"), "Whether the infrastructure is complete"),
            Column("Reason", _condition("Ready", "reason"), "Why it is ready, or why not"),
            Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date"),
            Column("Instance ID", ".status.serviceInstance.id", "The PowerVS workspace", priority=1),
            Column("Endpoint", ".spec.controlPlaneEndpoint.host", "Address of the API server", priority=1),
            Column("Port", ".spec.controlPlaneEndpoint.port", "Port of the API server", type="integer", priority=1),
            Column("Paused", _condition("Paused"), "Whether reconciliation is paused", priority=10),
        ),
    ),
)
"""Every kind that Freehold serves."""
