"""The same families with a PowerVS cluster on the simulated IBM Cloud, and those that need a status."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from freehold.engine.outcomes import Reason
from freehold_sim.ibm.settings import Lags, Settings
from lab import (
    catalogue,
    catalogue_deletions,
    catalogue_forgeries,
    catalogue_keys,
    catalogue_more,
    catalogue_restores,
    faults,
)
from lab.catalogue import Families, Ground
from lab.families import UNMEASURED, Case, Named, at_each_call, crashes
from lab.life import Course
from lab.oracles import NO_EXCUSE, Excuse
from lab.powervs import PowerVSLife, PowerVSWorld

TAGGED = ("workspace", "dhcp-server", "vpc", "vpc-subnet", "load-balancer", "transit-gateway")
KINDS = (*TAGGED, "transit-gateway-connection")

UNNAMED: Mapping[str, Any] = dict.fromkeys(
    ("serviceInstance", "vpcSubnets", "transitGateway", "loadBalancers"), None
) | {"vpc": {"region": "us-south"}}
"""Default names, which a stranger's resource may have, too. Three zones, so three subnets."""


def _lagging_world(lag: float, tag_lag: float, restless: bool) -> Callable[[], PowerVSWorld]:
    lags = Lags(tag_lag, tag_lag, tag_lag, min(tag_lag, 5), lag, lag, restless, by_id=lag)
    return partial(PowerVSWorld, settings=Settings(lags=lags))


_weather = _lagging_world
"""The name that scripts outside this repository use."""


def _edit(**spec: Any) -> Callable[[Course], object]:
    def edit(life: Course) -> None:
        assert isinstance(life, PowerVSLife)
        life.edit(**spec)

    return edit


SUBNET = {"name": "freehold-demo-vpcsubnet"}
EDITS: Mapping[str, tuple[Callable[[Course], object], Excuse]] = {
    "one more subnet": (_edit(vpcSubnets=[SUBNET, {"name": "more", "zone": "us-south-2"}]), NO_EXCUSE),
    "another subnet": (_edit(vpcSubnets=[{"name": "other", "zone": "us-south-2"}]), Excuse(surplus=True)),
    "another gateway": (_edit(transitGateway={"name": "other-gateway"}), Excuse(surplus=True)),
    "another load balancer": (_edit(loadBalancers=[{"name": "other-balancer"}]), Excuse(surplus=True)),
    "another VPC": (_edit(vpc={"name": "other-vpc", "region": "us-south"}), Excuse(surplus=True)),
    "a security group": (_edit(vpcSecurityGroups=[{"name": "more-group"}]), NO_EXCUSE),
    "tags": (_edit(tags=[{"key": "team", "value": "red"}]), NO_EXCUSE),
}

POWERVS = Ground(
    world=PowerVSWorld,
    read_lags=_lagging_world,
    kinds=KINDS,
    tagged=TAGGED,
    loose=("load-balancer", "vpc-subnet", "dhcp-server"),
    hosts=("workspace",),
    named=(partial(PowerVSWorld, spec=UNNAMED), KINDS),
    branded=(PowerVSWorld, TAGGED),
    edits=EDITS,
    step=8,
    first_creates=range(8, 20),
    settle=120.0,
    taken=(Reason.NAME_TAKEN, Reason.UNFIT),  # a VPC that the spec uses by its name, and that lets nobody in
    fails=("workspace", "dhcp-server", "vpc", "vpc-subnet", "load-balancer", "transit-gateway"),
)


def _wipe(life: Course) -> None:
    assert isinstance(life, PowerVSLife)
    life.wipe_status()


def _status_wiped() -> Iterator[Case]:
    """All of the status is lost while the process is down, as a restore or a move loses it."""
    kinds = (faults.BEFORE, faults.AFTER, faults.late_crash(20))
    yield from at_each_call(PowerVSWorld, kinds, calls=range(POWERVS.last), on_crash=_wipe)


def _place_taken() -> Iterator[Case]:
    """A stranger takes the only place for ours, with another name."""
    full = Excuse(frozenset({Reason.QUOTA}), frozenset({"workspace"}))
    for crash in catalogue.NO_CRASH_TOO:
        meddling = partial(catalogue.meddling, PowerVSWorld, "rival", crash=crash, numbers=POWERVS.moments)
        yield from (replace(case, excuse=full) for case in meddling(kinds=["dhcp-server"]))
        yield from meddling(kinds=["transit-gateway-connection"])


GIVEN = partial(PowerVSWorld, given=True)
STORAGE_GIVEN = partial(PowerVSWorld, storage_given=True)
GROUP = {
    "name": "freehold-demo-group",
    "rules": [
        {
            "action": "allow",
            "direction": "inbound",
            "source": {
                "protocol": "tcp",
                "portRange": {"minimumPort": 22, "maximumPort": 22},
                "remotes": [{"remoteType": "any"}],
            },
        }
    ],
}
STORAGE = {"name": "freehold-demo-cos", "bucketName": "freehold-demo-bucket", "bucketRegion": "us-south"}
EVERYTHING = partial(
    PowerVSWorld,
    spec={**UNNAMED, "vpcSecurityGroups": [GROUP], "cosInstance": STORAGE, "tags": [{"key": "team", "value": "red"}]},
)
"""Each kind, three subnets, rules, a bucket and user tags."""


def _wants_more(life: Course) -> None:
    _edit(vpcSecurityGroups=[GROUP], cosInstance=STORAGE)(life)


def _refused(life: Course) -> None:
    """A resource group that does not exist: nothing of the spec is known."""
    if not life.harness.object.gone:  # type: ignore[attr-defined]  # a PowerVS life
        life.edit(resourceGroup={"name": "no-such-group"})  # type: ignore[attr-defined]  # a PowerVS life


def _struck_on_a_given_carrier() -> Iterator[Case]:
    """Its mark is on somebody else's gateway, and must not stay there."""
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(GIVEN, "strike", ("transit-gateway-connection",), crash, POWERVS.moments)


FAMILIES: Families = {
    **catalogue.families(POWERVS),
    "crashes, carrier given": lambda: crashes(GIVEN),
    "delete after a crash, carrier given": lambda: crashes(GIVEN, on_crash=catalogue.delete_now),
    "carried resource deleted, carrier given": _struck_on_a_given_carrier,
    "status wiped after a crash": _status_wiped,
    "crashes, storage given": lambda: crashes(STORAGE_GIVEN),
    "delete after a crash, storage given": lambda: crashes(STORAGE_GIVEN, on_crash=catalogue.delete_now),
    "crashes, every kind": lambda: crashes(EVERYTHING),
    "delete after a crash, every kind": lambda: crashes(EVERYTHING, on_crash=catalogue.delete_now),
    "stranger in the place of ours": _place_taken,
    "restored from before an edit": lambda: catalogue_restores.before_an_edit(PowerVSWorld, _wants_more, 40),
    **catalogue_more.more(POWERVS),
    **catalogue_more.lagging(POWERVS, 4),
    **catalogue_restores.refused_families(POWERVS, _refused),
    **catalogue_keys.families(POWERVS, catalogue_keys.KeyedPowerVSWorld),
    **catalogue_deletions.owned_families(POWERVS),
    **catalogue_restores.given_families(POWERVS, GIVEN),
    **catalogue_forgeries.families(POWERVS, GIVEN, ("transit-gateway-connection",), GIVEN, range(0, 140, 3)),
}

CI_FAMILIES = (
    "crash before and after each call",
    "single faults",
    "late effects within settle",
    "stranger of the same name",
    "our tags stripped",
    "journal rolled back, create in flight",
    "lags and reads that step back",
    "delete in a lagging cloud",
    "carried resource deleted, carrier given",
    "crashes, storage given",
    "delete after a crash, every kind",
    "stranger in the place of ours",
    "restored from before an edit",
)
"""Four cases of each run in CI, one of every other family."""

NAMED: Mapping[str, Named] = {
    "our tags stripped": Named(1, UNMEASURED),
    "journal rolled back, object deleted": Named(0, 4),
    "journal rolled back, a read fails": Named(0, 34),
    "journal rolled back, a read fails, carrier given": Named(0, 1),
    "restored from before an edit": Named(1, 21),
}
