"""Several providers for one CloudMetadata, IBM Cloud, identities by name."""

from __future__ import annotations

import contextlib
import json

import pytest

from freehold.controllers.controller import RequeueAfter
from freehold.kube.resources import Key
from freehold.providers.aws.identity_objects import KINDS, StoredIdentities
from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Lags, Quotas
from freehold_sim.ibm.settings import Settings as IbmSettings
from harness.aws_account import KEYS
from harness.metadata import CLASSIFIER, WANTED, Killed, Lab
from harness.metadata_on_both import IBM_TAGS, Both
from harness.simulated_aws import OTHER_ACCOUNT, tagged

ATTACH = "tagging.attach_tag"


@pytest.fixture
def both() -> Both:
    return Both()


async def test_the_classifiers_hold_for_all_providers_and_ready_sums_up(both: Both) -> None:
    """Each provider's object has its own status."""
    crns, (arn,) = both.on_ibm(2), both.groups(1, fleet="a")
    other = both.group("other", **{CLASSIFIER: "owned"})
    both.wait(60)
    await both.tags("awstags", WANTED)
    await both.ibm_tags("ibmtags", IBM_TAGS)
    references = {"awsref": {"name": "awstags"}, "ibmref": {"name": "ibmtags"}}
    await both.cloud("metadata", "", cloudprovider=references, classifiers={"fleet": "a", CLASSIFIER: "owned"})
    await both.settle()
    assert both.tags_on(arn) == {"fleet": "a", CLASSIFIER: "owned", **WANTED}
    assert both.tags_on(other) == {CLASSIFIER: "owned", **WANTED}
    assert [both.ibm_tags_on(crn) for crn in crns] == [{"fleet:a", "env:test", "centre:eng"}] * 2
    assert both.condition("Ready")[:2] == ("True", "Applied")
    assert both.condition("Applied", "IBMMetadata", "ibmtags")[2] == "the tags are as wanted on 2 resources"
    both.cloud_of_ibm.faults.add(Fault(Effect.DENIED, "search.search", count=None))
    both.wait()
    await both.work()
    status, _, message = both.condition("Ready")
    assert status == "False"
    assert "IBMMetadata metadata-controller/ibmtags" in message and "AWSMetadata" not in message
    assert both.condition("Applied", "AWSMetadata", "awstags")[0] == "True"
    assert both.condition("Applied", "IBMMetadata", "ibmtags")[0] == "False"


async def test_a19_equal_classifiers_share_a_search_on_ibm_cloud(both: Both) -> None:
    """For as long as the index lags anyway; after that it is asked again."""
    both.on_ibm(1)
    for name, tags in (("a", {"env": "test"}), ("b", {"centre": "eng"})):
        await both.ibm_tags(name, tags)
        await both.cloud(name, "", cloudprovider={"ibmref": {"name": name}}, classifiers={"fleet": "a"})
        await both.work(name)
    assert both.sent().count("search.search") == 1
    await both.cloud("other", "", cloudprovider={"ibmref": {"name": "a"}}, classifiers={"fleet": "b"})
    await both.work("other")
    assert both.sent().count("search.search") == 1, "another question"
    both.wait(5)
    await both.work("a")
    assert both.sent().count("search.search") == 1


async def test_one_provider_that_is_missing_does_not_hold_up_the_other(both: Both) -> None:
    (crn,) = both.on_ibm(1)
    await both.ibm_tags("ibmtags", IBM_TAGS)
    references = {"awsref": {"name": "awstags"}, "ibmref": {"name": "ibmtags"}}
    await both.cloud("metadata", "", cloudprovider=references, classifiers={"fleet": "a"})
    await both.settle()
    assert "env:test" in both.ibm_tags_on(crn)
    assert both.condition("Ready")[:2] == ("False", "ReferenceMissing")


async def test_on_ibm_cloud_a_second_pass_writes_nothing(both: Both) -> None:
    both.on_ibm(5)
    await both.ibm_only()
    await both.settle()
    assert both.writes() == [ATTACH]
    both.wait()
    both.objects.written.clear()
    both.restart()
    assert await both.work() == RequeueAfter(600.0, at_rest=True)
    assert both.sent() == ["search.search"]
    assert both.objects.written == []


async def test_250_resources_on_ibm_cloud_take_three_calls(both: Both) -> None:
    """100 in each."""
    both.on_ibm(250)
    await both.ibm_only()
    await both.settle()
    assert both.writes() == [ATTACH] * 3


async def test_drift_on_ibm_cloud_is_repaired_and_foreign_tags_stay(both: Both) -> None:
    """Tags there are a multiset: a foreign value beside ours is one that differs."""
    beside, stripped, changed = both.on_ibm(3, "label", "Owner:somebody:else")
    await both.ibm_only()
    await both.settle()
    both.cloud_of_ibm.strangers.attach(beside, "env:prod")
    both.cloud_of_ibm.strangers.detach(stripped, "centre:eng")
    both.cloud_of_ibm.strangers.detach(changed, "env:test")
    both.cloud_of_ibm.strangers.attach(changed, "env:prod")
    both.wait()
    await both.settle()
    kept = {"fleet:a", "label", "owner:somebody:else"}
    assert [both.ibm_tags_on(crn) for crn in (beside, stripped, changed)] == [kept | {"env:test", "centre:eng"}] * 3
    assert both.condition("Applied")[1] in ("Repaired", "Applied")
    assert [reason for reason, _ in both.events.said].count("DriftRepaired") == 3
    await both.edit("IBMMetadata", "ibmtags", {"resourcetags": {"env": "prod", "centre": None}})
    both.wait()
    await both.settle()
    assert [both.ibm_tags_on(crn) for crn in (beside, stripped, changed)] == [kept | {"env:prod"}] * 3


async def test_one_resource_on_ibm_cloud_that_fails_leaves_the_others_alone(both: Both) -> None:
    crns = both.on_ibm(4)
    both.cloud_of_ibm.faults.add(Fault(Effect.PARTIAL, ATTACH, items=(1,)))
    await both.ibm_only()
    await both.work()
    assert sum("env:test" in both.ibm_tags_on(crn) for crn in crns) == 3
    both.wait(5.0)
    await both.settle()
    assert all("env:test" in both.ibm_tags_on(crn) for crn in crns)


async def test_without_credentials_for_ibm_cloud_the_object_says_so() -> None:
    lab = Lab()
    metadata = {"name": "ibmtags", "namespace": "metadata-controller"}
    await lab.apply({"kind": "IBMMetadata", "metadata": metadata, "spec": {"resourcetags": IBM_TAGS}})
    await lab.cloud("metadata", "", cloudprovider={"ibmref": {"name": "ibmtags"}}, classifiers={"fleet": "a"})
    await lab.work()
    assert lab.condition("Ready")[:2] == ("False", "NoCredentials")
    assert "IBMCLOUD_API_KEY" in lab.condition("Ready")[2]


async def test_what_an_object_of_another_cloud_asks_for_is_no_conflict(both: Both) -> None:
    """An older AWSMetadata with the same classifier and key wants nothing of a resource on IBM Cloud."""
    (crn,) = both.on_ibm(1)
    await both.tags("awstags", {"env": "other"})
    await both.cloud("older", "awstags", classifiers={"fleet": "a"})
    await both.ibm_only()
    await both.settle()
    assert "env:test" in both.ibm_tags_on(crn)
    assert both.condition("Policy")[0] == "True"


async def test_one_object_serves_two_accounts_of_one_cloud() -> None:
    """Each AWSMetadata names its own; the classifiers are those of the CloudMetadata."""
    lab = Lab()
    role = _role(lab, "tagger")
    there = _vpc_in_other_account(lab)
    (here,) = lab.groups(1)
    await lab.tags("here", {"env": "here"})
    await lab.tags("there", {"env": "there"}, regions=["eu-west-1"], role={"arn": role})
    references = {"awsref": {"name": "here"}, "refs": [{"kind": "AWSMetadata", "name": "there"}]}
    await lab.cloud("metadata", "", cloudprovider=references)
    await lab.settle()
    assert (lab.tags_on(here)["env"], lab.tags_on(there)["env"]) == ("here", "there")
    assert lab.condition("Ready")[0] == "True"


@pytest.mark.parametrize(
    ("allowed", "written"),
    [(["metadata-controller"], True), (["another"], False)],
    ids=["A29 allows the namespace", "A29 allows another namespace only"],
)
async def test_a29_an_identity_by_name_is_used_where_it_allows_the_namespace(allowed: list[str], written: bool) -> None:
    lab = Lab()
    await _identities(lab, allowed)
    there = _vpc_in_other_account(lab)
    reference = {"kind": "AWSClusterRoleIdentity", "name": "team"}
    await lab.tags("tags", WANTED, regions=["eu-west-1"], identityRef=reference)
    await lab.cloud("metadata", "tags")
    await lab.work()
    assert lab.tags_on(there) == ({CLASSIFIER: "owned", **WANTED} if written else {CLASSIFIER: "owned"})
    if not written:
        assert lab.sent() == []
        status, reason, message = lab.condition("Ready")
        assert (status, reason) == ("False", "NoCredentials")
        assert "does not allow namespace metadata-controller" in message


async def test_a29_a_right_that_is_taken_away_stops_the_next_pass() -> None:
    lab = Lab()
    await _identities(lab, ["metadata-controller"])
    there = _vpc_in_other_account(lab)
    reference = {"kind": "AWSClusterRoleIdentity", "name": "team"}
    await lab.tags("tags", WANTED, regions=["eu-west-1"], identityRef=reference)
    await lab.cloud("metadata", "tags")
    await lab.settle()
    narrowed = {"spec": {"allowedNamespaces": {"list": ["another"]}}}
    await lab.objects.patch(KINDS["AWSClusterRoleIdentity"], Key("", "team"), narrowed)
    lab.somebody_strips(there, "env")
    lab.wait()
    await lab.work()
    assert "env" not in lab.tags_on(there)
    assert lab.condition("Ready")[:2] == ("False", "NoCredentials")


async def _identities(lab: Lab, allowed: list[str]) -> None:
    """A role of another account, that the operator's own identity assumes."""
    lab.identities = StoredIdentities(lab.objects, "freehold-system", KEYS)
    lab.restart()
    spec = {
        "roleARN": _role(lab, "team"),
        "allowedNamespaces": {"list": allowed},
        "sourceIdentityRef": {"kind": "AWSClusterControllerIdentity", "name": "default"},
    }
    await lab.objects.create(KINDS["AWSClusterRoleIdentity"], {"metadata": {"name": "team"}, "spec": spec})
    own = {"metadata": {"name": "default"}, "spec": {"allowedNamespaces": {}}}
    await lab.objects.create(KINDS["AWSClusterControllerIdentity"], own)


def _role(lab: Lab, name: str, external_id: str = "") -> str:
    """In the other account, with all rights there; anybody may assume it, who knows the external id."""
    strangers = lab.account.cloud.strangers
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}
    if external_id:
        statement |= {"Condition": {"StringEquals": {"sts:ExternalId": external_id}}}  # type: ignore[dict-item]  # JSON
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    made = strangers.create(
        "iam", "CreateRole", {"RoleName": name, "AssumeRolePolicyDocument": trust}, account=OTHER_ACCOUNT
    )
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    policy = {"RoleName": name, "PolicyName": "all", "PolicyDocument": json.dumps(allowed)}
    strangers.call("iam", "PutRolePolicy", policy, account=OTHER_ACCOUNT)
    return str(made["arn"])


def _vpc_in_other_account(lab: Lab) -> str:
    wanted = {"CidrBlock": "10.0.0.0/16", "TagSpecifications": tagged("vpc", **{CLASSIFIER: "owned"})}
    made = lab.account.cloud.strangers.create("ec2", "CreateVpc", wanted, account=OTHER_ACCOUNT, region="eu-west-1")
    lab.wait(60)
    return str(made["arn"])


async def test_what_was_written_in_an_account_that_is_not_named_any_more_stays_on_record() -> None:
    """Another account does not show it: that is not its end."""
    lab = Lab()
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.edit("AWSMetadata", "awstags", {"role": {"arn": _role(lab, "tagger")}})
    lab.wait()
    await lab.settle()
    await lab.edit("AWSMetadata", "awstags", {"role": None, "resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test"}


@pytest.mark.parametrize("lagging", [False, True], ids=["page size 1", "page size 1, lags and ghosts"])
async def test_on_ibm_cloud_small_pages_and_a_lagging_index_change_nothing(lagging: bool) -> None:
    both = Both(IbmSettings(page_size=1, lags=Lags(new=60, ghost=600, tags=60) if lagging else Lags()))
    crns = both.on_ibm(4, "owner:x")
    both.wait(60)
    await both.ibm_only()
    await both.settle()
    both.cloud_of_ibm.strangers.delete(crns[0])
    both.cloud_of_ibm.strangers.attach(crns[1], "theirs:y")
    await both.edit("IBMMetadata", "ibmtags", {"resourcetags": {"env": "prod", "centre": None}})
    for _ in range(4):
        await both.work()
        both.wait(300)
    await both.settle()
    assert both.ibm_tags_on(crns[1]) == {"fleet:a", "owner:x", "theirs:y", "env:prod"}
    assert [both.ibm_tags_on(crn) for crn in crns[2:]] == [{"fleet:a", "owner:x", "env:prod"}] * 2
    both.wait(1200)
    await both.settle()
    assert both.condition("Ready")[0] == "True"
    assert both.condition("Applied")[2].startswith("the tags are as wanted on 3 resources")


async def test_what_an_object_of_ibm_cloud_asks_for_is_no_conflict_on_aws(both: Both) -> None:
    """It names no regions, so nothing but the cloud keeps it from this one."""
    (arn,) = both.groups(1, fleet="a")
    await both.ibm_tags("ibmtags", {"env": "other"})
    await both.cloud("older", "", cloudprovider={"ibmref": {"name": "ibmtags"}}, classifiers={"fleet": "a"})
    await both.tags("awstags", WANTED)
    await both.cloud("metadata", "awstags")
    await both.settle()
    assert both.tags_on(arn)["env"] == "test"
    assert both.condition("Policy")[0] == "True"


async def _change_on_ibm(both: Both) -> list[str]:
    """Tags of ours on four resources, one of which has a foreign value since; then one is changed, one dropped."""
    crns = both.on_ibm(4, "Owner:somebody", "label")
    await both.ibm_only()
    await both.settle()
    both.cloud_of_ibm.strangers.attach(crns[0], "env:theirs")
    both.wait()
    await both.edit("IBMMetadata", "ibmtags", {"resourcetags": {"env": "prod", "centre": None, "team": "x"}})
    both.sent()
    return crns


@pytest.mark.parametrize("after", [False, True], ids=["A12 killed before a call", "A12 killed after a call"])
async def test_on_ibm_cloud_a_process_that_is_killed_is_followed_by_one_that_ends_right(after: bool) -> None:
    """Detaching a value and attaching another one are two calls there."""
    undisturbed = Both()
    await _change_on_ibm(undisturbed)
    await undisturbed.settle()
    calls = len(undisturbed.port.calls)
    assert len(undisturbed.writes()) >= 3
    for number in range(calls):
        both = Both()
        crns = await _change_on_ibm(both)
        both.port.at, both.port.after = number, after
        with contextlib.suppress(Killed):
            await both.settle()
        both.port.at = None
        both.restart()
        both.wait(60.0)
        await both.settle()
        both.wait()
        await both.settle()
        wanted = {"fleet:a", "owner:somebody", "label", "env:prod", "team:x"}
        assert [both.ibm_tags_on(crn) for crn in crns] == [wanted] * 4, number
        assert both.condition("Ready")[0] == "True"


@pytest.mark.parametrize("effect", [Effect.THROTTLE, Effect.ERROR_BEFORE, Effect.ERROR_AFTER, Effect.REPLY_LOST])
@pytest.mark.parametrize("operation", [ATTACH, "tagging.detach_tag", "tagging.list_tags", "search.search"])
async def test_on_ibm_cloud_a_call_that_fails_costs_time_only(operation: str, effect: Effect) -> None:
    both = Both()
    crns = await _change_on_ibm(both)
    both.cloud_of_ibm.faults.add(Fault(effect, operation))
    await both.settle()
    wanted = {"fleet:a", "owner:somebody", "label", "env:prod", "team:x"}
    assert [both.ibm_tags_on(crn) for crn in crns] == [wanted] * 4


async def test_on_ibm_cloud_a_batch_that_is_too_large_is_halved() -> None:
    """No document that was found says how many resources one attach takes."""
    both = Both(IbmSettings(quotas=Quotas(resources_per_attach=3)))
    crns = both.on_ibm(8)
    await both.ibm_only()
    await both.settle()
    assert all({"env:test", "centre:eng"} <= both.ibm_tags_on(crn) for crn in crns)
