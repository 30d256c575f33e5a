"""S3, SSM parameters and secrets."""

from typing import Any

from harness.simulated_aws import OTHER_KEY, refused


def test_bucket_names_are_shared_by_all_accounts(sim: Any) -> None:
    sim.s3.create_bucket(Bucket="shared")
    sim.s3.create_bucket(Bucket="shared")  # us-east-1 answers 200 for a bucket of one's own
    with refused("BucketAlreadyExists"):
        sim.client("s3", key=OTHER_KEY).create_bucket(Bucket="shared")
    west = sim.client("s3", region="eu-west-1")
    place = {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}
    west.create_bucket(Bucket="west", **place)
    with refused("BucketAlreadyOwnedByYou"):
        west.create_bucket(Bucket="west", **place)
    with refused("IllegalLocationConstraintException"):
        sim.s3.create_bucket(Bucket="third", **place)
    with refused("InvalidBucketName"):
        sim.s3.create_bucket(Bucket="Capital")
    assert [row["Name"] for row in sim.s3.list_buckets()["Buckets"]] == ["shared", "west"]
    assert west.get_bucket_location(Bucket="west")["LocationConstraint"] == "eu-west-1"


def test_a_bucket_goes_after_its_objects(sim: Any) -> None:
    sim.s3.create_bucket(Bucket="bucket")
    sim.s3.put_object(Bucket="bucket", Key="a/b", Body=b"hello \xff", ContentType="text/plain", Metadata={"a": "b"})
    with refused("BucketNotEmpty"):
        sim.s3.delete_bucket(Bucket="bucket")
    got = sim.s3.get_object(Bucket="bucket", Key="a/b")
    assert (got["Body"].read(), got["ContentType"], got["ContentLength"]) == (b"hello \xff", "text/plain", 7)
    assert got["Metadata"] == {"a": "b"}
    sim.s3.put_object(Bucket="bucket", Key="a/+ ü")
    rows = sim.s3.list_objects_v2(Bucket="bucket", Prefix="a/")["Contents"]
    assert [row["Key"] for row in rows] == ["a/+ ü", "a/b"]
    sim.s3.delete_object(Bucket="bucket", Key="a/+ ü")
    sim.s3.delete_object(Bucket="bucket", Key="a/b")
    with refused("NoSuchKey"):
        sim.s3.get_object(Bucket="bucket", Key="a/b")
    sim.s3.delete_bucket(Bucket="bucket")
    with refused("NoSuchBucket"):
        sim.s3.delete_bucket(Bucket="bucket")
    with refused("404"):
        sim.s3.head_bucket(Bucket="bucket")


def test_what_belongs_to_a_bucket(sim: Any) -> None:
    sim.s3.create_bucket(Bucket="bucket")
    for read, code in (
        (sim.s3.get_bucket_tagging, "NoSuchTagSet"),
        (sim.s3.get_bucket_policy, "NoSuchBucketPolicy"),
        (sim.s3.get_public_access_block, "NoSuchPublicAccessBlockConfiguration"),
        (sim.s3.get_bucket_lifecycle_configuration, "NoSuchLifecycleConfiguration"),
    ):
        with refused(code):
            read(Bucket="bucket")
    sim.s3.put_bucket_tagging(Bucket="bucket", Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    sim.s3.put_bucket_policy(Bucket="bucket", Policy='{"Version": "2012-10-17", "Statement": []}')
    block = {"BlockPublicAcls": True, "IgnorePublicAcls": True}
    sim.s3.put_public_access_block(Bucket="bucket", PublicAccessBlockConfiguration=block)
    rule = {"ID": "old", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}
    sim.s3.put_bucket_lifecycle_configuration(Bucket="bucket", LifecycleConfiguration={"Rules": [rule]})
    assert sim.s3.get_bucket_tagging(Bucket="bucket")["TagSet"] == [{"Key": "a", "Value": "b"}]
    assert sim.s3.get_public_access_block(Bucket="bucket")["PublicAccessBlockConfiguration"] == block
    assert sim.s3.get_bucket_lifecycle_configuration(Bucket="bucket")["Rules"] == [rule]
    with refused("MalformedPolicy"):
        sim.s3.put_bucket_policy(Bucket="bucket", Policy="{")
    with refused("AccessDenied"):
        sim.client("s3", key=OTHER_KEY).get_bucket_policy(Bucket="bucket")


def test_parameters_name_images_that_exist(sim: Any) -> None:
    name = "/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id"
    image = sim.ssm.get_parameter(Name=name)["Parameter"]["Value"]
    assert sim.ec2.describe_images(ImageIds=[image])["Images"][0]["State"] == "available"
    with refused("ParameterNotFound"):
        sim.ssm.get_parameter(Name="/none")


def test_secrets_have_versions(sim: Any) -> None:
    sim.secretsmanager.create_secret(Name="s", SecretBinary=b"\x00\xff")
    assert sim.secretsmanager.get_secret_value(SecretId="s")["SecretBinary"] == b"\x00\xff"
    put = sim.secretsmanager.put_secret_value(SecretId="s", SecretString="new")
    assert sim.secretsmanager.get_secret_value(SecretId=put["ARN"])["SecretString"] == "new"
    sim.secretsmanager.tag_resource(SecretId="s", Tags=[{"Key": "a", "Value": "b"}])
    assert sim.secretsmanager.describe_secret(SecretId="s")["Tags"] == [{"Key": "a", "Value": "b"}]
    for days in (6, 31):
        with refused("InvalidParameterException"):
            sim.secretsmanager.delete_secret(SecretId="s", RecoveryWindowInDays=days)
