"""``freehold resolve`` where several creates may have made one resource, or one of them several: its commands work."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from freehold.cli.commands.recovery_commands import resolve
from freehold.cli.commands.resolve import _choose, _command, _Decided, _list_ways
from freehold.cli.errors import CliError
from freehold.controllers.recovery.open_decisions import Candidate, OpenDecision, match_candidates
from freehold.engine.journal import Entry, RecordState
from freehold.engine.resources import NodeKey, Observed, State
from freehold.kube.resources import Key
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

DEMO = _Decided(POWERVS_CLUSTERS, Key("prod", "demo"), "default")
COMMAND = "freehold resolve IBMPowerVSCluster/demo"
ONE, TWO = "eipalloc-1", "eipalloc-2"


def _question(name: str, *ids: str) -> OpenDecision:
    candidates = tuple(Candidate(Observed(ident, "", State.READY), "nothing speaks for it") for ident in ids)
    return OpenDecision(NodeKey("elastic-ip", name), Entry(RecordState.INTENDED), f"demo-{name}", candidates)


def _refused(found: list[OpenDecision], verdict: str, *asked: str) -> CliError:
    resource, ident = (*asked, "")[:2]
    with pytest.raises(CliError) as refused:
        _choose(found, (resource, ident), verdict, DEMO)
    return refused.value


def _understood(found: list[OpenDecision], command: str) -> list[tuple[str, str]]:
    """Which creates, and which resource of each, a command means that a message has."""
    context = resolve.make_context("resolve", shlex.split(command)[2:])
    given = context.params
    name, resource, ident = (*given["words"], "")[:3]
    assert name == "IBMPowerVSCluster/demo" and given["namespace"] == "prod"
    fit = match_candidates(found, resource, ident)
    return [(question.key.logical, one.observed.id if one else "") for question, one in fit]


def test_an_id_that_two_creates_may_have_made_is_told_with_the_commands_that_say_which() -> None:
    found = [_question("a", ONE, TWO), _question("b", ONE, TWO)]
    refused = _refused(found, "mine", ONE)
    assert refused.sentence == f"{ONE} fits several of what is to be decided: say which"
    assert [_understood(found, each) for each in refused.more] == [[("a", ONE)], [("b", ONE)]]


def test_a_create_that_may_have_made_several_is_told_with_the_commands_that_say_which() -> None:
    found = [_question("a", ONE, TWO), _question("b", ONE, TWO)]
    refused = _refused(found, "mine", "elastic-ip/a")
    assert [_understood(found, each) for each in refused.more] == [[("a", ONE)], [("a", TWO)]]


@pytest.mark.parametrize("asked", [(ONE,), ("a", ONE)], ids=["an id", "a create and an id"])
def test_of_several_one_cannot_be_called_not_mine(asked: tuple[str, ...]) -> None:
    """All of them would be given up, ours perhaps among them."""
    sentence = _refused([_question("a", ONE, TWO)], "not-mine", *asked).sentence
    assert ONE in sentence and TWO in sentence
    assert sentence.endswith(f"If it made none of them: {COMMAND} elastic-ip/a -n prod --not-mine")


def test_an_id_that_two_creates_may_have_made_is_of_neither() -> None:
    found = [_question("a", ONE, TWO), _question("b", ONE, TWO)]
    refused = _refused(found, "not-mine", ONE)
    assert refused.more == tuple(f"{COMMAND} elastic-ip/{name} -n prod --not-mine" for name in "ab")


def test_of_several_all_can_be_called_not_mine() -> None:
    found = [_question("a", ONE, TWO)]
    question, _ = _choose(found, ("elastic-ip/a", ""), "not-mine", DEMO)
    assert question is found[0]


@pytest.mark.parametrize("ident", [ONE, ""])
def test_the_command_that_decides_means_what_was_shown(ident: str) -> None:
    shared = [_question("a", ONE), _question("b", ONE)]
    for found in (shared, shared[:1]):
        command = str(_command(DEMO, found[0], ident, found))
        assert _understood(found, command) == [("a", ONE)]


@pytest.mark.parametrize("asked", [("elastic-ip/a",), ("elastic-ip/a", ONE), (ONE,)])
def test_what_could_not_be_read_is_not_none(asked: tuple[str, ...]) -> None:
    """Who is told that nothing could be it would say --not-mine."""
    found = [replace(_question("a"), unread="AWS could not describe addresses")]
    sentence = _refused(found, "mine", *asked).sentence
    assert "could not be read (AWS could not describe addresses)" in sentence and sentence.endswith("Try again")


def test_the_ways_to_decide_are_commands() -> None:
    found = [_question("a", ONE), _question("b", ONE, TWO), _question("c")]
    one = found[0].candidates[0]
    assert [_list_ways(DEMO, each, one if each is found[0] else None, found) for each in found] == [
        [
            f"{COMMAND} elastic-ip/a {ONE} -n prod --mine",
            f"{COMMAND} elastic-ip/a -n prod --not-mine",
        ],
        [
            f"{COMMAND} elastic-ip/b ID -n prod --mine",
            f"{COMMAND} elastic-ip/b -n prod --not-mine",
        ],
        [f"{COMMAND} elastic-ip/c -n prod --not-mine"],
    ]


def test_what_fits_nothing_is_said_with_what_was_asked() -> None:
    assert _refused([_question("a", ONE)], "mine", "a", TWO).sentence == f"{TWO} of a is none of what is to be decided"
