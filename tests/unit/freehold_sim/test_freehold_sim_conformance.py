"""Every operation, called by the real SDK: the account fixture reads each answer with the SDK's own model."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import requests
from ibm_cloud_sdk_core import ApiException

from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.services import ROUTES

RULE = {"direction": "inbound", "protocol": "tcp", "port_min": 6443, "port_max": 6443, "name": "api"}
MONITOR = {"delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp"}
POOL = {"algorithm": "round_robin", "protocol": "tcp", "health_monitor": MONITOR, "name": "pool-6443"}
LISTENER = {"port": 6443, "protocol": "tcp", "default_pool": {"name": "pool-6443"}}


def test_regions_and_zones(account: Any) -> None:
    regions = account.vpc.list_regions().get_result()["regions"]
    assert "eu-de" in {region["name"] for region in regions}
    assert account.vpc.get_region("us-south").get_result()["status"] == "available"
    zones = account.vpc.list_region_zones("us-south").get_result()["zones"]
    assert [zone["name"] for zone in zones] == ["us-south-1", "us-south-2", "us-south-3"]
    assert account.vpc.get_region_zone("us-south", "us-south-2").get_result()["region"]["name"] == "us-south"


def test_vpc_through_its_states(account: Any) -> None:
    made = account.vpc.create_vpc(name="net").get_result()
    assert (made["status"], made["id"][:5]) == ("pending", "r006-")
    account.clock.advance(15)
    assert account.vpc.get_vpc(made["id"]).get_result()["status"] == "available"
    assert account.vpc.update_vpc(made["id"], {"name": "renamed"}).get_result()["name"] == "renamed"
    assert account.vpc.list_vpcs().get_result()["total_count"] == 1
    group = account.vpc.get_vpc_default_security_group(made["id"]).get_result()
    assert group["id"] == made["default_security_group"]["id"]
    prefixes = account.vpc.list_vpc_address_prefixes(made["id"]).get_result()["address_prefixes"]
    assert [prefix["cidr"] for prefix in prefixes] == ["10.240.0.0/18", "10.240.64.0/18", "10.240.128.0/18"]
    assert account.vpc.delete_vpc(made["id"]).get_status_code() == 204
    assert account.vpc.get_vpc(made["id"]).get_result()["status"] == "deleting"
    account.clock.advance(15)
    assert account.vpc.list_vpcs().get_result()["vpcs"] == []
    assert account.vpc.list_security_groups().get_result()["security_groups"] == []


def test_subnet_through_its_states(account: Any) -> None:
    vpc = account.a_vpc()
    first, second = account.a_subnet(vpc, "a"), account.a_subnet(vpc, "b")
    assert [first["ipv4_cidr_block"], second["ipv4_cidr_block"]] == ["10.240.0.0/24", "10.240.1.0/24"]
    assert first["status"] == "available"
    assert account.vpc.list_subnets(vpc_id=vpc["id"]).get_result()["total_count"] == 2
    assert account.vpc.update_subnet(first["id"], {"name": "c"}).get_result()["name"] == "c"
    account.vpc.delete_subnet(first["id"])
    assert account.vpc.get_subnet(first["id"]).get_result()["status"] == "deleting"
    account.clock.advance(10)
    assert [s["id"] for s in account.vpc.list_subnets().get_result()["subnets"]] == [second["id"]]


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        (RULE, ("tcp", {"cidr_block": "0.0.0.0/0"})),
        ({"direction": "outbound", "protocol": "any"}, ("any", {"cidr_block": "0.0.0.0/0"})),
        ({"direction": "inbound", "protocol": "icmp_tcp_udp"}, ("icmp_tcp_udp", {"cidr_block": "0.0.0.0/0"})),
        ({"direction": "inbound", "protocol": "icmp", "type": 8, "code": 0}, ("icmp", {"cidr_block": "0.0.0.0/0"})),
        (RULE | {"remote": {"address": "10.1.2.3"}}, ("tcp", {"address": "10.1.2.3"})),
        (RULE | {"remote": {"cidr_block": "10.1.0.0/16"}}, ("tcp", {"cidr_block": "10.1.0.0/16"})),
        ({"direction": "inbound", "protocol": "number_99"}, ("number_99", {"cidr_block": "0.0.0.0/0"})),
    ],
)
def test_security_group_rules(account: Any, rule: dict[str, Any], seen: tuple[str, dict[str, Any]]) -> None:
    vpc = account.a_vpc()
    group = account.vpc.create_security_group(vpc={"id": vpc["id"]}, name="sg", rules=[rule]).get_result()
    rules = account.vpc.list_security_group_rules(group["id"]).get_result()["rules"]
    assert [(one["protocol"], one["remote"]) for one in rules] == [seen]
    made = account.vpc.create_security_group_rule(group["id"], rule | {"name": "again"}).get_result()
    assert account.vpc.get_security_group_rule(group["id"], made["id"]).get_result() == made
    changed = account.vpc.update_security_group_rule(group["id"], made["id"], {"name": "other"}).get_result()
    assert changed["name"] == "other"
    account.vpc.delete_security_group_rule(group["id"], made["id"])
    assert len(account.vpc.get_security_group(group["id"]).get_result()["rules"]) == 1


def test_security_group_remote_group_and_rename(account: Any) -> None:
    vpc = account.a_vpc()
    default = vpc["default_security_group"]
    rule = RULE | {"remote": {"id": default["id"]}}
    group = account.vpc.create_security_group(vpc={"id": vpc["id"]}, name="sg", rules=[rule]).get_result()
    assert group["rules"][0]["remote"]["name"] == default["name"]
    assert account.vpc.update_security_group(group["id"], {"name": "sg2"}).get_result()["name"] == "sg2"
    assert account.vpc.list_security_groups(vpc_id=vpc["id"]).get_result()["total_count"] == 2
    assert account.vpc.delete_security_group(group["id"]).get_status_code() == 204


def test_load_balancer_through_its_states(account: Any) -> None:
    subnet = account.a_subnet(account.a_vpc())
    made = account.vpc.create_load_balancer(
        is_public=True, subnets=[{"id": subnet["id"]}], name="lb", pools=[POOL], listeners=[LISTENER]
    ).get_result()
    assert (made["provisioning_status"], made["operating_status"]) == ("create_pending", "offline")
    assert made["hostname"] == f"{made['id'].partition('-')[2][:8]}-us-south.lb.appdomain.cloud"
    account.clock.advance(240)
    ready = account.vpc.get_load_balancer(made["id"]).get_result()
    assert (ready["provisioning_status"], ready["operating_status"]) == ("active", "online")
    assert account.vpc.list_load_balancers().get_result()["total_count"] == 1
    assert account.vpc.update_load_balancer(made["id"], {"name": "lb2"}).get_result()["name"] == "lb2"
    account.clock.advance(10)
    account.vpc.delete_load_balancer(made["id"])
    assert account.vpc.get_load_balancer(made["id"]).get_result()["provisioning_status"] == "delete_pending"
    account.clock.advance(120)
    assert account.vpc.list_load_balancers().get_result()["load_balancers"] == []


def test_load_balancer_parts(account: Any) -> None:
    subnet = account.a_subnet(account.a_vpc())
    lb = account.a_balancer(subnet, pools=[POOL], listeners=[LISTENER])["id"]
    vpc, settled = account.vpc, lambda: account.clock.advance(10)
    pool = vpc.create_load_balancer_pool(
        lb, algorithm="round_robin", protocol="tcp", health_monitor=MONITOR, name="p2"
    ).get_result()
    settled()
    assert vpc.get_load_balancer_pool(lb, pool["id"]).get_result()["provisioning_status"] == "active"
    vpc.update_load_balancer_pool(lb, pool["id"], {"name": "p3"})
    settled()
    assert {p["name"] for p in vpc.list_load_balancer_pools(lb).get_result()["pools"]} == {"pool-6443", "p3"}
    target = {"address": "10.0.0.9"}
    member = vpc.create_load_balancer_pool_member(lb, pool["id"], port=6443, target=target).get_result()
    settled()
    assert vpc.get_load_balancer_pool_member(lb, pool["id"], member["id"]).get_result()["target"] == target
    assert len(vpc.list_load_balancer_pool_members(lb, pool["id"]).get_result()["members"]) == 1
    vpc.delete_load_balancer_pool_member(lb, pool["id"], member["id"])
    settled()
    listener = vpc.create_load_balancer_listener(
        lb, protocol="tcp", port=22, default_pool={"id": pool["id"]}
    ).get_result()
    settled()
    assert vpc.get_load_balancer_listener(lb, listener["id"]).get_result()["default_pool"]["name"] == "p3"
    vpc.update_load_balancer_listener(lb, listener["id"], {"connection_limit": 10})
    settled()
    assert len(vpc.list_load_balancer_listeners(lb).get_result()["listeners"]) == 2
    vpc.delete_load_balancer_listener(lb, listener["id"])
    settled()
    vpc.delete_load_balancer_pool(lb, pool["id"])
    settled()
    assert len(vpc.get_load_balancer(lb).get_result()["pools"]) == 1


def test_load_balancer_as_target_of_a_security_group(account: Any) -> None:
    vpc = account.a_vpc()
    lb = account.a_balancer(account.a_subnet(vpc))
    group = account.vpc.create_security_group(vpc={"id": vpc["id"]}, name="sg").get_result()
    assert account.vpc.create_security_group_target_binding(group["id"], lb["id"]).get_status_code() == 201
    account.clock.advance(10)
    seen = account.vpc.get_security_group(group["id"]).get_result()["targets"]
    assert [target["id"] for target in seen] == [lb["id"]]
    account.vpc.delete_security_group_target_binding(group["id"], lb["id"])
    assert account.vpc.get_security_group(group["id"]).get_result()["targets"] == []


def test_transit_gateway_and_connections_through_their_states(account: Any) -> None:
    vpc, workspace = account.a_vpc(), account.a_workspace()
    made = account.transit.create_transit_gateway(location="us-south", name="gw").get_result()
    assert made["status"] == "pending"
    account.clock.advance(120)
    gateway = account.transit.update_transit_gateway(made["id"], name="gw2").get_result()
    assert (gateway["status"], gateway["name"]) == ("available", "gw2")
    to_vpc = account.transit.create_transit_gateway_connection(
        made["id"], network_type="vpc", network_id=vpc["crn"], name="v"
    ).get_result()
    to_power = account.transit.create_transit_gateway_connection(
        made["id"], network_type="power_virtual_server", network_id=workspace["crn"], name="p"
    ).get_result()
    assert to_vpc["status"] == to_power["status"] == "pending"
    account.clock.advance(120)
    listed = account.transit.list_transit_gateway_connections(made["id"]).get_result()
    assert {one["status"] for one in listed["connections"]} == {"attached"}
    everywhere = account.transit.list_connections(network_id=vpc["crn"]).get_result()["connections"]
    assert [one["transit_gateway"]["id"] for one in everywhere] == [made["id"]]
    renamed = account.transit.update_transit_gateway_connection(made["id"], to_vpc["id"], name="w").get_result()
    assert renamed["name"] == "w"
    for one in (to_vpc, to_power):
        account.transit.delete_transit_gateway_connection(made["id"], one["id"])
        seen = account.transit.get_transit_gateway_connection(made["id"], one["id"]).get_result()
        assert seen["status"] == "deleting"
    account.clock.advance(60)
    account.transit.delete_transit_gateway(made["id"])
    assert account.transit.list_transit_gateways().get_result()["transit_gateways"][0]["status"] == "deleting"
    account.clock.advance(60)
    assert account.transit.list_transit_gateways().get_result()["transit_gateways"] == []


def test_locations_of_transit_gateways(account: Any) -> None:
    names = [one["name"] for one in account.transit.list_gateway_locations().get_result()["locations"]]
    assert "us-south" in names
    shown = account.transit.get_gateway_location(names[0]).get_result()
    assert {"dal10", names[0]} <= {one["name"] for one in shown["local_connection_locations"]}
    with pytest.raises(ApiException) as caught:
        account.transit.get_gateway_location("mars")
    assert caught.value.status_code == 404


def test_resource_instances_keys_and_reclamation(account: Any) -> None:
    cos = account.a_cos()
    assert (cos["state"], cos["region_id"], cos["id"]) == ("active", "global", cos["crn"])
    assert account.rc.get_resource_instance(cos["crn"]).get_result()["guid"] == cos["guid"]
    assert account.rc.update_resource_instance(cos["id"], name="cos 2").get_result()["name"] == "cos 2"
    assert account.rc.lock_resource_instance(cos["id"]).get_result()["locked"] is True
    assert account.rc.unlock_resource_instance(cos["id"]).get_result()["locked"] is False
    key = account.rc.create_resource_key("k", cos["id"], parameters={"HMAC": True}).get_result()
    assert set(key["credentials"]["cos_hmac_keys"]) == {"access_key_id", "secret_access_key"}
    assert account.rc.list_resource_keys(name="k").get_result()["rows_count"] == 1
    assert account.rc.list_resource_keys_for_instance(cos["guid"]).get_result()["rows_count"] == 1
    assert account.rc.get_resource_key(key["id"]).get_result()["name"] == "k"
    account.rc.delete_resource_key(key["guid"])
    assert account.rc.delete_resource_instance(cos["id"], recursive=True).get_status_code() == 204
    assert account.rc.get_resource_instance(cos["id"]).get_result()["state"] == "pending_reclamation"
    waiting = account.rc.list_reclamations(resource_instance_id=cos["guid"]).get_result()["resources"]
    assert waiting[0]["state"] == "SCHEDULED"
    account.rc.run_reclamation_action(waiting[0]["id"], "restore")
    assert account.rc.get_resource_instance(cos["id"]).get_result()["state"] == "active"
    account.rc.delete_resource_instance(cos["id"])
    waiting = account.rc.list_reclamations().get_result()["resources"]
    account.rc.run_reclamation_action(waiting[0]["id"], "reclaim")
    account.clock.advance(10)
    assert account.rc.get_resource_instance(cos["id"]).get_result()["state"] == "removed"


def test_workspace_through_its_states(account: Any) -> None:
    workspace = account.a_workspace()
    assert (workspace["state"], workspace["region_id"], workspace["type"]) == ("active", "dal10", "composite_instance")
    listed = account.rc.list_resource_instances(name="ws").get_result()
    assert [one["guid"] for one in listed["resources"]] == [workspace["guid"]]
    account.rc.delete_resource_instance(workspace["guid"])
    seen = account.rc.get_resource_instance(workspace["guid"]).get_result()
    assert (seen["state"], seen["last_operation"]["type"]) == ("active", "delete")
    account.clock.advance(90)
    assert account.rc.get_resource_instance(workspace["guid"]).get_result()["state"] == "removed"


def test_resource_groups(account: Any) -> None:
    found = account.rm.list_resource_groups(name="Default").get_result()["resources"]
    assert [group["id"] for group in found] == ["11111111111111111111111111111111"]
    assert account.rm.list_resource_groups(name="none").get_result()["resources"] == []
    assert account.rm.get_resource_group(found[0]["id"]).get_result()["name"] == "Default"


def test_tags(account: Any) -> None:
    crn = account.a_vpc()["crn"]
    done = account.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=["owner:a", "Env:prod"]).get_result()
    assert done["results"] == [{"resource_id": crn, "is_error": False, "message": "The tags were attached"}]
    seen = account.tagging.list_tags(attached_to=crn, tag_type="user").get_result()["items"]
    assert [item["name"] for item in seen] == ["Env:prod", "owner:a"]
    account.tagging.detach_tag(resources=[{"resource_id": crn}], tag_names=["OWNER:a"])
    assert account.tagging.list_tags().get_result()["total_count"] == 1
    assert account.tagging.delete_tag("env:prod").get_result()["results"][0]["is_error"] is True
    account.cloud.strangers.delete(crn)
    assert account.tagging.delete_tag_all().get_result()["total_count"] == 1
    account.tagging.create_tag(["team:x"], tag_type="access")
    assert account.tagging.list_tags(tag_type="access").get_result()["items"] == [{"name": "team:x"}]


def test_search(account: Any) -> None:
    vpc = account.a_vpc()
    account.cloud.strangers.attach(vpc["crn"], "owner:a")
    account.clock.advance(20)
    found = account.search.search(query='tags:"OWNER:A" AND family:is', fields=["*"]).get_result()["items"]
    assert [item["crn"] for item in found] == [vpc["crn"]]
    assert (found[0]["type"], found[0]["tags"]) == ("vpc", ["owner:a"])


def test_every_operation_with_a_model_was_seen_by_these_tests() -> None:
    """A new operation must come with a call: names are compared with the text of this folder."""
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("*.py"))
    modelled = {r.operation.partition(".")[2] for r in ROUTES if not r.operation.startswith(("iam.", "power.", "cos."))}
    assert not {name for name in modelled if f".{name}(" not in text}


def test_an_instance_shows_the_identity_of_the_token_that_created_it(account: Any) -> None:
    """Also if the create takes effect late: the identity is that of the request."""
    token = account.fetch_token().json()["access_token"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    assert claims["iam_id"] == account.cloud.settings.iam_id
    assert account.a_workspace()["created_by"] == claims["iam_id"]
    account.cloud.faults.add(Fault(Effect.LATE, "rc.create_resource_instance", delay=20.0))
    with pytest.raises(requests.Timeout):
        account.a_workspace("late")
    theirs = account.cloud.strangers.make("workspace", zone="dal10", name="theirs")
    account.clock.advance(200)
    shown = account.rc.list_resource_instances().get_result()["resources"]
    makers = {one["name"]: one["created_by"] for one in shown}
    assert makers == {"ws": claims["iam_id"], "late": claims["iam_id"], theirs["name"]: "IBMid-0STRANGER0"}
