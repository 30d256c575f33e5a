"""What costs a call for each resource is read once an hour; and documents have one spelling."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.providers.aws import policy_json
from freehold.providers.aws.attribute_cache import MAX_AGE, AttributeCache


class Hand:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_reading_counts_for_an_hour() -> None:
    hand = Hand()
    seldom = AttributeCache(hand)
    assert seldom.find_fresh("one") is None
    seldom.keep("one", {"idle_timeout": 60})
    hand.now += MAX_AGE - 1
    assert seldom.find_fresh("one") == {"idle_timeout": 60}
    hand.now += 1
    assert seldom.find_fresh("one") is None


def test_a_clock_that_went_back_makes_no_reading_young() -> None:
    hand = Hand()
    seldom = AttributeCache(hand)
    seldom.keep("one", {"idle_timeout": 60})
    hand.now -= 1
    assert seldom.find_fresh("one") is None


def test_what_was_changed_is_read_again() -> None:
    seldom = AttributeCache(Hand())
    seldom.keep("one", {"idle_timeout": 60})
    seldom.forget("one")
    seldom.forget("never known")
    assert seldom.find_fresh("one") is None


def test_what_has_gone_does_not_pile_up() -> None:
    hand = Hand()
    seldom = AttributeCache(hand)
    for number in range(100):
        seldom.keep(f"gone-{number}", {})
    for _ in range(2):  # for an hour more it is known that there was something
        hand.now += MAX_AGE
        seldom.keep("one", {})
    assert len(seldom._known) == 1


def test_what_was_known_is_worth_a_call_and_a_strangers_is_not() -> None:
    hand = Hand()
    seldom = AttributeCache(hand)
    seldom.keep("ours", {"idle_timeout": 60})
    hand.now += MAX_AGE
    assert (seldom.find_fresh("ours"), seldom.has_entry("ours"), seldom.has_entry("theirs")) == (None, True, False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"Action": ["a"]}, {"Action": "a"}),
        ({"Action": ["b", "a"]}, {"Action": ["a", "b"]}),
        ({"Bool": {"aws:SecureTransport": False}}, {"Bool": {"aws:SecureTransport": "false"}}),
        ({"Statement": [{"Sid": "x", "Effect": "Allow"}]}, {"Statement": {"Effect": "Allow", "Sid": "x"}}),
        ('{ "a" : 1 }', {"a": "1"}),
    ],
)
def test_policies_that_say_the_same(one: Any, other: Any) -> None:
    assert policy_json.canonical_policy(one) == policy_json.canonical_policy(other)


@pytest.mark.parametrize(("one", "other"), [({"Effect": "Allow"}, {"Effect": "Deny"}), ({"a": ["x", "y"]}, {"a": "x"})])
def test_policies_that_do_not(one: Any, other: Any) -> None:
    assert policy_json.short_digest(policy_json.canonical_policy(one)) != policy_json.short_digest(
        policy_json.canonical_policy(other)
    )


def test_a_text_that_is_no_document_is_itself() -> None:
    assert policy_json.canonical_policy("{not json") == "{not json"
