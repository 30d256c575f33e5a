"""The IAM policies in ``deploy/iam``: written from the operations in use, or with ``--check`` compared with them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from freehold.providers.aws.permissions import policies as permissions

DIRECTORY = Path("deploy/iam")


def render_files() -> dict[str, str]:
    """Return the files by name: one policy document a role."""
    policies = {
        "reader": permissions.reader_policy(),
        "creator": permissions.creator_policy(),
        "deleter": permissions.deleter_policy(),
    }
    return {f"{name}.json": json.dumps(policy, indent=2) + "\n" for name, policy in policies.items()}


def find_stale(directory: Path) -> tuple[str, ...]:
    """Return the sorted names of files that are missing or differ from the generated content."""
    present = {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.json")}
    wanted = render_files()
    return tuple(sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)))


def main(arguments: list[str] | None = None) -> int:
    """Write or check the files. Return 0 on success, 1 when ``--check`` finds a stale file."""
    parser = argparse.ArgumentParser(
        prog="python -m freehold.providers.aws.permissions.policy_files", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where they are (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.check:
        found = find_stale(options.directory)
        for name in found:
            print(f"{options.directory / name} is out of date; run `make crds`", file=sys.stderr)
        return 1 if found else 0
    options.directory.mkdir(parents=True, exist_ok=True)
    for name, content in render_files().items():
        (options.directory / name).write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
