"""What holds a security group that is to be collected, and what may be taken out for it. Rows as EC2 shows them."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.collection.found import Step, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.engine.errors import NotFound
from freehold.engine.keyed_codec import OWNER, UUID
from freehold.engine.port import Call, InlinePort
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.collectors.collector import Scene, collect_traces
from freehold.providers.aws.collectors.network_interfaces import NetworkInterfaces
from freehold.providers.aws.collectors.security_groups import SecurityGroups
from freehold.providers.aws.collectors.survey import _namesakes
from freehold.providers.aws.decoded import AwsLocation
from freehold.providers.aws.registry import aws_kinds
from freehold.providers.aws.session import AwsSession
from harness.aws_account import KEYS, REGION
from harness.stepping import run_blocking

ACCOUNT, THEIRS = "111122223333", "0a1b2c3d-9999-4222-8333-444455556666"
CLUSTER = Workloads("prod", "vpc-1", "0a1b2c3d-1111-4222-8333-444455556666")
CLUSTER_TAG = "kubernetes.io/cluster/prod"


def group(ident: str, name: str = "", *names: str, tags: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A group with a rule that lets each of ``names`` in."""
    permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": each, "UserId": ACCOUNT} for each in names]}
    shown = [{"Key": key, "Value": value} for key, value in (tags or {}).items()]
    row = {"GroupId": ident, "GroupName": name, "VpcId": "vpc-1", "Tags": shown, "IpPermissions": [permission]}
    return {"Description": "", "IpPermissionsEgress": [], **row, **more}


def of_service(ident: str, *names: str) -> dict[str, Any]:
    about = f"Security group for Kubernetes ELB {ident} (team/web)"
    return group(ident, f"k8s-elb-{ident}", *names, tags={CLUSTER_TAG: "owned"}, Description=about)


def ours(ident: str, *names: str) -> dict[str, Any]:
    return group(ident, "prod-node", *names, tags={UUID: CLUSTER.uuid})


class Recording(InlinePort):
    def __init__(self) -> None:
        self.sent: list[Call] = []
        self.error: Exception | None = None

    async def send(self, call: Call) -> Any:
        self.sent.append(call)
        if self.error is not None:
            raise self.error
        return {}


PORT = Recording()
CLIENT = AwsClient(AwsSession(KEYS, REGION), PORT)


def scene(*groups: dict[str, Any], interfaces: tuple[dict[str, Any], ...] = ()) -> Scene:
    return Scene(CLUSTER, AwsLocation("aws", REGION, ACCOUNT), {}, interfaces, groups)


def found(*groups: dict[str, Any], interfaces: tuple[dict[str, Any], ...] = ()) -> dict[str, Thing]:
    collector = SecurityGroups(CLIENT)
    return {each.id: each for each in run_blocking(collector.find(scene(*groups, interfaces=interfaces)))}


def naming(thing: Thing) -> list[str]:
    return [holder for holder, _ in thing.named_by]


def test_rules_of_our_own_groups_and_of_groups_that_go_too_are_taken_out() -> None:
    things = found(of_service("sg-1", "sg-2"), of_service("sg-2", "sg-1"), ours("sg-3", "sg-1"))
    assert naming(things["sg-1"]) == ["sg-2", "sg-3"]
    assert naming(things["sg-2"]) == ["sg-1"]
    assert not any(each.held_by for each in things.values())


def test_a_rule_of_the_group_itself_holds_nothing() -> None:
    assert not found(of_service("sg-1", "sg-1"))["sg-1"].named_by


def test_an_egress_rule_names_a_group_too() -> None:
    out = [{"IpProtocol": "tcp", "FromPort": 80, "ToPort": 80, "UserIdGroupPairs": [{"GroupId": "sg-1"}]}]
    (named,) = found(of_service("sg-1"), group("sg-3", tags={UUID: CLUSTER.uuid}, IpPermissionsEgress=out))[
        "sg-1"
    ].named_by
    assert named[0] == "sg-3"
    assert named[1].request["UserIdGroupPairs"] == [{"GroupId": "sg-1"}]


@pytest.mark.parametrize("tags", [{}, {UUID: THEIRS}, {CLUSTER_TAG: "owned"}], ids=["nothing", "another", "a user's"])
def test_a_rule_in_a_group_of_somebody_else_holds_it(tags: dict[str, str]) -> None:
    thing = found(of_service("sg-1"), group("sg-9", "audit", "sg-1", tags=tags), ours("sg-3", "sg-1"))["sg-1"]
    assert thing.held_by == "a rule in sg-9 names it: revoke that rule"


def test_an_interface_in_it_is_waited_for() -> None:
    inside = {"NetworkInterfaceId": "eni-1", "Groups": [{"GroupId": "sg-1"}]}
    other = {"NetworkInterfaceId": "eni-2", "Groups": [{"GroupId": "sg-3"}]}
    assert found(of_service("sg-1"), interfaces=(inside, other))["sg-1"].waits_for.startswith(
        "network interface eni-1,"
    )
    assert not found(of_service("sg-1"), interfaces=(other,))["sg-1"].waits_for


def _steps(*groups: dict[str, Any]) -> list[list[Step]]:
    collector = SecurityGroups(CLIENT)
    things = [each for each in run_blocking(collector.find(scene(*groups))) if each.named_by]
    return [list(wave) for wave in collector.plan_steps(things, Volumes.RETAIN)]


def test_every_rule_goes_before_the_first_group() -> None:
    """Two groups may name each other."""
    revokes, deletes = _steps(of_service("sg-1", "sg-2"), of_service("sg-2", "sg-1"))
    PORT.sent.clear()
    PORT.error = NotFound("it has gone meanwhile")
    for each in revokes:
        run_blocking(each.run())
    PORT.error = None
    for each in deletes:
        run_blocking(each.run())
    assert [call.operation for call in PORT.sent] == ["revoke_security_group_ingress"] * 2 + [
        "delete_security_group"
    ] * 2
    assert [call.subject for call in PORT.sent] == ["sg-2", "sg-1", "sg-1", "sg-2"]


# -- what waits ---------------------------------------------------------------------------------------------------


def test_all_that_controllers_may_have_something_in_waits_for_the_collection_and_for_nothing_that_goes_before() -> None:
    """A kind that waits and needs one that goes before would keep it, and itself, for ever."""
    kinds = aws_kinds(CLIENT)
    waits = {name for name, kind in kinds.items() if kind.deletion.after_collection}
    before = {"instance", "bootstrap-secret", "s3-bucket", "eks-cluster", "eks-addon", "eks-access-entry"}
    before |= {"classic-load-balancer", "network-load-balancer", "target-group", "listener"}
    before |= {"eks-cluster", "eks-addon", "eks-access-entry"}
    assert waits == kinds.keys() - before
    assert {each for name in waits for each in kinds[name].requires} <= waits
    assert [name for name, kind in kinds.items() if kind.deletion.holds_external] == ["vpc"]


# -- what else a look shows ---------------------------------------------------------------------------------------


def test_an_interface_that_a_service_keeps_is_known_as_one() -> None:
    tags = [{"Key": "cluster.k8s.amazonaws.com/name", "Value": "prod"}]
    row = {"NetworkInterfaceId": "eni-1", "VpcId": "vpc-1", "Status": "available", "TagSet": tags}
    rows = (row, {**row, "NetworkInterfaceId": "eni-2", "RequesterManaged": True})
    seen = run_blocking(NetworkInterfaces(CLIENT).find(scene(interfaces=rows)))
    assert [(each.id, each.by_service, each.state, each.network) for each in seen] == [
        ("eni-1", False, "available", "vpc-1"),
        ("eni-2", True, "available", "vpc-1"),
    ]


def test_interfaces_of_load_balancers_are_known_by_what_aws_has_written_on_them() -> None:
    rows = [
        {"NetworkInterfaceId": f"eni-{at}", "Description": about, "RequesterManaged": True}
        for at, about in enumerate(["ELB net/a/1", "ELB net/a/1", "ELB classic", "aws-K8S-i-1", ""])
    ]
    users = {"NetworkInterfaceId": "eni-9", "Description": "ELB classic", "RequesterManaged": False}
    assert collect_traces([*rows, users]) == {"ELB net/a/1": ("eni-0", "eni-1"), "ELB classic": ("eni-2",)}


@pytest.mark.parametrize("key", [CLUSTER_TAG, "sigs.k8s.io/cluster-api-provider-aws/cluster/prod"])
def test_another_owner_of_the_name_in_the_network_is_named(key: str) -> None:
    theirs = {key: "owned", UUID: THEIRS, OWNER: "prod/c2"}
    assert _namesakes([group("sg-1", tags=theirs)], CLUSTER) == ("prod/c2",)
    assert _namesakes([group("sg-1", tags={key: "owned", UUID: THEIRS})], CLUSTER) == (THEIRS,)


@pytest.mark.parametrize(
    "tags",
    [
        {CLUSTER_TAG: "owned", UUID: CLUSTER.uuid.upper(), OWNER: "default/prod"},
        {CLUSTER_TAG: "owned"},
        {"kubernetes.io/cluster/other": "owned", UUID: THEIRS},
    ],
    ids=["ours", "nobody's", "another name"],
)
def test_nobody_else_has_the_name(tags: dict[str, str]) -> None:
    assert _namesakes([group("sg-1", tags=tags)], CLUSTER) == ()
