"""Object storage, called by the real ibm_boto3."""

from typing import Any

import ibm_boto3
import ibm_botocore
import pytest

from freehold_sim.faults import Effect, Fault
from freehold_sim.mount import mount_client


def s3(account: Any, instance: dict[str, Any]) -> Any:
    """Return a client with a fresh HMAC key of `instance`."""
    key = account.rc.create_resource_key("k", instance["guid"], parameters={"HMAC": True}).get_result()
    pair = key["credentials"]["cos_hmac_keys"]
    client = ibm_boto3.client(
        "s3",
        aws_access_key_id=pair["access_key_id"],
        aws_secret_access_key=pair["secret_access_key"],
        endpoint_url="http://ibm.sim/cos/us-south",
        region_name="us-south",
        config=ibm_botocore.client.Config(
            signature_version="s3v4", s3={"addressing_style": "path"}, retries={"max_attempts": 0}
        ),
    )
    mount_client(client, account.checked)
    return client


def code(call: Any, *arguments: Any, **fields: Any) -> str:
    with pytest.raises(ibm_botocore.exceptions.ClientError) as caught:
        call(*arguments, **fields)
    return str(caught.value.response["Error"]["Code"])


def make(client: Any, name: str = "ours") -> None:
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "us-south-smart"})


def test_bucket_and_object_from_beginning_to_end(account: Any) -> None:
    client = s3(account, account.a_cos())
    assert code(client.head_bucket, Bucket="ours") == "404"
    make(client)
    client.head_bucket(Bucket="ours")
    client.put_object(Bucket="ours", Key="a/b", Body=b"\x00\xffdata")
    assert client.get_object(Bucket="ours", Key="a/b")["Body"].read() == b"\x00\xffdata"
    assert client.head_object(Bucket="ours", Key="a/b")["ContentLength"] == 6
    assert [one["Key"] for one in client.list_objects_v2(Bucket="ours")["Contents"]] == ["a/b"]
    assert [one["Name"] for one in client.list_buckets()["Buckets"]] == ["ours"]
    assert code(client.delete_bucket, Bucket="ours") == "BucketNotEmpty"
    client.delete_object(Bucket="ours", Key="a/b")
    assert code(client.get_object, Bucket="ours", Key="a/b") == "NoSuchKey"
    client.delete_bucket(Bucket="ours")
    assert code(client.head_bucket, Bucket="ours") == "404"


def test_names_are_global_and_another_instance_is_forbidden(account: Any) -> None:
    first, second = s3(account, account.a_cos("one")), s3(account, account.a_cos("two"))
    make(first)
    assert code(make, first) == "BucketAlreadyOwnedByYou"
    assert code(make, second) == "BucketAlreadyExists"
    assert code(second.head_bucket, Bucket="ours") == "403"
    account.cloud.strangers.send("PUT", "/cos/us-south/theirs")
    assert code(first.head_bucket, Bucket="theirs") == "403"
    assert code(make, first, "theirs") == "BucketAlreadyExists"


def test_deleting_the_instance_deletes_its_buckets_after_reclamation(account: Any) -> None:
    cos = account.a_cos()
    client = s3(account, cos)
    make(client)
    account.rc.delete_resource_instance(cos["guid"], recursive=True)
    kinds = [row["kind"] for row in account.cloud.strangers.resources()]
    assert kinds == ["instance", "resource-key", "bucket", "reclamation"]
    account.clock.advance(7 * 86400)
    left = [(row["kind"], row["state"]) for row in account.cloud.strangers.resources()]
    assert left == [("instance", "removed"), ("resource-key", "removed")], "both stay readable"


def test_only_an_existing_instance_lists_its_buckets(account: Any) -> None:
    """Without the header 400 (ibm-cos-sdk-python#38), for another's or a deleted instance 403: never an empty list."""
    cos = account.a_cos()
    headers = {"Authorization": f"Bearer {account.token}"}

    def status(**more: str) -> int:
        return int(account.session.get("http://ibm.sim/cos/us-south", headers={**headers, **more}).status_code)

    assert status() == 400
    assert status(**{"ibm-service-instance-id": "nowhere"}) == 403
    assert status(**{"ibm-service-instance-id": cos["guid"]}) == 200
    account.rc.delete_resource_instance(cos["guid"], recursive=True)
    assert status(**{"ibm-service-instance-id": cos["guid"]}) == 403


@pytest.mark.parametrize(
    "header", ["x-amz-acl", "x-amz-meta-a", "x-amz-copy-source", "ibm-sse-kp-customer-root-key-crn"]
)
def test_headers_that_ask_for_more_are_refused(account: Any, header: str) -> None:
    headers = {"Authorization": f"Bearer {account.token}", "ibm-service-instance-id": account.a_cos()["guid"]}
    buckets = "http://ibm.sim/cos/us-south"
    assert account.session.put(f"{buckets}/ours", headers={**headers, header: "x"}).status_code == 501
    assert account.session.put(f"{buckets}/ours", headers=headers).status_code == 200
    assert account.session.put(f"{buckets}/ours/key", data=b"a", headers={**headers, header: "x"}).status_code == 501


def test_a_deleted_key_is_refused(account: Any) -> None:
    cos = account.a_cos()
    client = s3(account, cos)
    for key in account.rc.list_resource_keys().get_result()["resources"]:
        account.rc.delete_resource_key(key["guid"])
    assert code(client.list_buckets) == "InvalidAccessKeyId"


def test_a_bearer_token_works_with_the_instance_header(account: Any) -> None:
    cos = account.a_cos()
    headers = {"Authorization": f"Bearer {account.token}", "ibm-service-instance-id": cos["guid"]}
    url = "http://ibm.sim/cos/us-south/ours"
    assert account.session.put(url, headers=headers).status_code == 200
    assert account.session.head(url, headers=headers).status_code == 200
    del headers["ibm-service-instance-id"]
    assert account.session.put("http://ibm.sim/cos/us-south/more", headers=headers).status_code == 400


@pytest.mark.parametrize("name", ["Upper", "a", "a_b", "a" * 64])
def test_bucket_names(account: Any, name: str) -> None:
    client = s3(account, account.a_cos())
    with pytest.raises((ibm_botocore.exceptions.ClientError, ibm_botocore.exceptions.ParamValidationError)):
        make(client, name)


def test_faults_reach_object_storage(account: Any) -> None:
    client = s3(account, account.a_cos())
    account.cloud.faults.add(Fault(Effect.REPLY_LOST, "cos.create_bucket"))
    with pytest.raises(ibm_botocore.exceptions.ReadTimeoutError):
        make(client)
    assert code(make, client) == "BucketAlreadyOwnedByYou"
    account.cloud.faults.add(Fault(Effect.RESET, "cos.head_bucket"))
    with pytest.raises(ibm_botocore.exceptions.ConnectionClosedError):
        client.head_bucket(Bucket="ours")
