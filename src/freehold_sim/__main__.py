"""`python -m freehold_sim`: serves simulated clouds from a separate process."""

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
        "--cloud", action="append", choices=sorted(CLOUDS),
        help="cloud to serve at / too, not only at /NAME (default: ibm); repeated: others to load at once",
    )  # fmt: skip
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 picks a free port")
    parser.add_argument("--speed", type=float, default=1.0, help="simulated seconds per real second")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generated ids, for a new state")
    parser.add_argument("--state", type=Path, help="state file; loaded if it exists")
    parser.add_argument(
        "--ready-file", type=Path, help="file to write url, port and pid to when ready (default: stdout)"
    )
    parser.add_argument(
        "--settings", action="append", default=[], metavar="[CLOUD=]FILE",
        help="JSON file with settings to override, nested as in the cloud's settings.py; or these by CLOUD",
    )  # fmt: skip
    parser.add_argument(
        "--prepared", action="store_true", help="give new accounts what people create before they use Cluster API"
    )
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input ends")
    return parser.parse_args()


def settings_of(given: list[str], first: str) -> dict[str, Any]:
    """Return the settings to override, by cloud name."""
    found: dict[str, Any] = {}
    for text in given:
        name, named, file = text.partition("=")
        if named and name in CLOUDS:
            found[name] = json.loads(Path(file).read_text())
            continue
        values = json.loads(Path(text).read_text())
        by_cloud = isinstance(values, dict) and values and values.keys() <= CLOUDS.keys()
        found |= values if by_cloud else {first: values}
    return found


def main() -> int:
    """Serve until stopped. Returns exit code 2, with a message on stderr, if a file cannot be used."""
    given = _arguments()
    try:
        clouds = tuple(dict.fromkeys(given.cloud or ["ibm"]))
        options = Options(
            clouds, settings_of(given.settings, clouds[0]), given.port, given.speed, given.seed, given.state,
            given.ready_file, given.until_stdin_closes, given.prepared,
        )  # fmt: skip
        asyncio.run(run(options))
    except (OSError, TypeError, ValueError) as bad:
        print(f"freehold_sim: {bad}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
