"""A journal that names no key of the ring: whoever may make or edit an object can write one, and nobody believes it.

The forged records are signed by the rule from before there was a key ring: on AWS with an empty secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.keyring.needs import build_first_ring, need_of
from freehold.engine import decisions
from freehold.engine import journal as journals
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.ownership import Owner
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import MACHINE, own
from harness.powervs import Harness, ReconcilerHarness
from harness.resources import REGION, made_by_us
from harness.standing import standing

JOURNAL = names.JOURNAL_ANNOTATION
UUID = "66666666-6666-4666-8666-666666666666"
Json = dict[str, Any]
AnyHarness = ReconcilerHarness[Any]


@dataclass(frozen=True)
class Stranger:
    """A stranger's resource: its engine id, its target, and its id in the simulator."""

    kind: str
    ident: str
    target: str
    id: str


@dataclass
class Attack:
    """One object, and the resources of strangers that a forged journal of it names."""

    harness: AnyHarness
    theirs: tuple[Stranger, ...]
    ours: Callable[[Any], Iterable[Any]]
    secret: bytes

    def __post_init__(self) -> None:
        self.before = self.seen()

    def seen(self) -> list[str]:
        """Every resource of strangers as it is now, with its tags."""
        wanted = {each.id for each in self.theirs}
        return [
            json.dumps(row, sort_keys=True, default=sorted) for row in self.harness.resources() if row["id"] in wanted
        ]

    @property
    def owner(self) -> Owner:
        raw = self.harness.object.raw
        return Owner(UUID, raw["kind"], raw["metadata"]["namespace"], raw["metadata"]["name"])

    def row(self, theirs: Stranger, owner: Owner, **more: Any) -> Json:
        said = "\0".join(("deed", owner.uuid, owner.namespace, owner.name, theirs.kind, theirs.ident))
        signature = base64.b32encode(hmac.digest(self.secret, said.encode(), "sha256")).decode().lower()[:16]
        row = {"id": theirs.ident, "t": theirs.target, "o": 1.0, "p": "o", "q": [], "a": 1, "s": signature}
        return {name: value for name, value in {**row, **more}.items() if value is not None}

    def journal(self, owner: Owner, **more: Any) -> str:
        nodes = {f"{each.kind}/x": self.row(each, owner, **more) for each in self.theirs}
        return json.dumps({"v": 2, "owner": [owner.uuid, owner.kind, owner.namespace, owner.name], "nodes": nodes})

    def write(self, journal: str | None) -> None:
        self.harness.object.patch({"metadata": {"annotations": {JOURNAL: journal}}})

    def delete(self) -> None:
        """Delete the object, and give it time: it may stay."""
        self.harness.object.delete()
        self.harness.for_a_while(600.0)

    def follow_advice(self) -> None:
        """Do what the condition says: it names a kubectl command that takes the annotation off."""
        message = self.harness.condition("Ready")["message"]
        words = shlex.split(message[message.index("kubectl annotate") :])
        metadata = self.harness.object.raw["metadata"]
        kind, name = self.harness.object.raw["kind"].lower(), metadata["name"]
        assert words == ["kubectl", "annotate", kind, name, "-n", metadata["namespace"], f"{JOURNAL}-"]
        self.write(None)


def on_aws(*, ready: bool = False) -> Attack:
    harness = standing(AwsHarness) if ready else AwsHarness()
    strangers = Strangers(harness.cloud)
    vpc = strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.77.0.0/16"})["id"]
    place = {"VpcId": vpc, "CidrBlock": "10.77.1.0/24", "AvailabilityZone": "us-east-1a"}
    subnet = strangers.create("ec2", "CreateSubnet", place)["id"]
    group = strangers.create("ec2", "CreateSecurityGroup", {"GroupName": "prod", "Description": "d", "VpcId": vpc})[
        "id"
    ]
    machine = strangers.create("ec2", "RunInstances", {**MACHINE, "SubnetId": subnet})["id"]
    harness.clock.advance(3600.0)
    made = {"vpc": vpc, "subnet": subnet, "security-group": group, "instance": machine}
    arn = "arn:aws:ec2:us-east-1:111122223333:{}/{}".format
    return Attack(harness, tuple(Stranger(kind, id_, arn(kind, id_), id_) for kind, id_ in made.items()), own, b"")


def on_ibm(*, ready: bool = False) -> Attack:
    harness = standing(Harness) if ready else Harness()
    make = harness.cloud.strangers.make
    vpc = make("vpc", region=REGION, name="theirs")
    subnet = make("subnet", region=REGION, vpc=vpc["id"], zone="us-south-1", name="theirs")
    workspace = make("workspace", zone="dal10", name="theirs")
    harness.clock.advance(3600.0)
    regional = {"vpc": vpc, "vpc-subnet": subnet}
    theirs = [Stranger(kind, f"{REGION}/{row['id']}", row["crn"], row["id"]) for kind, row in regional.items()]
    theirs.append(Stranger("workspace", workspace["id"], workspace["crn"], workspace["id"]))
    # The secret of the API key is worse than what a stranger has: even with it nothing is believed.
    secret = hashlib.sha256(b"freehold journal\0" + harness.cloud.settings.api_key.encode()).digest()
    return Attack(harness, tuple(theirs), made_by_us, secret)


BOTH = pytest.mark.parametrize("begin", [on_aws, on_ibm], ids=["AWS", "IBM"])


def starts_for_the_first_time(attack: Attack) -> None:
    """The operator has no ring yet: it makes one over the objects that are stored."""
    need, harness = need_of(attack.harness.object.raw), attack.harness
    harness.rings.ring = build_first_ring("the test", [need], harness.clock.now()).build_ring()
    harness.start_process()


@BOTH
@pytest.mark.parametrize(
    "more", [{}, {"p": "r"}, {"d": 1.0}, None], ids=["recorded", "not read back", "delete requested", "no record"]
)
def test_a_journal_that_was_there_before_the_first_start_is_not_believed(
    begin: Callable[..., Attack], more: Json | None
) -> None:
    """Whoever may only create objects had a stranger's running instance deleted."""
    attack = begin()
    harness = attack.harness
    attack.write(attack.journal(attack.owner, **more) if more is not None else without_nodes(attack, attack.owner))
    starts_for_the_first_time(attack)
    harness.for_a_while(1800.0)
    assert harness.condition("Ready")["reason"] == "JournalCorrupt"
    assert "names no key" in harness.condition("Ready")["message"]
    assert harness.calls(mutating=True) == []
    assert "finalizers" not in harness.object.raw["metadata"]
    attack.delete()
    assert harness.object.gone
    assert attack.seen() == attack.before


@BOTH
def test_an_object_with_such_a_journal_is_served_once_a_person_has_taken_it_off(begin: Callable[..., Attack]) -> None:
    attack = begin()
    attack.write(attack.journal(attack.owner))
    starts_for_the_first_time(attack)
    attack.harness.for_a_while(300.0)
    attack.follow_advice()
    attack.harness.up()
    record = journals.loads(attack.harness.object.raw["metadata"]["annotations"][JOURNAL])
    assert record.owner.uuid == attack.harness.object.raw["metadata"]["uid"]
    attack.harness.down()
    assert attack.seen() == attack.before


@BOTH
@pytest.mark.parametrize("records", ["without a key", "with their keys"])
def test_a_journal_without_a_key_stops_an_object_that_was_ready(begin: Callable[..., Attack], records: str) -> None:
    """Status still proves whose it is: the marks in the cloud bring its records back."""
    attack = begin(ready=True)
    harness = attack.harness
    made = {row["id"] for row in attack.ours(harness)}
    document = json.loads(harness.object.raw["metadata"]["annotations"][JOURNAL])
    owner = Owner(*document["owner"])
    document.pop("key")
    for row in document["nodes"].values() if records == "without a key" else ():
        row.pop("k", None)
    document["nodes"] |= json.loads(attack.journal(owner))["nodes"]
    attack.write(json.dumps(document))
    writes = len(harness.calls(mutating=True))
    harness.for_a_while(1800.0)
    assert harness.condition("Ready")["reason"] == "JournalCorrupt"
    assert len(harness.calls(mutating=True)) == writes
    attack.follow_advice()
    harness.up()
    assert {row["id"] for row in attack.ours(harness)} == made
    harness.down()
    assert list(attack.ours(harness)) == []
    assert attack.seen() == attack.before


@BOTH
def test_such_a_journal_of_an_object_that_is_being_deleted_deletes_nothing(begin: Callable[..., Attack]) -> None:
    attack = begin(ready=True)
    harness = attack.harness
    good = harness.object.raw["metadata"]["annotations"][JOURNAL]
    attack.write(attack.journal(journals.loads(good).owner))
    writes = len(harness.calls(mutating=True))
    attack.delete()
    assert not harness.object.gone
    assert harness.condition("Ready")["reason"] == "JournalCorrupt"
    assert f"by hand and remove finalizer {harness.served.finalizer}" in harness.condition("Ready")["message"]
    assert len(harness.calls(mutating=True)) == writes
    assert attack.seen() == attack.before
    attack.write(good)
    harness.run(lambda: harness.object.gone)
    assert list(attack.ours(harness)) == []
    assert attack.seen() == attack.before


@BOTH
@pytest.mark.parametrize(
    ("more", "deleted"), [({}, False), ({"p": "r", "d": 1.0}, True)], ids=["recorded", "delete requested, and deleted"]
)
def test_records_without_a_key_are_named_and_left_alone(
    begin: Callable[..., Attack], more: Json, deleted: bool
) -> None:
    """Beside records with a key: each is an unsigned one, of which a person decides."""
    attack = begin(ready=True)
    harness = attack.harness
    document = json.loads(harness.object.raw["metadata"]["annotations"][JOURNAL])
    owner = Owner(*document["owner"])
    document["nodes"] |= json.loads(attack.journal(owner, **more))["nodes"]
    attack.write(json.dumps(document))
    harness.start_process()
    if not deleted:
        harness.for_a_while(1200.0)
        assert attack.seen() == attack.before
    attack.delete()
    assert not harness.object.gone
    assert list(attack.ours(harness)) == [], "nothing of ours waits for them"
    assert attack.seen() == attack.before
    said = harness.condition("Deleting")["message"] + json.dumps(harness.status()["resources"])
    command = f"freehold resolve {owner.name} -n {owner.namespace} {{}}/x --mine"
    for each in attack.theirs:
        assert each.id in said and command.format(each.kind) in said
    decide(attack, owner, Verdict.NOT_MINE)
    harness.run(lambda: harness.object.gone)
    assert attack.seen() == attack.before


def decide(attack: Attack, owner: Owner, verdict: Verdict) -> None:
    """As `freehold resolve` stores what a person has decided."""
    ring, at = attack.harness.rings.ring.derive_keys(owner), attack.harness.clock.now()
    made = [Decision(verdict, f"{each.kind}/x", each.ident, 1, "ada", at) for each in attack.theirs]
    text = decisions.dumps([decisions.sign_decision(each, ring) for each in made])
    attack.harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})


def without_nodes(attack: Attack, owner: Owner) -> str:
    return json.dumps({**json.loads(attack.journal(owner)), "nodes": {}})


@pytest.mark.parametrize("named", [False, True], ids=["no key", "the key that is named in every journal"])
def test_an_identity_with_the_uuid_of_another_cluster_reaches_none_of_its_resources(named: bool) -> None:
    """The uuid is public, and so is the name of a key: what is made with the key is over the object's name, too."""
    victim = standing(AwsHarness, aws_cluster())
    theirs = {row["id"]: json.dumps(row, sort_keys=True, default=sorted) for row in own(victim)}
    manifest = aws_cluster()
    uuid = journals.loads(victim.object.raw["metadata"]["annotations"][JOURNAL]).owner.uuid
    document: Json = {"v": 2, "owner": [uuid, manifest["kind"], "default", "evil"], "nodes": {}}
    document |= {"key": victim.rings.ring.writing} if named else {}
    manifest["metadata"] |= {"name": "evil", "annotations": {JOURNAL: json.dumps(document)}}
    evil = AwsHarness(manifest, beside=victim)
    evil.for_a_while(900.0)
    assert (evil.condition("Ready")["reason"] == "JournalCorrupt") is not named
    evil.object.delete()
    evil.for_a_while(3600.0)
    assert evil.object.gone
    left = {row["id"]: json.dumps(row, sort_keys=True, default=sorted) for row in own(victim)}
    assert {ident: left.get(ident) for ident in theirs} == theirs
    victim.down()
    assert own(victim) == []
