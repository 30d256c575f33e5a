"""Commands in messages work as they are printed: with the options that say where, which the user gave."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from freehold.cli import hints
from freehold.cli.main import cli
from freehold.cli.terminal import columns, folded
from harness.commands import freehold

FROM_A_STATUS = "ownership of vpc r006-1 is unknown: freehold resolve m1 -n team vpc/vpc --mine"


def said(text: str, *arguments: str) -> str:
    """``text`` as the command with these arguments says it."""
    with cli.make_context("freehold", list(arguments)) as context:
        command = cli.get_command(context, arguments[0])
        assert command is not None
        rest = list(arguments[1:])
        if isinstance(command, click.Group):
            inner = command.get_command(context, rest.pop(0))
            assert inner is not None
            command = inner
        with command.make_context(command.name, rest, parent=context):
            return hints.pasteable(text)


@pytest.mark.parametrize(
    ("arguments", "text", "wanted"),
    [
        (("get",), FROM_A_STATUS, FROM_A_STATUS),
        (
            ("get", "--state", "my states/one"), FROM_A_STATUS,
            "ownership of vpc r006-1 is unknown: freehold resolve --state 'my states/one' m1 -n team vpc/vpc --mine",
        ),
        (("tree", "m1", "--kubeconfig", "k"), "see freehold get", "see freehold get --kubeconfig k"),
        (("down", "m1", "--state", "s"), "freehold keys add FILE", "freehold keys add --state s FILE"),
        (
            ("keys", "list", "--kubeconfig", "k", "-n", "ops"), "freehold keys accept x; freehold get -A",
            "freehold keys accept --kubeconfig k -n ops x; freehold get --kubeconfig k -A",
        ),
        (
            ("keys", "accept-record", "--kubeconfig", "k"), "to go on: freehold keys accept-record --yes",
            "to go on: freehold keys accept-record --kubeconfig k --yes",
        ),
        (("down", "m1", "--kubeconfig", "k"), "freehold serve", "freehold serve"),
        (("get", "--state", "s"), "freehold: there is no up; the freehold operator", None),
        (("get", "--state", "s"), "freehold get --state s shows it", None),
        (
            ("get", "--kubeconfig", "my k"), "kubectl annotate awscluster a x-",
            "kubectl --kubeconfig 'my k' annotate awscluster a x-",
        ),
        (("get", "--state", "s"), "kubectl patch a", "kubectl --kubeconfig s/kubeconfig patch a"),
        (("operator", "--kubeconfig", "k"), "kubectl shows a", None),
    ],
    ids=[
        "nothing given", "a status cannot know it", "kubeconfig", "a command of a group", "the namespace of the ring",
        "a command whose name begins as another's", "serve has no kubeconfig", "what is no command", "never twice",
        "kubectl", "kubectl of a laptop", "kubectl in prose",
    ],
)  # fmt: skip
def test_a_command_in_a_message_gets_the_options_that_say_where(
    arguments: tuple[str, ...], text: str, wanted: str | None
) -> None:
    assert said(text, *arguments) == (text if wanted is None else wanted)


def test_each_named_command_takes_the_options() -> None:
    """A hint with an option that its command lacks is no hint."""
    for words in ("up", "down", "get", "tree", "plan", "orphans", "recover", "prune", "resolve", "serve", "keys list"):
        for option in ("--state", "--kubeconfig"):
            text = said(f"freehold {words}", "get", option, "x")
            group: click.Command = cli
            for word in words.split():
                assert isinstance(group, click.Group)
                found = group.commands[word]
                group = found
            takes = {each for parameter in group.params for each in parameter.opts}
            assert (option in text) == (option in takes), words


def test_it_is_added_before_lines_are_laid_out() -> None:
    with cli.make_context("freehold", ["get"]) as context:
        hints.remember(context, "--state", "/a/long/path/to/a/state/directory")
        assert folded(FROM_A_STATUS, "  ", 80) == [
            "  ownership of vpc r006-1 is unknown: freehold resolve --state",
            "  /a/long/path/to/a/state/directory m1 -n team vpc/vpc --mine",
        ]
        assert columns([("A", "B"), ("see freehold get", "c")])[0].index("B") > len("see freehold get --state /a/long")


@pytest.mark.parametrize("command", [("down", "nothing"), ("plan", "--down", "nothing")], ids=" ".join)
def test_what_a_refusal_names_can_be_pasted(command: tuple[str, ...], tmp_path: Path) -> None:
    state = tmp_path / "a state"
    refused = freehold(*command, "--state", str(state), *(["--simulate"] if command[0] == "down" else []))
    assert refused.returncode == 1
    hint = f"freehold get --state '{state}'"
    assert f"; {hint} shows what there is" in refused.stderr
    again = freehold(*shlex.split(hint)[1:])
    assert (again.returncode, again.stdout) == (0, "no clusters in namespace default\n")


def test_kubectl_reaches_the_usual_state_directory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the option kubectl would go to whatever cluster it knows."""
    monkeypatch.setenv("FREEHOLD_STATE", "/there")
    assert said("kubectl annotate a b-", "up", "-f", "x") == "kubectl --kubeconfig /there/kubeconfig annotate a b-"
