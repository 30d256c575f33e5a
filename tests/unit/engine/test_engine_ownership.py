"""Tables of the ownership test."""

from __future__ import annotations

import pytest

from freehold.engine.ownership import CarriedMark, Owner, Strength, proves, proves_carried
from freehold.engine.resources import NodeKey
from harness.rows import over_rows
from lab.spelling import PlainCodec

CODEC = PlainCodec()
US = Owner("11111111-aaaa", "C", "prod", "c1")
THEM = Owner("22222222-bbbb", "C", "prod", "c2")
NAMESAKE = Owner("33333333-cccc", "C", "prod", "c1")  # our name, in another management cluster
KEY = NodeKey("disk", "data")
SEALED = CODEC.node(KEY, "a-seal")
ELSEWHERE = CODEC.node(KEY, "another")
OWNER_MARK, UUID_MARK = sorted(CODEC.owner(US))

CASES = {
    "both marks and the seal": ({*CODEC.owner(US), SEALED}, False, Strength.PROVEN),
    "both marks, and recorded": (CODEC.owner(US), True, Strength.PROVEN),
    "capitals do not matter": ({t.upper() for t in (*CODEC.owner(US), SEALED)}, False, Strength.PROVEN),
    "both marks copied from another of ours": ({*CODEC.owner(US), ELSEWHERE}, False, Strength.COPIED),
    "both marks alone": (CODEC.owner(US), False, Strength.COPIED),
    "the seal alone": ({SEALED}, False, Strength.COPIED),
    "our name alone": ({OWNER_MARK}, False, Strength.COPIED),
    "our uuid alone": ({UUID_MARK}, False, Strength.COPIED),
    "uuid stripped, recorded": ({OWNER_MARK, SEALED}, True, Strength.HEALABLE),
    "owner stripped, recorded": ({UUID_MARK, SEALED}, True, Strength.HEALABLE),
    "all stripped, recorded": (set(), True, Strength.HEALABLE),
    "nothing": (set(), False, Strength.NONE),
    "only a stranger's tags": ({"team:blue"}, False, Strength.NONE),
    "another owner's": (CODEC.owner(THEM), False, Strength.OTHERS),
    "another owner's, though recorded": (CODEC.owner(THEM), True, Strength.OTHERS),
    "another owner's beside ours": ({*CODEC.owner(US), *CODEC.owner(THEM), SEALED}, True, Strength.DISPUTED),
    "our name, another uuid": ({*CODEC.owner(NAMESAKE), SEALED}, True, Strength.DISPUTED),
    "our uuid, another name beside": ({*CODEC.owner(US), "owner:prod.c2", SEALED}, True, Strength.DISPUTED),
    "another owner's name alone": ({"owner:prod.c2", SEALED}, True, Strength.OTHERS),
}


@over_rows("case", CASES)
def test_what_tags_prove(case: str) -> None:
    tags, recorded, strength = CASES[case]
    evidence = proves(CODEC, US, tags, acceptable={SEALED}, recorded=recorded)
    assert evidence.strength is strength
    assert evidence.source


LINK = {"carried:link:11111111-aaaa:l1"}
CARRIED = {
    "recorded with our signature": ({*LINK, *CODEC.owner(THEM)}, True, False, Strength.PROVEN),
    "a nonce or seal of ours": (LINK, False, True, Strength.PROVEN),
    "the mark alone: anybody who may tag the carrier can write it": (LINK, False, False, Strength.COPIED),
    "the carrier names another": ({"carried:link:11111111-aaaa:l2"}, True, False, Strength.HEALABLE),
    "another owner's mark": ({"carried:link:22222222-bbbb:l1"}, False, True, Strength.NONE),
    "no mark, and a nonce of ours": (set(), False, True, Strength.NONE),
}


@pytest.mark.parametrize("case", CARRIED)
def test_what_a_carrier_proves(case: str) -> None:
    tags, recorded, vouched, strength = CARRIED[case]
    mark = CarriedMark("link", US.uuid, "l1")
    assert proves_carried(CODEC, tags, mark, recorded=recorded, vouched=vouched).strength is strength
