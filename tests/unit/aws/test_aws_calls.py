"""One request, one call through the port; and replies that AWS should not give."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from botocore import xform_name

from freehold.engine import errors
from freehold.engine.port import Effect
from freehold.providers.aws.calls import SECRET, AwsClient, is_fenced, redact_secrets
from freehold.providers.aws.kind_facts import KINDS, KindFacts, operations_of
from freehold.providers.aws.session import AwsSession
from harness.aws_account import KEYS, REGION, AwsAccount


def _answering(account: AwsAccount, operation: str, change: Any) -> AwsClient:
    """A client whose replies to an operation somebody changes on the way."""

    def mount(client: Any) -> None:
        account.mount(client)
        client.meta.events.register(f"provide-client-params.ec2.{operation}", _first_page)
        client.meta.events.register(f"after-call.ec2.{operation}", lambda parsed, **_: change(parsed))

    return AwsClient(AwsSession(KEYS, REGION, mount=mount), account.port)


def _first_page(params: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Forget which page is asked for."""
    return {name: value for name, value in params.items() if name != "NextToken"}


async def test_a_list_that_names_a_page_twice_ends(account: AwsAccount) -> None:
    client = _answering(account, "DescribeVpcs", lambda parsed: parsed.update(NextToken="again"))
    with pytest.raises(errors.Unavailable, match="names a page twice"):
        await client.read_list("ec2", "describe_vpcs", "Vpcs", "all")


async def test_a_reply_without_the_list_is_not_empty(account: AwsAccount) -> None:
    """From an empty list could be told what is gone."""
    client = _answering(account, "DescribeVpcs", lambda parsed: parsed.pop("Vpcs"))
    with pytest.raises(errors.Unavailable, match="its reply has no list"):
        await client.read_list("ec2", "describe_vpcs", "Vpcs", "all")


async def test_what_makes_or_marks_is_fenced_and_nothing_else(account: AwsAccount) -> None:
    """A process that lost its object meanwhile must not create or mark, and may go on deleting."""
    network = account.vpc()
    arn = f"arn:aws:ec2:{REGION}:111122223333:vpc/{network}"
    made = await account.api.write("ec2", "create_vpc", "x", CidrBlock="10.1.0.0/16")
    writes: list[tuple[str, str, dict[str, Any]]] = [
        ("ec2", "allocate_address", {"Domain": "vpc"}),
        ("ec2", "create_tags", {"Resources": [network], "Tags": [{"Key": "a", "Value": "b"}]}),
        ("resourcegroupstaggingapi", "tag_resources", {"ResourceARNList": [arn], "Tags": {"a": "b"}}),
        ("resourcegroupstaggingapi", "untag_resources", {"ResourceARNList": [arn], "TagKeys": ["a"]}),
        ("ec2", "delete_vpc", {"VpcId": made["Vpc"]["VpcId"]}),
    ]
    for service, operation, params in writes:
        await account.api.write(service, operation, "x", **params)
    await account.api.read("ec2", "describe_vpcs", "all")
    assert {call.operation for call in account.port.calls if call.fenced} == {
        "create_vpc", "allocate_address", "create_tags", "tag_resources",
    }  # fmt: skip
    assert [call.effect for call in account.port.calls][-2:] == [Effect.WRITE, Effect.READ]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_part_is_not_fenced_and_its_resource_is(kind: KindFacts) -> None:
    """No write of the object precedes a part that is put back: it would never be sent, and nothing can lose it."""
    assert is_fenced(xform_name(kind.create))
    assert [name for part in kind.parts for name in part.operations if is_fenced(xform_name(name))] == []


async def test_every_request_is_a_call_of_its_own(account: AwsAccount) -> None:
    """Limits, audit and crash tests see calls; a request that hides in another would escape them all."""
    await account.api.account()
    await account.api.read_list("ec2", "describe_vpcs", "Vpcs", "all")
    names = [f"{service}.{operation.title().replace('_', '')}" for service, operation in map(_split, account.sent())]
    assert names == account.served()


def _split(call: str) -> tuple[str, str]:
    service, _, operation = call.partition(".")
    return service, operation


async def test_a_subject_and_an_operation_are_in_every_message(account: AwsAccount) -> None:
    with pytest.raises(errors.NotFound, match=r"AWS refused to delete vpc \(default/prod vpc/main\): .*InvalidVpcID"):
        await account.api.write("ec2", "delete_vpc", "default/prod vpc/main", VpcId="vpc-00000000000000000")


# -- audit ----------------------------------------------------------------------------------------------------


async def test_a_write_is_audited_with_what_it_asked_for(account: AwsAccount) -> None:
    await account.api.write("ec2", "create_vpc", "x", CidrBlock="10.1.0.0/16")
    await account.api.read("ec2", "describe_vpcs", "all")
    assert [dict(call.detail) for call in account.port.calls] == [{"CidrBlock": "10.1.0.0/16"}, {}]


def test_secrets_are_not_audited() -> None:
    asked = {"UserData": "token", "Name": "x", "Nested": [{"SecretString": "key"}]}
    assert redact_secrets(asked) == {"UserData": "***", "Name": "x", "Nested": [{"SecretString": "***"}]}


def _sensitive(shape: Any, depth: int = 6) -> set[str]:
    """The members that a model calls sensitive."""
    if depth == 0 or shape is None:
        return set()
    if shape.type_name == "list":
        return _sensitive(shape.member, depth - 1)
    if shape.type_name != "structure":
        return set()
    own = {name for name, member in shape.members.items() if member.metadata.get("sensitive")}
    others = (member for name, member in shape.members.items() if name not in SECRET)
    return own.union(*(_sensitive(member, depth - 1) for member in others))


@pytest.mark.parametrize("service", ["ec2", "elb", "elbv2", "iam", "s3", "sts", "secretsmanager", "eks"])
def test_every_parameter_that_a_model_calls_sensitive_is_a_secret(service: str) -> None:
    """Of the operations that we use; of the services of later kinds, of every create."""
    model = botocore.session.get_session().get_service_model(service)
    used = operations_of(service) or {name for name in model.operation_names if name.startswith(("Create", "Put"))}
    found = set().union(*(_sensitive(model.operation_model(name).input_shape) for name in used))
    assert found - SECRET == set()
