"""Keys and values that a cloud refuses, found before anything is read; compared with botocore's service models."""

from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st

from freehold.providers.aws.tags.dialect import AWS, KEYS_TO_REMOVE, LONGEST_KEY, LONGEST_VALUE
from freehold.providers.ibm.tag_dialect import IBM, ibm_tag_name
from freehold.tags.policy.batches import TARGETS, TagVerb
from freehold.tags.policy.classifiers import VALUES_PER_QUERY, Classifiers, TagCondition
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.operations import Opcode, ParsedOperation, operation
from freehold.tags.policy.validation import MOST_TAGS, Problem, problems
from harness.rows import over_rows
from harness.tagged_fleet import add, delete, subnet, update

AWS, IBM = AWS, IBM
CLASSIFIERS = Classifiers(frozenset({TagCondition("kubernetes.io/cluster/a", "owned"), TagCondition("Env", "x")}))
NFC, NFD = "caf\u00e9", "cafe\u0301"


def complaints(cloud: TagDialect, *operations: ParsedOperation) -> list[Problem]:
    return list(problems(cloud, operations, CLASSIFIERS, "spec"))


@over_rows(
    ("cloud", "key", "value", "said"),
    [
        (AWS, "", "v", "1 to 128 characters on AWS ('' has 0)"),
        (AWS, "k" * 129, "v", "…' has 129)"),
        (AWS, "k", "v" * 257, "…' has 257)"),
        (AWS, "a,b", "v", "(the key 'a,b' has ',')"),
        (AWS, "k", "a\x07b", r"has '\x07')"),
        (AWS, "k", "a\nb", r"has '\n')"),
        (AWS, "aws:k", "v", "is protected"),
        (AWS, "AWS:k", "v", "is protected"),
        (AWS, "k", "Aws:v", "values that begin with aws: are reserved"),
        (AWS, "elbv2.k8s.aws/cluster", "v", "is protected"),
        (IBM, " ", "v", "a key is empty"),
        (IBM, "k" * 120, "v" * 8, "at most 128 characters ('kkk"),
        (IBM, "a/b", "v", "(the key 'a/b' has '/')"),
        (IBM, "team ", "v", "begins or ends with a space"),
        (IBM, "team", " v", "begins or ends with a space"),
        (IBM, " freehold.dev.metadata", "ignore", "is protected"),
        (IBM, "k", "a=b", "('a=b' has '=')"),
        (IBM, "a:b", "v", "ends the key"),
        (IBM, "k", "é", "('é' has 'é')"),
        (IBM, "powervs.cluster.x-k8s.io.owner", "v", "is protected"),
    ],
)
def test_illegal_tag_is_refused_with_its_path(cloud: TagDialect, key: str, value: str, said: str) -> None:
    found = complaints(cloud, update(**{key: value}))
    assert found
    assert any(said in problem.message for problem in found)
    assert {problem.path for problem in found} == {f"spec.resourcetags[{key!r}]"}


@pytest.mark.parametrize(
    ("cloud", "key", "value"),
    [
        (AWS, "k" * 128, "v" * 256),
        (AWS, "Kostenstelle für Bücher 部門", "_.:/=+-@ \u00a0"),
        (AWS, "env", ""),
        (AWS, "Team", "a"),
        (IBM, "stage", "a:b:c d-e_f.g"),
        (IBM, "label", ""),
        (IBM, "k" * 63, "v" * 64),
    ],
)
def test_legal_tag_is_accepted(cloud: TagDialect, key: str, value: str) -> None:
    assert complaints(cloud, update(**{key: value})) == []


@pytest.mark.parametrize("cloud", [AWS, IBM])
@pytest.mark.parametrize("size", [50, 51])
def test_51_tags_are_refused(cloud: TagDialect, size: int) -> None:
    half = size // 2
    keys = [f"k{number}" for number in range(size)]
    found = complaints(cloud, update(**dict.fromkeys(keys[:half], "v")), add(**dict.fromkeys(keys[half:], "v")))
    assert [problem.path for problem in found] == (["spec"] if size == 51 else [])


def test_keys_to_delete_do_not_count() -> None:
    assert complaints(AWS, delete(*(f"k{number}" for number in range(100)))) == []


def test_nfc_and_nfd_twins_are_refused() -> None:
    """The cloud takes them for two keys, and a person for one."""
    found = complaints(AWS, update(**{NFC: "a"}), update(**{NFD: "b"}))
    assert any(
        "look the same and are not: keep one ('caf\\xe9' and 'cafe\\u0301')" in problem.message for problem in found
    )
    assert complaints(AWS, update(**{NFC: "a"})) == []


@pytest.mark.parametrize(("cloud", "refused"), [(IBM, 1), (AWS, 0)])
def test_case_twins_are_refused_on_ibm_cloud(cloud: TagDialect, refused: int) -> None:
    assert len(complaints(cloud, update(Team="a", team="a"))) == refused


@pytest.mark.parametrize("wanted", [update(Env="y"), add(Env="x"), delete("Env")])
def test_a22_a_classifier_among_the_tags_is_refused(wanted: ParsedOperation) -> None:
    [problem] = complaints(AWS, wanted)
    assert (problem.path, "is a classifier" in problem.message) == ("spec", True)


def test_a22_classifiers_have_no_case_on_ibm_cloud() -> None:
    assert len(complaints(IBM, update(ENV="y"))) == 1
    assert complaints(AWS, update(ENV="y")) == []


def test_a18_contradicting_operations_are_refused_with_their_keys() -> None:
    [problem] = complaints(AWS, update(a="1"), delete("a"))
    assert "'a'" in problem.message


def test_operations_of_a_list_are_told_apart_by_their_place() -> None:
    second = operation(Opcode.UPDATE, {"a,b": "1"}, at=".operations[0]")
    [problem] = complaints(AWS, update(a="1"), second)
    assert problem.path == "spec.operations[0].resourcetags['a,b']"


def test_a_message_shows_no_endless_key() -> None:
    [problem] = complaints(AWS, update(**{"k" * 5000: "v"}))
    assert len(problem.message) < 200


# --- compared with the service models ----------------------------------------------------------------


def _input(service: str, call: str) -> Any:
    return botocore.session.get_session().get_service_model(service).operation_model(call).input_shape


TAG_RESOURCES = _input("resourcegroupstaggingapi", "TagResources")
UNTAG_RESOURCES = _input("resourcegroupstaggingapi", "UntagResources")
CREATE_TAGS = _input("ec2", "CreateTags")


def test_our_limits_are_those_of_the_service_models() -> None:
    tags = TAG_RESOURCES.members["Tags"]
    assert (tags.metadata["max"], tags.key.metadata["max"], tags.value.metadata["max"]) == (
        MOST_TAGS,
        LONGEST_KEY,
        LONGEST_VALUE,
    )
    assert TAG_RESOURCES.members["ResourceARNList"].metadata["max"] == TARGETS[TagVerb.TAG_RESOURCES]
    assert UNTAG_RESOURCES.members["ResourceARNList"].metadata["max"] == TARGETS[TagVerb.UNTAG_RESOURCES]
    assert UNTAG_RESOURCES.members["TagKeys"].metadata["max"] == KEYS_TO_REMOVE
    assert TAG_RESOURCES.members["Tags"].key.metadata["min"] == 1


def test_ec2_states_no_limit_so_that_ours_are_the_tighter_ones() -> None:
    """When a later model states one, this says so."""
    assert CREATE_TAGS.members["Resources"].metadata == {}
    assert CREATE_TAGS.members["Tags"].metadata == {}


def test_queries_have_the_values_that_the_documentation_of_get_resources_allows() -> None:
    filters = _input("resourcegroupstaggingapi", "GetResources").members["TagFilters"]
    assert filters.member.members["Values"].metadata["max"] == VALUES_PER_QUERY


LENGTHS = st.sampled_from([0, 1, 2, 127, 128, 129, 255, 256, 257])


def _refusals(shape: Any, tags: dict[str, str]) -> list[str]:
    """botocore checks only minimum lengths; the maximum is read from the model."""
    report = ParamValidator().validate({"ResourceARNList": ["arn"], "Tags": tags}, shape)
    found = [report.generate_report()] if report.has_errors() else []
    key, value = shape.members["Tags"].key, shape.members["Tags"].value
    found += [each for each in tags if len(each) > key.metadata["max"]]
    found += [each for each in tags.values() if len(each) > value.metadata["max"]]
    return found if len(tags) <= shape.members["Tags"].metadata["max"] else [*found, "too many"]


@given(
    st.dictionaries(
        st.builds(lambda letter, length: letter * length, st.sampled_from("abc"), LENGTHS),
        st.builds(lambda length: "v" * length, LENGTHS),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0, 46, 50]),
)
def test_differential_lengths_and_counts_are_refused_where_the_service_model_refuses(
    tags: dict[str, str], more: int
) -> None:
    """Letters only: of characters the model says nothing."""
    tags |= {f"more{number}": "" for number in range(more)}
    ours = problems(AWS, [operation(Opcode.UPDATE, tags)], None, "spec")
    assert bool(ours) == bool(_refusals(TAG_RESOURCES, tags))


IBM_TEXT = st.text(st.sampled_from("aZ9 _-.:/é"), max_size=8)


@given(IBM_TEXT, IBM_TEXT)
def test_what_passes_on_ibm_cloud_is_read_back_as_it_was_written(key: str, value: str) -> None:
    """The key ends at the first colon: a legal tag is not split elsewhere."""
    if not problems(IBM, [operation(Opcode.UPDATE, {key: value})], None, "spec"):
        assert subnet(ibm_tag_name(key, value)).tags == {key.lower(): {value.lower()}}
