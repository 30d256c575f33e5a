"""One measured figure beside its target and a peer's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Explained:
    """Why a target is missed: the most that the reason accounts for, and its arithmetic."""

    most: float
    why: str


@dataclass(frozen=True)
class Row:
    """``target`` is the most that is allowed, None when the figure is only told. ``source`` says where the
    target, or the peer's figure, comes from."""

    name: str
    value: float
    unit: str
    target: float | None = None
    peer: str = ""
    source: str = ""
    explained: Explained | None = None

    @property
    def ok(self) -> bool:
        return self.target is None or self.value <= self.target

    @property
    def accepted(self) -> bool:
        """Whether the target is met, or missed by no more than the row explains."""
        return self.ok or (self.explained is not None and self.value <= self.explained.most)


def table(rows: Sequence[Row]) -> str:
    """Aligned columns, a row that misses its target marked."""
    lines = [("", "name", "value", "target", "unit", "peer")]
    for row in rows:
        target = "" if row.target is None else f"≤ {row.target:g}"
        lines.append(("ok" if row.ok else "NO", row.name, f"{row.value:g}", target, row.unit, row.peer))
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def verdict(rows: Sequence[Row]) -> tuple[str, int]:
    """Return what is told of the missed rows, a line each, and the exit code: 1 if one of them is not accepted."""
    lines = [_missed(row) for row in rows if not row.ok]
    return "\n".join(lines), int(not all(row.accepted for row in rows))


def _missed(row: Row) -> str:
    text = f"missed: {row.name}: {row.value:g} {row.unit} (target {row.target:g})"
    if row.explained is None:
        return text
    limit = "" if row.accepted else f"; explained is up to {row.explained.most:g}"
    return f"{text}{limit}: {row.explained.why}"


def write(rows: Sequence[Row], path: Path, *, keep_others: bool = False) -> None:
    """A list of objects, sorted by name, so that two runs can be compared."""
    found = {row.name: {**asdict(row), "ok": row.ok} for row in rows}
    for each in found.values():
        if each["explained"] is None:
            del each["explained"]
    others = {each["name"]: each for each in json.loads(path.read_text())} if keep_others else {}
    merged = sorted((others | found).values(), key=lambda each: str(each["name"]))
    path.write_text(json.dumps(merged, indent=2, ensure_ascii=False) + "\n")
