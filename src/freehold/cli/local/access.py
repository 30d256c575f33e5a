"""The API server of a command: that of a kubeconfig, or of a state directory as it is served. It imports little."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates, find_changed_gates
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local.state_directory import CloudChoice, StateDirectory, default_path

if TYPE_CHECKING:
    from freehold.collection.selector import Selector
    from freehold.tags.policy.configuration import Configuration

SPEED = 30.0
"""Simulated seconds in a real one, where nothing else is asked for."""


@dataclass(frozen=True)
class ServeOptions:
    """The server that is wanted. ``operator`` False serves the objects alone, to be read.

    ``simulator`` is the URL of a simulated cloud that runs already; else one is started where the state
    is bound to it. ``install`` False leaves the stored CRDs as they are: enough to read by, and quicker.
    ``settings``: a file for the simulated cloud that is started. ``deep_every`` shortens the pause between deep passes
    (seconds of domain time). ``gates``: the features that are on. ``gc_selector``: the clusters that are collected,
    None for all. ``metadata``: of the metadata controller, None for its defaults. ``metrics``: host and port to serve
    them on. ``page``: the port of the live page, 0 for any, None for no page. ``waits``: the operator that this process
    has begins to work when it is told to, because what it would heal or create must be decided on first.
    """

    operator: bool = True
    waits: bool = False
    install: bool = True
    simulate: bool = False
    speed: float = SPEED
    simulator: str = ""
    port: int = 0
    deep_every: float | None = None
    gates: FeatureGates = DEFAULT_GATES
    gc_selector: Selector | None = None
    settings: Path | None = None
    metrics: tuple[str, int] | None = None
    page: int | None = None
    metadata: Configuration | None = None


@dataclass(frozen=True)
class Access:
    """The way to an API server: a kubeconfig, else the state directory served as wished.

    ``join``: only where somebody else serves it, with an operator. Of the operator in the
    cluster of a kubeconfig: the namespace of its key ring, empty for the usual one (its simulated cloud: ``options``).
    """

    state: StateDirectory | None
    options: ServeOptions
    kubeconfig: str = ""
    join: bool = False
    keys_namespace: str = ""


class Where(TypedDict, total=False):
    """The options that say whose objects are meant, and which clouds, under the names that commands get them by."""

    state: Path | None
    kubeconfig: str
    simulate: bool
    speed: float
    simulate_settings: Path | None
    feature_gates: FeatureGates
    gc_selector: Selector | None
    simulator: str
    keys_namespace: str


def access(*, operator: bool = True, install: bool = True, log: bool = True, **where: Unpack[Where]) -> Access:
    """Find the way to the API server. Raises CliError when the state directory cannot be used, or two ways were given.

    From now on the log goes to the state directory, unless ``log`` is False. ``operator``: one is to act, by the gates
    where this command starts it; a plan is made here, and is told by which gates the operator of a cluster acts.
    """
    kubeconfig, simulator = where.get("kubeconfig", ""), where.get("simulator", "")
    keys_namespace = where.get("keys_namespace", "")
    options = ServeOptions(
        operator=operator,
        install=install,
        simulate=where.get("simulate", False),
        speed=where.get("speed", SPEED),
        gates=where.get("feature_gates", DEFAULT_GATES),
        gc_selector=where.get("gc_selector"),
        settings=where.get("simulate_settings"),
    )
    if kubeconfig:
        _refuse_for_cluster(options)
        options = replace(options, install=True, simulator=simulator)
        return Access(None, options, kubeconfig, keys_namespace=keys_namespace)
    if simulator or keys_namespace:
        raise CliError(
            "--simulator and --keys-namespace go with --kubeconfig: a state directory has a cloud and a key ring of "
            "its own",
            code=MISUSED,
        )
    directory = StateDirectory.open(where.get("state") or default_path())
    if directory.login.exists():
        from freehold.cli.local.logins import use

        use(directory)
    if log:
        from freehold.cli.local.log_file import log_to

        log_to(directory.log)
    return Access(directory, options)


def _refuse_for_cluster(options: ServeOptions) -> None:
    """Raise CliError for what the operator in a cluster has itself."""
    if options.simulate or options.settings:
        raise CliError(
            "--simulate and --kubeconfig exclude each other: the operator in the cluster has its own cloud",
            code=MISUSED,
        )
    if find_changed_gates(options.gates) and options.operator:
        raise CliError(
            "--feature-gates and --kubeconfig exclude each other: the operator in the cluster has its own gates",
            code=MISUSED,
        )
    if options.gc_selector is not None and options.operator:
        raise CliError(
            "--gc-selector and --kubeconfig exclude each other: the operator in the cluster has its own",
            code=MISUSED,
        )


def refuse_settings(state: StateDirectory, options: ServeOptions) -> None:
    """Raise CliError where settings are given and no simulated cloud is started."""
    if options.settings is None:
        return
    if options.simulator:
        raise CliError("--simulate-settings is for a simulated cloud that this command starts, not for --simulator URL")
    if state.choose(options.simulate) is CloudChoice.REAL:
        raise CliError("--simulate-settings is for the simulated cloud: add --simulate")
