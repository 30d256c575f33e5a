"""The fields of request bodies: those that are served, and those that only the vendor serves.

Every operation declares its fields, so that none is dropped in silence (docs/reference/simulator.md#refused).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias


class Served(Enum):
    """A field that has an effect: any value is passed to the handler, which checks it."""

    YES = auto()


@dataclass(frozen=True, slots=True)
class Only:
    """A field of the vendor that is simulated for these values alone, mostly the vendor's default."""

    values: tuple[Any, ...] = ()


Field: TypeAlias = "Served | Only | Mapping[str, Field]"
"""A mapping describes the fields of an object, or of each object in a list."""
Fields: TypeAlias = Mapping[str, Field]

SERVED = Served.YES
NOT_SERVED = Only()
IDENTITY: Fields = {"id": SERVED, "crn": SERVED, "href": SERVED}
"""A reference to another resource."""

GROUP: Fields = {"id": SERVED}
"""A reference to a resource group."""


@dataclass(frozen=True, slots=True)
class Unserved:
    """A field of a body that is not served: its path, and whether the vendor has it."""

    path: str
    known: bool


def served(names: str) -> dict[str, Field]:
    return dict.fromkeys(names.split(), SERVED)


def not_served(names: str) -> dict[str, Field]:
    return dict.fromkeys(names.split(), NOT_SERVED)


def first_unserved(body: Mapping[str, Any], fields: Fields, inside: str = "") -> Unserved | None:
    """Return the first field of `body` that is not served; null counts as absent."""
    for name, value in body.items():
        if value is None:
            continue
        field = fields.get(name)
        if field is SERVED:
            continue
        path = inside + name
        if field is None:
            return Unserved(path, known=False)
        if isinstance(field, Only):
            if value in field.values:
                continue
            return Unserved(path, known=True)
        assert isinstance(field, Mapping)
        for nested in value if isinstance(value, list) else (value,):
            if isinstance(nested, dict) and (found := first_unserved(nested, field, f"{path}.")):
                return found
    return None
