"""Operations and what they come to on one resource (docs/reference/metadata-compat.md)."""

from dataclasses import replace

import pytest

from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.ibm.tag_dialect import IBM
from freehold.tags.policy.key_decision import Cause, LeaveReason
from freehold.tags.policy.ledger import ForeignValuePolicy, LedgerEntry, Proof
from freehold.tags.policy.operations import (
    Contradictions,
    Opcode,
    ParsedOperation,
    UnknownOpcode,
    WantedTag,
    merge,
    operation,
    parse_opcode,
)
from freehold.tags.policy.plan import PlanVerdict
from harness.tagged_fleet import add, applied, claim, delete, plan, reasons, removed, subnet, update, volume, wrote
from harness.tagged_fleet import written as writes


@pytest.mark.parametrize(
    ("text", "opcode"),
    [(None, Opcode.UPDATE), ("", Opcode.UPDATE), ("Add", Opcode.ADD), ("DELETE", Opcode.DELETE)],
    ids=["A3 update where there is none", "A3 empty", "A3 any case", "A3 upper case"],
)
def test_opcode_is_optional_and_in_any_case(text: str | None, opcode: Opcode) -> None:
    assert parse_opcode(text) is opcode


def test_unknown_opcode_names_the_known_ones() -> None:
    found = parse_opcode("replace")
    assert isinstance(found, UnknownOpcode)
    assert found.message == "an opcode is unknown: use one of add, update, delete ('replace')"


def test_a9_a10_foreign_tags_stay_whatever_is_written() -> None:
    """A10: nothing replaces the whole list."""
    done = plan(volume({"Name": "db", "cost": "7"}), claim(update(env="test")))
    assert applied(done).tags == volume({"Name": "db", "cost": "7", "env": "test"}).tags


class TestA11WhoSetTheValue:
    """A11: only keys that the record says we wrote are changed, except where an operation says more."""

    def test_update_takes_a_foreign_value_over_and_says_the_prior_one(self) -> None:
        done = plan(volume({"env": "prod"}), claim(update(env="test")))
        [upsert] = done.delta.upserts
        assert (upsert.value, upsert.seen, upsert.cause) == ("test", {"prod"}, Cause.FOREIGN)

    def test_add_errors_on_a_foreign_value(self) -> None:
        done = plan(volume({"env": "prod"}), claim(add(env="test", team="a")))
        assert reasons(done) == [("env", LeaveReason.TAG_EXISTS)]
        assert writes(done) == {"team": "a"}, "the other keys of the list are not held up"

    @pytest.mark.parametrize(
        ("policy", "reason"),
        [(ForeignValuePolicy.FAIL, LeaveReason.FOREIGN_VALUE), (ForeignValuePolicy.SKIP, LeaveReason.SKIPPED)],
    )
    @pytest.mark.parametrize("ours", [True, False], ids=["key of ours", "foreign key"])
    def test_the_policy_can_leave_it(self, policy: ForeignValuePolicy, reason: LeaveReason, ours: bool) -> None:
        record = wrote(env="test") if ours else {}
        done = plan(volume({"env": "prod"}), claim(update(env="test"), foreign=policy), record=record)
        assert (reasons(done), done.verdict) == ([("env", reason)], PlanVerdict.NOTHING_TO_DO)
        assert done.record_after == record

    def test_a_key_that_left_the_spec_is_removed_only_if_we_wrote_it(self) -> None:
        done = plan(volume({"env": "test", "team": "a"}), claim(), record=wrote(env="test"))
        assert removed(done) == {"env": {"test"}}
        assert done.record_after == {}

    def test_a_key_that_left_the_spec_stays_with_the_value_of_somebody_else(self) -> None:
        done = plan(volume({"env": "prod"}), claim(), record=wrote(env="test"))
        assert done.verdict is PlanVerdict.NOTHING_TO_DO
        assert done.record_after == {}, "it is no key of ours any more"

    def test_what_another_object_wrote_is_not_dropped_by_this_one(self) -> None:
        done = plan(volume({"env": "test"}), claim(name="second"), record=wrote("first", env="test"))
        assert done.verdict is PlanVerdict.NOTHING_TO_DO

    @pytest.mark.parametrize(("seen", "cause"), [({}, Cause.STRIPPED), ({"env": "prod"}, Cause.DRIFTED)])
    @pytest.mark.parametrize("opcode", [Opcode.ADD, Opcode.UPDATE])
    def test_a_key_of_ours_that_others_changed_is_repaired(
        self, seen: dict[str, str], cause: Cause, opcode: Opcode
    ) -> None:
        wanted = add(env="test") if opcode is Opcode.ADD else update(env="test")
        done = plan(volume(seen), claim(wanted), record=wrote(env="test"))
        assert [(each.value, each.cause) for each in done.delta.upserts] == [("test", cause)]

    def test_add_does_not_overwrite_where_a_crash_left_only_the_intention(self) -> None:
        """The record is stored before the write; a foreign writer can come in between."""
        record = {"env": LedgerEntry("uid-first", frozenset({"test"}), Proof.INTENDED)}
        done = plan(volume({"env": "prod"}), claim(add(env="test")), record=record)
        assert reasons(done) == [("env", LeaveReason.TAG_EXISTS)]

    def test_both_values_are_ours_while_one_replaces_the_other(self) -> None:
        """A crash can leave either; both are removed when the key leaves the spec."""
        begun = plan(volume({"env": "a"}), claim(update(env="b")), record=wrote(env="a"))
        for left in ("a", "b"):
            after_crash = plan(volume({"env": left}), claim(), record=begun.record_before)
            assert removed(after_crash) == {"env": {left}}


class TestA13AddIsLevelTriggered:
    def test_a_second_sync_of_add_succeeds(self) -> None:
        first = plan(volume({}), claim(add(env="test")))
        second = plan(applied(first), claim(add(env="test")), record=first.record_after)
        assert (second.verdict, second.notes) == (PlanVerdict.NOTHING_TO_DO, ())

    def test_an_equal_foreign_value_is_success_and_does_not_become_ours(self) -> None:
        done = plan(volume({"env": "test"}), claim(add(env="test")))
        assert (done.verdict, done.notes, done.record_after) == (PlanVerdict.NOTHING_TO_DO, (), {})
        dropped = plan(volume({"env": "test"}), claim(), record=done.record_after)
        assert dropped.verdict is PlanVerdict.NOTHING_TO_DO

    def test_a_new_value_in_the_spec_replaces_ours(self) -> None:
        done = plan(volume({"env": "a"}), claim(add(env="b")), record=wrote(env="a"))
        assert [each.cause for each in done.delta.upserts] == [Cause.OUTDATED]


def test_a14_delete_goes_on_as_long_as_the_object_says_so() -> None:
    wanted = claim(delete("env"))
    first = plan(volume({"env": "test"}), wanted)
    gone = applied(first)
    assert plan(gone, wanted, record=first.record_after).verdict is PlanVerdict.NOTHING_TO_DO
    assert removed(plan(volume({"env": "again"}), wanted, record=first.record_after)) == {"env": {"again"}}
    flipped = plan(gone, claim(update(env="test")), record=first.record_after)
    assert writes(flipped) == {"env": "test"}


@pytest.mark.parametrize(
    ("wanted", "value", "goes"),
    [
        (delete(env=""), "prod", True),
        (delete("env"), "prod", True),
        (delete(env="prod"), "prod", True),
        (delete(env="test"), "prod", False),
        (operation(Opcode.DELETE, {}, (), {"env": ""}), "", True),
        (operation(Opcode.DELETE, {}, (), {"env": ""}), "prod", False),
    ],
    ids=["A15 empty is any", "A15 tagkeys", "value fits", "value differs", "A15 exactly empty", "A15 not empty"],
)
def test_delete_removes_a_listed_key_whose_value_fits(wanted: ParsedOperation, value: str, goes: bool) -> None:
    done = plan(volume({"env": value}), claim(wanted))
    assert removed(done) == ({"env": {value}} if goes else {})
    assert reasons(done) == ([] if goes else [("env", LeaveReason.VALUE_DIFFERS)])


def test_a18_one_object_renames_with_a_list_of_operations() -> None:
    done = plan(volume({"environment": "test"}), claim(delete("environment"), update(env="test")))
    assert (removed(done), writes(done)) == ({"environment": {"test"}}, {"env": "test"})


def test_a18_operations_of_one_object_that_contradict_are_refused() -> None:
    found = merge(AWS, [update(env="a", team="x"), delete("env"), update(team="x")])
    assert isinstance(found, Contradictions)
    assert found.keys == ("env",)


def test_add_and_update_of_one_value_is_an_update_in_either_order() -> None:
    for operations in ([add(env="a"), update(env="a")], [update(env="a"), add(env="a")]):
        assert merge(AWS, operations) == {"env": WantedTag(Opcode.UPDATE, "a")}


def test_a30_delete_removes_a_foreign_key_but_never_a_protected_one() -> None:
    tags = {"env": "prod", "kubernetes.io/cluster/a": "owned", "openshift.io/x": "y"}
    done = plan(volume(tags), claim(delete(*tags)))
    assert removed(done) == {"env": {"prod"}}
    assert reasons(done) == [
        ("kubernetes.io/cluster/a", LeaveReason.PROTECTED),
        ("openshift.io/x", LeaveReason.IGNORED),
    ]


def test_a31_one_that_keeps_a_key_does_not_take_over_what_another_object_wrote() -> None:
    """Which may keep it too, with that value."""
    keeping = replace(claim(delete("own")), kept={"k": "1"})
    record = wrote("second", k="2")
    done = plan(volume({"k": "2"}), keeping, record=record)
    assert (done.verdict, done.notes, done.record_after) == (PlanVerdict.NOTHING_TO_DO, (), record)


class TestSeveralValuesOfAKey:
    """IBM Cloud can have env:test beside env:prod, and knows no case."""

    def test_case_is_no_difference(self) -> None:
        done = plan(subnet("Env:Test"), claim(update(ENV="TEST"), cloud=IBM))
        assert done.verdict is PlanVerdict.NOTHING_TO_DO

    def test_update_takes_over_what_is_beside_ours(self) -> None:
        done = plan(subnet("env:test", "env:prod"), claim(update(env="test"), cloud=IBM))
        assert [(each.value, each.seen) for each in done.delta.upserts] == [("test", {"test", "prod"})]

    def test_only_our_value_is_removed_when_the_key_leaves_the_spec(self) -> None:
        done = plan(subnet("env:test", "env:prod"), claim(cloud=IBM), record=wrote(env="test"))
        assert removed(done) == {"env": {"test"}}
        assert applied(done).tags == subnet("env:prod").tags

    def test_delete_with_a_value_removes_that_tag_alone(self) -> None:
        done = plan(subnet("env:test", "env:prod"), claim(delete(env="prod"), cloud=IBM))
        assert applied(done).tags == subnet("env:test").tags
