"""Secret values in a create: they reach the cloud and nothing else, and a repeat is sent only with the same ones."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine import journal as journals
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Action, Overlay
from freehold.engine.engine import ensure
from freehold.engine.journal import Journal, RecordState
from freehold.engine.keys import KeyRing, digest_of
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.port import ReadOnlyPort
from freehold.engine.resources import NodeKey
from freehold.engine.secret_values import (
    GZIP,
    REFERENCE,
    SecretValue,
    compress,
    find_references,
    reference,
    remove_secret_values,
    withhold,
)
from harness.stepping import run_blocking
from lab import faults
from lab.cloud import Resource
from lab.faults import Script
from lab.life import Life
from lab.machines import FIRST_DATA, OTHER_DATA, SECRET, MachineWorld
from lab.outage import outage
from lab.world import node

MACHINE = NodeKey("machine", "node")
TEXT = "correct-horse-battery"


def _machines(world: MachineWorld) -> list[Resource]:
    return [r for r in world.cloud.living() if r.kind == "machine"]


def _number(operation: str) -> int:
    golden = Life(MachineWorld())
    golden.create()
    return next(i for i, call in enumerate(golden.port.calls) if call.operation == operation)


def _dead_at_create(world: MachineWorld, fault: faults.Fault = faults.AFTER) -> Life:
    """The process has died at the create of the machine; its successor has not begun."""
    life = Life(world, Script({_number("create_machine"): fault}))
    while not life.crashes:
        done = life.once()
        world.clock.advance(max(done.after, 0.001) if done else 0.001)
    return life


def _sent(world: MachineWorld) -> int:
    return len([r for r in world.requests() if r.operation == "memory.create_machine"])


def test_the_cloud_gets_the_value_and_the_record_a_reference_and_a_digest() -> None:
    world = MachineWorld()
    life = _dead_at_create(world)
    (made,) = _machines(world)
    assert made.secret_value == FIRST_DATA.decode()
    request = life.journal.entries[MACHINE].request
    assert request is not None
    assert request["user_data"][REFERENCE] == SECRET
    assert len(request["user_data"]["digest"]) == 32
    assert not world.revealed()


def test_a_digest_cannot_be_tried_against_values() -> None:
    """It is made with the operator's key, so another operator's of the same value is another one."""
    world = MachineWorld()
    life = _dead_at_create(world)
    request = life.journal.entries[MACHINE].request
    assert request is not None
    place = f"/user_data\0{SECRET}"
    ours = life.keys.secret_digest(life.keys.writing, MACHINE, place, FIRST_DATA)
    assert request["user_data"]["digest"] == ours
    other = replace(life.keys, derived={life.keys.writing: b"another operator's key" * 2})
    assert other.secret_digest(life.keys.writing, MACHINE, place, FIRST_DATA) != ours


def test_a_repeat_reads_the_secret_again() -> None:
    """Nothing but the token shows what the first request made."""
    world = MachineWorld()
    life = _dead_at_create(world)
    world.strip("machine")
    assert isinstance(life.create()["machine/node"], Ready)
    assert len(_machines(world)) == 1 and _sent(world) == 2


def test_a_new_writing_key_does_not_make_it_another_secret() -> None:
    """The digest is compared under the key that it was recorded with."""
    world = MachineWorld()
    life = _dead_at_create(world)
    world.strip("machine")
    new = b"a newer key of the laboratory's!"
    world.ring = KeyRing(digest_of(new), {**world.ring.keys, digest_of(new): new})
    life.restart()
    assert isinstance(life.create()["machine/node"], Ready)
    assert len(_machines(world)) == 1 and _sent(world) == 2


def _changed(world: MachineWorld) -> None:
    world.secrets[SECRET] = OTHER_DATA


def _deleted(world: MachineWorld) -> None:
    del world.secrets[SECRET]


@pytest.mark.parametrize("happens", (_changed, _deleted))
def test_a_create_whose_secret_is_another_one_is_found_and_not_sent_again(
    happens: Callable[[MachineWorld], None],
) -> None:
    world = MachineWorld()
    life = _dead_at_create(world)
    happens(world)
    assert isinstance(life.create()["machine/node"], Ready)
    assert len(_machines(world)) == 1 and _sent(world) == 1


@pytest.mark.parametrize("happens", (_changed, _deleted))
def test_a_create_whose_secret_is_another_one_is_not_sent_again_if_nothing_finds_it(
    happens: Callable[[MachineWorld], None],
) -> None:
    """Under its token the cloud would say that it is another request. A person is told of what has the name."""
    world = MachineWorld()
    life = _dead_at_create(world)
    world.strip("machine")
    happens(world)
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NAME_TAKEN
    assert len(_machines(world)) == 1 and _sent(world) == 1


def test_what_had_no_effect_is_made_with_the_new_value() -> None:
    """The process died before the request was sent, and the secret was renewed."""
    world = MachineWorld()
    life = _dead_at_create(world, faults.BEFORE)
    _changed(world)
    assert isinstance(life.create()["machine/node"], Ready)
    (made,) = _machines(world)
    assert made.secret_value == OTHER_DATA.decode()
    assert life.journal.entries[MACHINE].attempt == 2


def test_without_its_secret_nothing_is_created() -> None:
    world = MachineWorld(secrets={})
    life = Life(world)
    outcomes = life.create()
    outcome = outcomes["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_FOUND and SECRET in outcome.message
    assert isinstance(outcomes["net/main"], Ready)
    assert not _sent(world)
    world.secrets[SECRET] = FIRST_DATA
    life.invalidate()
    assert isinstance(life.create()["machine/node"], Ready)


@pytest.mark.parametrize("error", (errors.Unavailable("503"), errors.Denied("may not read Secrets")), ids=repr)
def test_a_secret_that_cannot_be_read_says_nothing_of_what_a_create_made(error: errors.CloudError) -> None:
    """The create is neither sent again nor given up."""
    world = MachineWorld()
    life = _dead_at_create(world)
    world.strip("machine")
    with outage(life, "read_secret", error):
        for _ in range(20):
            life.once()
            world.clock.advance(30.0)
        assert MACHINE in life.journal.open and _sent(world) == 1
    assert isinstance(life.create()["machine/node"], Ready)
    assert len(_machines(world)) == 1


Forge = Callable[[Life, dict[str, object]], dict[str, object]]


def _other_secret(life: Life, request: dict[str, object]) -> dict[str, object]:
    return {**request, "user_data": {**request["user_data"], REFERENCE: "admin/token"}}


def _without_digest(life: Life, request: dict[str, object]) -> dict[str, object]:
    return {**request, "user_data": reference("admin/token")}


def _moved(life: Life, request: dict[str, object]) -> dict[str, object]:
    return {**request, "name": request["user_data"]}


@pytest.mark.parametrize("forge", (_other_secret, _without_digest, _moved))
def test_whoever_may_edit_the_journal_cannot_have_a_secret_sent(forge: Forge) -> None:
    """Another Secret in the user data of a machine could be read there, and a name can be read by everybody."""
    world = MachineWorld(secrets={SECRET: FIRST_DATA, "admin/token": b"the token of an admin"})
    life = _dead_at_create(world, faults.BEFORE)
    entry = life.journal.entries[MACHINE]
    assert entry.request is not None
    life.rewrite(life.journal.put(MACHINE, replace(entry, request=forge(life, dict(entry.request)))))
    life.create()
    asked = [str(r.asked) for r in world.cloud.log]
    assert not [text for text in asked if "the token of an admin" in text]
    assert not [r for r in world.cloud.log if TEXT in r.names[0][1]]


def test_a_digest_counts_for_its_own_node_only() -> None:
    """Otherwise the user data of one machine could be read on another."""
    life = _dead_at_create(MachineWorld(), faults.BEFORE)
    other = NodeKey("machine", "other")
    life.rewrite(life.journal.put(other, life.journal.entries[MACHINE]).drop(MACHINE))
    life.once()
    assert other in life.journal.open
    assert isinstance(life.world, MachineWorld) and not _sent(life.world)


def _shaped(form: str = GZIP, span: tuple[int, int] | None = (0, 30)) -> MachineWorld:
    """A machine that gets a piece of its secret, compressed."""
    world = MachineWorld()
    machine = node("machine/node", "net/main", user_data=reference(SECRET, form=form, span=span))
    world.nodes = [machine if each.key == MACHINE else each for each in world.nodes]
    return world


def test_the_cloud_gets_the_piece_of_a_secret_that_the_request_says() -> None:
    world = _shaped()
    life = _dead_at_create(world)
    (made,) = _machines(world)
    assert made.secret_value == compress(FIRST_DATA)[:30].decode(errors="replace")
    request = life.journal.entries[MACHINE].request
    assert request is not None
    assert {**request["user_data"], "digest": ""} == {REFERENCE: SECRET, "as": "gzip", "bytes": [0, 30], "digest": ""}
    assert not world.revealed()
    world.strip("machine")
    assert isinstance(life.create()["machine/node"], Ready)
    assert len(_machines(world)) == 1 and _sent(world) == 2, "the repeat has the same piece"


def test_the_pieces_of_a_secret_are_the_secret() -> None:
    request = [reference(SECRET, form=GZIP, span=(first, first + 20)) for first in (0, 20, 40, 60)]
    assert b"".join(one.transform(FIRST_DATA) for one in find_references(request)) == compress(FIRST_DATA)
    assert gzip.decompress(compress(FIRST_DATA)) == FIRST_DATA


def test_a_kept_piece_is_no_drift() -> None:
    world = _shaped()
    world.lasting = ("user_data",)
    outcome = Life(world).create()["machine/node"]
    assert isinstance(outcome, Ready) and not outcome.note


def _whole(life: Life, request: dict[str, object]) -> dict[str, object]:
    return {**request, "user_data": {**request["user_data"], "bytes": None}}


def _more(life: Life, request: dict[str, object]) -> dict[str, object]:
    return {**request, "user_data": {**request["user_data"], "bytes": [0, 60]}}


def _no_bytes(life: Life, request: dict[str, object]) -> dict[str, object]:
    return {**request, "user_data": {**request["user_data"], "bytes": [30]}}


def _as_it_is(life: Life, request: dict[str, object]) -> dict[str, object]:
    return {**request, "user_data": {**request["user_data"], "as": ""}}


@pytest.mark.parametrize("forge", (_whole, _more, _no_bytes, _as_it_is))
def test_whoever_may_edit_the_journal_cannot_have_more_of_a_secret_sent(forge: Forge) -> None:
    world = _shaped()
    life = _dead_at_create(world, faults.BEFORE)
    entry = life.journal.entries[MACHINE]
    assert entry.request is not None
    life.rewrite(life.journal.put(MACHINE, replace(entry, request=forge(life, dict(entry.request)))))
    assert isinstance(life.create()["machine/node"], Ready)
    piece = compress(FIRST_DATA)[:30].decode(errors="replace")
    assert {made.secret_value for made in _machines(world)} == {piece}


@pytest.mark.parametrize(
    ("form", "span", "said"),
    [(GZIP, (500, 600), "no bytes 500 to 600"), (GZIP, (9, 9), "no bytes 9 to 9"), ("zstd", None, "form 'zstd'")],
)
def test_what_cannot_be_made_of_a_secret_is_told_and_nothing_is_sent(
    form: str, span: tuple[int, int] | None, said: str
) -> None:
    world = _shaped(form, span)
    outcome = Life(world).create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.INVALID
    assert SECRET in outcome.message and said in outcome.message
    assert not _sent(world)


def test_nonsense_in_place_of_a_span_is_no_span() -> None:
    for nonsense in ([1], "0", [0, "9"], [True, 9], {}, 7):
        (one,) = find_references({REFERENCE: SECRET, "bytes": nonsense})
        with pytest.raises(errors.Invalid):
            one.transform(FIRST_DATA)


def test_a_request_that_refers_to_no_secret_is_recorded_as_it_is() -> None:
    """Journals of other kinds go on unchanged."""
    life = Life(MachineWorld(nodes=[node("net/main", size=1)]))
    life.once()
    request = life.journal.entries[NodeKey("net", "main")].request
    assert request == {"name": "c1-main", "role": "net/main", "size": 1}


def test_a_kept_reference_is_no_drift() -> None:
    """What a create decides for life is kept with its digest, and the spec says it without one."""
    world = MachineWorld(lasting=("user_data",))
    life = Life(world)
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Ready) and not outcome.note
    kept = life.journal.entries[MACHINE].request
    assert kept is not None and [one.reference for one in find_references(kept)] == [SECRET]
    world.nodes = [
        node("machine/node", "net/main", user_data=reference("other/value")) if n.key == MACHINE else n
        for n in world.nodes
    ]
    life.invalidate()
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Ready) and outcome.reason is Reason.DRIFTED
    assert "other/value" in outcome.note and "digest" not in outcome.note


def test_a_refusal_that_repeats_the_request_is_told_without_the_value() -> None:
    world = MachineWorld()
    world.cloud.full.add("machine")
    life = Life(world)
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.QUOTA
    assert f"(secret {SECRET})" in outcome.message and TEXT not in outcome.message
    assert not world.revealed()


def test_a_plan_does_not_show_the_value() -> None:
    world = MachineWorld()
    life = Life(world)
    life.create()
    world.strike("machine")
    world.nodes = [node("net/main", size=1), node("machine/other", "net/main", user_data=reference(SECRET))]
    life.invalidate()
    overlay = Overlay(world.clock)
    deps = dry_run_deps(world.deps(ReadOnlyPort(life.port)), overlay)
    run_blocking(ensure(deps, world.graph(), life.journal, _Unsaved(), life.state.dry_run_copy()))
    (planned,) = [write for write in overlay.writes if write.kind == "machine"]
    assert planned.action is Action.CREATE
    assert f"(secret {SECRET})" in repr(planned) and TEXT not in repr((overlay.writes, overlay.created))


class _Unsaved:
    async def save(self, journal: Journal) -> None:
        """A plan stores nothing."""


def test_a_value_is_shown_by_nothing_that_prints_it() -> None:
    value = SecretValue(SECRET, FIRST_DATA)
    assert TEXT not in f"{value} {value!r} {[value]} {json.dumps([value], default=str)}"
    with pytest.raises(TypeError):
        json.dumps({"user_data": value})


@pytest.mark.parametrize(
    "text",
    (
        f"bad request: {FIRST_DATA.decode()}",
        f"bad line: 'password: {TEXT}'",
        f"bad data: {base64.b64encode(FIRST_DATA).decode()}",
        json.dumps({"UserData": FIRST_DATA.decode()}),
    ),
    ids=("whole", "one line", "as base64", "as JSON"),
)
def test_no_form_of_a_value_is_left_in_a_message(text: str) -> None:
    hidden = (SecretValue(SECRET, FIRST_DATA),)
    shown = remove_secret_values({"said": [text]}, hidden)["said"][0]
    assert TEXT not in shown and base64.b64encode(FIRST_DATA).decode() not in shown


def test_what_an_error_was_caused_by_is_told_without_the_value_too() -> None:
    """A traceback in the log prints the whole chain."""
    vendors = ValueError(f"password: {TEXT}")
    error = errors.Invalid(f"refused: password: {TEXT}")
    error.__cause__ = vendors
    withhold(error, (SecretValue(SECRET, FIRST_DATA),))
    assert TEXT not in f"{error} {error.message} {vendors}"


def test_no_secret_is_left_in_any_version_of_the_record() -> None:
    life = Life(MachineWorld())
    life.create()
    life.delete()
    assert not [text for text in life.stored.versions if TEXT in text]
    assert [text for text in life.stored.versions if SECRET in text]
    phases = {journals.loads(text).entries[MACHINE].state for text in life.stored.versions if "machine/node" in text}
    assert RecordState.OWNED in phases
