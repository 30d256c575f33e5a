"""An object for which nothing was ever begun: what is wrong in it can be corrected, and its delete ends.

The cloud often cannot be asked then: the region does not exist, the credentials never worked. Only the operator's own
signature tells such an object from one whose journal was lost (ADR 15).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold.providers.aws.identities import AssumedRole, StaticKeys
from freehold_sim.faults import Effect, Fault
from harness.aws_served import OWN, ServedAws
from harness.powervs import Harness, example

NOBODY = StaticKeys("AKIANOBODYKNOWSTHIS0", "s3cret")
OTHER_NAMESPACES = {"allowedNamespaces": {"list": ["team-b"]}}
STATIC = {"kind": "AWSClusterStaticIdentity", "name": "gone"}


def _taken_away(served: ServedAws) -> None:
    served.stored.put("AWSClusterControllerIdentity", "default", OTHER_NAMESPACES)


def _invalid() -> ServedAws:
    """An object that was given an identity, and then refused by the check of its spec."""
    return ServedAws(network={"vpc": {"id": "vpc-0123456789abcdef0"}})


def _mute(served: ServedAws) -> None:
    """Credentials that may ask who they are, and nothing else."""
    nothing = {"Effect": "Deny", "NotAction": "sts:*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [nothing]})
    served.own = AssumedRole(served.sim.role("mute"), OWN)
    served.sim.client("iam").put_role_policy(RoleName="mute", PolicyName="p", PolicyDocument=document)
    served.start_process()


def _keys_gone(served: ServedAws) -> None:
    served.own = NOBODY
    served.start_process()


def _region_gone(served: ServedAws) -> None:
    served.change(region="us-esat-1")


NEVER: dict[str, tuple[Callable[[], ServedAws], Callable[[ServedAws], None] | None]] = {
    "a region that does not exist": (lambda: ServedAws(region="us-esat-1"), None),
    "no region": (lambda: ServedAws(region="Frankfurt"), None),
    "an identity that does not exist": (lambda: ServedAws(identityRef=STATIC), None),
    "an identity of other namespaces": (ServedAws, _taken_away),
    "keys that never worked": (lambda: ServedAws(own=NOBODY), None),
    "a spec that the controller refuses": (_invalid, None),
    "refused, and the identity is taken away": (_invalid, _taken_away),
    "refused, and the keys are taken away": (_invalid, _keys_gone),
    "refused, and the region is mistyped": (_invalid, _region_gone),
    "refused, and the role may nothing": (_invalid, _mute),
    "a role that may nothing": (ServedAws, _mute),
}


async def _begin(case: str) -> ServedAws:
    make, then = NEVER[case]
    served = make()
    if then is not None and make is ServedAws:
        then(served)
    for _ in range(3):
        served.later(await served.once())
    if then is not None and make is not ServedAws:
        then(served)
        served.later(await served.once())
    assert served.condition(names.READY)["status"] == "False"
    return served


@pytest.mark.parametrize("case", NEVER)
async def test_a_delete_of_what_never_had_anything_ends(case: str) -> None:
    served = await _begin(case)
    await served.down() if served.object.raw["metadata"].get("finalizers") else served.object.delete()
    assert served.object.gone
    assert not [call for call in served.sim.cloud.calls if call.mutating and call.operation.startswith(("ec2.", "elb"))]


async def test_a_mistyped_region_is_corrected_and_the_cluster_is_made() -> None:
    served = await _begin("a region that does not exist")
    assert "us-esat-1" in served.condition(names.READY)["message"]
    served.change(region="us-east-1")
    await served.up()
    assert served.status()["identity"]["account"].endswith("/us-east-1")
    await served.down()


def _journal(served: ServedAws | Harness) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(served.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    return found


def _write(served: ServedAws | Harness, journal: dict[str, Any], *, status: bool = True) -> None:
    served.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(journal)}}})
    if not status:
        served.object.raw["status"] = {}


LOST: dict[str, Callable[[ServedAws, dict[str, Any]], None]] = {
    "emptied": lambda served, journal: _write(
        served, {key: journal[key] for key in ("v", "owner", "key")} | {"nodes": {}}, status=False
    ),
    "emptied, with a claim that somebody wrote": lambda served, journal: _write(
        served,
        {key: journal[key] for key in ("v", "owner", "key")} | {"nodes": {}, "untouched": "a" * 16},
        status=False,
    ),
    "with the claim beside its records": lambda served, journal: _write(
        served, {**journal, "untouched": _first(served)["untouched"]}, status=False
    ),
    "put back from before the first create": lambda served, _: _write(served, _first(served)),
    "of an object that was stored anew from a backup": lambda served, _: _stored_anew(served),
}


def _first(served: ServedAws) -> dict[str, Any]:
    """The journal as it was written with the identity."""
    for raw in served.object.history:
        if text := (raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION):
            assert journals.loads(text).untouched
            found: dict[str, Any] = json.loads(text)
            return found
    raise AssertionError("no journal was ever written")


def _stored_anew(served: ServedAws) -> None:
    _write(served, _first(served), status=False)
    served.object.raw["metadata"]["uid"] = "11111111-2222-4333-8444-555555555555"


@pytest.mark.parametrize("how", LOST)
async def test_a_delete_waits_for_credentials_where_the_journal_was_lost(how: str) -> None:
    """It has resources, and nothing of it can be seen: the finalizer must not go."""
    served = ServedAws()
    await served.up()
    LOST[how](served, _journal(served))
    _keys_gone(served)
    served.object.delete()
    for _ in range(5):
        served.later(await served.once())
    assert not served.object.gone
    served.own = OWN
    served.start_process()
    await served.run(lambda: served.object.gone)


async def test_an_open_create_keeps_the_finalizer() -> None:
    """The process was stopped after it wrote what it wants to make, and before the cloud answered."""
    served = ServedAws()
    served.sim.cloud.faults.add(Fault(Effect.REPLY_LOST, "ec2.create_vpc", count=None))
    await served.once()
    assert _journal(served)["nodes"] and "untouched" not in _journal(served)
    _keys_gone(served)
    served.object.delete()
    for _ in range(3):
        served.later(await served.once())
    assert not served.object.gone


@pytest.mark.parametrize("operation", ["sts.*", "tagging.*"])
async def test_a_throttled_question_is_asked_again_and_not_taken_for_a_no(operation: str) -> None:
    """Where the cloud will answer, it is asked: a journal may have been put back that was not the last one."""
    served = await _begin("a spec that the controller refuses")
    served.object.delete()
    served.sim.cloud.faults.add(Fault(Effect.THROTTLE, operation, count=None))
    served.start_process()
    await served.once()
    assert not served.object.gone
    served.sim.cloud.faults.clear()
    await served.run(lambda: served.object.gone)


POWERVS: dict[str, Callable[[], Harness]] = {
    "an API key that never worked": lambda: Harness(api_key="wrong-key-0123456789"),
    "a zone that does not exist": lambda: Harness(example(zone="dal99")),
    "a region that does not exist": lambda: Harness(example(vpc={"name": "v", "region": "us-suoth"})),
    "a resource group that does not exist": lambda: Harness(example(resourceGroup={"name": "nobody's"})),
}


@pytest.mark.parametrize("then", ["as it is", "the key is taken away"])
@pytest.mark.parametrize("case", POWERVS)
def test_a_delete_on_ibm_cloud_of_what_never_had_anything_ends(case: str, then: str) -> None:
    harness = POWERVS[case]()
    for _ in range(3):
        harness.pass_once()
        harness.clock.advance(300.0)
    assert harness.condition("Ready")["status"] == "False"
    if then == "the key is taken away":
        harness._api_key = "wrong-key-0123456789"
        harness.start_process()
    harness.down()
    assert not harness.calls(mutating=True)
