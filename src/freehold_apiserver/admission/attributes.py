"""What webhooks are asked about: one write."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from freehold_apiserver.errors import Notes
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json
from freehold_apiserver.write_options import WriteOptions

Operation = Literal["CREATE", "UPDATE", "DELETE"]

NAMESPACES = "/namespaces"
USER: Mapping[str, Any] = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
"""Who writes. There are no users here: who has the token may do everything."""


class Gate(Protocol):
    """What a write passes before it is stored."""

    @property
    def mutates(self) -> bool:
        """Whether anything may change an object."""

    @property
    def validates(self) -> bool:
        """Whether anything may refuse a write."""

    async def mutate(self, asked: Attributes, notes: Notes) -> Json | None:
        """Return the object as it is to be; the very one that was given if nothing changes. Raises ApiError."""

    async def validate(self, asked: Attributes, notes: Notes) -> None:
        """Raise ApiError to refuse the write."""


class OpenGate:
    """Lets everything pass: what the server writes by itself at its start, when no webhook can be there yet."""

    mutates = validates = False

    async def mutate(self, asked: Attributes, notes: Notes) -> Json | None:
        return asked.obj

    async def validate(self, asked: Attributes, notes: Notes) -> None:
        return


@dataclass(frozen=True)
class Attributes:
    """A write in the version in which it was requested.

    ``obj`` is None for a delete, ``old`` for a create. ``namespace`` of a namespace is its own name. ``options`` are
    CreateOptions, UpdateOptions or DeleteOptions.
    """

    resource: Resource
    namespace: str
    name: str
    subresource: str
    operation: Operation
    obj: Json | None
    old: Json | None
    options: Json
    dry_run: bool

    def in_namespaced_scope(self) -> bool:
        """Tell whether the object is in a namespace."""
        return bool(self.namespace) and not self.is_namespace()

    def is_namespace(self) -> bool:
        """Tell whether the object is a namespace."""
        return self.resource.collection == NAMESPACES


def describe_write(
    resource: Resource,
    operation: Operation,
    namespace: str,
    obj: Json,
    old: Json | None,
    options: WriteOptions,
    subresource: str,
    managed: list[Json] | None = None,
) -> Attributes:
    """Describe a create or an update, with copies of its objects. ``managed`` stands in for the owners in ``obj``."""
    shown, name = copy.deepcopy(resource.shown(obj)), obj["metadata"].get("name", "")
    if managed is not None:
        shown["metadata"].pop("managedFields", None)
        shown["metadata"].update({"managedFields": managed} if managed else {})
    return Attributes(
        resource, name if resource.collection == NAMESPACES else namespace, name, subresource, operation, shown,
        copy.deepcopy(resource.shown(old)) if old else None, options.shown(operation), options.dry_run,
    )  # fmt: skip
