"""Which resources, how many tags, and which keys (docs/reference/metadata-compat.md)."""

import pytest

from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.ibm.tag_dialect import IBM
from freehold.tags.policy.classifiers import Classifiers, Query, Selection, TagCondition, find_released, queries, select
from freehold.tags.policy.key_decision import LeaveReason, Rules
from freehold.tags.policy.ledger import ForeignValuePolicy, Record
from freehold.tags.policy.limits import LimitPolicy, limit_of
from freehold.tags.policy.operations import Opcode, ParsedOperation, operation
from freehold.tags.policy.plan import Delta, PlanVerdict
from freehold.tags.policy.precedence import Claim
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.policy.sync_period import ShortPeriod, UnparsableDuration, parse_sync_period, with_jitter
from harness.rows import over_rows
from harness.tagged_fleet import (
    VOLUME,
    add,
    applied,
    claim,
    delete,
    plain,
    plan,
    plan_resource,
    reasons,
    removed,
    subnet,
    update,
    volume,
    written,
    wrote,
)

FOREIGN_47 = plain([f"z{number}" for number in range(47)])
FIVE = update(e="1", d="1", c="1", b="1", a="1")


# --- limits ------------------------------------------------------------------------------------


def test_a8_strict_is_the_default() -> None:
    done = plan(volume(FOREIGN_47), claim(FIVE))
    assert reasons(done) == [("", LeaveReason.LIMIT_EXCEEDED)]


def test_a9_partial_keeps_what_is_there_then_sorts_then_trims() -> None:
    done = plan(volume(FOREIGN_47), claim(FIVE, limit=LimitPolicy.PARTIAL))
    assert written(done) == {"a": "1", "b": "1", "c": "1"}
    assert reasons(done) == [("d", LeaveReason.TRIMMED), ("e", LeaveReason.TRIMMED)]


def test_a9_sorts_by_code_point() -> None:
    full = plain([f"z{number}" for number in range(49)])
    done = plan(volume(full), claim(update(é="1", a="1", B="1"), limit=LimitPolicy.PARTIAL))
    assert written(done) == {"B": "1"}


@pytest.mark.parametrize("value", ["1", "2"], ids=["as it was", "with another value"])
def test_a9_what_is_ours_makes_room_for_a_new_key_that_sorts_first(value: str) -> None:
    """Else the list on a resource would hang on what was asked for before."""
    full = plain([f"z{number}" for number in range(49)]) | {"m": "1"}
    wanted = claim(update(a="1", m=value), limit=LimitPolicy.PARTIAL)
    done = plan(volume(full), wanted, record=wrote(m="1"))
    assert (written(done), removed(done), reasons(done)) == ({"a": "1"}, {"m": {"1"}}, [("m", LeaveReason.TRIMMED)])
    assert done.record_after == wrote(a="1")


def test_a9_what_others_put_on_goes_before_ours_also_where_it_sorts_last() -> None:
    """The list would take it over, and it is beyond the limit: it stays as somebody else set it."""
    full = plain([f"t{number}" for number in range(48)]) | {"z": "theirs"}
    done = plan(volume(full), claim(update(a="1", b="1", z="1"), limit=LimitPolicy.PARTIAL))
    assert (written(done), removed(done)) == ({"a": "1"}, {})


def test_a25_a_strict_list_that_does_not_fit_keeps_what_it_holds() -> None:
    """Somebody changed one of its tags and took another one off; nothing new is written, and no new value either."""
    held = wrote(a="1", b="1", c="old")
    done = plan(volume(FOREIGN_47 | {"a": "theirs", "c": "old"}), claim(FIVE), record=held)
    assert (written(done), removed(done)) == ({"a": "1", "b": "1"}, {})
    assert (reasons(done), done.record_after) == ([("", LeaveReason.LIMIT_EXCEEDED)], held)


def test_a25_strict_is_all_or_nothing_before_any_write() -> None:
    """A change of a value needs no room, and is held back all the same: the list is applied whole or not at all."""
    done = plan(volume(FOREIGN_47 | {"a": "old"}), claim(FIVE), record=wrote(a="old"))
    assert (done.verdict, done.record_after) == (PlanVerdict.NOTHING_TO_DO, wrote(a="old"))
    assert VOLUME in done.notes[0].message


def test_a25_removals_make_room_in_the_same_plan() -> None:
    done = plan(volume(FOREIGN_47), claim(FIVE, delete("z0", "z1")))
    assert (len(done.delta.removals), len(done.delta.upserts), done.notes) == (2, 5, ())


def test_a25_one_resource_that_is_full_does_not_fail_the_others() -> None:
    assert len(plan(volume({}), claim(FIVE)).delta.upserts) == 5


def test_an_older_object_gets_the_room_first() -> None:
    older = claim(update(y="1", x="1"), created=1.0)
    younger = claim(update(a="1", b="1"), name="second", created=2.0, limit=LimitPolicy.PARTIAL)
    done = plan(volume(FOREIGN_47), younger, older)
    assert written(done) == {"x": "1", "y": "1", "a": "1"}


@pytest.mark.parametrize(
    ("resource", "limit"),
    [
        (volume({}), 50),
        (volume({}, kind="s3:object"), 10),
        (volume({}, kind="s3:bucket"), 50),
        (subnet(), 1000),
    ],
    ids=["A26 default", "A26 S3 object", "A26 S3 bucket", "A26 IBM"],
)
def test_limit_is_that_of_the_kind(resource: TaggedResource, limit: int) -> None:
    assert limit_of(resource) == limit


def test_a26_tags_of_aws_itself_do_not_count() -> None:
    own = {"aws:cloudformation:stack-name": "s", "AWS:x": "y", "aws:z": ""}
    assert len(plan(volume(FOREIGN_47 | own), claim(update(a="1", b="1", c="1"))).delta.upserts) == 3


# --- classifiers -------------------------------------------------------------------------------


def any_of(*conditions: tuple[str, str], **narrowed: frozenset[str]) -> Classifiers:
    return Classifiers(frozenset(TagCondition(*each) for each in conditions), **narrowed)


def test_a19_or_is_a_query_for_each_key_and_equal_classifiers_share_it() -> None:
    found = queries([any_of(("env", "test"), ("team", "a")), any_of(("env", "dev")), any_of(("team", "a"))])
    assert found == (Query("env", ("dev", "test")), Query("team", ("a",)))


def test_a19_a_query_has_at_most_20_values() -> None:
    found = queries([any_of(*(("env", f"v{number:02}") for number in range(41)))])
    assert [len(query.values) for query in found] == [20, 20, 1]


def test_a19_either_classifier_selects() -> None:
    wanted = any_of(("env", "test"), ("team", "a"))
    assert select(wanted, volume({"team": "a", "env": "prod"})) is Selection.SELECTED
    assert select(wanted, volume({"team": "b"})) is Selection.NOT_CLASSIFIED


@pytest.mark.parametrize(
    ("tags", "selection"),
    [
        pytest.param({"a": "1"}, Selection.NOT_ALL_MATCH, id="neither of matchAll"),
        pytest.param({"a": "1", "b": "1"}, Selection.NOT_ALL_MATCH, id="one of matchAll"),
        pytest.param({"a": "1", "b": "1", "c": "1"}, Selection.SELECTED, id="both of matchAll"),
        pytest.param({"a": "1", "b": "1", "c": "1", "x": "1"}, Selection.EXCLUDED, id="one of notMatch"),
        pytest.param({"a": "1", "b": "1", "c": "1", "y": "1"}, Selection.EXCLUDED, id="the other one of notMatch"),
    ],
)
def test_with_two_conditions_all_must_match_and_either_excludes(tags: dict[str, str], selection: Selection) -> None:
    first, second = (frozenset(TagCondition(key, "1") for key in keys) for keys in ("bc", "xy"))
    assert select(Classifiers(frozenset({TagCondition("a", "1")}), first, second), volume(tags)) is selection


def test_a20_empty_classifiers_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="there is no classifier"):
        any_of()


@pytest.mark.parametrize(
    ("key", "values"), [("", ("a",)), ("", None), ("env", ())], ids=["no key", "no key, any value", "no value"]
)
def test_a20_a_query_that_would_find_the_whole_account_cannot_be_made(key: str, values: tuple[str, ...] | None) -> None:
    """An empty value is one, which AWS knows; None is any value of the key."""
    with pytest.raises(ValueError, match="the whole account"):
        Query(key, values)
    assert [Query("env", each).values for each in (("",), None)] == [("",), None]


@pytest.mark.parametrize(
    ("value", "found"),
    [("*", "test"), ("t?st", "test"), ("", "test"), ("Test", "test")],
    ids=["A21 star", "A21 question mark", "A21 empty is empty", "A21 case"],
)
def test_classifier_is_compared_exactly(value: str, found: str) -> None:
    assert select(any_of(("env", value)), volume({"env": found})) is Selection.NOT_CLASSIFIED
    assert select(any_of(("env", value)), volume({"env": value})) is Selection.SELECTED


def test_a21_case_is_no_difference_on_ibm_cloud() -> None:
    assert select(any_of(("Env", "Test")), subnet("env:test")) is Selection.SELECTED


@pytest.mark.parametrize("wanted", [update(env="other"), delete("env"), add(env="other")])
def test_a22_classifiers_of_every_object_are_read_only(wanted: ParsedOperation) -> None:
    done = plan(volume({"env": "test"}), claim(wanted), rules=Rules(classifier_keys={"env": "CloudMetadata a/b"}))
    assert (done.verdict, reasons(done)) == (PlanVerdict.NOTHING_TO_DO, [("env", LeaveReason.CLASSIFIER)])


@pytest.mark.parametrize(
    ("narrowed", "selection"),
    [
        ({"all_of": frozenset({TagCondition("team", "b")})}, Selection.NOT_ALL_MATCH),
        ({"none_of": frozenset({TagCondition("team", "a")})}, Selection.EXCLUDED),
        ({"kinds": frozenset({"s3:bucket"})}, Selection.OTHER_KIND),
        ({"regions": frozenset({"us-east-1"})}, Selection.OTHER_REGION),
        ({"accounts": frozenset({"444455556666"})}, Selection.OTHER_ACCOUNT),
        ({"all_of": frozenset({TagCondition("team", "a")}), "kinds": frozenset({"ec2:volume"})}, Selection.SELECTED),
    ],
)
def test_what_was_found_is_narrowed(narrowed: dict[str, frozenset[str]], selection: Selection) -> None:
    assert select(any_of(("env", "test"), **narrowed), volume({"env": "test", "team": "a"})) is selection


def test_a_stack_set_is_selected_only_when_its_kind_is_named() -> None:
    """To tag it starts an update of its stacks."""
    resource = volume({"env": "test"}, kind="cloudformation:stackset")
    assert select(any_of(("env", "test")), resource) is Selection.OTHER_KIND
    named = any_of(("env", "test"), kinds=frozenset({resource.kind}))
    assert select(named, resource) is Selection.SELECTED


def test_a23_a_resource_that_lost_its_classifier_is_released() -> None:
    found = [volume({"env": "test"}, arn="kept"), volume({"ours": "1"}, arn="lost"), volume({}, arn="never-ours")]
    assert find_released(["kept", "lost", "not-read"], found, any_of(("env", "test"))) == ("lost",)


# --- keys that nobody may touch ------------------------------------------------------------------


@over_rows(
    "key",
    [
        "aws:createdBy",
        "AWS:x",
        "eks:cluster-name",
        "freehold.dev/owner-uuid",
        "powervs.cluster.x-k8s.io.owner",
        "sigs.k8s.io/cluster-api-provider-aws/cluster/a",
        "kubernetes.io/cluster/a",
        "kubernetes.io/service-name",
        "Kubernetes.io/service-name",
        "elbv2.k8s.aws/cluster",
        "ingress.k8s.aws/stack",
        "node.k8s.amazonaws.com/instance_id",
        "ebs.csi.aws.com/cluster",
        "karpenter.sh/nodepool",
        "KubernetesCluster",
    ],
)
@over_rows("opcode", list(Opcode))
def test_protected_key_is_refused_in_every_operation(key: str, opcode: Opcode) -> None:
    """Whoever may tag could otherwise make a collector take a stranger's resource."""
    done = plan(volume({}), claim(operation(opcode, {key: "owned"})))
    assert (done.verdict, reasons(done)) == (PlanVerdict.NOTHING_TO_DO, [(key, LeaveReason.PROTECTED)])
    there = plan(volume({key: "owned"}), claim(delete(key)))
    assert there.verdict is PlanVerdict.NOTHING_TO_DO


def test_a_protected_key_that_a_forged_record_calls_ours_stays() -> None:
    done = plan(
        volume({"kubernetes.io/cluster/a": "owned"}), claim(), record=wrote(**{"kubernetes.io/cluster/a": "owned"})
    )
    assert done.verdict is PlanVerdict.NOTHING_TO_DO


@pytest.mark.parametrize("key", ["env", "awsome", "my-kubernetes.io/x", "kubernetes.iox/y", "Name"])
def test_other_keys_are_allowed(key: str) -> None:
    assert access(AWS, key, IgnoreList()) is KeyAccess.ALLOWED


def test_ignore_list_has_keys_and_prefixes_and_no_case_on_ibm_cloud() -> None:
    ignored = IgnoreList(frozenset({"Cost"}), ("Map-",))
    assert [access(AWS, key, ignored) for key in ("Cost", "Map-x")] == [KeyAccess.IGNORED] * 2
    assert access(AWS, "cost", ignored) is KeyAccess.ALLOWED
    assert [access(IBM, key, ignored) for key in ("cost", "map-x")] == [KeyAccess.IGNORED] * 2


@pytest.mark.parametrize(
    "resource", [volume({"freehold.dev/metadata": "ignore"}), subnet("freehold.dev.metadata:ignore")]
)
def test_an_exempt_resource_is_left_alone(resource: TaggedResource) -> None:
    done = plan(resource, claim(update(env="test"), cloud=resource.cloud), record=wrote(old="x"))
    assert (done.verdict, reasons(done)) == (PlanVerdict.NOTHING_TO_DO, [("", LeaveReason.EXEMPT)])
    assert done.record_after == wrote(old="x")


# --- several objects -----------------------------------------------------------------------------


def test_a18_the_older_object_wins_and_the_other_is_told_who() -> None:
    older, younger = claim(delete("k")), claim(update(k="1", m="1"), name="second", created=2.0)
    done = plan(volume({"k": "0"}), younger, older)
    assert (removed(done), written(done)) == ({"k": {"0"}}, {"m": "1"})
    [note] = done.notes
    assert (note.claimant.name, note.reason) == ("AWSMetadata ns/second", LeaveReason.CONFLICT)
    assert note.message.startswith("AWSMetadata ns/first is older and asks for something else of the tag 'k'")


def test_a18_a_cluster_that_asks_for_a_key_is_named_as_the_reason() -> None:
    done = plan(volume({}), claim(update(k="1")), rules=Rules(cluster_keys={"k": "AWSCluster ns/c"}))
    assert written(done) == {}
    assert done.notes[0].message.startswith(f"AWSCluster ns/c puts the tag 'k' on {VOLUME} itself")


def test_a18_objects_that_agree_are_in_no_conflict() -> None:
    done = plan(volume({}), claim(add(k="1")), claim(update(k="1"), name="second", created=2.0))
    assert (written(done), done.notes) == ({"k": "1"}, ())


def test_a18_objects_that_agree_on_a_removal_are_in_no_conflict() -> None:
    older, younger = claim(delete("k")), claim(delete("k"), name="second", created=2.0)
    done = plan(volume({"k": "1"}), older, younger)
    assert (removed(done), done.notes) == ({"k": {"1"}}, ())
    alone = plan_resource(volume({"k": "1"}), [older, younger], {}, Rules(), acting="uid-second")
    assert (removed(alone), [each.reason for each in alone.notes]) == ({}, [LeaveReason.AWAITED])


FULL = {f"theirs{number:02}": "" for number in range(49)}


@pytest.mark.parametrize(
    ("older", "there", "reason"),
    [
        (claim(add(k="1")), {"k": "0"}, LeaveReason.CONFLICT),
        (claim(update(k="1"), foreign=ForeignValuePolicy.SKIP), {"k": "0"}, LeaveReason.CONFLICT),
        (claim(update(k="1", m="1")), FULL, LeaveReason.CONFLICT),
        (claim(update(a="1", k="1"), limit=LimitPolicy.PARTIAL), FULL, LeaveReason.CONFLICT),
        (claim(update(k="1")), {"k": "0"}, LeaveReason.AWAITED),
        (claim(update(k="1")), {}, LeaveReason.AWAITED),
    ],
    ids=["add", "Skip", "no room", "trimmed", "a foreign value, not yet", "not yet"],
)
def test_a18_what_an_older_object_does_not_write_is_not_so_for_the_younger_one(
    older: Claim, there: dict[str, str], reason: LeaveReason
) -> None:
    """They agree, so the older one writes the key: where it does not, the younger one must not say that all is so."""
    younger = claim(update(k="1"), name="second", created=2.0)
    done = plan_resource(volume(there), [older, younger], {}, Rules(), acting="uid-second")
    assert (written(done), removed(done)) == ({}, {})
    [note] = done.notes
    assert (note.claimant.name, note.key, note.reason) == ("AWSMetadata ns/second", "k", reason)
    assert note.message.startswith(f"AWSMetadata ns/first is older and asks for the same of the tag 'k' on {VOLUME}")
    applied_by_older = plan_resource(volume({**there, "k": "1"}), [older, younger], {}, Rules(), acting="uid-second")
    assert applied_by_older.notes == ()


def test_a18_what_two_partial_lists_share_is_left_out_of_both_and_said() -> None:
    older = claim(update(a="1", k="1"), limit=LimitPolicy.PARTIAL)
    younger = claim(update(k="1"), name="second", created=2.0, limit=LimitPolicy.PARTIAL)
    assert reasons(plan(volume(FULL), older, younger)) == [("k", LeaveReason.TRIMMED), ("k", LeaveReason.CONFLICT)]


def test_a18_what_the_younger_one_would_leave_too_is_said_as_if_it_were_alone() -> None:
    older = claim(add(k="1"))
    younger = claim(update(k="1"), name="second", created=2.0, foreign=ForeignValuePolicy.SKIP)
    done = plan_resource(volume({"k": "0"}), [older, younger], {}, Rules(), acting="uid-second")
    assert [each.reason for each in done.notes] == [LeaveReason.SKIPPED]


def test_a18_a_key_goes_over_to_the_object_that_still_wants_it() -> None:
    done = plan(volume({"k": "1"}), claim(), claim(update(k="1"), name="second", created=2.0), record=wrote(k="1"))
    assert (done.verdict, done.record_after) == (PlanVerdict.NOTHING_TO_DO, wrote("second", k="1"))


def test_a24_what_an_object_wrote_stays_when_it_is_deleted_and_goes_when_it_says_remove() -> None:
    """A deleted object with ``deletionPolicy: Remove`` still has a claim, without wants."""
    there = volume({"env": "test"})
    assert plan(there, record=wrote(env="test")).verdict is PlanVerdict.NOTHING_TO_DO
    assert removed(plan(there, claim(), record=wrote(env="test"))) == {"env": {"test"}}


@pytest.mark.parametrize("record", [{}, wrote(team="x")], ids=["foreign", "written by us before"])
@pytest.mark.parametrize("wanted", [[update(team="y")], [delete("team")], []], ids=["update", "delete", "dropped"])
def test_tags_that_a_cluster_asks_for_are_never_touched(record: Record, wanted: list[ParsedOperation]) -> None:
    rules = Rules(cluster_keys={"team": "IBMPowerVSCluster ns/a"})
    done = plan(volume({"team": "x"}), claim(*wanted), record=record, rules=rules)
    assert done.verdict is PlanVerdict.NOTHING_TO_DO
    assert reasons(done) == ([("team", LeaveReason.CONFLICT)] if wanted else [])


# --- the sync period -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10m", 600.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("90s", 90.0), ("30s", 30.0), (None, 600.0)],
    ids=["A8 example", "A8 two units", "A8 fraction", "A8 seconds", "A8 floor", "A8 default"],
)
def test_sync_period_is_a_duration_of_go(text: str | None, seconds: float) -> None:
    assert parse_sync_period(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "10 m", "m", "-10m", "10m!", "1d", "10m\n"])
def test_unparsable_period_is_refused(text: str) -> None:
    assert isinstance(parse_sync_period(text), UnparsableDuration)


@pytest.mark.parametrize("text", ["1s", "29.9s", "500ms"])
def test_a8_a_period_below_the_least_is_refused(text: str) -> None:
    """As an option of the operator is: it would be looked at less often than somebody wrote, and not be told."""
    assert isinstance(parse_sync_period(text), ShortPeriod)


def test_a8_jitter_is_a_tenth() -> None:
    assert (with_jitter(600, 0.0), with_jitter(600, 0.5)) == (540.0, 600.0)
    assert with_jitter(600, 0.999) < 660.0


def test_trimmed_tags_are_not_in_the_record() -> None:
    done = plan(volume(FOREIGN_47), claim(FIVE, limit=LimitPolicy.PARTIAL))
    assert done.record_after == wrote(a="1", b="1", c="1")
    assert plan(applied(done), claim(FIVE, limit=LimitPolicy.PARTIAL), record=done.record_after).delta == Delta()
