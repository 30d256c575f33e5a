"""Credentials that end: a person is told whose they are, nothing is taken for gone, and new ones go on where it was."""

from __future__ import annotations

from collections import Counter

import pytest

from freehold.api import names
from freehold.engine.keyed_codec import NODE
from freehold.kube.resources import Key
from freehold.providers.aws import api_names as aws_names
from harness.aws_served import SECRETS_IN, ServedAws

ONE_ZONE = {"vpc": {"availabilityZoneUsageLimit": 1}}
STATIC = "AWSClusterStaticIdentity"


class Rented(ServedAws):
    """Served with the session credentials that are in the Secret of a static identity."""

    def __init__(self) -> None:
        super().__init__(network=ONE_ZONE, identityRef={"kind": STATIC, "name": "a"})
        self.stored.put(STATIC, "a", {"secretRef": "keys", "allowedNamespaces": {}})
        self.role = self.sim.role("rented")
        policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
        self.sim.client("iam").put_role_policy(RoleName="rented", PolicyName="p", PolicyDocument=policy)
        self.rent()

    def rent(self) -> None:
        """Somebody puts new ones into the Secret."""
        given = self.sim.client("sts").assume_role(RoleArn=self.role, RoleSessionName="session")
        keys = given["Credentials"]
        self.secret = keys["SecretAccessKey"]
        entries = {
            "AccessKeyID": keys["AccessKeyId"], "SecretAccessKey": self.secret, "SessionToken": keys["SessionToken"],
        }  # fmt: skip
        self.stored.objects["Secret", Key(SECRETS_IN, "keys")] = {"metadata": {"name": "keys"}, "stringData": entries}

    def expire(self) -> None:
        """Every session ends now."""
        for session in self.sim.cloud.data["sessions"].values():
            session["expires"] = 0.0

    async def passes(self, number: int) -> None:
        for _ in range(number):
            self.later(await self.once())

    def nodes(self) -> Counter[str]:
        """What exists in the cloud, by the node that its mark names."""
        tags = [row["tags"] for row in self.sim.cloud.resources() if row["state"] != "deleted"]
        return Counter(each[NODE] for each in tags if NODE in each)

    def writes(self) -> int:
        return sum(call.mutating and call.status == 200 for call in self.sim.cloud.calls)

    def told(self) -> str:
        """What the condition Ready and the plan say; no secret."""
        ready = self.condition(names.READY)
        assert ready["status"] == "False"
        assert self.secret not in str(self.object.raw)
        assert ready["reason"] == names.REASON_NO_CREDENTIALS
        retrieved = self.condition(aws_names.PRINCIPAL_CREDENTIAL_RETRIEVED)
        assert (retrieved["status"], retrieved["message"]) == ("False", ready["message"])
        return str(ready["message"])


@pytest.mark.parametrize(("passes", "restarted"), [(0, True), (2, False), (4, True), (7, False)])
async def test_a_session_that_ends_in_mid_create_goes_on_with_the_next_one(passes: int, restarted: bool) -> None:
    served, undisturbed = Rented(), Rented()
    await undisturbed.up()
    await served.passes(passes)
    before = served.nodes()
    served.expire()
    written = served.writes()
    await served.passes(4)
    assert "Secret operators-own/keys" in served.told() and "expired" in served.told()
    assert (served.nodes(), served.writes()) == (before, written)
    plan = await served.plan()
    assert "Secret operators-own/keys" in " ".join((*plan.problems, *plan.unanswered))
    served.rent()
    if restarted:
        served.start_process()
    await served.up()
    assert served.nodes() == undisturbed.nodes() and set(served.nodes().values()) == {1}


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "new process"])
async def test_without_a_session_nothing_counts_as_gone_while_it_is_being_deleted(restarted: bool) -> None:
    """A read that is refused is not an empty one: the finalizer stays until each resource was seen to go."""
    served = Rented()
    await served.up()
    before = served.nodes()
    served.expire()
    served.object.delete()
    if restarted:
        served.start_process()
    await served.passes(6)
    assert not served.object.gone and served.nodes() == before
    assert "Gone" not in {row["state"] for row in served.rows()}
    assert "Secret operators-own/keys" in served.told()
    served.rent()
    await served.run(lambda: served.object.gone)
    assert served.nodes() == Counter()


async def test_a_session_that_ends_during_the_deletion_leaves_nothing_behind() -> None:
    served = Rented()
    await served.up()
    served.rent()
    served.object.delete()
    await served.passes(2)
    served.expire()
    await served.passes(3)
    assert not served.object.gone and served.nodes()
    served.rent()
    await served.run(lambda: served.object.gone)
    assert served.nodes() == Counter()


async def test_a_role_is_assumed_again_when_its_session_ends() -> None:
    """Nobody is told: what the operator can fetch anew needs no person."""
    from freehold.providers.aws.identities import AssumedRole
    from harness.aws_served import OWN

    served = Rented()
    served.change(identityRef=None)
    served.own = AssumedRole(served.role, OWN)
    served.start_process()
    await served.passes(3)
    served.expire()
    await served.up()
    assert "Blocked" not in served.worst
    assert set(served.nodes().values()) == {1}
