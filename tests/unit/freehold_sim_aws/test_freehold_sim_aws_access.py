"""Who may do what: access keys, role sessions, session policies, and the rules of IAM itself."""

import json
from typing import Any

import pytest

from freehold_sim.aws import tag_conditions
from freehold_sim.aws.iam import cluster_api
from freehold_sim.aws.services import OPERATIONS
from freehold_sim.aws.settings import Assumptions
from harness.simulated_aws import ACCOUNT, OTHER_KEY, TRUST, refused, tagged

OWN_ONLY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {
            "Effect": "Deny",
            "Action": ["ec2:Delete*", "ec2:TerminateInstances", "elasticloadbalancing:Delete*"],
            "Resource": "*",
            "Condition": {"StringNotEquals": {"aws:ResourceTag/owner": "me"}},
        },
    ],
}
"""The session policy with which a collector of garbage runs: it deletes only what carries its tag."""


def _session(sim: Any, policy: Any = None, role_policy: str = "AdministratorAccess") -> Any:
    arn = sim.role("worker")
    sim.iam.attach_role_policy(RoleName="worker", PolicyArn=f"arn:aws:iam::aws:policy/{role_policy}")
    given = {} if policy is None else {"Policy": json.dumps(policy)}
    return sim.sts.assume_role(RoleArn=arn, RoleSessionName="one", **given)["Credentials"]


def _client(sim: Any, service: str, session: Any) -> Any:
    return sim.client(service, key=session["AccessKeyId"], token=session["SessionToken"])


def test_a_key_names_the_account(sim: Any) -> None:
    assert sim.sts.get_caller_identity()["Account"] == ACCOUNT
    assert sim.client("sts", key=OTHER_KEY).get_caller_identity()["Account"] != ACCOUNT
    with refused("InvalidClientTokenId"):
        sim.client("sts", key="AKIANOBODY").get_caller_identity()
    with refused("AuthFailure"):
        sim.client("ec2", key="AKIANOBODY").describe_vpcs()


def test_a_session_policy_denies_deletes_of_what_does_not_carry_the_tag(sim: Any) -> None:
    ec2 = _client(sim, "ec2", _session(sim, OWN_ONLY))
    mine, other = sim.vpc(TagSpecifications=tagged("vpc", owner="me")), sim.vpc()
    with refused("UnauthorizedOperation"):
        ec2.delete_vpc(VpcId=other)
    ec2.delete_vpc(VpcId=mine)
    assert [row["VpcId"] for row in ec2.describe_vpcs()["Vpcs"]] == [other]
    _, subnets = sim.network()
    balancer = sim.balancer(subnets)
    with refused("AccessDenied"):
        _client(sim, "elbv2", _session_again(sim)).delete_load_balancer(LoadBalancerArn=balancer)


def _session_again(sim: Any) -> Any:
    arn = sim.iam.get_role(RoleName="worker")["Role"]["Arn"]
    policy = json.dumps(OWN_ONLY)
    return sim.sts.assume_role(RoleArn=arn, RoleSessionName="two", Policy=policy)["Credentials"]


def test_a_session_may_what_role_and_session_policy_both_allow(sim: Any) -> None:
    reading = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}}
    ec2 = _client(sim, "ec2", _session(sim, reading))
    ec2.describe_vpcs()
    with refused("UnauthorizedOperation"):
        ec2.create_vpc(CidrBlock="10.0.0.0/16")
    with refused("UnauthorizedOperation"):
        ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)


def test_session_policies_add_up_and_a_deny_in_any_of_them_wins(sim: Any) -> None:
    """The inline one here allows nothing: what the session may do comes from the managed one."""
    denies = {"Version": "2012-10-17", "Statement": [OWN_ONLY["Statement"][1]]}
    arn = sim.role("worker")
    sim.iam.attach_role_policy(RoleName="worker", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    vpcs = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:*Vpc*", "Resource": "*"}]}
    managed = sim.iam.create_policy(PolicyName="vpcs", PolicyDocument=json.dumps(vpcs))["Policy"]["Arn"]
    given = {"Policy": json.dumps(denies), "PolicyArns": [{"arn": managed}]}
    session = sim.sts.assume_role(RoleArn=arn, RoleSessionName="one", **given)["Credentials"]
    ec2 = _client(sim, "ec2", session)
    mine, other = sim.vpc(TagSpecifications=tagged("vpc", owner="me")), sim.vpc()
    ec2.delete_vpc(VpcId=mine)
    with refused("UnauthorizedOperation"):
        ec2.delete_vpc(VpcId=other)
    with refused("UnauthorizedOperation"):
        ec2.describe_subnets()


def test_a_condition_knows_the_tags_of_a_resource_only_where_the_action_does(sim: Any) -> None:
    """S3 has them in conditions only for buckets whose owner enabled that, which is not simulated."""
    sim.s3.create_bucket(Bucket="mine", CreateBucketConfiguration={"Tags": [{"Key": "owner", "Value": "me"}]})
    mine = {"StringEquals": {"aws:ResourceTag/owner": "me"}}
    allowed = {"Effect": "Allow", "Action": ["s3:*", "ec2:*"], "Resource": "*", "Condition": mine}
    session = _session(sim, {"Version": "2012-10-17", "Statement": [allowed]})
    with refused("AccessDenied"):
        _client(sim, "s3", session).delete_bucket(Bucket="mine")
    _client(sim, "ec2", session).delete_vpc(VpcId=sim.vpc(TagSpecifications=tagged("vpc", owner="me")))


def test_tags_need_the_permission_to_tag_beside_that_of_the_call(sim: Any) -> None:
    """Of a create with tags, and of the tagging API, which acts for the caller."""
    actions = ["ec2:CreateVpc", "elasticloadbalancing:CreateTargetGroup", "tag:*"]
    session = _session(sim, {"Version": "2012-10-17", "Statement": [{**OWN_ONLY["Statement"][0], "Action": actions}]})
    ec2, elbv2 = _client(sim, "ec2", session), _client(sim, "elbv2", session)
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    with refused("UnauthorizedOperation"):
        ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=tagged("vpc", owner="me"))
    given = {"Name": "a", "Protocol": "TCP", "Port": 1, "VpcId": vpc, "Tags": [{"Key": "owner", "Value": "me"}]}
    with refused("AccessDenied"):
        elbv2.create_target_group(**given)
    arns = [f"arn:aws:ec2:us-east-1:{ACCOUNT}:vpc/{vpc}"]
    tagging = _client(sim, "resourcegroupstaggingapi", session)
    with refused("AccessDeniedException"):
        tagging.tag_resources(ResourceARNList=arns, Tags={"owner": "me"})
    with refused("AccessDeniedException"):
        tagging.untag_resources(ResourceARNList=arns, TagKeys=["owner"])


def _allowing(*actions: str, resource: str = "*") -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource}


def test_a_launch_passes_the_role_of_its_profile_by_permission(sim: Any) -> None:
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html"""
    _, subnets = sim.network()
    sim.profile("nodes")
    sim.profile("admins")
    passed = {**_allowing("iam:PassRole", resource="arn:*:iam::*:role/nodes"),
              "Condition": {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}}  # fmt: skip
    rules = [_allowing("ec2:RunInstances"), passed]
    ec2 = _client(sim, "ec2", _session(sim, {"Version": "2012-10-17", "Statement": rules}))
    asked = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1,
             "SubnetId": subnets[0]}  # fmt: skip
    ec2.run_instances(**asked, IamInstanceProfile={"Name": "nodes"})
    with refused("UnauthorizedOperation", "iam:PassRole on resource: arn:aws:iam::111122223333:role/admins"):
        ec2.run_instances(**asked, IamInstanceProfile={"Name": "admins"})


def test_the_first_spot_instance_makes_a_role(sim: Any) -> None:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html"""
    _, subnets = sim.network()
    session = _session(sim, {"Version": "2012-10-17", "Statement": [_allowing("ec2:RunInstances")]})
    asked = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1,
             "SubnetId": subnets[0], "InstanceMarketOptions": {"MarketType": "spot"}}  # fmt: skip
    with refused("AuthFailure.ServiceLinkedRoleCreationNotPermitted"):
        _client(sim, "ec2", session).run_instances(**asked)
    sim.ec2.run_instances(**asked)
    _client(sim, "ec2", session).run_instances(**asked)


def test_a_secret_with_tags_needs_the_permission_to_tag_it(sim: Any) -> None:
    """https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html"""
    of_machines = "arn:*:secretsmanager:*:*:secret:aws.cluster.x-k8s.io/*"
    rules = [_allowing("secretsmanager:CreateSecret", resource=of_machines)]
    secrets = _client(sim, "secretsmanager", _session(sim, {"Version": "2012-10-17", "Statement": rules}))
    name, tags = "aws.cluster.x-k8s.io/one", [{"Key": "a", "Value": "b"}]
    with refused("AccessDeniedException"):
        secrets.create_secret(Name="another", SecretString="x")
    with refused("AccessDeniedException", "secretsmanager:TagResource"):
        secrets.create_secret(Name=name, SecretString="x", Tags=tags)
    secrets.create_secret(Name=name, SecretString="x")


def test_a_cluster_needs_permission_for_its_role_its_tags_and_its_key(sim: Any) -> None:
    """https://docs.aws.amazon.com/service-authorization/latest/reference/list_eks.html#list_eks-operations"""
    _, subnets = sim.network()
    role, key = sim.role("cluster"), sim.cloud.strangers.key()["arn"]
    asked = {
        "name": "one", "roleArn": role, "resourcesVpcConfig": {"subnetIds": subnets}, "tags": {"a": "b"},
        "encryptionConfig": [{"resources": ["secrets"], "provider": {"keyArn": key}}],
    }  # fmt: skip
    passed = {"StringEquals": {"iam:PassedToService": "eks.amazonaws.com"}}
    needs = [
        _allowing("eks:CreateCluster", resource="arn:aws:eks:*:*:cluster/one"),
        _allowing("eks:TagResource", resource="arn:aws:eks:*:*:cluster/one"),
        {**_allowing("iam:PassRole", resource="arn:*:iam::*:role/cluster"), "Condition": passed},
        _allowing("kms:DescribeKey", resource=key),
        _allowing("kms:CreateGrant", resource=key),
    ]
    session = sim.sts.assume_role(RoleArn=sim.role("worker"), RoleSessionName="one")["Credentials"]
    eks = _client(sim, "eks", session)
    for left in needs:
        _put(sim, [each for each in needs if each is not left])
        (action,) = left["Action"]
        with refused("InvalidRequestException" if action.startswith("kms") else "AccessDeniedException", action):
            eks.create_cluster(**asked)
    _put(sim, needs)
    eks.create_cluster(**asked)


def _put(sim: Any, statements: list[dict[str, Any]]) -> None:
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    sim.iam.put_role_policy(RoleName="worker", PolicyName="worker", PolicyDocument=document)


def test_a_role_is_made_with_permission_for_its_name_and_its_tags(sim: Any) -> None:
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags_roles.html"""
    rules = [_allowing("iam:CreateRole", resource="arn:*:iam::*:role/*-service-role")]
    iam = _client(sim, "iam", _session(sim, {"Version": "2012-10-17", "Statement": rules}))
    named = {"RoleName": "a-service-role", "Path": "/team/", "AssumeRolePolicyDocument": TRUST}
    with refused("AccessDenied"):
        iam.create_role(RoleName="another", AssumeRolePolicyDocument=TRUST)
    with refused("AccessDenied", "iam:TagRole"):
        iam.create_role(**named, Tags=[{"Key": "a", "Value": "b"}])
    iam.create_role(**named)


def test_a_boundary_of_a_role_is_a_policy_that_exists(sim: Any) -> None:
    missing, known = f"arn:aws:iam::{ACCOUNT}:policy/missing", "arn:aws:iam::aws:policy/PowerUserAccess"
    role = {"RoleName": "one", "AssumeRolePolicyDocument": TRUST}
    with refused("NoSuchEntity"):
        sim.iam.create_role(**role, PermissionsBoundary=missing)
    shown = sim.iam.create_role(**role, PermissionsBoundary=known)["Role"]["PermissionsBoundary"]
    assert shown == {"PermissionsBoundaryType": "PermissionsBoundaryPolicy", "PermissionsBoundaryArn": known}
    assert "PermissionsBoundary" not in sim.iam.list_roles()["Roles"][0]
    sim.iam.delete_role_permissions_boundary(RoleName="one")
    assert "PermissionsBoundary" not in sim.iam.get_role(RoleName="one")["Role"]
    with refused("NoSuchEntity"):
        sim.iam.put_role_permissions_boundary(RoleName="one", PermissionsBoundary=missing)
    sim.iam.put_role_permissions_boundary(RoleName="one", PermissionsBoundary=known)
    assert sim.iam.get_role(RoleName="one")["Role"]["PermissionsBoundary"] == shown


def test_the_actions_that_know_tags_are_served() -> None:
    for service, actions in tag_conditions.BY_ACTION.items():
        assert actions <= set(OPERATIONS[service])


def test_the_lifecycle_of_a_bucket_has_a_permission_of_another_name(sim: Any) -> None:
    sim.s3.create_bucket(Bucket="mine")
    actions = ["s3:PutLifecycleConfiguration", "s3:GetLifecycleConfiguration"]
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}
    s3 = _client(sim, "s3", _session(sim, allowed))
    rule = {"ID": "a", "Status": "Enabled", "Filter": {"Prefix": "x/"}, "Expiration": {"Days": 1}}
    s3.put_bucket_lifecycle_configuration(Bucket="mine", LifecycleConfiguration={"Rules": [rule]})
    assert s3.get_bucket_lifecycle_configuration(Bucket="mine")["Rules"][0]["ID"] == "a"
    s3.delete_bucket_lifecycle(Bucket="mine")


def test_session_policies_must_fit_when_they_are_packed(make_sim: Any) -> None:
    sim = make_sim(assumptions=Assumptions(packed_policy_characters=100))
    arn = sim.role()
    short = json.dumps({"Version": "2012-10-17", "Statement": []})
    sim.sts.assume_role(RoleArn=arn, RoleSessionName="one", Policy=short)
    managed = [{"arn": f"arn:aws:iam::{ACCOUNT}:policy/with-a-name"}]
    with refused("PackedPolicyTooLarge"):
        sim.sts.assume_role(RoleArn=arn, RoleSessionName="one", Policy=short + " " * 20, PolicyArns=managed)


def test_everybody_may_ask_who_they_are(sim: Any) -> None:
    """The same is in the text of each refusal."""
    denied = {"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}
    assert _client(sim, "sts", _session(sim, denied)).get_caller_identity()["Account"] == ACCOUNT


def test_a_role_without_policies_may_nothing_and_tags_of_a_request_can_be_demanded(sim: Any) -> None:
    arn = sim.role("bare")
    session = sim.sts.assume_role(RoleArn=arn, RoleSessionName="one")["Credentials"]
    ec2 = _client(sim, "ec2", session)
    with refused("UnauthorizedOperation"):
        ec2.describe_vpcs()
    statement = {"Effect": "Allow", "Action": "ec2:*", "Resource": "*",
                 "Condition": {"StringEquals": {"aws:RequestTag/owner": "me"}}}  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    sim.iam.put_role_policy(RoleName="bare", PolicyName="p", PolicyDocument=document)
    with refused("UnauthorizedOperation"):
        ec2.create_vpc(CidrBlock="10.0.0.0/16")
    ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=tagged("vpc", owner="me"))


def test_sessions_end_and_need_their_token(sim: Any) -> None:
    session = _session(sim)
    with refused("AuthFailure"):
        sim.client("ec2", key=session["AccessKeyId"], token="wrong").describe_vpcs()
    sim.cloud.data["sessions"][session["AccessKeyId"]]["expires"] = 0
    with refused("RequestExpired"):
        _client(sim, "ec2", session).describe_vpcs()
    with refused("ExpiredTokenException"):
        _client(sim, "resourcegroupstaggingapi", session).get_resources()


@pytest.mark.parametrize(
    ("policy", "code"),
    [("{", "MalformedPolicyDocument"), ('{"Statement": [{"Effect": "Maybe"}]}', "MalformedPolicyDocument"),
     (json.dumps({"Statement": []}) + " " * 2048, "PackedPolicyTooLarge")],
    ids=["not JSON", "no such effect", "too long"],
)  # fmt: skip
def test_session_policies_are_checked(sim: Any, policy: str, code: str) -> None:
    with refused(code):
        sim.sts.assume_role(RoleArn=sim.role(), RoleSessionName="one", Policy=policy)


def test_a_condition_that_is_not_known_is_refused_and_not_ignored(sim: Any) -> None:
    statement = {"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": {"DateLessThan": {"a": "b"}}}
    with refused("MalformedPolicyDocument"):
        sim.sts.assume_role(
            RoleArn=sim.role(), RoleSessionName="one", Policy=json.dumps({"Statement": [statement]})
        )  # fmt: skip


def test_a_role_goes_after_its_policies_and_profiles(sim: Any) -> None:
    sim.role("r")
    with refused("EntityAlreadyExists"):
        sim.role("r")
    policy = sim.iam.create_policy(PolicyName="p", PolicyDocument=json.dumps(OWN_ONLY))["Policy"]["Arn"]
    sim.iam.attach_role_policy(RoleName="r", PolicyArn=policy)
    sim.iam.put_role_policy(RoleName="r", PolicyName="inline", PolicyDocument=json.dumps(OWN_ONLY))
    sim.iam.create_instance_profile(InstanceProfileName="i")
    sim.iam.add_role_to_instance_profile(InstanceProfileName="i", RoleName="r")
    with refused("LimitExceeded"):
        sim.iam.add_role_to_instance_profile(InstanceProfileName="i", RoleName="r")
    for clear in (
        lambda: sim.iam.remove_role_from_instance_profile(InstanceProfileName="i", RoleName="r"),
        lambda: sim.iam.detach_role_policy(RoleName="r", PolicyArn=policy),
        lambda: sim.iam.delete_role_policy(RoleName="r", PolicyName="inline"),
    ):
        with refused("DeleteConflict"):
            sim.iam.delete_role(RoleName="r")
        clear()
    sim.iam.delete_role(RoleName="r")
    for gone in (
        lambda: sim.iam.get_role(RoleName="r"),
        lambda: sim.iam.delete_role(RoleName="r"),
        lambda: sim.iam.get_instance_profile(InstanceProfileName="none"),
        lambda: sim.iam.attach_role_policy(RoleName="r", PolicyArn=policy),
    ):
        with refused("NoSuchEntity"):
            gone()
    sim.iam.delete_policy(PolicyArn=policy)
    sim.iam.delete_instance_profile(InstanceProfileName="i")
    assert sim.cloud.resources() == []


def test_an_attached_policy_and_a_full_profile_are_not_deleted(sim: Any) -> None:
    sim.role("r")
    policy = sim.iam.create_policy(PolicyName="p", PolicyDocument=json.dumps(OWN_ONLY))["Policy"]["Arn"]
    sim.iam.attach_role_policy(RoleName="r", PolicyArn=policy)
    with refused("DeleteConflict"):
        sim.iam.delete_policy(PolicyArn=policy)
    sim.iam.create_instance_profile(InstanceProfileName="i")
    sim.iam.add_role_to_instance_profile(InstanceProfileName="i", RoleName="r")
    with refused("DeleteConflict"):
        sim.iam.delete_instance_profile(InstanceProfileName="i")
    assert sim.iam.list_attached_role_policies(RoleName="r")["AttachedPolicies"][0]["PolicyArn"] == policy
    assert len(sim.iam.list_instance_profiles_for_role(RoleName="r")["InstanceProfiles"]) == 1
    with refused("MalformedPolicyDocument"):
        sim.iam.create_role(RoleName="x", AssumeRolePolicyDocument="{")
    assert json.loads(TRUST) == sim.iam.get_role(RoleName="r")["Role"]["AssumeRolePolicyDocument"]


def test_a_prepared_account_has_the_profiles_of_clusterawsadm_with_their_roles(sim: Any) -> None:
    sim.cloud.prepare()
    for name in cluster_api.PROFILES:
        profile = sim.iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]
        assert [role["RoleName"] for role in profile["Roles"]] == [name]
    assert sim.iam.get_role(RoleName=cluster_api.EKS_ROLE)["Role"]
