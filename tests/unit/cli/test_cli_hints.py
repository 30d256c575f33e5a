"""Commands in messages work as they are printed: with the options that say where, which the user gave."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from freehold.cli.main import cli
from freehold.cli.output.highlights import attention
from freehold.cli.output.hints import Hint, hint, hint_for_files, kubectl, where
from freehold.view.object_view import view
from harness.commands import freehold

BLOCKED = {
    "kind": "AWSCluster", "metadata": {"name": "m1", "namespace": "team", "generation": 1},
    "status": {
        "conditions": [{"type": "Ready", "status": "False", "reason": "Ambiguous", "observedGeneration": 1}],
        "resources": [{"kind": "vpc", "name": "v", "state": "Blocked",
                       "message": "freehold resolve m1 -n team vpc/vpc --mine"}],
    },
}  # fmt: skip
RESOLVE = hint("resolve", "m1", "vpc/vpc", "--mine", namespace="team")


def said(message: Callable[[], object], *arguments: str) -> str:
    """What a message is as the command with these arguments says it."""
    with cli.make_context("freehold", list(arguments)) as context:
        command = cli.get_command(context, arguments[0])
        assert command is not None
        rest = list(arguments[1:])
        if isinstance(command, click.Group):
            inner = command.get_command(context, rest.pop(0))
            assert inner is not None
            command = inner
        with command.make_context(command.name, rest, parent=context):
            return str(message())


@pytest.mark.parametrize(
    ("arguments", "named", "wanted"),
    [
        (("get",), RESOLVE, "freehold resolve m1 vpc/vpc --mine -n team"),
        (("get", "--state", "my states/one"), RESOLVE,
         "freehold resolve --state 'my states/one' m1 vpc/vpc --mine -n team"),
        (("tree", "m1", "--kubeconfig", "k"), hint("get"), "freehold get --kubeconfig k"),
        (("down", "m1", "--state", "s"), hint("keys add", "FILE"), "freehold keys add --state s FILE"),
        (("keys", "list", "--kubeconfig", "k", "-n", "ops"), hint("keys accept", "x"),
         "freehold keys accept --kubeconfig k -n ops x"),
        (("down", "m1", "--kubeconfig", "k"), hint("serve"), "freehold serve"),
        (("up", "-f", "x", "--state", "s"), hint_for_files("up", ["a b", "c"], "", "--simulate"),
         "freehold up --state s -f 'a b' -f c --simulate"),
    ],
    ids=["nothing given", "state", "kubeconfig", "a command of a group", "the namespace of the ring",
         "serve has no kubeconfig", "manifests"],
)  # fmt: skip
def test_a_hint_has_the_options_that_say_where(arguments: tuple[str, ...], named: Hint, wanted: str) -> None:
    assert said(lambda: named, *arguments) == wanted


def test_outside_a_command_a_hint_has_no_options() -> None:
    assert str(RESOLVE) == "freehold resolve m1 vpc/vpc --mine -n team"


def test_each_named_command_takes_the_options() -> None:
    """A hint with an option that its command lacks is no hint."""
    for words in ("up", "down", "get", "tree", "plan", "orphans", "recover", "prune", "resolve", "serve", "keys list"):
        for option in ("--state", "--kubeconfig"):
            text = said(lambda words=words: hint(words), "get", option, "x")  # type: ignore[misc]  # a default binds the loop variable
            group: click.Command = cli
            for word in words.split():
                assert isinstance(group, click.Group)
                found = group.commands[word]
                group = found
            takes = {each for parameter in group.params for each in parameter.opts}
            assert (option in text) == (option in takes), words


def test_what_the_operator_wrote_is_left_as_it_is_and_the_options_are_said_beside_it() -> None:
    seen = view(BLOCKED)
    lines = said(lambda: "\n".join(attention(seen)), "get", "--state", "my s").splitlines()
    assert lines[0] == "blocked: vpc v: freehold resolve m1 -n team vpc/vpc --mine"
    assert lines[-1] == "add to commands in these messages: --state 'my s'"
    assert "add to" not in said(lambda: attention(seen), "get")


def test_kubectl_gets_the_kubeconfig_of_what_the_command_works_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the option kubectl would go to whatever cluster it knows."""
    monkeypatch.setenv("FREEHOLD_STATE", "/there")
    for arguments, file in (
        (("up", "-f", "x"), "/there/kubeconfig"), (("get", "--state", "s"), "s/kubeconfig"),
        (("get", "--kubeconfig", "my k"), "'my k'"),
    ):  # fmt: skip
        assert said(lambda: kubectl("get", "a"), *arguments) == f"kubectl --kubeconfig {file} get a"
    assert said(lambda: kubectl("get", "a"), "operator", "--kubeconfig", "k") == "kubectl get a"
    assert said(lambda: where(with_kubectl=True), "get", "--state", "s") == (
        "add to commands in these messages: --state s; to kubectl: --kubeconfig s/kubeconfig"
    )


@pytest.mark.parametrize("command", [("down", "nothing"), ("plan", "--down", "nothing")], ids=" ".join)
def test_what_a_refusal_names_can_be_pasted(command: tuple[str, ...], tmp_path: Path) -> None:
    state = tmp_path / "a state"
    refused = freehold(*command, "--state", str(state), *(["--simulate"] if command[0] == "down" else []))
    assert refused.returncode == 1
    hint = f"freehold get --state '{state}'"
    assert f"; {hint} shows what there is" in refused.stderr
    again = freehold(*shlex.split(hint)[1:])
    assert (again.returncode, again.stdout) == (0, "no clusters in namespace default\n")
