"""The driver of bootstrap secrets on a simulated AWS: values, tokens, names that are being given up, and the list."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.resources import Ref, State
from freehold.engine.secret_values import SecretValue
from freehold.providers.aws.kinds import bootstrap_secret
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect
from harness.account import NONCE
from harness.aws_account import AwsAccount
from harness.aws_drivers import MARKS, Drivers, birth

NAME = "aws.cluster.x-k8s.io/11111111-2222-3333-4444-555555555555/0123456789-0"
CANARY = b"\x1f\x8b kubeadm join --token abcdef.0123456789abcdef\n"
TOKEN, OTHER = "t" * 32, "u" * 32


class Secrets(Drivers):
    def __init__(self, account: AwsAccount) -> None:
        super().__init__(account, bootstrap_secret.kind)
        self.manager = account.secretsmanager

    def request(self, value: bytes = CANARY, name: str = NAME) -> dict[str, Any]:
        return {"name": name, "value": SecretValue("boot/value", value)}

    def settle(self) -> None:
        self.account.clock.advance(600)


@pytest.fixture
def secrets(account: AwsAccount) -> Secrets:
    return Secrets(account)


async def test_a_life(secrets: Secrets) -> None:
    made = await secrets.create(secrets.request(), birth(token=TOKEN))
    assert (made.state, made.name, made.tags) == (State.READY, NAME, None)
    assert secrets.manager.get_secret_value(SecretId=NAME)["SecretBinary"] == CANARY
    secrets.settle()
    seen = await secrets.there(made.id)
    assert (seen.tags, seen.target) == (MARKS, made.target)
    assert secrets.driver.identify(seen.target) == seen.id
    assert secrets.driver.identify("arn:aws:ec2:us-east-1:111122223333:instance/i-1") == ""
    assert [one.id for one in await secrets.find(secrets.request())] == [made.id]
    assert [one.id for one in await secrets.by_nonce(NONCE)] == [made.id]
    assert await secrets.by_nonce("fanother") == []
    await secrets.driver.delete(Ref(made.id))
    assert await secrets.look(made.id) is None
    secrets.settle()
    await secrets.driver.delete(Ref(made.id))


async def test_the_value_is_in_the_secret_and_nowhere_else(secrets: Secrets) -> None:
    """Secret canary, docs/reference/requirements.md."""
    await secrets.create(secrets.request(), birth(token=TOKEN))
    (call,) = [call for call in secrets.account.port.calls if call.operation == "create_secret"]
    assert call.detail["SecretBinary"] == "***" and len(call.hidden) == 1
    assert "abcdef.0123456789abcdef" not in repr(call)


async def test_the_same_create_answers_with_the_same_secret(secrets: Secrets) -> None:
    made = await secrets.create(secrets.request(), birth(token=TOKEN))
    assert (await secrets.create(secrets.request(), birth(token=TOKEN))).id == made.id


async def test_a_token_with_another_value_is_told_from_a_strangers_name(secrets: Secrets) -> None:
    await secrets.create(secrets.request(), birth(token=TOKEN))
    secrets.settle()
    with pytest.raises(errors.TokenReused):
        await secrets.create(secrets.request(b"other"), birth(token=TOKEN))
    with pytest.raises(errors.NameTaken):
        await secrets.create(secrets.request(), birth("fother", OTHER))


@pytest.mark.parametrize("how", ({"ForceDeleteWithoutRecovery": True}, {"RecoveryWindowInDays": 7}), ids=str)
async def test_a_name_that_is_being_given_up_is_waited_for(secrets: Secrets, how: dict[str, Any]) -> None:
    """Who has deleted it, and how, does not matter: its value cannot be read, so it has gone."""
    made = await secrets.create(secrets.request(), birth(token=TOKEN))
    secrets.settle()
    secrets.manager.delete_secret(SecretId=NAME, **how)
    assert await secrets.look(made.id) is None and await secrets.find(secrets.request()) == []
    with pytest.raises(errors.NotReady, match="still being deleted"):
        await secrets.create(secrets.request(), birth("fother", OTHER))
    await secrets.driver.delete(Ref(made.id))
    secrets.settle()
    assert (await secrets.create(secrets.request(), birth("fother", OTHER))).id != made.id


async def test_the_list_is_read_to_its_end_and_shows_machines_secrets_only() -> None:
    secrets = Secrets(AwsAccount(Settings(page_size=1)))
    secrets.manager.create_secret(Name="database", SecretString="x", ClientRequestToken=OTHER)
    ids = set()
    for index in range(3):
        request = secrets.request(name=f"{NAME}{index}")
        ids.add((await secrets.create(request, birth(token=TOKEN))).id)
    secrets.settle()
    assert {one.id for one in await secrets.by_nonce(NONCE)} == ids


async def test_a_list_that_is_refused_is_no_empty_one(secrets: Secrets) -> None:
    secrets.fault(Effect.DENIED, "secretsmanager.ListSecrets")
    with pytest.raises(errors.Denied):
        await secrets.by_nonce(NONCE)
    secrets.fault(Effect.DENIED, "secretsmanager.DescribeSecret")
    with pytest.raises(errors.Denied):
        await secrets.look("arn:aws:secretsmanager:us-east-1:111122223333:secret:x-123456")
