"""The commands of ``freehold gc``. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from freehold.cli import completing, options

F = TypeVar("F", bound=Callable[..., Any])


def _one_cluster(function: F) -> F:
    """Take the flags of ``clusterawsadm gc``, and a state directory."""
    function = click.option(
        "-n", "--namespace", default="default", show_default=True, callback=options.filled,
        shell_complete=completing.namespaces, help="Namespace of the cluster.",
    )(options.state(options.kubeconfig(function)))  # fmt: skip
    return click.option(
        "--cluster-name", required=True, metavar="NAME", callback=options.filled, shell_complete=completing.names,
        help="Name of the Cluster; without Cluster API, of the object itself.",
    )(function)  # fmt: skip


def _tasks(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str:
    """Read a comma-separated list in parts."""
    from freehold.collection.policy import unknown_tasks

    words = [word.strip() for part in value if part.strip() for word in part.split(",")]
    if problem := unknown_tasks(",".join(words)):
        raise click.BadParameter(problem)
    return ",".join(words)


@click.group(short_help="Say whether what workloads made in the cloud goes with their cluster.")
def gc() -> None:
    """Say for one cluster whether what its workloads made in the cloud, such as load balancers, is deleted with it.

    It holds from now on, also for a cluster that is being deleted already.
    """


@gc.command(name="enable", short_help="Collect it: also a cluster that is older than garbage collection.")
@_one_cluster
def gc_enable(**given: Any) -> None:
    """Collect what the workloads of a cluster made when it is deleted, whatever labels or age it has."""
    from freehold.cli import gc as command

    command.enable(**given)


@gc.command(name="disable", short_help="Leave it: what workloads made stays.")
@_one_cluster
def gc_disable(**given: Any) -> None:
    """Leave what the workloads of a cluster made when it is deleted. It may hold the network of the cluster."""
    from freehold.cli import gc as command

    command.disable(**given)


@gc.command(name="configure", short_help="Say which kinds of resources are collected.")
@click.option(
    "--gc-task", "tasks", multiple=True, metavar="TASK,…", callback=_tasks,
    help="load-balancer, target-group, security-group, network-interface or volume; a list, or repeated "
    "[default: all but volume].",
)  # fmt: skip
@_one_cluster
def gc_configure(**given: Any) -> None:
    """Say which kinds of resources are collected. They go in order of dependency. Without a task: the default again."""
    from freehold.cli import gc as command

    command.configure(**given)
