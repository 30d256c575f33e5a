"""The commands of ``freehold tags``. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from freehold.cli import options

F = TypeVar("F", bound=Callable[..., Any])


def _where(function: F) -> F:
    """Whose objects and which cloud: a state directory's, or those of a cluster and its operator."""
    return options.simulate(options.namespace(options.state(options.of_cluster(function))))


@click.group(short_help="Plan, apply and look at the tags of cloud resources.")
def tags() -> None:
    """Plan, apply and look at the tags of cloud resources: what CloudMetadata and AWSMetadata objects ask for."""


@tags.command(name="plan", short_help="Say what would become of which tags; write nothing.")
@click.argument("name", required=False, callback=options.filled)
@options.filename("Manifest to plan")
@click.option("--detailed-exitcode", is_flag=True, help="Exit code 0: nothing to do; 2: changes; 1: anything else.")
@options.output
@options.simulate_settings
@_where
def tags_plan(**given: Any) -> None:
    """Say which tags would be added, changed, removed and left, by resource, and the calls that do it.

    Of a manifest, of the CloudMetadata NAME as it is stored, or of all that are stored. Writes nothing.
    """
    from freehold.cli import tags_plan as command

    sys.exit(command.run(**given))


@tags.command(name="apply", short_help="Apply a manifest of tags and see it done.")
@options.filename("Manifest to apply", required=True)
@options.yes("Do not ask. Without a terminal nothing is asked.")
@click.option(
    "--approve",
    default="",
    metavar="DIGEST",
    callback=options.filled,
    help="Approve the plan with this digest, where it waits for a person.",
)
@click.option("--create-namespace", is_flag=True, help="Create the namespaces that the manifest needs and are missing.")
@options.timeout
@options.simulate_settings
@_where
def tags_apply(**given: Any) -> None:
    """Show the plan, ask on a terminal, apply, and tell what became of each resource.

    Yes to a plan that waits for a person approves it; without a terminal --approve does. The audit log says who it was.
    """
    from freehold.cli import tags_apply as command

    command.run(**given)
