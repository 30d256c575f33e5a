"""The stored form of the journal: it is read as it was written, and an unreadable journal is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.engine import journal as journals
from freehold.engine.journal import CorruptJournal, Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, State
from harness.rows import over_rows

OWNER = Owner("uuid", "Kind", "ns", "name")
KEY = NodeKey("disk", "data")
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
ENTRIES = st.builds(
    Entry,
    state=st.sampled_from(RecordState),
    id=WORDS,
    target=WORDS,
    carried=st.booleans(),
    attempt=st.integers(0, 9),
    fails=st.integers(0, 9),
    opened=st.floats(0, 2e9),
    deleting=st.floats(0, 2e9),
    request=st.none() | st.dictionaries(WORDS, WORDS | st.integers() | st.lists(WORDS), max_size=3),
    earlier=st.lists(WORDS, max_size=2).map(tuple),
    signature=WORDS,
    tags=st.none() | st.lists(WORDS, max_size=2).map(tuple),
    had_effect=st.booleans(),
    gone=WORDS,
    candidates=st.lists(WORDS, max_size=2).map(tuple),
)
KEYS = st.builds(NodeKey, st.from_regex(r"[a-z-]{1,9}", fullmatch=True), WORDS)


@given(st.dictionaries(KEYS, ENTRIES, max_size=4), WORDS, st.booleans())
def test_a_written_journal_reads_back_equal(entries: dict[NodeKey, Entry], account: str, collects: bool) -> None:
    digest, tags = "abcdefghij" if collects else "", ("team=red",) if collects else ()
    attached = {account: journals.AttachedTags(tags, account, digest)}
    place = {"region": account, "identityRef": {"name": account}} if collects else {}
    owner = replace(OWNER, within="cluster") if collects else OWNER
    journal = Journal(
        owner, entries, account, frozenset(tags), digest, attached, account, collects, place, int(collects)
    )
    assert journals.loads(journals.dumps(journal)) == journal


@pytest.mark.parametrize("place", ("[]", '"r"', '{"region":7}', '{"identityRef":{"name":null}}', '{"a":[]}'))
def test_a_place_that_we_never_write_is_refused(place: str) -> None:
    with pytest.raises(CorruptJournal):
        journals.loads(f'{{"v":2,"owner":["u","k","n","m"],"nodes":{{}},"place":{place}}}')


@pytest.mark.parametrize("defaults", ("-1", "true", '"1"', "1.5", "null"))
def test_a_generation_of_defaults_that_we_never_write_is_refused(defaults: str) -> None:
    with pytest.raises(CorruptJournal):
        journals.loads(f'{{"v":2,"owner":["u","k","n","m"],"nodes":{{}},"defaults":{defaults}}}')


def test_a_time_may_be_a_whole_number() -> None:
    read = journals.loads('{"v":2,"owner":["u","k","n","m"],"nodes":{"disk/x":{"p":"o","o":7}}}')
    assert read.entries[NodeKey("disk", "x")].opened == 7.0


def test_equal_journals_are_equal_texts() -> None:
    """Otherwise a pass that changed nothing would write the object."""
    one = Journal(OWNER).put(KEY, Entry(RecordState.OWNED, "a")).put(NodeKey("net", "n"), Entry(RecordState.GIVEN, "b"))
    two = Journal(OWNER).put(NodeKey("net", "n"), Entry(RecordState.GIVEN, "b")).put(KEY, Entry(RecordState.OWNED, "a"))
    assert journals.dumps(one) == journals.dumps(two)


@over_rows(
    "text",
    (
        "",
        "not json",
        "null",
        "[]",
        "{}",
        '{"v":1,"owner":["u","k","n","m"],"nodes":{}}',
        '{"v":3,"owner":["u","k","n","m"],"nodes":{}}',
        '{"v":2,"owner":["u"],"nodes":{}}',
        '{"v":2,"owner":["u","k","n","m"]}',
        '{"v":2,"owner":["u","k","n","m"],"nodes":{"disk/x":{}}}',
        '{"v":2,"owner":["u","k","n","m"],"nodes":{"disk/x":{"p":"?"}}}',
        '{"v":2,"owner":["u","k","n","m"],"nodes":[]}',
        '{"v":2,"owner":["u","k","n","m"],"nodes":{},"gc":"true"}',
        '{"v":2,"owner":["u","k","n","m"],"nodes":{},"gc":1}',
        r'{"v":2,"owner":["u","k","n","m"],"nodes":{"disk/x":{"p":"o","id":"\udc00"}}}',
        '{"v":2,"owner":["u","k","n","m"],"nodes":{"disk/\ud800":{"p":"v"}}}',
    ),
)
def test_an_unreadable_journal_is_refused(text: str) -> None:
    """A guess would create resources twice or forget owned ones."""
    with pytest.raises(CorruptJournal):
        journals.loads(text)


def test_a_corrupt_journal_is_not_quoted() -> None:
    """The message goes into conditions; the annotation may contain anything."""
    with pytest.raises(CorruptJournal) as caught:
        journals.loads('{"v": "s3cret')
    assert "s3cret" not in str(caught.value)


def test_a_create_that_a_person_calls_without_effect_is_closed() -> None:
    journal = Journal(OWNER).put(KEY, Entry(RecordState.INTENDED, attempt=3, request={"name": "x"}))
    refused = journals.close_refused(journal, KEY).entries[KEY]
    assert (refused.state, refused.attempt) == (RecordState.VACANT, 4)


def test_only_an_open_create_can_be_closed() -> None:
    with pytest.raises(KeyError):
        journals.close_refused(Journal(OWNER).put(KEY, Entry(RecordState.OWNED, "id-1")), KEY)


def test_a_carried_id_is_kept_until_its_mark_is_off_the_carrier() -> None:
    carried = journals.end_attempt(Entry(RecordState.OWNED, "hub/l1", "crn:hub", carried=True, attempt=1), fails=0)
    own = journals.end_attempt(Entry(RecordState.OWNED, "d1", "crn:d1", attempt=1), fails=0)
    assert (carried.earlier, carried.target) == (("hub/l1",), "crn:hub")
    assert (own.earlier, own.target) == ((), "")


@over_rows(
    "row",
    (
        '{"p":"v","a":1000000000}',
        '{"p":"v","a":-1}',
        '{"p":"v","a":"1"}',
        '{"p":"v","k":["x"]}',
        '{"p":"v","k":"x; rm -rf"}',
        '{"p":"o","id":7}',
        '{"p":"o","o":"x"}',
        '{"p":"o","o":true}',
        '{"p":"o","d":NaN}',
        '{"p":"o","d":[]}',
        '{"p":"o","c":"yes"}',
        '{"p":"i","r":["name"]}',
        '{"p":"o","q":[1]}',
        '{"p":"v","e":[1]}',
        '{"p":"i","g":[1]}',
        '{"p":"i","h":"yes"}',
        '{"p":"v","n":7}',
    ),
)
def test_a_journal_that_we_never_write_is_refused(row: str) -> None:
    """Who may edit one object must not stop the operator for all, nor put a command into its messages."""
    with pytest.raises(CorruptJournal):
        journals.loads(f'{{"v":2,"owner":["u","k","n","m"],"nodes":{{"vpc/main":{row}}}}}')


@pytest.mark.parametrize(
    ("phase", "ours", "counts"),
    [
        (RecordState.INTENDED, True, True), (RecordState.RECORDED, True, True), (RecordState.OWNED, True, True),
        (RecordState.GIVEN, False, True), (RecordState.REUSED, False, True), (RecordState.VACANT, False, False),
        (RecordState.THEIRS, False, False), (RecordState.GIVEN_UP, False, False),
    ],
)  # fmt: skip
def test_what_the_phases_say_of_an_object(phase: RecordState, ours: bool, counts: bool) -> None:
    """What is ours is deleted with the object; what counts keeps the cluster's name for it."""
    journal = Journal(OWNER).put(KEY, Entry(phase, "id-1"))
    assert (KEY in journal.claimed, journal.begun, journal.is_empty) == (ours, counts, False)


@pytest.mark.parametrize(
    "saved", [{"account": "1"}, {"tags": frozenset({"a"})}, {"attached": {"crn": journals.AttachedTags()}}]
)
def test_a_journal_with_anything_but_an_identity_is_not_empty(saved: dict[str, object]) -> None:
    """Of an empty one the object may go without a look at the cloud."""
    assert Journal(OWNER).is_empty
    assert not replace(Journal(OWNER), **saved).is_empty


@pytest.mark.parametrize(
    ("entry", "attempt", "carrier"),
    [
        (Entry(RecordState.OWNED, "d1", "crn:d1", attempt=2), 3, ""),
        (Entry(RecordState.OWNED, "hub/l1", "crn:hub", carried=True, attempt=2), 3, "crn:hub"),
        (Entry(RecordState.GIVEN, "d2", "crn:hub", attempt=2, earlier=("hub/l0",)), 2, "crn:hub"),
        (Entry(RecordState.GIVEN, "d2", "crn:d2", attempt=0), 1, ""),
    ],
    ids=["its nonce is spent", "its carrier may hold more of ours", "and may hold what was there before", "given"],
)
def test_a_node_without_its_resource_keeps_its_attempts_and_its_carrier(
    entry: Entry, attempt: int, carrier: str
) -> None:
    vacant = journals.let_go(entry)
    assert (vacant.state, vacant.id, vacant.attempt) == (RecordState.VACANT, "", attempt)
    assert (vacant.target, vacant.carried, vacant.earlier) == (carrier, bool(carrier), entry.earlier)


def test_what_is_not_ours_has_no_attempt_of_ours_unless_one_was_made() -> None:
    """The attempt number is part of the nonce that proves a birth."""
    seen = Observed("d1", "theirs", State.READY, "crn:d1")
    assert journals.record_unmanaged(None, RecordState.GIVEN, seen).attempt == 0
    tried = Entry(RecordState.VACANT, attempt=3, earlier=("hub/l0",))
    recorded = journals.record_unmanaged(tried, RecordState.GIVEN, seen)
    assert (recorded.attempt, recorded.earlier) == (3, ("hub/l0",))


def test_an_intent_without_an_id_leaves_nothing_to_be_taken_off_its_carrier() -> None:
    assert journals.end_attempt(Entry(RecordState.INTENDED, "", "crn:hub", carried=True), fails=1).earlier == ()


@pytest.mark.parametrize(
    ("attempt", "spent", "then"), [(3, True, 4), (3, False, 3), (journals.MOST_REFUSED, True, 5000)]
)
def test_a_refused_create_goes_on_with_its_token_unless_that_is_spent(attempt: int, spent: bool, then: int) -> None:
    """Up to the number from which the token is kept, so that the journal stays readable."""
    open_ = Entry(RecordState.INTENDED, attempt=attempt, request={"name": "x"}, had_effect=True, tags=("a",))
    closed = journals.after_refusal(open_, token_spent=spent)
    assert closed == Entry(RecordState.VACANT, attempt=then)
