"""``python -m benchmarks.custodian COMMAND``: Cloud Custodian on the fleet of the rows ``tags.*``.

It is no dependency of this project: make a virtual environment elsewhere, ``pip install c7n==0.9.53`` there, and give
its ``custodian`` as COMMAND. The fleet is on the simulated AWS of this project, a process on the loopback, in
whose log all requests are counted. Each policy runs twice, the second time with nothing to do; it must end as the
metadata controller does. Then it runs on new fleets of volumes, where each third write is refused, or its reply lost.
The rows name what was measured so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.processes import child
from benchmarks.tag_programs import CLASSIFIER, REGION, WANTED

PROGRAMS = "benchmarks.tag_programs"
FLEET = 1_000
RESOURCES: Final = {"volumes": "aws.ebs", "secrets": "aws.secrets-manager"}
WRITES: Final = {"volumes": "ec2.CreateTags", "secrets": "secretsmanager.TagResource"}
FAULTS: Final = ("throttle", "error-before", "error-after", "reply-lost")


@dataclass(frozen=True)
class Figures:
    """Of one run: seconds, CPU-seconds of the process, peak MB, requests, and how many of them were writes."""

    seconds: float
    cpu: float
    peak: float
    calls: int
    writes: int
    right: int
    """Resources that have all wanted tags afterwards."""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    for kind in RESOURCES:
        with child("aws", kind, FLEET, of=PROGRAMS) as cloud:
            url = cloud.heard()
            cloud.ask()
            for time_ in ("first", "second"):
                print(kind, time_, run(arguments[0], url, kind), by_operation(url))
            print(kind, "ends as ours" if _tags(url) == _tags_of_ours(kind) else "DOES NOT END AS OURS")
    for effect in FAULTS:
        with child("aws", "volumes", FLEET, of=PROGRAMS) as cloud:
            url = cloud.heard()
            cloud.ask()
            each_third(url, WRITES["volumes"], effect)
            print("volumes", effect, run(arguments[0], url, "volumes"), by_operation(url))
    return 0


def policy(kind: str) -> dict[str, Any]:
    """What a CloudMetadata with one classifier and two tags asks for, in the peer's words. JSON is YAML."""
    tag = {"type": "tag", "tags": WANTED}
    filters = [{f"tag:{CLASSIFIER}": "owned"}]
    return {"policies": [{"name": kind, "resource": RESOURCES[kind], "filters": filters, "actions": [tag]}]}


def run(command: str, url: str, kind: str) -> Figures:
    calls = _log(url)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.yml"
        file.write_text(json.dumps(policy(kind)))
        begun = time.monotonic()
        given = ["run", "--cache-period", "0", "--output-dir", folder, str(file)]
        process = subprocess.Popen([command, *given], env=_environment(url), stderr=subprocess.DEVNULL)
        _, _, used = os.wait4(process.pid, 0)
        seconds, after = time.monotonic() - begun, _log(url)
    return Figures(
        round(seconds, 1), round(used.ru_utime + used.ru_stime, 2), used.ru_maxrss // 1024,
        after["total"] - calls["total"],
        after["mutating"] - calls["mutating"], _right(url),
    )  # fmt: skip


def _environment(url: str) -> Mapping[str, str]:
    """No credentials and no configuration of the person who runs it: nothing can reach a real account."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    nothing = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    keys = {"AWS_ACCESS_KEY_ID": "AKIASIMULATED0000001", "AWS_SECRET_ACCESS_KEY": "any secret"}
    return {**kept, **nothing, **keys, "AWS_ENDPOINT_URL": url, "AWS_DEFAULT_REGION": REGION}


def each_third(url: str, operation: str, effect: str) -> None:
    """From the first write on, as far as a run can come."""
    for nth in range(1, 2 * FLEET, 3):
        body = json.dumps({"effect": effect, "operation": operation, "nth": nth, "status": 500}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{url}/_sim/faults", body)).close()


def _tags_of_ours(kind: str) -> dict[str, dict[str, str]]:
    """What the metadata controller leaves on the same fleet: the ids of a new simulated cloud are the same again."""
    with child("aws", kind, FLEET, of=PROGRAMS) as cloud:
        url = cloud.heard()
        cloud.ask()
        with child("controller", url, of=PROGRAMS) as controller:
            controller.ask()
        return _tags(url)


def _right(url: str) -> int:
    return sum(WANTED.items() <= tags.items() for tags in _tags(url).values() if CLASSIFIER in tags)


def _tags(url: str) -> dict[str, dict[str, str]]:
    """By ARN."""
    with urllib.request.urlopen(f"{url}/_sim/resources") as answer:
        return {row["arn"]: row["tags"] for row in json.load(answer)["resources"]}


def by_operation(url: str) -> Any:
    return _log(url)["by_operation"]


def _log(url: str) -> Any:
    with urllib.request.urlopen(f"{url}/_sim/calls") as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
