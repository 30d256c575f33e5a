"""Resources that are alike have one plan; what tells two of them apart gives each its own."""

import pytest

from freehold.tags.policy.key_decision import LeaveReason, Rules
from freehold.tags.policy.ledger import LedgerEntry, Proof, Record
from freehold.tags.policy.plan import Terms, plan_on, terms
from freehold.tags.policy.plan_resources import Plans
from freehold.tags.policy.precedence import Claim
from freehold.tags.policy.resources import TaggedResource
from harness.tagged_fleet import claim, delete, plain, reasons, update, volume, wrote

WANTED = claim(update(team="red"), delete("old"))
EIGHT = plain([f"z{number}" for number in range(8)])
BASE = EIGHT | {"z8": "v"}


def _terms(wanted: Claim = WANTED) -> Terms:
    return terms([wanted], Rules())


@pytest.mark.parametrize(
    ("other", "record"),
    [
        pytest.param(volume(EIGHT | {"team": "blue"}), {}, id="a wanted key has a value"),
        pytest.param(volume(EIGHT | {"old": "1"}), {}, id="a key to be deleted is there"),
        pytest.param(volume(EIGHT | {"freehold.dev/metadata": "ignore"}), {}, id="it is exempt"),
        pytest.param(volume(plain([f"z{number}" for number in range(50)])), {}, id="it is full"),
        pytest.param(volume(plain([f"z{number}" for number in range(10)]), "s3:object"), {}, id="its kind takes fewer"),
        pytest.param(volume(EIGHT | {"gone": "1"}), wrote(gone="1"), id="a key of ours is dropped"),
        pytest.param(volume(BASE), wrote(team="red"), id="a tag of ours was stripped"),
    ],
)
def test_what_a_plan_depends_on_tells_resources_apart(other: TaggedResource, record: Record) -> None:
    """Else a tag is written where the limit is reached, on an exempt resource, or with a value that was never seen."""
    plans, agreed = Plans(WANTED.claimant.uid), _terms()
    first = plans.plan_once(volume(BASE), agreed, {})
    own = plan_on(other, agreed, record, WANTED.claimant.uid)
    assert (own.delta, own.notes, own.record_before) != (first.delta, first.notes, first.record_before)
    assert plans.plan_once(other, agreed, record) == own


def test_the_value_of_a_key_of_ours_that_is_dropped_tells_resources_apart() -> None:
    """Else the value that somebody has set since is removed."""
    plans, agreed, record = Plans(WANTED.claimant.uid), _terms(), wrote(gone="1")
    ours, changed = volume(EIGHT | {"gone": "1"}), volume(EIGHT | {"gone": "2"})
    assert plans.plan_once(ours, agreed, record).delta.removals
    assert plans.plan_once(changed, agreed, record) == plan_on(changed, agreed, record, WANTED.claimant.uid)
    assert not plans.plan_once(changed, agreed, record).delta.removals


def test_whose_entry_it_is_tells_resources_apart() -> None:
    plans, agreed = Plans(WANTED.claimant.uid), _terms()
    theirs = {"gone": LedgerEntry("somebody", frozenset({"1"}), Proof.CONFIRMED)}
    found = volume(EIGHT | {"gone": "1"})
    assert plans.plan_once(found, agreed, wrote(gone="1")).delta.removals
    assert not plans.plan_once(found, agreed, theirs).delta.removals


def test_other_terms_make_another_plan() -> None:
    plans = Plans(WANTED.claimant.uid)
    kept = [_terms(), _terms(claim(update(team="blue")))]
    assert [plans.plan_once(volume(BASE), each, {}).delta.upserts[0].value for each in kept] == ["red", "blue"]


def test_a_note_names_its_own_resource() -> None:
    plans, agreed = Plans(WANTED.claimant.uid), _terms(claim(update(**plain([f"a{number}" for number in range(50)]))))
    first, second = volume(BASE), volume(BASE, arn="arn:aws:ec2:eu-west-1:1:volume/vol-2")
    for each in (first, second):
        done = plans.plan_once(each, agreed, {})
        assert reasons(done) == [("", LeaveReason.LIMIT_EXCEEDED)]
        assert each.id in done.notes[0].message
