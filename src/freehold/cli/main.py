"""``freehold``: the commands. Only click and the standard library here; a command imports its module when it runs.

The reason is ``freehold --help``: the SDKs of the clouds alone take a second to import.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from freehold.cli import completing, hints, metadata_options, options
from freehold.cli.errors import FAILED, INTERRUPTED, MISUSED, CliError
from freehold.cli.gc_commands import gc
from freehold.cli.key_commands import keys
from freehold.cli.tags_commands import tags
from freehold.cli.terminal import escaped, print_error, warn

F = TypeVar("F", bound=Callable[..., Any])

DEBUG_VARIABLE = "FREEHOLD_DEBUG"

_EPILOG = """\b
Exit codes: 0 done; 1 not done, and why; 2 wrong usage; 130 interrupted.
Errors in detail, and in the log each look and what it is planned for: set FREEHOLD_DEBUG=1.
"""

_STALL_EPILOG = """What blocks is said at once, and the rest goes on meanwhile; with nothing left but what needs a
person the command ends, exit code 1. What the cloud gives no answer to is asked again until --timeout."""


class _Program(click.Group):
    """Commands in its refusals can be pasted: they get the options that say where, known only while it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CliError as problem:
            more = map(hints.pasteable, problem.more)
            raise CliError(hints.pasteable(problem.sentence), tuple(more), code=problem.code) from problem

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in self.commands and (meant := hints.COMMANDS_OF_OTHERS.get(args[0])):
            raise click.UsageError(f"No such command {args[0]!r}: {meant}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.version_option(package_name="freehold", message="%(prog)s %(version)s")
def cli() -> None:
    """Create once, own by tag, collect, delete exactly what is owned: the cloud resources behind clusters."""


@cli.command(short_help="Apply a manifest and wait until it is Ready.", epilog=_STALL_EPILOG)
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
    from freehold.cli import up as command

    command.run(**given)


@cli.command(short_help="Delete, and wait until all that is owned is gone.", epilog=_STALL_EPILOG)
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
    from freehold.cli import down as command

    command.run(**given)


@cli.command(short_help="Show objects: the clusters, or any kind.")
@click.argument(
    "words", metavar="[KIND] [NAME]...", nargs=-1, callback=options.filled, shell_complete=completing.kinds_and_names
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@options.selector
@click.option("-w", "--watch", is_flag=True, help="Go on showing changes, until Ctrl-C.")
@options.get_output
@click.option("--show-managed-fields", is_flag=True, help="With json and yaml: also metadata.managedFields.")
@options.namespace
@options.state
@options.kubeconfig
def get(**given: Any) -> None:
    """Show objects: the clusters, or any KIND, or those of some NAMEs; KIND/NAME too."""
    from freehold.cli import reading

    reading.get(**given)


@cli.command(short_help="Show an object's cloud resources.")
@options.words("[KIND] [NAME]...")
@options.filename("Manifest whose objects to show")
@options.simulate
@options.output
@options.namespace
@options.state
@options.kubeconfig
def tree(**given: Any) -> None:
    """Show the cloud resources of an object, or of a manifest's: state, ownership and its proof, id, what blocks."""
    from freehold.cli import tree as command

    command.run(**given)


@cli.command(short_help="Say what a manifest, or a deletion, would do; write nothing.")
@options.filename("Manifest to plan")
@click.option(
    "--down",
    default="",
    metavar="NAME",
    callback=options.filled,
    shell_complete=completing.names,
    help="Plan the deletion of this object instead: NAME, KIND NAME or KIND/NAME.",
)
@click.argument("more", metavar="", nargs=-1, callback=options.filled, shell_complete=completing.names)
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
    from freehold.cli import planning

    sys.exit(planning.run(**given))


@cli.command(short_help="List what carries our marks and has no object here.")
@options.simulate
@options.output
@options.regions
@options.state
@options.of_cluster
def orphans(**given: Any) -> None:
    """List what carries our marks in the clouds and has no object in this API server, by owner. Changes nothing.

    It looks through the account of IBM Cloud, and on AWS through every region and identity that is known here.
    """
    from freehold.cli import orphans as command

    command.run(**given)


@cli.command(short_help="Rebuild an object that was lost from its marks in the cloud.")
@click.argument("words", metavar="[[KIND] NAME]", nargs=-1, callback=options.filled)
@click.option("--uuid", default="", callback=options.filled, help="The object's uuid, as freehold orphans lists it.")
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
    from freehold.cli import recover as command

    command.run(**given)


@cli.command(short_help="Delete what an object owns and its spec no longer wants.")
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
    from freehold.cli import prune as command

    command.run(**given)


@cli.command(short_help="Decide what only a person can: whether a resource is an object's own.")
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
    from freehold.cli import resolve as command

    command.run(**given)


@cli.command(short_help="Show what was changed in the cloud, or check the log of it.")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=options.NonEmptyPath(path_type=Path, dir_okay=False))
@click.option("--verify", is_flag=True, help="Check that no line was changed, taken out or added.")
@options.state
def audit(**given: Any) -> None:
    """Show the audit log: each request that changed the cloud, with its outcome. FILEs are logs, the oldest first.

    Without a FILE: the log of the state directory, and those that were rotated away from it.
    """
    from freehold.cli import audit_log as command

    command.run(**given)


@cli.command(short_help="Show the log of the operator of a state directory.")
@click.option("-f", "--follow", is_flag=True, help="Go on showing what is added, until Ctrl-C.")
@options.state
@options.kubeconfig
def logs(**given: Any) -> None:
    """Show the log of a state directory: of its operator, and of each command that worked on it.

    FREEHOLD_DEBUG=1 makes serve, up and down log each look at the cloud, and what it is planned for.
    """
    from freehold.cli import logs as command

    command.run(**given)


@cli.command(short_help="Run the embedded Kubernetes API and the operator.")
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
@metadata_options.metadata
@click.option("--until-stdin-closes", is_flag=True, hidden=True)
@options.metrics_address
@options.state
def serve(**given: Any) -> None:
    """Run the embedded Kubernetes API and the operator until told to stop."""
    from freehold.cli import serving

    serving.run(**given)


cli.add_command(gc)
cli.add_command(keys)
cli.add_command(tags)


@cli.command(name="operator", short_help="Run the operator against a cluster that is there already.")
@click.option(
    "--kubeconfig",
    default="",
    type=click.Path(),
    metavar="FILE",
    callback=options.filled,
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
    "-n", "--namespace", default="", callback=options.filled, help="Serve this namespace only [default: all]."
)
@click.option(
    "--keys-namespace",
    default="",
    callback=options.filled,
    help="Where the key ring is, Secret freehold-keys [default: the pod's own namespace, else freehold-system].",
)
@click.option(
    "--simulator", default="", type=options.BaseUrl(), metavar="URL", help="Simulated clouds instead of the real ones."
)
@options.feature_gates
@options.gc_selector
@metadata_options.metadata
@click.option("--workers", type=click.IntRange(1, 256), default=80, show_default=True, help="Objects at a time.")
@click.option("--audit", type=options.NonEmptyPath(path_type=Path), help="Append every mutating call to this file.")
@options.metrics_address
def operator_(**given: Any) -> None:
    """Run the operator alone, with the cluster of a kubeconfig, until told to stop. Apply deploy/crds first."""
    from freehold.cli import operating

    operating.run(**given)


@cli.command(short_help="Tell the main job as a story, checking every step.")
@click.option(
    "-f",
    "--filename",
    metavar="FILE",
    help="Manifest of the first act, with one IBMPowerVSCluster [default: the upstream example].",
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


@cli.command(short_help="Show the version.")
@click.pass_context
def version(context: click.Context) -> None:
    """Show the version."""
    from importlib.metadata import version as installed

    click.echo(f"{context.find_root().info_name} {installed('freehold')}")


@cli.command(short_help="Print a shell's completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands and options, to be sourced: source <(freehold completion bash)."""
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(cli, {}, "freehold", "_FREEHOLD_COMPLETE").source())


def main() -> None:
    """The program. Exit codes: 0 done, 1 not done, 2 wrong usage, 130 interrupted."""
    os.umask(0o077)  # state, logs and audit are their owner's alone, wherever --state, --keep or --audit puts them
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command, what fails told as a sentence; its exit code. ``plan`` raises SystemExit with its own."""
    try:
        cli.main(arguments, prog_name="freehold", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as asked:
        warn(asked.format_message())
        return MISUSED
    except click.ClickException as misuse:
        return _detailed(_misused(misuse), arguments)
    except CliError as problem:
        return _detailed(_failed(problem), arguments)
    except (KeyboardInterrupt, click.Abort):
        warn("interrupted; nothing is lost: run the same command again to go on")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on; Python must not complain
        return FAILED
    except Exception as problem:
        return _unexpected(problem)
    return 0


def _detailed(code: int, arguments: Sequence[str]) -> int:
    """With ``plan --detailed-exitcode`` 2 means changes, and nothing else."""
    return FAILED if code == MISUSED and "--detailed-exitcode" in arguments else code


def _misused(misuse: click.ClickException) -> int:
    context = getattr(misuse, "ctx", None)
    where = f"; see {context.command_path} --help" if context is not None else ""
    warn(f"freehold: {misuse.format_message().rstrip('.')}{where}")
    return MISUSED


def _failed(problem: CliError) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        sys.excepthook(type(problem), problem, problem.__traceback__)
    print_error(f"freehold: {problem.sentence}")
    for each in problem.more:
        print_error(each, "  - ")
    return problem.code


def _unexpected(problem: Exception) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        sys.excepthook(type(problem), problem, problem.__traceback__)
    said = " ".join(str(problem).split())[:300]
    if getattr(problem, "message", None) and type(problem).__module__.startswith("freehold."):
        warn(f"freehold: {said}")
        return FAILED
    if isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        warn(f"freehold: {escaped(said)}; make room for it and run the command again: what was written is kept")
        return FAILED
    warn(
        f"freehold: a defect in Freehold: {type(problem).__name__}: {escaped(said)}; nothing is lost, "
        f"the next command goes on; {DEBUG_VARIABLE}=1 shows where"
    )
    return FAILED


if __name__ == "__main__":
    main()
