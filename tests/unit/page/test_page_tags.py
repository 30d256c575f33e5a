"""The report of tags: what the last pass came to, of all resources, without a call."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine.errors import Denied
from freehold.kube.resources import Key
from freehold.page.tags import build_report
from freehold.tags.cloud_reconcile import CloudReconciler
from freehold.tags.pass_hooks import PassHooks
from freehold.tags.pass_summary import MOST_LISTED, PassSummaries, TagStanding, summarize
from freehold.tags.policy.approval import ApprovalNeeded, Approver
from freehold.tags.policy.key_decision import Rules
from freehold.tags.policy.limits import LimitPolicy
from freehold.tags.policy.outcome import Outcome, repairs_of
from freehold.tags.policy.plan import ResourcePlan
from freehold.tags.policy.references import Refused
from harness.metadata import CLASSIFIER, Lab
from harness.tagged_fleet import claim, plan, plan_resource, update, volume, wrote

KEY = Key("team", "tags")
WANTED = {"env": "test"}


def stored(**condition: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "observedGeneration": 1, "status": "True", "reason": "Applied", "message": ""}]
    conditions += [{"type": "Applied", **condition}] if condition else []
    metadata = {"namespace": KEY.namespace, "name": KEY.name, "generation": 1}
    return {"kind": "CloudMetadata", "metadata": metadata, "status": {"conditions": conditions}}


def outcome(*plans: ResourcePlan, **more: Any) -> Outcome:
    by_id = {each.resource.id: each for each in plans}
    return Outcome(**{"selected": len(by_id), "active": WANTED, "plans": by_id, **more})


def plan_on(number: int, *, ours: bool = True, **tags: str) -> ResourcePlan:
    """What ``env: test`` comes to on a resource; ``ours``: we wrote it before."""
    return plan(volume(tags, arn=f"arn:{number}"), claim(update(**WANTED)), record=wrote(**WANTED) if ours else {})


def report(*outcomes: Outcome | Refused) -> dict[str, Any]:
    passes = PassSummaries(lambda: 50.0)
    passes(KEY, outcomes)
    [found] = build_report([stored()], passes.find)["objects"]
    assert json.loads(json.dumps(found)) == found
    return dict(found)


def test_what_a_pass_has_repaired_is_as_wanted_and_counted() -> None:
    drifted, whole = plan_on(1, env="prod"), plan_on(2, env="test")
    found = report(outcome(drifted, whole, repairs=repairs_of(drifted)))
    assert (found["total"], found["counts"]["as_wanted"], found["repaired"]) == (2, 2, 1)
    assert found["repairs"] == [{"resource": "arn:1", "tag": "env", "was": "prod", "is": "test", "at": 50.0}]
    assert (found["key"], found["phase"], found["looked"]) == ("CloudMetadata/team/tags", "Ready", 50.0)


def test_what_could_not_be_written_still_differs_or_drifts() -> None:
    """The cloud refused it, a reply was lost, or it waits for an approval: nothing claims that it is so."""
    drifted, missing, fresh = plan_on(1, env="prod"), plan_on(2, ours=False), plan_on(3, ours=False, env="foreign")
    refused = Denied("not allowed", code="AccessDenied")
    waits = ApprovalNeeded("digest", 1, 0, Approver("CloudMetadata", "team", "tags"))
    stopped = {"failed": {"arn:1": refused}, "later": frozenset({"arn:2"})}
    found = report(outcome(drifted, missing, fresh, approval=waits, **stopped))
    assert found["counts"] == {"as_wanted": 0, "differs": 2, "drifted": 1, "left": 0, "not_known": 0}
    assert "arn:1: not allowed" in found["open"] and any("digest" in each for each in found["open"])


def test_a_resource_that_could_not_be_read_is_not_known() -> None:
    found = report(
        outcome(plan_on(1, env="test"), failed={"arn:2": Denied("no")}, unasked={"eu-west-1": Denied("off")})
    )
    assert (found["total"], found["counts"]["not_known"], found["counts"]["as_wanted"]) == (2, 1, 1)
    assert "eu-west-1: off" in found["open"]


def test_a_resource_that_vanished_in_the_pass_is_not_counted() -> None:
    found = report(outcome(plan_on(1, env="test"), plan_on(2, ours=False), selected=1))
    assert (found["total"], found["counts"]["as_wanted"]) == (1, 1)


def test_a_conflict_names_the_resource_both_values_and_who_is_older() -> None:
    older, younger = claim(update(env="prod"), created=1.0), claim(update(**WANTED), name="second", created=2.0)
    lost = plan_resource(volume({"env": "prod"}, arn="arn:1"), [older, younger], {}, Rules(), "uid-second")
    found = report(outcome(lost))
    assert found["counts"]["left"] == 1
    [conflict] = found["conflicts"]
    assert (conflict["resource"], conflict["tag"], conflict["is"], conflict["wanted"]) == (
        "arn:1",
        "env",
        "prod",
        "test",
    )
    assert "AWSMetadata ns/first is older" in conflict["why"]


def test_what_there_is_no_room_for_is_trimmed() -> None:
    full = volume({f"k{number:02}": "v" for number in range(50)}, arn="arn:1")
    partial, strict = (plan(full, claim(update(**WANTED), limit=each)) for each in reversed(LimitPolicy))
    assert [each["tag"] for each in report(outcome(strict))["trimmed"]] in (["env"], [""])
    found = report(outcome(partial))
    assert found["conflicts"] == [] and len(found["trimmed"]) == 1


def test_what_is_beyond_the_list_is_counted() -> None:
    older, younger = claim(update(env="prod"), created=1.0), claim(update(**WANTED), name="second", created=2.0)
    plans = [
        plan_resource(volume({}, arn=f"arn:{number}"), [older, younger], {}, Rules(), "uid-second")
        for number in range(MOST_LISTED + 3)
    ]
    found = report(outcome(*plans))
    assert (len(found["conflicts"]), found["unlisted"], found["counts"]["left"]) == (MOST_LISTED, 3, MOST_LISTED + 3)


def test_an_object_that_is_refused_whole_says_why_and_counts_nothing() -> None:
    found = report(Refused("ReferenceMissing", "AWSMetadata team/gone does not exist"))
    assert (found["total"], found["open"]) == (0, ["AWSMetadata team/gone does not exist"])


def test_before_the_first_pass_the_status_speaks_and_nothing_is_counted() -> None:
    """After a restart nobody knows the number: it is not zero."""
    trouble = stored(status="False", reason="AccessDenied", message="arn:1: not allowed")
    for raw, said in ((trouble, ["arn:1: not allowed"]), (stored(status="True", reason="Applied", message="all"), [])):
        [found] = build_report([raw], PassSummaries(lambda: 0.0).find)["objects"]
        assert (found["total"], found["counts"], found["repaired"], found["looked"]) == (None, None, None, None)
        assert found["open"][:-1] == said and "has not looked" in found["open"][-1]


def test_repairs_add_up_over_passes_and_end_with_the_object() -> None:
    passes, drifted = PassSummaries(lambda: 1.0), plan_on(1, env="prod")
    for _ in range(3):
        passes(KEY, [outcome(drifted, repairs=repairs_of(drifted))])
    found = passes.find(KEY)
    assert found is not None and (found.repaired, len(found.repairs)) == (3, 3)
    passes(KEY, None)
    assert passes.find(KEY) is None


def test_a_tag_with_an_empty_value_is_a_tag() -> None:
    drifted = plan_on(1, env="")
    [repair] = summarize([outcome(drifted, repairs=repairs_of(drifted))], 0.0).repairs
    assert repair.found == ""


def test_markup_and_marks_in_tags_stay_what_they_are() -> None:
    """The page shows text; nothing is escaped twice, and nothing is lost."""
    evil = '"><img src=x onerror=alert(1)>\u202e' + "x" * 10_000
    drifted = plan_on(1, env=evil)
    assert report(outcome(drifted, repairs=repairs_of(drifted)))["repairs"][0]["was"] == evil


def test_standings_are_told_in_words_of_the_contract() -> None:
    assert len(report(outcome())["counts"]) == len(TagStanding)


# -- of the metadata controller itself -----------------------------------------------------------------------------


def watched(lab: Lab) -> PassSummaries:
    """Let the lab's controller tell what each pass came to."""
    passes = PassSummaries(lab.clock.now)
    lab.process = CloudReconciler(replace(lab.means, hooks=PassHooks(passes)))
    return passes


def find(lab: Lab, passes: PassSummaries, name: str = "metadata") -> dict[str, Any]:
    found = build_report(lab.clouds(), passes.find)["objects"]
    return next(each for each in found if each["name"] == name)


async def test_drift_that_the_controller_repaired_is_on_the_page() -> None:
    lab = Lab()
    first, second, _ = lab.groups(3)
    passes = watched(lab)
    await lab.apply_examples()
    lab.wait()
    await lab.settle()
    assert find(lab, passes)["counts"]["as_wanted"] == 3 and find(lab, passes)["repaired"] == 0
    lab.somebody_sets(first, env="mine")
    lab.somebody_strips(second, "centre")
    lab.wait()
    await lab.settle()
    found = find(lab, passes)
    assert (found["phase"], found["counts"]["as_wanted"], found["repaired"]) == ("Ready", 3, 2)
    repairs = {(each["resource"], each["tag"], each["was"], each["is"]) for each in found["repairs"]}
    assert repairs == {(first, "env", "mine", "test"), (second, "centre", None, "eng")}


@pytest.mark.parametrize("limit", ["POLICY_APPLY_PARTIAL", "POLICY_APPLY_STRICT"])
async def test_what_the_controller_has_no_room_for_is_on_the_page(limit: str) -> None:
    lab = Lab()
    full = lab.group("full", **{CLASSIFIER: "owned"}, **{f"z{number}": "1" for number in range(48)})
    lab.groups(1)
    passes = watched(lab)
    await lab.tags("tags", {"env": "test", "centre": "eng"})
    await lab.cloud("metadata", "tags", controllerconfig={"limit": limit})
    await lab.work()
    found = find(lab, passes)
    assert {each["resource"] for each in found["trimmed"]} == {full} and found["conflicts"] == []
    assert (found["total"], found["counts"]["as_wanted"] + found["counts"]["left"]) == (2, 2)
