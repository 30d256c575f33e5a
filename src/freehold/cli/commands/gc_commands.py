"""The commands of ``freehold gc``. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from freehold.cli.commands import completions, options

F = TypeVar("F", bound=Callable[..., Any])


def _one_cluster(function: F) -> F:
    """Take the flags of ``clusterawsadm gc``, and a state directory."""
    function = click.option(
        "-n", "--namespace", default="default", show_default=True, callback=options.refuse_empty_text,
        shell_complete=completions.namespaces, help="Namespace of the cluster.",
    )(options.state(options.kubeconfig(function)))  # fmt: skip
    return click.option(
        "--cluster-name", required=True, metavar="NAME", callback=options.refuse_empty_text,
        shell_complete=completions.names, help="Name of the Cluster; without Cluster API, of the object itself.",
    )(function)  # fmt: skip


def _tasks(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str:
    """Read a comma-separated list in parts."""
    from freehold.collection.policy import find_unknown_task

    words = [word.strip() for part in value if part.strip() for word in part.split(",")]
    if problem := find_unknown_task(",".join(words)):
        raise click.BadParameter(problem)
    return ",".join(words)


def _looking(function: F) -> F:
    """Take what a command needs that looks into the clouds as the operator would."""
    function = options.simulate(options.feature_gates(options.gc_selector(function)))
    return options.output(options.namespace(options.state(options.of_cluster(function))))


@click.group(short_help="Say whether what workloads made in the cloud goes with their cluster.")
def gc() -> None:
    """Say whether what the workloads of a cluster made in the cloud, such as load balancers, is deleted with it.

    What is said holds from now on, also for a cluster that is being deleted already.
    """


@gc.command(name="plan", short_help="Say what would go with a cluster, what stays, and why; write nothing.")
@click.argument("name", callback=options.refuse_empty_text, shell_complete=completions.names)
@_looking
def gc_plan(**given: Any) -> None:
    """Say what a delete of the cluster NAME would collect, in which order, what stays, and why. Writes nothing.

    NAME is the Cluster's; without Cluster API, the object's own. Also of one that is being deleted.
    """
    from freehold.cli.commands import gc_plan as command

    command.plan(**given)


@gc.command(name="status", short_help="Say which clusters are collected, and what is out there of each.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@_looking
def gc_status(**given: Any) -> None:
    """Say of each cluster whether it is collected and by what, and how many resources its workloads made.

    LB load balancers, TG target groups, SG security groups, ENI network interfaces, VOL volumes; KEPT: what stays.
    """
    from freehold.cli.commands import gc_plan as command

    command.status(**given)


@gc.command(name="enable", short_help="Collect it: also a cluster that is older than garbage collection.")
@_one_cluster
def gc_enable(**given: Any) -> None:
    """Collect what the workloads of a cluster made when it is deleted, whatever labels or age it has."""
    from freehold.cli.commands import gc as command

    command.enable(**given)


@gc.command(name="disable", short_help="Leave it: what workloads made stays.")
@_one_cluster
def gc_disable(**given: Any) -> None:
    """Leave what the workloads of a cluster made when it is deleted. It may hold the network of the cluster."""
    from freehold.cli.commands import gc as command

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
    from freehold.cli.commands import gc as command

    command.configure(**given)
