"""``freehold``: the program. Commands are defined in ``commands/*_commands.py``, and import what they do when they run.

Only click and the standard library here and there. The reason is ``freehold --help``: the SDKs of the clouds alone take
a second to import.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from freehold.cli.commands import cluster_commands, install_commands, recovery_commands, server_commands
from freehold.cli.commands.gc_commands import gc
from freehold.cli.commands.key_commands import keys
from freehold.cli.commands.tags_commands import tags
from freehold.cli.errors import FAILED, INTERRUPTED, MISUSED, CliError
from freehold.cli.output import hints
from freehold.cli.output.terminal import escape_text, print_error, warn

DEBUG_VARIABLE = "FREEHOLD_DEBUG"

_EPILOG = """\b
Exit codes: 0 done; 1 not done, and why; 2 wrong usage; 130 interrupted.
Errors in detail, and in the log each look and what it is planned for: set FREEHOLD_DEBUG=1.
"""


class _Program(click.Group):
    """Says what a command of another program is called here."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in self.commands and (meant := hints.COMMANDS_OF_OTHERS.get(args[0])):
            raise click.UsageError(f"No such command {args[0]!r}: {meant}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.version_option(package_name="freehold", message="%(prog)s %(version)s")
def cli() -> None:
    """Create once, own by tag, collect, delete exactly what is owned: the cloud resources behind clusters."""


_GROUPS = (cluster_commands, recovery_commands, server_commands, install_commands)
for _command in (*(each for group in _GROUPS for each in group.COMMANDS), gc, keys, tags):
    cli.add_command(_command)


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
    """Run the program. Exit codes: 0 done, 1 not done, 2 wrong usage, 130 interrupted."""
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
        return _adjust_exit_code(_report_misuse(misuse), arguments)
    except CliError as problem:
        return _adjust_exit_code(_report_failure(problem), arguments)
    except (KeyboardInterrupt, click.Abort):
        warn("interrupted; nothing is lost: run the same command again to go on")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on; Python must not complain
        return FAILED
    except Exception as problem:
        return _report_unexpected_error(problem)
    return 0


def _adjust_exit_code(code: int, arguments: Sequence[str]) -> int:
    """Keep 2 for changes, and nothing else, with ``plan --detailed-exitcode``."""
    return FAILED if code == MISUSED and "--detailed-exitcode" in arguments else code


def _report_misuse(misuse: click.ClickException) -> int:
    context = getattr(misuse, "ctx", None)
    where = f"; see {context.command_path} --help" if context is not None else ""
    warn(f"freehold: {misuse.format_message().rstrip('.')}{where}")
    return MISUSED


def _report_failure(problem: CliError) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        sys.excepthook(type(problem), problem, problem.__traceback__)
    print_error(f"freehold: {problem.sentence}")
    for each in problem.more:
        print_error(each, "  - ")
    return problem.code


def _report_unexpected_error(problem: Exception) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        sys.excepthook(type(problem), problem, problem.__traceback__)
    said = " ".join(str(problem).split())[:300]
    if getattr(problem, "message", None) and type(problem).__module__.startswith("freehold."):
        warn(f"freehold: {said}")
        return FAILED
    if isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        warn(f"freehold: {escape_text(said)}; make room for it and run the command again: what was written is kept")
        return FAILED
    warn(
        f"freehold: a defect in Freehold: {type(problem).__name__}: {escape_text(said)}; nothing is lost, "
        f"the next command goes on; {DEBUG_VARIABLE}=1 shows where"
    )
    return FAILED


if __name__ == "__main__":
    main()
