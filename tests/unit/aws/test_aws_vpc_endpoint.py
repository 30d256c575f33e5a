"""The driver of gateway endpoints on a simulated AWS: route tables as parts, tokens, replies that fail in part."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.resources import Part, Ref, State
from freehold.providers.aws import policy_json
from freehold.providers.aws.kinds import vpc_endpoint
from freehold.providers.aws.kinds.vpc_endpoint import ROUTE_TABLE
from freehold_sim.faults import Effect, Fault
from harness.account import NONCE
from harness.aws_account import AwsAccount
from harness.aws_drivers import MARKS, Drivers, birth

S3 = "com.amazonaws.us-east-1.s3"
POLICY = {"Statement": [{"Action": ["s3:GetObject"], "Effect": "Allow", "Principal": "*", "Resource": "*"}]}


class Endpoints(Drivers):
    def __init__(self, account: AwsAccount) -> None:
        super().__init__(account, vpc_endpoint.kind)
        self.vpc = account.vpc()
        self.tables = sorted(self.table() for _ in range(2))

    def table(self) -> str:
        return str(self.account.ec2.create_route_table(VpcId=self.vpc)["RouteTable"]["RouteTableId"])

    def request(self, **more: Any) -> dict[str, Any]:
        return {"vpc_id": self.vpc, "service_name": S3, "route_table_ids": self.tables, **more}

    def routes(self, table: str) -> int:
        rows = self.account.ec2.describe_route_tables(RouteTableIds=[table])["RouteTables"][0]["Routes"]
        return sum("DestinationPrefixListId" in row for row in rows)


@pytest.fixture
def endpoints(account: AwsAccount) -> Endpoints:
    return Endpoints(account)


def in_tables(*tables: str) -> set[Part]:
    return {Part(ROUTE_TABLE, table) for table in tables}


async def test_a_life(endpoints: Endpoints) -> None:
    """It is born with its route tables: no further call adds them."""
    made = await endpoints.create(endpoints.request())
    assert (made.state, made.tags) == (State.READY, MARKS)
    assert made.parts == in_tables(*endpoints.tables)
    assert [endpoints.routes(table) for table in endpoints.tables] == [1, 1]
    assert endpoints.driver.identify(made.target) == made.id
    assert endpoints.kind.parts.driver is not None
    more = endpoints.table()
    for _ in range(2):  # the second time as after a lost reply
        await endpoints.kind.parts.driver.add_part(Ref(made.id), Part(ROUTE_TABLE, more))
        assert await endpoints.inside(made.id) == in_tables(*endpoints.tables, more)
    for _ in range(2):
        await endpoints.kind.parts.driver.remove_part(Ref(made.id), Part(ROUTE_TABLE, more))
        assert await endpoints.inside(made.id) == in_tables(*endpoints.tables)
    await endpoints.driver.delete(Ref(made.id))
    assert await endpoints.look(made.id) is None
    assert [endpoints.routes(table) for table in endpoints.tables] == [0, 0]
    with pytest.raises(errors.NotFound, match=made.id):
        await endpoints.driver.delete(Ref(made.id))


async def test_its_policy_is_followed_in_one_spelling(endpoints: Endpoints) -> None:
    made = await endpoints.create(endpoints.request(policy_document=policy_json.canonical_policy(POLICY)))
    assert (await endpoints.there(made.id)).attributes["policy_document"] == policy_json.canonical_policy(POLICY)
    endpoints.account.ec2.modify_vpc_endpoint(VpcEndpointId=made.id, PolicyDocument=json.dumps(POLICY, indent=2))
    assert (await endpoints.there(made.id)).attributes["policy_document"] == policy_json.canonical_policy(POLICY)
    other = policy_json.canonical_policy({"Statement": []})
    await endpoints.driver.update(Ref(made.id), {"policy_document": other})
    assert (await endpoints.there(made.id)).attributes["policy_document"] == other


async def test_a_strangers_endpoint_keeps_ours_out_of_its_route_table(endpoints: Endpoints) -> None:
    """AWS does not say whose route is there; it is never taken for ours."""
    taken = endpoints.tables[0]
    endpoints.account.ec2.create_vpc_endpoint(VpcId=endpoints.vpc, ServiceName=S3, RouteTableIds=[taken])
    assert await endpoints.find(endpoints.request(), NONCE) == []
    with pytest.raises(errors.NameTaken):
        await endpoints.create(endpoints.request())
    made = await endpoints.create(endpoints.request(route_table_ids=[endpoints.tables[1]]), birth(token="token-2"))
    assert endpoints.kind.parts.driver is not None
    with pytest.raises(errors.NameTaken):
        await endpoints.kind.parts.driver.add_part(Ref(made.id), Part(ROUTE_TABLE, taken))


async def test_a_delete_that_fails_within_a_successful_reply_is_no_success(endpoints: Endpoints) -> None:
    made = await endpoints.create(endpoints.request())
    endpoints.account.cloud.faults.add(Fault(Effect.PARTIAL, "ec2.DeleteVpcEndpoints", items=(0,)))
    with pytest.raises(errors.Unknown, match=made.id):
        await endpoints.driver.delete(Ref(made.id))
    assert await endpoints.look(made.id) is not None
