"""The commands of ``freehold tags``. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from freehold.cli.commands import options

F = TypeVar("F", bound=Callable[..., Any])


def _where(function: F) -> F:
    """Whose objects and which cloud: a state directory's, or those of a cluster and its operator."""
    return options.simulate(options.namespace(options.state(options.of_cluster(function))))


@click.group(short_help="Plan, apply and look at the tags of cloud resources.")
def tags() -> None:
    """Plan, apply and look at the tags of cloud resources: what CloudMetadata and AWSMetadata objects ask for."""


@tags.command(name="plan", short_help="Say what would become of which tags; write nothing.")
@click.argument("words", metavar="[NAME]", nargs=-1, callback=options.refuse_empty_text)
@options.filename("Manifest to plan")
@click.option("--detailed-exitcode", is_flag=True, help="Exit code 0: nothing to do; 2: changes; 1: anything else.")
@options.output
@options.simulate_settings
@_where
def tags_plan(**given: Any) -> None:
    """Say which tags would be added, changed, removed and left, by resource, and the calls that do it.

    Of a manifest, of the CloudMetadata NAME as it is stored, or of all that are stored. Writes nothing.
    """
    from freehold.cli.commands import tags_plan as command

    sys.exit(command.run(**given))


@tags.command(name="apply", short_help="Apply a manifest of tags and see it done.")
@options.filename("Manifest to apply", required=True)
@options.yes("Do not ask. Without a terminal nothing is done without this.")
@click.option(
    "--approve",
    default="",
    metavar="DIGEST",
    callback=options.refuse_empty_text,
    help="Approve the plan with this digest, where it waits for a person.",
)
@click.option("--create-namespace", is_flag=True, help="Create the namespaces that the manifest needs and are missing.")
@options.force_conflicts
@options.timeout
@options.simulate_settings
@_where
def tags_apply(**given: Any) -> None:
    """Show the plan, ask on a terminal, apply, and tell what became of each resource.

    Yes to a plan that waits for a person approves it; with --yes --approve does. The audit log says who it was.
    """
    from freehold.cli.commands import tags_apply as command

    command.run(**given)


@tags.command(name="audit", short_help="Show who changed which tag, when, from what to what.")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=options.NonEmptyPath(path_type=Path, dir_okay=False))
@click.option("--verify", is_flag=True, help="Check that no line of the audit logs was changed, taken out or added.")
@click.option(
    "--resource", default="", metavar="ID", callback=options.refuse_empty_text, help="Only of ids that contain this."
)
@click.option("--key", default="", callback=options.refuse_empty_text, help="Only of this tag key.")
@options.output
@options.state
def tags_audit(**given: Any) -> None:
    """Show who changed which tag, when, from what to what. FILEs are logs of an operator, the oldest first.

    Without a FILE: the logs of the state directory, of its operator and of people.
    """
    from freehold.cli.commands import tags_audit as command

    command.run(**given)


@tags.command(name="report", short_help="Tell how far the tags are as they are asked for.")
@click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Format."
)
@_where
def tags_report(**given: Any) -> None:
    """Tell drift and compliance of all CloudMetadata objects: what is not as asked for, on which resources, and why.

    Changes nothing. The live page of freehold serve shows the same of the last passes, without a call.
    """
    from freehold.cli.commands import tags_report as command

    command.run(**given)


@tags.command(name="edit", short_help="Edit the tags of an object in $EDITOR.")
@click.argument("words", metavar="[KIND] NAME", nargs=-1, required=True, callback=options.refuse_empty_text)
@options.yes("Do not ask before it is applied.")
@options.timeout
@_where
def tags_edit(**given: Any) -> None:
    """Edit a CloudMetadata, and the object with the tags that it refers to, or an AWSMetadata alone, in $EDITOR.

    What would be refused is not saved: the editor opens again, with the reason. Then it is applied, as by apply.
    """
    from freehold.cli.commands import tags_edit as command

    command.run(**given)


@tags.command(name="login", short_help="Say which credentials the state directory uses.")
@click.option("--cloud", type=click.Choice(["aws", "ibm"]), help="Log in there [default: show what is used].")
@click.option(
    "--profile",
    default="",
    callback=options.refuse_empty_text,
    help="AWS: a profile of ~/.aws, also of single sign-on.",
)
@click.option(
    "--role", default="", metavar="ARN", callback=options.refuse_empty_text, help="AWS: a role to assume with it."
)
@click.option(
    "--region", default="", callback=options.refuse_empty_text, help="AWS: where objects that name no region are."
)
@click.option(
    "--api-key-file",
    default="",
    metavar="FILE",
    callback=options.refuse_empty_text,
    help="IBM Cloud: the API key is in this file, - for standard input [default: asked for, unseen].",
)
@click.option(
    "--trusted-profile",
    default="",
    metavar="ID",
    callback=options.refuse_empty_text,
    help="IBM Cloud: a trusted profile that the identity of the key assumes, like Profile-1a2b….",
)
@click.option("--no-check", is_flag=True, help="Do not ask the cloud whose credentials they are.")
@click.option("--forget", is_flag=True, help="Use what the environment says again; a stored key is removed.")
@options.state
def tags_login(**given: Any) -> None:
    """Say which credentials the commands on this state directory use, where no environment variable does.

    Of AWS only names are stored. The API key goes into the system's keyring, where Python's keyring package is
    installed, else into a file of mode 0600. No secret is taken from the command line, or shown.
    """
    from freehold.cli.commands import tags_login as command

    command.run(**given)
