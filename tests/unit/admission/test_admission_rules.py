"""What a reconciler refuses for what is in the object alone is refused when it is applied, in the same sentence."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.admission.rules import NOTHING, Rules
from freehold.admission.webhook_configuration import CHECKED
from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate
from freehold.providers.registry import PROVIDERS
from harness.bad_input import BadInput, read_bad_input
from harness.rows import over_rows

Json = dict[str, Any]
GATES = DEFAULT_GATES | {FeatureGate.BOOTSTRAP_FORMAT_IGNITION}
RULES = Rules(GATES)
INPUT = {each.name: each for each in read_bad_input()}

NEEDS_AN_ANSWER = frozenset(
    {
        "AWSCluster: unknown region",
        "AWSCluster: region without zones",
        "AWSCluster: no room",
        "AWSCluster: unknown zone",
        "AWSCluster: local zone in a given VPC of which the spec does not say so",
        "AWSCluster: IPv6 in a given VPC without IPv6",
        "AWSCluster: IPv6 load balancer in given subnets without IPv6",
        "AWSCluster: a load balancer twice in a zone of a given VPC",
        "AWSCluster: a load balancer in another VPC",
        "AWSCluster: a load balancer in a local zone",
        "AWSCluster: a load balancer outside of a VPC that is not there yet",
        "AWSCluster: a listener on the port of the API server",
        "AWSCluster: addresses of NAT gateways in a given VPC",
        "AWSCluster: a source that is not there",
        "AWSCluster: a group of a load balancer in a VPC that is not there yet",
        "AWSCluster: an override in another VPC",
        "AWSMachine: an image that is not there",
        "AWSMachine: an image of another architecture",
        "AWSMachine: an image that nothing fits",
        "AWSMachine: no version to look an image up by",
        "AWSMachine: a version that is none",
        "AWSMachine: a format with another field",
        "AWSMachine: a format with code",
        "AWSMachine: a type that is not there",
        "AWSMachine: a root volume that is too small",
        "AWSMachine: a subnet of another VPC",
        "AWSMachine: a subnet that is not there",
        "AWSMachine: filters that nothing fits",
        "AWSMachine: a subnet for pods",
        "AWSMachine: a private subnet for a public address",
        "AWSMachine: a subnet of another failure domain",
        "AWSMachine: a failure domain without a subnet",
        "AWSMachine: no public subnet",
        "AWSMachine: a group that is not there",
        "AWSMachine: a group of another VPC",
        "AWSMachine: a tag of another cluster",
        "AWSManagedControlPlane: one zone",
        "AWSManagedControlPlane: subnets in one zone",
        "AWSManagedControlPlane: no private subnets",
        "AWSManagedControlPlane: an addon that is not there",
        "AWSManagedControlPlane: a version of an addon that is not there",
        "AWSManagedControlPlane: a key that is not there",
        "AWSManagedControlPlane: a key that EKS cannot use",
        "IBMPowerVSCluster: resource group unknown",
        "IBMPowerVSCluster: zone unknown",
        "IBMPowerVSCluster: zone without a Power Edge Router",
        "IBMPowerVSCluster: VPC region unknown",
        "IBMPowerVSCluster: subnet in a zone of another region",
        "IBMPowerVSCluster: local routing between two regions: upstream's sentence",
        "IBMPowerVSCluster: the API server's port again",
        "IBMPowerVSCluster: schema: a subnet's zone",
    }
)
"""What only a cloud knows, or another object: a machine's cluster, the port in a Cluster, the zones of a region."""


def sentences(raw: Json) -> tuple[str, ...]:
    group = raw["apiVersion"].partition("/")[0]
    return tuple(map(str, RULES.judge(group, raw["kind"], raw).problems))


@over_rows("case", INPUT.values(), ids=INPUT.keys())
def test_bad_input_of_the_tree_is_refused_as_the_reconciler_refuses_it(case: BadInput) -> None:
    if case.name in NEEDS_AN_ANSWER:
        assert case.problems and sentences(case.raw) == ()
    else:
        assert sentences(case.raw) == case.problems


def test_most_of_it_is_refused_at_once() -> None:
    assert INPUT.keys() > NEEDS_AN_ANSWER
    refused = [each for each in INPUT.values() if each.problems]
    assert len(NEEDS_AN_ANSWER) < len(refused) / 3, (len(NEEDS_AN_ANSWER), len(refused))


def test_every_kind_that_is_asked_about_has_rules() -> None:
    assert [each.kind for each in CHECKED if not RULES.knows(each.group, each.kind)] == []
    assert all(kind.adapt_unasked for provider in PROVIDERS for kind in provider.objects)


AWS = "infrastructure.cluster.x-k8s.io"


def cluster(annotations: dict[str, str]) -> Json:
    metadata = {"name": "c1", "namespace": "ns", "annotations": annotations}
    spec = {"region": "eu-central-1"}
    return {"apiVersion": f"{AWS}/v1beta2", "kind": "AWSCluster", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (names.EXTERNAL_RESOURCE_GC_ANNOTATION, "maybe", "is 'maybe', neither true nor false"),
        (names.EXTERNAL_RESOURCE_TASKS_ANNOTATION, "junk", "'junk' is no task"),
        (names.GC_VOLUMES_ANNOTATION, "Delete", "none of retain, delete, snapshot"),
    ],
)
def test_an_annotation_that_would_hold_up_a_delete_is_refused(annotation: str, value: str, said: str) -> None:
    (problem,) = sentences(cluster({annotation: value}))
    assert problem.startswith("metadata.annotations: ") and annotation in problem and said in problem


def test_an_annotation_that_opts_out_makes_the_others_idle() -> None:
    opted_out = {names.EXTERNAL_RESOURCE_GC_ANNOTATION: "false", names.EXTERNAL_RESOURCE_TASKS_ANNOTATION: "junk"}
    assert sentences(cluster(opted_out)) == ()


def metadata_object(kind: str, group: str, spec: Json) -> Json:
    metadata = {"name": "a", "namespace": "ns"}
    return {"apiVersion": f"metadata-controller.{group}.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "group", "spec", "said"),
    [
        ("AWSMetadata", "aws", {"resourcetags": {"aws:k": "v"}}, "spec.resourcetags['aws:k']"),
        ("AWSMetadata", "aws", {"resourcetags": {"café": "", "cafe\u0301": ""}}, "look the same"),
        ("AWSMetadata", "aws", {"opcode": "add", "tagkeys": ["k"]}, "what is listed here is deleted"),
        ("IBMMetadata", "ibm", {"resourcetags": {"a/b": "v"}}, "(the key 'a/b' has '/')"),
        ("CloudMetadata", "cloud", {}, "there is no classifier"),
        (
            "CloudMetadata", "cloud", {"classifiers": {"a": "b"}, "controllerconfig": {"syncevery": "1s"}},
            "spec.controllerconfig.syncevery",
        ),
        ("MetadataGrant", "cloud", {"namespaces": []}, "spec.namespaces"),
    ],
)  # fmt: skip
def test_tags_and_grants_are_judged_too(kind: str, group: str, spec: Json, said: str) -> None:
    found = sentences(metadata_object(kind, group, spec))
    assert len(found) == 1 and said in found[0], found


def test_a_cloud_metadata_without_a_provider_is_right_and_warned_about() -> None:
    raw = metadata_object("CloudMetadata", "cloud", {"classifiers": {"a": "b"}})
    found = RULES.judge("metadata-controller.cloud.io", "CloudMetadata", raw)
    assert found.problems == () and "there is no provider, so nothing is done" in found.notes[0]


def test_a_field_that_is_not_acted_on_is_a_note_and_no_problem() -> None:
    raw = cluster({}) | {"spec": {"region": "eu-central-1", "imageLookupBaseOS": "x", "s3Bucket": None}}
    raw["spec"]["network"] = {"vpc": {"carrierGatewayId": "cagw-1"}}
    found = RULES.judge(AWS, "AWSCluster", raw)
    assert found.problems == () and any("not acted on" in note for note in found.notes), found


def test_a_right_object_is_not_found_fault_with() -> None:
    assert RULES.judge(AWS, "AWSCluster", cluster({})) == NOTHING
