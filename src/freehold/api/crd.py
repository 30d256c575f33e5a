"""CustomResourceDefinitions of the kinds that Freehold serves, generated from the types.

``SERVED`` adds the model and the columns to each kind of :mod:`freehold.api.served`.
"""

from __future__ import annotations

from typing import Any

from freehold.api.metadata_kinds import METADATA_KINDS
from freehold.api.names import CONTRACT_V1BETA1_LABEL, V1BETA2
from freehold.api.schema_lint import Finding, lint
from freehold.api.served import POWERVS_CLUSTER
from freehold.api.served_kind import CLUSTER_LABEL_PATH, Column, ServedKind, condition_path
from freehold.api.structural import Schema, structural
from freehold.providers.aws.types.kinds import AWS_KINDS
from freehold.providers.ibm.types.cluster import IBMPowerVSCluster


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
                    **served.subresources,
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


# Columns of docs/reference/capi-contract.md C4: those of upstream, the phase, Ready with its reason, Paused.
SERVED: tuple[ServedKind, ...] = (
    ServedKind(
        name=POWERVS_CLUSTER,
        model=IBMPowerVSCluster,
        labels={CONTRACT_V1BETA1_LABEL: V1BETA2},
        columns=(
            Column("Cluster", CLUSTER_LABEL_PATH, "The Cluster that the object belongs to"),
            Column("Phase", ".status.phase", "The state of the object in one word"),
            Column("Ready", condition_path("Ready"), "Whether the infrastructure is complete"),
            Column("Reason", condition_path("Ready", "reason"), "Why it is ready, or why not"),
            Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date"),
            Column("Instance ID", ".status.serviceInstance.id", "The PowerVS workspace", priority=1),
            Column("Endpoint", ".spec.controlPlaneEndpoint.host", "Address of the API server", priority=1),
            Column("Port", ".spec.controlPlaneEndpoint.port", "Port of the API server", type="integer", priority=1),
            Column("Paused", condition_path("Paused"), "Whether reconciliation is paused", priority=10),
        ),
    ),
    *AWS_KINDS,
    *METADATA_KINDS,
)
"""Every kind with a CRD: those that are reconciled, and those that their objects refer to."""
