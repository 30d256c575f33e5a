"""The commands of ``freehold keys``. Only click and the standard library here (see ``main``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from freehold.cli.commands import options
from freehold.cli.output import hints

F = TypeVar("F", bound=Callable[..., Any])


def _ring(function: F) -> F:
    """Take whose key ring is meant: the state directory's, or that of the operator in a cluster."""
    function = click.option(
        "-n", "--namespace", default="", callback=_remember_namespace,
        help="With --kubeconfig: the operator's namespace, where its Secret is [default: freehold-system].",
    )(function)  # fmt: skip
    function = click.option(
        "--kubeconfig",
        default="",
        type=click.Path(),
        metavar="FILE",
        callback=options.where,
        help="The key ring of the operator in this cluster, instead of the state directory's.",
    )(function)
    return options.state(function)


def _remember_namespace(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Note the namespace of the ring: other ``keys`` commands, that messages name, need it too."""
    value = options.refuse_empty_text(context, parameter, value)
    if value:
        hints.remember(context, "--keys-namespace", str(value))
    return value


@click.group(short_help="Show and change the operator's key ring.")
def keys() -> None:
    """Show and change the operator's key ring, which proves that what it finds is its own.

    On a laptop it is a file beside the state directory, in a cluster a Secret of the operator's namespace.
    Make a backup of it: what was made under a key that is lost is proved by nothing else.
    """


@keys.command(name="list", short_help="Show the keys, and how many objects need each.")
@options.output
@_ring
def keys_list(output: str, **where: Any) -> None:
    """Show the keys by their digests, how many objects name each, and which keys are missing."""
    from freehold.cli.commands import keys as command

    command.list_(command.ring_target(**where), output)


@keys.command(name="new", short_help="Make a new key, which writes from now on.")
@_ring
def keys_new(**where: Any) -> None:
    """Make a new key, which writes from now on. The old ones can still be read; records are renewed over time."""
    from freehold.cli.commands import keys as command

    command.new(command.ring_target(**where))


@keys.command(name="add", short_help="Bring keys of another ring, a backup or an export.")
@click.argument("filename", metavar="FILE", type=click.Path(), callback=options.refuse_empty_text)
@_ring
def keys_add(filename: str, **where: Any) -> None:
    """Bring the keys of FILE (- for standard input): an export, or a Secret as kubectl prints it.

    Nothing is overwritten, and the writing key stays. Objects that miss one of the keys are served again.
    """
    from freehold.cli.commands import keys as command

    command.add(command.ring_target(**where), filename)


@keys.command(name="export", short_help="Print the ring, or what one object needs of it.")
@click.argument("words", metavar="[KIND] [[NAMESPACE/]NAME]", nargs=-1, callback=options.refuse_empty_text)
@_ring
def keys_export(words: tuple[str, ...], **where: Any) -> None:
    """Print the key ring: a backup. With an object's NAME only that object's keys, to hand it on by itself.

    KIND/[NAMESPACE/]NAME too, where several have the name.
    """
    from freehold.cli.commands import keys as command

    command.export(command.ring_target(**where), words)


@keys.command(name="accept", short_help="Accept that a key is lost for ever.")
@click.argument("digest", metavar="KEY", callback=options.refuse_empty_text)
@click.option(
    "--without", multiple=True, metavar="RECORD", callback=options.refuse_empty_text,
    help="Leave out a record of the list, or all of NAMESPACE/NAME; may be repeated.",
)  # fmt: skip
@click.option(
    "--yes",
    "agreed",
    default="",
    metavar="DIGEST",
    callback=options.refuse_empty_text,
    help="Do it, for the list that has this digest.",
)
@click.option(
    "--simulator", default="", type=options.BaseUrl(), metavar="URL", callback=options.where,
    help="With --kubeconfig: the simulated cloud that the operator there uses.",
)  # fmt: skip
@_ring
def keys_accept(digest: str, without: tuple[str, ...], agreed: str, **where: Any) -> None:
    """Accept that KEY is lost for ever: the objects that name it are served again.

    Shows each resource that would be believed to be theirs, with what the cloud says of it. With --yes and the digest
    of that list it is done. What is left out is neither marked nor deleted: it waits for freehold resolve.
    """
    from freehold.cli.commands import keys as command

    command.accept(command.ring_target(**where), digest, without, agreed)


@keys.command(name="remove", short_help="Remove a key that no object needs.")
@click.argument("digest", metavar="KEY", callback=options.refuse_empty_text)
@_ring
def keys_remove(digest: str, **where: Any) -> None:
    """Remove KEY, which must not be the writing one and which no object may name."""
    from freehold.cli.commands import keys as command

    command.remove(command.ring_target(**where), digest)
