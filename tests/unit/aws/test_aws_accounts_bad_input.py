"""What cannot be served is said by ``freehold plan`` and by the condition Ready in the same words; nothing is made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.plan.plan import PlanAction
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.identities import AssumedRole, Identity, OwnCredentials, StaticKeys
from freehold_sim.aws.settings import Quotas, Settings
from harness.aws_account import REGION
from harness.aws_served import OWN, ServedAws

TWO = [
    {"id": "one", "availabilityZone": f"{REGION}a", "cidrBlock": "10.0.0.0/20", "isPublic": True},
    {"id": "two", "availabilityZone": f"{REGION}a", "cidrBlock": "10.0.8.0/20"},
]
NOWHERE = [{**TWO[0], "availabilityZone": f"{REGION}z"}]
STRANGERS = {"vpc": {"id": "vpc-0123456789abcdef0"}, "subnets": [{"id": "subnet-0123456789abcdef0"}]}
SPECS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no region": ({"region": "Frankfurt"}, names.REASON_INVALID_SPEC, "spec.region: 'Frankfurt' is no region of AWS"),
    "unknown region": ({"region": "eu-nowhere-9"}, "InvalidRequest", "spec.region: 'eu-nowhere-9' is no region that"),
    "another partition than the region's": (
        {"partition": "aws-cn"}, names.REASON_INVALID_SPEC,
        f"spec.partition: region '{REGION}' is in partition 'aws'; write that, or remove it",
    ),
    "unknown zone": ({"network": {"subnets": NOWHERE}}, names.REASON_INVALID_SPEC, "availabilityZone"),
    "ranges overlap": ({"network": {"subnets": TWO}}, names.REASON_INVALID_SPEC, "overlaps"),
    "no VPC of that id": ({"network": STRANGERS}, names.REASON_INVALID_SPEC, "spec.network.vpc.id"),
    "too many tags": (
        {"additionalTags": {f"k{n}": "v" for n in range(41)}}, names.REASON_INVALID_SPEC, "remove all but 40",
    ),
    "a key of AWS": ({"additionalTags": {"aws:team": "a"}}, names.REASON_INVALID_SPEC, "reserved by AWS"),
    "identity that is not there": (
        {"identityRef": {"kind": "AWSClusterStaticIdentity", "name": "gone"}}, names.REASON_NO_CREDENTIALS,
        "spec.identityRef: AWSClusterStaticIdentity gone does not exist",
    ),
    "identity for other namespaces": (
        {"identityRef": {"kind": "AWSClusterControllerIdentity", "name": "default"}}, names.REASON_NO_CREDENTIALS,
        "spec.identityRef: AWSClusterControllerIdentity default does not allow namespace team-a",
    ),
}  # fmt: skip


def _writes(served: ServedAws) -> list[str]:
    """The requests that change something, by operation."""
    return [call.operation for call in served.sim.cloud.calls if call.mutating and call.actor == "api"]


async def _said_by_plan(served: ServedAws, *rows: dict[str, Any]) -> None:
    """A plan says of what it would create what the last try met, in the words of the status, and since when."""
    planned = {(each.kind, each.name): each for each in (await served.plan()).rows if each.action is PlanAction.CREATE}
    for row in rows:
        met = f"the last try was refused ({row['reason']}, blocked since {row['since']}): {row['message']}"
        assert planned[row["kind"], row["name"]].reason.endswith(f"; {met}")


async def _refused(served: ServedAws, reason: str, sentence: str) -> None:
    """Both say it, and no request that changes something is sent."""
    plan = await served.plan()
    assert sentence in " ".join((*plan.problems, *plan.unanswered)), plan
    for _ in range(3):
        served.later(await served.once())
    ready = served.condition(names.READY)
    assert (ready["status"], ready["reason"]) == ("False", reason), ready
    assert sentence in ready["message"]
    assert _writes(served) == []


@pytest.mark.parametrize(("spec", "reason", "sentence"), SPECS.values(), ids=SPECS)
async def test_a_spec_that_cannot_be_served(spec: dict[str, Any], reason: str, sentence: str) -> None:
    served = ServedAws(**spec)
    if "identityRef" in spec:
        served.stored.put("AWSClusterControllerIdentity", "default", {"allowedNamespaces": {"list": ["team-b"]}})
    await _refused(served, reason, sentence)


async def test_an_identity_that_is_not_for_this_namespace_is_told_in_upstreams_condition() -> None:
    served = ServedAws()
    served.stored.put("AWSClusterControllerIdentity", "default", {"allowedNamespaces": {"list": ["team-b"]}})
    await served.once()
    allowed = served.condition(aws_names.PRINCIPAL_USAGE_ALLOWED)
    assert (allowed["status"], allowed["reason"]) == ("False", "PrincipalUsageUnauthorized")
    served.stored.put("AWSClusterControllerIdentity", "default", {"allowedNamespaces": {}})
    await served.up()
    assert served.condition(aws_names.PRINCIPAL_USAGE_ALLOWED)["status"] == "True"


async def test_a_wrong_partition_holds_no_delete() -> None:
    """The region of a cluster cannot change, and neither says where its resources are."""
    served = ServedAws()
    await served.up()
    served.change(partition="aws-cn")
    await served.down()


def _without_any(monkeypatch: pytest.MonkeyPatch) -> Identity:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return OwnCredentials()


def _unknown_key(_: pytest.MonkeyPatch) -> Identity:
    return StaticKeys("AKIANOBODYKNOWSTHIS0", "s3cret", origin="Secret keys of AWSClusterStaticIdentity a")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [(_without_any, "the operator's own AWS credentials"), (_unknown_key, "Secret keys of AWSClusterStaticIdentity a")],
    ids=["none", "unknown to AWS"],
)
async def test_credentials_that_do_not_work_are_named_by_where_they_come_from(
    given: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = ServedAws(own=given(monkeypatch))
    plan = await served.plan()
    served.later(await served.once())
    ready = served.condition(names.READY)
    said = " ".join((*plan.problems, *plan.unanswered))
    assert sentence in said and sentence in ready["message"], (plan, ready)
    assert "s3cret" not in said + ready["message"]
    assert (ready["status"], ready["reason"]) == ("False", names.REASON_NO_CREDENTIALS)
    retrieved = served.condition(aws_names.PRINCIPAL_CREDENTIAL_RETRIEVED)
    assert (retrieved["status"], retrieved["reason"]) == ("False", "PrincipalCredentialRetrievalFailed")


async def test_a_denied_action_is_named_with_its_resource_and_the_rest_goes_on() -> None:
    served = ServedAws()
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    no_address = {"Effect": "Deny", "Action": "ec2:AllocateAddress", "Resource": "*"}
    arn = served.sim.role("narrow")
    document = json.dumps({"Version": "2012-10-17", "Statement": [everything, no_address]})
    served.sim.client("iam").put_role_policy(RoleName="narrow", PolicyName="p", PolicyDocument=document)
    served.own = AssumedRole(arn, OWN)
    served.start_process()
    for _ in range(12):
        served.later(await served.once())
    (row, *_) = [each for each in served.rows() if each["kind"] == "elastic-ip"]
    assert (row["state"], row["reason"]) == ("Blocked", "Denied")
    assert "ec2:AllocateAddress" in row["message"] and row["name"] == "demo-eip-common us-east-1a"
    assert "ec2:AllocateAddress" in served.condition(names.READY)["message"]
    assert {each["state"] for each in served.rows() if each["kind"] == "subnet"} == {"Ready"}
    await _said_by_plan(served, row)


async def test_a_quota_is_named() -> None:
    served = ServedAws(settings=Settings(quotas=Quotas(addresses=1)))
    for _ in range(12):
        served.later(await served.once())
    refused = [each for each in served.rows() if each["kind"] == "elastic-ip" and each["state"] == "Blocked"]
    assert [each["reason"] for each in refused] == ["QuotaReached"] * 2
    assert "AddressLimitExceeded" in refused[0]["message"]
    await _said_by_plan(served, *refused)


async def test_a_region_that_is_changed_moves_nothing() -> None:
    """An API server with the rule refuses it; without the rule everything would seem gone, and be made again."""
    served = ServedAws()
    await served.up()
    served.change(region="us-west-2")
    writes = _writes(served)
    for _ in range(3):
        served.later(await served.once())
    assert served.condition(names.READY)["status"] == "False"
    assert served.condition(names.READY)["message"].endswith("until spec.region is us-east-1 again")
    assert _writes(served) == writes
    served.change(region="us-east-1")
    await served.up()
    assert _writes(served) == writes
