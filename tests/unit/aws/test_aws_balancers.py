"""The drivers of load balancers, target groups and listeners on a simulated AWS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.drivers import PartsDriver, User
from freehold.engine.resources import NodeKey, ParentResource, Part, Ref
from freehold.providers.aws.attribute_cache import MAX_AGE
from freehold.providers.aws.kinds import classic_load_balancer, listener, network_load_balancer, target_group
from freehold.providers.aws.kinds.classic_load_balancer import INSTANCE, LISTENER, SUBNET
from freehold_sim.faults import Effect
from harness.account import NONCE
from harness.aws_account import TARGET_ATTRIBUTES, AwsAccount
from harness.aws_drivers import MARKS, Drivers, birth

API = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
SSH = {"Protocol": "TCP", "LoadBalancerPort": 22, "InstanceProtocol": "TCP", "InstancePort": 22}
CHECK = {"Target": "TCP:6443", "Interval": 10, "Timeout": 5, "HealthyThreshold": 5, "UnhealthyThreshold": 3}
TARGET_CHECK = {
    "HealthCheckProtocol": "TCP", "HealthCheckPort": "6443", "HealthCheckIntervalSeconds": 10,
    "HealthCheckTimeoutSeconds": 5, "HealthyThresholdCount": 5, "UnhealthyThresholdCount": 3,
}  # fmt: skip


class Front:
    """All four kinds in one network; requests for one cluster's load balancer."""

    def __init__(self, account: AwsAccount) -> None:
        self.account = account
        self.vpc, subnets = account.network()
        self.subnets = sorted(subnets)
        self.group = account.group(self.vpc, "one-apiserver-lb")
        self.classic = Drivers(account, classic_load_balancer.kind)
        self.network = Drivers(account, network_load_balancer.kind)
        self.groups = Drivers(account, target_group.kind)
        self.listeners = Drivers(account, listener.kind)

    def classic_request(self, **more: Any) -> dict[str, Any]:
        return {
            "name": "one-apiserver", "scheme": "internet-facing", "subnets": self.subnets,
            "security_groups": [self.group], "listeners": [API], "health_check": CHECK, "idle_timeout": 600,
            "cross_zone": False, **more,
        }  # fmt: skip

    def network_request(self, **more: Any) -> dict[str, Any]:
        return {
            "name": "one-apiserver", "type": "network", "scheme": "internet-facing", "subnets": self.subnets,
            "security_groups": [self.group], "ip_address_type": "ipv4",
            "attributes": {"load_balancing.cross_zone.enabled": "false"}, **more,
        }  # fmt: skip

    def group_request(self, **more: Any) -> dict[str, Any]:
        return {
            "name": "apiserver-target-0123456789abcde", "vpc_id": self.vpc, "protocol": "TCP", "port": 6443,
            "target_type": "instance", "ip_address_type": "ipv4", "health_check": TARGET_CHECK,
            "attributes": TARGET_ATTRIBUTES, **more,
        }  # fmt: skip

    async def listener_request(self, **more: Any) -> dict[str, Any]:
        balancer = await self.network.create(self.network_request(), birth("fbalancer"))
        group = await self.groups.create(self.group_request(), birth("fgroup"))
        return {"balancer": balancer.id, "protocol": "TCP", "port": 6443, "target_groups": [group.id], **more}

    async def each(self, kind: str) -> tuple[Drivers, dict[str, Any]]:
        match kind:
            case "classic":
                return self.classic, self.classic_request()
            case "network":
                return self.network, self.network_request()
            case "target group":
                return self.groups, self.group_request()
        return self.listeners, await self.listener_request()


@pytest.fixture
def front(account: AwsAccount) -> Front:
    return Front(account)


def parts_of(drivers: Drivers) -> PartsDriver:
    assert drivers.kind.parts.driver is not None
    return drivers.kind.parts.driver


def differing(drivers: Drivers, wanted: dict[str, Any], attributes: Any) -> dict[str, Any]:
    """What the engine would change, or tell."""
    known = {name: wanted[name] for name in wanted.keys() & attributes.keys()}
    mutable = {name: wanted[name] for name in drivers.kind.attributes.mutable}
    return {name: value for name, value in {**known, **mutable}.items() if attributes.get(name) != value}


KINDS = ["classic", "network", "target group", "listener"]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_arn_of_another_kind_is_not_taken_for_one(front: Front, kind: str) -> None:
    """Classic and network load balancers have ARNs of one type."""
    targets = {}
    for each in KINDS[:3]:
        drivers, wanted = await front.each(each)
        targets[each] = (await drivers.create(wanted, birth(f"f{each[:3]}"))).target
    drivers = {"classic": front.classic, "network": front.network, "target group": front.groups}.get(
        kind, front.listeners
    )
    assert {each for each, target in targets.items() if drivers.driver.identify(target)} == {kind} - {"listener"}


@pytest.mark.parametrize("kind", KINDS[1:])
async def test_the_reply_about_what_was_there_is_told_by_its_tags(front: Front, kind: str) -> None:
    """ELBv2 answers with a stranger's of the same name and settings: its tags are not ours, and it does not count."""
    drivers, wanted = await front.each(kind)
    theirs = await drivers.create(wanted, birth("fstranger"))
    answer = await drivers.create(wanted)
    assert answer.id == theirs.id
    assert answer.tags == theirs.tags != MARKS
    assert drivers.kind.creation.answers_existing


@pytest.mark.parametrize("kind", KINDS[1:])
async def test_a_reply_whose_tags_cannot_be_read_proves_nothing(front: Front, kind: str) -> None:
    """The create took effect; without its tags the reply counts as lost, and no error hides that."""
    drivers, wanted = await front.each(kind)
    drivers.fault(Effect.ERROR_BEFORE, "elbv2.DescribeTags")
    answer = await drivers.create(wanted)
    assert answer.tags is None
    assert [one.id for one in await drivers.find(wanted, NONCE)] == [answer.id]


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("classic", {"scheme": "internal"}),
        ("network", {"scheme": "internal"}),
        ("target group", {"port": 22}),
        ("listener", {"target_groups": []}),
    ],
)
async def test_a_stranger_has_the_name_with_other_settings(front: Front, kind: str, other: dict[str, Any]) -> None:
    drivers, wanted = await front.each(kind)
    if kind == "listener":
        another = await front.groups.create(front.group_request(name="another"), birth("fanother"))
        other = {"target_groups": [another.id]}
    theirs = await drivers.create({**wanted, **other}, birth("fstranger"))
    with pytest.raises(errors.NameTaken):
        await drivers.create(wanted)
    (found,) = await drivers.find(wanted, NONCE)
    assert found.id == theirs.id and found.tags is not None and found.tags != MARKS


@pytest.mark.parametrize("kind", KINDS)
async def test_a_look_is_one_call_for_many(front: Front, kind: str) -> None:
    """Attributes that no list shows are read once an hour; tags are the index's."""
    drivers, wanted = await front.each(kind)
    made = await drivers.create(wanted)
    await drivers.there(made.id)
    drivers.sent()
    seen = await drivers.there(made.id)
    assert len(drivers.sent()) == 1
    assert seen.tags is None


async def test_every_page_is_read(make_account: Callable[..., AwsAccount]) -> None:
    front = Front(make_account(page_size=1))
    wanted = await front.listener_request()
    ports = (6443, 22, 80)
    made = {port: (await front.listeners.create({**wanted, "port": port}, birth(f"f{port}"))).id for port in ports}
    for port in ports:
        assert [one.id for one in await front.listeners.find({**wanted, "port": port})] == [made[port]]
    for number in range(2):
        for drivers, more in (
            (front.classic, front.classic_request()),
            (front.network, front.network_request()),
            (front.groups, front.group_request()),
        ):
            request, nonce = {**more, "name": f"more-{number}"}, f"fmore{number}"
            one = await drivers.create(request, birth(nonce))
            assert [each.id for each in await drivers.by_nonce(nonce)] == [one.id]
            listing = drivers.kind.reads.listing
            assert listing is not None
            listed = {row.observed.id: row.observed for row in await listing.read_rows(listing.list_of(Ref(one.id)))}
            assert listed[one.id] == await drivers.there(one.id)


# -- attributes that no list shows --------------------------------------------------------------------------------


async def test_what_somebody_else_changes_is_noticed_within_an_hour(account: AwsAccount) -> None:
    front = Front(account)
    account.session.attribute_cache = type(account.session.attribute_cache)(account.clock.now)
    wanted = front.network_request()
    made = await front.network.create(wanted)
    attribute = {"Key": "load_balancing.cross_zone.enabled", "Value": "true"}
    account.elbv2.modify_load_balancer_attributes(LoadBalancerArn=made.id, Attributes=[attribute])
    assert (await front.network.there(made.id)).attributes["attributes"] == wanted["attributes"]
    account.clock.advance(MAX_AGE)
    changed = (await front.network.there(made.id)).attributes["attributes"]
    assert changed == {"load_balancing.cross_zone.enabled": "true"}
    await front.network.driver.update(Ref(made.id), {"attributes": wanted["attributes"]})
    assert (await front.network.there(made.id)).attributes["attributes"] == wanted["attributes"]


async def test_a_list_leaves_out_what_is_not_known(front: Front) -> None:
    """So that the load balancer itself is looked at, where the list does not show that it is as wanted."""
    theirs = front.account.balancer(front.subnets, "theirs")
    listing = front.network.kind.reads.listing
    assert listing is not None
    front.network.sent()
    (row,) = await listing.read_rows("us-east-1")
    assert row.observed.id == theirs and "attributes" not in row.observed.attributes
    assert len(front.network.sent()) == 1


# -- classic ------------------------------------------------------------------------------------------------------


async def test_a_classic_load_balancer_is_born_with_its_parts(front: Front) -> None:
    """Three writes and no read beyond the look, as the floor of a default cluster counts them."""
    made = await front.classic.create(front.classic_request())
    inside = {classic_load_balancer.listener_part(API), *(Part(SUBNET, subnet) for subnet in front.subnets)}
    assert made.parts == inside
    assert made.attributes["address"].startswith("one-apiserver-")
    changes = differing(front.classic, front.classic_request(), made.attributes)
    assert set(changes) == {"health_check", "idle_timeout"}
    await front.classic.driver.update(Ref(made.id), changes)
    assert front.classic.sent() == [
        "elb.create_load_balancer",
        "elb.configure_health_check",
        "elb.modify_load_balancer_attributes",
    ]
    assert await front.classic.inside(made.id) == inside


async def test_the_parts_of_a_classic_load_balancer(front: Front) -> None:
    made = await front.classic.create(front.classic_request(subnets=front.subnets[:2]))
    parts, ref = parts_of(front.classic), Ref(made.id)
    before = await front.classic.inside(made.id)
    more = {classic_load_balancer.listener_part(SSH), Part(SUBNET, front.subnets[2])}
    for _ in range(2):  # the second time as after a lost reply
        for part in more:
            await parts.add_part(ref, part)
        assert await front.classic.inside(made.id) == before | more
    for _ in range(2):
        for part in more:
            await parts.remove_part(ref, part)
        assert await front.classic.inside(made.id) == before


async def test_a_machine_behind_a_classic_load_balancer_is_shown_and_left(front: Front) -> None:
    made = await front.classic.create(front.classic_request())
    machine, ref, parts = front.account.instance(front.subnets[0]), Ref(made.id), parts_of(front.classic)
    front.account.elb.register_instances_with_load_balancer(
        LoadBalancerName=made.id, Instances=[{"InstanceId": machine}]
    )
    assert Part(INSTANCE, machine) in await front.classic.inside(made.id)
    users = front.classic.kind.deletion.usage
    assert users is not None
    assert await users.users(ref) == [User(f"instance-registration {machine}")]
    await parts.remove_part(ref, Part(INSTANCE, machine))
    assert Part(INSTANCE, machine) in await front.classic.inside(made.id)


async def test_a_listener_of_a_classic_load_balancer_is_replaced(front: Front) -> None:
    made = await front.classic.create(front.classic_request())
    other = classic_load_balancer.listener_part({**API, "InstancePort": 8443})
    changer = front.classic.kind.parts.changer
    assert changer is not None
    await changer.change_part(Ref(made.id), other)
    (there,) = (part for part in await front.classic.inside(made.id) if part.kind == LISTENER)
    assert there.behavior == other.behavior == "TCP to TCP 8443"


async def test_the_groups_of_a_classic_load_balancer_are_followed(front: Front) -> None:
    made = await front.classic.create(front.classic_request())
    other = front.account.group(front.vpc, "other")
    await front.classic.driver.update(Ref(made.id), {"security_groups": [other], "cross_zone": True})
    seen = await front.classic.there(made.id)
    assert (seen.attributes["security_groups"], seen.attributes["cross_zone"]) == ([other], True)


# -- network ------------------------------------------------------------------------------------------------------


async def test_subnets_and_groups_of_a_network_load_balancer_are_followed(front: Front) -> None:
    made = await front.network.create(front.network_request(subnets=front.subnets[:2]))
    other = front.account.group(front.vpc, "other")
    await front.network.driver.update(Ref(made.id), {"subnets": front.subnets, "security_groups": [other]})
    seen = await front.network.there(made.id)
    assert (seen.attributes["subnets"], seen.attributes["security_groups"]) == (front.subnets, [other])


async def test_a_network_load_balancer_in_use_names_the_targets(front: Front) -> None:
    wanted = await front.listener_request()
    await front.listeners.create(wanted)
    machine = front.account.instance(front.subnets[0])
    ref = Ref(wanted["target_groups"][0])
    front.account.elbv2.register_targets(TargetGroupArn=ref.id, Targets=[{"Id": machine}])
    assert front.groups.kind.parts.driver is None, "a group has no targets of its own"
    for usage, held in (
        (front.network.kind.deletion.usage, wanted["balancer"]),
        (front.groups.kind.deletion.usage, ref.id),
    ):
        assert usage is not None
        assert await usage.users(Ref(held)) == [User(f"target {machine} 6443")]


async def test_a_target_group_that_is_led_to_names_the_load_balancer(front: Front) -> None:
    wanted = await front.listener_request()
    made = await front.listeners.create(wanted)
    group = Ref(wanted["target_groups"][0])
    with pytest.raises(errors.InUse) as refused:
        await front.groups.driver.delete(group)
    assert refused.value.blocker == wanted["balancer"]
    await front.listeners.driver.delete(Ref(made.id))
    await front.groups.driver.delete(group)
    assert await front.groups.look(group.id) is None


async def test_listeners_on_one_port_of_two_load_balancers_are_told_apart(front: Front) -> None:
    wanted = await front.listener_request()
    another = await front.network.create(front.network_request(name="another"), birth("fanother"))
    made = await front.listeners.create(wanted)
    here = replace(front.listeners.want(wanted), key=NodeKey("listener", "here"))
    there = front.listeners.want({**wanted, "balancer": another.id}, NONCE)
    found = await front.listeners.driver.find([here, there])
    assert {key: [one.id for one in seen] for key, seen in found.items()} == {here.key: [made.id], there.key: []}


async def test_a_listener_is_led_to_another_group(front: Front) -> None:
    wanted = await front.listener_request()
    made = await front.listeners.create(wanted)
    other = await front.groups.create(front.group_request(name="other"), birth("fother"))
    await front.listeners.driver.update(Ref(made.id), {"target_groups": [other.id]})
    assert (await front.listeners.there(made.id)).attributes["target_groups"] == [other.id]


async def test_a_listener_that_was_moved_gets_its_port_and_protocol_back(front: Front) -> None:
    wanted = await front.listener_request()
    made = await front.listeners.create(wanted)
    front.account.elbv2.modify_listener(ListenerArn=made.id, Port=7443, Protocol="TCP_UDP")
    changes = differing(front.listeners, wanted, (await front.listeners.there(made.id)).attributes)
    assert changes == {"port": 6443, "protocol": "TCP"}
    await front.listeners.driver.update(Ref(made.id), changes)
    assert differing(front.listeners, wanted, (await front.listeners.there(made.id)).attributes) == {}


async def test_a_load_balancer_that_has_gone_is_no_empty_one(front: Front) -> None:
    """The last look before an object is let go: what cannot be looked into may hold a listener."""
    wanted = await front.listener_request()
    await front.network.driver.delete(Ref(wanted["balancer"]))
    with pytest.raises(errors.NotFound):
        await front.listeners.by_nonce(NONCE, places=[ParentResource("network-load-balancer", Ref(wanted["balancer"]))])
    assert await front.listeners.find(wanted, NONCE) == []


async def test_a_create_that_is_refused_for_a_quota_made_nothing(front: Front) -> None:
    front.network.fault(Effect.QUOTA, "elbv2.CreateLoadBalancer")
    with pytest.raises(errors.Quota):
        await front.network.create(front.network_request())
    assert await front.network.find(front.network_request(), NONCE) == []
