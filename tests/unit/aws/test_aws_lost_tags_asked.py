"""What a person is asked about stays asked about until somebody answers (ADR 7)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.controllers.other_objects import OtherStoredObjects
from freehold.controllers.recovery.open_decisions import find_open_decisions, match_candidates
from freehold.engine.decisions import Verdict
from freehold.engine.graph import Graph
from freehold.engine.journal import Entry, Journal, RecordState, dumps
from freehold.engine.keyed_codec import NODE as NODE_KEY
from freehold.engine.keyed_codec import OWNER as OWNER_KEY
from freehold.engine.keyed_codec import UUID as UUID_KEY
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Blocked
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Resource
from freehold.providers.registry import SERVED_RESOURCES
from freehold_sim.aws.settings import Lags, Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION, AwsAccount
from harness.aws_passes import OWNER, Life
from unit.aws.tag_removal import (
    CREATES,
    WITH_A_TOKEN,
    Create,
    cut_off,
    cut_off_and_stripped,
    decision,
    every_create,
    is_asked,
    one_pass,
    quarter_of_an_hour,
    somebodys,
    tags_of,
)
from unit.aws.test_aws_engine import (
    ADDRESS,
    GATEWAY,
    ONE_OF_EACH,
    VPC,
    _counts,
    _network,
)
from unit.aws.test_aws_engine_more import Cluster


@pytest.fixture
def life() -> Life:
    return Life(AwsAccount(Settings()), _network())


def _uses(life: Life, create: Create, ident: str) -> None:
    call = life.account.cloud.strangers.call
    somewhere = somebodys(life, "CreateVpc", CidrBlock="10.7.0.0/16")
    if create.key == VPC:
        call("ec2", "CreateSubnet", {"VpcId": ident, "CidrBlock": "10.0.0.0/24"}, region=REGION)
    elif create.key == GATEWAY:
        call("ec2", "AttachInternetGateway", {"InternetGatewayId": ident, "VpcId": somewhere}, region=REGION)
    else:
        subnet = somebodys(life, "CreateSubnet", VpcId=somewhere, CidrBlock="10.7.0.0/24")
        call("ec2", "CreateNatGateway", {"SubnetId": subnet, "AllocationId": ident}, region=REGION)


@pytest.mark.parametrize("act", ["tags", "use"])
@every_create
async def test_a_tag_or_a_use_is_no_answer(life: Life, create: Create, act: str) -> None:
    """Also to another process: somebody labels what is asked about, and a second one must not be made by that."""
    ident = await cut_off_and_stripped(life, create)
    await quarter_of_an_hour(life)
    if act == "tags":
        life.account.cloud.strangers.tag(ident, {"Name": "whose is this?"})
    else:
        _uses(life, create, ident)
    there = life.standing()[create.kind]
    life.die()
    assert is_asked((await quarter_of_an_hour(life))[create.key], ident)
    assert life.standing()[create.kind] == there


@every_create
async def test_another_owners_mark_is_an_answer(life: Life, create: Create) -> None:
    ident = await cut_off_and_stripped(life, create)
    await quarter_of_an_hour(life)
    life.account.cloud.strangers.tag(ident, {OWNER_KEY: "prod/c2", UUID_KEY: "22222222-2222-4222-8222-222222222222"})
    await life.up()
    assert len(life.standing()[create.kind]) == 2


@every_create
async def test_nobody_is_shown_what_somebody_wrote_into_the_record(life: Life, create: Create) -> None:
    """Whoever may edit the object could have a person take any resource for the object's."""
    theirs = somebodys(life, create.operation, **create.params)
    life.account.cloud.strangers.tag(theirs, {"team": "red"})
    await cut_off(life, create, Effect.ERROR_BEFORE)
    entry = life.journal.entries[create.key]
    life.journal = life.journal.put(create.key, replace(entry, candidates=(theirs,), signature="x" * 16))
    await life.up()
    assert len(life.standing()[create.kind]) == 2


@every_create
async def test_what_a_person_says_too_early_waits_and_is_checked_again(create: Create) -> None:
    """Reads do not show ours yet: what they show instead is not taken, whatever a person says."""
    life = Life(AwsAccount(Settings(lags=Lags(new=60.0))), _network())
    theirs = somebodys(life, create.operation, **create.params)
    life.later(120.0)
    await cut_off(life, create, Effect.REPLY_LOST)
    decided = decision(life, create.key, Verdict.MINE, theirs)
    end = life.clock.now() + 300.0
    while life.clock.now() < end:
        await one_pass(life, decided)
    await life.up()
    assert life.journal.entries[create.key].id not in ("", theirs)
    await life.down()
    assert life.standing() == {create.kind: [theirs]}


async def test_of_several_creates_a_person_can_answer_each(life: Life) -> None:
    """Three addresses were cut off together, and two have lost their tags."""
    keys = [NodeKey("elastic-ip", name) for name in "abc"]
    nodes = {key: node for key, node in life.graph.nodes.items() if key != ADDRESS}
    plain = life.graph.nodes[ADDRESS]
    life.graph = Graph([*nodes.values(), *(replace(plain, key=key) for key in keys)])
    life.account.cloud.faults.add(Fault(Effect.REPLY_LOST, "ec2.AllocateAddress", status=504, count=3))
    while life.account.cloud.faults.rules()[0]["hits"] < 3:
        await one_pass(life)
    made = {tags_of(life, ident)[NODE_KEY].rpartition("/")[2]: ident for ident in life.standing()["elastic-ip"]}
    for name in "bc":
        life.account.cloud.strangers.strip(made[name])
    life.die()
    outcomes = await quarter_of_an_hour(life)
    for key in keys[1:]:
        assert is_asked(outcomes[key], made["b"]) and is_asked(outcomes[key], made["c"])
        assert outcomes[key].message.endswith(f"to decide: freehold resolve demo -n default {key}")
    asked = await find_open_decisions(life.journal, life.deps)
    assert [len(match_candidates(asked, made["b"])), len(match_candidates(asked, str(keys[1]), made["b"]))] == [2, 1]
    await one_pass(life, *(decision(life, key, Verdict.MINE, made[key.logical]) for key in keys[1:]))
    await life.up()
    assert sorted(life.standing()["elastic-ip"]) == sorted(made.values())
    await life.down()
    assert life.standing() == {}


@every_create
async def test_one_look_that_does_not_show_it_is_no_answer(life: Life, create: Create) -> None:
    """Reads lag: what was there has gone when it has not been seen for the settle time."""
    ident = await cut_off_and_stripped(life, create)
    await quarter_of_an_hour(life)
    asked = life.journal.entries[create.key].candidates
    life.account.cloud.strangers.delete(ident)
    life.state.invalidate()
    assert is_asked((await one_pass(life))[create.key], ident)
    assert life.journal.entries[create.key].candidates == asked == (ident,)
    await life.up()
    assert _counts(life) == ONE_OF_EACH


@every_create
async def test_what_comes_later_is_not_asked_about(life: Life, create: Create) -> None:
    """Else a company that tags what it has made a moment later would be asked about all of it, for ever."""
    ident = await cut_off_and_stripped(life, create)
    await quarter_of_an_hour(life)
    later = somebodys(life, create.operation, **create.params)
    outcome = (await quarter_of_an_hour(life))[create.key]
    assert is_asked(outcome, ident) and not is_asked(outcome, later)
    life.account.cloud.strangers.delete(ident)
    await life.up()
    assert len(life.standing()[create.kind]) == 2


@every_create
async def test_a_question_writes_nothing_at_rest(life: Life, create: Create) -> None:
    await cut_off_and_stripped(life, create)
    await quarter_of_an_hour(life)
    before = life.journal
    await quarter_of_an_hour(life)
    assert life.journal == before


async def test_a_token_that_was_used_before_names_what_was_stripped() -> None:
    """Its cloud has said that it has made something, so a label on that is no answer either."""
    life, create = Cluster(AwsAccount(Settings())), WITH_A_TOKEN["route table"]
    ident = await cut_off_and_stripped(life, create)
    entry = life.journal.entries[create.key]
    life.journal = life.journal.put(create.key, replace(entry, had_effect=True))
    assert is_asked((await quarter_of_an_hour(life))[create.key], ident)
    life.account.cloud.strangers.tag(ident, {"Name": "whose is this?"})
    assert is_asked((await quarter_of_an_hour(life))[create.key], ident)
    await one_pass(life, decision(life, create.key, Verdict.MINE, ident))
    await life.up()
    assert ident in life.standing()[create.kind]


async def test_a_repeat_that_is_refused_does_not_end_the_search() -> None:
    """The cloud may refuse it before it looks at the client token, which had an effect."""
    life, create = Cluster(AwsAccount(Settings())), WITH_A_TOKEN["instance"]
    ident = await cut_off_and_stripped(life, create)
    life.account.cloud.faults.add(Fault(Effect.DENIED, "ec2.RunInstances", count=None))
    assert is_asked((await quarter_of_an_hour(life))[create.key], ident)


class _Lister:
    def __init__(self, *stored: Json) -> None:
        self._stored = stored

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList:
        return ObjectList(list(self._stored), "1")


@pytest.mark.parametrize("how", ["signed", "forged", "copied"])
async def test_a_record_of_another_object_is_an_answer_where_the_operator_wrote_it(life: Life, how: str) -> None:
    """Whoever may edit some object could else have a second one made of everybody's."""
    create = CREATES["vpc"]
    ident = await cut_off_and_stripped(life, create)
    other = Owner("11111111-aaaa-4bbb-8ccc-222222222222", "AWSCluster", "evil", "other")
    keys = life.deps.ring.derive_keys(other)
    signature = "x" * 16 if how == "forged" else keys.signature(keys.writing, "vpc", ident)
    entry = Entry(RecordState.OWNED, ident, signature=signature, key=keys.writing)
    journal = Journal(other, {VPC: entry}, key=keys.writing)
    name = "copy" if how == "copied" else other.name
    metadata = {"name": name, "namespace": other.namespace, "annotations": {JOURNAL_ANNOTATION: dumps(journal)}}
    life.deps = replace(
        life.deps, others=OtherStoredObjects(_Lister({"kind": other.kind, "metadata": metadata}), SERVED_RESOURCES[:1])
    )
    outcome = (await quarter_of_an_hour(life))[VPC]
    assert is_asked(outcome, ident) is (how != "signed")


async def test_a_lost_key_hides_nothing(life: Life) -> None:
    """Nothing tells its birth mark from anybody's then; what it is on is named all the same."""
    create = CREATES["vpc"]
    await cut_off(life, create, Effect.REPLY_LOST)
    (ident,) = life.standing()["vpc"]
    lost = life.deps.ring.writing
    ring = replace(KeyRing.single(b"n" * 32), accepted={(lost, OWNER.uuid): frozenset()})
    life.deps = replace(life.deps, ring=ring)
    outcome = (await quarter_of_an_hour(life))[VPC]
    assert isinstance(outcome, Blocked) and lost in outcome.message and f"It may have made {ident}" in outcome.message


async def test_a_key_that_only_wrote_meanwhile_can_be_taken_out_of_the_ring(life: Life) -> None:
    """What a create needs of the ring is the key that it was sent with, for its question too."""
    create = CREATES["vpc"]
    life.graph = Graph([life.graph.nodes[VPC]])
    ident = await cut_off_and_stripped(life, create)
    sent, later, last = life.deps.ring, *(KeyRing.single(word * 32) for word in (b"l", b"m"))
    for ring in (later, last):
        life.deps = replace(life.deps, ring=replace(ring, keys={**sent.keys, **ring.keys}))
        life.die()
        assert is_asked((await quarter_of_an_hour(life))[VPC], ident)
        life.account.cloud.strangers.tag(ident, {"Name": "whose is this?"})
