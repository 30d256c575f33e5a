"""Shell completion of kinds, names and namespaces. Only click and the standard library here (see ``main``).

Asks the server of the state directory, if one runs. It starts nothing, and where it cannot tell it completes nothing:
a shell that waits for Tab is no place for errors.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from freehold.kube.resources import Resource

_SECONDS = 1.0

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _load_served_resources() -> Sequence[Resource]:
    """Return the kinds that are reconciled."""
    from freehold.providers.registry import SERVED_RESOURCES

    return SERVED_RESOURCES


def _group_path(resource: Resource) -> str:
    return f"/apis/{resource.api_version}"


class _Server:
    """The running server of a state directory. Raises OSError or ValueError where there is none."""

    def __init__(self, context: click.Context) -> None:
        from urllib.request import ProxyHandler, build_opener  # only Tab needs it, and every command imports us

        from freehold.cli.local.state_directory import Lock, StateDirectory, default_path

        if context.params.get("kubeconfig"):
            raise ValueError("another cluster is not asked")
        state = StateDirectory(Path(context.params.get("state") or default_path()))
        server = Lock(state.lock).read() if state.path.stat().st_uid == os.geteuid() else None
        if server is None:
            raise ValueError("nothing is served")
        self._base, self._token = server.url, server.token
        self._namespace = str(context.params.get("namespace") or "default")
        self._opener = build_opener(ProxyHandler({}))  # the server is on this machine

    def _ask(self, path: str) -> dict[str, Any]:
        from urllib.request import Request

        asked = Request(f"{self._base}{path}", headers={"Authorization": f"Bearer {self._token}"})  # noqa: S310  # our own server
        with self._opener.open(asked, timeout=_SECONDS) as answer:
            return dict(json.load(answer))

    def resources(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Path of the group, and entry of each kind that can be listed; ours first."""
        groups = [each["preferredVersion"]["groupVersion"] for each in self._ask("/apis")["groups"]]
        ours = {_group_path(each) for each in _load_served_resources()}
        for path in sorted(["/api/v1", *(f"/apis/{each}" for each in groups)], key=lambda path: path not in ours):
            for entry in self._ask(path)["resources"]:
                if "/" not in entry["name"] and "list" in entry["verbs"]:
                    yield path, entry

    def kinds(self) -> list[str]:
        return [entry["name"] for _, entry in self.resources()]

    def names(self, kind: str = "") -> list[str]:
        """List the names of a kind's objects. Where none is given, of ours: with the kind where two have the name."""
        if not kind:
            found = [
                (name, each.kind)
                for each in _load_served_resources()
                for name in self._names(_group_path(each), each.plural, True)
            ]
            times = Counter(name for name, _ in found)
            return [name if times[name] == 1 else f"{kind}/{name}" for name, kind in found]
        for path, entry in self.resources():
            called = {entry["name"], entry["kind"].lower(), entry.get("singularName"), *(entry.get("shortNames") or ())}
            if kind in called:
                return self._names(path, entry["name"], entry["namespaced"])
        return []

    def _names(self, path: str, plural: str, namespaced: bool) -> list[str]:
        place = f"/namespaces/{self._namespace}" if namespaced else ""
        return [each["metadata"]["name"] for each in self._ask(f"{path}{place}/{plural}")["items"]]

    def namespaces(self) -> list[str]:
        return self._names("/api/v1", "namespaces", False)


def _completer(found: Callable[[_Server, click.Context], Iterable[str]]) -> Completer:
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            words = list(dict.fromkeys(found(_Server(context), context)))
        except Exception:  # whatever it is: nothing is completed, and the shell stays as it is
            return []
        return [CompletionItem(each) for each in words if each.startswith(incomplete)]

    return complete


def _kinds_and_names(server: _Server, context: click.Context) -> Iterable[str]:
    given = tuple(context.params.get("words") or ())
    if not given:
        return [*server.names(), *server.kinds()]
    kind = given[0].lower()
    names = server.names(kind)
    return [each for each in names or server.names() if each not in given]


def _names(server: _Server, context: click.Context) -> Iterable[str]:
    given = tuple(context.params.get("words") or ())
    of_kind = server.names(given[0].lower()) if given else []
    return [each for each in of_kind or server.names() if each not in given]


kinds_and_names = _completer(_kinds_and_names)
names = _completer(_names)
namespaces = _completer(lambda server, _: server.namespaces())
