"""``status.resourcetags`` of an AWSMetadata: the tags that every resource has, and none once nobody keeps them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.controllers.controller import Done, RequeueAfter, Result
from freehold.engine.port import Call
from freehold.kube.resources import Key
from freehold.tags.context import PROVIDERS, UNKNOWN_SECONDS
from freehold.tags.controller import GRANTS
from freehold.tags.provider_reconcile import ProviderReconciler
from freehold_sim.faults import Effect, Fault
from harness.metadata import CLASSIFIER, NAMESPACE, WANTED, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


def _listed(lab: Lab, name: str = "tags") -> object:
    return lab.status("AWSMetadata", name).get("resourcetags")


async def _fleet(lab: Lab, tags: dict[str, str] = WANTED, **spec: str) -> None:
    await lab.tags("tags", tags, **spec)
    await lab.cloud("metadata", "tags")


async def test_a5_a_tag_that_waits_for_an_approval_is_not_listed() -> None:
    lab = Lab(approve_above=0)
    lab.groups(2, env="theirs", centre="eng")
    await _fleet(lab)
    await lab.settle()
    assert lab.condition("Approved")[1] == "ApprovalNeeded"
    assert _listed(lab) == {"centre": "eng"}


async def test_a5_where_nothing_is_found_nothing_is_listed(lab: Lab) -> None:
    await _fleet(lab)
    await lab.settle()
    assert _listed(lab) == {}
    lab.groups(1)
    await lab.settle()
    assert _listed(lab) == WANTED


async def test_a5_a_tag_that_one_resource_refuses_is_not_listed(lab: Lab) -> None:
    """TagExists there; the other resource has it."""
    arns = lab.groups(2)
    lab.somebody_sets(arns[0], env="theirs")
    lab.wait()
    await _fleet(lab, opcode="add")
    await lab.settle()
    assert lab.tags_on(arns[1])["env"] == "test"
    assert lab.condition("Policy")[1] == "TagExists"
    assert _listed(lab) == {"centre": "eng"}


async def test_a5_a_tag_that_the_cloud_refuses_is_not_listed(lab: Lab) -> None:
    arns = lab.groups(2)
    lab.somebody_sets(arns[0], centre="eng")
    lab.somebody_sets(arns[1], centre="eng")
    lab.wait()
    await _fleet(lab)
    lab.account.cloud.faults.add(Fault(Effect.DENIED, "ec2.CreateTags", count=None))
    await lab.work()
    assert _listed(lab) == {"centre": "eng"}
    lab.account.cloud.faults.clear()
    lab.wait()
    await lab.settle()
    assert _listed(lab) == WANTED


async def test_a5_what_cannot_be_looked_at_makes_no_tag_come_or_go(lab: Lab) -> None:
    """Else the list would be emptied by a cloud that does not answer for a moment."""
    lab.groups(2)
    await _fleet(lab, {"env": "test"})
    await lab.settle()
    await lab.edit("AWSMetadata", "tags", {"resourcetags": {"centre": "eng"}})
    lab.wait()
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "resourcegroupstaggingapi.GetResources"))
    assert await lab.work() == RequeueAfter(5.0)
    assert _listed(lab) == {"env": "test"}
    lab.wait(5.0)
    await lab.settle()
    assert _listed(lab) == WANTED


async def test_a5_a_resource_that_cannot_be_read_lists_nothing_new(lab: Lab) -> None:
    """The group has the tag; of the secret nothing is known."""
    lab.groups(1)
    (secret,) = lab.secrets(1)
    lab.somebody_sets(secret, env="theirs")
    lab.wait()
    await _fleet(lab)
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "secretsmanager.DescribeSecret"))
    await lab.work()
    assert _listed(lab) == {}
    lab.wait(5.0)
    await lab.settle()
    assert _listed(lab) == WANTED


async def test_a5_a_resource_that_has_gone_takes_no_tag_off_the_list(lab: Lab) -> None:
    """It goes while its tags are being written."""
    arns = lab.groups(2)
    going = arns[:1]
    await _fleet(lab)

    def before(call: Call) -> None:
        if call.operation == "create_tags" and going:
            lab.account.cloud.strangers.delete(going.pop())

    lab.port.before_each = before
    await lab.settle()
    assert not going and lab.tags_on(arns[1]).items() >= WANTED.items()
    assert _listed(lab) == WANTED


# --- nobody refers to it any more ------------------------------------------------------------------

FORGOTTEN = ("applied", "False", "NotReferred", {})


def _told(lab: Lab, name: str = "tags") -> tuple[object, ...]:
    status = lab.status("AWSMetadata", name)
    return tuple(status.get(each) for each in ("type", "status", "reason", "resourcetags"))


async def _look(lab: Lab, name: str = "tags") -> Result:
    """What a watch of the AWSMetadata asks for, also when a process begins."""
    return await ProviderReconciler(lab.means, "AWSMetadata").reconcile(Key(NAMESPACE, name))


async def _give_up(lab: Lab, how: str) -> None:
    match how:
        case "deleted":
            await lab.delete("CloudMetadata", "metadata")
        case "in deletion":
            metadata = lab.object("CloudMetadata", "metadata")["metadata"]
            metadata |= {"deletionTimestamp": "2026-11-23T00:00:00Z", "finalizers": ["somebody/else"]}
        case "no provider":
            await lab.edit("CloudMetadata", "metadata", {"cloudprovider": None})
        case "another one":
            await lab.edit("CloudMetadata", "metadata", {"cloudprovider": {"awsref": {"name": "other"}}})


WAYS = ["deleted", "in deletion", "no provider", "another one"]


@pytest.mark.parametrize("restarted", [False, True], ids=["", "while no process ran"])
@pytest.mark.parametrize("how", WAYS)
async def test_a5_an_object_to_which_nobody_refers_any_more_says_so(lab: Lab, how: str, restarted: bool) -> None:
    """Once: an object at rest is not written again. What was written stays on the resources."""
    (arn,) = lab.groups(1)
    await _fleet(lab)
    await lab.settle()
    assert _told(lab) == ("applied", "True", "none", WANTED)
    await _give_up(lab, how)
    if restarted:
        lab.restart()
        assert await _look(lab) == Done()
    else:
        await lab.work()
    assert _told(lab) == FORGOTTEN
    assert lab.tags_on(arn).items() >= WANTED.items()
    lab.objects.written.clear()
    await lab.work()
    await _look(lab)
    assert "patch status tags" not in lab.objects.written
    await lab.cloud("again", "tags")
    await lab.settle("again")
    assert _told(lab) == ("applied", "True", "none", WANTED)


async def test_a5_an_object_to_which_another_one_refers_says_what_that_one_does(lab: Lab) -> None:
    lab.groups(1)
    await _fleet(lab)
    await lab.cloud("second", "tags")
    await lab.settle("metadata", "second")
    await lab.delete("CloudMetadata", "metadata")
    await lab.work()
    assert _told(lab)[1:3] == ("True", "none")
    await lab.settle("second")
    assert _told(lab) == ("applied", "True", "none", WANTED)


async def test_a5_a_new_object_says_nothing_before_anybody_refers_to_it(lab: Lab) -> None:
    await lab.tags("tags", WANTED)
    assert await _look(lab) == Done()
    assert lab.status("AWSMetadata", "tags") == {}


@pytest.mark.parametrize("unknown", ["clouds_known", "grants_known"])
async def test_a5_while_it_is_not_known_who_refers_to_it_an_object_keeps_its_status(lab: Lab, unknown: str) -> None:
    """A watch that has not begun shows no CloudMetadata at all. It is looked at again."""
    lab.groups(1)
    await _fleet(lab)
    await lab.settle()
    await lab.delete("CloudMetadata", "metadata")
    setattr(lab, unknown, False)
    assert await _look(lab) == RequeueAfter(UNKNOWN_SECONDS, at_rest=True)
    assert await lab.work() == Done()
    assert _told(lab)[1:] == ("True", "none", WANTED)
    setattr(lab, unknown, True)
    assert await _look(lab) == Done()
    assert _told(lab) == FORGOTTEN


async def test_a5_an_object_that_somebody_writes_at_the_same_time_is_told_again(lab: Lab) -> None:
    lab.groups(1)
    await _fleet(lab)
    await lab.settle()
    await lab.delete("CloudMetadata", "metadata")

    async def meanwhile(name: str) -> None:
        lab.objects.between = _nobody
        await lab.objects.patch(PROVIDERS["AWSMetadata"], Key(NAMESPACE, "tags"), {"metadata": {"labels": {"a": "b"}}})

    lab.objects.between = meanwhile
    assert await lab.work() == Done()
    assert _told(lab) == FORGOTTEN


async def _nobody(name: str) -> None:
    """Nobody else is at work."""


async def _from_elsewhere(lab: Lab) -> None:
    """A CloudMetadata of another namespace, which a grant lets refer to the AWSMetadata, and what it came to."""
    lab.groups(1)
    await lab.objects.create(
        GRANTS, {"metadata": {"name": "g"}, "spec": {"namespaces": ["elsewhere"], "references": [NAMESPACE]}}
    )
    await lab.tags("tags", WANTED)
    spec = {"cloudprovider": {"awsref": {"name": "tags", "namespace": NAMESPACE}}, "classifiers": {CLASSIFIER: "owned"}}
    await lab.apply({"kind": "CloudMetadata", "metadata": {"name": "far", "namespace": "elsewhere"}, "spec": spec})
    await lab.process.reconcile(Key("elsewhere", "far"))
    assert _told(lab) == ("applied", "True", "none", WANTED)


async def test_a2_a_grant_that_is_withdrawn_leaves_an_object_to_which_nobody_may_refer(lab: Lab) -> None:
    await _from_elsewhere(lab)
    await lab.objects.delete(GRANTS, Key("", "g"))
    await lab.process.reconcile(Key("elsewhere", "far"))
    await lab.wake()
    assert _told(lab) == FORGOTTEN


async def test_a2_an_operator_of_one_namespace_does_not_see_who_refers_from_another_one(lab: Lab) -> None:
    """The operator of that one serves it, and the two would answer each other."""
    await _from_elsewhere(lab)
    del lab.objects.objects["CloudMetadata", Key("elsewhere", "far")]
    lab.means = replace(lab.means, namespace=NAMESPACE)
    await _look(lab)
    assert _told(lab)[1:] == ("True", "none", WANTED)
    await lab.objects.delete(GRANTS, Key("", "g"))
    await _look(lab)
    assert _told(lab) == FORGOTTEN
