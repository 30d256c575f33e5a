"""Commands that messages tell people to run next: they work as they are printed.

Who reads ``freehold tree NAME`` gave ``--state`` or ``--kubeconfig``, and the command that they paste must have it too.
So a message carries a :class:`Hint`, which as text has these options. What the operator wrote into a status cannot know
them: :func:`where` says them once, beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

import click

_GIVEN, _KUBECONFIG = "freehold.given", "freehold.kubeconfig"
_OPTIONS = ("--state", "--kubeconfig", "--simulator", "--keys-namespace")

_UP = "freehold up -f FILE applies a manifest, and waits until it is Ready"
_DOWN = "freehold down NAME deletes an object, and waits until all that it owns is gone"
_GET = "freehold get shows the state of each cluster, freehold tree NAME that of its resources"
COMMANDS_OF_OTHERS = {
    "apply": _UP, "create": _UP, "delete": _DOWN, "destroy": _DOWN, "status": _GET, "list": _GET, "ls": _GET,
    "describe": "freehold tree NAME shows an object with its resources, freehold get NAME -o yaml all of it",
    "diff": "freehold plan -f FILE says what a manifest would change",
    "events": "freehold get events shows them",
}  # fmt: skip
"""What commands of kubectl and other programs are called here."""


@dataclass(frozen=True)
class Hint:
    """A command of ours in a message: one word or two, and what follows. As text it can be pasted into a shell."""

    command: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        context = click.get_current_context(silent=True)
        given = _read_given_options(context)
        where = _options_for(self.command, context.find_root().command, given) if context and given else []
        return " ".join(["freehold", self.command, *where, *map(quote, self.arguments)])


def hint(command: str, *arguments: str, namespace: str = "", usual: str = "default") -> Hint:
    """Name a command; without the namespace where it is the ``usual`` one."""
    elsewhere = ("-n", namespace) if namespace and namespace != usual else ()
    return Hint(command, (*arguments, *elsewhere))


def hint_for_files(command: str, files: Sequence[str], *options: str) -> Hint:
    """Name a command on manifests; empty options are left out."""
    return Hint(command, (*(word for each in files for word in ("-f", each)), *filter(None, options)))


def kubectl(*arguments: str) -> str:
    """Return a command of kubectl on what the running command works on."""
    file = _kubeconfig()
    return " ".join(["kubectl", *(["--kubeconfig", quote(file)] if file else []), *arguments])


def where(*, with_kubectl: bool = False) -> str:
    """Say which options commands need that the operator has named in a text of its own; empty where they need none."""
    given = _read_given_options(click.get_current_context(silent=True))
    options = " ".join(f"{option} {quote(given[option])}" for option in ("--state", "--kubeconfig") if option in given)
    file = _kubeconfig() if with_kubectl else ""
    needs = [f"to commands in these messages: {options}"] if options else []
    needs += [f"to kubectl: --kubeconfig {quote(file)}"] if file else []
    return f"add {'; '.join(needs)}" if needs else ""


def notes() -> list[str]:
    """Return what :func:`where` says, for the list of an error whose sentence the operator has written."""
    said = where()
    return [said] if said else []


def remember(context: click.Context, option: str, value: str) -> None:
    """Note an option of the running command that the commands in its messages need too."""
    context.meta.setdefault(_GIVEN, {})[option] = value


def remember_kubeconfig(context: click.Context, find: Callable[[], str]) -> None:
    """Note how to find the file with which kubectl reaches the state directory of the running command."""
    context.meta[_KUBECONFIG] = find


def _read_given_options(context: click.Context | None) -> Mapping[str, str]:
    return (context.meta.get(_GIVEN) or {}) if context else {}


def _kubeconfig() -> str:
    """Return the file with which kubectl reaches what the running command works on; empty where it knows it itself."""
    context = click.get_current_context(silent=True)
    if context is None:
        return ""
    find: Callable[[], str] | None = context.meta.get(_KUBECONFIG)
    return _read_given_options(context).get("--kubeconfig") or (find() if find else "")


def _options_for(command: str, root: click.Command, given: Mapping[str, str]) -> list[str]:
    """Return those of the options that were ``given`` which this command takes."""
    taken = _options_of(root, command.split())
    named = [(_spell_option(option, command), given[option]) for option in _OPTIONS if option in given]
    return [f"{option} {quote(value)}" for option, value in named if option in taken]


def _options_of(command: click.Command, words: Sequence[str]) -> set[str]:
    """Return the options of a command."""
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}


def _spell_option(option: str, command: str) -> str:
    """Spell an option as this command does: those for the key ring itself call its namespace ``-n``."""
    return "-n" if option == "--keys-namespace" and command.startswith("keys ") else option
