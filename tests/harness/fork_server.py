"""The program behind `harness.forks`: ``python fork_server.py SOCKET``. It imports once what our programs import.

Each message is a program with its descriptors, the three standard streams first, and becomes a process that runs it.
The server ends when the socket is closed.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import runpy
import socket
import sys
import termios
from importlib import import_module
from pathlib import Path
from typing import Any

from sdk_costs import spare

PRELOADED = (
    "cel",
    "freehold.cli.commands.cluster_commands",
    "freehold.cli.commands.down",
    "freehold.cli.commands.get",
    "freehold.cli.commands.operator",
    "freehold.cli.commands.serve",
    "freehold.cli.commands.up",
    "freehold.controllers.app",
    "freehold.controllers.plan.planner",
    "freehold.page.live",
    "freehold.providers.aws.accounts",
    "freehold.providers.ibm.accounts",
    "freehold.providers.ibm.powervs.adapter",
    "freehold_apiserver.server",
    "freehold_sim.aws.cloud",
    "freehold_sim.ibm.cloud",
    "freehold_sim.server",
    "ibm_cloud_networking_services",
    "ibm_platform_services",
    "ibm_vpc",
    "jsonschema_rs",
    "rich.table",
)


def wait_for_a_program(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return in each new process what it is to run; never in the server.

    A process between the two ends at once, so that the new process is nobody's child: it becomes the asker's.
    """
    while True:
        message, given, _, _ = socket.recv_fds(asked, 1 << 20, 16)
        if not message:
            os._exit(0)
        adopted, adopt = os.pipe()
        between = os.fork()
        if between == 0:
            program = os.fork()
            if program == 0:
                asked.close()
                os.close(adopt)
                os.read(adopted, 1)  # returns when the server closes its end: only then is our parent the asker
                os.close(adopted)
                return json.loads(message), given
            asked.send(str(program).encode())
            os._exit(0)
        for each in (adopted, *given):
            os.close(each)
        os.waitpid(between, 0)
        os.close(adopt)
        asked.send(b"yours")


def become(program: dict[str, Any], given: list[int]) -> None:
    """Set up this process as a fresh one, and run the program; it ends as the program ends."""
    numbers = program["descriptors"]
    out_of_the_way = [fcntl.fcntl(each, fcntl.F_DUPFD, max(numbers) + 1) for each in given]
    for each in given:
        os.close(each)
    for each, number in zip(out_of_the_way, numbers, strict=True):
        os.dup2(each, number)
        os.close(each)
    if program["session"]:
        os.setsid()
        for each in filter(os.isatty, range(3)):  # it asks on /dev/tty: the terminal of its session
            fcntl.ioctl(each, termios.TIOCSCTTY, 0)
    if os.isatty(1):
        sys.stdout.reconfigure(line_buffering=True)  # as Python sets it up on a terminal
    os.chdir(program["folder"])
    os.environ.clear()
    os.environ.update(program["environment"])
    first, *rest = program["arguments"]
    if first == "-m":
        sys.argv, sys.path[0] = rest, program["folder"]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = [first, *rest], str(Path(first).parent)
        runpy.run_path(first, run_name="__main__")


def read_models() -> None:
    """Read what AWS publishes of its services: 0.2 CPU-seconds of each program that calls them or simulates them."""
    from freehold.providers.aws.kind_facts import SERVICES
    from freehold.providers.aws.service_models import model_loader
    from freehold_sim.aws.models import service

    for name in SERVICES:
        model_loader().load_service_model(name, "service-2")
        service(name)


def compile_crds() -> None:
    """Compile the schemas of our kinds: 0.1 CPU-seconds of each program that serves them."""
    from freehold.providers.crds import PLACEHOLDERS, build_crds
    from freehold_apiserver.crds import crd_errors

    for crd in (*build_crds(), *(each.build_crd() for each in PLACEHOLDERS)):
        crd_errors(crd)


if __name__ == "__main__":
    gc.disable()  # nearly all of it stays: to look for garbage took a quarter of the start
    for name in PRELOADED:
        import_module(name)
    spare(setattr)
    read_models()
    compile_crds()
    gc.freeze()  # collecting garbage would copy all pages that a fork shares with the server
    gc.enable()
    become(*wait_for_a_program(socket.socket(fileno=int(sys.argv[1]))))
