"""Maps method and path to an operation. Paths are split once and compared segment by segment."""

from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from freehold_sim.ibm.call import Route


class Router:
    """Finds the route of a request; literal segments win over variables; a final `{name*}` matches the rest."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._table: dict[tuple[str, str, int], list[tuple[tuple[str, ...], Route]]] = {}
        self._tails: list[tuple[tuple[str, ...], Route]] = []
        for route in routes:
            segments = tuple(route.pattern.strip("/").split("/"))
            if segments[-1].endswith("*}"):
                self._tails.append((segments, route))
                continue
            self._table.setdefault((route.method, segments[0], len(segments)), []).append((segments, route))
        for rows in self._table.values():
            rows.sort(key=lambda row: [segment.startswith("{") for segment in row[0]])

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        """Return the route and its decoded path variables, or None."""
        parts = path.strip("/").split("/")
        for segments, route in self._table.get((method, parts[0], len(parts)), ()):
            if (params := _match(segments, parts)) is not None:
                return route, params
        for segments, route in self._tails:
            if method != route.method or len(parts) < len(segments):
                continue
            rest = "/".join(parts[len(segments) - 1 :])
            params = _match(segments[:-1], parts[: len(segments) - 1])
            if params is not None:
                return route, {**params, segments[-1][1:-2]: unquote(rest)}
        return None


def _match(segments: Sequence[str], parts: Sequence[str]) -> dict[str, str] | None:
    params: dict[str, str] = {}
    for segment, part in zip(segments, parts, strict=True):
        if segment.startswith("{"):
            params[segment[1:-1]] = unquote(part)
        elif segment != part:
            return None
    return params
