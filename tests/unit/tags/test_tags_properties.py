"""The plan over generated resources, objects and records: it converges, keeps still, and leaves others' tags alone."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.ibm.tag_dialect import IBM
from freehold.tags.policy.batches import TagVerb, batches
from freehold.tags.policy.key_decision import Cause, LeaveReason, Rules
from freehold.tags.policy.ledger import ForeignValuePolicy, LedgerEntry, Proof, Record
from freehold.tags.policy.limits import LimitPolicy, limit_of, slots_used
from freehold.tags.policy.operations import Opcode, WantedTag
from freehold.tags.policy.plan import Delta, ResourcePlan, plan_on, terms
from freehold.tags.policy.plan_resources import Plans
from freehold.tags.policy.precedence import Claim, Claimant
from freehold.tags.policy.resources import TaggedResource
from harness.tagged_fleet import CRN, VOLUME, applied, plan_resource

UNTOUCHABLE = {"kubernetes.io/cluster/x", "freehold.dev/seal", "classifier", "clusters"}
KEYS = st.sampled_from([*"abcdefgh", *sorted(UNTOUCHABLE)])
VALUES = st.sampled_from(["", "1", "2"])
RULES = Rules(
    classifier_keys={"classifier": "CloudMetadata a/b"},
    cluster_keys={"clusters": "AWSCluster ns/a"},
)
WRITERS = ("uid-0", "uid-1", "uid-2", "uid-of-an-object-that-is-gone")


def _entries() -> st.SearchStrategy[LedgerEntry]:
    values = st.frozensets(VALUES, min_size=1, max_size=2)
    return st.builds(LedgerEntry, st.sampled_from(WRITERS), values, st.sampled_from(Proof))


def _wants() -> st.SearchStrategy[WantedTag]:
    present = st.builds(WantedTag, st.sampled_from([Opcode.ADD, Opcode.UPDATE]), VALUES)
    return st.one_of(present, st.builds(WantedTag, st.just(Opcode.DELETE), st.none() | VALUES))


@st.composite
def resources(draw: st.DrawFn) -> TaggedResource:
    """Some are nearly full: an S3 object takes ten tags."""
    cloud = draw(st.sampled_from([AWS, IBM]))
    most = 1 if cloud is AWS else 2
    tags = draw(st.dictionaries(KEYS, st.frozensets(VALUES, min_size=1, max_size=most), max_size=10))
    if cloud is IBM:
        return TaggedResource(CRN, cloud, "is:subnet", "1", "eu-de", tags)
    return TaggedResource(VOLUME, cloud, draw(st.sampled_from(["ec2:volume", "s3:object"])), "1", "eu-west-1", tags)


@st.composite
def claims(draw: st.DrawFn) -> list[Claim]:
    return [
        Claim(
            Claimant(float(number), f"uid-{number}", f"AWSMetadata ns/{number}"),
            draw(st.dictionaries(KEYS, _wants(), max_size=6)),
            draw(st.sampled_from(LimitPolicy)),
            draw(st.sampled_from(ForeignValuePolicy)),
            draw(st.none() | st.dictionaries(KEYS, VALUES, max_size=3)) if number == 0 else None,
        )
        for number in range(draw(st.integers(0, 3)))
    ]


RECORDS = st.dictionaries(KEYS, _entries(), max_size=6)


def planned(resource: TaggedResource, objects: list[Claim], record: Record) -> ResourcePlan:
    return plan_resource(resource, objects, record, RULES)


def _after(record: object) -> Record:
    assert isinstance(record, Mapping)
    return record


@given(resources(), claims(), RECORDS)
def test_converges_in_one_apply_and_then_keeps_still(
    resource: TaggedResource, objects: list[Claim], record: Record
) -> None:
    """What one object drops, another one that only keeps it takes up in the pass after that."""
    kept = {key for each in objects for key in each.kept or ()}
    record = {key: each for key, each in record.items() if key not in kept or each.writer == WRITERS[0]}
    first = planned(resource, objects, record)
    second = planned(applied(first), objects, _after(first.record_after))
    assert second.delta == Delta()
    assert second.record_after == first.record_after
    assert {(note.key, note.reason) for note in second.notes} <= {(note.key, note.reason) for note in first.notes}


@given(resources(), claims(), RECORDS, st.data())
def test_a_crash_between_any_two_calls_ends_the_same(
    resource: TaggedResource, objects: list[Claim], record: Record, data: st.DataObject
) -> None:
    """The record that was stored before the writes, with any part of them done, leads to the same tags."""
    whole = planned(resource, objects, record)
    removals = tuple(each for each in whole.delta.removals if data.draw(st.booleans()))
    upserts = tuple(each for each in whole.delta.upserts if data.draw(st.booleans()))
    partly = applied(ResourcePlan(resource, Delta(removals, upserts), (), {}, {}))
    resumed = planned(partly, objects, _after(whole.record_before))
    assert applied(resumed).tags == applied(whole).tags
    assert resumed.record_after == whole.record_after


@given(st.lists(st.tuples(resources(), RECORDS), min_size=1, max_size=4), claims(), st.data())
def test_a_plan_that_was_worked_out_for_a_resource_that_is_alike_is_the_resources_own(
    fleet: list[tuple[TaggedResource, Record]], objects: list[Claim], data: st.DataObject
) -> None:
    """Each has a twin with one thing more or less, which may change its plan: a tag, an entry, or only its id."""
    plans, agreed = Plans("uid-0"), terms(objects, RULES)
    for resource, record in fleet:
        tags, known = dict(resource.tags), dict(record)
        if data.draw(st.booleans()):
            tags[data.draw(KEYS)] = frozenset({data.draw(VALUES)})
        if known and data.draw(st.booleans()):
            del known[data.draw(st.sampled_from(sorted(known)))]
        twin = resource._replace(id=f"{resource.id}-twin", tags=tags)
        for each, its in ((resource, record), (twin, known), (resource._replace(id=f"{resource.id}-same"), record)):
            assert plans.plan_once(each, agreed, its) == plan_on(each, agreed, its, "uid-0")


@given(resources(), claims(), RECORDS)
def test_order_means_nothing(resource: TaggedResource, objects: list[Claim], record: Record) -> None:
    turned = [replace(each, wants=dict(reversed(list(each.wants.items())))) for each in reversed(objects)]
    assert planned(resource, turned, record) == planned(resource, objects, record)


@given(resources(), claims(), RECORDS)
def test_never_touches_what_it_may_not(resource: TaggedResource, objects: list[Claim], record: Record) -> None:
    """A key goes or changes only if the record or an operation names it; an untouchable one never."""
    done = planned(resource, objects, record)
    named = {key for each in objects for key in (*each.wants, *(each.kept or ()))}
    for removal in done.delta.removals:
        ours = record.get(removal.key)
        assert removal.key not in UNTOUCHABLE
        assert removal.key in named or (ours is not None and removal.seen <= ours.values)
    for upsert in done.delta.upserts:
        assert upsert.key in named - UNTOUCHABLE
    touched = {each.key for each in (*done.delta.removals, *done.delta.upserts)}
    assert {key: values for key, values in resource.tags.items() if key not in touched} == {
        key: values for key, values in applied(done).tags.items() if key not in touched
    }


@given(resources(), claims(), RECORDS)
def test_add_and_the_policies_that_keep_never_overwrite_a_foreign_value(
    resource: TaggedResource, objects: list[Claim], record: Record
) -> None:
    keeping = [replace(each, foreign=ForeignValuePolicy.FAIL) for each in objects]
    done = planned(resource, keeping, record)
    assert not [each for each in done.delta.upserts if each.cause in (Cause.FOREIGN, Cause.DRIFTED)]
    for upsert in done.delta.upserts:
        assert not upsert.seen or upsert.seen <= record[upsert.key].values


def _sharing(first: LimitPolicy) -> list[Claim]:
    """Two that share a key, of which the older one has more."""
    wants = {key: WantedTag(Opcode.UPDATE, "1") for key in "ak"}
    older, younger = (Claimant(float(number), f"uid-{number}", f"AWSMetadata ns/{number}") for number in (0, 1))
    return [Claim(older, wants, first), Claim(younger, {"k": wants["k"]}, LimitPolicy.PARTIAL)]


FULL_OBJECT = TaggedResource("arn:aws:s3:::a", AWS, "s3:object", "1", "", {f"t{n}": frozenset("1") for n in range(9)})


@given(resources(), claims(), RECORDS)
@example(FULL_OBJECT, _sharing(LimitPolicy.STRICT), {})
@example(FULL_OBJECT, _sharing(LimitPolicy.PARTIAL), {})
def test_limit_is_kept_and_strict_is_whole(resource: TaggedResource, objects: list[Claim], record: Record) -> None:
    done = planned(resource, objects, record)
    assert slots_used(applied(done)) <= max(limit_of(resource), slots_used(resource))
    refused = {(note.claimant.uid, note.key) for note in done.notes if note.reason is LeaveReason.LIMIT_EXCEEDED}
    trimmed = {note.claimant.uid for note in done.notes if note.reason is LeaveReason.TRIMMED}
    strict = {each.claimant.uid for each in objects if each.limit is LimitPolicy.STRICT}
    assert {uid for uid, key in refused if not key} <= strict
    assert strict or not refused, "a key of an older object's strict list is refused to a younger one too"
    assert not trimmed & strict


@given(resources(), st.dictionaries(KEYS, VALUES, min_size=1), st.data())
def test_which_tags_a_partial_list_keeps_follows_the_sort_alone(
    resource: TaggedResource, wanted: Mapping[str, str], data: st.DataObject
) -> None:
    """Not what of it was written before, with whichever values."""
    wants = {key: WantedTag(Opcode.UPDATE, value) for key, value in wanted.items()}
    objects = [Claim(Claimant(0.0, "uid-0", "AWSMetadata ns/0"), wants, LimitPolicy.PARTIAL)]
    others = resource._replace(tags={key: each for key, each in resource.tags.items() if key not in wanted})
    room = limit_of(others) - slots_used(others)
    names = sorted(set(wanted) - UNTOUCHABLE)
    held = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=room)) if names else []
    before = {key: frozenset({data.draw(VALUES)}) for key in held}
    record = {key: LedgerEntry("uid-0", values, Proof.CONFIRMED) for key, values in before.items()}
    later = planned(others._replace(tags={**others.tags, **before}), objects, record)
    assert applied(later).tags == applied(planned(others, objects, {})).tags


@given(resources(), claims(), RECORDS)
def test_calls_carry_out_the_plan(resource: TaggedResource, objects: list[Claim], record: Record) -> None:
    """What the calls come to, by the clouds' rules for each of them, is what was planned."""
    done = planned(resource, objects, record)
    tags = {key: set(values) for key, values in resource.tags.items()}
    for batch in batches([done]):
        for key, value in batch.tags:
            there = tags.setdefault(key, set())
            match batch.verb:
                case TagVerb.UNTAG_RESOURCES:
                    there.clear()
                case TagVerb.DELETE_TAGS | TagVerb.DETACH:
                    there.discard(value or "")
                case TagVerb.TAG_RESOURCES | TagVerb.CREATE_TAGS:
                    tags[key] = {value or ""}
                case TagVerb.ATTACH_UPDATE:
                    tags[key] = {each for each in there if not each} | {value or ""}
                case TagVerb.ATTACH:
                    there.add(value or "")
    assert {key: frozenset(values) for key, values in tags.items() if values} == applied(done).tags
