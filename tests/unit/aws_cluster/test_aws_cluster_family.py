"""IPv6 is neither added to a living AWSCluster nor taken away: at apply time, in the plan and in the condition."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Reason
from freehold.engine.resources import NodeKey
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import AWSClusterFacts, Recorded
from freehold.providers.aws.cluster.recorded import recorded_in
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from harness.aws_specs import NAMES, REGION, SUBNET, VPC, ZONES, Spec, cluster, decide
from unit.aws_cluster.test_aws_cluster_input import STRATEGY

FIELD = "spec.network.vpc.ipv6"
OWN = VPC["id"]
FOUR: Spec = {"region": REGION}
SIX: Spec = {"region": REGION, "network": {"vpc": {"ipv6": {}}}}
GIVEN: Spec = {"region": REGION, "network": {"vpc": {"id": OWN}, "subnets": [SUBNET]}}
GIVEN_SIX: Spec = {"region": REGION, "network": {"vpc": {"id": OWN, "ipv6": {}}, "subnets": [SUBNET]}}
READY: dict[str, Any] = {"ready": True, "phase": "Ready"}


def refusals(new: Spec, old: Spec, status: dict[str, Any] | None) -> list[str]:
    """What the API server says of an edit."""
    objects = [{**cluster(copy.deepcopy(spec)), **({"status": status} if status else {})} for spec in (new, old)]
    for each in objects:
        STRATEGY.decode(each)
    return [str(each) for each in STRATEGY.validate(objects[0], objects[1])]


@pytest.mark.parametrize(
    ("old", "new"), [(SIX, FOUR), (FOUR, SIX), (GIVEN_SIX, GIVEN), (GIVEN, GIVEN_SIX)],
    ids=["taken out", "added", "taken out of a given VPC", "added to a given VPC"],
)  # fmt: skip
@pytest.mark.parametrize("phase", ["Ready", "Progressing"])
def test_an_edit_of_a_living_cluster_is_refused_when_it_is_applied(old: Spec, new: Spec, phase: str) -> None:
    (found,) = refusals(new, old, {"ready": True, "phase": phase})
    assert found.startswith(f"{FIELD}: Invalid value: ") and "cannot be added" in found


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        pytest.param(FOUR, SIX, None, id="nothing is there yet"),
        pytest.param(SIX, FOUR, {"ready": False, "phase": "Progressing"}, id="it has not been ready"),
        pytest.param(FOUR, SIX, {"ready": True, "phase": "Blocked"}, id="an edit that was stored is taken back"),
        pytest.param(FOUR, {**FOUR, "network": {"vpc": {}}}, READY, id="written out, four"),
        pytest.param(FOUR, {**FOUR, "network": {}}, READY, id="written out in part"),
        pytest.param(SIX, {**SIX, "additionalTags": {"a": "b"}}, READY, id="another field"),
    ],
)
def test_other_edits_are_taken(old: Spec, new: Spec, status: dict[str, Any] | None) -> None:
    assert refusals(new, old, status) == []


def said(spec: Spec, recorded: Recorded, has_ipv6: Any = None) -> list[str]:
    found = decide(NAMES, cluster(spec), AWSClusterFacts(Answer(ZONES), recorded=recorded, own_vpc_has_ipv6=has_ipv6))
    return [str(each) for each in found.problems] if isinstance(found, RefusedSpec) else []


MADE_SIX, MADE_FOUR = Recorded(vpc=OWN, ipv6=True), Recorded(vpc=OWN)


def test_what_the_record_and_the_cloud_tell_of_its_own_vpc_is_kept() -> None:
    (taken,) = said(FOUR, MADE_SIX)
    assert taken == f"{FIELD}: {OWN} was made with IPv6, which cannot be taken away from a cluster; write ipv6: {{}}"
    (added,) = said(SIX, MADE_FOUR, Answer(False))
    assert added.startswith(f"{FIELD}: {OWN} was made without IPv6, which cannot be added to a cluster; remove it")


@pytest.mark.parametrize(
    ("spec", "recorded", "has_ipv6"),
    [
        pytest.param(SIX, Recorded(), None, id="nothing is there"),
        pytest.param(FOUR, Recorded(), None, id="nothing is there, four"),
        pytest.param(SIX, MADE_SIX, None, id="as it was made"),
        pytest.param(FOUR, MADE_FOUR, None, id="as it was made, four"),
        pytest.param(SIX, MADE_FOUR, Answer(True), id="its VPC alone is there"),
        pytest.param(SIX, MADE_FOUR, NotThere(), id="its VPC has gone, and is made anew"),
    ],
)
def test_the_rest_is_wanted(spec: Spec, recorded: Recorded, has_ipv6: Any) -> None:
    assert said(spec, recorded, has_ipv6) == []


def test_a_cloud_that_does_not_answer_decides_nothing() -> None:
    known = AWSClusterFacts(
        Answer(ZONES), recorded=MADE_FOUR, own_vpc_has_ipv6=NoAnswer(Reason.RETRYING, "no answer", 7.0)
    )
    found = decide(NAMES, cluster(SIX), known)
    assert isinstance(found, UndecidedSpec) and list(found.missing) == [FIELD]


def test_an_egress_only_gateway_of_its_own_tells_that_its_vpc_has_ipv6() -> None:
    key = NodeKey("egress-only-gateway", "main")
    assert recorded_in({key: Entry(RecordState.OWNED, id="eigw-1")}).ipv6
    assert not recorded_in({key: Entry(RecordState.VACANT)}).ipv6


def test_both_spellings_of_four_are_one_wish() -> None:
    plain, spelled = decide(NAMES, cluster(FOUR), _four()), decide(NAMES, cluster({**FOUR, "network": {}}), _four())
    assert isinstance(plain, Decided) and isinstance(spelled, Decided)
    assert plain.cluster_plan == spelled.cluster_plan


def _four() -> AWSClusterFacts:
    return AWSClusterFacts(Answer(ZONES), recorded=MADE_FOUR)
