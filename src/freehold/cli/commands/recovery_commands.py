"""The commands with which a person decides what is whose, and finds what was lost.

Only click and the standard library here (see ``main``).
"""

from __future__ import annotations

from typing import Any

import click

from freehold.cli.commands import options


@click.command(short_help="List what carries our marks and has no object here.")
@options.simulate
@options.output
@options.regions
@options.state
@options.of_cluster
def orphans(**given: Any) -> None:
    """List what carries our marks in the clouds and has no object in this API server, by owner. Changes nothing.

    It looks through the account of IBM Cloud, and on AWS through every region and identity that is known here.
    """
    from freehold.cli.commands import orphans as command

    command.run(**given)


@click.command(short_help="Rebuild an object that was lost from its marks in the cloud.")
@click.argument("words", metavar="[[KIND] NAME]", nargs=-1, callback=options.refuse_empty_text)
@click.option(
    "--uuid", default="", callback=options.refuse_empty_text, help="The object's uuid, as freehold orphans lists it."
)
@click.option("--all", "all_", is_flag=True, help="List all that could be recovered; recover nothing.")
@options.filename("Take the spec from this manifest, instead of as much of it as the marks tell")
@options.regions
@click.option("--key-lost", is_flag=True, help="What this key ring cannot prove is this object's too; seal it anew.")
@options.yes("Do it, instead of showing what would happen.")
@options.simulate
@options.namespace
@options.state
@options.of_cluster
def recover(**given: Any) -> None:
    """Rebuild an object whose store was lost from its marks in the cloud: a plan, with --yes the object, paused.

    Nothing is written to the cloud until its manifest is applied, or it is deleted.
    """
    from freehold.cli.commands import recover as command

    command.run(**given)


@click.command(short_help="Delete what an object owns and its spec no longer wants.")
@options.words("[KIND] NAME", required=True)
@options.yes("Do it, instead of showing what would happen.")
@options.simulate
@options.namespace
@options.state
@options.of_cluster
def prune(**given: Any) -> None:
    """Delete the surplus of an object: what it owns and its spec no longer wants. A plan, with --yes the deletion.

    Each resource must be proven by its marks when it is deleted, unused, and named by no other object.
    """
    from freehold.cli.commands import prune as command

    command.run(**given)


@click.command(short_help="Decide what only a person can: whether a resource is an object's own.")
@options.words("[KIND] NAME [RESOURCE] [ID]", required=True)
@click.option("--mine", "verdict", flag_value="mine", help="A create that was cut off made it: it is the object's own.")
@click.option(
    "--not-mine", "verdict", flag_value="not-mine", help="That create made nothing; what is owned is given up."
)
@click.option(
    "--new-cluster", "copied", flag_value="new-cluster", help="It has another object's journal, or none: new."
)
@click.option("--take-over", "copied", flag_value="take-over", help="Its original is lost: it goes on in its place.")
@options.yes("Do it, instead of showing the evidence.")
@options.simulate
@options.namespace
@options.state
@options.of_cluster
def resolve(**given: Any) -> None:
    """Show the evidence for creates whose outcome is unclear, and decide: RESOURCE is a node, a name or an id.

    Where several creates may have made one resource, or one of them several, RESOURCE is the node, and ID follows it.
    A resource that the object owns can be given up: our marks are taken off it, and it stays.
    A restored copy of an object is made a cluster of its own, or continues a lost original under the original's name.

    The decision is signed with the key ring, and the audit log tells who made it.
    """
    from freehold.cli.commands import resolve as command

    command.run(**given)


COMMANDS = (orphans, recover, prune, resolve)
