"""The stored form of the journal: it is read as it was written, and an unreadable journal is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.engine import journal as journals
from freehold.engine.journal import CorruptJournal, Entry, Journal, Phase
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey

OWNER = Owner("uuid", "Kind", "ns", "name")
KEY = NodeKey("disk", "data")
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
ENTRIES = st.builds(
    Entry,
    phase=st.sampled_from(Phase),
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
    journal = Journal(OWNER, entries, account, collects=collects)
    assert journals.loads(journals.dumps(journal)) == journal


def test_equal_journals_are_equal_texts() -> None:
    """Otherwise a pass that changed nothing would write the object."""
    one = Journal(OWNER).put(KEY, Entry(Phase.OWNED, "a")).put(NodeKey("net", "n"), Entry(Phase.GIVEN, "b"))
    two = Journal(OWNER).put(NodeKey("net", "n"), Entry(Phase.GIVEN, "b")).put(KEY, Entry(Phase.OWNED, "a"))
    assert journals.dumps(one) == journals.dumps(two)


@pytest.mark.parametrize(
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
    journal = Journal(OWNER).put(KEY, Entry(Phase.INTENDED, attempt=3, request={"name": "x"}))
    refused = journals.refuse(journal, KEY).entries[KEY]
    assert (refused.phase, refused.attempt) == (Phase.VACANT, 4)


def test_only_an_open_create_can_be_closed() -> None:
    with pytest.raises(KeyError):
        journals.refuse(Journal(OWNER).put(KEY, Entry(Phase.OWNED, "id-1")), KEY)


def test_a_carried_id_is_kept_until_its_mark_is_off_the_carrier() -> None:
    carried = journals.vacated(Entry(Phase.OWNED, "hub/l1", "crn:hub", carried=True, attempt=1), fails=0)
    own = journals.vacated(Entry(Phase.OWNED, "d1", "crn:d1", attempt=1), fails=0)
    assert (carried.earlier, carried.target) == (("hub/l1",), "crn:hub")
    assert (own.earlier, own.target) == ((), "")


@pytest.mark.parametrize(
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
