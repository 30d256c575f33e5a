"""Domain time: a simulated cloud's own, continued here or as it was left. It imports little."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from freehold.engine.clock import SystemClock


def continue_clock(told: Mapping[str, Any]) -> SystemClock:
    """Continue the clock of a simulated cloud from what it tells. Raises KeyError, TypeError, ValueError."""
    return SystemClock(float(told["speed"]), (time.time(), float(told["now"])))


def stopped_clock(world: Path) -> SystemClock:
    """Return the time at which a simulated cloud that does not run now was left; wall time where there is none."""
    try:
        left = float(json.loads(world.read_text())["time"])
    except (OSError, ValueError, KeyError, TypeError):
        return SystemClock()
    return SystemClock(0.0, (time.time(), left))
