"""Commands that messages tell people to run next: they must work as they are printed.

A message says ``freehold tree NAME``. Who reads it gave ``--state`` or ``--kubeconfig``, and the command that they
paste must have it too. Some messages come from the status of an object, whose operator cannot know that; so the options
are added where text is put on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import click

_GIVEN = "freehold.given"
_OPTIONS = ("--state", "--kubeconfig", "--simulator", "--keys-namespace")
_COMMAND = re.compile(
    r"\bfreehold (?P<verb>up|down|get|tree|plan|orphans|recover|prune|resolve|logs|serve"
    r"|gc (?:enable|disable|configure|plan|status)"
    r"|keys (?:list|new|add|export|accept-record|accept|remove)"
    r"|tags (?:plan|apply|list|report|audit|edit|login))\b(?!-)(?! --(?:state|kubeconfig)\b)"
)
_KUBECTL = re.compile(r"\bkubectl (?=(?:annotate|patch|get|create|logs) )")

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


def command(words: str, *names: str, namespace: str = "", usual: str = "default") -> str:
    """``freehold <words> <names> -n <namespace>``, without the namespace where it is the ``usual`` one."""
    parts = ["freehold", words, *map(quote, names)]
    if namespace and namespace != usual:
        parts += ["-n", quote(namespace)]
    return " ".join(parts)


def of_files(words: str, files: Sequence[str], *options: str) -> str:
    """``freehold <words> -f FILE … <options>``."""
    return " ".join(["freehold", words, *(f"-f {quote(each)}" for each in files), *filter(None, options)])


def remember(context: click.Context, option: str, value: str) -> None:
    """An option of the running command that the commands in its messages need too."""
    context.meta.setdefault(_GIVEN, {})[option] = value


def pasteable(text: str) -> str:
    """``text`` with the options of the running command that say where, in each command in it that takes them."""
    context = click.get_current_context(silent=True)
    if not context:
        return text
    given = context.meta.get(_GIVEN) or {}
    if _KUBECTL.search(text) and (where := _kubeconfig(context, given)):
        text = _KUBECTL.sub(lambda _: f"kubectl --kubeconfig {quote(where)} ", text)
    root = context.find_root().command
    return _COMMAND.sub(lambda found: _placed(found["verb"], root, given), text) if given else text


def _kubeconfig(context: click.Context, given: dict[str, str]) -> str:
    """The file with which kubectl reaches what the running command works on; empty where kubectl knows it itself."""
    if "--kubeconfig" in given or "--state" not in {name for each in context.command.params for name in each.opts}:
        return given.get("--kubeconfig", "")
    from freehold.cli.state_directory import StateDirectory, default_path

    return str(StateDirectory(Path(given["--state"]) if "--state" in given else default_path()).kubeconfig)


def _placed(verb: str, root: click.Command, given: dict[str, str]) -> str:
    taken = _taken(root, verb.split())
    parts = [f"{_as_taken(option, verb)} {quote(given[option])}" for option in _OPTIONS if option in given]
    return " ".join(["freehold", verb, *(each for each in parts if each.split(" ")[0] in taken)])


def _taken(command: click.Command, words: list[str]) -> set[str]:
    """The options of a command."""
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}


def _as_taken(option: str, verb: str) -> str:
    """The commands for the key ring itself call its namespace ``-n``."""
    return "-n" if option == "--keys-namespace" and verb.startswith("keys ") else option
