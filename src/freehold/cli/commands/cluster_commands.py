"""The commands on clusters: apply, delete, look, plan. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

import sys
from typing import Any

import click

from freehold.cli.commands import completions, options

_STALL_EPILOG = """What blocks is said at once, and the rest goes on meanwhile; with nothing left but what needs a
person the command ends, exit code 1. What the cloud gives no answer to is asked again until --timeout."""


@click.command(short_help="Apply a manifest and wait until it is Ready.", epilog=_STALL_EPILOG)
@options.filename("Manifest to apply", required=True)
@options.simulate
@options.simulate_settings
@options.feature_gates
@options.gc_selector
@options.namespace
@click.option("--create-namespace", is_flag=True, help="Create the namespaces that the manifest needs and are missing.")
@options.force_conflicts
@options.state
@options.kubeconfig
@options.timeout
def up(**given: Any) -> None:
    """Apply a manifest and wait until everything is Ready, or explain what blocks.

    Only what was seen of the cloud since then counts, also where the manifest is unchanged. With --kubeconfig of a
    cluster whose operator cannot be asked, its last status does.
    """
    from freehold.cli.commands import up as command

    command.run(**given)


@click.command(short_help="Delete, and wait until all that is owned is gone.", epilog=_STALL_EPILOG)
@options.words("[KIND] [NAME]...")
@options.filename("Manifest whose objects to delete")
@options.yes("Do not ask. Without a terminal nothing is deleted without this.")
@options.simulate
@options.feature_gates
@options.gc_selector
@options.namespace
@options.state
@options.of_cluster
@options.timeout
def down(**given: Any) -> None:
    """Delete objects, or a manifest's, and wait until all that they own is gone. Shows the plan and asks first.

    NAMEs are of any kind, of one KIND, or KIND/NAME each. One that is not there, or that several have, deletes nothing.
    """
    from freehold.cli.commands import down as command

    command.run(**given)


@click.command(short_help="Show objects: the clusters, or any kind.")
@click.argument(
    "words",
    metavar="[KIND] [NAME]...",
    nargs=-1,
    callback=options.refuse_empty_text,
    shell_complete=completions.kinds_and_names,
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@options.selector
@click.option("-w", "--watch", is_flag=True, help="Go on showing changes of clusters, until Ctrl-C.")
@options.formats("table", "name", "json", "yaml")
@options.namespace
@options.state
@options.kubeconfig
def get(**given: Any) -> None:
    """Show objects: the clusters, or any KIND, or those of some NAMEs; KIND/NAME too.

    Templates, other columns and watches of other kinds are kubectl's: freehold serve names its kubeconfig.
    """
    from freehold.cli.commands import get as command

    command.run(**given)


@click.command(short_help="Show an object's cloud resources.")
@options.words("[KIND] [NAME]...")
@options.filename("Manifest whose objects to show")
@options.simulate
@options.output
@options.namespace
@options.state
@options.kubeconfig
def tree(**given: Any) -> None:
    """Show the cloud resources of an object, or of a manifest's: state, ownership and its proof, id, what blocks."""
    from freehold.cli.commands import tree as command

    command.run(**given)


@click.command(short_help="Say what a manifest, or a deletion, would do; write nothing.")
@options.filename("Manifest to plan")
@click.option(
    "--down",
    default="",
    metavar="NAME",
    callback=options.refuse_empty_text,
    shell_complete=completions.names,
    help="Plan the deletion of this object instead: NAME, KIND NAME or KIND/NAME.",
)
@click.argument("more", metavar="", nargs=-1, callback=options.refuse_empty_text, shell_complete=completions.names)
@click.option(
    "--detailed-exitcode", is_flag=True, help="Exit code 0: nothing to do; 2: changes; 1: anything else, misuse too."
)
@options.simulate
@options.simulate_settings
@options.feature_gates
@options.output
@options.namespace
@options.state
@options.of_cluster
def plan(**given: Any) -> None:
    """Say what a manifest would create, change, reuse, delete or refuse, and why. Writes nothing.

    With --kubeconfig the objects and the key ring are read there, and the clouds with the credentials of this
    environment. Of a manifest that is about tags alone it says what freehold tags plan says.
    """
    from freehold.cli.commands import plan as command

    sys.exit(command.run(**given))


COMMANDS = (up, down, get, tree, plan)
