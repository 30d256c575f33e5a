"""The state file of simulated clouds: plain JSON, replaced atomically, so that a killed process loses nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from freehold_sim.simulated import LoggedCall, SimulatedCloud

_KEPT_READS = 1000
_KEPT_WRITES = 10_000


@dataclass(frozen=True)
class SavedCloud:
    """The saved part of one cloud: its state and the calls that were kept."""

    state: dict[str, Any]
    calls: list[LoggedCall]


@dataclass(frozen=True)
class Saved:
    """The content of a state file: the clouds by name, and the domain time of saving (epoch seconds)."""

    clouds: Mapping[str, SavedCloud]
    time: float


def save(clouds: Mapping[str, SimulatedCloud], now: float, path: Path) -> None:
    """Write the clouds to `path`."""
    write({name: encode(cloud) for name, cloud in clouds.items()}, now, path)


def encode(cloud: SimulatedCloud) -> str:
    """Return what the file has of one cloud: its state and the last calls of its log, more writes than reads."""
    calls = ",".join(map(_encode_call, _list_kept(cloud.calls)))
    return f'{{"data":{_encode(cloud.state())},"calls":[{calls}]}}'


def _encode(state: Any) -> str:
    """Return the JSON of a state. Most of what a simulator does in a large world is this, which `json` does slowly."""
    try:
        return to_json(state).decode()
    except ValueError:  # a name that somebody gave is no Unicode text: only `json` can escape half a surrogate pair
        return json.dumps(state, separators=(",", ":"))


def write(encoded: Mapping[str, str], now: float, path: Path) -> None:
    """Write clouds that are encoded already to `path`, by their names."""
    fresh = path.with_name(path.name + ".new")
    clouds = ",".join(f"{json.dumps(name)}:{text}" for name, text in encoded.items())
    fresh.write_text(f'{{"time":{json.dumps(now)},"clouds":{{{clouds}}}}}', "utf-8")
    fresh.replace(path)


@lru_cache(maxsize=_KEPT_WRITES + _KEPT_READS)  # nearly all calls of a log were in the file before
def _encode_call(call: LoggedCall) -> str:
    return json.dumps(call, separators=(",", ":"))


def _list_kept(calls: Sequence[LoggedCall]) -> list[LoggedCall]:
    """List the calls to save, in their order. Reads are many, and polls of a slow machine must not push writes out."""
    writes = [call for call in calls if call.mutating][-_KEPT_WRITES:]
    reads = [call for call in calls if not call.mutating][-_KEPT_READS:]
    return sorted([*writes, *reads], key=lambda call: call.sequence)


def load(path: Path) -> Saved | None:
    """Return the content of `path`, None if the file does not exist; raises ValueError if it is not a state file.

    Files of the first version contain only the IBM cloud, without a name.
    """
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_bytes())
        held = content.get("clouds", {"ibm": content})
        return Saved({name: _saved(each) for name, each in held.items()}, float(content["time"]))
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as bad:
        raise ValueError(f"{path} is not a simulator state file: {bad}") from bad


def _saved(held: Mapping[str, Any]) -> SavedCloud:
    return SavedCloud(dict(held["data"]), [LoggedCall(*row) for row in held["calls"]])
