"""The metadata kinds: the proposal's examples as they are, both spellings, and what the schema refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from freehold.api.base import ApiModel
from freehold.api.metadata import CloudMetadata
from freehold.api.metadata_grant import MetadataGrant
from freehold.api.metadata_providers import AWSMetadata, IBMMetadata
from freehold.api.parse import InvalidObject, parse
from freehold.api.schema_lint import lint
from freehold.api.structural import structural
from freehold.apiserver.custom import CustomStrategy
from freehold.tagging.operations import Opcode, parse_opcode
from freehold.tagging.sync_period import UnparsableDuration, parse_sync_period
from harness.metadata import EXAMPLES

"""The proposal's two, unmodified."""

MODELS: dict[str, type[ApiModel]] = {
    "CloudMetadata": CloudMetadata,
    "AWSMetadata": AWSMetadata,
    "IBMMetadata": IBMMetadata,
    "MetadataGrant": MetadataGrant,
}
STRATEGIES = {
    kind: CustomStrategy(structural(model), has_status="status" in model.model_fields) for kind, model in MODELS.items()
}
BY = {"classifiers": {"env": "test"}}


def refusals(kind: str, spec: dict[str, Any]) -> list[str]:
    """By the schema, as an API server enforces it."""
    group = f"metadata-controller.{kind.removesuffix('Metadata').lower()}.io/v1alpha1"
    obj = {"apiVersion": group, "kind": kind, "metadata": {"name": "a"}, "spec": copy.deepcopy(spec)}
    STRATEGIES[kind].decode(obj)
    return [str(each) for each in STRATEGIES[kind].validate(obj, None)]


def parsed(kind: str, obj: dict[str, Any]) -> Any:
    return parse(MODELS[kind], {name: obj[name] for name in ("spec", "status") if name in obj}, at="")


@pytest.mark.parametrize("kind", MODELS)
def test_schema_can_be_a_crd(kind: str) -> None:
    assert lint(structural(MODELS[kind])) == ()


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
    "A8 unparsable duration": (
        "CloudMetadata", {**BY, "controllerconfig": {"syncevery": "10"}}, "spec.controllerconfig.syncevery", "",
    ),
    "A8 unknown limit": (
        "CloudMetadata", {**BY, "controllerconfig": {"limit": "ALL"}}, "spec.controllerconfig.limit", "",
    ),
    "A3 unknown opcode": ("AWSMetadata", {"opcode": "replace"}, "spec.opcode", ""),
    "A3 unknown opcode in a list": ("AWSMetadata", {"operations": [{"opcode": "x"}]}, "spec.operations[0].opcode", ""),
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


@pytest.mark.parametrize("case", REFUSED)
def test_schema_and_parser_refuse_with_the_path(case: str) -> None:
    """The parser is for servers without CEL."""
    kind, spec, path, said = REFUSED[case]
    found = refusals(kind, spec)
    assert any(path in each and said in each for each in found), found
    with pytest.raises(InvalidObject):
        parsed(kind, {"spec": spec})


@pytest.mark.parametrize("opcode", ["add", "Update", "DELETE"])
def test_a3_opcodes_of_the_schema_are_those_of_the_decision(opcode: str) -> None:
    assert refusals("AWSMetadata", {"opcode": opcode}) == []
    assert parse_opcode(opcode) in Opcode


@pytest.mark.parametrize("text", ["10m", "1h30m", ".5h", "1.s", "90s", "10", "", "-1m", "1d", "m", "10m ", "1µs"])
def test_a8_durations_of_the_schema_are_those_of_the_decision(text: str) -> None:
    refused = bool(refusals("CloudMetadata", {**BY, "controllerconfig": {"syncevery": text}}))
    assert refused == isinstance(parse_sync_period(text), UnparsableDuration)
