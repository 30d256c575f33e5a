"""Deletes that AWS allows only of what carries our uuid: how a session is bound, and that AWS heeds it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.keyed_codec import UUID as OWNER_UUID
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.collectors.survey import marks_of
from freehold.providers.aws.identities import AssumedRole
from freehold.providers.aws.kind_facts import KINDS
from freehold.providers.aws.permissions import policies as permissions
from freehold.providers.aws.permissions.delete_binding import (
    MOST_CHARACTERS,
    BoundPolicy,
    NotBound,
    bind_to_marks,
    bind_to_owner,
)
from freehold.providers.aws.permissions.policies import COLLECTED_METHODS
from harness.aws_account import KEYS, AwsAccount
from harness.simulated_aws import ACCOUNT, TRUST, tagged

UUID, OTHER_UUID = "0d0f1e2a-1111-4222-8333-444455556666", "0d0f1e2a-1111-4222-8333-444455557777"
ANYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
MANAGED = f"arn:aws:iam::{ACCOUNT}:policy/deleter"
READS = {
    "Version": "2012-10-17",
    "Id": "reads",
    "Statement": {"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"},
}


def _bound(*given: Any) -> dict[str, Any]:
    found = bind_to_owner(UUID, *given)
    assert isinstance(found, BoundPolicy), found
    document: dict[str, Any] = json.loads(found.policy)
    return document


def _not_bound(*given: Any) -> str:
    found = bind_to_owner(UUID, *given)
    assert isinstance(found, NotBound), found
    return found.why


def test_a_session_that_the_user_does_not_narrow_may_delete_and_nothing_else() -> None:
    (statement,) = _bound()["Statement"]
    assert statement["Effect"] == "Allow"
    assert set(statement["Action"]) == set(permissions.BOUND_ACTIONS)
    assert statement["Condition"] == {"StringEquals": {f"aws:ResourceTag/{OWNER_UUID}": UUID}}


@pytest.mark.parametrize("arns", [(), (MANAGED,)], ids=["alone", "with managed policies"])
def test_the_statements_of_the_users_policy_stay_as_they_are_and_ours_denies(arns: tuple[str, ...]) -> None:
    """An allow of ours would add to what they allow."""
    found = _bound(json.dumps(READS), arns)
    assert {name: found[name] for name in ("Version", "Id")} == {"Version": "2012-10-17", "Id": "reads"}
    theirs, ours = found["Statement"]
    assert theirs == READS["Statement"]
    assert ours == {
        "Effect": "Deny", "Action": list(permissions.BOUND_ACTIONS), "Resource": "*",
        "Condition": {"StringNotEquals": {f"aws:ResourceTag/{OWNER_UUID}": UUID}},
    }  # fmt: skip


def test_beside_managed_policies_alone_ours_only_denies() -> None:
    assert [each["Effect"] for each in _bound("", (MANAGED,))["Statement"]] == ["Deny"]


def test_white_space_of_the_users_policy_takes_no_room() -> None:
    assert _bound(json.dumps(READS, indent=200)) == _bound(json.dumps(READS))


def _long(characters: int) -> str:
    """A policy that has this length with our statement in it."""
    empty = {**READS, "Id": ""}
    found = bind_to_owner(UUID, json.dumps(empty))
    assert isinstance(found, BoundPolicy)
    return json.dumps({**READS, "Id": "x" * (characters - len(found.policy))})


def test_what_sts_takes_is_bound_to_the_last_character_and_what_is_longer_is_not() -> None:
    found = bind_to_owner(UUID, _long(MOST_CHARACTERS))
    assert isinstance(found, BoundPolicy)
    assert len(found.policy) == MOST_CHARACTERS
    assert "1 characters longer than the 2048" in _not_bound(_long(MOST_CHARACTERS + 1))
    assert f"{len(MANAGED)} characters longer" in _not_bound(_long(MOST_CHARACTERS), (MANAGED,)), "ARNs count too"


@pytest.mark.parametrize(
    "policy",
    ["{", " ", "[]", '"text"', "{}", '{"Statement": "*"}', '{"Statement": [[]]}', '{"Statement": [], "Statement": {}}',
     '{"Statement": [{"Effect": "Deny", "Effect": "Allow"}]}', "[" * 100_000],
    ids=["not JSON", "nothing", "a list", "a text", "no statement", "a text as statement", "a list as statement",
         "statements twice", "an effect twice", "nested without end"],
)  # fmt: skip
def test_a_policy_that_may_mean_something_else_is_left_alone(policy: str) -> None:
    """What counts of it AWS decides, or refuses it."""
    assert "spec.inlinePolicy is not a JSON object" in _not_bound(policy)


# -- on the simulated AWS ---------------------------------------------------------------------------------------


class Owned:
    """A resource of each kind that deletes may be bound for, all with one owner's uuid."""

    def __init__(self, account: AwsAccount, uuid: str) -> None:
        marks = {OWNER_UUID: uuid}
        tags = [{"Key": OWNER_UUID, "Value": uuid}]
        ec2, elbv2 = account.ec2, account.elbv2
        self.vpc = account.vpc(TagSpecifications=tagged("vpc", **marks))
        account.gateway(self.vpc)
        subnets = [
            account.subnet(self.vpc, n, zone, TagSpecifications=tagged("subnet", **marks))
            for n, zone in enumerate("ab")
        ]
        gateway = ec2.create_internet_gateway(TagSpecifications=tagged("internet-gateway", **marks))
        address = ec2.allocate_address(Domain="vpc", TagSpecifications=tagged("elastic-ip", **marks))
        table = ec2.create_route_table(VpcId=self.vpc, TagSpecifications=tagged("route-table", **marks))
        group = account.group(self.vpc, "g", TagSpecifications=tagged("security-group", **marks))
        egress = ec2.create_egress_only_internet_gateway(
            VpcId=self.vpc, ClientToken="t", TagSpecifications=tagged("egress-only-internet-gateway", **marks)
        )
        endpoint = ec2.create_vpc_endpoint(
            VpcId=self.vpc, ServiceName="com.amazonaws.us-east-1.s3", TagSpecifications=tagged("vpc-endpoint", **marks)
        )["VpcEndpoint"]["VpcEndpointId"]
        instance = account.instance(subnets[0], TagSpecifications=tagged("instance", **marks))
        nat = account.nat(subnets[1], TagSpecifications=tagged("natgateway", **marks))
        balancer = account.balancer(subnets, Tags=tags)
        target = account.target_group(self.vpc, Tags=tags)
        listener = elbv2.create_listener(
            LoadBalancerArn=balancer, Protocol="TCP", Port=6443, Tags=tags,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": target}],
        )["Listeners"][0]["ListenerArn"]  # fmt: skip
        port = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
        account.elb.create_load_balancer(LoadBalancerName="classic", Listeners=[port], Subnets=subnets, Tags=tags)
        secret = account.secretsmanager.create_secret(
            Name="aws.cluster.x-k8s.io/one-0", SecretString="s", ClientRequestToken="t" * 32, Tags=tags
        )["ARN"]
        role = account.role("eks")
        account.eks.create_cluster(
            name="c", roleArn=role, version="1.34", tags=marks, clientRequestToken="c" * 32,
            accessConfig={"authenticationMode": "API"},
            resourcesVpcConfig={"subnetIds": subnets, "endpointPublicAccess": True},
        )  # fmt: skip
        account.clock.advance(700)
        account.eks.create_addon(clusterName="c", addonName="vpc-cni", tags=marks, clientRequestToken="a" * 32)
        account.eks.create_access_entry(clusterName="c", principalArn=role, tags=marks, clientRequestToken="e" * 32)
        account.iam.create_role(RoleName="r-iam-service-role", AssumeRolePolicyDocument=TRUST, Tags=tags)
        provider = account.iam.create_open_id_connect_provider(
            Url="https://oidc.eks.us-east-1.amazonaws.com/id/A", ClientIDList=["sts.amazonaws.com"], Tags=tags
        )["OpenIDConnectProviderArn"]
        account.clock.advance(200)
        self.deletes: dict[str, tuple[str, str, dict[str, Any]]] = {
            "eks-addon": ("eks", "delete_addon", {"clusterName": "c", "addonName": "vpc-cni"}),
            "eks-access-entry": ("eks", "delete_access_entry", {"clusterName": "c", "principalArn": role}),
            "eks-cluster": ("eks", "delete_cluster", {"name": "c"}),
            "bootstrap-secret": ("secretsmanager", "delete_secret", {
                "SecretId": secret, "ForceDeleteWithoutRecovery": True,
            }),
            "iam-role": ("iam", "delete_role", {"RoleName": "r-iam-service-role"}),
            "oidc-provider": ("iam", "delete_open_id_connect_provider", {"OpenIDConnectProviderArn": provider}),
            "listener": ("elbv2", "delete_listener", {"ListenerArn": listener}),
            "target-group": ("elbv2", "delete_target_group", {"TargetGroupArn": target}),
            "network-load-balancer": ("elbv2", "delete_load_balancer", {"LoadBalancerArn": balancer}),
            "classic-load-balancer": ("elb", "delete_load_balancer", {"LoadBalancerName": "classic"}),
            "instance": ("ec2", "terminate_instances", {"InstanceIds": [instance]}),
            "nat-gateway": ("ec2", "delete_nat_gateway", {"NatGatewayId": nat}),
            "vpc-endpoint": ("ec2", "delete_vpc_endpoints", {"VpcEndpointIds": [endpoint]}),
            "egress-only-gateway": ("ec2", "delete_egress_only_internet_gateway", {
                "EgressOnlyInternetGatewayId": egress["EgressOnlyInternetGateway"]["EgressOnlyInternetGatewayId"],
            }),
            "internet-gateway": ("ec2", "delete_internet_gateway", {
                "InternetGatewayId": gateway["InternetGateway"]["InternetGatewayId"],
            }),
            "elastic-ip": ("ec2", "release_address", {"AllocationId": address["AllocationId"]}),
            "route-table": ("ec2", "delete_route_table", {"RouteTableId": table["RouteTable"]["RouteTableId"]}),
            "security-group": ("ec2", "delete_security_group", {"GroupId": group}),
            "subnet": ("ec2", "delete_subnet", {"SubnetId": subnets[0]}),
            "vpc": ("ec2", "delete_vpc", {"VpcId": self.vpc}),
        }  # fmt: skip


NARROWED = {
    "not narrowed": {},
    "inlinePolicy": {"policy": json.dumps({"Statement": ANYTHING})},
    "policyARNs": {"policy_arns": (MANAGED,)},
    "both": {"policy": json.dumps({"Version": "2012-10-17", "Statement": [READS["Statement"]]}),
             "policy_arns": (MANAGED,)},
}  # fmt: skip
"""How the user narrows the role's session."""


def _role(account: AwsAccount) -> str:
    """A role that may delete anything; the managed policy allows the same."""
    deletes = json.dumps(permissions.deleter_policy())
    made = account.iam.create_policy(PolicyName="deleter", PolicyDocument=deletes)["Policy"]["Arn"]
    assert made == MANAGED
    arn = account.role("deleter")
    account.iam.put_role_policy(RoleName="deleter", PolicyName="deletes", PolicyDocument=deletes)
    return arn


def _deleter(account: AwsAccount, arn: str, narrowed: dict[str, Any]) -> AwsClient:
    """The session of the role for the deletes of our uuid."""
    deletes = account.session_of(AssumedRole(arn, KEYS, **narrowed)).session.owner_session(UUID)
    assert deletes is not None
    return AwsClient(deletes, account.port)


async def _denied(api: AwsClient, owned: Owned) -> set[str]:
    """The kinds whose delete is denied. What is refused because something uses it was not denied."""
    found = set()
    for kind, (service, operation, params) in owned.deletes.items():
        try:
            await api.write(service, operation, kind, **params)
        except errors.Denied:
            found.add(kind)
        except errors.InUse:
            continue
    return found


@pytest.mark.parametrize("narrowed", NARROWED.values(), ids=NARROWED)
async def test_an_owner_deletes_its_own(account: AwsAccount, narrowed: dict[str, Any]) -> None:
    owned = Owned(account, UUID)
    assert await _denied(_deleter(account, _role(account), narrowed), owned) == set()
    assert account.elb.describe_load_balancers()["LoadBalancerDescriptions"] == []


async def test_the_cloud_denies_the_delete_of_another_owners(account: AwsAccount) -> None:
    """Behind every check of ours."""
    owned, arn = Owned(account, OTHER_UUID), _role(account)
    assert set(owned.deletes) == {kind.name for kind in KINDS if kind.name != "s3-bucket"}, "each kind is tried"
    for how, narrowed in NARROWED.items():
        assert await _denied(_deleter(account, arn, narrowed), owned) == set(owned.deletes), how
    assert owned.vpc in str(account.ec2.describe_vpcs())


async def test_what_the_user_does_not_allow_stays_denied(account: AwsAccount) -> None:
    owned = Owned(account, UUID)
    reads = {"policy": json.dumps(READS)}
    assert await _denied(_deleter(account, _role(account), reads), owned) == set(owned.deletes)


async def test_a_long_name_unbinds_what_is_collected_for_it_and_nothing_else(account: AwsAccount) -> None:
    """Another owner's deletes are bound as before: their policy still fits."""
    arn = _role(account)
    session = account.session_of(AssumedRole(arn, KEYS, policy=_long(MOST_CHARACTERS))).session
    assert session.collection_session(marks_of("a" * 100)) is None
    assert session.not_bound is None
    assert session.owner_session(UUID) is not None


async def test_what_sts_cannot_pack_for_one_cluster_unbinds_no_owner(account: AwsAccount) -> None:
    settings = account.cloud.settings
    tight = replace(settings.assumptions, packed_policy_characters=len(json.dumps(_bound())) + 50)
    account.cloud.settings = replace(settings, assumptions=tight)
    session = account.session_of(AssumedRole(_role(account), KEYS)).session
    group = account.group(account.vpc(), "g")
    client = AwsClient(session, account.port, session.collection_session(marks_of("a" * 100)), COLLECTED_METHODS)
    await client.write("ec2", "delete_security_group", group, GroupId=group)
    assert session.not_bound is None
    assert session.owner_session(UUID) is not None


# -- of what a cluster's controllers made -----------------------------------------------------------------------

MARKS = marks_of("prod")


def test_a_collected_delete_needs_one_of_the_marks_of_the_cluster() -> None:
    alone, narrowed = bind_to_marks(MARKS), bind_to_marks(MARKS, json.dumps(READS))
    assert isinstance(alone, BoundPolicy)
    assert isinstance(narrowed, BoundPolicy)
    allows = json.loads(alone.policy)["Statement"]
    assert {each["Effect"] for each in allows} == {"Allow"}
    assert {tuple(each["Action"]) for each in allows} == {permissions.COLLECTED_ACTIONS}
    conditions = [{"StringEquals": {f"aws:ResourceTag/{key}": value}} for key, value in MARKS.items()]
    assert [each["Condition"] for each in allows] == conditions
    theirs, ours = json.loads(narrowed.policy)["Statement"]
    assert theirs == READS["Statement"]
    assert ours["Effect"] == "Deny"
    assert ours["Condition"] == {
        "StringNotEquals": {f"aws:ResourceTag/{key}": value for key, value in MARKS.items()}
    }, "AWS joins keys by AND: what has none of them is denied"


@pytest.mark.parametrize("narrowed", NARROWED.values(), ids=NARROWED)
async def test_the_cloud_denies_to_collect_what_has_no_mark_of_the_cluster(
    account: AwsAccount, narrowed: dict[str, Any]
) -> None:
    session = account.session_of(AssumedRole(_role(account), KEYS, **narrowed)).session.collection_session(MARKS)
    assert session is not None
    api, vpc = AwsClient(session, account.port), account.vpc()
    for key, value in MARKS.items():
        group = account.group(vpc, key, TagSpecifications=tagged("security-group", **{key: value}))
        await api.write("ec2", "delete_security_group", group, GroupId=group)
    for tags in ({OWNER_UUID: UUID}, dict.fromkeys(MARKS, "other"), {"team": "red"}):
        group = account.group(vpc, f"g{len(str(tags))}", TagSpecifications=tagged("security-group", **tags))
        with pytest.raises(errors.Denied):
            await api.write("ec2", "delete_security_group", group, GroupId=group)
