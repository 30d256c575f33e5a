"""What a kind says of its creates and deletes is what AWS does: what is said wrongly loses something of somebody's."""

from __future__ import annotations

from contextlib import suppress

import pytest

from conformance.aws import AwsBench
from freehold.engine import errors
from freehold.engine.resources import Ref
from freehold.providers.aws.kind_facts import FACTS
from freehold_sim.faults import Effect as Trouble
from freehold_sim.faults import Fault

NONCE = "fabcdefg"
BETWEEN = {"egress-only-gateway", "vpc-endpoint"}
"""The simulator has them gone at once; AWS documents states on the way.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InternetGatewayAttachment.html,
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_VpcEndpoint.html
"""


@pytest.fixture
def bench() -> AwsBench:
    return AwsBench()


@pytest.mark.parametrize("kind", FACTS)
async def test_a_delete_is_over_when_it_answers_and_an_id_comes_back_only_where_the_kind_says_so(
    bench: AwsBench, kind: str
) -> None:
    """Said of one that is still going, its object would be let go too soon. Not said of an id that is a name, what a
    stranger makes under it later would be taken for ours and deleted (ADR 7)."""
    entry, request = bench.kinds[kind], await bench.request(kind)
    made = await bench.ready(kind, await bench.create(kind, request, NONCE, "one"))
    await entry.driver.delete(Ref(made.id, made.target))
    over = await bench.look(kind, made) is None
    assert over is (entry.deletion.gone_at_once or kind in BETWEEN)
    await bench.until(kind, made, None)
    bench.clock.advance(60)  # the name of a secret is free a moment after that
    again = await bench.create(kind, request, "fother", "other")
    assert (again.id == made.id) is entry.naming.id_returns


@pytest.mark.parametrize("kind", [name for name, facts in FACTS.items() if facts.natural_key and not facts.token_in])
async def test_a_create_answers_with_what_is_there_only_where_the_kind_says_so(bench: AwsBench, kind: str) -> None:
    """Not said, the reply about a stranger's resource would be recorded as ours."""
    request = await bench.request(kind)
    theirs = await bench.create(kind, request, "fstranger", "theirs")
    answered = ""
    with suppress(errors.NameTaken, errors.Invalid):
        answered = (await bench.create(kind, request, NONCE, "ours")).id
    assert answered == (theirs.id if bench.kinds[kind].creation.answers_existing else "")


@pytest.mark.parametrize("kind", FACTS)
async def test_what_a_create_has_to_read_is_read_before_the_write(bench: AwsBench, kind: str) -> None:
    """A read that is denied after it looks like a create that was refused, and nobody would look for its effect."""
    request = await bench.request(kind)
    bench.session.caller = {}
    bench.cloud.faults.add(Fault(Trouble.DENIED, "sts.GetCallerIdentity"))
    before = bench.writes()
    with suppress(errors.Denied):
        await bench.create(kind, request, NONCE)
        return  # it needs to read nothing
    assert bench.writes() == before
