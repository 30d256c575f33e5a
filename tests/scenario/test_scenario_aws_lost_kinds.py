"""An object is lost in an account in which several kinds of objects can have lost something: which kind it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.cli.commands.recover import _choose_kind
from freehold.cli.commands.search_scope import Searched, SearchScope
from freehold.controllers.recovery.orphans import MarkedOwner, find_orphans
from freehold.engine.keys import KeyRing
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.objects.served_resources import resource_of
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_control_plane import ControlPlaneHarness
from harness.standing import standing
from harness.stepping import run_blocking

OTHER_RING = KeyRing.single(b"another key" * 3)


def searched(harness: AwsHarness, ring: KeyRing) -> list[Searched]:
    """The account of the harness, by both kinds."""
    nowhere: Any = None
    deps = harness.account.build_read_only_deps(ring)
    kinds = (AWS_CLUSTER, AWS_MANAGED_CONTROL_PLANE)
    return [Searched(nowhere, nowhere, resource_of(each), each, "1/r", deps) for each in kinds]


def lost_in(harness: AwsHarness, at: Searched) -> MarkedOwner:
    (lost,) = run_blocking(find_orphans(at.deps, ()))
    return lost


@pytest.fixture(scope="module")
def plane() -> ControlPlaneHarness:
    return standing(ControlPlaneHarness)


@pytest.fixture(scope="module")
def cluster() -> AwsHarness:
    return standing(AwsHarness, aws_cluster(network={"vpc": {"availabilityZoneUsageLimit": 1}}))


@pytest.mark.parametrize("name", ("plane", "cluster"))
@pytest.mark.parametrize("known", (True, False), ids=("its key is known", "its key is lost"))
def test_seals_tell_the_kind_and_without_the_key_its_resources(
    request: pytest.FixtureRequest, name: str, *, known: bool
) -> None:
    harness: AwsHarness = request.getfixturevalue(name)
    places = searched(harness, harness.rings.ring if known else OTHER_RING)
    chosen, recovery = _choose_kind(places, lost_in(harness, places[0]))
    assert chosen.served is harness.served and recovery.owner.kind == harness.served.kind
    assert bool(recovery.proven) is known


def test_of_a_network_alone_seals_tell_the_kind(plane: ControlPlaneHarness) -> None:
    """No resource of it is of a kind that an AWSCluster has not."""
    places = searched(plane, plane.rings.ring)
    whole = lost_in(plane, places[0])
    network = replace(whole, resources=tuple(each for each in whole.resources if each.key.kind in ("vpc", "subnet")))
    assert _choose_kind(places, network)[0].served is AWS_MANAGED_CONTROL_PLANE


def test_an_account_is_looked_through_once(plane: ControlPlaneHarness) -> None:
    class Named(Searched):
        name = "AWS 1/r"

    nowhere: Any = None
    twice = [
        Named(nowhere, nowhere, nowhere, each, "1/r", nowhere) for each in (AWS_CLUSTER, AWS_MANAGED_CONTROL_PLANE)
    ]
    scope = SearchScope(twice, (), ())
    assert (str(scope), [len(each) for each in scope.list_accounts()]) == ("AWS 1/r", [2])
