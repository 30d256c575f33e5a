"""The driver of instances on a simulated AWS: tokens, secret user data, what goes with them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.resources import ParentResource, Ref, State
from freehold.engine.secret_values import SecretValue
from freehold.providers.aws.kinds import instance
from harness.account import NONCE
from harness.aws_account import AwsAccount
from harness.aws_drivers import MARKS, Drivers

IMAGE = "ami-0a0000000000000c1"
PASSWORD = "correct-horse-battery"


class Bastions(Drivers):
    def __init__(self, account: AwsAccount) -> None:
        super().__init__(account, instance.kind)
        self.vpc, self.subnets = account.network()
        self.group = account.group(self.vpc, "one-bastion")

    def request(self, **more: Any) -> dict[str, Any]:
        return {
            "name": "one-bastion", "image_id": IMAGE, "instance_type": "t3.micro", "subnet_id": self.subnets[0],
            "security_groups": [self.group], "associate_public_ip_address": True, **more,
        }  # fmt: skip

    def user_data(self, ident: str) -> str:
        shown = self.account.ec2.describe_instance_attribute(InstanceId=ident, Attribute="userData")
        return base64.b64decode(shown["UserData"]["Value"]).decode()


@pytest.fixture
def bastions(account: AwsAccount) -> Bastions:
    return Bastions(account)


async def test_a_life(bastions: Bastions) -> None:
    wanted = bastions.request()
    made = await bastions.create(wanted)
    assert (made.state, made.tags) == (State.PENDING, MARKS)
    bastions.account.clock.advance(30)
    seen = await bastions.there(made.id)
    assert seen.state is State.READY
    shown = {name: value for name, value in wanted.items() if name in seen.attributes}
    assert shown == {name: seen.attributes[name] for name in shown}
    assert {"image_id", "instance_type", "subnet_id", "security_groups"} <= shown.keys()
    assert seen.attributes["public_address"] and seen.attributes["private_address"]
    assert bastions.driver.identify(seen.target) == seen.id

    other = bastions.account.group(bastions.vpc, "other")
    await bastions.driver.update(Ref(made.id), {"security_groups": [other]})
    assert (await bastions.there(made.id)).attributes["security_groups"] == [other]

    await bastions.driver.delete(Ref(made.id))
    assert (await bastions.there(made.id)).state is State.DELETING
    bastions.account.clock.advance(60)
    assert await bastions.look(made.id) is None


@pytest.mark.parametrize(("asked", "has"), [(True, True), (False, False), (None, False)])
async def test_the_public_address_is_as_asked_for_or_as_the_subnet_says(
    bastions: Bastions, asked: bool | None, has: bool
) -> None:
    made = await bastions.create(bastions.request(associate_public_ip_address=asked))
    bastions.account.clock.advance(30)
    assert bool((await bastions.there(made.id)).attributes["public_address"]) is has


@pytest.mark.parametrize("user_data", [f"#!/bin/sh\necho {PASSWORD}\n", SecretValue("boot/value", PASSWORD.encode())])
async def test_user_data_reaches_the_machine_and_nobody_else(bastions: Bastions, user_data: object) -> None:
    made = await bastions.create(bastions.request(user_data=user_data))
    assert PASSWORD in bastions.user_data(made.id)
    (call,) = [call for call in bastions.account.port.calls if call.operation == "run_instances"]
    assert PASSWORD not in str(call.detail)
    assert call.detail["UserData"] == "***"
    if isinstance(user_data, SecretValue):
        assert call.hidden == (user_data,)
        assert PASSWORD not in repr(call)
    assert "user_data" in bastions.kind.attributes.create_only
    assert "user_data" not in made.attributes


async def test_what_comes_with_it_has_the_tags_of_the_user_and_no_marks(bastions: Bastions) -> None:
    """Volumes and interfaces are no resources of ours: a mark on them would be one of a node that does not exist."""
    made = await bastions.create(bastions.request())
    bastions.account.clock.advance(30)
    volumes = bastions.account.ec2.describe_volumes()["Volumes"]
    cards = bastions.account.ec2.describe_network_interfaces()["NetworkInterfaces"]
    assert volumes and cards
    for tags in [each["Tags"] for each in volumes] + [each["TagSet"] for each in cards]:
        assert tags == [{"Key": "team", "Value": "a"}]
    assert (await bastions.there(made.id)).tags == MARKS


async def test_one_that_must_not_be_terminated_is_told(bastions: Bastions) -> None:
    made = await bastions.create(bastions.request())
    bastions.account.clock.advance(30)
    ident = made.id
    bastions.account.ec2.modify_instance_attribute(InstanceId=ident, DisableApiTermination={"Value": True})
    with pytest.raises(errors.InUse, match="protection"):
        await bastions.driver.delete(Ref(ident))
    assert (await bastions.there(ident)).state is State.READY


async def test_a_stranger_with_the_name_is_none_of_ours(bastions: Bastions) -> None:
    """``Name`` is a tag: whoever sets it changes nothing (kubernetes-sigs/cluster-api-provider-aws#4629)."""
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "one-bastion"}]}]
    bastions.account.instance(bastions.subnets[0], TagSpecifications=tags)
    assert await bastions.find(bastions.request(), NONCE) == []
    made = await bastions.create(bastions.request())
    places = [ParentResource("subnet", Ref(bastions.subnets[0]))]
    assert [one.id for one in await bastions.by_nonce(NONCE, places=places)] == [made.id]


async def test_groups_are_those_of_the_first_interface_beside_one_that_the_network_added(bastions: Bastions) -> None:
    """The VPC CNI gives a node further interfaces; EC2 refuses groups for such an instance."""
    account = bastions.account
    made = await bastions.create(bastions.request())
    account.clock.advance(30)
    second = account.ec2.create_network_interface(SubnetId=bastions.subnets[0], Groups=[bastions.group])
    ident = second["NetworkInterface"]["NetworkInterfaceId"]
    account.ec2.attach_network_interface(NetworkInterfaceId=ident, InstanceId=made.id, DeviceIndex=1)
    other = account.group(bastions.vpc, "other")
    await bastions.driver.update(Ref(made.id), {"security_groups": [other]})
    assert (await bastions.there(made.id)).attributes["security_groups"] == [other]
    (shown,) = account.ec2.describe_network_interfaces(NetworkInterfaceIds=[ident])["NetworkInterfaces"]
    assert [group["GroupId"] for group in shown["Groups"]] == [bastions.group]
