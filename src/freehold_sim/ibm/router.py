"""Maps method and path to an operation, one segment after the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from freehold_sim.ibm.call import Route

Found = tuple[Route, dict[str, str]]


@dataclass(slots=True)
class _Node:
    """The routes that begin with the same segments. `variables` are the places and names of a route's variables."""

    literal: "dict[str, _Node]" = field(default_factory=dict)
    variable: "_Node | None" = None
    route: Route | None = None
    variables: tuple[tuple[int, str], ...] = ()
    tail: Route | None = None
    tail_variables: tuple[tuple[int, str], ...] = ()


class Router:
    """Finds the route of a request; literal segments win over variables; a final `{name*}` matches the rest."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._roots: dict[str, _Node] = {}
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._roots.setdefault(route.method, _Node())
        variables: list[tuple[int, str]] = []
        for place, segment in enumerate(route.pattern.strip("/").split("/")):
            if segment.endswith("*}"):
                node.tail, node.tail_variables = route, (*variables, (place, segment[1:-2]))
                return
            if segment.startswith("{"):
                variables.append((place, segment[1:-1]))
                node.variable = node.variable or _Node()
                node = node.variable
            else:
                node = node.literal.setdefault(segment, _Node())
        node.route, node.variables = route, tuple(variables)

    def find(self, method: str, path: str) -> Found | None:
        """Return the route and its decoded path variables, or None."""
        root = self._roots.get(method)
        return _descend(root, path.strip("/").split("/"), 0) if root else None


def _descend(node: _Node, parts: Sequence[str], place: int) -> Found | None:
    if place == len(parts):
        if node.route is None:
            return None
        return node.route, {name: unquote(parts[at]) for at, name in node.variables}
    for following in (node.literal.get(parts[place]), node.variable):
        if following is not None and (found := _descend(following, parts, place + 1)):
            return found
    if node.tail is None:
        return None
    *others, (_, last) = node.tail_variables
    rest = "/".join(parts[place:])
    return node.tail, {**{name: unquote(parts[at]) for at, name in others}, last: unquote(rest)}
