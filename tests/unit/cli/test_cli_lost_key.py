"""What a person sees of each record under a lost key, and what names one after ``--without``."""

from __future__ import annotations

from freehold.cli.commands.lost_key import LostKeyList, details, left_out
from freehold.controllers.keyring.lost_key_evidence import ObjectEvidence, RecordEvidence, RecordStanding
from freehold.controllers.keyring.stored_form import RecordName
from freehold.engine.drivers import User
from freehold.kube.resources import Key

VPC = RecordEvidence(RecordName("vpc/main", "vpc-1", "d" * 64), RecordStanding.AGREES)
DEMO = Key("prod", "demo")


def _shown(*objects: ObjectEvidence) -> LostKeyList:
    return LostKeyList("lostlostlo", objects, ())


def test_what_the_cloud_says_is_shown_and_texts_of_others_are_quoted() -> None:
    row = RecordEvidence(
        VPC.record,
        RecordStanding.AGREES,
        name='x", made by us',
        created_at=1_800_000_000.0,
        created_by="ada",
        tags=("team=red",),
        inside=(User("subnet-1", "subnet-1"), User("instance i-9", "i-9"), User("web", "lb/7")),
        users=(),
        others=("prod/other",),
    )
    assert list(details(row, {"subnet-1"}, 1_800_007_200.0)) == [
        r'vpc-1, "x\", made by us"',
        "made 2h00m ago, 2027-01-15 08:00 UTC by ada",
        'tags: "team=red"',
        "in it: 1 of this list, and instance i-9, web (7)",
        "used by: nothing",
        "it is on record for prod/other, too",
    ]


def test_objects_of_two_kinds_with_one_name_are_told_apart() -> None:
    one, two = (ObjectEvidence(kind, DEMO, kind, (VPC,)) for kind in ("AWSCluster", "IBMPowerVSCluster"))
    shown = _shown(one, two)
    assert left_out(shown, ["AWSCluster/prod/demo/vpc/main"]) == {"AWSCluster/prod/demo/vpc/main"}
    assert left_out(_shown(one), ["prod/demo"]) == {"prod/demo/vpc/main"}


def test_the_digest_is_of_the_whole_list() -> None:
    """Each that differs, in a record or in what is shown of it, is another list."""
    rows = [
        VPC,
        RecordEvidence(RecordName("vpc/main", "vpc-1", "e" * 64), RecordStanding.AGREES),
        RecordEvidence(VPC.record, RecordStanding.DIFFERS),
        RecordEvidence(VPC.record, RecordStanding.AGREES, name="x"),
        RecordEvidence(VPC.record, RecordStanding.AGREES, tags=("x",)),
        RecordEvidence(VPC.record, RecordStanding.AGREES, inside=(User("x"),)),
        RecordEvidence(VPC.record, RecordStanding.AGREES, users=(User("x"),)),
        RecordEvidence(VPC.record, RecordStanding.AGREES, created_at=1.0),
        RecordEvidence(VPC.record, RecordStanding.AGREES, others=("x",)),
    ]
    digests = {_shown(ObjectEvidence("AWSCluster", DEMO, "uuid", (row,))).digest for row in rows}
    digests |= {_shown(ObjectEvidence("AWSCluster", DEMO, "another", (VPC,))).digest, _shown().digest}
    assert len(digests) == len(rows) + 2 and {len(each) for each in digests} == {64}


def test_what_a_failed_read_said_makes_no_other_list() -> None:
    """It may have the id of the request in it."""
    one, two = (RecordEvidence(VPC.record, RecordStanding.UNREAD, why) for why in ("request 1", "request 2"))
    assert len({_shown(ObjectEvidence("AWSCluster", DEMO, "u", (row,))).digest for row in (one, two)}) == 1
