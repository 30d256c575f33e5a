"""The state file of simulated clouds: plain JSON, replaced atomically, so that a killed process loses nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freehold_sim.simulated import LoggedCall, SimulatedCloud

_KEPT_CALLS = 1000


@dataclass(frozen=True)
class SavedCloud:
    """The saved part of one cloud: its state and the last calls."""

    state: dict[str, Any]
    calls: list[LoggedCall]


@dataclass(frozen=True)
class Saved:
    """The content of a state file: the clouds by name, and the domain time of saving (epoch seconds)."""

    clouds: Mapping[str, SavedCloud]
    time: float


def save(clouds: Mapping[str, SimulatedCloud], now: float, path: Path) -> None:
    """Write the clouds to `path`, each with the last thousand calls of its log."""
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
    """Return the content of `path`, None if the file does not exist; raises ValueError if it is not a state file.

    Files of the first version contain only the IBM cloud, without a name.
    """
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text())
        held = content.get("clouds", {"ibm": content})
        return Saved({name: _saved(each) for name, each in held.items()}, float(content["time"]))
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as bad:
        raise ValueError(f"{path} is not a simulator state file: {bad}") from bad


def _saved(held: Mapping[str, Any]) -> SavedCloud:
    return SavedCloud(dict(held["data"]), [LoggedCall(*row) for row in held["calls"]])
