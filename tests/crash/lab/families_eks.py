"""The families with an AWSManagedControlPlane: its life, its updates, and what others and EKS itself do meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from freehold.engine.outcomes import Reason
from freehold_sim.aws.settings import Lags, Settings
from lab import catalogue, catalogue_edges, faults
from lab.aws_eks import ADDONS, UPDATES, EksLife, EksWorld, addon
from lab.aws_eks_neighbours import EKS_KINDS
from lab.catalogue import Families, Ground
from lab.families import UNMEASURED, Case, Named, at_each_call, crashes
from lab.families_aws_machine import downs
from lab.life import Course
from lab.oracles import NO_EXCUSE, Excuse

CLUSTER, ADDON, ENTRY, ROLE, PROVIDER = EKS_KINDS
UPDATED = partial(EksWorld, updates=UPDATES)


def _lagging(lag: float, tag_lag: float, restless: bool) -> Callable[[], EksWorld]:
    return partial(EksWorld, settings=Settings(lags=Lags(lag, tag_lag, tag_lag, tag_lag, restless)))


def _edit(**spec: Any) -> Callable[[Course], object]:
    def edit(life: Course) -> None:
        assert isinstance(life, EksLife)
        if not life.harness.object.gone:
            life.edit(**spec)

    return edit


EDITS: Mapping[str, tuple[Callable[[Course], object], Excuse]] = {
    "a version": (_edit(version="v1.34"), NO_EXCUSE),
    "a version of an addon": (_edit(**addon(ADDONS[1])), NO_EXCUSE),
    "logs": (_edit(logging={"audit": True}), NO_EXCUSE),
    "no addon and no entry": (_edit(addons=[], accessEntries=[]), NO_EXCUSE),
    "tags": (_edit(additionalTags={"team": "red"}), NO_EXCUSE),
}
ON_EKS = Ground(
    world=EksWorld,
    read_lags=_lagging,
    kinds=(*EKS_KINDS, "security-group"),
    tagged=(*EKS_KINDS, "security-group"),
    loose=(PROVIDER,),
    hosts=("eks-node-group", "eks-fargate-profile"),
    named=(EksWorld, ()),
    branded=(EksWorld, EKS_KINDS),
    edits=EDITS,
    step=8,
    first_creates=range(16, 58),
    settle=120.0,
    fails=(CLUSTER,),
)
ON_UPDATED = replace(ON_EKS, world=UPDATED)


def elsewhere(on: Ground) -> Iterator[Case]:
    """Somebody changes the configuration of our cluster, or its version, which is never lowered again."""
    for crash in catalogue.NO_CRASH_TOO:
        for deed, reasons in (("reconfigure", ()), ("upgrade", (Reason.INVALID,))):
            yield from catalogue.meddling(on.world, deed, (CLUSTER,), crash, range(0, on.last, 4), reasons)


def rivals(on: Ground) -> Iterator[Case]:
    """Somebody's cluster of our name lives in the network: it is not taken over, and what it made is not collected."""
    reasons = (Reason.NAME_TAKEN, Reason.COLLECTION_HELD)
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(on.world, "rival", (CLUSTER,), crash, range(20, on.stands, 4), reasons)


def successors(on: Ground) -> Iterator[Case]:
    """Another cluster has the name and the ARN of ours, which is gone: it is never touched."""
    reasons = (Reason.GONE, Reason.NOT_OWNED, Reason.NAME_TAKEN, Reason.AMBIGUOUS, Reason.COLLECTION_HELD)
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(on.world, "succeed", (CLUSTER,), crash, range(48, on.last, 4), reasons)


def failed(on: Ground) -> Iterator[Case]:
    """EKS cannot make the cluster, or an addon: it is said, and a person decides of the cluster."""
    for crash in catalogue.NO_CRASH_TOO:
        for kind in (CLUSTER, ADDON):
            cases = catalogue.meddling(on.world, "fail", (kind,), crash, range(0, on.stands, 6))
            yield from (
                replace(case, excuse=Excuse(kinds=frozenset({kind}), failed=frozenset({kind}))) for case in cases
            )


def policies(on: Ground) -> Iterator[Case]:
    """Somebody attaches a policy to our role: the delete waits for it, and names it."""
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(on.world, "attach", (ROLE,), crash, on.moments, [Reason.IN_USE])


def guests(on: Ground) -> Iterator[Case]:
    """Somebody's node group or Fargate profile keeps the cluster: it is named, and never deleted."""
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(on.world, "move_in", on.hosts, crash, on.moments, [Reason.IN_USE])


def forgotten(on: Ground) -> Iterator[Case]:
    """The journal is put back to its first version: the tags tell everything again."""
    kinds = (faults.BEFORE, faults.AFTER)
    yield from at_each_call(on.world, kinds, calls=range(on.last), on_crash=_forget)


def _forget(life: Course) -> None:
    life.roll_back(1000)


def status_wiped(on: Ground) -> Iterator[Case]:
    """All of the status is lost while the process is down, as a move loses it."""
    yield from at_each_call(on.world, (faults.BEFORE, faults.AFTER), calls=range(on.last), on_crash=_wipe)


def _wipe(life: Course) -> None:
    assert isinstance(life, EksLife)
    life.wipe_status()


LEFT_OUT = ("stranger's resource in ours",)
FORGED = replace(ON_EKS, branded=(EksWorld, (ADDON, ENTRY, ROLE, PROVIDER)))
"""A record with the ARN of another cluster refuses the spec (``test_aws_control_plane_input.py``)."""
FAMILIES: Families = {
    **{
        f"{name}, EKS": cases
        for name, cases in {**catalogue.families(ON_EKS), **catalogue_edges.families(ON_EKS)}.items()
        if name not in LEFT_OUT
    },
    "a stranger's id forged into the journal, EKS": partial(catalogue.forged_records, FORGED),
    "crash before and after each call, EKS updated": lambda: crashes(UPDATED),
    "single faults, EKS updated": partial(catalogue.single_faults, ON_UPDATED),
    "late effects within settle, EKS updated": partial(catalogue.late_effects, ON_UPDATED),
    "updates from elsewhere": partial(elsewhere, ON_EKS),
    "updates from elsewhere, EKS updated": partial(elsewhere, ON_UPDATED),
    "somebody's cluster of our name": partial(rivals, ON_EKS),
    "somebody's cluster in place of ours": partial(successors, ON_EKS),
    "EKS fails": partial(failed, ON_EKS),
    "somebody's policy on our role": partial(policies, ON_EKS),
    "somebody's nodes in our cluster": partial(guests, ON_EKS),
    "down for as long as a token lives, EKS": partial(downs, ON_EKS),
    "all records lost after a crash, EKS": partial(forgotten, ON_EKS),
    "status wiped after a crash, EKS": partial(status_wiped, ON_EKS),
}
NAMED: Mapping[str, Named] = {"our tags stripped, EKS": Named(UNMEASURED, UNMEASURED)}
CI_FAMILIES = (
    "crash before and after each call, EKS updated",
    "updates from elsewhere, EKS updated",
    "stranger of the same name, EKS",
    "somebody's cluster of our name",
    "somebody's cluster in place of ours",
    "somebody's nodes in our cluster",
    "EKS fails",
)
"""Of these a few cases run in CI. The others are those of every world."""
