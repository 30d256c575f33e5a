"""The bucket of an AWSCluster follows its spec."""

from __future__ import annotations

import json

import boto3
from botocore.config import Config

from freehold_sim.mount import mount_client
from harness.aws_account import REGION
from harness.aws_cluster import STORAGE, AwsHarness, aws_cluster
from harness.aws_network import changes, planned

BUCKET = {"name": "boot", "controlPlaneIAMInstanceProfile": "cp", "nodesIAMInstanceProfiles": ["old"]}


def statements(harness: AwsHarness) -> set[str]:
    client = boto3.Session("AKIASIMULATED0000001", "secret").client(
        "s3", region_name=REGION, config=Config(retries={"mode": "standard", "total_max_attempts": 1})
    )
    mount_client(client, harness.cloud)
    policy = json.loads(client.get_bucket_policy(Bucket=BUCKET["name"])["Policy"])
    return {each["Sid"] for each in policy["Statement"]}


def test_a_profile_that_the_spec_names_no_more_may_not_read_the_bucket_any_more() -> None:
    harness = AwsHarness(aws_cluster(s3Bucket=BUCKET), gates=STORAGE)
    harness.up()
    assert statements(harness) == {"ForceSSLOnlyAccess", "control-plane", "old"}
    harness.for_a_while(3600)
    assert [call.operation for call in harness.calls(mutating=True)].count("s3.PutBucketPolicy") == 1
    harness.object.patch({"spec": {"s3Bucket": {"nodesIAMInstanceProfiles": ["new"]}}})
    assert [row.kind for row in changes(planned(harness))] == ["s3-bucket"]
    harness.for_a_while(1200)
    assert statements(harness) == {"ForceSSLOnlyAccess", "control-plane", "new"}
    assert harness.ready()
