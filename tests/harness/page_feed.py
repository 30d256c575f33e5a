"""Objects, rows and rights for tests of the live page's feed, without any reading of a real object."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from freehold.kube.resources import Json, Resource
from freehold.page.gate import GateUnavailable, Places, Rights, TokenRefused, Viewer

WIDGETS = Resource("test.freehold.dev", "v1", "widgets", "Widget")
GADGETS = Resource("test.freehold.dev", "v1", "gadgets", "Gadget")
EVERYTHING = Rights(frozenset(("Widget", "Gadget")))


def widget(name: str, size: int = 1, namespace: str = "default") -> Json:
    """Build an object of WIDGETS."""
    return {"kind": "Widget", "metadata": {"name": name, "namespace": namespace}, "spec": {"size": size}}


@dataclass(frozen=True)
class SizeRow:
    """The row of a widget: its name and size. ``changes_at``: a large one changes by time."""

    name: str
    size: int
    changes_at: float | None = None

    def to_json(self) -> Json:
        return {"name": self.name, "size": self.size}


@dataclass
class RowCounter:
    """Builds rows, and remembers of which objects. An object of size 0 cannot be built."""

    built: list[str] = field(default_factory=list)

    def build_row(self, resource: Resource, raw: Json, now: float) -> SizeRow:
        name, size = raw["metadata"]["name"], raw["spec"]["size"]
        self.built.append(name)
        if not size:
            raise ZeroDivisionError
        return SizeRow(name, size)


@dataclass
class Reader:
    """A viewer who may see everything, or only namespaces; they may be changed."""

    name: str = "reader"
    everywhere: bool = False
    namespaces: Collection[str] = ()
    asked: int = 0

    async def read_rights(self, places: Places) -> Rights:
        self.asked += 1
        if self.everywhere:
            return Rights(frozenset(each.kind for each in places))
        within = {(each.kind, name) for each, names in places.items() for name in names if name in self.namespaces}
        return Rights(within=frozenset(within))


class ReaderGate:
    """A gate that knows these tokens; a token may be taken away."""

    def __init__(self, readers: Mapping[str, Reader]) -> None:
        self.readers = dict(readers)
        self.is_silent = False

    async def identify(self, token: str) -> Viewer:
        if self.is_silent:
            raise GateUnavailable("the API server cannot be asked")
        if token not in self.readers:
            raise TokenRefused("the token is wrong: ask for another one")
        return self.readers[token]
