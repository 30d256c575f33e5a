"""``MetadataGrant``: what a namespace may do with tags, from the first grant on."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.kube.resources import Key
from freehold.tags.controller import GRANTS
from harness.metadata import CLASSIFIER, NAMESPACE, WANTED, Lab
from harness.metadata_on_both import Both

OWN: dict[str, Any] = {"namespaces": [NAMESPACE]}
ELSEWHERE = "another"


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _grant(lab: Lab, name: str = "team", **spec: Any) -> None:
    await lab.objects.create(GRANTS, {"metadata": {"name": name}, "spec": spec})


@pytest.mark.parametrize(
    "spec",
    [
        OWN,
        {**OWN, "classifiers": [{"key": CLASSIFIER}], "keys": ["env", "cent*"], "accounts": ["111122223333"]},
        {**OWN, "classifiers": [{"key": CLASSIFIER, "value": "owned"}]},
        {"namespaces": [ELSEWHERE, NAMESPACE]},
    ],
    ids=["all", "just what it needs", "with the value", "one of several namespaces"],
)
async def test_what_a_grant_names_is_done(lab: Lab, spec: dict[str, Any]) -> None:
    (arn,) = lab.groups(1)
    await _grant(lab, **spec)
    await lab.apply_examples()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}
    assert lab.condition("Approved")[1:] == ("Granted", "granted by MetadataGrant team")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"namespaces": [ELSEWHERE]}, "no MetadataGrant names the namespace metadata-controller"),
        ({**OWN, "classifiers": [{"key": "team"}]}, f"the classifier '{CLASSIFIER}': 'owned'"),
        ({**OWN, "classifiers": [{"key": CLASSIFIER, "value": "shared"}]}, f"the classifier '{CLASSIFIER}': 'owned'"),
        ({**OWN, "keys": ["env"]}, "the tag 'centre'"),
        ({**OWN, "keys": ["centre*", "en"]}, "the tag 'env'"),
        ({**OWN, "accounts": ["444455556666"]}, "anything in the account 111122223333"),
    ],
    ids=["another namespace", "another classifier", "another value", "one key", "no prefix", "another account"],
)
async def test_from_the_first_grant_on_nothing_else_is_done(lab: Lab, spec: dict[str, Any], told: str) -> None:
    (arn,) = lab.groups(1)
    await _grant(lab, **spec)
    await lab.apply_examples()
    await lab.work()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned"}
    assert lab.writes() == []
    status, reason, message = lab.condition("Approved")
    assert (status, reason) == ("False", "NotGranted")
    assert told in message


async def test_what_two_grants_give_is_not_mixed(lab: Lab) -> None:
    """One gives the key on other resources, the other one another key on these."""
    lab.groups(1)
    await _grant(lab, "a", **OWN, classifiers=[{"key": "team"}], keys=["env", "centre"])
    await _grant(lab, "b", **OWN, classifiers=[{"key": CLASSIFIER}], keys=["env"])
    await lab.apply_examples()
    await lab.work()
    assert lab.writes() == []
    assert "the tag 'centre'" in lab.condition("Approved")[2]


async def test_two_grants_together_give_what_each_gives(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await _grant(lab, "a", **OWN, classifiers=[{"key": CLASSIFIER}], keys=["centre"])
    await _grant(lab, "b", **OWN, keys=["env"])
    await lab.apply_examples()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}


async def test_a_withdrawn_grant_stops_writes_and_removes_nothing(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await _grant(lab, "a", **OWN)
    await _grant(lab, "b", namespaces=[ELSEWHERE])
    await lab.apply_examples()
    await lab.settle()
    await lab.objects.delete(GRANTS, Key("", "a"))
    lab.somebody_strips(arn, "env")
    lab.wait()
    lab.sent()
    await lab.work()
    assert lab.writes() == []
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "centre": "eng"}
    assert lab.condition("Approved")[:2] == ("False", "NotGranted")


async def test_a_key_that_is_not_granted_any_more_is_not_removed_when_it_leaves_the_spec(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await _grant(lab, **OWN)
    await lab.apply_examples()
    await lab.settle()
    await lab.objects.patch(GRANTS, Key("", "team"), {"spec": {"keys": ["env"]}})
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}
    assert lab.condition("Policy")[:2] == ("True", "NotGranted")


async def test_where_grants_cannot_be_read_nothing_is_done(lab: Lab) -> None:
    """It must not read as: there is none."""
    lab.groups(1)
    lab.grants_known = False
    await lab.apply_examples()
    await lab.work()
    assert lab.sent() == []
    assert lab.condition("Approved")[:2] == ("False", "GrantsUnknown")


async def test_a_grant_that_is_not_valid_grants_nothing_and_counts(lab: Lab) -> None:
    lab.groups(1)
    await _grant(lab, namespaces="all of them")
    await lab.apply_examples()
    await lab.work()
    assert lab.writes() == []
    assert lab.condition("Approved")[:2] == ("False", "NotGranted")


async def test_what_an_object_without_a_grant_asks_for_is_no_conflict(lab: Lab) -> None:
    """It never acts: its wish would keep ours from being done by anybody."""
    (arn,) = lab.groups(1)
    await _grant(lab, **OWN, keys=["env", "centre"])
    await lab.tags("old", {"env": "old", "team": "not granted"})
    await lab.cloud("old", "old")
    await lab.apply_examples()
    await lab.settle()
    assert lab.tags_on(arn)["env"] == "test"


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({"namespaces": [ELSEWHERE]}, WANTED),
        ({**OWN, "accounts": ["444455556666"]}, WANTED),
        ({**OWN, "keys": ["env"]}, {"centre": "eng"}),
        (OWN, {}),
    ],
    ids=["no grant", "of another account", "of one key", "of all"],
)
async def test_what_goes_with_an_object_is_what_its_namespace_may_remove(
    lab: Lab, spec: dict[str, Any], left: dict[str, str]
) -> None:
    """Without any grant the object stays, and says how it can go."""
    (arn,) = lab.groups(1)
    await lab.tags("awstags", WANTED, deletionPolicy="Remove")
    await lab.cloud("metadata", "awstags")
    await lab.settle()
    await _grant(lab, **spec)
    await lab.remove("awstags")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **left}
    assert (("AWSMetadata", Key(NAMESPACE, "awstags")) in lab.objects.objects) is (left == WANTED)
    if left == WANTED:
        status, reason, message = lab.condition("Approved", "AWSMetadata", "awstags")
        assert (status, reason) == ("False", "NotGranted")
        assert "spec.deletionPolicy: Retain" in message


@pytest.mark.parametrize("granted", [False, True], ids=["A2 not granted", "A2 granted"])
async def test_a2_a_reference_into_another_namespace_needs_a_grant(lab: Lab, granted: bool) -> None:
    (arn,) = lab.groups(1)
    await _grant(lab, **OWN, references=[ELSEWHERE] if granted else [])
    tags = {"kind": "AWSMetadata", "metadata": {"name": "awstags", "namespace": ELSEWHERE}}
    await lab.apply({**tags, "spec": {"resourcetags": WANTED}})
    await lab.cloud("metadata", "", cloudprovider={"awsref": {"name": "awstags", "namespace": ELSEWHERE}})
    await lab.work()
    assert ("env" in lab.tags_on(arn)) is granted
    if not granted:
        assert lab.condition("Ready")[:2] == ("False", "ReferenceNotGranted")


async def test_the_keys_of_a_grant_have_no_case_on_ibm_cloud() -> None:
    """As its tags have none; of a removal too."""
    both = Both()
    (crn,) = both.on_ibm(1)
    await _grant(both, namespaces=[NAMESPACE], keys=["Env", "Cen*"])
    await both.ibm_only(deletionPolicy="Remove")
    await both.settle()
    assert both.ibm_tags_on(crn) == {"fleet:a", "env:test", "centre:eng"}
    both.wait()
    await both.remove("ibmtags", "IBMMetadata")
    assert both.ibm_tags_on(crn) == {"fleet:a"}
