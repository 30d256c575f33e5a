"""A machine of an EKS cluster: what it reads of its AWSManagedControlPlane, and what it wants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Reason
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.providers.aws.control_plane.keys import CLUSTER
from freehold.providers.aws.machine.cluster_view import ClusterView, UnreadableView
from freehold.providers.aws.machine.control_plane_view import read_control_plane
from freehold.providers.aws.machine.desired import build_desired
from freehold.providers.aws.machine.facts import EksCluster, ImageByName, ImageByParameter, MachineQuestions
from freehold.providers.aws.machine.keys import INSTANCE
from freehold.providers.aws.machine.machine_plan import CLUSTER as ITS_CLUSTER
from freehold.providers.aws.machine.machine_plan import Decided, MachinePlan
from freehold.providers.aws.machine.questions import ask_image, questions_of
from freehold.providers.aws.machine.recorded import InstanceStanding, RecordedInstance
from freehold.providers.aws.machine.types.spec import AWSMachineSpec
from freehold.providers.objects.adapter import UndecidedSpec, WantedGraph, parse_or_refuse
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from freehold.providers.objects.spec_problems import SpecProblem
from freehold.providers.objects.vouching import vouch_with
from harness.aws_machine import (
    OTHER_PRIVATE,
    PRIVATE,
    PUBLIC,
    VPC,
    desired_of,
    facts,
    machine,
    owner_machine,
    planned,
)

Json = dict[str, Any]
RING = KeyRing.single(b"the key of the stage" * 2)
OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSManagedControlPlane", "default", "demo-plane")
EKS_ARN = "arn:aws:eks:us-east-1:111122223333:cluster/default_demo-plane"
EKS = EksCluster("default_demo-plane")
ADDITIONAL, BASTION, OF_EKS = "sg-0000000000000001", "sg-0000000000000002", "sg-0000000000000009"
HAS_GROUP = Answer(OF_EKS)
RECORD = {
    NodeKey("vpc", "main"): VPC,
    NodeKey("subnet", "private-us-east-1a"): PRIVATE,
    NodeKey("subnet", "private-us-east-1b"): OTHER_PRIVATE,
    NodeKey("subnet", "public-us-east-1a"): PUBLIC,
    NodeKey("security-group", "node-eks-additional"): ADDITIONAL,
    NodeKey("security-group", "bastion"): BASTION,
    CLUSTER: EKS_ARN,
}


def stored(*, record: dict[NodeKey, str] | None = None, status: Json | None = None, **spec: Any) -> Json:
    """A control plane of Cluster ``demo`` as the API server has it."""
    tags = ("sigs.k8s.io/cluster-api-provider-aws/cluster/demo=owned",)
    kept = RECORD if record is None else record
    entries = {key: Entry(RecordState.OWNED, ident, node_tags=tags) for key, ident in kept.items()}
    annotations = {names.JOURNAL_ANNOTATION: journals.dumps(Journal(OWNER, entries))}
    metadata = {"name": "demo-plane", "namespace": "default", "annotations": annotations}
    whole = {"region": "us-east-1", "version": "v1.33.1", **spec}
    return {"kind": OWNER.kind, "metadata": metadata, "spec": whole, "status": status or {}}


def view_of(raw: Json | None = None) -> ClusterView:
    found = read_control_plane(raw or stored(), vouch_with(None))
    assert isinstance(found, ClusterView)
    return found


def decided(raw: Json | None = None, eks_group: Any = HAS_GROUP, **more: Any) -> Decided:
    return planned(raw, facts(eks_group=eks_group), view=view_of(), **more)


def plan_of(**more: Any) -> MachinePlan:
    found = decided(**more)
    assert isinstance(found, MachinePlan), found
    return found


def spec_of(**spec: Any) -> AWSMachineSpec:
    found = parse_or_refuse(AWSMachineSpec, machine(**spec))
    assert isinstance(found, AWSMachineSpec)
    return found


def test_network_group_and_eks_cluster_are_those_on_record() -> None:
    found = view_of(stored(sshKeyName="k", additionalTags={"a": "b"}))
    assert (found.vpc, found.subnets) == (VPC, (PRIVATE, OTHER_PRIVATE, PUBLIC))
    assert (found.groups, found.registrations, found.forged) == ({"node-eks-additional": ADDITIONAL}, (), ())
    assert (found.cluster, found.of_workloads, found.eks) == ("demo", "default_demo-plane", EKS)
    assert (found.region, found.key_name, found.tags) == ("us-east-1", "k", {"a": "b"})
    assert found.title == "AWSManagedControlPlane 'demo-plane'"


def test_the_version_is_what_the_control_plane_has_and_not_yet_what_it_is_to_have() -> None:
    assert view_of().version == "v1.33.1"
    assert view_of(stored(status={"version": "v1.32"})).version == "v1.32"


@pytest.mark.parametrize("record", [{}, {NodeKey("vpc", "main"): VPC}], ids=["nothing", "a network alone"])
def test_without_an_eks_cluster_on_record_nothing_can_be_told(record: dict[NodeKey, str]) -> None:
    found = read_control_plane(stored(record=record), vouch_with(None))
    assert isinstance(found, UnreadableView) and "has no EKS cluster on its record yet" in found.why


def test_an_eks_cluster_that_the_operator_did_not_write_does_not_count() -> None:
    """Whoever may edit the object must not put machines into the group of a stranger's cluster."""
    keys = RING.derive_keys(OWNER)
    signature = keys.signature(keys.writing, CLUSTER.kind, EKS_ARN, "born")
    signed = Entry(RecordState.OWNED, EKS_ARN, key=keys.writing, signature=signature, incarnation="born")
    for entry, expected in ((signed, True), (replace(signed, id=f"{EKS_ARN}0"), False)):
        raw = stored()
        raw["metadata"]["annotations"] = {names.JOURNAL_ANNOTATION: journals.dumps(Journal(OWNER, {CLUSTER: entry}))}
        found = read_control_plane(raw, vouch_with(RING))
        assert isinstance(found, ClusterView) is expected
        assert not isinstance(found, ClusterView) or found.eks == EksCluster(EKS.name, "born")


def test_a_control_plane_that_others_manage_says_it_in_spec_and_status() -> None:
    network = {"vpc": {"id": VPC}, "subnets": [{"id": "a", "resourceID": PRIVATE}]}
    raw = stored(network=network, eksClusterName="theirs")
    raw["metadata"]["annotations"] = {names.MANAGED_BY_ANNOTATION: "terraform"}
    groups = {"node-eks-additional": {"id": ADDITIONAL}, "node": {"id": "sg-1"}}
    raw["status"] = {"networkStatus": {"securityGroups": groups}}
    found = view_of(raw)
    assert (found.vpc, found.subnets, found.groups) == (VPC, (PRIVATE,), {"node-eks-additional": ADDITIONAL})
    assert found.eks == EksCluster("theirs")
    del raw["spec"]["eksClusterName"]
    assert view_of(raw).eks == EKS


@pytest.mark.parametrize("control_plane", (False, True))
def test_it_is_in_the_group_of_eks_and_in_the_additional_one_and_behind_nothing(*, control_plane: bool) -> None:
    plan = plan_of(owner=owner_machine(control_plane=control_plane))
    assert (plan.security_groups, plan.registrations) == ((ADDITIONAL, OF_EKS), ())
    assert plan.subnet_id == PRIVATE


def test_either_group_can_be_another_one() -> None:
    plan = plan_of(raw=machine(securityGroupOverrides={"node": "sg-8", "node-eks-additional": "sg-7", "lb": "sg-6"}))
    assert plan.security_groups == ("sg-7", "sg-8")


NO_GROUP: dict[str, tuple[Any, str, str]] = {
    "EKS has no such cluster": (NotThere(), ITS_CLUSTER, "has no security group node yet"),
    "EKS does not answer": (
        NoAnswer(Reason.DENIED, "eks:DescribeCluster is denied"),
        "the security group of EKS",
        "denied",
    ),
}


@pytest.mark.parametrize(("said", "where", "why"), NO_GROUP.values(), ids=NO_GROUP.keys())
def test_without_the_group_of_eks_nothing_is_made(said: Any, where: str, why: str) -> None:
    found = decided(eks_group=said)
    assert isinstance(found, UndecidedSpec) and why in found.missing[where].message


def test_its_group_is_asked_for_also_of_a_living_instance_and_not_of_a_given_one() -> None:
    """It may have been taken out of the group."""
    spec, view = spec_of(), view_of()
    assert questions_of(spec, view, "", RecordedInstance()).eks == EKS
    assert questions_of(spec, view, "", RecordedInstance(InstanceStanding.OURS, "i-1")) == MachineQuestions(eks=EKS)
    assert questions_of(spec, view, "", RecordedInstance(InstanceStanding.GIVEN, "i-1")) == MachineQuestions()


def test_eks_finds_it_by_the_name_of_its_cluster_and_capa_by_that_of_the_cluster() -> None:
    """https://docs.aws.amazon.com/eks/latest/userguide/worker.html"""
    assert build_desired(plan_of()).graph.nodes[INSTANCE].tags >= {
        "kubernetes.io/cluster/default_demo-plane=owned",
        "sigs.k8s.io/cluster-api-provider-aws/cluster/demo=owned",
    }


def eks_image(minor: str, system: str) -> ImageByParameter:
    return ImageByParameter(f"/aws/service/eks/optimized-ami/{minor}/amazon-linux-{system}/recommended/image_id")


LOOK_UP: dict[str, tuple[Json, Json, str, object]] = {
    "by the version of its Machine": (
        {"ami": {"eksLookupType": "AmazonLinux2023"}}, {}, "v1.31.4", eks_image("1.31", "2023/{architecture}/standard"),
    ),
    "alone: by that of the control plane": (
        {"ami": {"eksLookupType": "AmazonLinux2023GPU"}}, {}, "", eks_image("1.33", "2023/{architecture}/nvidia"),
    ),
    "nothing is said": ({"ami": None}, {}, "", eks_image("1.33", "2023/{architecture}/standard")),
    "nothing is said, and Amazon Linux 2 has an image": ({"ami": None}, {}, "v1.32.0", eks_image("1.32", "2{arm}")),
    "Amazon Linux 2 for graphics": (
        {"ami": {"eksLookupType": "AmazonLinuxGPU"}}, {}, "v1.32", eks_image("1.32", "2-gpu"),
    ),
    "Amazon Linux 2 has ended": (
        {"ami": {"eksLookupType": "AmazonLinuxGPU"}}, {}, "v1.33.0",
        SpecProblem(
            "spec.ami.eksLookupType",
            "there are no images of Amazon Linux 2 for Kubernetes 1.33; write AmazonLinux2023GPU",
        ),
    ),
    "by the machine's own lookup": (
        {"ami": None, "imageLookupOrg": "1", "imageLookupFormat": "x-{{.K8sVersion}}"}, {}, "",
        ImageByName("1", "x-1.33.1"),
    ),
    "by the cluster's lookup": (
        {"ami": None}, {"imageLookupOrg": "1", "imageLookupFormat": "x"}, "", ImageByName("1", "x"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "plane", "version", "asked"), LOOK_UP.values(), ids=LOOK_UP.keys())
def test_the_question_for_the_image(spec: Json, plane: Json, version: str, asked: object) -> None:
    assert ask_image(spec_of(**spec), view_of(stored(**plane)), version) == asked


def test_the_object_leads_to_an_instance() -> None:
    """From the stored control plane to the nodes, as the adapter does it."""
    found = desired_of(machine(), facts(eks_group=HAS_GROUP), cluster=stored())
    assert isinstance(found, WantedGraph)
    assert found.graph.nodes[INSTANCE].request({})["security_groups"] == [ADDITIONAL, OF_EKS]
