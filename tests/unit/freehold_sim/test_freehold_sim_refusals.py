"""The simulation refuses what IBM refuses, with the same status and message."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from ibm_cloud_sdk_core import ApiException

from freehold_sim.ibm.settings import Assumptions, Quotas, Settings
from harness.rows import over_rows

GROUP = "11111111111111111111111111111111"
POWER_PLAN = "f165dd34-3a40-423b-9d95-e90a23f724dd"


def refusal(call: Callable[[], Any]) -> tuple[int, str]:
    with pytest.raises(ApiException) as caught:
        call()
    return caught.value.status_code, str(caught.value.message)


# -- identity -------------------------------------------------------------------------------------------------


def test_wrong_api_key(account: Any) -> None:
    answer = account.fetch_token("wrong")
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "BXNIM0415E")


@over_rows("header", [None, "Bearer", "Bearer a.b.c", "Basic abc"])
@over_rows(
    "path",
    ["/vpc/us-south/v1/vpcs", "/transit/v1/transit_gateways", "/resource-controller/v2/resource_instances",
     "/tagging/v3/tags", "/power/dal/v1/workspaces", "/cos/us-south/bucket"],
)  # fmt: skip
def test_every_service_requires_a_token(account: Any, path: str, header: str | None) -> None:
    headers = {"Authorization": header} if header else {}
    assert account.session.get(f"http://ibm.sim{path}", headers=headers).status_code == 401


def test_an_expired_token_is_refused(make_account: Callable[..., Any]) -> None:
    account = make_account(token_seconds=-1)
    assert refusal(account.vpc.list_vpcs)[0] == 401


def test_an_altered_token_is_refused(account: Any) -> None:
    account.authenticator.set_bearer_token(account.token[:-3] + "AAA")
    assert refusal(account.vpc.list_vpcs)[0] == 401


# -- VPC ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Upper", "1digit", "a.b", "-a", "a-", "a" * 64, "ibm-x", ""])
def test_vpc_names(account: Any, name: str) -> None:
    status, message = refusal(lambda: account.vpc.create_vpc(name=name))
    assert status == 400
    assert "is not valid" in message


def test_vpc_names_are_unique_in_a_region(account: Any) -> None:
    account.a_vpc("net")
    assert refusal(lambda: account.vpc.create_vpc(name="net")) == (400, "Provided Name (net) is not unique")
    account.vpc.set_service_url("http://ibm.sim/vpc/eu-de/v1")
    assert account.vpc.create_vpc(name="net").get_status_code() == 201


def test_vpc_rename_onto_a_taken_name(account: Any) -> None:
    account.a_vpc("net")
    other = account.a_vpc("other")
    assert refusal(lambda: account.vpc.update_vpc(other["id"], {"name": "net"}))[0] == 400


def test_vpc_quota(make_account: Callable[..., Any]) -> None:
    account = make_account(quotas=Quotas(vpcs_per_region=1))
    account.a_vpc("one")
    message = "Creating a new VPC will put the user over quota. Allocated: 1, Requested: 1, Quota: 1"
    assert refusal(lambda: account.vpc.create_vpc(name="two")) == (400, message)


def test_vpc_with_unknown_resource_group(account: Any) -> None:
    assert refusal(lambda: account.vpc.create_vpc(name="a", resource_group={"id": "f" * 32}))[0] == 400


def test_vpc_in_use_is_not_deleted(account: Any) -> None:
    vpc = account.a_vpc()
    subnet = account.a_subnet(vpc)
    status, message = refusal(lambda: account.vpc.delete_vpc(vpc["id"]))
    assert status == 409
    assert message == f"The VPC is in use and cannot be deleted. Subnet: {subnet['id']}"


def test_unknown_region_and_zone(account: Any) -> None:
    vpc = account.a_vpc()
    assert refusal(lambda: account.vpc.list_region_zones("mars"))[0] == 404
    assert refusal(lambda: account.a_subnet(vpc, zone="eu-de-1"))[0] == 400
    account.vpc.set_service_url("http://ibm.sim/vpc/mars/v1")
    assert refusal(account.vpc.list_vpcs)[0] == 404


def test_missing_resources_are_404_with_the_text_that_clients_match(account: Any) -> None:
    vpc = account.vpc
    assert refusal(lambda: vpc.get_vpc("none")) == (404, "VPC not found")
    assert refusal(lambda: vpc.get_subnet("none")) == (404, "Subnet not found")
    assert refusal(lambda: vpc.get_security_group("none")) == (404, "Security group not found")
    assert "cannot be found" in refusal(lambda: vpc.get_load_balancer("none"))[1]
    assert "gateway was not found" in refusal(lambda: account.transit.get_transit_gateway("none"))[1]


def test_a_subnet_needs_an_available_vpc_a_free_name_and_a_place(account: Any) -> None:
    vpc = account.vpc.create_vpc(name="net").get_result()
    assert refusal(lambda: account.a_subnet(vpc))[0] == 409
    account.clock.advance(15)
    account.a_subnet(vpc, "sub")
    assert refusal(lambda: account.a_subnet(vpc, "sub")) == (400, "Provided Name (sub) is not unique")
    taken = {"name": "x", "vpc": {"id": vpc["id"]}, "ipv4_cidr_block": "10.240.0.0/25"}
    assert refusal(lambda: account.vpc.create_subnet(taken))[0] == 409
    outside = taken | {"ipv4_cidr_block": "172.16.0.0/24"}
    assert refusal(lambda: account.vpc.create_subnet(outside))[0] == 400
    both = taken | {"total_ipv4_address_count": 256}
    assert refusal(lambda: account.vpc.create_subnet(both))[0] == 400


def test_a_subnet_under_a_load_balancer_is_not_deleted(account: Any) -> None:
    subnet = account.a_subnet(account.a_vpc())
    lb = account.a_balancer(subnet)
    status, message = refusal(lambda: account.vpc.delete_subnet(subnet["id"]))
    assert status == 409
    assert lb["id"] in message


def test_security_groups_in_use_are_not_deleted(account: Any) -> None:
    vpc = account.a_vpc()
    default = vpc["default_security_group"]["id"]
    assert refusal(lambda: account.vpc.delete_security_group(default))[0] == 409
    group = account.vpc.create_security_group(vpc={"id": vpc["id"]}, name="sg").get_result()
    assert refusal(lambda: account.vpc.create_security_group(vpc={"id": vpc["id"]}, name="sg"))[0] == 400
    rule = {"direction": "inbound", "protocol": "any", "remote": {"id": group["id"]}}
    account.vpc.create_security_group_rule(default, rule)
    assert refusal(lambda: account.vpc.delete_security_group(group["id"]))[0] == 409


@pytest.mark.parametrize("refused", [True, False])
def test_identical_rules(make_account: Callable[..., Any], refused: bool) -> None:
    """IBM's behaviour is not verified, so both ways exist."""
    account = make_account(assumptions=Assumptions(duplicate_rules_refused=refused))
    group = account.a_vpc()["default_security_group"]["id"]
    rule = {"direction": "inbound", "protocol": "tcp", "port_min": 1, "port_max": 2}
    account.vpc.create_security_group_rule(group, rule)
    if refused:
        assert refusal(lambda: account.vpc.create_security_group_rule(group, rule))[0] == 400
    else:
        assert account.vpc.create_security_group_rule(group, rule).get_status_code() == 201


@pytest.mark.parametrize(
    "rule",
    [
        {"direction": "sideways", "protocol": "any"},
        {"direction": "inbound", "protocol": "all"},
        {"direction": "inbound", "protocol": "tcp", "port_min": 9, "port_max": 8},
        {"direction": "inbound", "protocol": "any", "remote": {"cidr_block": "10.0.0.1/8"}},
        {"direction": "inbound", "protocol": "any", "remote": {"id": "r006-none"}},
    ],
)
def test_bad_rules(account: Any, rule: dict[str, Any]) -> None:
    group = account.a_vpc()["default_security_group"]["id"]
    assert refusal(lambda: account.vpc.create_security_group_rule(group, rule))[0] == 400


def test_a_balancer_that_is_not_active_refuses_changes(account: Any) -> None:
    subnet = account.a_subnet(account.a_vpc())
    lb = account.a_balancer(subnet)["id"]
    account.vpc.update_load_balancer(lb, {"name": "x"})
    changes: list[Callable[[], Any]] = [
        lambda: account.vpc.update_load_balancer(lb, {"name": "y"}),
        lambda: account.vpc.create_load_balancer_listener(lb, protocol="tcp", port=1),
        lambda: account.vpc.delete_load_balancer(lb),
    ]
    for change in changes:
        with pytest.raises(ApiException, match=re.escape("because its status is 'UPDATE_PENDING'")) as caught:
            change()
        assert caught.value.http_response.json()["errors"][0]["code"] == "load_balancer_update_conflict"


def test_balancer_names_are_unique_in_a_vpc(account: Any) -> None:
    first, second = account.a_subnet(account.a_vpc("one")), account.a_subnet(account.a_vpc("two"))
    account.a_balancer(first)
    assert refusal(lambda: account.a_balancer(first))[0] == 400
    assert account.a_balancer(second)["provisioning_status"] == "active"
    both = [{"id": first["id"]}, {"id": second["id"]}]
    assert refusal(lambda: account.vpc.create_load_balancer(is_public=True, subnets=both, name="x"))[0] == 400


def test_default_pool_of_a_listener_is_not_deleted(account: Any) -> None:
    monitor = {"delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp"}
    pool = {"algorithm": "round_robin", "protocol": "tcp", "health_monitor": monitor, "name": "p"}
    listener = {"port": 6443, "protocol": "tcp", "default_pool": {"name": "p"}}
    subnet = account.a_subnet(account.a_vpc())
    lb = account.a_balancer(subnet, pools=[pool], listeners=[listener])
    assert refusal(lambda: account.vpc.delete_load_balancer_pool(lb["id"], lb["pools"][0]["id"]))[0] == 409
    state = account.vpc.get_load_balancer(lb["id"]).get_result()["provisioning_status"]
    assert state == "active", "a refused change leaves the balancer alone"


# -- transit gateways -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [60, 63])
def test_gateway_names(make_account: Callable[..., Any], limit: int) -> None:
    account = make_account(assumptions=Assumptions(gateway_name_limit=limit))
    assert account.a_gateway("g" * limit)["name"] == "g" * limit
    for name in ("g" * (limit + 1), "", "1a", "a.b"):
        assert refusal(lambda name=name: account.a_gateway(name))[0] == 400


def test_gateway_quota_and_location(make_account: Callable[..., Any]) -> None:
    account = make_account(quotas=Quotas(gateways_per_region=1))
    account.a_gateway("one")
    message = "cannot add more than 1 gateways to the selected region"
    assert refusal(lambda: account.a_gateway("two")) == (400, message)
    assert refusal(lambda: account.transit.create_transit_gateway(location="mars", name="x"))[0] == 404


@pytest.mark.parametrize("unique", [True, False])
def test_gateway_names_may_be_unique(make_account: Callable[..., Any], unique: bool) -> None:
    """A name stays taken until its gateway is gone (terraform-provider-ibm#1783)."""
    account = make_account(assumptions=Assumptions(gateway_names_unique=unique))
    first, other = account.a_gateway("same"), account.a_gateway("other")
    account.transit.delete_transit_gateway(first["id"])
    if unique:
        taken = (409, "A gateway with the same name already exists.")
        assert refusal(lambda: account.a_gateway("same")) == taken
        assert refusal(lambda: account.transit.update_transit_gateway(other["id"], name="same")) == taken
        account.clock.advance(60)
    assert account.a_gateway("same")["status"] == "available"


def test_gateway_with_connections_is_not_deleted(account: Any) -> None:
    vpc, gateway = account.a_vpc(), account.a_gateway()
    connect = account.transit.create_transit_gateway_connection
    made = connect(gateway["id"], network_type="vpc", network_id=vpc["crn"]).get_result()
    assert refusal(lambda: account.transit.delete_transit_gateway(gateway["id"]))[0] == 409
    again = refusal(lambda: connect(gateway["id"], network_type="vpc", network_id=vpc["crn"]))
    assert again[0] == 409
    assert again[1] == "The requested network is already connected to an existing transit gateway."
    account.transit.delete_transit_gateway_connection(gateway["id"], made["id"])
    account.clock.advance(60)
    assert refusal(lambda: connect(gateway["id"], network_type="vpc", network_id=vpc["crn"]))[0] == 409
    account.clock.advance(10)
    assert connect(gateway["id"], network_type="vpc", network_id=vpc["crn"]).get_status_code() == 201


def test_a_vpc_joins_one_global_gateway_only(account: Any) -> None:
    vpc = account.a_vpc()
    first, second = account.a_gateway("a", global_=True), account.a_gateway("b", global_=True)
    connect = account.transit.create_transit_gateway_connection
    connect(first["id"], network_type="vpc", network_id=vpc["crn"])
    assert refusal(lambda: connect(second["id"], network_type="vpc", network_id=vpc["crn"]))[0] == 409
    local = account.a_gateway("c")
    assert connect(local["id"], network_type="vpc", network_id=vpc["crn"]).get_status_code() == 201


def test_connections_need_a_network_a_name_and_an_edge_router(account: Any) -> None:
    gateway = account.a_gateway(global_=True)
    connect = account.transit.create_transit_gateway_connection
    power = {"network_type": "power_virtual_server"}
    plain = account.a_workspace("plain", "wdc04")
    for unusable in ("crn:v1:none", "x", plain["crn"]):
        assert refusal(lambda crn=unusable: connect(gateway["id"], network_type="vpc", network_id=crn))[0] == 400
    assert refusal(lambda: connect(gateway["id"], network_id=plain["crn"], **power))[0] == 400
    assert refusal(lambda: connect(gateway["id"], network_id=plain["crn"], name="p", **power))[0] == 400


@pytest.mark.parametrize(
    ("kind", "status"),
    [(kind, 501) for kind in ("classic", "directlink", "gre_tunnel", "redundant_gre", "unbound_gre_tunnel",
                              "vpn_gateway")] + [("carrier_pigeon", 400)],
)  # fmt: skip
def test_a_type_of_connection_that_is_not_served_is_named(account: Any, kind: str, status: int) -> None:
    gateway = account.a_gateway()["id"]
    refused, message = refusal(lambda: account.transit.create_transit_gateway_connection(gateway, network_type=kind))
    assert (refused, kind in message) == (status, True)


def test_connections_need_networks_that_are_ready(account: Any) -> None:
    gateway = account.a_gateway()
    connect = account.transit.create_transit_gateway_connection
    pending = account.vpc.create_vpc(name="net").get_result()
    assert refusal(lambda: connect(gateway["id"], network_type="vpc", network_id=pending["crn"]))[0] == 400
    workspace = account.a_workspace()
    account.rc.delete_resource_instance(workspace["guid"])
    account.clock.advance(90)
    fields = {"network_type": "power_virtual_server", "network_id": workspace["crn"], "name": "p"}
    assert refusal(lambda: connect(gateway["id"], **fields))[0] == 400


@pytest.mark.parametrize("status", [400, 404])
def test_an_unusable_network_may_be_not_found(make_account: Callable[..., Any], status: int) -> None:
    account = make_account(assumptions=Assumptions(unusable_network_status=status))
    gateway = account.a_gateway()["id"]
    connect = account.transit.create_transit_gateway_connection
    assert refusal(lambda: connect(gateway, network_type="vpc", network_id="crn:v1:none"))[0] == status


def test_a_local_gateway_stays_in_its_region(account: Any) -> None:
    gateway, workspace = account.a_gateway(), account.a_workspace("far", "wdc06")
    fields = {"network_type": "power_virtual_server", "network_id": workspace["crn"], "name": "p"}
    assert refusal(lambda: account.transit.create_transit_gateway_connection(gateway["id"], **fields))[0] == 400


# -- resource controller --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "target", "group", "plan", "status"),
    [
        ("a/b", "dal10", GROUP, POWER_PLAN, 400),
        ("a" * 181, "dal10", GROUP, POWER_PLAN, 400),
        ("a", "mars01", GROUP, POWER_PLAN, 400),
        ("a", "dal10", "f" * 32, POWER_PLAN, 404),
        ("a", "dal10", GROUP, "no-such-plan", 404),
    ],
)
def test_bad_instances(account: Any, name: str, target: str, group: str, plan: str, status: int) -> None:
    assert refusal(lambda: account.rc.create_resource_instance(name, target, group, plan))[0] == status


def test_instance_names_are_not_unique(account: Any) -> None:
    assert account.a_workspace("same")["guid"] != account.a_workspace("same")["guid"]


def test_a_locked_instance_is_not_deleted(account: Any) -> None:
    workspace = account.a_workspace(entity_lock=True)
    assert refusal(lambda: account.rc.delete_resource_instance(workspace["guid"]))[0] == 400
    account.rc.unlock_resource_instance(workspace["guid"])
    assert account.rc.delete_resource_instance(workspace["guid"]).get_status_code() == 202


def test_keys_prevent_a_delete_unless_recursive(account: Any) -> None:
    cos = account.a_cos()
    account.rc.create_resource_key("k", cos["guid"])
    assert refusal(lambda: account.rc.delete_resource_instance(cos["guid"]))[0] == 400
    assert account.rc.delete_resource_instance(cos["guid"], recursive=True).get_status_code() == 204


@pytest.mark.parametrize("status", [400, 422])
def test_an_instance_in_reclamation_is_not_deleted_again(make_account: Callable[..., Any], status: int) -> None:
    account = make_account(assumptions=Assumptions(reclaimed_delete_status=status))
    cos = account.a_cos()
    account.rc.delete_resource_instance(cos["guid"])
    message = {
        400: "Instance is already in pending_reclamation state.",
        422: "Instance is in reclamation, please use the API to the delete the resource reclamation for the instance",
    }[status]
    assert refusal(lambda: account.rc.delete_resource_instance(cos["guid"])) == (status, message)
    account.clock.advance(7 * 86400)
    assert refusal(lambda: account.rc.delete_resource_instance(cos["guid"]))[0] == 410


# -- tags -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_400", [True, False])
@pytest.mark.parametrize("name", ["a/b", "a,b", "a" * 129, "ä"])
def test_illegal_tags(make_account: Callable[..., Any], name: str, as_400: bool) -> None:
    """Whether IBM answers 400 or an error inside a 200 is not verified, so both ways exist; it is never attached."""
    account = make_account(assumptions=Assumptions(illegal_tag_is_400=as_400))
    crn = account.a_vpc()["crn"]

    def attach() -> Any:
        return account.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=[name]).get_result()

    if as_400:
        assert refusal(attach)[0] == 400
    else:
        assert attach()["results"][0]["is_error"] is True
    assert account.cloud.world.tags_at(crn, account.clock.now()) == {}


def test_tags_on_a_missing_resource(account: Any) -> None:
    done = account.tagging.attach_tag(resources=[{"resource_id": "crn:v1:none"}], tag_names=["a"]).get_result()
    assert done["results"][0]["is_error"] is True


def test_too_many_resources_in_one_attach(account: Any) -> None:
    many = [{"resource_id": f"crn:{n}"} for n in range(Settings().quotas.resources_per_attach + 1)]
    assert refusal(lambda: account.tagging.attach_tag(resources=many, tag_names=["a"]))[0] == 400
