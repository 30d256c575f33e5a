"""`python -m freehold_sim`: simulated clouds as a process of its own."""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from freehold_sim.server import Options, run
from freehold_sim.simulated import CLOUDS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="freehold_sim", description="Simulated clouds on 127.0.0.1")
    parser.add_argument(
        "--cloud", action="append", choices=sorted(CLOUDS), help="cloud to serve; may be repeated (ibm)"
    )
    parser.add_argument("--port", type=int, default=0, help="port; 0 picks a free one")
    parser.add_argument("--speed", type=float, default=1.0, help="simulated seconds in a real one")
    parser.add_argument("--seed", type=int, default=1, help="fixes the ids of a new world")
    parser.add_argument("--state", type=Path, help="file that keeps the world; continued if it exists")
    parser.add_argument("--ready-file", type=Path, help="written with url, port and pid once listening (else stdout)")
    parser.add_argument(
        "--settings", action="append", default=[], metavar="[CLOUD=]FILE",
        help="JSON file with changed settings, nested as in the cloud's settings.py",
    )  # fmt: skip
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input ends")
    return parser.parse_args()


def _settings(given: list[str], first: str) -> dict[str, Any]:
    """What is changed in each cloud, by name."""
    found: dict[str, Any] = {}
    for text in given:
        name, named, file = text.partition("=")
        cloud, path = (name, file) if named and name in CLOUDS else (first, text)
        found[cloud] = json.loads(Path(path).read_text())
    return found


def main() -> int:
    """Serve until told to stop; exit code 2 with one sentence when a file cannot be used."""
    given = _arguments()
    try:
        clouds = tuple(dict.fromkeys(given.cloud or ["ibm"]))
        options = Options(
            clouds, _settings(given.settings, clouds[0]), given.port, given.speed, given.seed, given.state,
            given.ready_file, given.until_stdin_closes,
        )  # fmt: skip
        asyncio.run(run(options))
    except (OSError, TypeError, ValueError) as bad:
        print(f"freehold_sim: {bad}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
