"""One measured figure beside its target and a peer's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


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

    @property
    def ok(self) -> bool:
        return self.target is None or self.value <= self.target


def table(rows: Sequence[Row]) -> str:
    """Aligned columns, a row that misses its target marked."""
    lines = [("", "name", "value", "target", "unit", "peer")]
    for row in rows:
        target = "" if row.target is None else f"≤ {row.target:g}"
        lines.append(("ok" if row.ok else "NO", row.name, f"{row.value:g}", target, row.unit, row.peer))
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def write(rows: Sequence[Row], path: Path) -> None:
    """A list of objects, sorted by name, so that two runs can be compared."""
    found = [{**asdict(row), "ok": row.ok} for row in sorted(rows, key=lambda r: r.name)]
    path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
