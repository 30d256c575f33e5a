"""``deletionPolicy: Remove`` where the spec, or the object, does not say any more where the tags are."""

from __future__ import annotations

import json

import pytest

from freehold.api import names
from freehold.kube.resources import Key
from harness.metadata import CLASSIFIER, NAMESPACE, WANTED, Lab
from harness.simulated_aws import tagged

REMOVE = {"deletionPolicy": "Remove"}
BUCKET = "arn:aws:s3:::shop"


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _at_work(lab: Lab, **spec: object) -> None:
    await lab.tags("awstags", WANTED, **spec)
    await lab.cloud("metadata", "awstags")
    await lab.settle()


def _is_there(lab: Lab) -> bool:
    return ("AWSMetadata", Key(NAMESPACE, "awstags")) in lab.objects.objects


def _vpc(lab: Lab, region: str) -> str:
    request = {"CidrBlock": "10.0.0.0/16", "TagSpecifications": tagged("vpc", **{CLASSIFIER: "owned"})}
    return str(lab.account.cloud.strangers.create("ec2", "CreateVpc", request, region=region)["arn"])


def _bucket(lab: Lab, region: str = "") -> None:
    where = {"CreateBucketConfiguration": {"LocationConstraint": region}} if region else {}
    lab.account.cloud.strangers.create("s3", "CreateBucket", {"Bucket": "shop", **where})
    lab.account.cloud.strangers.tag(BUCKET, {CLASSIFIER: "owned"})
    lab.wait(60)


def _role(lab: Lab) -> str:
    """Of another account."""
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    made = lab.account.cloud.strangers.create(
        "iam", "CreateRole", {"RoleName": "tagger", "AssumeRolePolicyDocument": trust}, account="444455556666"
    )
    return str(made["arn"])


async def test_a24_what_is_in_a_region_that_left_the_spec_keeps_the_object_with_the_way_out(lab: Lab) -> None:
    """Another region shows no tags of it: that is not how it looks when it is gone."""
    (here,) = lab.groups(1)
    there = _vpc(lab, "eu-west-1")
    lab.wait(60)
    await _at_work(lab, regions=["us-east-1", "eu-west-1"], **REMOVE)
    await lab.edit("AWSMetadata", "awstags", {"regions": ["us-east-1"]})
    lab.wait()
    await lab.settle()
    await lab.remove("awstags")
    assert _is_there(lab) and lab.tags_on(here) == {CLASSIFIER: "owned"}
    status, reason, message = lab.condition("Request", "AWSMetadata", "awstags")
    assert (status, reason) == ("False", "NotInSpec")
    assert there in message and "spec.deletionPolicy: Retain, and the tags stay" in message
    await lab.edit("AWSMetadata", "awstags", {"regions": ["eu-west-1"]})
    await lab.let_go("awstags")
    assert not _is_there(lab) and lab.tags_on(there) == {CLASSIFIER: "owned"}


async def test_a24_what_is_in_another_account_keeps_the_object(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await _at_work(lab, **REMOVE)
    await lab.edit("AWSMetadata", "awstags", {"role": {"arn": _role(lab)}})
    lab.wait()
    await lab.settle()
    await lab.remove("awstags")
    assert _is_there(lab) and arn in lab.condition("Request", "AWSMetadata", "awstags")[2]
    await lab.edit("AWSMetadata", "awstags", {"deletionPolicy": "Retain"})
    await lab.let_go("awstags")
    assert not _is_there(lab) and lab.tags_on(arn)["env"] == "test"


async def test_a24_an_object_whose_annotation_somebody_took_off_is_judged_by_the_record(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await _at_work(lab, **REMOVE)
    del lab.object("AWSMetadata", "awstags")["metadata"]["annotations"][names.TAGS_WRITER_ANNOTATION]
    await lab.remove("awstags")
    assert not _is_there(lab) and lab.tags_on(arn) == {CLASSIFIER: "owned"}


async def test_a24_an_annotation_that_somebody_took_off_is_put_on_again(lab: Lab) -> None:
    """Without any it would not be known that there was a record."""
    lab.groups(1)
    await _at_work(lab)
    annotations = lab.object("AWSMetadata", "awstags")["metadata"]["annotations"]
    had = annotations.pop(names.TAGS_WRITER_ANNOTATION)
    lab.wait()
    await lab.settle()
    assert lab.object("AWSMetadata", "awstags")["metadata"]["annotations"][names.TAGS_WRITER_ANNOTATION] == had


async def test_a24_remove_that_is_set_after_the_cloud_metadata_went_holds_the_object(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await _at_work(lab)
    await lab.delete("CloudMetadata", "metadata")
    await lab.edit("AWSMetadata", "awstags", REMOVE)
    await lab.let_go("awstags")
    assert lab.object("AWSMetadata", "awstags")["metadata"]["finalizers"] == [names.TAGS_FINALIZER]
    await lab.remove("awstags")
    assert not _is_there(lab) and lab.tags_on(arn) == {CLASSIFIER: "owned"}


async def test_a24_remove_that_is_set_while_the_cloud_metadata_is_refused_holds_the_object(lab: Lab) -> None:
    lab.groups(1)
    await _at_work(lab)
    await lab.edit("AWSMetadata", "awstags", {"opcode": "nonsense", **REMOVE})
    await lab.let_go("awstags")
    assert lab.object("AWSMetadata", "awstags")["metadata"]["finalizers"] == [names.TAGS_FINALIZER]
    await lab.edit("AWSMetadata", "awstags", {"deletionPolicy": "Retain"})
    await lab.let_go("awstags")
    assert not lab.object("AWSMetadata", "awstags")["metadata"].get("finalizers")


async def test_a24_a_bucket_whose_region_left_the_spec_keeps_the_object(lab: Lab) -> None:
    """Its id does not say where it is: the record does."""
    _bucket(lab)
    await _at_work(lab, regions=["us-east-1"], **REMOVE)
    await lab.edit("AWSMetadata", "awstags", {"regions": ["eu-west-1"]})
    await lab.remove("awstags")
    assert _is_there(lab) and BUCKET in lab.condition("Request", "AWSMetadata", "awstags")[2]
    await lab.edit("AWSMetadata", "awstags", {"regions": ["us-east-1", "eu-west-1"]})
    await lab.let_go("awstags")
    assert not _is_there(lab) and lab.tags_on(BUCKET) == {CLASSIFIER: "owned"}


async def test_a23_a_bucket_that_lost_its_classifier_is_counted_as_released(lab: Lab) -> None:
    _bucket(lab)
    await _at_work(lab)
    lab.somebody_strips(BUCKET, CLASSIFIER)
    lab.wait()
    await lab.settle()
    assert "1 resource lost the classifier" in lab.condition("Applied")[2]


async def test_a13_a_bucket_that_went_is_forgotten_and_another_ones_value_is_foreign(lab: Lab) -> None:
    """Somebody else may make a bucket of that name."""
    _bucket(lab)
    await _at_work(lab, opcode="add")
    lab.account.cloud.strangers.call("s3", "DeleteBucket", {"Bucket": "shop"})
    lab.wait(3600)
    await lab.settle()
    _bucket(lab)
    lab.somebody_sets(BUCKET, env="theirs")
    lab.wait(3600)
    await lab.settle()
    assert lab.tags_on(BUCKET)["env"] == "theirs"
    assert lab.condition("Policy")[1] == "TagExists"


async def test_a_bucket_of_an_earlier_record_is_placed_when_it_is_seen(lab: Lab) -> None:
    """Records of an earlier version do not say where a bucket is. Once written, it costs nothing more."""
    _bucket(lab)
    await _at_work(lab)
    record, ring = lab.means.record, lab.rings.ring
    known = await record.load(ring, begun=True)
    entries, place = known.find_record(BUCKET), known.place(BUCKET)
    known = await record.save(known, {BUCKET: {}}, ring)
    await record.save(known, {BUCKET: entries}, ring)
    assert (await record.load(ring, begun=True)).place(BUCKET) == ""
    lab.wait()
    await lab.settle()
    assert (await record.load(ring, begun=True)).place(BUCKET) == place != ""
    lab.wait()
    lab.objects.written.clear()
    await lab.settle()
    assert lab.objects.written == []
