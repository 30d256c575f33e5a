"""The commands that serve, and those that show what was done.

Only click and the standard library here (see ``main``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from freehold.cli.commands import options


def _metadata(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give the command ``metadata``, the Configuration of the metadata controller."""

    @functools.wraps(command)
    def run_configured(
        *given: Any, sync_period: float, approve_above: int, ignore_tag_keys: str, ignore_tag_prefixes: str, **more: Any
    ) -> Any:
        from freehold.tags.policy.configuration import Configuration
        from freehold.tags.policy.protected import IgnoreList

        ignored = IgnoreList(frozenset(_words(ignore_tag_keys)), tuple(_words(ignore_tag_prefixes)))
        return command(*given, metadata=Configuration(sync_period, approve_above, ignored), **more)

    for option in _OPTIONS:
        run_configured = option(run_configured)
    return run_configured


def _period(context: click.Context, parameter: click.Parameter, value: str) -> float:
    from freehold.tags.policy.sync_period import parse_sync_period

    seconds = parse_sync_period(value)
    if not isinstance(seconds, float):
        raise click.BadParameter(seconds.message)
    return seconds


def _words(text: str) -> list[str]:
    return [each for each in (part.strip() for part in text.split(",")) if each]


_OPTIONS = (
    click.option(
        "--ignore-tag-prefixes", default="openshift.io/", show_default=True, metavar="PREFIX,…",
        help="Tag keys that begin with one of these are in no operation.",
    ),
    click.option(
        "--ignore-tag-keys", default="", metavar="KEY,…", callback=options.refuse_empty_text,
        help="Tag keys that no metadata object touches.",
    ),
    click.option(
        "--approve-above", type=click.IntRange(min=0), default=100, show_default=True, metavar="RESOURCES",
        help="A plan that overwrites foreign tag values, or removes tags, on more of them waits for an approval.",
    ),
    click.option(
        "--sync-period", default="10m", show_default=True, metavar="DURATION", callback=_period,
        help="How often tags are looked at where an object does not say; at least 30s.",
    ),
)  # fmt: skip


@click.command(short_help="Run the embedded Kubernetes API and the operator.")
@options.simulate
@options.simulate_settings
@click.option(
    "--simulator", default="", type=options.BaseUrl(), metavar="URL", help="Use a simulated cloud that runs already."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the API on 127.0.0.1 [default: a free one]."
)
@click.option(
    "--deep-every", type=click.FloatRange(min=1), metavar="SECONDS", help="Pause between deep passes (domain time)."
)
@options.feature_gates
@options.gc_selector
@_metadata
@click.option("--until-stdin-closes", is_flag=True, hidden=True)
@options.metrics_address
@options.page_port
@options.log
@options.state
def serve(**given: Any) -> None:
    """Run the embedded Kubernetes API and the operator until told to stop."""
    from freehold.cli.commands import serve as command

    command.run(**given)


@click.command(name="operator", short_help="Run the operator against a cluster that is there already.")
@click.option(
    "--kubeconfig",
    default="",
    type=click.Path(),
    metavar="FILE",
    callback=options.refuse_empty_text,
    help="[default: KUBECONFIG, the pod's own, ~/.kube/config]",
)
@click.option(
    "--cluster-api",
    type=click.Choice(["auto", "required", "off"]),
    default="auto",
    show_default=True,
    help="Whether an object waits for the Cluster that owns it: where Cluster API is installed, always, never.",
)
@click.option(
    "-n",
    "--namespace",
    default="",
    callback=options.refuse_empty_text,
    help="Serve this namespace only [default: all].",
)
@click.option(
    "--keys-namespace",
    default="",
    callback=options.refuse_empty_text,
    help="Where the key ring is, Secret freehold-keys [default: the pod's own namespace, else freehold-system].",
)
@click.option(
    "--simulator", default="", type=options.BaseUrl(), metavar="URL", help="Simulated clouds instead of the real ones."
)
@options.feature_gates
@options.gc_selector
@_metadata
@click.option("--workers", type=click.IntRange(1, 256), default=80, show_default=True, help="Objects at a time.")
@click.option("--audit", type=options.NonEmptyPath(path_type=Path), help="Append every mutating call to this file.")
@options.metrics_address
@options.page_address
@options.webhook
@options.health_address
@click.option(
    "--leader-elect/--no-leader-elect",
    default=None,
    help="Of several operators only one acts at a time, by a Lease [default: in a pod].",
)
@click.option(
    "--shards",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Divide the objects into so many parts, each served by one of several operators.",
)
@options.log
@options.providers
@options.watch_filter
def operator_(**given: Any) -> None:
    """Run the operator alone, with the cluster of a kubeconfig, until told to stop. Apply deploy/crds first."""
    from freehold.cli.commands import operator as command

    command.run(command.OperatorOptions(**given))


@click.command(short_help="Show the log of the operator of a state directory.")
@click.option("-f", "--follow", is_flag=True, help="Go on showing what is added, until Ctrl-C.")
@options.state
@options.kubeconfig
def logs(**given: Any) -> None:
    """Show the log of a state directory: of its operator, and of each command that worked on it.

    FREEHOLD_DEBUG=1 makes serve, up and down log each look at the cloud, and what it is planned for.
    """
    from freehold.cli.commands import logs as command

    command.run(**given)


@click.command(short_help="Show what was changed in the cloud, or check the log of it.")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=options.NonEmptyPath(path_type=Path, dir_okay=False))
@click.option("--verify", is_flag=True, help="Check that no line was changed, taken out or added.")
@options.state
def audit(**given: Any) -> None:
    """Show the audit log: each request that changed the cloud, with its outcome. FILEs are logs, the oldest first.

    Without a FILE: the log of the state directory, and those that were rotated away from it.
    """
    from freehold.cli.commands import audit as command

    command.run(**given)


@click.command(short_help="Tell the main job as a story, checking every step.")
@click.option(
    "-f",
    "--filename",
    metavar="FILE",
    help="Manifest of the first act, with one cluster of its kind [default: the upstream example].",
)
@click.option(
    "--speed",
    type=click.FloatRange(min=1, max=1000),
    default=30.0,
    show_default=True,
    help="Simulated seconds in a real one.",
)
@options.simulate_settings
@click.option(
    "--keep", type=options.NonEmptyPath(path_type=Path), help="Keep the state in this directory, to look at afterwards."
)
def demo(**given: Any) -> None:
    """Tell the main job as a story on the simulated clouds, checking every step."""
    from freehold.demo import story

    story.run(**given)


COMMANDS = (serve, operator_, logs, audit, demo)
