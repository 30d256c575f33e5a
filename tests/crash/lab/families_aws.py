"""The same families with an AWSCluster on the simulated AWS, and those of what AWS has: parts, tags that are a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from freehold.engine.interface import PassResult
from freehold.engine.outcomes import Reason
from freehold_sim.aws.settings import Delays, Lags, Settings
from lab import (
    catalogue,
    catalogue_edges,
    catalogue_forgeries,
    catalogue_keys,
    catalogue_more,
    catalogue_restores,
    faults,
)
from lab.aws import ONE_ZONE, AwsLife, AwsWorld
from lab.aws_requests import IMAGE
from lab.catalogue import Families, Ground
from lab.families import UNMEASURED, Case, Named, at_each_call, crashes
from lab.life import Course, Wedged
from lab.oracles import NO_EXCUSE, Excuse

KINDS = (
    "vpc",
    "subnet",
    "internet-gateway",
    "elastic-ip",
    "nat-gateway",
    "route-table",
    "security-group",
    "classic-load-balancer",
)

UNDATED = (
    "vpc",
    "subnet",
    "internet-gateway",
    "egress-only-gateway",
    "route-table",
    "elastic-ip",
    "target-group",
    "listener",
)
"""Kinds of which AWS shows no date."""


def _lagging(lag: float, tag_lag: float, restless: bool, **how: Any) -> Callable[[], AwsWorld]:
    return partial(AwsWorld, settings=Settings(lags=Lags(lag, tag_lag, tag_lag, tag_lag, restless)), **how)


def _edit(**spec: Any) -> Callable[[Course], object]:
    def edit(life: Course) -> None:
        assert isinstance(life, AwsLife)
        life.edit(**spec)

    return edit


def _no_load_balancer(life: Course) -> None:
    """Not once its address is the endpoint, which cannot change: such a spec is refused."""
    assert isinstance(life, AwsLife)
    if "controlPlaneEndpoint" not in life.harness.object.raw["spec"]:
        life.edit(controlPlaneLoadBalancer={"loadBalancerType": "disabled"})


RULE = {"description": "ssh", "protocol": "tcp", "fromPort": 22, "toPort": 22, "cidrBlocks": ["10.0.0.0/8"]}
CHECK = {"intervalSeconds": 20, "timeoutSeconds": 6}
EDITS: Mapping[str, tuple[Callable[[Course], object], Excuse]] = {
    "tags": (_edit(additionalTags={"team": "red"}), NO_EXCUSE),
    "a rule": (_edit(network={**ONE_ZONE["network"], "additionalControlPlaneIngressRules": [RULE]}), NO_EXCUSE),
    "a health check": (_edit(controlPlaneLoadBalancer={"healthCheck": CHECK}), NO_EXCUSE),
    "no load balancer": (_no_load_balancer, Excuse(surplus=True)),
    "a bastion": (_edit(bastion={"enabled": True, "ami": IMAGE}, sshKeyName=""), NO_EXCUSE),
}

AWS = Ground(
    world=AwsWorld,
    read_lags=_lagging,
    kinds=KINDS,
    tagged=KINDS,
    loose=("classic-load-balancer", "nat-gateway", "route-table", "security-group"),
    hosts=("vpc", "subnet"),
    named=(AwsWorld, ("security-group", "classic-load-balancer", "subnet")),
    branded=(AwsWorld, KINDS),
    edits=EDITS,
    step=8,
    first_creates=range(6, 16),
    settle=120.0,
    fails=("nat-gateway",),
    taken=(Reason.NAME_TAKEN, Reason.INVALID),  # of a subnet, whose range EC2 refuses
    undated=dict.fromkeys(UNDATED, (Reason.AMBIGUOUS,)),
    fails_without={"nat-gateway": "internet-gateway"},
)


@dataclass
class KeyedAwsWorld(AwsWorld):
    """With a ring that changes."""

    keyed: catalogue_keys.Keyed = field(default_factory=catalogue_keys.Keyed)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.harness.rings.ring = self.keyed.now

    def begin(self, **how: Any) -> KeyedAwsLife:
        self.life = KeyedAwsLife(self, **how)
        return self.life


class KeyedAwsLife(catalogue_keys.KeyedReconciledLife, AwsLife):
    def one_pass(self) -> PassResult | None:
        return super().one_pass()


def _wipe(life: Course) -> None:
    assert isinstance(life, AwsLife)
    life.wipe_status()


def status_wiped(on: Ground) -> Iterator[Case]:
    """All of the status is lost while the process is down, as a restore or a move loses it."""
    kinds = (faults.BEFORE, faults.AFTER, faults.late_crash(20))
    yield from at_each_call(on.world, kinds, calls=range(on.last), on_crash=_wipe)


def parts_undone(on: Ground) -> Iterator[Case]:
    """Somebody detaches our gateway, or takes a route or a rule of ours out.

    A NAT gateway that is created at that moment fails in the cloud, which no read can prevent: it is named.
    """
    failed = Excuse(failed=frozenset({"nat-gateway"}))
    for crash in catalogue.NO_CRASH_TOO:
        unhook = partial(catalogue.meddling, on.world, "unhook", crash=crash, numbers=on.moments)
        yield from unhook(kinds=("route-table", "security-group"))
        yield from (replace(case, excuse=failed) for case in unhook(kinds=("internet-gateway",)))


def routes_of_others(on: Ground) -> Iterator[Case]:
    """Somebody adds a route to a table of ours: it stays until the table goes."""
    for crash in catalogue.NO_CRASH_TOO:
        numbers = range(on.first_creates.stop, on.last, 2)
        yield from catalogue.meddling(on.world, "drop_in", ("route-table",), crash, numbers, after_create=_still_there)


def records_lost(on: Ground) -> Iterator[Case]:
    """The journal is put back to its first version while the process is down: the tags tell everything again."""
    kinds = (faults.BEFORE, faults.AFTER, faults.late_crash(20))
    yield from at_each_call(on.world, kinds, calls=range(on.last), on_crash=_forget)


def _forget(life: Course) -> None:
    life.roll_back(1000)


def begun_anew(on: Ground) -> Iterator[Case]:
    """While everything is being created the object is put back to before its first pass, while the process is down.

    Later its finalizer would be gone too: a delete then reaches no operator.
    """
    kinds = (faults.BEFORE, faults.AFTER)
    yield from at_each_call(on.world, kinds, calls=range(on.stands), on_crash=_begin_anew)


def _begin_anew(life: Course) -> None:
    assert isinstance(life, AwsLife)
    life.begin_anew()


def retagged(on: Ground) -> Iterator[Case]:
    """Another value under the key of our seal: nothing of that resource is changed or deleted before a person looks."""
    for crash in catalogue.NO_CRASH_TOO:
        reasons = [Reason.TAG_TAKEN, Reason.NOT_OWNED, Reason.IN_USE]
        numbers = range(on.stands, on.begun, 2)
        yield from catalogue.meddling(on.world, "retag", on.loose, crash, numbers, reasons, after_create=_still_there)


def _still_there(life: Course) -> None:
    """While the resource is there: its delete takes the tag with it."""
    if replaced := life.world.tampered():
        raise Wedged(", ".join(replaced))


def homonyms(on: Ground) -> Iterator[Case]:
    """Another cluster of our name works in the account: its tags with that name are no reason to touch what it has.

    Before anything of ours is on record nothing would be created (NameTaken), so it begins later.
    """
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(on.world, "homonym", on.kinds, crash, range(on.stands, on.last, on.step))


def _refused(life: Course) -> None:
    """A field that is refused: nothing of the spec is known."""
    assert isinstance(life, AwsLife)
    if not life.harness.object.gone:
        life.edit(network={"vpc": {"ipamPool": {"id": "ipam-pool-1"}}})


BUCKET = {
    "name": "freehold-demo-bucket",
    "controlPlaneIAMInstanceProfile": "control-plane.example",
    "nodesIAMInstanceProfiles": ["nodes.example"],
}
EVERY_OTHER_KIND = {
    "network": {
        "vpc": {**ONE_ZONE["network"]["vpc"], "ipv6": {}, "secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}
    },
    "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "additionalListeners": [{"port": 8132}]},
    "secondaryControlPlaneLoadBalancer": {"name": "second", "loadBalancerType": "nlb", "scheme": "internal"},
    "bastion": {"enabled": True, "ami": IMAGE},
    "sshKeyName": "",
    "s3Bucket": BUCKET,
    "additionalTags": {"team": "red"},
}
_wants_more = _edit(bastion={"enabled": True, "ami": IMAGE}, sshKeyName="", s3Bucket=BUCKET)
SECOND = partial(AwsWorld, spec=EVERY_OTHER_KIND)
GIVEN = partial(AwsWorld, spec={**EVERY_OTHER_KIND, "network": {}}, given=True)
SLOW = partial(AwsWorld, delays=Delays())
OTHERS = (
    "egress-only-gateway",
    "vpc-endpoint",
    "instance",
    "network-load-balancer",
    "target-group",
    "listener",
    "s3-bucket",
)
OTHER_EDITS: Mapping[str, tuple[Callable[[Course], object], Excuse]] = {
    "tags": EDITS["tags"],
    "a health check": (_edit(controlPlaneLoadBalancer={"healthCheck": CHECK}), NO_EXCUSE),
    "no bastion": (_edit(bastion={"enabled": False}), Excuse(surplus=True)),
    "no second load balancer": (_edit(secondaryControlPlaneLoadBalancer=None), Excuse(surplus=True)),
}
SECOND_GROUND = replace(
    AWS,
    world=SECOND,
    read_lags=partial(_lagging, spec=EVERY_OTHER_KIND),
    kinds=OTHERS,
    tagged=OTHERS,
    loose=("target-group", "s3-bucket"),
    hosts=("vpc",),
    named=(SECOND, ("network-load-balancer", "target-group", "s3-bucket")),
    branded=(SECOND, OTHERS),
    edits=OTHER_EDITS,
    fails=(),
    taken=(*AWS.taken, Reason.NOT_OWNED),  # of a bucket that may be ours, or one that was made when ours had gone
)


def stripped(on: Ground) -> Iterator[Case]:
    """Somebody takes our tags off.

    Where the process dies before the id is on record, nothing shows that a subnet, a security group or a target group
    is ours, and its range, or its name, is taken. CreateListener answers with one that is there already, so that its
    tags must show that it is ours before it is recorded. The name of a bucket may be another's once its delete was
    sent (ADR 7). What has neither a name of its own nor a client token is named, and a person decides (ADR 7).
    """
    taken = [Reason.NAME_TAKEN]
    reasons = {
        "subnet": [Reason.INVALID], "security-group": taken, "listener": taken, "target-group": taken,
        "network-load-balancer": taken, "s3-bucket": [Reason.NOT_OWNED],
    }  # fmt: skip
    for crash in catalogue.NO_CRASH_TOO:
        for kind in on.tagged:
            yield from catalogue.meddling(on.world, "strip", (kind,), crash, on.moments, reasons.get(kind, ()))


def _second() -> Families:
    every, edges = catalogue.families(SECOND_GROUND), catalogue_edges.families(SECOND_GROUND)
    table = {**every, **edges}
    table["our tags stripped"] = partial(stripped, SECOND_GROUND)
    return {f"{name}, every other kind": cases for name, cases in table.items()}


FAMILIES: Families = {
    **catalogue.families(AWS),
    "our tags stripped": partial(stripped, AWS),
    "status wiped after a crash": partial(status_wiped, AWS),
    "parts taken out": partial(parts_undone, AWS),
    "routes of others": partial(routes_of_others, AWS),
    "all records lost after a crash": partial(records_lost, AWS),
    "restored from before its first pass": partial(begun_anew, AWS),
    "restored from before its first pass, every other kind": partial(begun_anew, SECOND_GROUND),
    "another's value under the key of our seal": partial(retagged, AWS),
    "another cluster of our name": partial(homonyms, AWS),
    "restored from before an edit": partial(catalogue_restores.before_an_edit, AwsWorld, _wants_more, 30),
    **catalogue_edges.families(AWS),
    **catalogue_more.more(AWS),
    **catalogue_more.lagging(AWS, 4),
    **catalogue_restores.refused_families(AWS, _refused),
    **catalogue_keys.families(AWS, KeyedAwsWorld),
    "forged seals": lambda: catalogue_forgeries.seals(AWS),
    "forged seals beside a restored journal": lambda: catalogue_forgeries.seals_and_restore(AWS),
    "a spy who knows the nonce": lambda: catalogue_forgeries.spies(AWS),
    **_second(),
    "crashes, at AWS's own pace": lambda: crashes(SLOW),
    "late effects, at AWS's own pace": lambda: catalogue.late_effects(replace(AWS, world=SLOW)),
    "crashes, network given": lambda: crashes(GIVEN),
    "delete after a crash, network given": lambda: crashes(GIVEN, on_crash=catalogue.delete_now),
}

CI_FAMILIES = (
    "crash before and after each call",
    "single faults",
    "stranger of the same name",
    "our tags stripped",
    "journal rolled back, create in flight",
    "parts taken out",
    "another cluster of our name",
    "crash before and after each call, every other kind",
)
"""One case of each runs in CI, and one of each family that no other world has."""

NAMED: Mapping[str, Named] = {
    "our tags stripped": Named(1, UNMEASURED),
    "our tags stripped, every other kind": Named(0, UNMEASURED),
}
