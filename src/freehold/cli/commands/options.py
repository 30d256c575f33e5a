"""Options and arguments that several commands share. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from freehold.cli.commands import completions
from freehold.cli.output import hints

F = TypeVar("F", bound=Callable[..., Any])

_EMPTY = "it is empty (an unset variable?)"


def refuse_empty_text(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty text, which is never a default: `--kubeconfig "$UNSET"` must not go to the laptop's own state."""
    if "" in (value if isinstance(value, tuple) else (value,)):
        source = context.get_parameter_source(parameter.name or "")
        if source is not click.core.ParameterSource.DEFAULT:
            raise click.BadParameter(_EMPTY)
    return value


def where(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Note an option that says whose objects are meant: commands that messages name get it too."""
    value = refuse_empty_text(context, parameter, value)
    if value:
        hints.remember(context, parameter.opts[-1], str(value))
    return value


class NonEmptyPath(click.Path):
    """A path that is not empty (which would be the working directory)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail(_EMPTY, param, ctx)
        return super().convert(value, param, ctx)


class BaseUrl(click.types.StringParamType):
    """A URL below which others are: a slash at its end is none of theirs."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(value, param, ctx).rstrip("/")


def filename(what: str, *, required: bool = False) -> Callable[[F], F]:
    return click.option(
        "-f",
        "--filename",
        multiple=True,
        required=required,
        type=click.Path(),
        metavar="FILE",
        callback=refuse_empty_text,
        help=f"{what}: a file, a directory of *.yaml, *.yml and *.json, or - for standard input; may be repeated.",
    )


def words(metavar: str, *, required: bool = False) -> Callable[[F], F]:
    """Take names of objects, as ``freehold.cli.objects.naming`` reads them: NAME, KIND NAME or KIND/NAME."""
    return click.argument(
        "words",
        metavar=metavar,
        nargs=-1,
        required=required,
        callback=refuse_empty_text,
        shell_complete=completions.names,
    )


def yes(words: str) -> Callable[[F], F]:
    return click.option("--yes", is_flag=True, help=words)


def _state(context: click.Context, parameter: click.Parameter, value: Path | None) -> Any:
    """Note the state directory, and where kubectl finds the kubeconfig of its server."""

    def kubeconfig() -> str:
        from freehold.cli.local.state_directory import StateDirectory, default_path

        return str(StateDirectory(value or default_path()).kubeconfig)

    hints.remember_kubeconfig(context, kubeconfig)
    return where(context, parameter, value)


def state(function: F) -> F:
    return click.option(
        "--state",
        type=NonEmptyPath(path_type=Path),
        callback=_state,
        help="State directory [default: $FREEHOLD_STATE or the XDG state directory].",
    )(function)


def kubeconfig(function: F) -> F:
    return click.option(
        "--kubeconfig",
        default="",
        type=click.Path(),
        metavar="FILE",
        callback=where,
        help="Use this cluster, and the operator in it, instead of the embedded API.",
    )(function)


def of_cluster(function: F) -> F:
    """Take what a command that asks the cloud must know of the operator in a cluster: its cloud and its key ring."""
    function = click.option(
        "--keys-namespace", default="", callback=where,
        help="With --kubeconfig: where the operator's key ring is [default: freehold-system].",
    )(function)  # fmt: skip
    return click.option(
        "--simulator", default="", type=BaseUrl(), metavar="URL", callback=where,
        help="With --kubeconfig: the simulated cloud that the operator there uses.",
    )(kubeconfig(function))  # fmt: skip


def output(function: F) -> F:
    return formats("table", "json", "yaml")(function)


def formats(*words: str) -> Callable[[F], F]:
    """Take one of these, the first one by default."""
    return click.option("-o", "--output", type=click.Choice(words), default=words[0], show_default=True, help="Format.")


def selector(function: F) -> F:
    return click.option(
        "-l", "--selector", default="", callback=refuse_empty_text, help="Only objects with these labels: KEY=VALUE,…"
    )(function)


def namespace(function: F) -> F:
    return click.option(
        "-n", "--namespace", default="", callback=refuse_empty_text, shell_complete=completions.namespaces,
        help="Namespace [default: the context's, else default].",
    )(function)  # fmt: skip


def regions(function: F) -> F:
    return click.option(
        "--region", "regions", multiple=True, metavar="REGION", callback=refuse_empty_text,
        help="A region to look through, beside those that are known here; may be repeated.",
    )(function)  # fmt: skip


def simulate(function: F) -> F:
    function = click.option(
        "--speed", type=click.FloatRange(min=0.1, max=10_000), default=30.0, show_default=True,
        help="Simulated seconds in a real one.",
    )(function)  # fmt: skip
    return click.option("--simulate", is_flag=True, help="Use the simulated clouds; needs no account.")(function)


def force_conflicts(function: F) -> F:
    return click.option(
        "--force-conflicts", is_flag=True,
        help="Take over fields that others (kubectl, Argo CD, …) have set to other values.",
    )(function)  # fmt: skip


def simulate_settings(function: F) -> F:
    return click.option(
        "--simulate-settings", type=NonEmptyPath(path_type=Path), metavar="FILE",
        help="Settings of the simulated clouds (quotas, delays, …) as JSON; kept with the state, except by plan.",
    )(function)  # fmt: skip


def feature_gates(function: F) -> F:
    """``NAME=true,…``: the value is a set of gates."""
    return click.option(
        "--feature-gates",
        default="",
        metavar="NAME=true,…",
        callback=_gates,
        help="Turn features on or off: BootstrapFormatIgnition (acts on the field of a cluster for object storage, "
        "spec.cosInstance or spec.s3Bucket; off by default), ExternalResourceGC (deletes with a cluster what its "
        "workloads made; on by default), EKSEnableIAM (makes a role for each EKS cluster whose spec names none; off by "
        "default), EKSAllowAddRoles (attaches spec.roleAdditionalPolicies to that role; off by default).",
    )(function)


def _gates(context: click.Context, parameter: click.Parameter, value: str) -> object:
    from freehold.api.feature_gates import list_notices, parse
    from freehold.cli.output.terminal import warn

    try:
        gates = parse(value)
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from problem
    for notice in list_notices(gates):
        warn(notice)
    return gates


def gc_selector(function: F) -> F:
    """Take a selector; the value is None where all are selected."""
    return click.option(
        "--gc-selector", default="", metavar="KEY=VALUE,…", callback=_selector,
        help="Collect what workloads made only of clusters with these labels, or opted in by freehold gc enable "
        "[default: of all].",
    )(function)  # fmt: skip


def _selector(context: click.Context, parameter: click.Parameter, value: str) -> object:
    from freehold.collection.selector import parse

    try:
        return parse(refuse_empty_text(context, parameter, value))
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from problem


def metrics_address(function: F) -> F:
    return click.option(
        "--metrics-address", default="", metavar="HOST:PORT", callback=_address,
        help="Serve metrics for Prometheus on http://HOST:PORT/metrics, to whoever can reach it [default: off].",
    )(function)  # fmt: skip


def page_address(function: F) -> F:
    return click.option(
        "--page-address", default="", metavar="HOST:PORT", callback=_address,
        help="Serve the live page on http://HOST:PORT/, to whoever shows a token of the cluster [default: off].",
    )(function)  # fmt: skip


def page_port(function: F) -> F:
    port = click.option(
        "--page-port", type=click.IntRange(0, 65535), default=0,
        help="Port of the live page on 127.0.0.1 [default: that of the last time, else a free one].",
    )  # fmt: skip
    switch = click.option("--page/--no-page", default=True, show_default=True, help="Serve the live page.")
    return port(switch(function))


def webhook(function: F) -> F:
    address = click.option(
        "--webhook-address", default="", metavar="HOST:PORT", callback=_address,
        help="Refuse wrong objects when they are applied: serve the admission webhook on HOST:PORT [default: off].",
    )  # fmt: skip
    certificates = click.option(
        "--webhook-certificates", type=NonEmptyPath(path_type=Path, file_okay=False), metavar="DIR",
        help="The webhook's tls.crt and tls.key, as cert-manager makes them [default: a CA of its own].",
    )  # fmt: skip
    return address(certificates(function))


def providers(function: F) -> F:
    return click.option(
        "--providers", default=None, metavar="NAME,…", callback=_providers,
        help="Serve the objects of these clouds only; the kinds of the others need not be installed [default: all].",
    )(function)  # fmt: skip


def _providers(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    from freehold.providers.registry import PROVIDERS

    known = sorted(each.name for each in PROVIDERS)
    if value is None:
        return tuple(known)
    given = tuple(each.strip() for each in refuse_empty_text(context, parameter, value).split(","))
    unknown = [each for each in given if each not in known]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is no provider; there are {', '.join(known)}")
    return given


def watch_filter(function: F) -> F:
    return click.option(
        "--watch-filter", default="", metavar="VALUE", callback=_watch_filter,
        help="Serve only objects with this value of the label cluster.x-k8s.io/watch-filter [default: all].",
    )(function)  # fmt: skip


def _watch_filter(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse what cannot be the value of a label: the API server would refuse each list."""
    from freehold.install.options import InstallOptions, InvalidInstallOption, check_options

    try:
        check_options(InstallOptions(watch_filter=refuse_empty_text(context, parameter, value)))
    except InvalidInstallOption as problem:
        raise click.BadParameter(str(problem)) from problem
    return value


def health_address(function: F) -> F:
    return click.option(
        "--health-address", default="", metavar="HOST:PORT", callback=_address,
        help="Serve /healthz and /readyz there; it may be the address of the metrics [default: off].",
    )(function)  # fmt: skip


def log(function: F) -> F:
    """``--log-level`` and ``--log-format``; the value ``log`` is LogOptions."""

    @functools.wraps(function)
    def run_with_log(*given: Any, log_level: str, log_format: str, **more: Any) -> Any:
        from freehold.controllers.logs import LogFormat, LogOptions

        return function(*given, log=LogOptions(log_level, LogFormat(log_format)), **more)

    found = click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="Form of a line of the log.",
    )(run_with_log)  # fmt: skip
    return click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="Least severity that is logged; debug tells each look and each call.",
    )(found)  # type: ignore[return-value]  # the wrapper takes what the function takes


def _address(context: click.Context, parameter: click.Parameter, value: Any) -> tuple[str, int] | None:
    """``[::1]:9090`` too."""
    host, _, port = refuse_empty_text(context, parameter, value).rpartition(":")
    if not value:
        return None
    if not host or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter("give HOST:PORT, for example 127.0.0.1:9090")
    return host.removeprefix("[").removesuffix("]"), int(port)


def timeout(function: F) -> F:
    return click.option(
        "--timeout", type=click.FloatRange(min=1), default=7200.0, show_default=True, metavar="SECONDS",
        help="Give up watching after this long; the work goes on with the next command.",
    )(function)  # fmt: skip
