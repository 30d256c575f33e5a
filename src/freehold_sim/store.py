"""Simulated clouds in a file: plain JSON, replaced atomically, so that a killed process loses nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freehold_sim.simulated import LoggedCall, SimulatedCloud

_KEPT_CALLS = 1000


@dataclass(frozen=True)
class SavedCloud:
    """What a file held of one cloud: its state and the last calls."""

    state: dict[str, Any]
    calls: list[LoggedCall]


@dataclass(frozen=True)
class Saved:
    """What a file held: the clouds by name, and the domain time of saving (epoch seconds)."""

    clouds: Mapping[str, SavedCloud]
    time: float


def save(clouds: Mapping[str, SimulatedCloud], now: float, path: Path) -> None:
    """Write the clouds to `path`. Of each log of calls only the last thousand are kept."""
    content = {
        "time": now,
        "clouds": {
            name: {"data": cloud.state(), "calls": [list(call) for call in cloud.calls[-_KEPT_CALLS:]]}
            for name, cloud in clouds.items()
        },
    }
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(content, separators=(",", ":")))
    fresh.replace(path)


def load(path: Path) -> Saved | None:
    """Return what `path` holds, None when there is no such file; raises ValueError when it is no simulated world.

    Before there was a second cloud a file held that of IBM alone, without a name.
    """
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text())
        held = content.get("clouds", {"ibm": content})
        return Saved({name: _saved(each) for name, each in held.items()}, float(content["time"]))
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as bad:
        raise ValueError(f"{path} does not hold a simulated world: {bad}") from bad


def _saved(held: Mapping[str, Any]) -> SavedCloud:
    return SavedCloud(dict(held["data"]), [LoggedCall(*row) for row in held["calls"]])
