"""What webhooks are asked about: one write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from freehold_apiserver.errors import Notes
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json

Operation = Literal["CREATE", "UPDATE", "DELETE"]

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
        return self.resource.collection == "/namespaces"
