"""The toy cloud: it stands where another provider has the SDK of its vendor."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from typing import Any

Row = dict[str, Any]
_ONE_AT_A_TIME = Lock()


class ToyError(Exception):
    """A refusal, with a status as HTTP has it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class ToyCloud:
    """One account, in a JSON file: ids are never used twice, and what a request changes shows at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def request(self, operation: str, **arguments: Any) -> Any:
        """Serve one request. Raises ToyError where it is refused, OSError where the cloud cannot be reached."""
        with _ONE_AT_A_TIME:
            world = self.load()
            reply = getattr(self, f"_{operation}")(world, **arguments)
            self.save(world)
            return reply

    def load(self) -> Row:
        return json.loads(self.path.read_text()) if self.path.exists() else {"created": 0, "resources": {}}

    def save(self, world: Row) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(world))
        fresh.replace(self.path)

    def _create(self, world: Row, kind: str, name: str, tags: dict[str, str], fields: Row) -> Row:
        if "net" in fields:
            _found(world, fields["net"])
        world["created"] += 1
        row = {"id": f"{kind}-{world['created']}", "kind": kind, "name": name, "tags": tags, **fields}
        world["resources"][row["id"]] = row
        return row

    def _list(self, world: Row, kind: str = "") -> list[Row]:
        return [row for row in world["resources"].values() if row["kind"] == (kind or row["kind"])]

    def _change(self, world: Row, ident: str, fields: Row) -> None:
        _found(world, ident).update(fields)

    def _delete(self, world: Row, ident: str) -> None:
        _found(world, ident)
        if any(row.get("net") == ident for row in world["resources"].values()):
            raise ToyError(409)
        del world["resources"][ident]

    def _tag(self, world: Row, ident: str, tags: dict[str, str]) -> None:
        _found(world, ident)["tags"].update(tags)

    def _untag(self, world: Row, ident: str, keys: list[str]) -> None:
        tags = _found(world, ident)["tags"]
        for key in keys:
            tags.pop(key, None)


def _found(world: Row, ident: str) -> Row:
    if ident not in world["resources"]:
        raise ToyError(404)
    row: Row = world["resources"][ident]
    return row
