"""What every API type shares: immutable, strict, camelCase on the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

# Segments that Kubernetes' Go conventions spell in capitals when they do not begin a name.
_INITIALISMS = {"id": "ID", "ids": "IDs", "vs": "VS"}


def wire_name(field: str) -> str:
    """The JSON name of a Python field name: ``service_instance_id`` -> ``serviceInstanceID``."""
    first, *rest = field.split("_")
    return first + "".join(_INITIALISMS.get(segment, segment.capitalize()) for segment in rest)


@dataclass(frozen=True)
class Rule:
    """A rule over several fields, said twice: as CEL for the API server, as a predicate for what has passed it.

    The message is what kubectl prints and what a condition says. The predicate is there for objects that no
    rule has looked at: stored before the rule was, or by an API server without CEL.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool]


def extensions(**values: Any) -> dict[str, Any]:
    """Schema extensions by their short names: ``list_type="map"`` -> ``x-kubernetes-list-type: map``."""
    return {f"x-kubernetes-{name.replace('_', '-')}": value for name, value in values.items()}


class ApiModel(BaseModel):
    """Base of all API types.

    Unknown fields are ignored, as the API server prunes them. Values are strict, as in the schema:
    a number is no string and a string no number. Patterns are Python's, because upstream has one
    that the Rust engine does not read. The docstring below a field becomes its description in the CRD; it
    is read when the CRD is generated (``structural``), since reading it at import would cost 150 ms.
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
    """What must hold between the fields; ``structural`` writes the CEL into the CRD."""

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        for rule in self.RULES:
            if not rule.holds(self):
                raise PydanticCustomError("rule", "{sentence}", {"sentence": rule.message})
        return self

    def to_wire(self) -> dict[str, Any]:
        """The JSON form: camelCase names, lists as lists, nothing that is unset or empty by default."""
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
"""A JSON array as an immutable tuple; ``strict=False`` lets it be read from a list, its items stay strict."""

Int32 = Annotated[int, Field(json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Field(json_schema_extra={"format": "int64"})]
Port = Annotated[Int64, Field(ge=1, le=65535)]
Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""RFC 3339 in UTC with seconds and ``Z``; kept as text, because nothing here computes with it."""
