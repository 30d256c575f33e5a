"""Base of all API types: immutable, strict, camelCase in JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

# Segments in capitals by Kubernetes' Go conventions, except at the beginning of a name.
_INITIALISMS = {"id": "ID", "ids": "IDs", "vs": "VS"}


def to_wire_name(field: str) -> str:
    """Spell a Python field name in JSON: ``service_instance_id`` -> ``serviceInstanceID``."""
    first, *rest = field.split("_")
    return first + "".join(_INITIALISMS.get(segment, segment.capitalize()) for segment in rest)


@dataclass(frozen=True)
class Broken:
    """A place at which a rule is broken: its path below the node, and the wrong value as a sentence shows it.

    ``message`` stands for the rule's where that one cannot say enough; ``{at}`` in it is the path of the node.
    """

    field: str
    value: str = "it"
    message: str = ""


@dataclass(frozen=True)
class ApiRule:
    """A rule as CEL for the API server, and in Python for objects that no API server has checked.

    kubectl prints the message, and conditions contain it: with the wrong value in place of ``{it}``. ``holds`` is
    asked when an object is parsed, which fails where it does not hold. ``find`` is asked of a parsed object by the
    reconciler (:mod:`freehold.api.rules`). A rule without either is for the API server alone, one without CEL for the
    reconciler alone. ``field`` is the path below the node at which the error is told; ``of`` is the field that the
    rule is about, where it is not about the whole object; ``told`` is CEL for a message that names what is wrong, in
    place of ``message``.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None
    field: str = ""
    told: str = ""
    of: str = ""
    find: Callable[[Any], Iterable[Broken]] | None = None

    def to_wire(self) -> dict[str, str]:
        """Return the entry of ``x-kubernetes-validations``."""
        message = self.message.format(it="it")
        wire = {"fieldPath": self.field, "message": message, "messageExpression": self.told, "rule": self.cel}
        return {name: value for name, value in wire.items() if value}


def build_validations(*rules: ApiRule) -> dict[str, Any]:
    """Return the schema extension that holds these rules."""
    found = [rule.to_wire() for rule in rules if rule.cel]
    return {"x-kubernetes-validations": found} if found else {}


def build_extensions(**values: Any) -> dict[str, Any]:
    """Make schema extensions from short names: ``list_type="map"`` -> ``x-kubernetes-list-type: map``."""
    return {f"x-kubernetes-{name.replace('_', '-')}": value for name, value in values.items()}


class ApiModel(BaseModel):
    """Base of all API types.

    Unknown fields are ignored, as the API server prunes them. Values are strict, as in the schema:
    numbers and strings are not converted. Patterns use Python's engine, because the Rust engine does not
    support one of upstream's. The docstring below a field becomes its description in the CRD; it is read
    when the CRD is generated (``structural``), because reading it at import would take 150 ms.
    """

    model_config = ConfigDict(
        alias_generator=to_wire_name,
        validate_by_name=True,
        validate_by_alias=True,
        frozen=True,
        extra="ignore",
        strict=True,
        regex_engine="python-re",
    )

    RULES: ClassVar[tuple[ApiRule, ...]] = ()
    """Rules over several fields; ``structural`` writes their CEL into the CRD."""

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        for rule in self.RULES:
            if rule.holds and not rule.holds(self):
                raise PydanticCustomError("rule", "{sentence}", {"sentence": rule.message, "field": rule.field})
        return self

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON form: camelCase names, tuples as lists, without unset and empty optional fields."""
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
