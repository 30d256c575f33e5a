"""What a machine asks of AWS, on the simulated AWS: images, types, subnets and groups, once for all that ask alike."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.outcomes import Reason
from freehold.providers.aws.capacity_log import MAX_AGE, CapacityLog
from freehold.providers.aws.facts import AwsFacts
from freehold.providers.aws.machine.facts import (
    EksCluster,
    Filter,
    Image,
    ImageById,
    ImageByName,
    ImageByParameter,
    InstanceType,
    MachineFacts,
    MachineGroup,
    MachineQuestions,
    MachineSubnet,
    ResourceSelection,
)
from freehold.providers.aws.machine.facts_reader import AwsMachineFactsReader
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from freehold_sim.faults import Effect, Fault
from harness.aws_account import AwsAccount
from harness.simulated_aws import tagged

CAPA = "819546954734"
EKS = "/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/{architecture}/standard/recommended/image_id"


class Asked:
    """An account, what is asked of it, and the clock of the answers."""

    def __init__(self, account: AwsAccount) -> None:
        self.account, self.time = account, ManualClock()
        self.reader = AwsMachineFactsReader(account.api, self._facts(), self.time)

    def _facts(self) -> AwsFacts:
        return AwsFacts(self.account.api, AwsTagger(self.account.api, self.time), self.time)

    async def ask(self, **questions: Any) -> MachineFacts:
        return await self.reader.read(MachineQuestions(**questions))

    def sent(self) -> list[str]:
        names = [call.operation for call in self.account.port.calls if call.api != "sts"]
        self.account.port.calls.clear()
        return names


@pytest.fixture
def asked(account: AwsAccount) -> Asked:
    return Asked(account)


async def test_what_is_not_asked_has_no_answer(asked: Asked) -> None:
    assert await asked.ask() == MachineFacts()
    assert asked.sent() == []


async def test_an_instance_type_says_its_architectures_the_first_to_be_used_first(asked: Asked) -> None:
    assert (await asked.ask(instance_type="t3.medium")).type == Answer(InstanceType("t3.medium", ("x86_64",)))
    old = (await asked.ask(instance_type="t2.micro")).type
    assert isinstance(old, Answer) and old.value.architectures[0] == "x86_64"
    assert (await asked.ask(instance_type="t9.nano")).type == NotThere()
    assert (await asked.ask(instance_type="t3.*")).type == NotThere()


@pytest.mark.parametrize(("kind", "architecture"), [("t3.medium", "x86_64"), ("m6g.large", "arm64")])
async def test_the_newest_image_of_the_types_architecture_then_the_smallest_id(
    asked: Asked, kind: str, architecture: str
) -> None:
    name = "capa-ami-ubuntu-24.04-?1.34.0-*"
    found = (await asked.ask(instance_type=kind, image=ImageByName(CAPA, name))).image
    assert isinstance(found, Answer) and found.value.architecture == architecture
    shown = asked.account.ec2.describe_images(
        Owners=[CAPA],
        Filters=[{"Name": "name", "Values": [name]}, {"Name": "architecture", "Values": [architecture]}],
    )["Images"]
    assert len(shown) > 1
    newest = max(row["CreationDate"] for row in shown)
    assert found.value.id == min(row["ImageId"] for row in shown if row["CreationDate"] == newest)
    assert (found.value.root_device, found.value.root_size) == ("/dev/sda1", 8)


async def test_an_image_of_nobody_of_another_owner_or_of_an_unknown_type_is_not_there(asked: Asked) -> None:
    wanted = ImageByName(CAPA, "capa-ami-ubuntu-24.04-?1.99.0-*")
    assert (await asked.ask(instance_type="t3.medium", image=wanted)).image == NotThere()
    other = ImageByName("111122223333", "capa-ami-ubuntu-24.04-?1.34.0-*")
    assert (await asked.ask(instance_type="t3.medium", image=other)).image == NotThere()
    unknown = await asked.ask(instance_type="t9.nano", image=wanted)
    assert (unknown.type, unknown.image) == (NotThere(), None)


async def test_an_image_by_its_id(asked: Asked) -> None:
    found = (await asked.ask(image=ImageById("ami-0a0000000000000c1"))).image
    assert found == Answer(Image("ami-0a0000000000000c1", "x86_64", "/dev/sda1", 8))
    for ident in ("ami-0123456789abcdef0", "no-image"):
        assert (await asked.ask(image=ImageById(ident))).image == NotThere()


@pytest.mark.parametrize(("kind", "architecture"), [("t3.medium", "x86_64"), ("m6g.large", "arm64")])
async def test_the_image_that_a_public_parameter_names(asked: Asked, kind: str, architecture: str) -> None:
    found = (await asked.ask(instance_type=kind, image=ImageByParameter(EKS))).image
    assert isinstance(found, Answer) and found.value.architecture == architecture
    older = EKS.replace("2023/{architecture}/standard", "2{arm}")
    of_older = (await asked.ask(instance_type=kind, image=ImageByParameter(older))).image
    assert isinstance(of_older, Answer) and of_older.value.architecture == architecture
    gone = ImageByParameter(EKS.replace("1.32", "1.99"))
    assert (await asked.ask(instance_type=kind, image=gone)).image == NotThere()


async def test_the_subnets_of_a_vpc_and_those_that_the_spec_selects(asked: Asked) -> None:
    account = asked.account
    vpc, (first, second, third) = account.network()
    out = {"DestinationCidrBlock": "0.0.0.0/0"}
    gateway = account.ec2.describe_internet_gateways()["InternetGateways"][0]["InternetGatewayId"]
    table = account.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    account.ec2.create_route(RouteTableId=table, GatewayId=gateway, **out)
    account.ec2.associate_route_table(RouteTableId=table, SubnetId=first)
    association = "sigs.k8s.io/cluster-api-provider-aws/association"
    account.ec2.create_tags(Resources=[third], Tags=[{"Key": association, "Value": "secondary"}])
    account.ec2.create_tags(Resources=[second], Tags=[{"Key": "for", "Value": "nodes"}])
    expected = {
        first: MachineSubnet(first, vpc, "us-east-1a", public=True),
        second: MachineSubnet(second, vpc, "us-east-1b"),
        third: MachineSubnet(third, vpc, "us-east-1c", for_pods=True),
    }
    nodes = ResourceSelection(filters=(Filter("tag:for", ("nodes",)),))
    found = await asked.ask(vpc=vpc, subnet=nodes)
    assert found.subnets == Answer(tuple(expected[ident] for ident in sorted(expected)))
    assert found.chosen == Answer((expected[second],))
    by_both = await asked.ask(subnet=ResourceSelection(first, nodes.filters))
    assert by_both.chosen == Answer(())
    assert (await asked.ask(subnet=ResourceSelection(first))).chosen == Answer((expected[first],))
    assert (await asked.ask(subnet=ResourceSelection("subnet-0123456789abcdef0"))).chosen == Answer(())
    assert (await asked.ask(subnet=ResourceSelection())).chosen == Answer(()), "no filter selects nothing, and not all"
    assert (await asked.ask(vpc="vpc-0123456789abcdef0")).subnets == NotThere()


async def test_groups_by_id_and_by_filter_in_whatever_vpc(asked: Asked) -> None:
    vpc, other = asked.account.vpc(), asked.account.vpc("10.1.0.0/16")
    one = asked.account.group(vpc, "one", TagSpecifications=tagged("security-group", team="a"))
    two = asked.account.group(other, "two", TagSpecifications=tagged("security-group", team="a"))
    team, none = ResourceSelection(filters=(Filter("tag:team", ("a",)),)), ResourceSelection("sg-0123456789abcdef0")
    found = (await asked.ask(groups=(ResourceSelection(one), team, none))).groups
    groups = tuple(sorted((MachineGroup(one, vpc), MachineGroup(two, other)), key=lambda each: each.id))
    assert found == Answer({ResourceSelection(one): (MachineGroup(one, vpc),), team: groups, none: ()})


async def test_the_security_group_that_eks_made_for_its_cluster(asked: Asked) -> None:
    """Once for all machines; a later cluster of the name has another one."""
    assert (await asked.ask(eks=EksCluster("blue"))).eks_group == NotThere()
    group = asked.account.cluster("blue")["resourcesVpcConfig"]["clusterSecurityGroupId"]
    asked.sent()
    for _ in range(3):
        assert (await asked.ask(eks=EksCluster("blue", "born"))).eks_group == Answer(group)
    assert asked.sent() == ["describe_cluster"]
    await asked.ask(eks=EksCluster("blue", "later"))
    assert asked.sent() == ["describe_cluster"]


async def test_a_hundred_machines_ask_as_often_as_one(asked: Asked) -> None:
    vpc = asked.account.network()[0]
    group = asked.account.group(vpc)
    questions = {
        "instance_type": "t3.medium", "image": ImageByName(CAPA, "capa-ami-ubuntu-24.04-?1.34.0-*"), "vpc": vpc,
        "groups": (ResourceSelection(group),),
    }  # fmt: skip
    first = await asked.ask(**questions)
    alone = asked.sent()
    assert sorted(alone) == [
        "describe_availability_zones", "describe_images", "describe_instance_types", "describe_route_tables",
        "describe_security_groups", "describe_subnets", "describe_vpcs",
    ]  # fmt: skip
    assert await asyncio.gather(*(asked.ask(**questions) for _ in range(100))) == [first] * 100
    assert asked.sent() == []
    asked.reader.renew(asked._facts())
    assert await asyncio.gather(*(asked.ask(**questions) for _ in range(100))) == [first] * 100
    assert sorted(asked.sent()) == sorted(alone), "also where all ask at once"


@pytest.mark.parametrize(
    ("operation", "question", "answer"),
    [
        ("ec2.DescribeInstanceTypes", {"instance_type": "t3.medium"}, "type"),
        ("ec2.DescribeImages", {"image": ImageById("ami-0a0000000000000c1")}, "image"),
        ("ssm.GetParameter", {"image": ImageByParameter(EKS), "instance_type": "t3.medium"}, "image"),
        ("eks.DescribeCluster", {"eks": EksCluster("blue")}, "eks_group"),
        ("ec2.DescribeSubnets", {"subnet": ResourceSelection("subnet-1")}, "chosen"),
        ("ec2.DescribeVpcs", {"vpc": "vpc-1"}, "subnets"),
        ("ec2.DescribeSecurityGroups", {"groups": (ResourceSelection("sg-1"),)}, "groups"),
    ],
)
async def test_a_question_that_is_refused_has_no_answer(
    asked: Asked, operation: str, question: Any, answer: str
) -> None:
    asked.account.cloud.faults.add(Fault(Effect.DENIED, operation))
    found = getattr(await asked.ask(**question), answer)
    assert isinstance(found, NoAnswer) and found.reason is Reason.DENIED
    assert operation.partition(".")[2] in found.message
    assert not isinstance(getattr(await asked.ask(**question), answer), NoAnswer), "it is asked again"


async def test_where_aws_lately_had_no_room_is_full(asked: Asked) -> None:
    vpc, subnets = asked.account.network()
    log = asked.account.session.capacity_log
    log.note("t3.medium", subnets[1])
    assert (await asked.ask(vpc=vpc, instance_type="t3.medium")).full == {"us-east-1b"}
    assert (await asked.ask(subnet=ResourceSelection(subnets[1]), instance_type="t3.medium")).full == {"us-east-1b"}
    assert (await asked.ask(vpc=vpc, instance_type="t3.large")).full == frozenset()


def test_a_refusal_for_want_of_capacity_counts_for_minutes() -> None:
    time = ManualClock()
    log = CapacityLog(time.now)
    log.note("t3.medium", "subnet-1")
    time.advance(MAX_AGE - 1)
    log.note("t3.medium", "subnet-2")
    assert log.full_subnets("t3.medium") == {"subnet-1", "subnet-2"}
    time.advance(1)
    assert log.full_subnets("t3.medium") == {"subnet-2"}
