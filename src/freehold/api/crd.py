"""Generator of the CustomResourceDefinition of a kind from its type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from freehold.api.schema_lint import SchemaFinding, lint
from freehold.api.served_kind import ServedKind
from freehold.api.structural import Schema, build_structural_schemas


class UnservableSchema(ValueError):
    """A schema that the API server would refuse; the message lists every finding."""

    def __init__(self, kind: str, findings: tuple[SchemaFinding, ...]) -> None:
        super().__init__(
            f"the schema of {kind} would be refused:\n" + "\n".join(f"  {finding}" for finding in findings)
        )
        self.findings = findings


def build_crd(served: ServedKind) -> dict[str, Any]:
    """Build the CRD of one kind (:func:`build_crds`)."""
    (crd,) = build_crds((served,))
    return crd


def build_crds(kinds: Sequence[ServedKind]) -> tuple[dict[str, Any], ...]:
    """Build the CRDs of kinds.

    Raises ``NotStructural`` or ``UnservableSchema`` when a CRD cannot express the model.
    """
    schemas = _build_schemas(tuple(kind.model for kind in kinds))
    return tuple(_build_crd(kind, *built) for kind, built in zip(kinds, schemas, strict=True))


def _build_crd(served: ServedKind, schema: Schema, findings: tuple[SchemaFinding, ...]) -> dict[str, Any]:
    if findings:
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


@cache
def _build_schemas(models: tuple[type[BaseModel], ...]) -> tuple[tuple[Schema, tuple[SchemaFinding, ...]], ...]:
    """Build the schemas of objects, each with what is wrong with it. They are built once, and nobody changes them."""
    schemas = [_add_type_meta(schema) for schema in build_structural_schemas(models)]
    return tuple((schema, lint(schema)) for schema in schemas)


def _add_type_meta(schema: Schema) -> Schema:
    """Add the fields of every object besides spec and status; the API server adds the schema of metadata."""
    own = {
        "apiVersion": {"description": "Group and version of this representation of the object.", "type": "string"},
        "kind": {"description": "The kind of the object.", "type": "string"},
        "metadata": {"type": "object"},
    }
    return {**schema, "properties": {**own, **schema["properties"]}}
