"""`python -m freehold_sim`: the simulated IBM Cloud as a process of its own."""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from freehold_sim.ibm.settings import Settings
from freehold_sim.server import Options, run


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="freehold_sim", description="Simulated IBM Cloud on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="port; 0 picks a free one")
    parser.add_argument("--speed", type=float, default=1.0, help="simulated seconds in a real one")
    parser.add_argument("--seed", type=int, default=1, help="fixes the ids of a new world")
    parser.add_argument("--state", type=Path, help="file that keeps the world; continued if it exists")
    parser.add_argument("--ready-file", type=Path, help="written with url, port and pid once listening (else stdout)")
    parser.add_argument("--settings", type=Path, help="JSON file with changed settings, nested as in ibm/settings.py")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input ends")
    return parser.parse_args()


def main() -> int:
    """Serve until told to stop; exit code 2 with one sentence when a file cannot be used."""
    given = _arguments()
    try:
        settings = Settings.from_dict(json.loads(given.settings.read_text()) if given.settings else {})
        options = Options(given.port, given.speed, given.seed, given.state, given.ready_file, given.until_stdin_closes)
        asyncio.run(run(options, settings))
    except (OSError, TypeError, ValueError) as bad:
        print(f"freehold_sim: {bad}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
