"""``freehold serve``: the live server, until told to stop."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from shlex import quote

from freehold.api.feature_gates import FeatureGates
from freehold.cli.errors import CliError
from freehold.cli.local.access import ServeOptions
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.log_file import log_to
from freehold.cli.local.logins import use
from freehold.cli.local.memory import collected_seldom, use_few_arenas
from freehold.cli.local.server_process import live_server
from freehold.cli.local.state_directory import CloudChoice, Lock, StateDirectory, default_path
from freehold.cli.output.terminal import say, tell_at_once
from freehold.collection.selector import Selector
from freehold.controllers.logs import LogOptions
from freehold.providers.registry import PROVIDERS, REAL_CLOUDS, SERVED
from freehold.tags.policy.configuration import Configuration


def run(
    simulate: bool, speed: float, simulator: str, port: int, deep_every: float | None, until_stdin_closes: bool,
    state: Path | None, feature_gates: FeatureGates, gc_selector: Selector | None, simulate_settings: Path | None,
    metadata: Configuration, metrics_address: tuple[str, int] | None, page: bool, page_port: int,
    log: LogOptions,
) -> None:  # fmt: skip
    """Run the command until it is told to stop. Raises CliError."""
    directory = StateDirectory.open(state or default_path())
    tell_at_once(f"starting on the state in {directory.path}")
    use(directory)
    log_to(directory.log, log)
    options = ServeOptions(
        simulate=simulate,
        speed=speed,
        simulator=simulator,
        port=port,
        deep_every=deep_every,
        gates=feature_gates,
        gc_selector=gc_selector,
        settings=simulate_settings,
        metrics=metrics_address,
        page=page_port if page else None,
        metadata=metadata,
    )
    use_few_arenas()
    try:
        with collected_seldom():
            run_to_end(_serve(directory, options, until_stdin_closes))
    except KeyboardInterrupt:
        say("stopped; the state is kept, and the next command goes on")


async def _serve(directory: StateDirectory, options: ServeOptions, until_stdin_closes: bool) -> None:
    if until_stdin_closes:
        _stop_at_end_of_input()
    lock = Lock(directory.lock)
    if not lock.take():
        server = lock.read()
        who = f"process {server.pid} at {server.url}" if server else "another process"
        raise CliError(f"the state in {directory.path} is already served by {who}; use that one, or choose --state DIR")
    async with live_server(directory, lock, options) as running:
        clouds = "simulated clouds" if directory.cloud is CloudChoice.SIMULATED else REAL_CLOUDS
        say(f"serving {directory.path} on {running.server.url}, with {clouds}")
        say(f"  export KUBECONFIG={quote(str(directory.kubeconfig))}")
        say(f"  kubectl apply {' '.join(f'-f {provider.example}' for provider in PROVIDERS if provider.example)}")
        say(f"  kubectl get {','.join(each.plural for each in SERVED)}        (or: freehold get, freehold tree NAME)")
        if directory.cloud is CloudChoice.SIMULATED:
            for line in (line for provider in PROVIDERS for line in provider.other_clients(running.server.simulator)):
                say(f"  {line}")
            say("  times in statuses are the simulated clouds' own; ages of objects and events are real")
        if options.metrics is not None:
            say("  metrics on http://{}:{}/metrics".format(*options.metrics))
        if running.page:
            say(f"  page {running.page}")
        say(f"log {directory.log}, audit {directory.audit}; Ctrl-C stops")
        await running.failed
        raise CliError(f"the operator ended by itself; see {directory.log}")


def _stop_at_end_of_input() -> None:
    """End with the process that holds the other end of our standard input, however that one ends."""
    loop, task, descriptor = asyncio.get_running_loop(), asyncio.current_task(), sys.stdin.fileno()
    assert task is not None

    def read() -> None:
        if not os.read(descriptor, 4096):
            loop.remove_reader(descriptor)
            task.cancel()

    loop.add_reader(descriptor, read)
