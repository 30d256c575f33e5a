"""The base of all API types: immutable, strict, camelCase in JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

# Segments in capitals by Kubernetes' Go conventions, except at the beginning of a name.
_INITIALISMS = {"id": "ID", "ids": "IDs", "vs": "VS"}


def wire_name(field: str) -> str:
    """The JSON name of a Python field name: ``service_instance_id`` -> ``serviceInstanceID``."""
    first, *rest = field.split("_")
    return first + "".join(_INITIALISMS.get(segment, segment.capitalize()) for segment in rest)


@dataclass(frozen=True)
class Rule:
    """A rule over several fields, as CEL for the API server and as a Python predicate.

    kubectl prints the message, and conditions contain it. The predicate is for objects that the API server did
    not check: those stored before the rule existed, or by an API server without CEL. A rule without one is for the
    API server alone (:mod:`freehold.api.early`). ``field`` is the path below the node at which the error is told;
    ``told`` is CEL for a message that names what is wrong, in place of ``message``.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None
    field: str = ""
    told: str = ""

    def to_wire(self) -> dict[str, str]:
        """The entry of ``x-kubernetes-validations``."""
        wire = {"fieldPath": self.field, "message": self.message, "messageExpression": self.told, "rule": self.cel}
        return {name: value for name, value in wire.items() if value}


def checked(*rules: Rule) -> dict[str, Any]:
    """The schema extension that holds these rules."""
    return {"x-kubernetes-validations": [rule.to_wire() for rule in rules]}


def extensions(**values: Any) -> dict[str, Any]:
    """Schema extensions by their short names: ``list_type="map"`` -> ``x-kubernetes-list-type: map``."""
    return {f"x-kubernetes-{name.replace('_', '-')}": value for name, value in values.items()}


class ApiModel(BaseModel):
    """Base of all API types.

    Unknown fields are ignored, as the API server prunes them. Values are strict, as in the schema:
    numbers and strings are not converted. Patterns use Python's engine, because the Rust engine does not
    support one of upstream's. The docstring below a field becomes its description in the CRD; it is read
    when the CRD is generated (``structural``), because reading it at import would take 150 ms.
    """

    model_config = ConfigDict(
        alias_generator=wire_name,
        validate_by_name=True,
        validate_by_alias=True,
        frozen=True,
        extra="ignore",
        strict=True,
        regex_engine="python-re",
    )

    RULES: ClassVar[tuple[Rule, ...]] = ()
    """Rules over several fields; ``structural`` writes their CEL into the CRD."""

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        for rule in self.RULES:
            if rule.holds and not rule.holds(self):
                raise PydanticCustomError("rule", "{sentence}", {"sentence": rule.message, "field": rule.field})
        return self

    def to_wire(self) -> dict[str, Any]:
        """The JSON form: camelCase names, tuples as lists, without unset and empty optional fields."""
        wire: dict[str, Any] = {}
        for name, info in type(self).model_fields.items():
            value = _to_wire(getattr(self, name))
            if value is None or (value in ({}, []) and not info.is_required()):
                continue
            wire[info.alias or name] = value
        return wire


def _to_wire(value: Any) -> Any:
    match value:
        case ApiModel():
            return value.to_wire()
        case tuple():
            return [_to_wire(item) for item in value]
        case dict():
            return {key: _to_wire(item) for key, item in value.items()}
        case _:
            return value


T = TypeVar("T")

Items = Annotated[tuple[T, ...], Field(strict=False)]
"""A JSON array as an immutable tuple; ``strict=False`` accepts a list; its items stay strict."""

Int32 = Annotated[int, Field(json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Field(json_schema_extra={"format": "int64"})]
Port = Annotated[Int64, Field(ge=1, le=65535)]
Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""RFC 3339 in UTC with seconds and ``Z``; kept as text, because no code computes with it."""
