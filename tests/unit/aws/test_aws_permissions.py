"""Policies are generated from the operations in use, and a session policy keeps deletes to one owner's resources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from freehold.engine.keyed_codec import UUID as OWNER_UUID
from freehold.providers.aws.identities import AssumedRole
from freehold.providers.aws.kind_facts import KINDS, NOT_SENT
from freehold.providers.aws.permissions import policies as permissions
from freehold.providers.aws.permissions import policy_files
from harness.aws_account import KEYS, AwsAccount

UUID, OTHER_UUID = "0d0f1e2a-1111-4222-8333-444455556666", "0d0f1e2a-1111-4222-8333-444455557777"


def _actions(policy: dict[str, Any]) -> list[str]:
    return [action for statement in policy["Statement"] for action in statement["Action"]]


def test_no_policy_allows_what_nothing_causes() -> None:
    """That the rest is used: tests/scenario/test_scenario_aws_policies.py."""
    unsent = {
        permissions.iam_action(kind.service, name) for kind in KINDS for name in kind.write_operations & NOT_SENT.keys()
    }
    granted = [permissions.reader_policy(), permissions.creator_policy(), permissions.deleter_policy()]
    assert len(unsent) == 5, "PutBucketLifecycleConfiguration and DeleteBucketLifecycle have one permission"
    assert unsent.isdisjoint(action for policy in granted for action in _actions(policy))
    for policy in granted:
        grants = [(action, str(each.get("Condition"))) for each in policy["Statement"] for action in each["Action"]]
        assert len(set(grants)) == len(grants)


def test_a_reader_changes_nothing_and_a_creator_deletes_no_resource() -> None:
    verbs = ("Describe", "Get", "List", "AssumeRole")
    assert all(action.partition(":")[2].startswith(verbs) for action in _actions(permissions.reader_policy()))
    assert set(_actions(permissions.creator_policy())).isdisjoint(_actions(permissions.deleter_policy()))


@pytest.mark.parametrize(
    ("service", "operation", "action"),
    [
        ("ec2", "CreateVpc", "ec2:CreateVpc"),
        ("elbv2", "CreateListener", "elasticloadbalancing:CreateListener"),
        ("resourcegroupstaggingapi", "TagResources", "tag:TagResources"),
        ("s3", "ListObjectsV2", "s3:ListBucket"),
        ("s3", "DeleteBucketLifecycle", "s3:PutLifecycleConfiguration"),
        ("s3", "DeleteBucket", "s3:DeleteBucket"),
    ],
)
def test_the_permission_of_an_operation(service: str, operation: str, action: str) -> None:
    assert permissions.iam_action(service, operation) == action


def test_the_policy_files_are_those_of_today_and_fit_into_managed_policies() -> None:
    """At most 6,144 characters without white space (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html)."""
    assert policy_files.find_stale(Path(__file__).parents[3] / policy_files.DIRECTORY) == ()
    assert max(len("".join(text.split())) for text in policy_files.render_files().values()) <= 6144


async def test_a_creator_may_make_the_first_load_balancer_and_a_bucket_with_tags(account: AwsAccount) -> None:
    """What a call needs beside the permission of its name: the role of the service, and the right to tag."""
    account.role("creator")
    arn = account.iam.get_role(RoleName="creator")["Role"]["Arn"]
    documents = {"creates": permissions.creator_policy(), "reads": permissions.reader_policy()}
    for name, document in documents.items():
        account.iam.put_role_policy(RoleName="creator", PolicyName=name, PolicyDocument=json.dumps(document))
    api = account.session_of(AssumedRole(arn, KEYS))
    _, subnets = account.network()
    port = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
    tags = [{"Key": OWNER_UUID, "Value": UUID}]
    await api.write(
        "elb", "create_load_balancer", "a", LoadBalancerName="a", Listeners=[port], Subnets=subnets[:1], Tags=tags
    )
    await api.write("s3", "create_bucket", "boot", Bucket="boot", CreateBucketConfiguration={"Tags": tags})
    account.clock.advance(60)
    failed = await api.write(
        "resourcegroupstaggingapi", "tag_resources", "boot", ResourceARNList=["arn:aws:s3:::boot"], Tags={"a": "b"}
    )
    assert not failed.get("FailedResourcesMap")
