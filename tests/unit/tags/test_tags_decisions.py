"""Decisions of the metadata controller where there are two: accounts, namespaces, objects, answers, failures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

import pytest

from freehold.engine.errors import CloudError, NotFound, Unavailable
from freehold.engine.keys import KeyRing
from freehold.providers.aws.tags.dialect import AWS
from freehold.tags.policy.classifiers import Classifiers, TagCondition
from freehold.tags.policy.cluster_keys import cluster_keys
from freehold.tags.policy.key_decision import LeaveReason
from freehold.tags.policy.ledger_identity import annotation, writer_of
from freehold.tags.policy.plan_resources import Common, plan_fleet
from freehold.tags.policy.protected import IgnoreList
from freehold.tags.policy.references import ProviderObject
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.policy.tag_request import TagRequest, TagScope
from freehold.tags.tag_endpoint import TagEndpoint
from freehold.tags.tag_pass import Written, _confirm_vanished
from harness.tagged_fleet import claim, reasons, update, volume, written

RING = KeyRing.single(b"r" * 32)


# -- the writer -------------------------------------------------------------------------------------------------


def _provider(kind: str = "AWSMetadata", namespace: str = "team", name: str = "tags", text: str = "") -> ProviderObject:
    annotations = {"freehold.dev/tags-writer": text} if text else {}
    metadata = {"namespace": namespace, "name": name, "uid": f"uid-{namespace}", "annotations": annotations}
    return ProviderObject(kind, {"metadata": metadata})


@pytest.mark.parametrize(
    "other", [{"namespace": "other"}, {"name": "other"}, {"kind": "IBMMetadata"}], ids=["namespace", "name", "kind"]
)
def test_a_signed_writer_says_nothing_on_another_object(other: dict[str, str]) -> None:
    """Whoever copies it would remove what was written for the first one."""
    text = annotation(_provider(), "uid-first", RING)
    assert writer_of(_provider(text=text), RING).uid == "uid-first"
    assert writer_of(_provider(text=text, **other), RING).begun is False


# -- what is gone -------------------------------------------------------------------------------------------------


class Shown:
    """A place that reads these resources."""

    def __init__(self, found: Mapping[str, TaggedResource | CloudError]) -> None:
        self.found = found

    async def read(self, ids: Collection[str]) -> Mapping[str, TaggedResource | CloudError]:
        return {ident: self.found[ident] for ident in ids}


async def test_gone_is_only_what_the_resource_itself_does_not_show() -> None:
    """Of what is not known the record forgets nothing: it would stay for ever."""
    found = {"none": NotFound("no"), "bare": volume({}), "unknown": Unavailable("no"), "there": volume({"a": "1"})}
    place = cast("TagEndpoint", Shown(cast("Any", found)))
    done = await _confirm_vanished(Written(vanished=set(found), unsure={"before"}), place)
    assert (done.vanished, done.unsure) == ({"none", "bare"}, {"unknown", "there", "before"})


# -- rivals -------------------------------------------------------------------------------------------------------


def _demand(value: str, name: str, created: float, role: str) -> TagRequest:
    wants = claim(update(env=value), name=name, created=created)
    place = TagScope(AWS, name, ("eu-west-1",), role=role)
    classifiers = Classifiers(frozenset({TagCondition("fleet", "a")}))
    return TagRequest(wants.claimant, wants, classifiers, place, 600.0, {"env": value})


@pytest.mark.parametrize(
    ("account", "meets"), [("111122223333", True), ("444455556666", False)], ids=["one account", "two accounts"]
)
@pytest.mark.parametrize("others", [1, 2])
def test_two_roles_of_one_account_meet_on_its_resources(account: str, meets: bool, others: int) -> None:
    """Else each sets back what the other one wrote, without end."""
    acting = _demand("mine", "mine", 9.0, "arn:aws:iam::111122223333:role/mine")
    rivals = [_demand("theirs", f"r{n}", float(n), f"arn:aws:iam::{account}:role/r{n}") for n in range(others)]
    common = Common(IgnoreList(), cluster_keys([]))
    resource = volume({"fleet": "a"})
    done = plan_fleet([resource], acting, rivals, lambda ident: {}, common).plans[resource.id]
    assert written(done) == ({} if meets else {"env": "mine"})
    assert ([reason for _, reason in reasons(done)] == [LeaveReason.CONFLICT]) is meets
