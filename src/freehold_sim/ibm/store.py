"""A simulated world in a file: plain JSON, replaced atomically, so that a killed process loses nothing."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freehold_sim.ibm.cloud import LoggedCall, SimulatedIBM

_KEPT_CALLS = 1000


@dataclass(frozen=True)
class Saved:
    """What a file held: the world's data, the last calls, and the domain time of saving (epoch seconds)."""

    data: dict[str, Any]
    calls: list[LoggedCall]
    time: float


def save(cloud: SimulatedIBM, path: Path) -> None:
    """Write the world to `path`. Of the log of calls only the last thousand are kept."""
    content = {
        "time": cloud.clock.now(),
        "data": cloud.world.data,
        "calls": [list(call) for call in cloud.calls[-_KEPT_CALLS:]],
    }
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(content, separators=(",", ":")))
    fresh.replace(path)


def load(path: Path) -> Saved | None:
    """Return what `path` holds, None when there is no such file; raises ValueError when it is not a world."""
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text())
        calls = [LoggedCall(*row) for row in content["calls"]]
        return Saved(dict(content["data"]), calls, float(content["time"]))
    except (KeyError, TypeError, json.JSONDecodeError) as bad:
        raise ValueError(f"{path} does not hold a simulated world: {bad}") from bad
