"""Options and arguments that several commands share. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from freehold.cli import completing, hints

F = TypeVar("F", bound=Callable[..., Any])

_EMPTY = "it is empty (an unset variable?)"


def filled(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """An empty text is a mistake, never a default: `--kubeconfig "$UNSET"` must not go to the laptop's own state."""
    if "" in (value if isinstance(value, tuple) else (value,)):
        source = context.get_parameter_source(parameter.name or "")
        if source is not click.core.ParameterSource.DEFAULT:
            raise click.BadParameter(_EMPTY)
    return value


def where(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """An option that says whose objects are meant: commands that messages name get it too."""
    value = filled(context, parameter, value)
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
        callback=filled,
        help=f"{what}: a file, a directory of *.yaml, *.yml and *.json, or - for standard input; may be repeated.",
    )


def words(metavar: str, *, required: bool = False) -> Callable[[F], F]:
    """Names of objects, as ``freehold.cli.naming`` reads them: NAME, KIND NAME or KIND/NAME."""
    return click.argument(
        "words", metavar=metavar, nargs=-1, required=required, callback=filled, shell_complete=completing.names
    )


def yes(words: str) -> Callable[[F], F]:
    return click.option("--yes", is_flag=True, help=words)


def state(function: F) -> F:
    return click.option(
        "--state",
        type=NonEmptyPath(path_type=Path),
        callback=where,
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
    """What a command that itself asks the cloud must know of the operator in a cluster: its cloud and its key ring."""
    function = click.option(
        "--keys-namespace", default="", callback=where,
        help="With --kubeconfig: where the operator's key ring is [default: freehold-system].",
    )(function)  # fmt: skip
    return click.option(
        "--simulator", default="", type=BaseUrl(), metavar="URL", callback=where,
        help="With --kubeconfig: the simulated cloud that the operator there uses.",
    )(kubeconfig(function))  # fmt: skip


def output(function: F) -> F:
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["table", "json", "yaml"]),
        default="table",
        show_default=True,
        help="Format.",
    )(function)


class _GetOutput(click.ParamType[Any]):
    """The value of ``get -o``."""

    name = "format"
    _WORDS = ("table", "wide", "name", "json", "yaml")
    _JSONPATH = "jsonpath="

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from freehold.cli.formats import Format, Output

        if not isinstance(value, str):
            return value
        if value in self._WORDS:
            return Output(Format(value))
        if not value.startswith(self._JSONPATH):
            self.fail(f"{value!r} is none of {', '.join(self._WORDS)}, jsonpath=TEMPLATE", param, ctx)
        from freehold.cli.jsonpath import compile_template  # only a template needs it

        try:
            return Output(Format.JSONPATH, compile_template(value.removeprefix(self._JSONPATH)))
        except ValueError as problem:
            self.fail(str(problem), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(each) for each in (*self._WORDS, self._JSONPATH) if each.startswith(incomplete)]


def get_output(function: F) -> F:
    return click.option(
        "-o", "--output", type=_GetOutput(), default="table", show_default=True,
        metavar="FORMAT", help="table, wide, name, json, yaml, or jsonpath=TEMPLATE.",
    )(function)  # fmt: skip


def selector(function: F) -> F:
    return click.option(
        "-l", "--selector", default="", callback=filled, help="Only objects with these labels: KEY=VALUE,…"
    )(function)


def namespace(function: F) -> F:
    return click.option(
        "-n", "--namespace", default="", callback=filled, shell_complete=completing.namespaces,
        help="Namespace [default: the context's, else default].",
    )(function)  # fmt: skip


def regions(function: F) -> F:
    return click.option(
        "--region", "regions", multiple=True, metavar="REGION", callback=filled,
        help="A region of AWS to look through, beside those that are known here; may be repeated.",
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
        help="Turn features on or off: BootstrapFormatIgnition (acts on spec.cosInstance of an IBMPowerVSCluster and "
        "on spec.s3Bucket of an AWSCluster; off by default), ExternalResourceGC (deletes with an AWSCluster what its "
        "workloads made; on by default).",
    )(function)


def _gates(context: click.Context, parameter: click.Parameter, value: str) -> object:
    from freehold.api.feature_gates import notices, parse
    from freehold.cli.terminal import warn

    try:
        gates = parse(value)
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from problem
    for notice in notices(gates):
        warn(notice)
    return gates


def gc_selector(function: F) -> F:
    """The value is a selector, None where all are selected."""
    return click.option(
        "--gc-selector", default="", metavar="KEY=VALUE,…", callback=_selector,
        help="Collect what workloads made only of clusters with these labels, or opted in by freehold gc enable "
        "[default: of all].",
    )(function)  # fmt: skip


def _selector(context: click.Context, parameter: click.Parameter, value: str) -> object:
    from freehold.collection.selector import parse

    try:
        return parse(filled(context, parameter, value))
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from problem


def metrics_address(function: F) -> F:
    return click.option(
        "--metrics-address", default="", metavar="HOST:PORT", callback=_address,
        help="Serve metrics for Prometheus on http://HOST:PORT/metrics, to whoever can reach it [default: off].",
    )(function)  # fmt: skip


def _address(context: click.Context, parameter: click.Parameter, value: Any) -> tuple[str, int] | None:
    """``[::1]:9090`` too."""
    host, _, port = filled(context, parameter, value).rpartition(":")
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
