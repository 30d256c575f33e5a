"""Every state of the official SDKs is in a table: none counts as "being created" by oversight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ibm_cloud_networking_services.transit_gateway_apis_v1 import TransitGateway, TransitGatewayConnectionCust
from ibm_platform_services.resource_controller_v2 import ResourceInstance
from ibm_vpc.vpc_v1 import VPC, LoadBalancer, Subnet

from freehold.engine.resources import Ref, State
from freehold.providers.ibm import resource_controller, vpc
from freehold.providers.ibm.kinds import transit_gateway, transit_gateway_connection

NONCE = "fabcdefg"

KNOWN: dict[str, tuple[type, Mapping[str, State], frozenset[str]]] = {
    "vpc": (VPC.StatusEnum, vpc.STATES, frozenset()),
    "subnet": (Subnet.StatusEnum, vpc.STATES, frozenset()),
    "load balancer": (LoadBalancer.ProvisioningStatusEnum, vpc.STATES, frozenset()),
    "gateway": (TransitGateway.StatusEnum, transit_gateway.STATES, frozenset()),
    "connection": (TransitGatewayConnectionCust.StatusEnum, transit_gateway_connection.STATES, frozenset()),
    "instance": (ResourceInstance.StateEnum, resource_controller.STATES, resource_controller.GONE),
}


@pytest.mark.parametrize("which", KNOWN)
def test_every_state_of_the_sdk_is_in_a_table(which: str) -> None:
    enum, table, gone = KNOWN[which]
    words = {str(member.value) for member in enum}  # type: ignore[attr-defined]  # every one is an Enum
    assert words <= table.keys() | gone


@pytest.mark.parametrize("state", sorted(set(resource_controller.STATES) - {"pending_removal"}))
async def test_an_instance_in_any_state_is_found(account: Any, state: str) -> None:
    """The default list shows two states; an instance in another state would be created a second time."""
    made = await account.create("workspace", account.workspace())
    account.cloud.strangers.change(made.id, state=state)
    assert [one.id for one in await account.find("workspace", account.workspace("x"), NONCE)] == [made.id]
    seen = await account.look("workspace", made)
    assert seen is not None and seen.vendor_state == state


@pytest.mark.parametrize("kind", ["vpc", "vpc-subnet", "load-balancer"])
async def test_deleting_states_of_vpc_resources_are_deleting(account: Any, kind: str) -> None:
    """Otherwise it would be waited for until ready, or used by its name."""
    vpc = await account.ready("vpc", account.vpc())
    request, seen = account.vpc(), vpc
    if kind != "vpc":
        request = account.subnet(vpc)
        seen = await account.ready("vpc-subnet", request)
    if kind == "load-balancer":
        request = account.balancer(seen)
        seen = await account.ready("load-balancer", request)
    await account.kinds[kind].driver.delete(Ref(seen.id, seen.target))
    now = await account.look(kind, seen)
    assert now is not None and now.state is State.DELETING
    assert [(one.id, one.state) for one in await account.find(kind, request, NONCE)] == [(seen.id, State.DELETING)]


def test_an_instance_is_deleting_while_its_delete_is_in_progress() -> None:
    """The Resource Controller shows a running delete in ``last_operation`` first; the state is still "active"."""
    deleting = {"state": "active", "last_operation": {"type": "delete", "state": "in progress"}}
    assert resource_controller.state_of(deleting) is State.DELETING
    assert resource_controller.state_of({**deleting, "last_operation": {"type": "create"}}) is State.READY
    failed = {"type": "delete", "state": "failed"}
    assert resource_controller.state_of({**deleting, "last_operation": failed}) is State.READY


async def test_only_a_crn_of_its_own_service_names_an_instance(account: Any) -> None:
    """A mark on an object storage instance must not lead to a workspace with the same guid."""
    made = await account.create("workspace", account.workspace())
    identify = account.kinds["workspace"].driver.identify
    assert identify(made.target) == made.id
    assert identify(made.target.replace(":power-iaas:", ":cloud-object-storage:")) == ""
    assert identify("not a crn") == ""
