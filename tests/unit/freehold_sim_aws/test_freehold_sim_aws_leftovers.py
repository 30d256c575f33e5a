"""What who collects leftovers asks: proofs by tag, permission by tag, rules between groups, snapshots, waiting."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from freehold_sim.aws.settings import Delays
from freehold_sim.faults import Effect, Fault
from harness.cloud_actors import OtherUser
from harness.cloud_controllers import CloudProvider, Ground, everything
from harness.simulated_aws import Sim, refused, tagged

CLUSTER_TAG = "kubernetes.io/cluster/demo"


def _ground(sim: Sim) -> Ground:
    vpc, subnets = sim.network()
    return Ground("demo", vpc, subnets, sim.group(vpc, "demo-lb"))


def _user(sim: Sim) -> OtherUser:
    return OtherUser(sim.cloud.strangers.act)


def _session(sim: Sim, *statements: dict[str, Any]) -> Callable[[str], Any]:
    """Return a maker of clients of a role session that may do what the statements of its session policy allow."""
    arn = sim.role("collector")
    sim.iam.attach_role_policy(RoleName="collector", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    given = sim.sts.assume_role(RoleArn=arn, RoleSessionName="one", Policy=policy)["Credentials"]
    return lambda service: sim.client(service, key=given["AccessKeyId"], token=given["SessionToken"])


def _if(action: list[str], **conditions: dict[str, Any]) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": "*", "Condition": conditions}


DELETES = ["ec2:Delete*", "elasticloadbalancing:Delete*", "ec2:RevokeSecurityGroupIngress"]


@pytest.mark.parametrize(
    ("kind", "marks"),
    [
        ("load balancer", {CLUSTER_TAG: "owned", "kubernetes.io/service-name": "team/api"}),
        ("classic", {CLUSTER_TAG: "owned", "kubernetes.io/service-name": "team/api"}),
        ("target group", {"elbv2.k8s.aws/cluster": "demo", "service.k8s.aws/stack": "team/api"}),
        ("security group", {CLUSTER_TAG: "owned", "second": "mark"}),
        ("interface", {"cluster.k8s.amazonaws.com/name": "demo", "eks:eni:owner": "amazon-vpc-cni"}),
        ("volume", {CLUSTER_TAG: "owned", "ebs.csi.aws.com/cluster": "true"}),
        ("snapshot", {CLUSTER_TAG: "owned", "second": "mark"}),
    ],
)
def test_a_delete_is_allowed_only_where_all_tags_of_the_condition_are_there(
    sim: Sim, kind: str, marks: dict[str, str]
) -> None:
    """The keys of a condition are joined by AND, and a tag key may have slashes and colons: IAM user guide,
    reference_policies_condition-logic-multiple-context-keys-or-values."""
    client = _session(sim, _if(DELETES, StringEquals={f"aws:ResourceTag/{key}": each for key, each in marks.items()}))
    first = dict([next(iter(marks.items()))])
    for tags in (first, {**marks, list(marks)[1]: "another"}):
        with refused(
            "AccessDenied" if kind in {"load balancer", "classic", "target group"} else "UnauthorizedOperation"
        ):
            _delete(client, kind, _make(sim, kind, tags))
    _delete(client, kind, _make(sim, kind, marks))


def _make(sim: Sim, kind: str, tags: dict[str, str]) -> str:
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    if kind == "volume" or kind == "snapshot":
        zone = {"AvailabilityZone": "us-east-1a", "Size": 8}
        volume = sim.ec2.create_volume(**zone, TagSpecifications=tagged("volume", **tags))["VolumeId"]
        sim.clock.advance(2)
        if kind == "volume":
            return str(volume)
        return str(sim.ec2.create_snapshot(VolumeId=volume, TagSpecifications=tagged("snapshot", **tags))["SnapshotId"])
    vpc, subnets = sim.network()
    match kind:
        case "load balancer":
            return sim.balancer(subnets, f"lb-{vpc[-8:]}", Tags=listed)
        case "classic":
            port = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}
            name = f"elb-{vpc[-8:]}"
            sim.elb.create_load_balancer(LoadBalancerName=name, Listeners=[port], Subnets=subnets, Tags=listed)
            return name
        case "target group":
            return sim.target_group(vpc, f"tg-{vpc[-8:]}", Tags=listed)
        case "security group":
            return sim.group(vpc, TagSpecifications=tagged("security-group", **tags))
        case _:
            made = sim.ec2.create_network_interface(
                SubnetId=subnets[0], TagSpecifications=tagged("network-interface", **tags)
            )
            return str(made["NetworkInterface"]["NetworkInterfaceId"])


def _delete(client: Callable[[str], Any], kind: str, ident: str) -> None:
    match kind:
        case "load balancer":
            client("elbv2").delete_load_balancer(LoadBalancerArn=ident)
        case "classic":
            client("elb").delete_load_balancer(LoadBalancerName=ident)
        case "target group":
            client("elbv2").delete_target_group(TargetGroupArn=ident)
        case "security group":
            client("ec2").delete_security_group(GroupId=ident)
        case "interface":
            client("ec2").delete_network_interface(NetworkInterfaceId=ident)
        case "volume":
            client("ec2").delete_volume(VolumeId=ident)
        case _:
            client("ec2").delete_snapshot(SnapshotId=ident)


def test_a_condition_can_ask_that_a_tag_is_there_whatever_its_value(sim: Sim) -> None:
    client = _session(sim, _if(DELETES, Null={"aws:ResourceTag/kubernetes.io/service-name": "false"}))
    with refused("AccessDenied"):
        _delete(client, "load balancer", _make(sim, "load balancer", {CLUSTER_TAG: "owned"}))
    _delete(client, "load balancer", _make(sim, "load balancer", {"kubernetes.io/service-name": "team/api"}))


def test_rules_are_revoked_with_permission_on_their_group_alone(sim: Sim) -> None:
    """Neither the rule nor the group that it names is asked for:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_examples_ec2_securitygroups-vpc.html"""
    vpc = sim.vpc()
    ours, other = (
        sim.group(vpc, "ours", TagSpecifications=tagged("security-group", owner="me")),
        sim.group(vpc, "other"),
    )
    client = _session(sim, _if(["ec2:Revoke*"], StringEquals={"aws:ResourceTag/owner": "me"}))
    names_other = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": other, "Description": "of a controller"}]}
    named = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": other}]}
    for revoke in ({"IpPermissions": [named]}, {}):
        made = sim.ec2.authorize_security_group_ingress(GroupId=ours, IpPermissions=[names_other])
        rule = made["SecurityGroupRules"][0]["SecurityGroupRuleId"]
        with refused("DependencyViolation"):
            sim.ec2.delete_security_group(GroupId=other)
        client("ec2").revoke_security_group_ingress(GroupId=ours, **(revoke or {"SecurityGroupRuleIds": [rule]}))
    sim.ec2.authorize_security_group_ingress(GroupId=other, IpPermissions=[named])
    with refused("UnauthorizedOperation"):
        client("ec2").revoke_security_group_ingress(GroupId=other, IpPermissions=[named])


def test_a_group_is_held_by_rules_that_let_out_to_it_and_found_by_them(sim: Sim) -> None:
    vpc = sim.vpc()
    held, theirs = sim.group(vpc, "held"), sim.group(vpc, "theirs")
    out = [{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "UserIdGroupPairs": [{"GroupId": held}]}]
    sim.ec2.authorize_security_group_egress(GroupId=theirs, IpPermissions=out)
    for name, found in (("egress.ip-permission.group-id", [theirs]), ("ip-permission.group-id", [])):
        rows = sim.ec2.describe_security_groups(Filters=[{"Name": name, "Values": [held]}])["SecurityGroups"]
        assert [row["GroupId"] for row in rows if row["GroupName"] != "default"] == found
    with refused("DependencyViolation"):
        sim.ec2.delete_security_group(GroupId=held)
    sim.ec2.revoke_security_group_egress(GroupId=theirs, IpPermissions=out)
    with refused("InvalidPermission.NotFound"):
        sim.ec2.revoke_security_group_egress(GroupId=theirs, IpPermissions=out)
    sim.ec2.delete_security_group(GroupId=held)


def test_lists_of_a_service_permit_no_resources(sim: Sim) -> None:
    """Its actions that list have no resources in AWS's tables: a policy allows them on "*" or not at all."""
    _, subnets = sim.network()
    arn = sim.balancer(subnets)
    one = {"Effect": "Allow", "Action": "elasticloadbalancing:Describe*", "Resource": arn}
    with refused("AccessDenied"):
        _session(sim, one)("elbv2").describe_load_balancers(LoadBalancerArns=[arn])


def test_load_balancers_are_described_by_twenty_and_all_of_them_must_be_there(sim: Sim) -> None:
    _, subnets = sim.network()
    arn = sim.balancer(subnets)
    assert len(sim.elbv2.describe_load_balancers(LoadBalancerArns=[arn])["LoadBalancers"]) == 1
    with refused("ValidationError"):
        sim.elbv2.describe_load_balancers(LoadBalancerArns=[arn] * 21)
    with refused("LoadBalancerNotFound"):
        sim.elbv2.describe_load_balancers(LoadBalancerArns=[arn, f"{arn}0"])
    with refused("LoadBalancerNotFound"):
        sim.elbv2.describe_tags(ResourceArns=[arn, f"{arn}0"])
    with refused("LoadBalancerNotFound"):
        sim.elb.describe_load_balancers(LoadBalancerNames=["none"])
    with refused("ValidationError"):
        sim.elb.describe_tags(LoadBalancerNames=["none"] * 21)


def test_a_target_group_can_stay_in_use_for_a_while_after_its_load_balancer(make_sim: Any) -> None:
    sim = make_sim(delays=Delays(target_group_held=10.0))
    provider = CloudProvider(_user(sim), _ground(sim))
    provider.network()
    group = provider.made["target group of team/api"]
    sim.elbv2.delete_load_balancer(LoadBalancerArn=provider.made["network team/api"])
    sim.clock.advance(9)
    with refused("ResourceInUse"):
        sim.elbv2.delete_target_group(TargetGroupArn=group)
    sim.clock.advance(1)
    sim.elbv2.delete_target_group(TargetGroupArn=group)


def test_the_index_finds_a_clusters_leftovers_on_all_pages_and_shows_what_has_gone_for_a_while(make_sim: Any) -> None:
    sim = make_sim(page_size=1)
    made = everything(_user(sim), _ground(sim))
    owned = [{"Key": CLUSTER_TAG, "Values": ["owned"]}]
    of_services = [*owned, {"Key": "kubernetes.io/service-name"}]
    assert _found(sim, owned) == []
    sim.clock.advance(20)
    assert _found(sim, owned) == sorted(
        made[name].rpartition("/")[2]
        for name in made
        if name.startswith(("volume", "classic", "network team/api", "listener of team/api"))
        or name in {"group of team/web", "target group of team/api"}
    )
    sim.elbv2.delete_load_balancer(LoadBalancerArn=made["network team/api"])
    balancer = made["network team/api"].rpartition("/")[2]
    assert balancer in _found(sim, of_services)
    sim.clock.advance(20)
    assert balancer not in _found(sim, of_services)


def _found(sim: Sim, filters: list[dict[str, Any]]) -> list[str]:
    pages = sim.tagging.get_paginator("get_resources").paginate(TagFilters=filters)
    rows = [row["ResourceARN"] for page in pages for row in page["ResourceTagMappingList"]]
    return sorted(arn.rpartition("/")[2] for arn in rows)


def test_a_snapshot_is_pending_first_and_outlives_its_volume(sim: Sim) -> None:
    volume = sim.ec2.create_volume(AvailabilityZone="us-east-1a", Size=8)["VolumeId"]
    with refused("IncorrectState"):
        sim.ec2.create_snapshot(VolumeId=volume)
    sim.clock.advance(2)
    tags = tagged("snapshot", a="b")
    made = sim.ec2.create_snapshot(VolumeId=volume, Description="before the delete", TagSpecifications=tags)
    assert (made["State"], made["VolumeSize"], made["VolumeId"]) == ("pending", 8, volume)
    with refused("SnapshotCreationPerVolumeRateExceeded"):
        sim.ec2.create_snapshot(VolumeId=volume)
    sim.ec2.delete_volume(VolumeId=volume)
    sim.clock.advance(60)
    for given in ({"OwnerIds": ["self"]}, {"Filters": [{"Name": "volume-id", "Values": [volume]}]}):
        [shown] = sim.ec2.describe_snapshots(**given)["Snapshots"]
        assert (shown["State"], shown["Tags"]) == ("completed", [{"Key": "a", "Value": "b"}])
    assert sim.ec2.describe_snapshots(OwnerIds=["amazon"])["Snapshots"] == []
    ident = made["SnapshotId"]
    assert sim.tagging.get_resources(TagFilters=[{"Key": "a"}])["ResourceTagMappingList"][0]["ResourceARN"].endswith(
        ident
    )
    sim.ec2.delete_snapshot(SnapshotId=ident)
    with refused("InvalidSnapshot.NotFound"):
        sim.ec2.delete_snapshot(SnapshotId=ident)


def test_a_snapshot_whose_making_fails_shows_it_later(sim: Sim) -> None:
    volume = sim.ec2.create_volume(AvailabilityZone="us-east-1a", Size=8)["VolumeId"]
    sim.clock.advance(2)
    sim.cloud.faults.add(Fault(Effect.FAILED, "ec2.CreateSnapshot"))
    sim.ec2.create_snapshot(VolumeId=volume)
    sim.clock.advance(60)
    assert sim.ec2.describe_snapshots()["Snapshots"][0]["State"] == "error"
