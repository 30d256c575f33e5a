"""What the engine is told of every kind on AWS: how its creates are told apart, and for how long one is in doubt."""

from __future__ import annotations

import pytest

from freehold.engine.kinds import Dedupe, Registry, Tagging
from freehold.engine.port import InlinePort
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.kind_facts import KINDS, KindFacts
from freehold.providers.aws.registry import aws_kinds
from freehold.providers.aws.session import AwsSession
from freehold_sim.aws.models import service
from harness.aws_account import KEYS, REGION
from harness.rows import over_rows

TOLD_BY_THEIR_BIRTH_MARK = {"vpc", "internet-gateway", "elastic-ip"}
"""A second create makes a second one: neither a client token nor a natural key keeps it (aws.md#kinds)."""


@pytest.fixture
def registry() -> Registry:
    return aws_kinds(AwsClient(AwsSession(KEYS, REGION), InlinePort()))


@over_rows("facts", KINDS, ids=[kind.name for kind in KINDS])
def test_a_create_is_repeated_under_its_token_or_told_by_key_or_mark(registry: Registry, facts: KindFacts) -> None:
    expected = Dedupe.KEY if facts.name not in TOLD_BY_THEIR_BIRTH_MARK else Dedupe.NONCE
    kind = registry[facts.name]
    assert kind.dedupe is (Dedupe.TOKEN if facts.token_in else expected)
    assert kind.tagging is Tagging.ON_CREATE, "no mark is added by a second call, which could fail"


def test_a_create_is_in_doubt_for_two_minutes_and_a_token_protects_for_an_hour(registry: Registry) -> None:
    """Shorter doubt makes duplicates; a token is not known to be remembered for longer (aws.md#times)."""
    assert min(kind.settle for kind in registry.values()) >= 120.0
    assert max(kind.creation.token_life for kind in registry.values()) <= 3600.0


@over_rows("facts", KINDS, ids=[kind.name for kind in KINDS])
def test_a_person_is_told_a_command_of_the_aws_cli_that_deletes_it(registry: Registry, facts: KindFacts) -> None:
    """What a delete keeps can be deleted by nothing else, once its object has gone."""
    operation = service(facts.service).operation(facts.delete)
    request = operation.input_shape if operation else None
    assert request is not None and set(request.required_members) <= set(facts.delete_members) <= set(request.members)
    assert facts.deleted_by in facts.delete_members
    assert f" --region {REGION} --" in registry[facts.name].deletion.delete_command


def test_the_commands_are_spelled_as_the_aws_cli_spells_them(registry: Registry) -> None:
    told = {
        name: registry[name].deletion.delete_command.format(id="X") for name in ("elastic-ip", "s3-bucket", "instance")
    }
    assert told == {
        "elastic-ip": "aws ec2 release-address --region us-east-1 --allocation-id X",
        "s3-bucket": "aws s3api delete-bucket --region us-east-1 --bucket X",
        "instance": "aws ec2 terminate-instances --region us-east-1 --instance-ids X",
    }
