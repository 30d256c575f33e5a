"""The resources of one cluster are created and deleted, in the order that IBM's refusals require."""

from typing import Any

import pytest
from ibm_cloud_sdk_core import ApiException

MONITOR = {"delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp"}
POOL = {"algorithm": "round_robin", "protocol": "tcp", "health_monitor": MONITOR, "name": "pool-6443"}
LISTENER = {"port": 6443, "protocol": "tcp", "default_pool": {"name": "pool-6443"}}
OWNER = "powervs.cluster.x-k8s.io.cluster-uuid:0b7c"


@pytest.fixture
def cluster(account: Any) -> dict[str, Any]:
    """Create everything that a PowerVS cluster needs and tag what can be tagged."""
    vpc, workspace, gateway = account.a_vpc(), account.a_workspace(), account.a_gateway()
    zones = ("us-south-1", "us-south-2", "us-south-3")
    subnets = [account.a_subnet(vpc, f"sub-{zone}", zone) for zone in zones]
    server = account.a_dhcp(workspace)
    balancer = account.a_balancer(subnets[0], pools=[POOL], listeners=[LISTENER])
    connect = account.transit.create_transit_gateway_connection
    ends = [("vpc", vpc["crn"], "c-vpc"), ("power_virtual_server", workspace["crn"], "c-pvs")]
    connections = [
        connect(gateway["id"], network_type=kind, network_id=crn, name=name).get_result() for kind, crn, name in ends
    ]
    account.clock.advance(120)
    path = f"/pcloud/v1/cloud-instances/{workspace['guid']}/networks/{server['network']['id']}"
    network = account.power("GET", path, crn=workspace["crn"]).json()
    crns = [one["crn"] for one in (vpc, workspace, gateway, *subnets, network, balancer)]
    account.tagging.attach_tag(resources=[{"resource_id": crn} for crn in crns], tag_names=[OWNER])
    account.clock.advance(20)
    return {
        "vpc": vpc, "workspace": workspace, "gateway": gateway, "subnets": subnets, "server": server,
        "balancer": balancer, "connections": connections, "crns": crns,
    }  # fmt: skip


def test_one_search_by_uuid_finds_all_taggable_resources(account: Any, cluster: dict[str, Any]) -> None:
    found = account.search.search(query=f'tags:"{OWNER}"', limit=100).get_result()["items"]
    assert {item["crn"] for item in found} == set(cluster["crns"])


def test_deleted_in_order_until_nothing_is_left(account: Any, cluster: dict[str, Any]) -> None:
    gateway, workspace = cluster["gateway"]["id"], cluster["workspace"]
    with pytest.raises(ApiException):
        account.transit.delete_transit_gateway(gateway)
    for connection in cluster["connections"]:
        account.transit.delete_transit_gateway_connection(gateway, connection["id"])
    account.vpc.delete_load_balancer(cluster["balancer"]["id"])
    server = f"/pcloud/v1/cloud-instances/{workspace['guid']}/services/dhcp/{cluster['server']['id']}"
    assert account.power("DELETE", server, crn=workspace["crn"]).status_code == 202
    account.clock.advance(120)
    account.transit.delete_transit_gateway(gateway)
    for subnet in cluster["subnets"]:
        account.vpc.delete_subnet(subnet["id"])
    account.clock.advance(90)
    account.vpc.delete_vpc(cluster["vpc"]["id"])
    account.rc.delete_resource_instance(workspace["guid"])
    account.clock.advance(90)
    left = [(row["kind"], row["state"]) for row in account.cloud.strangers.resources()]
    assert left == [("instance", "removed")]
    account.clock.advance(20)
    assert account.search.search(query=f'tags:"{OWNER}"').get_result()["items"] == []
