"""A name proves nothing: each row of the decision table for a named resource (ADR 3)."""

from __future__ import annotations

import pytest

from freehold.engine import errors
from freehold.engine import journal as journals
from freehold.engine.graph import Naming
from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Blocked, Category, Kept, Outcome, Ready, Reason, Surplus, Waiting
from freehold.engine.resources import NodeKey
from lab.cloud import Resource
from lab.life import OWNER, Life
from lab.outage import outage
from lab.spelling import PlainCodec
from lab.world import RING, MemoryWorld, node

CODEC = PlainCodec()
KEY = NodeKey("site", "home")
KEYS = RING.derive_keys(OWNER)
OLD = 3600.0


def _world(naming: Naming = Naming.DEFAULT, given: str = "") -> MemoryWorld:
    return MemoryWorld(nodes=[node("site/home", naming=naming, given=given)])


def _theirs(world: MemoryWorld, *tags: str, age: float = OLD, name: str = "c1-home") -> Resource:
    made = world.cloud.create("site", name, {}, creator="stranger", tags=frozenset(tags))
    made.theirs = frozenset(tags)
    world.clock.advance(age)
    return made


def _lost(world: MemoryWorld) -> Resource:
    """A resource that is ours by its seal, and that no journal records."""
    lost = world.cloud.create("site", "c1-home", {"role": "site/home"}, creator="freehold")
    seal = KEYS.seal(KEYS.writing, KEY, lost.target)
    world.cloud.attach(lost.target, CODEC.owner(OWNER) | {CODEC.node(KEY, seal)})
    world.clock.advance(OLD)
    return lost


def _living(world: MemoryWorld) -> set[tuple[str, bool]]:
    return {(thing.id, thing.ours) for thing in world.living()}


def _outcome(life: Life) -> Outcome:
    return life.create()["site/home"]


@pytest.mark.parametrize("naming", Naming, ids=lambda n: n.value)
def test_our_own_sealed_mark_makes_it_ours(naming: Naming) -> None:
    """The journal was lost: the marks show that it is ours, whatever its name is."""
    world = _world(naming)
    lost = _lost(world)
    outcome = _outcome(Life(world))
    assert isinstance(outcome, Ready)
    assert outcome.category is Category.MANAGED
    assert _living(world) == {(lost.id, True)}


@pytest.mark.parametrize("naming", Naming, ids=lambda n: n.value)
@pytest.mark.parametrize("age", (1.0, OLD), ids=("young", "old"))
def test_another_owners_mark_means_the_name_is_taken(naming: Naming, age: float) -> None:
    """docs/reference/requirements.md T12: an error on another uuid, though the spec names it."""
    world = _world(naming)
    theirs = _theirs(world, "owner:prod.c2", "uuid:another", age=age)
    outcome = _outcome(Life(world))
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.NAME_TAKEN
    assert theirs.id in outcome.message and "prod.c2" in outcome.message
    assert _living(world) == {(theirs.id, False)}
    assert not world.tampered()


@pytest.mark.parametrize("naming", Naming, ids=lambda n: n.value)
def test_copied_marks_prove_nothing(naming: Naming) -> None:
    """The seal was made for another resource."""
    world = _world(naming)
    seal = KEYS.seal(KEYS.writing, KEY, "crn:site:somewhere-else")
    theirs = _theirs(world, *CODEC.owner(OWNER), CODEC.node(KEY, seal))
    outcome = _outcome(Life(world))
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.NAME_TAKEN
    assert _living(world) == {(theirs.id, False)}


def test_an_unmarked_young_namesake_is_waited_for() -> None:
    """Its creator may not have marked it yet; once they have, the name is taken, although the spec names it."""
    world = _world(Naming.EXPLICIT)
    theirs = _theirs(world, age=1.0)
    life = Life(world)
    life.once()
    assert life.last is not None
    outcome = life.last.outcomes[KEY]
    assert isinstance(outcome, Waiting)
    assert outcome.reason is Reason.SETTLING
    world.cloud.attach(theirs.target, frozenset({"owner:prod.c2", "uuid:another"}), by="stranger")
    after = _outcome(life)
    assert isinstance(after, Blocked)
    assert after.reason is Reason.NAME_TAKEN


def test_an_unmarked_old_one_that_the_spec_names_is_used_and_never_changed() -> None:
    """docs/reference/requirements.md I10: use what exists; unmanaged: kept on delete, with the reason."""
    world = _world(Naming.EXPLICIT)
    theirs = _theirs(world)
    life = Life(world)
    outcome = _outcome(life)
    assert isinstance(outcome, Ready)
    assert outcome.category is Category.UNMANAGED
    assert life.journal.entries[KEY].state is RecordState.REUSED
    kept = life.delete()["site/home"]
    assert isinstance(kept, Kept)
    assert kept.reason is Reason.REUSED_BY_NAME
    assert _living(world) == {(theirs.id, False)}
    assert next(iter(world.living())).state == theirs.due


def test_an_unmarked_old_one_under_a_default_name_means_the_name_is_taken() -> None:
    """docs/reference/requirements.md T8: nothing is adopted because its name looks like ours."""
    world = _world()
    theirs = _theirs(world)
    outcome = _outcome(Life(world))
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.NAME_TAKEN
    assert theirs.id in outcome.message
    assert _living(world) == {(theirs.id, False)}


def test_of_several_with_one_name_none_is_chosen() -> None:
    world = _world(Naming.EXPLICIT)
    two = [_theirs(world).id, _theirs(world).id]
    outcome = _outcome(Life(world))
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.AMBIGUOUS
    assert all(ident in outcome.message for ident in two)


def test_of_several_with_one_name_the_one_with_our_seal_is_ours() -> None:
    """No list shows these tags: they are read one by one before a person is asked to choose."""
    world = _world()
    lost, theirs = _lost(world), _theirs(world)
    life = Life(world)
    assert isinstance(_outcome(life), Ready)
    assert life.journal.entries[KEY].id == lost.id
    assert _living(world) == {(lost.id, True), (theirs.id, False)}


def test_no_person_is_asked_to_choose_while_the_marks_of_several_cannot_be_read() -> None:
    """A user who follows the message puts the id of ours in the spec: it would count as given, and never be deleted."""
    world = _world()
    lost, _ = _lost(world), _theirs(world)
    life = Life(world)
    with outage(life, "tags_of", errors.Unavailable("503")):
        life.once()
    assert life.last is not None
    outcome = life.last.outcomes[KEY]
    assert isinstance(outcome, Waiting) and outcome.reason is Reason.RETRYING
    assert isinstance(_outcome(life), Ready)
    assert life.journal.entries[KEY].id == lost.id


def test_a_namesake_whose_tags_cannot_be_read_is_not_used() -> None:
    """The tags may name another owner, whose resource this object must not use although the spec names it."""
    world = _world(Naming.EXPLICIT)
    _theirs(world, "owner:prod.c2", "uuid:another")
    life = Life(world)
    with outage(life, "tags_of", errors.Unavailable("503")):
        life.once()
    assert life.last is not None
    assert isinstance(life.last.outcomes[KEY], Waiting)
    assert KEY not in life.journal.entries
    outcome = _outcome(life)
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NAME_TAKEN


def test_nothing_is_created_while_the_list_of_names_fails() -> None:
    """A failed list does not show that the name is free: a second resource would be created with that name."""
    world = _world()
    theirs = _theirs(world)
    life = Life(world)
    with outage(life, "find_site", errors.Unavailable("503")):
        for _ in range(5):
            done = life.once()
            assert done is not None and not done.creating
            world.clock.advance(max(done.after, 0.001))
    assert _living(world) == {(theirs.id, False)}


def test_a_namesake_that_is_being_deleted_is_waited_for() -> None:
    """Then ours is created; before that a cloud may refuse the name, or show two resources with it."""
    world = _world()
    theirs = _theirs(world)
    world.cloud.delete(theirs.id, "stranger")
    life = Life(world)
    life.once()
    assert life.last is not None
    outcome = life.last.outcomes[KEY]
    assert isinstance(outcome, Waiting) and outcome.reason is Reason.DELETING
    assert world.ours("site") is None
    assert isinstance(_outcome(life), Ready)
    assert [ours for _, ours in _living(world)] == [True]


def test_an_open_intent_comes_before_the_name() -> None:
    """A resource of our own create is ours, although it is young, unmarked and has a default name."""
    world = _world()
    life = Life(world)
    nonce = KEYS.nonce(KEYS.writing, KEY, 1)
    made = world.cloud.create("site", f"c1-home-{nonce}", {"role": "site/home"}, creator="freehold")
    intent = Entry(RecordState.INTENDED, opened=world.clock.now(), request={"name": "c1-home", "role": "site/home"})
    life.stored.versions.append(journals.dumps(life.journal.put(KEY, intent)))
    assert isinstance(_outcome(life), Ready)
    assert _living(world) == {(made.id, True)}


def test_a_resource_given_by_id_is_used_and_kept() -> None:
    world = _world()
    theirs = _theirs(world, name="theirs")
    world.nodes = [node("site/home", given=theirs.id)]
    life = Life(world)
    outcome = _outcome(life)
    assert isinstance(outcome, Ready)
    assert outcome.category is Category.UNMANAGED
    kept = life.delete()["site/home"]
    assert isinstance(kept, Kept)
    assert kept.reason is Reason.GIVEN
    assert _living(world) == {(theirs.id, False)}


def test_a_given_id_that_does_not_exist_is_reported_and_nothing_is_created() -> None:
    world = _world(given="site-404")
    outcome = _outcome(Life(world))
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.NOT_FOUND
    assert "site-404" in outcome.message
    assert not world.living()


def test_another_id_given_later_replaces_what_was_given() -> None:
    world = _world()
    one, two = _theirs(world, name="one"), _theirs(world, name="two")
    world.nodes = [node("site/home", given=one.id)]
    life = Life(world)
    _outcome(life)
    world.nodes = [node("site/home", given=two.id)]
    life.state.invalidate()
    _outcome(life)
    assert life.journal.entries[KEY].id == two.id


def test_an_id_given_in_place_of_ours_makes_ours_surplus_and_it_is_deleted_with_the_object() -> None:
    """The record of our resource must stay when the spec no longer wants it."""
    world = _world()
    life = Life(world)
    _outcome(life)
    ours = life.journal.entries[KEY].id
    theirs = _theirs(world, name="theirs")
    world.nodes = [node("site/home", given=theirs.id)]
    life.state.invalidate()
    outcomes = life.create()
    assert isinstance(outcomes["site/home"], Ready)
    assert any(isinstance(outcome, Surplus) and ours in outcome.message for outcome in outcomes.values())
    life.delete()
    assert life.last is not None and life.last.released
    assert _living(world) == {(theirs.id, False)}


def test_the_nonce_of_a_settled_attempt_identifies_nothing() -> None:
    """Somebody copied it while ours existed: a resource that has it now is not a forgotten create of ours."""
    world = _world()
    life = Life(world)
    life.create()
    site = world.ours("site")
    assert site is not None
    world.cloud.vanish(site.id)
    copy = world.cloud.create("site", f"c1-home-{KEYS.nonce(KEYS.writing, KEY, 1)}", {}, creator="stranger")
    world.clock.advance(OLD)
    life.invalidate()
    assert isinstance(_outcome(life), Ready)
    assert life.journal.entries[KEY].id != copy.id
    life.delete()
    assert _living(world) == {(copy.id, False)}


@pytest.mark.parametrize("attempt", (2, 4))
def test_a_resource_of_a_later_attempt_is_ours_although_a_restore_forgot_that_attempt(attempt: int) -> None:
    """The backup is from before those attempts, and the process died before it marked. Once a second was created."""
    world = _world()
    nonce = KEYS.nonce(KEYS.writing, KEY, attempt)
    made = world.cloud.create("site", f"c1-home-{nonce}", {"role": "site/home"}, creator="freehold")
    world.clock.advance(OLD)
    life = Life(world)
    life.restart()
    assert isinstance(_outcome(life), Ready)
    assert _living(world) == {(made.id, True)}
