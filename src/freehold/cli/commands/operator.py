"""``freehold operator``: the operator alone, beside an API server that is there already."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.api.feature_gates import FeatureGates
from freehold.api.served import CLOUD_METADATA
from freehold.cli.errors import CliError
from freehold.cli.local.credentials import access_of
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.live_page import build_page, serve_cluster_page
from freehold.cli.local.log_file import log_to_stderr
from freehold.cli.local.memory import collected_seldom, use_few_arenas
from freehold.cli.local.process_pages import Onlookers, serve_onlookers
from freehold.cli.local.simulator import clock_of, limits_of
from freehold.cli.local.webhook import webhook_of
from freehold.cli.output.terminal import say
from freehold.collection.selector import Selector
from freehold.providers.registry import PROVIDERS, Kinds
from freehold.tags.policy.configuration import Configuration

if TYPE_CHECKING:
    from freehold.controllers.app import Operator
    from freehold.controllers.logs import LogOptions
    from freehold.controllers.observers import Observers
    from freehold.controllers.settings import Settings

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class OperatorOptions:
    """The options of the command, by the names that click gives them."""

    kubeconfig: str
    cluster_api: str
    namespace: str
    keys_namespace: str
    simulator: str
    workers: int
    audit: Path | None
    feature_gates: FeatureGates
    gc_selector: Selector | None
    metadata: Configuration
    metrics_address: tuple[str, int] | None
    webhook_address: tuple[str, int] | None
    webhook_certificates: Path | None
    health_address: tuple[str, int] | None
    page_address: tuple[str, int] | None
    leader_elect: bool | None
    shards: int
    log: LogOptions
    providers: tuple[str, ...]
    watch_filter: str


def run(options: OperatorOptions) -> None:
    """Run the command until it is told to stop (SIGTERM, Ctrl-C). Raises CliError."""
    log_to_stderr(options.log)
    use_few_arenas()
    try:
        with serve_onlookers(options.metrics_address, options.health_address) as onlookers, collected_seldom():
            run_to_end(_operate(options, onlookers))
    except KeyboardInterrupt:
        say("stopped; whoever starts next goes on")


async def _operate(options: OperatorOptions, onlookers: Onlookers) -> None:
    from freehold.controllers.app import Operator
    from freehold.controllers.leadership.interface import LeadershipLost
    from freehold.controllers.peers import ConflictingProvider
    from freehold.providers.access.audit import AuditInUse

    settings = await _build_settings(options, onlookers.observers)
    if not options.simulator:
        _tell_missing(settings.kinds)
    kinds = ", ".join([*(served.kind for served in settings.kinds.served), CLOUD_METADATA.kind])
    labelled = f", with label {settings.watch_filter.selector}" if options.watch_filter else ""
    say(f"serving {kinds} objects of {settings.kube.server}, namespace {options.namespace or '(all)'}{labelled}")
    beating = asyncio.create_task(onlookers.heartbeat.run())
    try:
        async with _page_of(options, settings) as (observed, attach):
            operator = Operator(observed)
            onlookers.watch(operator)
            attach(operator)
            with webhook_of(options.webhook_address, options.webhook_certificates, observed, operator.leads_all):
                await operator.run()
    except (ConflictingProvider, AuditInUse, LeadershipLost) as problem:
        raise CliError(str(problem)) from problem
    finally:
        beating.cancel()


@asynccontextmanager
async def _page_of(
    options: OperatorOptions, settings: Settings
) -> AsyncIterator[tuple[Settings, Callable[[Operator], None]]]:
    """Serve the live page where an address is given. Yield the settings of an operator that it shows."""
    if options.page_address is None:
        yield settings, lambda operator: None
        return
    audit = () if options.audit is None else (options.audit,)
    page = build_page(settings, audit, simulated=bool(options.simulator))
    async with serve_cluster_page(options.page_address, page, settings.kube):
        yield page.look_on(settings), page.attach


async def _build_settings(options: OperatorOptions, onlookers: Observers) -> Settings:
    from freehold.controllers.settings import RingSecret, Settings
    from freehold.controllers.watch_filter import WatchFilter
    from freehold.engine.clock import SystemClock
    from freehold.kube.config import load, read_pod_namespace

    kinds = Kinds(tuple(each for each in PROVIDERS if each.name in options.providers))
    names = {each.name for each in kinds.providers}
    clock = await clock_of(options.simulator) if options.simulator else SystemClock()
    if options.shards > 1 and options.leader_elect is False:
        raise CliError("--shards needs --leader-elect: each shard is served by the process that holds its Lease")
    pod_namespace = read_pod_namespace(options.kubeconfig)
    return Settings(
        kube=load(kubeconfig=options.kubeconfig),
        access={name: each for name, each in access_of(options.simulator).items() if name in names},
        cluster_api=options.cluster_api,
        namespace=options.namespace or None,
        workers=options.workers,
        clock=clock,
        new_limits=lambda: limits_of(clock, options.simulator),
        audit=options.audit,
        gates=options.feature_gates,
        gc_selector=options.gc_selector,
        observers=onlookers,
        metadata=options.metadata,
        keys=RingSecret(options.keys_namespace or pod_namespace or RingSecret().namespace),
        kinds=kinds,
        watch_filter=WatchFilter(options.watch_filter),
        leader_elect=bool(pod_namespace or options.shards > 1)
        if options.leader_elect is None
        else options.leader_elect,
        shards=options.shards,
    )


def _tell_missing(kinds: Kinds) -> None:
    """Warn of missing credentials. It starts without: one cloud is no reason to leave the objects of another alone."""
    for provider in kinds.providers:
        if not provider.has_credentials(os.environ):
            _LOG.warning("%s", provider.without)
