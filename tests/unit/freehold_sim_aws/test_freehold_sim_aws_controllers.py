"""What the harness says that cloud controllers make: it is there, tagged as they tag it, and holds what it holds."""

from pathlib import Path

import pytest
import requests

from harness import cloud_stand_in, serving
from harness.cloud_actors import OtherUser, Refused, left, over_http
from harness.cloud_bystanders import Tempting, elsewhere, rule_that_names, strange_ground
from harness.cloud_controllers import CloudProvider, Ground, Nodes, Recreating, everything, protect
from harness.cloud_stand_in import forgotten_services
from harness.simulated_aws import KEY, Sim, refused

CLUSTER = "demo"


@pytest.fixture
def user(sim: Sim) -> OtherUser:
    return OtherUser(sim.cloud.strangers.act)


@pytest.fixture
def ground(sim: Sim) -> Ground:
    vpc, subnets = sim.network()
    return Ground(CLUSTER, vpc, subnets, sim.group(vpc, "demo-lb"))


def _tags(sim: Sim, ident: str) -> dict[str, str]:
    return dict(sim.cloud.strangers.find(ident)["tags"])


def test_each_controller_tags_what_it_makes_as_its_source_says(sim: Sim, user: OtherUser, ground: Ground) -> None:
    made = everything(user, ground)
    in_tree = {"kubernetes.io/cluster/demo": "owned", "kubernetes.io/service-name": "team/api"}
    assert _tags(sim, made["network team/api"]) == _tags(sim, made["target group of team/api"]) == in_tree
    assert _tags(sim, made["group of team/web"]) == {"kubernetes.io/cluster/demo": "owned"}
    stack = {"elbv2.k8s.aws/cluster": "demo", "service.k8s.aws/stack": "team/mail"}
    assert stack.items() <= _tags(sim, made["network team/mail"]).items()
    group = sim.ec2.describe_security_groups(GroupIds=[made["group of team/web"]])["SecurityGroups"][0]
    assert group["GroupName"] == f"k8s-elb-{made['classic team/web']}"
    assert group["Description"] == f"Security group for Kubernetes ELB {made['classic team/web']} (team/web)"
    assert left(sim.cloud.resources(), made) == sorted(made)


def test_a_network_without_a_way_to_the_internet_has_internal_load_balancers(sim: Sim, user: OtherUser) -> None:
    vpc = sim.vpc()
    made = everything(user, Ground(CLUSTER, vpc, [sim.subnet(vpc)], internal=True))
    assert {row["Scheme"] for row in sim.elbv2.describe_load_balancers()["LoadBalancers"]} == {"internal"}
    assert not any("application" in what for what in made)  # it needs two zones


def test_what_controllers_made_holds_the_network_and_goes_in_one_order(
    sim: Sim, user: OtherUser, ground: Ground
) -> None:
    made = everything(user, ground)
    with refused("DependencyViolation"):
        sim.ec2.delete_security_group(GroupId=made["group of team/web"])
    with refused("ResourceInUse"):
        sim.elbv2.delete_target_group(TargetGroupArn=made["target group of team/api"])
    sim.elb.delete_load_balancer(LoadBalancerName=made["classic team/web"])
    for name in ("network team/api", "network team/mail", "application team/shop"):
        sim.elbv2.delete_load_balancer(LoadBalancerArn=made[name])
    with refused("DependencyViolation"):  # the interfaces linger
        sim.ec2.delete_security_group(GroupId=made["group of team/shop"])
    sim.clock.advance(180)
    for name in ("rule for team/web", "rule for backend group"):
        sim.ec2.revoke_security_group_ingress(GroupId=ground.nodes, SecurityGroupRuleIds=[made[name]])
    for name in sorted(made):
        if "target group" in name:
            sim.elbv2.delete_target_group(TargetGroupArn=made[name])
        elif "interface" in name:
            sim.ec2.delete_network_interface(NetworkInterfaceId=made[name])
        elif "volume" in name:
            sim.ec2.delete_volume(VolumeId=made[name])
        elif "group" in name and "rule" not in name:
            sim.ec2.delete_security_group(GroupId=made[name])
    assert left(sim.cloud.resources(), made) == []
    for subnet in ground.subnets:
        sim.ec2.delete_subnet(SubnetId=subnet)


def test_a_stranger_has_the_same_in_a_vpc_of_his_own(sim: Sim, user: OtherUser, ground: Ground) -> None:
    mine, theirs = everything(user, ground), elsewhere(user, CLUSTER)
    assert not set(mine.values()) & set(theirs.values())
    shown = sim.elbv2.describe_load_balancers(LoadBalancerArns=[theirs["elsewhere: network team/api"]])
    assert shown["LoadBalancers"][0]["VpcId"] == theirs["elsewhere: vpc"] != ground.vpc


def test_tempting_things_are_in_the_vpc_and_a_rule_of_a_stranger_holds_a_group(
    sim: Sim, user: OtherUser, ground: Ground
) -> None:
    made = Tempting(user, ground).all()
    assert left(sim.cloud.resources(), made) == sorted(made)
    assert _tags(sim, made["group of EKS"])["aws:eks:cluster-name"] == CLUSTER
    with refused("AuthFailure"):
        sim.ec2.delete_network_interface(NetworkInterfaceId=made["interface of a service"])
    provider = CloudProvider(user, Ground(CLUSTER, ground.vpc, ground.subnets))
    provider.classic()
    group, name = provider.made["group of team/web"], provider.made["classic team/web"]
    rule_that_names(user, group, ground.vpc)
    sim.elb.delete_load_balancer(LoadBalancerName=name)
    sim.clock.advance(180)
    with refused("DependencyViolation"):
        sim.ec2.delete_security_group(GroupId=group)


def test_a_controller_makes_again_what_is_missing_while_a_machine_runs(
    sim: Sim, user: OtherUser, ground: Ground
) -> None:
    provider = CloudProvider(user, ground)
    machine = provider.instance()
    controller = Recreating(provider, classic=["team/web"], network=["team/api"])
    controller.tick()
    first = dict(provider.made)
    sim.elb.delete_load_balancer(LoadBalancerName=first["classic team/web"])
    sim.elbv2.delete_load_balancer(LoadBalancerArn=first["network team/api"])
    controller.tick()
    controller.tick()
    assert controller.made_again == 4
    assert left(sim.cloud.resources(), provider.made) == sorted(provider.made)
    sim.ec2.terminate_instances(InstanceIds=[machine])
    sim.elbv2.delete_load_balancer(LoadBalancerArn=provider.made["network team/api"])
    controller.tick()
    assert controller.made_again == 4


def test_an_attached_interface_of_the_cni_is_in_use_and_a_protected_balancer_stays(
    sim: Sim, user: OtherUser, ground: Ground
) -> None:
    provider, nodes = CloudProvider(user, ground), Nodes(user, ground)
    attached = nodes.interface(provider.instance())
    shown = sim.ec2.describe_network_interfaces(NetworkInterfaceIds=[attached])["NetworkInterfaces"][0]
    assert shown["Status"] == "in-use"
    provider.network(grouped=True)
    [shown] = sim.elbv2.describe_load_balancers()["LoadBalancers"]
    assert shown["SecurityGroups"] == [provider.made["group of team/api"]]
    protect(user, provider.made["network team/api"])
    with refused("OperationNotPermitted"):
        sim.elbv2.delete_load_balancer(LoadBalancerArn=provider.made["network team/api"])


def test_a_process_with_a_key_of_its_own_finds_the_network_by_its_tags_and_makes_load_balancers(tmp_path: Path) -> None:
    with serving.simulator(tmp_path / "world") as url:
        user = OtherUser(over_http(url))
        ground, owned = strange_ground(user, CLUSTER), {"kubernetes.io/cluster/demo": "owned"}
        for subnet in ground.subnets:
            user.tag(subnet, **owned, **{"kubernetes.io/role/elb": "1"})
        user.tag(ground.nodes, **owned)
        provider = forgotten_services(url, CLUSTER, KEY)
        assert provider.ground == ground
        assert cloud_stand_in.left(url, provider.made) == sorted(provider.made)
        assert {"classic team/web", "network team/api", "rule for team/web"} <= provider.made.keys()
        calls = requests.get(f"{url}/_sim/calls?cloud=aws", timeout=60).json()["by_operation"]
        assert calls["elb.CreateLoadBalancer"] == calls["elbv2.CreateLoadBalancer"] == 1
        with pytest.raises(Refused, match="LoadBalancerNotFound"):
            provider.actor.call("elb", "DescribeLoadBalancers", LoadBalancerNames=["none"])
        with pytest.raises(Refused, match="LoadBalancerNotFound"):
            user.call("elb", "DescribeLoadBalancers", LoadBalancerNames=["none"])
