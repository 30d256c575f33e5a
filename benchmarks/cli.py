"""What the commands of a person cost, in CPU, beside an interpreter that does nothing (and kubectl, if there is one).

Of a command the CPU-seconds of its process and of the processes that it started count, not those of a server that runs
already: on a busy machine, wall time would measure the others. Its modules are compiled before, as those of an
installed package are, whatever PYTHONDONTWRITEBYTECODE says here: where it is set, each command in a checkout compiles
all that it imports, which is a quarter of `get`.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.rows import Row

TRIES = 9
HELP = 200 / 10
"""The target of 200 ms, on the machine where `python -c pass` took 10 ms."""
DOCUMENTS = 10_000
MANY_TRIES = 3
PEERS = "docs/reference/kubernetes.md#runtime: python -c pass 10 ms, typer --help 139 ms, kopf's import +643 ms"
SOURCE = "target of this project; process and children, least of 9 runs, turn by turn with python -c pass"
MANIFEST = Path(__file__).parent.parent / "examples" / "powervs-create-infra.yaml"
NAME = "freehold-demo"
UNIT = "× python -c pass"

_FREEHOLD = str(Path(sys.executable).with_name("freehold"))


def measure() -> Iterator[Row]:
    """Every command as a person types it."""
    with tempfile.TemporaryDirectory(prefix="freehold-bench-") as folder:
        help_ = _units(["--help"], _environment(Path(folder)))
        yield Row("operator.cli.help", help_, UNIT, HELP, "typer 14, kopf's import alone 64", PEERS)
        yield from _of_a_cluster(Path(folder))
        yield from _of_many_documents(Path(folder))


def _environment(folder: Path, **more: str) -> dict[str, str]:
    """Where the modules of Python are compiled once, into ``folder``."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), **more}


def _of_a_cluster(folder: Path) -> Iterator[Row]:
    """With the example's cluster, Ready on the simulated cloud."""
    state = folder / "state"
    env = _environment(folder, FREEHOLD_STATE=str(state))
    with _serving(state, env):
        subprocess.run([_FREEHOLD, "up", "-f", str(MANIFEST)], env=env, check=True, stdout=subprocess.DEVNULL)
        kube = ["--kubeconfig", str(state / "kubeconfig")]
        got, applied = _kubectl(["get", "ibmpowervsclusters", *kube]), _kubectl(["apply", "-f", str(MANIFEST), *kube])
        for name, command, target, peer in (
            ("get.served", ["get"], 13.0, got),
            ("tree.served", ["tree", NAME], 12.0, ""),
            ("plan.served", ["plan", "-f", str(MANIFEST)], 36.0, ""),
            ("up.unchanged", ["up", "-f", str(MANIFEST)], 43.0, applied),
        ):
            yield Row(f"operator.cli.{name}", _units(command, env), UNIT, target, peer, SOURCE)


def _of_many_documents(folder: Path) -> Iterator[Row]:
    """New ones and known ones, in one file, to a server that runs already, beside parsing the file with libyaml."""
    state, manifest = folder / "many", folder / "many.yaml"
    env = _environment(folder, FREEHOLD_STATE=str(state))
    parsing = f"import yaml; list(yaml.load_all(open({str(manifest)!r}), Loader=yaml.CSafeLoader))"
    command = [_FREEHOLD, "up", "-f", str(manifest)]
    took = []
    with _serving(state, env):
        for turn in range(MANY_TRIES):
            manifest.write_text("---\n".join(_document(turn, number) for number in range(DOCUMENTS)))
            took.append((_cpu([sys.executable, "-c", parsing], env), _cpu(command, env), _cpu(command, env)))
    parsed, new, known = (min(column) for column in zip(*took, strict=True))
    unit, source = "× parsing the file with libyaml", f"target of this project; {DOCUMENTS} ConfigMaps in one file"
    yield Row("operator.cli.up.many", round(new / parsed, 1), unit, 4.0, "", source)
    yield Row("operator.cli.up.many.unchanged", round(known / parsed, 1), unit, 4.0, "", source)


def _document(turn: int, number: int) -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{turn}-{number}\n"
        f"  labels: {{app: a{number % 7}}}\n"
        f"data:\n  mode: fast\n  replicas: '{number}'\n  motto: what is written once is kept\n"
    )


@contextmanager
def _serving(state: Path, env: Mapping[str, str]) -> Iterator[None]:
    command = [_FREEHOLD, "serve", "--simulate", "--speed", "3000"]
    with subprocess.Popen(command, env=dict(env), stdout=subprocess.DEVNULL) as process:
        try:
            while not (state / "server.lock").exists() or not (state / "server.lock").read_text():
                if process.poll() is not None:
                    raise RuntimeError(f"freehold serve ended with code {process.returncode}")
                time.sleep(0.1)
            yield
        finally:
            process.terminate()


def _kubectl(arguments: Sequence[str]) -> str:
    """What kubectl costs for the same, in the same unit; empty where there is none."""
    program = shutil.which("kubectl")
    return f"kubectl {_ratio([program, *arguments])}" if program else ""


def _units(arguments: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    return _ratio([_FREEHOLD, *arguments], env)


def _ratio(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """Best of several, turn by turn, so that a busy moment strikes both alike; the first one compiles."""
    took = [(_cpu([sys.executable, "-c", "pass"], env), _cpu(command, env)) for _ in range(TRIES)]
    nothing, something = (min(column) for column in zip(*took, strict=True))
    return float(round(something / nothing, 1))


def _cpu(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """The CPU-seconds of a command that must succeed, and of what it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
