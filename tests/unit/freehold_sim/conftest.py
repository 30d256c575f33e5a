"""The real SDKs with a simulated account; every answer is compared with the SDK's own models."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Any

import ibm_cloud_networking_services.transit_gateway_apis_v1 as transit_sdk
import ibm_platform_services.global_search_v2 as search_sdk
import ibm_platform_services.global_tagging_v1 as tagging_sdk
import ibm_platform_services.resource_controller_v2 as controller_sdk
import ibm_platform_services.resource_manager_v2 as manager_sdk
import ibm_vpc.vpc_v1 as vpc_sdk
import pytest
import requests
from ibm_cloud_sdk_core import BaseService
from ibm_cloud_sdk_core.authenticators import BearerTokenAuthenticator

from freehold_sim.clock import VirtualClock
from freehold_sim.http import Request, Response
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Settings
from freehold_sim.mount import WorldAdapter

BASE = "http://ibm.sim"
GROUP = "11111111111111111111111111111111"

MODELS = {
    "vpc.list_regions": vpc_sdk.RegionCollection,
    "vpc.get_region": vpc_sdk.Region,
    "vpc.list_region_zones": vpc_sdk.ZoneCollection,
    "vpc.get_region_zone": vpc_sdk.Zone,
    "vpc.list_vpcs": vpc_sdk.VPCCollection,
    "vpc.create_vpc": vpc_sdk.VPC,
    "vpc.get_vpc": vpc_sdk.VPC,
    "vpc.update_vpc": vpc_sdk.VPC,
    "vpc.get_vpc_default_security_group": vpc_sdk.DefaultSecurityGroup,
    "vpc.list_vpc_address_prefixes": vpc_sdk.AddressPrefixCollection,
    "vpc.create_vpc_address_prefix": vpc_sdk.AddressPrefix,
    "vpc.get_vpc_address_prefix": vpc_sdk.AddressPrefix,
    "vpc.update_vpc_address_prefix": vpc_sdk.AddressPrefix,
    "vpc.get_vpc_default_network_acl": vpc_sdk.DefaultNetworkACL,
    "vpc.list_network_acls": vpc_sdk.NetworkACLCollection,
    "vpc.create_network_acl": vpc_sdk.NetworkACL,
    "vpc.get_network_acl": vpc_sdk.NetworkACL,
    "vpc.update_network_acl": vpc_sdk.NetworkACL,
    "vpc.list_network_acl_rules": vpc_sdk.NetworkACLRuleCollection,
    "vpc.create_network_acl_rule": vpc_sdk.NetworkACLRule,
    "vpc.get_network_acl_rule": vpc_sdk.NetworkACLRule,
    "vpc.get_subnet_network_acl": vpc_sdk.NetworkACL,
    "vpc.replace_subnet_network_acl": vpc_sdk.NetworkACL,
    "vpc.list_subnet_reserved_ips": vpc_sdk.ReservedIPCollection,
    "vpc.create_subnet_reserved_ip": vpc_sdk.ReservedIP,
    "vpc.get_subnet_reserved_ip": vpc_sdk.ReservedIP,
    "vpc.update_subnet_reserved_ip": vpc_sdk.ReservedIP,
    "vpc.list_security_group_targets": vpc_sdk.SecurityGroupTargetCollection,
    "vpc.get_security_group_target": vpc_sdk.SecurityGroupTargetReferenceLoadBalancerReference,
    "vpc.list_load_balancer_profiles": vpc_sdk.LoadBalancerProfileCollection,
    "vpc.get_load_balancer_profile": vpc_sdk.LoadBalancerProfile,
    "vpc.get_load_balancer_statistics": vpc_sdk.LoadBalancerStatistics,
    "vpc.replace_load_balancer_pool_members": vpc_sdk.LoadBalancerPoolMemberCollection,
    "vpc.update_load_balancer_pool_member": vpc_sdk.LoadBalancerPoolMember,
    "vpc.list_subnets": vpc_sdk.SubnetCollection,
    "vpc.create_subnet": vpc_sdk.Subnet,
    "vpc.get_subnet": vpc_sdk.Subnet,
    "vpc.update_subnet": vpc_sdk.Subnet,
    "vpc.list_security_groups": vpc_sdk.SecurityGroupCollection,
    "vpc.create_security_group": vpc_sdk.SecurityGroup,
    "vpc.get_security_group": vpc_sdk.SecurityGroup,
    "vpc.update_security_group": vpc_sdk.SecurityGroup,
    "vpc.list_security_group_rules": vpc_sdk.SecurityGroupRuleCollection,
    "vpc.create_security_group_rule": vpc_sdk.SecurityGroupRule,
    "vpc.get_security_group_rule": vpc_sdk.SecurityGroupRule,
    "vpc.update_security_group_rule": vpc_sdk.SecurityGroupRule,
    "vpc.create_security_group_target_binding": vpc_sdk.SecurityGroupTargetReferenceLoadBalancerReference,
    "vpc.list_load_balancers": vpc_sdk.LoadBalancerCollection,
    "vpc.create_load_balancer": vpc_sdk.LoadBalancer,
    "vpc.get_load_balancer": vpc_sdk.LoadBalancer,
    "vpc.update_load_balancer": vpc_sdk.LoadBalancer,
    "vpc.list_load_balancer_pools": vpc_sdk.LoadBalancerPoolCollection,
    "vpc.create_load_balancer_pool": vpc_sdk.LoadBalancerPool,
    "vpc.get_load_balancer_pool": vpc_sdk.LoadBalancerPool,
    "vpc.update_load_balancer_pool": vpc_sdk.LoadBalancerPool,
    "vpc.list_load_balancer_pool_members": vpc_sdk.LoadBalancerPoolMemberCollection,
    "vpc.create_load_balancer_pool_member": vpc_sdk.LoadBalancerPoolMember,
    "vpc.get_load_balancer_pool_member": vpc_sdk.LoadBalancerPoolMember,
    "vpc.list_load_balancer_listeners": vpc_sdk.LoadBalancerListenerCollection,
    "vpc.create_load_balancer_listener": vpc_sdk.LoadBalancerListener,
    "vpc.get_load_balancer_listener": vpc_sdk.LoadBalancerListener,
    "vpc.update_load_balancer_listener": vpc_sdk.LoadBalancerListener,
    "transit.list_transit_gateways": transit_sdk.TransitGatewayCollection,
    "transit.create_transit_gateway": transit_sdk.TransitGateway,
    "transit.get_transit_gateway": transit_sdk.TransitGateway,
    "transit.update_transit_gateway": transit_sdk.TransitGateway,
    "transit.list_gateway_locations": transit_sdk.TSCollection,
    "transit.get_gateway_location": transit_sdk.TSLocation,
    "transit.list_connections": transit_sdk.TransitConnectionCollection,
    "transit.list_transit_gateway_connections": transit_sdk.TransitGatewayConnectionCollection,
    "transit.create_transit_gateway_connection": transit_sdk.TransitGatewayConnectionCust,
    "transit.get_transit_gateway_connection": transit_sdk.TransitGatewayConnectionCust,
    "transit.update_transit_gateway_connection": transit_sdk.TransitGatewayConnectionCust,
    "rc.list_resource_instances": controller_sdk.ResourceInstancesList,
    "rc.create_resource_instance": controller_sdk.ResourceInstance,
    "rc.get_resource_instance": controller_sdk.ResourceInstance,
    "rc.update_resource_instance": controller_sdk.ResourceInstance,
    "rc.lock_resource_instance": controller_sdk.ResourceInstance,
    "rc.unlock_resource_instance": controller_sdk.ResourceInstance,
    "rc.cancel_lastop_resource_instance": controller_sdk.ResourceInstance,
    "rc.update_resource_key": controller_sdk.ResourceKey,
    "rc.list_resource_keys": controller_sdk.ResourceKeysList,
    "rc.list_resource_keys_for_instance": controller_sdk.ResourceKeysList,
    "rc.create_resource_key": controller_sdk.ResourceKey,
    "rc.get_resource_key": controller_sdk.ResourceKey,
    "rc.list_reclamations": controller_sdk.ReclamationsList,
    "rc.run_reclamation_action": controller_sdk.Reclamation,
    "rm.list_resource_groups": manager_sdk.ResourceGroupList,
    "rm.create_resource_group": manager_sdk.ResCreateResourceGroup,
    "rm.update_resource_group": manager_sdk.ResourceGroup,
    "rm.list_quota_definitions": manager_sdk.QuotaDefinitionList,
    "rm.get_quota_definition": manager_sdk.QuotaDefinition,
    "rm.get_resource_group": manager_sdk.ResourceGroup,
    "tagging.list_tags": tagging_sdk.TagList,
    "tagging.create_tag": tagging_sdk.CreateTagResults,
    "tagging.delete_tag_all": tagging_sdk.DeleteTagsResult,
    "tagging.delete_tag": tagging_sdk.DeleteTagResults,
    "tagging.attach_tag": tagging_sdk.TagResults,
    "tagging.detach_tag": tagging_sdk.TagResults,
    "search.search": search_sdk.ScanResult,
}

_NO_MODEL = ("iam.", "power.", "cos.")


def _enums_known(model: Any, where: str) -> None:
    for name, value in vars(model).items():
        enum = getattr(type(model), "".join(part.title() for part in name.strip("_").split("_")) + "Enum", None)
        if enum is not None and value is not None:
            values = value if isinstance(value, list) else [value]
            assert {*values} <= {member.value for member in enum}, f"{where}.{name}: {value}"
        for child in value if isinstance(value, list) else [value]:
            if hasattr(child, "to_dict"):
                _enums_known(child, f"{where}.{name}")


def _nothing_lost(sent: Any, kept: Any, where: str) -> None:
    if isinstance(sent, dict):
        assert isinstance(kept, dict), where
        assert set(sent) <= set(kept), f"{where}: the SDK does not know {set(sent) - set(kept)}"
        for key, value in sent.items():
            _nothing_lost(value, kept[key], f"{where}.{key}")
    elif isinstance(sent, list):
        for number, (one, other) in enumerate(zip(sent, kept, strict=True)):
            _nothing_lost(one, other, f"{where}[{number}]")
    elif isinstance(kept, datetime):
        assert datetime.fromisoformat(sent) == kept, where
    else:
        assert sent == kept, where


class CheckedCloud:
    """A simulated account; the SDK's model reads each successful answer."""

    def __init__(self, cloud: SimulatedIBM) -> None:
        self.cloud = cloud
        self.checked: set[str] = set()

    def handle(self, request: Request) -> Response:
        response = self.cloud.handle(request)
        operation = self.cloud.calls[-1].operation
        if response.status < 300 and response.body and not operation.startswith(_NO_MODEL):
            sent = json.loads(response.body)
            model = MODELS[operation].from_dict(sent)
            _nothing_lost(sent, model.to_dict(), operation)
            _enums_known(model, operation)
            self.checked.add(operation)
        return response


class Account:
    """The SDKs of one simulated account, on virtual time."""

    def __init__(self, settings: Settings) -> None:
        self.clock = VirtualClock()
        self.cloud = SimulatedIBM(self.clock, settings)
        self.checked = CheckedCloud(self.cloud)
        self.session = requests.Session()
        self.session.mount(BASE, WorldAdapter(self.checked))
        self.token = self.fetch_token().json()["access_token"]
        self.authenticator = BearerTokenAuthenticator(self.token)

    # Built when first used: each SDK client costs 50 ms.

    @cached_property
    def vpc(self) -> Any:
        return self._on(vpc_sdk.VpcV1(authenticator=self.authenticator), "/vpc/us-south/v1")

    @cached_property
    def transit(self) -> Any:
        service = transit_sdk.TransitGatewayApisV1(version="2026-01-01", authenticator=self.authenticator)
        return self._on(service, "/transit/v1")

    @cached_property
    def rc(self) -> Any:
        return self._on(controller_sdk.ResourceControllerV2(self.authenticator), "/resource-controller")

    @cached_property
    def rm(self) -> Any:
        return self._on(manager_sdk.ResourceManagerV2(self.authenticator), "/resource-controller")

    @cached_property
    def tagging(self) -> Any:
        return self._on(tagging_sdk.GlobalTaggingV1(self.authenticator), "/tagging")

    @cached_property
    def search(self) -> Any:
        return self._on(search_sdk.GlobalSearchV2(self.authenticator), "/search")

    def _on(self, service: BaseService, prefix: str) -> Any:
        service.set_service_url(BASE + prefix)
        service.set_http_client(self.session)
        return service

    def fetch_token(self, key: str = "simulated-api-key") -> requests.Response:
        form = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": key, "response_type": "cloud_iam"}
        return self.session.post(f"{BASE}/iam/identity/token", data=form)

    def power(self, method: str, path: str, body: Any = None, crn: str = "", region: str = "dal") -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}", "CRN": crn.replace(":bluemix:", ":staging:")}
        return self.session.request(method, f"{BASE}/power/{region}{path}", json=body, headers=headers)

    # -- shortcuts: ready resources ----------------------------------------------------------------------------

    def a_vpc(self, name: str = "net") -> dict[str, Any]:
        made = self.vpc.create_vpc(name=name).get_result()
        self.clock.advance(15)
        return self.vpc.get_vpc(made["id"]).get_result()

    def a_subnet(self, vpc: dict[str, Any], name: str = "sub", zone: str = "us-south-1") -> dict[str, Any]:
        prototype = {
            "name": name, "vpc": {"id": vpc["id"]}, "zone": {"name": zone}, "total_ipv4_address_count": 256,
        }  # fmt: skip
        made = self.vpc.create_subnet(prototype).get_result()
        self.clock.advance(10)
        return self.vpc.get_subnet(made["id"]).get_result()

    def a_balancer(self, subnet: dict[str, Any], name: str = "lb", **fields: Any) -> dict[str, Any]:
        made = self.vpc.create_load_balancer(
            is_public=True, subnets=[{"id": subnet["id"]}], name=name, **fields
        ).get_result()
        self.clock.advance(240)
        return self.vpc.get_load_balancer(made["id"]).get_result()

    def a_workspace(self, name: str = "ws", zone: str = "dal10", **fields: Any) -> dict[str, Any]:
        plan = "f165dd34-3a40-423b-9d95-e90a23f724dd"
        made = self.rc.create_resource_instance(name, zone, GROUP, plan, **fields).get_result()
        self.clock.advance(150)
        return self.rc.get_resource_instance(made["guid"]).get_result()

    def a_gateway(self, name: str = "gw", **fields: Any) -> dict[str, Any]:
        made = self.transit.create_transit_gateway(location="us-south", name=name, **fields).get_result()
        self.clock.advance(120)
        return self.transit.get_transit_gateway(made["id"]).get_result()

    def a_cos(self, name: str = "cos") -> dict[str, Any]:
        plan = "1e4e33e4-cfa6-4f12-9016-be594a6d5f87"
        made = self.rc.create_resource_instance(name, "Global", GROUP, plan).get_result()
        self.clock.advance(10)
        return self.rc.get_resource_instance(made["guid"]).get_result()

    def a_dhcp(self, workspace: dict[str, Any], name: str = "d") -> dict[str, Any]:
        path = f"/pcloud/v1/cloud-instances/{workspace['guid']}/services/dhcp"
        made = self.power("POST", path, {"name": name}, workspace["crn"])
        self.clock.advance(300)
        return made.json()


@pytest.fixture
def make_account() -> Callable[..., Account]:
    """Return a maker of accounts: `make_account(lags=Lags.none(), ...)` takes fields of Settings."""
    return lambda **fields: Account(Settings(**fields))


@pytest.fixture
def account() -> Account:
    return Account(Settings())
