"""What a metadata object may ask for: operations, limits, bad input, approvals, accounts and regions."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import Journal
from freehold.engine.keyed_codec import UUID as OWNER_UUID
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner
from freehold.kube import errors as kube
from freehold.kube.resources import Key
from harness.metadata import CLASSIFIER, WANTED, Lab
from harness.simulated_aws import OTHER_ACCOUNT, tagged

UUID = "0d0f1e2a-1111-4222-8333-444455556666"


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def test_a30_delete_removes_a_listed_key_whoever_wrote_it(lab: Lab) -> None:
    (arn,) = lab.groups(1, old="theirs", keep="theirs")
    await lab.tags("tags", {"old": "", "keep": "another value"}, opcode="delete")
    await lab.cloud("metadata", "tags")
    await lab.work()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "keep": "theirs"}
    assert lab.condition("Policy")[:2] == ("False", "ValueDiffers")


async def test_a15_a_list_of_exact_tags_deletes_only_what_has_the_value(lab: Lab) -> None:
    """In a map an empty value is any value, so the empty one needs a spelling of its own."""
    empty, full = lab.groups(2)
    lab.somebody_sets(empty, old="", team="red")
    lab.somebody_sets(full, old="kept", team="blue")
    lab.wait()
    await lab.tags(
        "tags", {}, opcode="delete", exactTags=[{"key": "old", "value": ""}, {"key": "team", "value": "red"}]
    )
    await lab.cloud("metadata", "tags")
    await lab.settle()
    assert lab.tags_on(empty) == {CLASSIFIER: "owned"}
    assert lab.tags_on(full) == {CLASSIFIER: "owned", "old": "kept", "team": "blue"}


@pytest.mark.parametrize("field", [{"tagkeys": ["a"]}, {"exactTags": [{"key": "a", "value": "b"}]}], ids=str)
async def test_a15_what_can_only_be_deleted_is_refused_elsewhere(lab: Lab, field: dict[str, Any]) -> None:
    lab.groups(1)
    await lab.tags("tags", {"env": "test"}, **field)
    await lab.cloud("metadata", "tags")
    await lab.work()
    status, reason, message = lab.condition("Ready")
    assert (status, reason) == ("False", "InvalidTags") and f"spec.{next(iter(field))}" in message
    assert lab.writes() == []


async def test_a13_add_leaves_what_is_there_and_says_so(lab: Lab) -> None:
    """Each pass again, and what add wrote itself is no conflict."""
    ours = lab.groups(2)
    lab.somebody_sets(ours[0], env="theirs")
    lab.wait()
    await lab.tags("tags", {"env": "test"}, opcode="Add")
    await lab.cloud("metadata", "tags")
    for _ in range(2):
        await lab.work()
        assert [lab.tags_on(arn)["env"] for arn in ours] == ["theirs", "test"]
        assert lab.condition("Policy")[:2] == ("False", "TagExists")
        assert ours[0] in lab.condition("Policy")[2] and ours[1] not in lab.condition("Policy")[2]
        lab.wait()


@pytest.mark.parametrize(
    ("tags", "told"),
    [({CLASSIFIER: "x"}, "protected"), ({"aws:x": "y"}, "reserved by AWS"), ({"a": "b" * 257}, "at most 256")],
    ids=["A22 the classifier", "a reserved key", "257 characters"],
)
async def test_bad_tags_are_refused_without_a_call(lab: Lab, tags: dict[str, str], told: str) -> None:
    """Where the API server checks no schema, as where it does."""
    lab.groups(1)
    await lab.tags("tags", tags)
    await lab.cloud("metadata", "tags")
    await lab.work()
    assert lab.sent() == []
    for kind, name in (("CloudMetadata", "metadata"), ("AWSMetadata", "tags")):
        status, reason, message = lab.condition("Approved", kind, name)
        assert (status, reason) == ("False", "InvalidTags")
        assert told in message


async def test_many_foreign_values_wait_for_an_approval() -> None:
    """Additions wait for nobody."""
    lab = Lab(approve_above=1)
    ours = lab.groups(3)
    for arn in ours[:2]:
        lab.somebody_sets(arn, env="theirs")
    lab.wait()
    await lab.apply_examples()
    await lab.work()
    assert [lab.tags_on(arn)["env"] for arn in ours] == ["theirs", "theirs", "test"]
    status, reason, message = lab.condition("Approved")
    assert (status, reason) == ("False", "ApprovalNeeded")
    (digest,) = re.findall(r"\b[0-9a-f]{64}\b", message)
    metadata = {"annotations": {"freehold.dev/approve-tags": digest}}
    lab.object("CloudMetadata", "metadata")["metadata"] |= metadata
    lab.wait()
    await lab.settle()
    assert [lab.tags_on(arn)["env"] for arn in ours] == ["test", "test", "test"]


async def test_two_hundred_resources_take_one_call_and_then_none(lab: Lab) -> None:
    ours = lab.groups(200)
    await lab.apply_examples()
    await lab.settle()
    found = lab.sent()
    assert found.count("ec2.create_tags") == 1
    assert found.count("resourcegroupstaggingapi.get_resources") == 2, "pages of 100"
    assert found.count("ec2.describe_tags") <= 2
    assert all(lab.tags_on(arn)["env"] == "test" for arn in ours)
    lab.wait()
    lab.sent()
    await lab.work()
    assert lab.sent() == ["resourcegroupstaggingapi.get_resources"] * 2


async def test_secrets_are_tagged_twenty_in_a_call_and_read_only_where_something_would_be_lost(lab: Lab) -> None:
    """Each read of one costs a call."""
    ours = lab.secrets(45)
    lab.somebody_sets(ours[7], env="theirs")
    lab.wait()
    await lab.apply_examples()
    await lab.settle()
    found = lab.sent()
    assert found.count("resourcegroupstaggingapi.tag_resources") == 3
    assert found.count("secretsmanager.describe_secret") == 1
    assert all(lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED} for arn in ours)
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    assert lab.writes().count("resourcegroupstaggingapi.untag_resources") == 3
    assert all(lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test"} for arn in ours)


async def test_a29_a_role_with_an_external_id_is_assumed_and_no_key_is_in_a_spec(lab: Lab) -> None:
    """In the account of the role, and in the region that is named, only there."""
    strangers, place = lab.account.cloud.strangers, {"account": OTHER_ACCOUNT, "region": "eu-west-1"}
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*",
                "Condition": {"StringEquals": {"sts:ExternalId": "of the test"}},
            }
        ],
    }  # fmt: skip
    request = {"RoleName": "tagger", "AssumeRolePolicyDocument": json.dumps(trust)}
    role = strangers.create("iam", "CreateRole", request, account=OTHER_ACCOUNT)["arn"]
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    policy = {"RoleName": "tagger", "PolicyName": "all", "PolicyDocument": json.dumps(allowed)}
    strangers.call("iam", "PutRolePolicy", policy, account=OTHER_ACCOUNT)
    wanted = {"CidrBlock": "10.0.0.0/16", "TagSpecifications": tagged("vpc", **{CLASSIFIER: "owned"})}
    there = str(strangers.create("ec2", "CreateVpc", wanted, **place)["arn"])
    (here,) = lab.groups(1)
    await lab.tags("tags", WANTED, regions=["eu-west-1"], role={"arn": role, "externalID": "of the test"})
    await lab.cloud("metadata", "tags")
    await lab.settle()
    assert lab.tags_on(there) == {CLASSIFIER: "owned", **WANTED}
    assert lab.tags_on(here) == {CLASSIFIER: "owned"}
    await lab.edit("AWSMetadata", "tags", {"role": {"arn": role, "externalID": "guessed"}})
    lab.wait(4000)
    await lab.work()
    assert lab.condition("Request")[0] == "False"
    assert "guessed" not in str(lab.status())


async def test_an_annotation_that_was_copied_from_another_object_says_nothing(lab: Lab) -> None:
    """Whoever may edit one object could remove what was written for another one."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.delete("CloudMetadata", "metadata")
    await lab.tags("thief", {"team": "x"})
    copied = lab.object("AWSMetadata", "awstags")["metadata"]["annotations"][names.TAGS_WRITER_ANNOTATION]
    lab.object("AWSMetadata", "thief")["metadata"]["annotations"] = {names.TAGS_WRITER_ANNOTATION: copied}
    await lab.cloud("thief", "thief")
    lab.wait()
    await lab.settle("thief")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "team": "x", **WANTED}


async def test_what_an_older_object_of_another_account_asks_for_is_no_conflict(lab: Lab) -> None:
    """It never acts here: its wish would keep ours from being done by anybody."""
    (arn,) = lab.groups(1)
    await lab.tags("elsewhere", {"env": "theirs"}, role={"arn": f"arn:aws:iam::{OTHER_ACCOUNT}:role/none"})
    await lab.tags("other-region", {"env": "theirs"}, regions=["eu-west-1"])
    await lab.tags("tags", {"env": "test"})
    for name in ("elsewhere", "other-region", "tags"):
        await lab.cloud(name, name)
    await lab.settle("tags")
    assert lab.tags_on(arn)["env"] == "test"


async def test_a_key_that_the_ring_lacks_stops_every_write(lab: Lab) -> None:
    """The record may be that of another operator."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    lab.rings.ring = KeyRing.single(b"s" * 32)
    lab.somebody_strips(arn, "env")
    lab.wait()
    lab.sent()
    await lab.work()
    assert lab.writes() == []
    assert lab.condition("Ready")[:2] == ("False", "KeyMissing")


async def test_what_the_api_server_forbids_is_told_and_nothing_is_written(lab: Lab) -> None:
    """A person who looks at the object must see why its tags do not come."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()

    def refuse(verb: str, name: str) -> None:
        if name.startswith("freehold-tags"):
            raise kube.Forbidden("configmaps is forbidden")

    lab.objects.before = refuse
    await lab.work()
    assert lab.writes() == []
    assert lab.tags_on(arn) == {CLASSIFIER: "owned"}
    status, reason, message = lab.condition("Ready")
    assert (status, reason) == ("False", "Forbidden")
    assert "Grant the operator" in message
    lab.objects.before = lambda verb, name: None
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}


async def test_a18_a_key_that_a_cluster_asks_for_is_left_to_the_cluster(lab: Lab) -> None:
    """The engine and the metadata controller would set it back in turns."""
    (arn,) = lab.groups(1)
    lab.somebody_sets(arn, env="of the cluster", **{OWNER_UUID: UUID})
    lab.wait()
    journal = journals.dumps(Journal(Owner(UUID, "AWSCluster", "team", "prod")))
    metadata = {"name": "prod", "namespace": "team", "annotations": {names.JOURNAL_ANNOTATION: journal}}
    cluster = {"kind": "AWSCluster", "metadata": metadata, "spec": {"additionalTags": {"env": "of the cluster"}}}
    lab.objects.objects["AWSCluster", Key("team", "prod")] = cluster
    await lab.apply_examples()
    await lab.work()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", OWNER_UUID: UUID, "env": "of the cluster", "centre": "eng"}
    status, reason, message = lab.condition("Policy")
    assert (status, reason) == ("False", "Conflict")
    assert "AWSCluster team/prod" in message


@pytest.mark.parametrize(
    ("policy", "ready", "reason"),
    [("Skip", "True", "Skipped"), ("Fail", "False", "ForeignValue")],
    ids=["A11 skip", "A11 fail"],
)
async def test_a11_a_foreign_value_is_skipped_or_an_error_where_the_object_says_so(
    lab: Lab, policy: str, ready: str, reason: str
) -> None:
    """Also one that somebody set under a key of ours."""
    ours = lab.groups(2)
    lab.somebody_sets(ours[0], env="theirs")
    lab.wait()
    await lab.tags("tags", WANTED)
    await lab.cloud("metadata", "tags", controllerconfig={"foreignValues": policy})
    await lab.settle()
    lab.somebody_sets(ours[1], env="set since")
    lab.wait()
    await lab.settle()
    assert [lab.tags_on(arn)["env"] for arn in ours] == ["theirs", "set since"]
    assert all(lab.tags_on(arn)["centre"] == "eng" for arn in ours)
    assert lab.condition("Policy")[1] == reason
    assert lab.condition("Ready")[0] == ready


async def test_a_cloud_metadata_narrows_what_it_finds(lab: Lab) -> None:
    """By tags, kinds, regions and accounts; nothing of these finds anything by itself."""
    plain, blue, frozen = lab.group("plain", **{CLASSIFIER: "owned"}), lab.group("blue"), lab.group("frozen")
    lab.somebody_sets(blue, **{CLASSIFIER: "owned", "team": "blue"})
    lab.somebody_sets(frozen, **{CLASSIFIER: "owned", "team": "blue", "frozen": "yes"})
    lab.wait()
    await lab.tags("tags", WANTED)
    narrowed = {"matchAll": {"team": "blue"}, "notMatch": {"frozen": "yes"}, "kinds": ["ec2:security-group"]}
    for name, more, found in (
        ("here", {"regions": ["us-east-1"], "accounts": ["111122223333"]}, 1),
        ("elsewhere", {"regions": ["eu-west-1"]}, 0),
        ("other-account", {"accounts": [OTHER_ACCOUNT]}, 0),
        ("other-kind", {"kinds": ["ec2:volume"]}, 0),
    ):
        await lab.cloud(name, "tags", **{**narrowed, **more})
        await lab.settle(name)
        told = f"on {found} resource" if found else "no resource with these classifiers"
        assert told in lab.condition("Applied", name=name)[2], name
    assert [lab.tags_on(arn).get("env") for arn in (plain, blue, frozen)] == [None, "test", None]


async def test_a13_add_leaves_a_value_that_is_younger_than_the_index() -> None:
    """Of a service that is read one by one: the index does not show the value yet, the service does."""
    lab = Lab()
    (arn,) = lab.secrets(1)
    lab.wait()
    await lab.tags("tags", {"env": "ours"}, opcode="add")
    await lab.cloud("metadata", "tags")
    lab.somebody_sets(arn, env="theirs")
    await lab.work()
    assert lab.tags_on(arn)["env"] == "theirs"
    assert lab.condition("Policy")[1] == "TagExists"


@pytest.mark.parametrize("policy", ["Fail", "Skip"])
async def test_a_policy_that_leaves_foreign_values_leaves_one_that_is_younger_than_the_index(policy: str) -> None:
    lab = Lab()
    (arn,) = lab.secrets(1)
    lab.wait()
    await lab.tags("tags", {"env": "ours"})
    await lab.cloud("metadata", "tags", controllerconfig={"foreignValues": policy})
    lab.somebody_sets(arn, env="theirs")
    await lab.work()
    assert lab.tags_on(arn)["env"] == "theirs"
    assert lab.condition("Policy")[1] == ("ForeignValue" if policy == "Fail" else "Skipped")


async def test_add_passes_by_a_resource_whose_exemption_is_younger_than_the_index() -> None:
    lab = Lab()
    (arn,) = lab.secrets(1)
    lab.wait()
    await lab.tags("tags", {"env": "ours"}, opcode="add")
    await lab.cloud("metadata", "tags")
    lab.somebody_sets(arn, **{"freehold.dev/metadata": "ignore"})
    await lab.work()
    assert "env" not in lab.tags_on(arn)
