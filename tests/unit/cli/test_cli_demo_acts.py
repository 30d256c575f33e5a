"""The acts and steps of the demo against the simulated clouds: what each claims fails where it is not so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from freehold.cli.errors import CliError
from freehold.cli.local.state_directory import StateDirectory
from freehold.cli.objects import manifests
from freehold.cli.output.progress import PlainDisplay
from freehold.demo import checks, machine_steps, steps, story, world
from freehold.demo.acts import Act, Damage, LostReply
from freehold.demo.aws_act import AWSAct
from freehold.demo.powervs_act import PowerVSAct
from freehold.demo.stage import Stage
from freehold.kube.resources import Key, Resource
from freehold_sim.admin import Admin
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.clock import VirtualClock
from freehold_sim.http import Request
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.loading import Clouds

REGION = "us-east-1"
ZONE = f"{REGION}a"
OWNER = "freehold.dev/owner"


class _Sky:
    """Both clouds on one clock, and the admin API in front of them."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.ibm, self.aws = SimulatedIBM(self.clock), SimulatedAWS(self.clock)
        made: dict[str, Any] = {"ibm": self.ibm, "aws": self.aws}
        self._admin = Admin(Clouds(("ibm", "aws"), frozenset(), made.__getitem__), self.clock)

    async def ask(self, base: str, path: str, body: Any = None) -> Any:
        parts = urlsplit(f"/_sim/{path}")
        raw = b"" if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        answer = self._admin.handle(Request(method, parts.path, dict(parse_qsl(parts.query)), {}, raw))
        if answer.status != 200:
            raise CliError(answer.json()["error"])
        return answer.json()

    def own(self, service: str, operation: str, params: dict[str, Any], **tags: str) -> dict[str, Any]:
        """Something on AWS that was made with our credentials."""
        made = self.aws.strangers.create(service, operation, params, region=REGION)
        record = self.aws.strangers.find(made["id"])
        record["by"] = "api"
        self.aws.strangers.tag(made["id"], {OWNER: "default/a", **tags})
        return record


@pytest.fixture
def sky(monkeypatch: pytest.MonkeyPatch) -> _Sky:
    sky = _Sky()
    monkeypatch.setattr(world, "ask", sky.ask)
    return sky


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage("", StateDirectory.open(tmp_path), PlainDisplay())


def _document(kind: str, spec: dict[str, Any]) -> manifests.ManifestDocument:
    obj = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "a"}}
    return manifests.ManifestDocument({**obj, "spec": spec}, "here")


def _aws_act() -> AWSAct:
    document = _document("AWSCluster", {"region": REGION})
    return AWSAct("", [document], document)


def _network(sky: _Sky) -> dict[str, str]:
    """A VPC with a private subnet whose route table leads to a NAT gateway, and a load balancer."""
    vpc = sky.own("ec2", "CreateVpc", {"CidrBlock": "10.0.0.0/16"}, Name="a-vpc")["id"]
    subnet = sky.own("ec2", "CreateSubnet", {"VpcId": vpc, "CidrBlock": "10.0.0.0/24", "AvailabilityZone": ZONE})["id"]
    gateway = sky.own("ec2", "CreateInternetGateway", {})["id"]
    sky.aws.strangers.call("ec2", "AttachInternetGateway", {"InternetGatewayId": gateway, "VpcId": vpc})
    address = sky.own("ec2", "AllocateAddress", {"Domain": "vpc"})["id"]
    nat = sky.own("ec2", "CreateNatGateway", {"SubnetId": subnet, "AllocationId": address})["id"]
    table = sky.own("ec2", "CreateRouteTable", {"VpcId": vpc})["id"]
    route = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": nat}
    sky.aws.strangers.call("ec2", "CreateRoute", route)
    balancer = {"Name": "a-apiserver", "Type": "network", "Subnets": [subnet]}
    made = sky.own("elbv2", "CreateLoadBalancer", balancer)
    host = made["view"]["DNSName"]
    return {"vpc": vpc, "subnet": subnet, "table": table, "nat": nat, "host": host, "balancer": made["id"]}


async def test_the_strangers_on_aws_tempt_and_are_not_of_our_cluster(sky: _Sky, stage: Stage) -> None:
    """CAPA's tag with our name would make any create refuse (NameTaken): theirs names another cluster."""
    act = _aws_act()
    await steps.strangers_arrive(stage, act)
    tags = {each.kind: each.tags for each in act.before if each.tags}
    assert {"vpc", "subnet", "security-group", "classic-balancer"} == tags.keys()
    assert "Name=a-vpc" in tags["vpc"]
    for each in tags.values():
        assert "sigs.k8s.io/cluster-api-provider-aws/cluster/a2=owned" in each
    assert (
        checks.check_untouched(act.before, await act.world.resources())
        == f"{len(act.before)} resources of strangers as they were, byte for byte"
    )


@pytest.mark.parametrize(
    ("operation", "change"),
    [
        ("ec2.AuthorizeSecurityGroupIngress", {"IpPermissions": [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22,
                                                                "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]}),
        ("elb.ConfigureHealthCheck", {"HealthCheck": {"Target": "TCP:1", "Interval": 30, "Timeout": 5,
                                                      "UnhealthyThreshold": 2, "HealthyThreshold": 2}}),
        ("ec2.ModifyVpcAttribute", {"EnableDnsHostnames": {"Value": True}}),
    ],
)  # fmt: skip
async def test_what_tags_and_names_do_not_show_of_a_stranger_is_compared_too(
    sky: _Sky, operation: str, change: dict[str, Any]
) -> None:
    act = _aws_act()
    await act.strangers_arrive()
    act.before = await act.world.resources()
    ids = {each.kind: each.id for each in act.before if not each.default}
    whose = {
        "ec2.AuthorizeSecurityGroupIngress": {"GroupId": ids["security-group"]},
        "elb.ConfigureHealthCheck": {"LoadBalancerName": ids["classic-balancer"]},
        "ec2.ModifyVpcAttribute": {"VpcId": ids["vpc"]},
    }[operation]
    service, _, name = operation.partition(".")
    sky.aws.strangers.call(service, name, {**whose, **change})
    with pytest.raises(checks.NotSo, match="was changed"):
        await act.check_untouched()


async def test_the_endpoint_on_aws_is_the_load_balancers_and_leads_in_from_outside(sky: _Sky) -> None:
    act, made = _aws_act(), _network(sky)
    host = made["host"]
    assert await act.endpoint(host) == "the endpoint is the internet-facing load balancer's DNS name"
    with pytest.raises(checks.NotSo, match="controlPlaneEndpoint is other"):
        await act.endpoint("other")
    sky.aws.strangers.change(made["balancer"], Scheme="internal")
    with pytest.raises(checks.NotSo, match="the internal one"):
        await act.endpoint(host)


async def test_the_damage_on_aws_is_done_and_seen_mended_only_when_it_is(sky: _Sky) -> None:
    act = _aws_act()
    await act.strangers_arrive()
    made = _network(sky)
    route, tag, copied = await act.meddle(await act.world.resources())
    assert route.mended is not None
    assert tag.mended is not None
    assert copied.mended is None
    assert not await route.mended()
    assert not await tag.mended()
    elsewhere = {"RouteTableId": made["table"], "DestinationCidrBlock": "10.9.0.0/16", "NatGatewayId": made["nat"]}
    sky.aws.strangers.call("ec2", "CreateRoute", elsewhere)
    assert not await route.mended(), "a route to elsewhere is not the one that is missing"
    sky.aws.strangers.call("ec2", "CreateRoute", {**elsewhere, "DestinationCidrBlock": "0.0.0.0/0"})
    sky.aws.strangers.tag(made["subnet"], {OWNER: "default/b"})
    assert await route.mended()
    assert not await tag.mended(), "another's value under our key is not our tag"
    sky.aws.strangers.tag(made["subnet"], {OWNER: "default/a"})
    assert await tag.mended()
    [theirs] = [each for each in await act.world.resources() if each.kind == "vpc" and each.by == "stranger"]
    assert f"{OWNER}=default/a" in theirs.tags


async def test_without_a_way_out_there_is_none_to_take_away(sky: _Sky) -> None:
    act, made = _aws_act(), _network(sky)
    await act.strangers_arrive()
    sky.aws.strangers.call("ec2", "DeleteRoute", {"RouteTableId": made["table"], "DestinationCidrBlock": "0.0.0.0/0"})
    with pytest.raises(checks.NotSo, match="no private subnet has a route"):
        await act.meddle(await act.world.resources())


async def test_each_act_asks_its_own_cloud(sky: _Sky) -> None:
    document = _document("IBMPowerVSCluster", {"vpc": {"region": "us-south"}})
    powervs, aws = PowerVSAct("", [document], document), _aws_act()
    await powervs.strangers_arrive()
    assert await aws.world.resources() == []
    assert {each.kind for each in await powervs.world.resources()} >= {"vpc", "subnet"}
    assert await aws.world.last_call() == 0
    await aws.world.lose_reply("ec2.CreateVpc")
    assert [rule["operation"] for rule in sky.aws.faults.rules()] == ["ec2.CreateVpc"]
    assert sky.ibm.faults.rules() == []


# -- the steps, on an act that does what a test wants ---------------------------------------------------------


class _Toy(Act):
    title = "nowhere"
    cloud = checks.AWS
    lost = LostReply("ec2.CreateVpc", "vpc", "")
    healed = "whole"
    hurts: Sequence[Damage] = ()
    strangers = 3

    async def strangers_arrive(self) -> None:
        for number in range(self.strangers):
            await self.world._strange(
                "create", service="ec2", operation="CreateVpc", params={"CidrBlock": f"10.{number}.0.0/16"}
            )

    async def endpoint(self, host: str) -> str:
        return host

    async def meddle(self, there: Sequence[world.CloudResource]) -> Sequence[Damage]:
        return self.hurts


def _toy() -> _Toy:
    document = _document("AWSCluster", {})
    return _Toy(world.AWSWorld("", REGION), [document], document)


class _Client:
    def __init__(self, ready: bool) -> None:
        self._ready = ready

    async def get(self, resource: Resource, key: Key) -> Any:
        condition = {"type": "Ready", "status": str(self._ready), "reason": "Ready" if self._ready else "NotReady"}
        condition["observedGeneration"] = 1  # type: ignore[assignment]  # the other values are texts
        return {
            "kind": resource.kind,
            "metadata": {"name": key.name, "generation": 1},
            "status": {"conditions": [condition]},
        }


def _serving(*, ready: bool) -> Any:
    return SimpleNamespace(session=SimpleNamespace(client=_Client(ready)), process=SimpleNamespace(pid=7))


async def test_strangers_are_there_before_us_and_alone(sky: _Sky, stage: Stage) -> None:
    few = _toy()
    few.strangers = 1
    with pytest.raises(checks.NotSo, match="not alone"):
        await steps.strangers_arrive(stage, few)
    sky.own("ec2", "CreateVpc", {"CidrBlock": "10.8.0.0/16"})
    with pytest.raises(checks.NotSo, match="not alone"):
        await steps.strangers_arrive(stage, _toy())


async def test_a_damage_that_was_not_done_is_not_told_as_healed(sky: _Sky, stage: Stage) -> None:
    async def yes() -> bool:
        return True

    act = _toy()
    act.hurts = (Damage("a scratch", yes),)
    with pytest.raises(checks.NotSo, match="the damage was not done"):
        await steps.damage_and_check_healing(stage, act, _serving(ready=True))


async def test_one_server_serves_both_only_if_both_are_ready_and_the_first_one_rests(sky: _Sky, stage: Stage) -> None:
    first, second = _toy(), _toy()
    first.followed = second.followed = [(Resource("g", "v1", "AWSCluster", "awsclusters"), Key("default", "a"))]
    with pytest.raises(checks.NotSo, match="is not Ready beside the other"):
        await steps.served_together(stage, (first, second), first, 0, _serving(ready=False))
    with pytest.raises(checks.NotSo, match="nobody looked"):
        await steps.served_together(stage, (first, second), first, 0, _serving(ready=True))


async def test_copied_tags_must_have_been_named(sky: _Sky, stage: Stage) -> None:
    """An empty list of what has them is no proof either: the story put them there."""
    act = _toy()
    await act.strangers_arrive()
    act.before = await act.world.resources()
    nothing = SimpleNamespace(last={})
    with pytest.raises(checks.NotSo, match="never said that anything has copied tags"):
        await steps.what_stays(stage, (act,), nothing)  # type: ignore[arg-type]  # a part of a stage
    sky.aws.strangers.tag(act.before[0].id, {OWNER: "default/a"})
    act.before = await act.world.resources()
    with pytest.raises(checks.NotSo, match=rf"never said that {act.before[0].name} has copied tags"):
        await steps.what_stays(stage, (act,), nothing)  # type: ignore[arg-type]  # a part of a stage


MACHINE = Resource("g", "v1", "awsmachines", "AWSMachine")


def _instance(sky: _Sky, name: str) -> str:
    """One of ours, with the marks of a machine."""
    subnet = next(each["id"] for each in sky.aws.resources() if each["kind"] == "subnet")
    image = "ami-0a0000000000000c1"
    fields = {"ImageId": image, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1, "SubnetId": subnet}
    made = sky.own("ec2", "RunInstances", fields)
    sky.aws.strangers.tag(made["id"], {OWNER: f"default/{name}"})
    return str(made["id"])


class _Machines:
    """Answers with the machine of each name, whose instance is as given."""

    def __init__(self, instances: dict[str, str]) -> None:
        self._instances = instances

    async def get(self, resource: Resource, key: Key) -> Any:
        return {"metadata": {"name": key.name}, "spec": {"providerID": f"aws:///{ZONE}/{self._instances[key.name]}"}}


async def test_a_second_instance_of_a_machine_and_a_worker_without_its_secret_are_found(
    sky: _Sky, stage: Stage
) -> None:
    act = _aws_act()
    _network(sky)
    act.followed = [(MACHINE, Key("default", "w"))]
    client = _Machines({"w": _instance(sky, "w")})
    serving: Any = SimpleNamespace(session=SimpleNamespace(client=client))
    with pytest.raises(checks.NotSo, match="the worker has no more than instance"):
        await machine_steps.worker_deleted(stage, act, serving)
    second = _instance(sky, "w")
    with pytest.raises(checks.NotSo, match=f"instances run: .*{second}"):
        await machine_steps.behind_the_balancer(stage, act, serving)


@pytest.mark.parametrize("kinds", [("AWSCluster",), ("IBMPowerVSCluster", "AWSCluster"), ()])
def test_the_manifest_of_the_first_act_has_one_cluster_and_no_other(tmp_path: Path, kinds: Sequence[str]) -> None:
    """Another one would be created in an act that neither waits for it nor checks it."""
    file = tmp_path / "some.yaml"
    spare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    file.write_text("---\n".join(json.dumps(each) + "\n" for each in [spare, *(_document(k, {}).obj for k in kinds)]))
    with pytest.raises(CliError, match="needs a manifest with one IBMPowerVSCluster and no other cluster"):
        story.run(str(file), 30.0, None, None)
