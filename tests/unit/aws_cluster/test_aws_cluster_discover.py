"""What an AWSCluster asks of the cloud: only what its spec leaves open, and less in a delete."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest

from freehold.api.feature_gates import FeatureGate
from freehold.engine.errors import CloudError, Denied, Unavailable
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.providers.aws.cluster.adapter import AWSClusterAdapter
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.facts import GivenNetwork, GivenSubnet, Namesake
from freehold.providers.aws.cluster.keys import BUCKET
from freehold.providers.objects.adapter import Desired, RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer, NotThere
from freehold.providers.objects.gate import Proceed
from harness.aws_specs import NAMES, REGION, SUBNET, VPC, ZONES, Spec, cluster

OWNER = Owner("u1", "AWSCluster", NAMES.namespace, NAMES.cluster)
GIVEN: Spec = {"region": REGION, "network": {"vpc": VPC, "subnets": [SUBNET]}}
SIX: Spec = {"region": REGION, "network": {"vpc": {"ipv6": {}}}}
BASTION: Spec = {"region": REGION, "bastion": {"enabled": True}}
SOURCE = {"description": "a rule", "protocol": "tcp", "fromPort": 1, "toPort": 1, "sourceSecurityGroupIds": ["sg-1"]}
GROUPS: Spec = {"region": REGION, "network": {"additionalNodeIngressRules": [SOURCE]}}
NETWORK = GivenNetwork({SUBNET["id"]: GivenSubnet(SUBNET["id"], ZONES[0], "10.0.0.0/24", public=True)})


class Cloud:
    """Answers, and writes down what it was asked (discover.AWSClusterFactsReader)."""

    not_bound = ""

    def __init__(self, namesakes: tuple[Namesake, ...] = (), *, fails: dict[str, CloudError] | None = None) -> None:
        self.asked: list[str] = []
        self._namesakes = namesakes
        self._fails = fails or {}

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what in self._fails:
            raise self._fails[what]

    async def zones(self) -> Answer[tuple[str, ...]] | NotThere:
        self._ask("zones")
        return Answer(ZONES)

    async def network(self, vpc: str) -> Answer[GivenNetwork] | NotThere:
        self._ask("network")
        return Answer(NETWORK) if vpc == VPC["id"] else NotThere()

    async def has_ipv6(self, vpc: str) -> Answer[bool] | NotThere:
        self._ask("has_ipv6")
        return Answer(True)

    async def image(self) -> Answer[str] | NotThere:
        self._ask("image")
        return Answer("ami-1")

    async def groups(self, idents: Collection[str]) -> Answer[Mapping[str, str]]:
        self._ask("groups")
        return Answer(dict.fromkeys(idents, VPC["id"]))

    async def namesakes(self, cluster: str, uuid: str, of_workloads: str = "") -> Answer[tuple[Namesake, ...]]:
        self._ask("namesakes")
        assert uuid == OWNER.uuid
        return Answer(self._namesakes if cluster == NAMES.cluster else ())


def journal(**phases: RecordState) -> Journal:
    keys = {
        "vpc": NodeKey("vpc", "main"),
        "bastion": NodeKey("instance", "bastion"),
        "bucket": NodeKey("s3-bucket", "main"),
        "egress": NodeKey("egress-only-gateway", "main"),
    }
    return Journal(OWNER, {keys[name]: Entry(phase, id=f"{name}-1") for name, phase in phases.items()})


async def decide(
    spec: Spec, cloud: Cloud, record: Journal | None = None, gates: Any = frozenset(), **meta: Any
) -> Desired:
    raw = cluster(spec)
    raw["metadata"] |= meta
    adapter = AWSClusterAdapter(cloud, gates)
    return await adapter.find_desired(raw, Proceed(raw["metadata"]["name"]), record or journal())


@pytest.mark.parametrize(
    ("spec", "record", "asked"),
    [
        pytest.param({"region": REGION}, journal(), ["zones", "namesakes"], id="a new cluster"),
        pytest.param(
            {"region": REGION}, journal(vpc=RecordState.OWNED), ["zones"], id="one that has begun owns its name"
        ),
        pytest.param(GIVEN, journal(), ["zones", "network", "namesakes"], id="a given VPC"),
        pytest.param(GIVEN, journal(vpc=RecordState.GIVEN), ["zones", "network", "namesakes"], id="given is not begun"),
        pytest.param(BASTION, journal(), ["zones", "image", "namesakes"], id="a bastion"),
        pytest.param(GROUPS, journal(), ["zones", "namesakes", "groups"], id="security groups of others"),
        pytest.param(GROUPS, journal(vpc=RecordState.OWNED), ["zones"], id="they say later themselves what is wrong"),
        pytest.param(BASTION, journal(bastion=RecordState.OWNED), ["zones"], id="a bastion keeps its image"),
        pytest.param(SIX, journal(), ["zones", "namesakes"], id="IPv6"),
        pytest.param(SIX, journal(vpc=RecordState.OWNED), ["zones", "has_ipv6"], id="IPv6 in a VPC that is there"),
        pytest.param(
            SIX, journal(vpc=RecordState.OWNED, egress=RecordState.OWNED), ["zones"], id="IPv6 that is on record"
        ),
        pytest.param(
            {**BASTION, "bastion": {"enabled": True, "ami": "ami-2"}}, journal(), ["zones", "namesakes"], id="own image"
        ),
    ],
)
async def test_only_what_is_open_is_asked(spec: Spec, record: Journal, asked: list[str]) -> None:
    cloud = Cloud()
    assert isinstance(await decide(spec, cloud, record), AWSWanted)
    assert cloud.asked == asked


async def test_that_aws_does_not_bind_deletes_is_a_note() -> None:
    """``plan`` and the condition FieldsServed show notes."""
    cloud = Cloud()
    cloud.not_bound = "its policy is long"
    named = {"identityRef": {"kind": "AWSClusterRoleIdentity", "name": "infra"}}
    found = await decide({"region": REGION, **named}, cloud)
    assert isinstance(found, AWSWanted)
    (note,) = found.notes
    assert str(note).endswith("its policy is long")


async def test_an_object_that_was_restored_does_not_ask_for_groups() -> None:
    """Its VPC is not on record, so nobody could say whether they are in it."""
    cloud = Cloud((Namesake("arn", uuid=OWNER.uuid),))
    assert isinstance(await decide(GROUPS, cloud), AWSWanted)
    assert cloud.asked == ["zones", "namesakes"]


async def test_without_an_answer_on_groups_nothing_is_decided() -> None:
    found = await decide(GROUPS, Cloud(fails={"groups": Unavailable("no answer")}))
    assert isinstance(found, UndecidedSpec)
    assert list(found.missing) == ["spec.network.additionalNodeIngressRules[0].sourceSecurityGroupIds[0]"]


async def test_a_delete_asks_neither_for_an_image_nor_for_clusters_of_the_name() -> None:
    cloud = Cloud((Namesake("arn"),))
    found = await decide(BASTION, cloud, deletionTimestamp="2026-01-01T12:05:00Z")
    assert isinstance(found, AWSWanted)
    assert cloud.asked == ["zones"]


async def test_a_delete_does_not_ask_which_address_families_there_are() -> None:
    cloud = Cloud(fails={"has_ipv6": Denied("ec2:DescribeVpcs is denied")})
    found = await decide(SIX, cloud, journal(vpc=RecordState.OWNED), deletionTimestamp="2026-01-01T12:05:00Z")
    assert isinstance(found, AWSWanted)


async def test_a_cluster_of_the_same_name_stops_the_first_create_and_not_a_cluster_that_is_there() -> None:
    """Whoever may tag could stop the healing of a cluster otherwise."""
    found = await decide({"region": REGION}, Cloud((Namesake("arn:of:theirs"),)))
    assert isinstance(found, RefusedSpec)
    assert found.reason == "NameTaken"
    there = await decide({"region": REGION}, Cloud((Namesake("arn:of:theirs"),)), journal(vpc=RecordState.OWNED))
    assert isinstance(there, AWSWanted)


async def test_the_name_is_that_of_the_cluster_that_owns_the_object() -> None:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "big", "uid": "c1"}
    cloud = Cloud((Namesake("arn:of:theirs"),))  # of the object's own name, which is not the cluster's
    found = await decide({"region": REGION}, cloud, ownerReferences=[owner])
    assert isinstance(found, AWSWanted)
    assert found.graph.nodes[NodeKey("vpc", "main")].name == "big-vpc"


@pytest.mark.parametrize(
    ("spec", "what", "error", "reason"),
    [
        ({"region": REGION}, "zones", Unavailable("no reply"), "Retrying"),
        ({"region": REGION}, "namesakes", Denied("tag:GetResources is denied"), "Denied"),
        (GIVEN, "network", Denied("ec2:DescribeVpcs is denied"), "Denied"),
        (SIX, "has_ipv6", Denied("ec2:DescribeVpcs is denied"), "Denied"),
        (BASTION, "image", Denied("ssm:GetParameter is denied"), "Denied"),
    ],
)
async def test_what_cannot_be_asked_is_said_and_nothing_is_wanted(
    spec: Spec, what: str, error: CloudError, reason: str
) -> None:
    found = await decide(spec, Cloud(fails={what: error}), journal(vpc=RecordState.OWNED) if spec is SIX else None)
    assert isinstance(found, UndecidedSpec)
    (answer,) = found.missing.values()
    assert (answer.reason.value, answer.message) == (reason, error.message)


async def test_a_spec_that_does_not_parse_asks_nothing() -> None:
    cloud = Cloud()
    assert isinstance(await decide({"region": 7}, cloud), RefusedSpec)
    assert cloud.asked == []


@pytest.mark.parametrize("account", ["111122223333", "111122223333/eu-central-1"])
async def test_the_profiles_that_may_read_a_bucket_are_in_the_objects_account(account: str) -> None:
    bucket = {"name": "boot", "controlPlaneIAMInstanceProfile": "cp", "nodesIAMInstanceProfiles": ["workers"]}
    gate = frozenset({FeatureGate.BOOTSTRAP_FORMAT_IGNITION})
    record = replace(journal(), account=account)
    found = await decide({"region": REGION, "s3Bucket": bucket}, Cloud(), record, gates=gate)
    assert isinstance(found, AWSWanted)
    (policy,) = found.graph.nodes[BUCKET].parts({})
    assert "arn:aws:iam::111122223333:role/cp" in policy.request["Policy"]


async def test_a_bucket_begins_with_the_gate_and_stays_without_it() -> None:
    spec: Spec = {"region": REGION, "s3Bucket": {"name": "boot", "presignedURLDuration": "24h"}}
    gate = frozenset({FeatureGate.BOOTSTRAP_FORMAT_IGNITION})
    wanted = [
        await decide(spec, Cloud()), await decide(spec, Cloud(), gates=gate),
        await decide(spec, Cloud(), journal(bucket=RecordState.OWNED)),
    ]  # fmt: skip
    assert [isinstance(each, AWSWanted) and NodeKey("s3-bucket", "main") in each.graph.nodes for each in wanted] == [
        False, True, True,
    ]  # fmt: skip
