"""CAPA's own way in the same harness, on the simulated AWS: it must lose resources and delete a stranger's.

Otherwise the results for ours mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from freehold.engine.port import Call
from lab import catalogue, families, faults
from lab.aws import ONE_ZONE, AwsWorld
from lab.baseline_capa import Capa
from lab.families import Case
from lab.families_aws import AWS
from lab.faults import Script
from lab.life import Course
from lab.oracles import Verdict


def test_it_works_without_crashes() -> None:
    assert not families.run(Case("alive", AWS.world, baseline=Capa)).faults


@cache
def _calls(of: Callable[[], AwsWorld]) -> tuple[Call, ...]:
    return tuple(families.golden(of, Capa).port.calls)


def _stopped(
    operation: str,
    fault: faults.Fault,
    on_crash: Callable[[Course], None] = lambda life: None,
    of: Callable[[], AwsWorld] = AwsWorld,
) -> Verdict:
    number = next(number for number, call in enumerate(_calls(of)) if call.operation == operation)
    script = partial(catalogue.given, Script({number: fault}))
    return families.run(Case(operation, of, script, baseline=Capa, on_crash=on_crash))


def test_a_gateway_that_was_not_attached_is_an_orphan() -> None:
    """It is looked for by its attachment, also to delete it."""
    lost = _stopped("attach_internet_gateway", faults.BEFORE)
    assert any("internet-gateway" in orphan for orphan in lost.orphans)


def test_a_vpc_that_was_not_recorded_is_an_orphan_if_the_object_is_deleted() -> None:
    lost = _stopped("create_vpc", faults.AFTER, catalogue.delete_now)
    assert any("vpc" in orphan for orphan in lost.orphans)


def test_a_route_table_that_was_not_associated_is_made_twice() -> None:
    lost = _stopped("associate_route_table", faults.BEFORE)
    assert any("route-table" in twice for twice in lost.duplicates)


NLB = partial(AwsWorld, spec={**ONE_ZONE, "controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}})


def test_with_a_network_load_balancer_it_works_too() -> None:
    assert not families.run(Case("alive", NLB, baseline=Capa)).faults


def test_a_target_group_without_listener_is_made_twice_and_an_orphan() -> None:
    """It is looked for by the load balancer that leads to it, also to delete it, and has another name each time."""
    lost = _stopped("create_listener", faults.BEFORE, of=NLB)
    assert any("target-group" in twice for twice in lost.duplicates)
    assert any("target-group" in orphan for orphan in lost.orphans)


def test_an_address_of_another_cluster_of_the_name_is_released() -> None:
    """To it the tag with the name is the owner."""
    number = next(n for n, call in enumerate(_calls(AwsWorld)) if call.operation == "delete_load_balancer")
    (case,) = catalogue.meddling(AWS.world, "homonym", ("elastic-ip",), None, (number,), baseline=Capa)
    assert families.run(case).wrong
