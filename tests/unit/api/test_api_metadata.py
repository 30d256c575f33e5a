"""The metadata kinds: the proposal's examples as they are, both spellings, and what the schema refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from freehold.api import tag_sentences as sentences
from freehold.api.base import ApiModel
from freehold.api.metadata import CloudMetadata
from freehold.api.metadata_grant import MetadataGrant
from freehold.api.parse import InvalidObject, parse
from freehold.api.schema_lint import lint
from freehold.api.structural import build_structural_schema
from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.aws.types.metadata import AWSMetadata
from freehold.providers.ibm.tag_dialect import IBM
from freehold.providers.ibm.types.metadata import IBMMetadata
from freehold.tags.policy.operations import Opcode, operation, parse_opcode
from freehold.tags.policy.references import ProviderObject, Refused
from freehold.tags.policy.sync_period import parse_sync_period
from freehold.tags.policy.tag_request import Defaults, parse_request
from freehold.tags.policy.validation import problems
from freehold_apiserver.custom import CustomStrategy
from harness.metadata import EXAMPLES
from harness.rows import over_rows

"""The proposal's two, unmodified."""

MODELS: dict[str, type[ApiModel]] = {
    "CloudMetadata": CloudMetadata,
    "AWSMetadata": AWSMetadata,
    "IBMMetadata": IBMMetadata,
    "MetadataGrant": MetadataGrant,
}
STRATEGIES = {
    kind: CustomStrategy(build_structural_schema(model), has_status="status" in model.model_fields)
    for kind, model in MODELS.items()
}
CLOUD = {"AWSMetadata": AWS, "IBMMetadata": IBM}
PREFIXES = ("aws:", "EKS:", "kubernetes.io", "elbv2.k8s.aws/", "my.karpenter.sh", "not-kubernetes.io/", "csiVolumeName")
BY = {"classifiers": {"env": "test"}}


def refusals(kind: str, spec: dict[str, Any]) -> list[str]:
    """By the schema, as an API server enforces it."""
    group = f"metadata-controller.{kind.removesuffix('Metadata').lower()}.io/v1alpha1"
    obj = {"apiVersion": group, "kind": kind, "metadata": {"name": "a"}, "spec": copy.deepcopy(spec)}
    STRATEGIES[kind].decode(obj)
    return [str(each) for each in STRATEGIES[kind].validate(obj, None)]


def controller_says(kind: str, spec: dict[str, Any]) -> str:
    """What is told of an object that a server without CEL has stored; empty where it is accepted."""
    named = {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    is_cloud = kind == "CloudMetadata"
    cloud = {"metadata": named, "spec": spec if is_cloud else BY}
    provider = ProviderObject(
        "AWSMetadata" if is_cloud else kind, {"metadata": named, "spec": {} if is_cloud else spec}
    )
    found = parse_request(cloud, provider.reference, provider, "", Defaults((), 600.0))
    return found.message if isinstance(found, Refused) else ""


def parsed(kind: str, obj: dict[str, Any]) -> Any:
    return parse(MODELS[kind], {name: obj[name] for name in ("spec", "status") if name in obj}, at="")


@pytest.mark.parametrize("kind", MODELS)
def test_schema_can_be_a_crd(kind: str) -> None:
    assert lint(build_structural_schema(MODELS[kind])) == ()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=str)
def test_a4_a28_the_examples_parse_unmodified_in_either_order(order: tuple[int, ...]) -> None:
    found = list(yaml.safe_load_all(EXAMPLES))
    for number in order:
        obj = found[number]
        assert refusals(obj["kind"], obj["spec"]) == []
        model = parsed(obj["kind"], obj)
        assert model.status.type == ("ready", "applied")[number]
    assert parsed("AWSMetadata", found[1]).status.resourcetags == {"env": "test", "centre": "eng"}


@pytest.mark.parametrize("status", [True, "True"], ids=["A7 boolean", "A7 string"])
def test_flat_status_may_be_a_boolean(status: object) -> None:
    assert parsed("CloudMetadata", {"spec": BY, "status": {"status": status}}).status.status == status


@pytest.mark.parametrize(
    "spec", [BY, {"classifier": BY}, {**BY, "classifier": BY}], ids=["A1 example", "A1 Go struct", "A1 both, equal"]
)
def test_both_spellings_of_the_classifiers(spec: dict[str, Any]) -> None:
    assert refusals("CloudMetadata", spec) == []
    assert parsed("CloudMetadata", {"spec": spec}).spec.found_by == {"env": "test"}


REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "A1 spellings that differ": (
        "CloudMetadata", {**BY, "classifier": {"classifiers": {"env": "prod"}}}, "spec", "remove classifier",
    ),
    "A2 spellings that differ": (
        "CloudMetadata", {**BY, "cloudprovider": {"awsref": {"name": "a"}, "awsmetadataref": {"name": "b"}}},
        "spec.cloudprovider", "remove awsmetadataref",
    ),
    "A20 no classifier": ("CloudMetadata", {}, "spec", "there is no classifier"),
    "A20 empty classifiers": ("CloudMetadata", {"classifiers": {}}, "spec.classifiers", "at least 1"),
    "A20 empty in the other spelling": (
        "CloudMetadata", {"classifier": {"classifiers": {}}}, "spec.classifier.classifiers", "at least 1",
    ),
    "A20 a classifier without a key": (
        "CloudMetadata", {"classifiers": {"": "x"}}, "spec.classifiers", "has no key",
    ),
    "A20 a classifier without a key, in the other spelling": (
        "CloudMetadata", {"classifier": {"classifiers": {"": "x"}}}, "spec.classifier.classifiers", "has no key",
    ),
    "A8 unparsable duration": (
        "CloudMetadata", {**BY, "controllerconfig": {"syncevery": "10"}}, "spec.controllerconfig.syncevery", "",
    ),
    "A8 unknown limit": (
        "CloudMetadata", {**BY, "controllerconfig": {"limit": "ALL"}}, "spec.controllerconfig.limit", "",
    ),
    "A3 unknown opcode": ("AWSMetadata", {"opcode": "replace"}, "spec.opcode", ""),
    "A3 unknown opcode in a list": ("AWSMetadata", {"operations": [{"opcode": "x"}]}, "spec.operations[0].opcode", ""),
    "A15 a value and any value": (
        "AWSMetadata", {"opcode": "delete", "resourcetags": {"a": "x"}, "tagkeys": ["a"]}, "spec.tagkeys",
        "Name it once",
    ),
    "A15 two exact values": (
        "IBMMetadata", {"opcode": "delete", "exactTags": [{"key": "a"}, {"key": "a", "value": "x"}]},
        "spec.exactTags", "Name it once",
    ),
    "A15 an exact value and any value, in a list": (
        "AWSMetadata", {"operations": [{"opcode": "delete", "exactTags": [{"key": "a"}], "tagkeys": ["a"]}]},
        "spec.operations[0].exactTags", "Name it once",
    ),
    "A15 the empty value and any value": (
        "AWSMetadata", {"opcode": "delete", "exactTags": [{"key": "a"}], "resourcetags": {"a": ""}},
        "spec.exactTags", "Name it once",
    ),
    "51 tags": ("AWSMetadata", {"resourcetags": {f"k{n}": "" for n in range(51)}}, "spec.resourcetags", "50"),
    "129 characters": ("AWSMetadata", {"resourcetags": {"k" * 129: ""}}, "spec.resourcetags", "1 to 128"),
    "257 characters": ("AWSMetadata", {"resourcetags": {"k": "v" * 257}}, "spec.resourcetags", "256"),
    "a reserved key": ("AWSMetadata", {"resourcetags": {"Aws:k": ""}}, "spec.resourcetags", "reserved"),
    "a grant for nobody": ("MetadataGrant", {"namespaces": []}, "spec.namespaces", "at least 1"),
    "an unknown kind of provider": (
        "CloudMetadata", {**BY, "cloudprovider": {"refs": [{"kind": "GCPMetadata", "name": "a"}]}},
        "spec.cloudprovider.refs[0].kind", "",
    ),
    "an unknown kind of identity": (
        "AWSMetadata", {"identityRef": {"kind": "Secret", "name": "a"}}, "spec.identityRef.kind", "",
    ),
    "a slash on IBM Cloud": ("IBMMetadata", {"resourcetags": {"a/b": ""}}, "spec.resourcetags", "letters, digits"),
    "a space before a key on IBM Cloud": ("IBMMetadata", {"resourcetags": {" a": ""}}, "spec.resourcetags", "a space"),
    "a space after an IBM value": ("IBMMetadata", {"resourcetags": {"a": "b "}}, "spec.resourcetags", "a space"),
    "a long tag on IBM Cloud": ("IBMMetadata", {"resourcetags": {"k" * 64: "v" * 64}}, "spec.resourcetags", "128"),
}  # fmt: skip


@over_rows("case", REFUSED)
def test_schema_and_controller_refuse_with_the_path(case: str) -> None:
    """The controller is for servers without CEL."""
    kind, spec, path, said = REFUSED[case]
    found = refusals(kind, spec)
    assert any(path in each and said in each for each in found), found
    if kind == "MetadataGrant":
        with pytest.raises(InvalidObject):
            parsed(kind, {"spec": spec})
    else:
        assert path in controller_says(kind, spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"exactTags": [{"key": "a", "value": "x"}, {"key": "a", "value": "x"}], "resourcetags": {"a": "x"}},
        {"tagkeys": ["a", "a"], "resourcetags": {"a": ""}},
        {"exactTags": [{"key": "a"}], "tagkeys": ["b"], "resourcetags": {"c": "x"}},
    ],
    ids=["A15 a value", "A15 any value", "A15 different keys"],
)
def test_entries_that_say_the_same_are_accepted(spec: dict[str, Any]) -> None:
    given = {"opcode": "delete", **spec}
    assert refusals("AWSMetadata", given) == []
    parsed("AWSMetadata", {"spec": given})


BY_THE_CONTROLLER_TOO: dict[str, tuple[str, dict[str, str], str]] = {
    "a mark by which a collector deletes": (
        "AWSMetadata",
        {"kubernetes.io/cluster/x": "owned"},
        sentences.PROTECTED_KEY,
    ),
    "in another case": ("AWSMetadata", {"Kubernetes.IO/cluster/x": "owned"}, sentences.PROTECTED_KEY),
    "in a domain below": ("AWSMetadata", {"elbv2.k8s.aws/cluster": "x"}, sentences.PROTECTED_KEY),
    "our own mark": ("AWSMetadata", {"freehold.dev/owner": "x"}, sentences.PROTECTED_KEY),
    "the EKS prefix": ("AWSMetadata", {"eks:cluster-name": "x"}, sentences.PROTECTED_KEY),
    "a mark from before keys had domains": ("AWSMetadata", {"KubernetesCluster": "x"}, sentences.PROTECTED_KEY),
    "a mark on IBM Cloud": ("IBMMetadata", {"powervs.cluster.x-k8s.io.owner": "x"}, sentences.PROTECTED_KEY),
    "a reserved key": ("AWSMetadata", {"Aws:k": "x"}, sentences.AWS_RESERVED_KEY),
    "no key": ("AWSMetadata", {"": "x"}, sentences.AWS_KEY_LENGTH),
    "a long key": ("AWSMetadata", {"k" * 129: "x"}, sentences.AWS_KEY_LENGTH),
    "a character in a key": ("AWSMetadata", {"a#b": "x"}, sentences.AWS_CHARACTER),
    "a character in a value": ("AWSMetadata", {"a": "x\ty"}, sentences.AWS_CHARACTER),
    "a reserved value": ("AWSMetadata", {"a": "AWS:x"}, sentences.AWS_RESERVED_VALUE),
    "case twins on IBM Cloud": ("IBMMetadata", {"Env": "a", "env": "b"}, sentences.IBM_CASE_TWINS),
    "no key on IBM Cloud": ("IBMMetadata", {"": "x"}, sentences.IBM_TAG),
    "a long tag on IBM Cloud": ("IBMMetadata", {"k" * 64: "v" * 64}, sentences.IBM_TAG),
    "a slash on IBM Cloud": ("IBMMetadata", {"a/b": "x"}, sentences.IBM_TAG),
    "a colon in an IBM key": ("IBMMetadata", {"a:b": "x"}, sentences.IBM_TAG),
    "a space before an IBM key": ("IBMMetadata", {" a": "x"}, sentences.IBM_OUTER_SPACE),
    "a space after an IBM value": ("IBMMetadata", {"a": "x "}, sentences.IBM_OUTER_SPACE),
}


@over_rows("case", BY_THE_CONTROLLER_TOO)
def test_schema_and_controller_refuse_tags_in_the_same_sentence(case: str) -> None:
    """Also in a list of operations, where they would slip through otherwise; and of objects that are stored already."""
    kind, tags, sentence = BY_THE_CONTROLLER_TOO[case]
    for at, spec in (
        ("spec", {"resourcetags": tags}),
        ("spec.operations[0]", {"operations": [{"resourcetags": tags}]}),
    ):
        found = refusals(kind, spec)
        assert any(each.startswith(f"{at}.resourcetags") and sentence in each for each in found), found
        told = controller_says(kind, spec)
        assert at in told and f"{sentence} (" in told


@over_rows(
    ("kind", "spec", "path", "sentence"),
    [
        ("AWSMetadata", {"opcode": "replace"}, "spec.opcode", sentences.UNKNOWN_OPCODE),
        ("AWSMetadata", {"operations": [{"opcode": "x"}]}, "spec.operations[0].opcode", sentences.UNKNOWN_OPCODE),
        (
            "CloudMetadata", {**BY, "controllerconfig": {"syncevery": "10"}}, "spec.controllerconfig.syncevery",
            sentences.UNPARSABLE_DURATION,
        ),
        (
            "CloudMetadata", {**BY, "controllerconfig": {"syncevery": "10m\n"}}, "spec.controllerconfig.syncevery",
            sentences.UNPARSABLE_DURATION,
        ),
        (
            "CloudMetadata", {**BY, "controllerconfig": {"syncevery": "10s"}}, "spec.controllerconfig.syncevery",
            sentences.SHORT_PERIOD,
        ),
        ("AWSMetadata", {"opcode": "delete", "tagkeys": ["a#b"]}, "spec.tagkeys", sentences.AWS_CHARACTER),
        ("AWSMetadata", {"opcode": "delete", "tagkeys": ["eks:x"]}, "spec.tagkeys", sentences.PROTECTED_KEY),
        ("AWSMetadata", {"opcode": "delete", "exactTags": [{"key": "a#b"}]}, "spec.exactTags", sentences.AWS_CHARACTER),
        (
            "AWSMetadata", {"opcode": "delete", "exactTags": [{"key": "a", "value": "b\t"}]}, "spec.exactTags",
            sentences.AWS_CHARACTER,
        ),
        (
            "AWSMetadata", {"operations": [{"opcode": "delete", "tagkeys": ["eks:x"]}]}, "spec.operations[0].tagkeys",
            sentences.PROTECTED_KEY,
        ),
        ("IBMMetadata", {"opcode": "delete", "tagkeys": ["a/b"]}, "spec.tagkeys", sentences.IBM_TAG),
        ("IBMMetadata", {"opcode": "delete", "tagkeys": ["a "]}, "spec.tagkeys", sentences.IBM_OUTER_SPACE),
        ("IBMMetadata", {"opcode": "delete", "exactTags": [{"key": "a:b"}]}, "spec.exactTags", sentences.IBM_TAG),
        (
            "IBMMetadata", {"opcode": "delete", "exactTags": [{"key": "a", "value": "b/c"}]}, "spec.exactTags",
            sentences.IBM_VALUE,
        ),
    ],
)  # fmt: skip
def test_schema_and_controller_refuse_in_the_same_sentence_with_one_path(
    kind: str, spec: dict[str, Any], path: str, sentence: str
) -> None:
    assert any(each.startswith(path) and sentence in each for each in refusals(kind, spec)), refusals(kind, spec)
    assert f"{path}: {sentence} (" in controller_says(kind, spec)


def test_controller_tells_all_that_is_wrong() -> None:
    said = controller_says("AWSMetadata", {"resourcetags": {"a#b": "", "k" * 129: "", "eks:x": "AWS:y"}})
    wrong = (
        sentences.AWS_CHARACTER, sentences.AWS_KEY_LENGTH, sentences.PROTECTED_KEY, sentences.AWS_RESERVED_VALUE,
    )  # fmt: skip
    assert all(sentence in said for sentence in wrong), said


@pytest.mark.parametrize(
    ("field", "given"),
    [("tagkeys", ["env", "kubernetes.io/cluster/x"]), ("exactTags", [{"key": "kubernetes.io/cluster/x"}])],
)
def test_schema_refuses_the_removal_of_a_protected_key(field: str, given: list[Any]) -> None:
    found = refusals("AWSMetadata", {"opcode": "delete", field: given})
    assert any(f"spec.{field}" in each and "protected" in each for each in found), found


@given(key=st.text(st.characters(codec="ascii"), min_size=1, max_size=12), head=st.sampled_from(["", *PREFIXES]))
def test_schema_refuses_ascii_keys_exactly_where_the_controller_does(head: str, key: str) -> None:
    """A key that one of them takes and the other one does not would be stored and never applied, or never stored."""
    tags = {head + key: "v"}
    assert bool(refusals("AWSMetadata", {"resourcetags": tags})) == bool(
        problems(AWS, [operation(Opcode.UPDATE, tags)], None, "spec")
    )


@pytest.mark.parametrize("opcode", ["add", "Update", "DELETE"])
def test_a3_opcodes_of_the_schema_are_those_of_the_decision(opcode: str) -> None:
    assert refusals("AWSMetadata", {"opcode": opcode}) == []
    assert parse_opcode(opcode) in Opcode


@over_rows(
    "text",
    ["10m", "1h30m", ".5h", "1.s", "90s", "10", "", "-1m", "1d", "m", "10m ", "1µs", "30s", "29.9s", "29s1000ms"],
)
def test_a8_durations_of_the_schema_are_those_of_the_decision(text: str) -> None:
    refused = bool(refusals("CloudMetadata", {**BY, "controllerconfig": {"syncevery": text}}))
    assert refused is not isinstance(parse_sync_period(text), float)
