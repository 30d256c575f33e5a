"""Clients that are not ours use the simulator over HTTP as they use IBM Cloud, with only the address changed.

The official Python SDKs by `set_service_url`; PowerVS, which has none, by plain requests at the vendor's paths.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibm_boto3
import ibm_botocore
import pytest
import requests
from ibm_cloud_networking_services import TransitGatewayApisV1
from ibm_cloud_sdk_core import ApiException
from ibm_cloud_sdk_core.authenticators import IAMAuthenticator
from ibm_platform_services import GlobalSearchV2, GlobalTaggingV1, ResourceControllerV2, ResourceManagerV2
from ibm_vpc import VpcV1
from simulator_process import Process

POWER_PLAN = "f165dd34-3a40-423b-9d95-e90a23f724dd"
COS_PLAN = "1e4e33e4-cfa6-4f12-9016-be594a6d5f87"
SETTINGS = {"quotas": {"vpcs_per_region": 2}, "rate_limits": {"search.*": [3, 3600]}}


class Clients:
    """One client of each service, set up as IBM's documentation says, but for the address."""

    def __init__(self, process: Process) -> None:
        self.process, url = process, process.url
        self.token = IAMAuthenticator("simulated-api-key", url=f"{url}/iam")
        self.vpc = self._at(VpcV1(authenticator=self.token), f"{url}/vpc/us-south/v1")
        transit = TransitGatewayApisV1(version="2026-01-01", authenticator=self.token)
        self.transit = self._at(transit, f"{url}/transit/v1")
        self.controller = self._at(ResourceControllerV2(authenticator=self.token), f"{url}/resource-controller")
        self.manager = self._at(ResourceManagerV2(authenticator=self.token), f"{url}/resource-controller")
        self.tagging = self._at(GlobalTaggingV1(authenticator=self.token), f"{url}/tagging")
        self.search = self._at(GlobalSearchV2(authenticator=self.token), f"{url}/search")

    @staticmethod
    def _at(service: Any, url: str) -> Any:
        service.set_service_url(url)
        return service

    def power(self, method: str, path: str, crn: str = "", body: Any = None) -> Any:
        """Send a request as power-go-client does: its paths begin at the root of the host."""
        headers = {"Authorization": f"Bearer {self.token.token_manager.get_token()}"}
        if crn:
            headers["CRN"] = crn.replace(":bluemix:", ":staging:")  # as the client does for any host that is not IBM's
        return requests.request(method, f"{self.process.url}{path}", json=body, headers=headers, timeout=60)

    def group(self) -> str:
        return str(self.manager.list_resource_groups(default=True).get_result()["resources"][0]["id"])

    def workspace(self) -> Any:
        made = self.controller.create_resource_instance("ws", "dal10", self.group(), POWER_PLAN).get_result()
        self.process.advance(150)
        return self.controller.get_resource_instance(made["guid"]).get_result()


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    """The clients of one process for all tests: a start takes seconds."""
    process = Process(tmp_path_factory.mktemp("simulator") / "world.json")
    yield Clients(process)
    process.end(signal.SIGKILL)


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Clients]:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(SETTINGS))
    process = Process(tmp_path / "world.json", "--settings", str(settings))
    yield Clients(process)
    process.end(signal.SIGKILL)


def test_vpc_and_its_parts(clients: Clients) -> None:
    sdk = clients.vpc
    vpc = sdk.create_vpc(name="net", address_prefix_management="auto").get_result()
    clients.process.advance(15)
    subnet = sdk.create_subnet(
        {"name": "s", "vpc": {"id": vpc["id"]}, "zone": {"name": "us-south-1"}, "total_ipv4_address_count": 256}
    ).get_result()
    clients.process.advance(10)
    group = sdk.create_security_group({"id": vpc["id"]}, name="g").get_result()
    made = sdk.create_load_balancer(
        is_public=True, subnets=[{"id": subnet["id"]}], security_groups=[{"id": group["id"]}], name="lb"
    ).get_result()
    clients.process.advance(240)
    answer = sdk.get_load_balancer(made["id"])
    assert answer.get_result()["provisioning_status"] == "active"
    assert [one["id"] for one in sdk.list_security_group_targets(group["id"]).get_result()["targets"]] == [made["id"]]
    sdk.delete_load_balancer(made["id"], if_match=answer.get_headers()["ETag"])
    clients.process.advance(120)
    assert sdk.list_load_balancers().get_result()["load_balancers"] == []


def test_power_at_the_paths_of_the_vendor(clients: Clients) -> None:
    assert clients.power("GET", "/v1/datacenters/dal10").json()["capabilities"]["power-edge-router"] is True
    workspace = clients.workspace()
    crn, at = workspace["crn"], f"/pcloud/v1/cloud-instances/{workspace['guid']}"
    assert clients.power("GET", f"/v1/workspaces/{workspace['guid']}").json()["status"] == "active"
    assert clients.power("GET", at, crn).json()["cloudInstanceID"] == workspace["guid"]
    made = clients.power("POST", f"{at}/services/dhcp", crn, {"name": "d"})
    assert made.status_code == 202
    clients.process.advance(300)
    [server] = clients.power("GET", f"{at}/services/dhcp", crn).json()
    network = server["network"]["id"]
    assert clients.power("GET", f"{at}/networks/{network}", crn).json()["name"] == "DHCPSERVERd_Private"
    interfaces = f"/v1/networks/{network}/network-interfaces"
    assert clients.power("POST", interfaces, crn, {"name": "i"}).status_code == 201
    assert [one["name"] for one in clients.power("GET", interfaces, crn).json()["interfaces"]] == ["i"]


def test_transit_gateways(clients: Clients) -> None:
    workspace = clients.workspace()
    assert "us-south" in {one["name"] for one in clients.transit.list_gateway_locations().get_result()["locations"]}
    gateway = clients.transit.create_transit_gateway("us-south", "gw").get_result()
    clients.process.advance(120)
    connection = clients.transit.create_transit_gateway_connection(
        gateway["id"], "power_virtual_server", name="p", network_id=workspace["crn"]
    ).get_result()
    clients.process.advance(120)
    seen = clients.transit.get_transit_gateway_connection(gateway["id"], connection["id"]).get_result()
    assert seen["status"] == "attached"


def test_resources_keys_and_buckets(clients: Clients) -> None:
    made = clients.controller.create_resource_instance("cos", "Global", clients.group(), COS_PLAN).get_result()
    assert made["state"] == "active"
    key = clients.controller.create_resource_key("k", made["id"], parameters={"HMAC": True}).get_result()
    hmac = key["credentials"]["cos_hmac_keys"]
    s3 = ibm_boto3.client(
        "s3", aws_access_key_id=hmac["access_key_id"], aws_secret_access_key=hmac["secret_access_key"],
        endpoint_url=f"{clients.process.url}/cos/us-south", region_name="us-east-1",
        config=ibm_botocore.client.Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )  # fmt: skip
    s3.create_bucket(Bucket="ours", CreateBucketConfiguration={"LocationConstraint": "us-south-smart"})
    assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == ["ours"]
    with pytest.raises(ibm_botocore.exceptions.ClientError) as caught:
        s3.get_bucket_acl(Bucket="ours")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501
    s3.close()
    assert clients.controller.delete_resource_instance(made["guid"], recursive=True).get_status_code() == 204


def test_tags_and_the_search(clients: Clients) -> None:
    crn = clients.vpc.create_vpc(name="tagged").get_result()["crn"]
    clients.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=["owner:a"])
    attached = clients.tagging.list_tags(attached_to=crn).get_result()["items"]
    assert [tag["name"] for tag in attached] == ["owner:a"]
    clients.process.advance(20)
    assert [one["crn"] for one in clients.search.search(query="tags:owner\\:a").get_result()["items"]] == [crn]


def test_resource_groups(clients: Clients) -> None:
    ident = clients.manager.create_resource_group(name="mine").get_result()["id"]
    assert clients.manager.get_resource_group(ident).get_result()["name"] == "mine"
    assert clients.manager.delete_resource_group(ident).get_status_code() == 204


def test_quotas_and_rates_of_the_settings_file(limited: Clients) -> None:
    for name in ("one", "two"):
        limited.vpc.create_vpc(name=name)
    with pytest.raises(ApiException) as caught:
        limited.vpc.create_vpc(name="three")
    assert "Allocated: 2, Requested: 1, Quota: 2" in caught.value.message
    for _ in range(3):
        limited.search.search(query="*")
    with pytest.raises(ApiException) as caught:
        limited.search.search(query="*")
    assert caught.value.status_code == 429


def test_what_is_not_served_is_said_in_the_form_of_the_service(clients: Clients) -> None:
    for call, name in (
        (clients.vpc.list_instances, "vpc.list_instances"),
        (lambda: clients.transit.list_redundancy_groups(), "transit.list_redundancy_groups"),
        (clients.controller.list_resource_bindings, "rc.list_resource_bindings"),
    ):
        with pytest.raises(ApiException) as caught:
            call()
        assert caught.value.status_code == 501
        assert name in caught.value.message
