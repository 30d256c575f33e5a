"""A key is lost, and records were forged before: a person leaves them out of what is believed, and they stay."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from typing import Any

from freehold.api import names
from freehold.cli.commands import lost_key
from freehold.cli.commands.lost_key import LostKeyList
from freehold.controllers.keyring.lost_key_evidence import (
    ObjectEvidence,
    RecordEvidence,
    RecordStanding,
    gather_evidence,
)
from freehold.controllers.keyring.needs import need_of
from freehold.controllers.keyring.stored_form import Acceptance, RingDocument
from freehold.engine import decisions
from freehold.engine import journal as journals
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.drivers import User
from freehold.engine.keys import KeyRing
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import aws_cluster
from harness.powervs import Harness
from harness.resources import REGION, made_by_us, only
from harness.standing import standing
from harness.stepping import run_blocking
from lab.aws import ONE_ZONE, QUICK, ROOMY, QuickHarness

SETTINGS = Settings(delays=QUICK, quotas=ROOMY, limits={})
LATER = 1_800_000_000.0
AnyHarness = QuickHarness | Harness


def _entries(harness: AnyHarness) -> dict[str, Any]:
    rows: dict[str, Any] = json.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])["nodes"]
    return rows


def _forge(harness: AnyHarness, **rows: Any) -> None:
    """Who may edit the object adds records."""
    text = harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    document = json.loads(text)
    document["nodes"] |= {name.replace("_", "/"): row for name, row in rows.items()}
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(document)}}})


def _list(harness: AnyHarness, document: RingDocument, lost: str) -> LostKeyList:
    """What ``freehold keys accept`` shows."""
    need = need_of(harness.object.raw)
    records = need.records[lost]
    ring = document.accept_loss(lost, Acceptance(0.0, "", {need.uuid: records})).build_ring()
    journal = journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    rows = run_blocking(gather_evidence(journal, records, harness.account.build_read_only_deps(ring)))
    return LostKeyList(lost, (ObjectEvidence(need.kind, need.object, need.uuid, rows),), (need,))


def _row(shown: LostKeyList, node: str) -> RecordEvidence:
    return next(row for _, row in shown.rows if row.record.node == node)


def _accept(harness: AnyHarness, shown: LostKeyList, document: RingDocument, without: Collection[str]) -> None:
    out = lost_key.left_out(shown, list(without))
    lost_key.require_acceptable(shown, out)
    harness.rings.ring = document.accept_loss(
        shown.lost, Acceptance(0.0, "ada", lost_key.select_accepted_records(shown, out))
    ).build_ring()
    harness.start_process()


def _decide(harness: AnyHarness, node: str, ring: KeyRing, verdict: Verdict = Verdict.NOT_MINE) -> None:
    journal = journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    entry = journal.entries[journals.NodeKey.parse(node)]
    made = Decision(verdict, node, entry.id, entry.attempt, "ada", harness.clock.now())
    text = decisions.dumps([decisions.sign_decision(made, ring.derive_keys(journal.owner))])
    harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})


def test_a_record_forged_before_the_key_was_lost_is_shown_and_left_out_and_its_resource_stays() -> None:
    """A VPC and a subnet of somebody else: records as ours have them, and our marks copied onto both."""
    harness = standing(QuickHarness, aws_cluster(**ONE_ZONE), SETTINGS)
    strangers = Strangers(harness.cloud)
    vpc = strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.77.0.0/16"})["id"]
    inside = {"VpcId": vpc, "AvailabilityZone": "us-east-1a"}
    subnet = strangers.create("ec2", "CreateSubnet", {**inside, "CidrBlock": "10.77.1.0/24"})["id"]
    other = strangers.create("ec2", "CreateSubnet", {**inside, "CidrBlock": "10.77.2.0/24"})["id"]
    rows = _entries(harness)
    ours = {row["id"]: row for row in harness.resources()}
    for node, ident in (("vpc/evil", vpc), ("subnet/evil", subnet)):
        model = next(name for name in rows if name.startswith(node.partition("/")[0] + "/"))
        row = json.loads(json.dumps(rows[model]).replace(rows[model]["id"], ident))
        strangers.tag(
            ident, {key: value.replace(model, node) for key, value in ours[rows[model]["id"]]["tags"].items()}
        )
        _forge(harness, **{node: {**row, "s": "forgedforgedforg"}})
    harness.clock.advance(600.0)
    lost, document = harness.rings.ring.writing, RingDocument.create(LATER)
    shown = _list(harness, document, lost)
    row = _row(shown, "vpc/evil")
    assert row.standing is RecordStanding.AGREES, "nothing but a person can tell"
    assert row.inside is not None and {user.id for user in row.inside} >= {subnet, other}
    assert User(f"{other}", other) in row.inside
    _accept(harness, shown, document, ["default/demo/vpc/evil", "default/demo/subnet/evil"])
    before = {row["id"]: copy.deepcopy(row["tags"]) for row in harness.resources() if row["id"] in (vpc, subnet)}
    harness.for_a_while(1200.0)
    message = harness.condition("Ready")["message"]
    assert f"({vpc}) is in the journal, but neither its marks nor this operator's signature" in message
    assert "freehold resolve demo -n default vpc/evil" in message
    keys = {name: row["k"] for name, row in _entries(harness).items() if "k" in row and "evil" not in name}
    assert set(keys.values()) == {document.writing}, "what was accepted is renewed"
    harness.object.delete()
    harness.for_a_while(1200.0)
    left = {row["id"]: row["tags"] for row in harness.resources() if row["state"] != "deleted"}
    assert not harness.object.gone and vpc in str(harness.conditions())
    assert {ident: left[ident] for ident in (vpc, subnet)} == before
    for node in ("vpc/evil", "subnet/evil"):
        _decide(harness, node, harness.rings.ring)
        harness.for_a_while(900.0)
    harness.run(lambda: harness.object.gone)
    assert {row["id"] for row in harness.resources() if row["state"] != "deleted"} >= {vpc, subnet, other}


def test_a_record_that_was_left_out_and_is_decided_to_be_mine_is_marked_anew() -> None:
    """The seal of the lost key is still on it, which nothing can check."""
    harness = standing(QuickHarness, aws_cluster(**ONE_ZONE), SETTINGS)
    lost, document = harness.rings.ring.writing, RingDocument.create(LATER)
    _accept(harness, _list(harness, document, lost), document, ["default/demo/vpc/main"])
    harness.for_a_while(1200.0)
    assert not harness.ready()
    _decide(harness, "vpc/main", harness.rings.ring, Verdict.MINE)
    harness.for_a_while(3600.0)
    assert harness.ready(), harness.conditions()
    assert {row["k"] for row in _entries(harness).values() if "k" in row} == {document.writing}
    harness.down()


def test_a_left_out_record_of_powervs_stays_unmarked_and_is_named() -> None:
    """Where tags are a set: the stranger's VPC has all tags of ours."""
    harness = standing(Harness)
    ours = only(harness, "vpc")
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="strangers-vpc")
    harness.cloud.strangers.attach(theirs["crn"], *(tag.replace("vpc.main", "vpc.evil") for tag in ours["tags"]))
    model = _entries(harness)["vpc/main"]
    row = json.loads(
        json.dumps(model).replace(model["id"], f"{REGION}/{theirs['id']}").replace(ours["crn"], theirs["crn"])
    )
    _forge(harness, **{"vpc/evil": {**row, "s": "forgedforgedforg"}})
    harness.clock.advance(3600.0)
    lost, document = harness.rings.ring.writing, RingDocument.create(LATER)
    shown = _list(harness, document, lost)
    assert _row(shown, "vpc/main").standing is RecordStanding.AGREES
    evil = _row(shown, "vpc/evil")
    assert (evil.standing, evil.name, evil.inside) == (RecordStanding.AGREES, "strangers-vpc", ()), evil
    _accept(harness, shown, document, ["default/freehold-demo/vpc/evil"])
    tags = set(next(row["tags"] for row in harness.resources() if row["id"] == theirs["id"]))
    harness.for_a_while(1200.0)
    assert theirs["id"] in str(harness.conditions())
    harness.object.delete()
    harness.for_a_while(3600.0)
    row = next(row for row in harness.resources() if row["id"] == theirs["id"])
    assert row["state"] != "deleted" and set(row["tags"]) == tags
    assert [each["id"] for each in made_by_us(harness) if each["id"] != theirs["id"]] == []


def test_the_list_tells_what_the_marks_do_not_show_and_what_has_gone() -> None:
    """Neither is accepted, whatever a person says."""
    harness = standing(QuickHarness, aws_cluster(**ONE_ZONE), SETTINGS)
    strangers = Strangers(harness.cloud)
    vpc = strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.77.0.0/16"})["id"]
    model = _entries(harness)["vpc/main"]
    for node, ident in (("vpc/unmarked", vpc), ("vpc/gone", "vpc-00000000000000001")):
        _forge(harness, **{node: {**model, "id": ident, "t": model["t"].replace(model["id"], ident)}})
    _forge(harness, **{"volcano/etna": {**model, "id": "etna"}})
    lost, document = harness.rings.ring.writing, RingDocument.create(LATER)
    shown = _list(harness, document, lost)
    found = {node: _row(shown, node).standing for node in ("vpc/main", "vpc/unmarked", "vpc/gone", "volcano/etna")}
    assert list(found.values()) == [
        RecordStanding.AGREES,
        RecordStanding.DIFFERS,
        RecordStanding.GONE,
        RecordStanding.UNREAD,
    ]
    out = lost_key.left_out(shown, ["default/demo/volcano"])
    (accepted,) = lost_key.select_accepted_records(shown, out).values()
    assert {each.node for each in accepted} == {row.record.node for _, row in shown.rows} - found.keys() | {"vpc/main"}
    digest = shown.digest
    strangers.tag(model["id"], {"whose": "theirs"})
    harness.clock.advance(600.0)
    harness.start_process()
    assert _list(harness, document, lost).digest != digest, "what was tagged meanwhile was not looked at"
