"""Records without a valid signature: an edited journal, a lost key, changed credentials."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.journal import Entry, RecordState
from freehold.engine.kinds import Registry
from freehold.engine.outcomes import Blocked, Kept, Ready, Reason
from freehold.engine.resources import NodeKey, Observed
from lab.cloud import Resource
from lab.life import Life
from lab.outage import outage
from lab.world import MemoryWorld, node

SITE = NodeKey("site", "home")


def _unsigned(life: Life, signature: str = "not a signature", *, of: Resource | None = None) -> None:
    """Its record, or one that names the resource ``of`` somebody else."""
    entry = replace(life.journal.entries[SITE], signature=signature)
    if of is not None:
        entry = replace(entry, id=of.id, target=of.target)
    life.rewrite(life.journal.put(SITE, entry))
    life.restart()


def _recorded() -> tuple[MemoryWorld, Life]:
    """The site is created and recorded, and not marked yet: its name still contains the nonce."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("503")):
        while SITE not in life.journal.entries or life.journal.entries[SITE].state is not RecordState.RECORDED:
            life.once()
            world.clock.advance(1.0)
    return world, life


@pytest.mark.parametrize("deleting", (False, True), ids=("wanted", "deleted"))
def test_an_unmarked_resource_is_judged_by_its_nonce_as_for_an_open_intent(deleting: bool) -> None:
    """The key changed between record and mark: once, a delete kept the resource and reported that it existed before."""
    world, life = _recorded()
    _unsigned(life)
    if not deleting:
        assert isinstance(life.create()["site/home"], Ready)
    life.delete()
    assert life.last is not None and life.last.released
    assert not world.living()


def test_a_signature_in_other_letters_is_none() -> None:
    """Whoever may edit the object can write them."""
    _, life = _recorded()
    _unsigned(life, signature="ж" * 16)
    assert isinstance(life.create()["site/home"], Ready)


def test_a_recorded_resource_without_proof_holds_the_finalizer_and_is_named() -> None:
    world, life = _recorded()
    theirs = world.cloud.create("site", "theirs", {}, creator="stranger")
    _unsigned(life, of=theirs)
    life.delete()
    assert life.last is not None and not life.last.released
    outcome = life.last.outcomes[SITE]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED
    assert theirs.id in outcome.message and f"freehold resolve c1 -n prod {SITE} --mine, and" in outcome.message
    # Its id replaced that of ours, which is deleted nevertheless: a record that is not ours does not use up the nonce.
    assert [thing.id for thing in world.living()] == [theirs.id]


def test_nothing_of_ours_waits_for_an_unproven_record() -> None:
    """A forged record must neither keep the network that its disk would be in, nor hide our own disk."""
    world = MemoryWorld(nodes=[node("net/main", size=1), node("disk/data", "net/main")])
    life = Life(world)
    life.create()
    theirs = world.cloud.create("disk", "theirs", {"net": ""}, creator="stranger")
    key = NodeKey("disk", "data")
    entry = replace(life.journal.entries[key], id=theirs.id, target=theirs.target)
    life.rewrite(life.journal.put(key, entry))
    life.restart()
    life.delete()
    assert [thing.id for thing in world.living()] == [theirs.id]
    assert life.last is not None and not life.last.released
    life.rewrite(life.journal.drop(key))
    life.delete()
    assert life.last.released


def test_a_resource_with_only_another_owners_marks_is_reported_as_theirs() -> None:
    """ "It existed before" is reported only of a resource that was first recorded so."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    world.steal("site")
    life.invalidate()
    life.delete()
    assert life.last is not None and life.last.released
    kept = life.last.outcomes[SITE]
    assert isinstance(kept, Kept) and "another owner" in kept.message and "existed before" not in kept.message
    assert len(world.living()) == 1 and not world.tampered()


@pytest.mark.parametrize("claim", ("claim_uuid", "claim_owner"))
def test_a_resource_that_two_owners_claim_waits_for_a_person(claim: str) -> None:
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    world.meddle(claim, "site")
    life.invalidate()
    life.delete()
    assert life.last is not None and not life.last.released
    outcome = life.last.outcomes[SITE]
    assert isinstance(outcome, Blocked) and "two owners" in outcome.message
    assert len(world.living()) == 1 and not world.tampered()


def test_a_resource_that_another_identity_created_does_not_resolve_our_intent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger who knew the nonce created it: it is neither taken nor ignored."""
    world, life = _recorded()
    (site,) = world.living()
    entry = life.journal.entries[SITE]
    opened = replace(entry, state=RecordState.INTENDED, id="", target="", signature="", by="iam-of-the-operator")
    life.rewrite(life.journal.put(SITE, replace(opened, request={"name": "c1-home", "role": "site/home"})))
    life.restart()
    shown = world.cloud.show

    def by_a_stranger(resource: Resource, at: float) -> Observed:
        return replace(shown(resource, at), created_by="iam-of-a-stranger")

    monkeypatch.setattr(world.cloud, "show", by_a_stranger)
    outcome = life.create()["site/home"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.AMBIGUOUS
    assert site.id in outcome.message and "iam-of-a-stranger" in outcome.message
    assert [thing.id for thing in world.living()] == [site.id]


def test_an_edited_journal_detaches_no_tag_of_a_stranger() -> None:
    """Target and user tags are not signed: tags are detached only from a target that a read of the resource showed."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    (site,) = world.living()
    theirs = world.cloud.create("site", "theirs", {}, creator="stranger")
    marks = frozenset({"owner:prod.c2", "uuid:another-uuid", "team:blue"})
    world.cloud.attach(theirs.target, marks, by="stranger")
    world.cloud.vanish(site.id)
    entry = replace(life.journal.entries[SITE], target=theirs.target)
    life.rewrite(replace(life.journal.put(SITE, entry), tags=marks))
    life.invalidate()
    for _ in range(5):
        life.once()
        world.clock.advance(20.0)
    assert theirs.tagged(world.cloud.now()) == marks


def test_a_forged_record_changes_nothing_after_a_failed_read() -> None:
    """Marks are read before the first write, also if the pass that should have read them failed to."""
    world = MemoryWorld(nodes=[node("net/main", size=1)])
    life = Life(world)
    life.create()
    theirs = world.cloud.create("net", "theirs", {"size": 7}, creator="stranger")
    key = NodeKey("net", "main")
    entry = replace(life.journal.entries[key], id=theirs.id, target=theirs.target, signature="forged")
    life.rewrite(life.journal.put(key, entry))
    life.restart()
    with outage(life, "list_net", errors.Unavailable("503"), times=1):
        life.once()
    for _ in range(5):
        life.once()
        world.clock.advance(30.0)
    assert not world.tampered()
    assert world.cloud.get(theirs.id).attributes["size"] == 7


def test_an_edited_list_of_earlier_ids_detaches_no_mark_of_a_living_resource() -> None:
    """The uuid of another object is public: its connections keep their marks, whoever records them as gone."""
    nodes = [node("net/main", size=1), node("hub/core"), node("link/a", "hub/core", "net/main")]
    world = MemoryWorld(nodes=nodes, given_hub=True)
    life = Life(world)
    life.create()
    hub = next(r for r in world.cloud.living() if r.kind == "hub")
    before = hub.tagged(world.cloud.now())
    link = life.journal.entries[NodeKey("link", "a")]
    forged = replace(link, state=RecordState.VACANT, id="", earlier=(link.id,))
    life.rewrite(life.journal.put(NodeKey("link", "forged"), forged))
    life.restart()
    life.create()
    assert hub.tagged(world.cloud.now()) == before


@pytest.mark.parametrize("deleting", (False, True), ids=("wanted", "being deleted"))
def test_an_id_that_somebody_recorded_before_the_first_pass_gets_no_mark_of_ours(deleting: bool) -> None:
    """A process that created the identity does not read marks first, nor those of a resource that is being deleted."""
    world = MemoryWorld(nodes=[node("site/home")])
    theirs = world.cloud.create("site", "theirs", {}, creator="stranger")
    world.clock.advance(3600.0)
    life = Life(world)
    forged = Entry(RecordState.RECORDED, theirs.id, theirs.target, key=life.journal.key, signature="forged")
    life.rewrite(life.journal.put(SITE, forged))
    if deleting:
        world.cloud.delete(theirs.id, "stranger")
        life.deleting = True
    done = life.once()
    assert done is not None
    assert theirs.tagged(world.cloud.now()) == frozenset()
    outcome = done.outcomes[SITE]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED


def test_a_carrier_that_is_no_longer_ours_is_not_marked_if_the_kind_needs_our_own() -> None:
    """The spec gives the hub by its id now: the mark would be on a stranger's resource, and never be detached."""
    world = MemoryWorld(nodes=[node("net/main"), node("hub/core"), node("link/a", "hub/core", "net/main")])
    life = Life(world)
    key, hub_key = NodeKey("link", "a"), NodeKey("hub", "core")

    def carried_by_ours() -> None:
        kinds = [replace(kind, carrier_owned=kind.name == "link") for kind in life.deps.registry.values()]
        life.deps = replace(life.deps, registry=Registry(kinds))

    carried_by_ours()
    while hub_key not in life.journal.entries or life.journal.entries[hub_key].state is not RecordState.OWNED:
        life.once()
        world.clock.advance(5.0)
    with outage(life, "attach", errors.Unavailable("503")):
        while key not in life.journal.entries or life.journal.entries[key].state is not RecordState.RECORDED:
            life.once()
            world.clock.advance(5.0)
    hub = world.cloud.get(life.journal.entries[hub_key].id)
    hub.creator, hub.tags = "stranger", []
    given = [each for each in world.nodes if each.key != hub_key]
    world.nodes = [*given, node("hub/core", given=hub.id)]
    life.rewrite(life.journal.drop(hub_key))
    life.restart()
    carried_by_ours()
    outcome = life.create()[str(key)]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.UNMARKABLE
    assert hub.tagged(world.cloud.now()) <= life.user_tags
