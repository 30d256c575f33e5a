"""Where a command goes: a kubeconfig, or a state directory and how it is to be served. It imports little."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates, unlike_defaults
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.state_directory import CloudChoice, StateDirectory, default_path

if TYPE_CHECKING:
    from freehold.collection.selector import Selector
    from freehold.tagging.configuration import Configuration

SPEED = 30.0
"""Simulated seconds in a real one, where nothing else is asked for."""


@dataclass(frozen=True)
class ServeOptions:
    """What is to be served. ``operator`` False serves the objects alone, to be read.

    ``simulator`` is the URL of a simulated cloud that runs already; else one is started where the state
    is bound to it. ``install`` False leaves the stored CRDs as they are: enough to read by, and quicker.
    ``settings``: a file for the simulated cloud that is started. ``deep_every`` shortens the pause between deep passes
    (seconds of domain time). ``gates``: the features that are on. ``gc_selector``: the clusters that are collected,
    None for all. ``metadata``: of the metadata controller, None for its defaults. ``metrics``: host and port to serve
    them on. ``waits``: the operator that this process has begins to work when it is told to, because what it would heal
    or create must be decided on first.
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
    metadata: Configuration | None = None


@dataclass(frozen=True)
class Access:
    """How to get in: a kubeconfig, else the state directory served as wished.

    ``join``: only where somebody else serves it, with an operator, and however long that takes. Of the operator in the
    cluster of a kubeconfig: the namespace of its key ring, empty for the usual one (its simulated cloud: ``options``).
    """

    state: StateDirectory | None
    options: ServeOptions
    kubeconfig: str = ""
    join: bool = False
    keys_namespace: str = ""


def access(
    state: Path | None,
    *,
    kubeconfig: str = "",
    operator: bool = True,
    install: bool = True,
    simulate: bool = False,
    speed: float = SPEED,
    gates: FeatureGates = DEFAULT_GATES,
    gc_selector: Selector | None = None,
    settings: Path | None = None,
    simulator: str = "",
    keys_namespace: str = "",
    log: bool = True,
) -> Access:
    """Where a command goes. Raises CliError when the state directory cannot be used, or both ways were given.

    From now on the log goes to the state directory, unless ``log`` is False. ``operator``: one is to act, by ``gates``
    where this command starts it; a plan is made here, and is told by which gates the operator of a cluster acts.
    """
    if kubeconfig:
        if simulate or settings:
            raise CliError(
                "--simulate and --kubeconfig exclude each other: the operator in the cluster has its own cloud",
                code=MISUSED,
            )
        if unlike_defaults(gates) and operator:
            raise CliError(
                "--feature-gates and --kubeconfig exclude each other: the operator in the cluster has its own gates",
                code=MISUSED,
            )
        if gc_selector is not None and operator:
            raise CliError(
                "--gc-selector and --kubeconfig exclude each other: the operator in the cluster has its own",
                code=MISUSED,
            )
        options = ServeOptions(operator=operator, simulator=simulator, gates=gates, gc_selector=gc_selector)
        return Access(None, options, kubeconfig, keys_namespace=keys_namespace)
    if simulator or keys_namespace:
        raise CliError(
            "--simulator and --keys-namespace go with --kubeconfig: a state directory has a cloud and a key ring of "
            "its own",
            code=MISUSED,
        )
    directory = StateDirectory.open(state or default_path())
    if directory.login.exists():
        from freehold.cli.logins import use

        use(directory)
    if log:
        from freehold.cli.logs import log_to

        log_to(directory.log)
    options = ServeOptions(
        operator=operator, install=install, simulate=simulate, speed=speed, gates=gates, gc_selector=gc_selector,
        settings=settings,
    )  # fmt: skip
    return Access(directory, options)


def refuse_settings(state: StateDirectory, options: ServeOptions) -> None:
    """Raises CliError where settings are given and no simulated cloud is started."""
    if options.settings is None:
        return
    if options.simulator:
        raise CliError("--simulate-settings is for a simulated cloud that this command starts, not for --simulator URL")
    if state.choose(options.simulate) is CloudChoice.REAL:
        raise CliError("--simulate-settings is for the simulated cloud: add --simulate")
