"""VPC: ETags, address prefixes, network ACLs, reserved IPs, targets, pool members, profiles; what is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from ibm_cloud_sdk_core import ApiException

from freehold_sim.ibm.settings import Assumptions

MONITOR = {"delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp"}
POOL = {"algorithm": "round_robin", "protocol": "tcp", "health_monitor": MONITOR, "name": "pool-6443"}
LISTENER = {"port": 6443, "protocol": "tcp", "default_pool": {"name": "pool-6443"}}


def status_of(call: Callable[[], Any]) -> int:
    with pytest.raises(ApiException) as caught:
        call()
    return int(caught.value.status_code)


def refusal(call: Callable[[], Any]) -> tuple[int, str]:
    with pytest.raises(ApiException) as caught:
        call()
    return caught.value.status_code, str(caught.value.message)


@pytest.fixture
def balancer(account: Any) -> Any:
    """An active load balancer with one pool and one listener."""
    return account.a_balancer(account.a_subnet(account.a_vpc()), pools=[POOL], listeners=[LISTENER])


# -- ETags ----------------------------------------------------------------------------------------------------


def test_a_vpc_changes_only_for_the_etag_that_was_read(account: Any) -> None:
    vpc = account.a_vpc()["id"]
    etag = account.vpc.get_vpc(vpc).get_headers()["ETag"]
    changed = account.vpc.update_vpc(vpc, {"name": "other"}, if_match=etag)
    assert changed.get_headers()["ETag"] == account.vpc.get_vpc(vpc).get_headers()["ETag"] != etag
    assert status_of(lambda: account.vpc.update_vpc(vpc, {"name": "third"}, if_match=etag)) == 412
    assert status_of(lambda: account.vpc.delete_vpc(vpc, if_match=etag)) == 412
    assert account.vpc.get_vpc(vpc).get_result()["name"] == "other"
    account.vpc.delete_vpc(vpc, if_match=changed.get_headers()["ETag"])


def test_a_load_balancer_and_its_pools_change_only_for_the_etag_that_was_read(account: Any, balancer: Any) -> None:
    lb, pool = balancer["id"], balancer["pools"][0]["id"]
    etag = account.vpc.get_load_balancer(lb).get_headers()["ETag"]
    assert status_of(lambda: account.vpc.update_load_balancer(lb, {"name": "b"}, if_match='W/"other"')) == 412
    account.vpc.update_load_balancer(lb, {"name": "b"}, if_match=etag)
    account.clock.advance(10)
    assert status_of(lambda: account.vpc.delete_load_balancer(lb, if_match=etag)) == 412
    of_pool = account.vpc.get_load_balancer_pool(lb, pool).get_headers()["ETag"]
    account.vpc.update_load_balancer_pool(lb, pool, {"name": "p2"}, if_match=of_pool)
    account.clock.advance(10)
    assert status_of(lambda: account.vpc.update_load_balancer_pool(lb, pool, {"name": "p3"}, if_match=of_pool)) == 412
    state = account.vpc.get_load_balancer(lb).get_result()["provisioning_status"]
    assert state == "active", "a refused change leaves the balancer alone"
    account.vpc.delete_load_balancer(lb, if_match=account.vpc.get_load_balancer(lb).get_headers()["ETag"])


# -- address prefixes -----------------------------------------------------------------------------------------


def test_subnets_lie_in_an_address_prefix(account: Any) -> None:
    vpc = account.vpc.create_vpc(name="net", address_prefix_management="manual").get_result()
    account.clock.advance(15)
    subnet = {"name": "s", "vpc": {"id": vpc["id"]}, "zone": {"name": "us-south-1"}, "ipv4_cidr_block": "10.9.1.0/24"}
    assert status_of(lambda: account.vpc.create_subnet(subnet)) == 400
    prefix = account.vpc.create_vpc_address_prefix(
        vpc["id"], "10.9.0.0/16", {"name": "us-south-1"}, is_default=True, name="mine"
    ).get_result()
    assert (prefix["is_default"], prefix["has_subnets"]) == (True, False)
    made = account.vpc.create_subnet(subnet).get_result()
    assert account.vpc.get_vpc_address_prefix(vpc["id"], prefix["id"]).get_result()["has_subnets"] is True
    assert status_of(lambda: account.vpc.delete_vpc_address_prefix(vpc["id"], prefix["id"])) == 409
    renamed = account.vpc.update_vpc_address_prefix(vpc["id"], prefix["id"], {"name": "b", "is_default": False})
    assert (renamed.get_result()["name"], renamed.get_result()["is_default"]) == ("b", False)
    account.clock.advance(10)
    account.vpc.delete_subnet(made["id"])
    account.clock.advance(10)
    assert account.vpc.delete_vpc_address_prefix(vpc["id"], prefix["id"]).get_status_code() == 204
    assert account.vpc.list_vpc_address_prefixes(vpc["id"]).get_result()["address_prefixes"] == []


@pytest.mark.parametrize(
    ("cidr", "zone"),
    [("10.240.1.0/24", "us-south-1"), ("169.254.1.0/24", "us-south-1"), ("10.0.0.0/8", "us-south-1"),
     ("10.9.0.0/30", "us-south-1"), ("10.9.0.1/24", "us-south-1"), ("10.9.0.0/24", "mars-1")],
    ids=["overlaps a prefix", "overlaps a reserved range", "too large", "too small", "no network", "no zone"],
)  # fmt: skip
def test_bad_address_prefixes(account: Any, cidr: str, zone: str) -> None:
    vpc = account.a_vpc()["id"]
    assert status_of(lambda: account.vpc.create_vpc_address_prefix(vpc, cidr, {"name": zone})) == 400


def test_a_zone_has_one_default_address_prefix(account: Any) -> None:
    vpc, zone = account.a_vpc()["id"], {"name": "us-south-1"}
    create = account.vpc.create_vpc_address_prefix
    assert status_of(lambda: create(vpc, "10.9.0.0/24", zone, is_default=True)) == 400
    assert create(vpc, "10.9.0.0/24", zone).get_status_code() == 201


def test_address_prefixes_are_paged(make_account: Callable[..., Any]) -> None:
    account = make_account(page_size=2)
    vpc = account.a_vpc()["id"]
    first = account.vpc.list_vpc_address_prefixes(vpc).get_result()
    assert (len(first["address_prefixes"]), first["total_count"]) == (2, 3)
    start = first["next"]["href"].partition("start=")[2]
    rest = account.vpc.list_vpc_address_prefixes(vpc, start=start).get_result()
    assert len(rest["address_prefixes"]) == 1
    assert "next" not in rest


# -- network ACLs ---------------------------------------------------------------------------------------------


def test_a_subnet_has_the_default_acl_until_another_is_set(account: Any) -> None:
    vpc = account.a_vpc()
    subnet = account.a_subnet(vpc)["id"]
    default = account.vpc.get_vpc_default_network_acl(vpc["id"]).get_result()
    assert account.vpc.get_subnet_network_acl(subnet).get_result()["id"] == default["id"]
    assert [one["id"] for one in default["subnets"]] == [subnet]
    rule = {"action": "deny", "direction": "inbound", "protocol": "tcp", "source": "0.0.0.0/0", "name": "no-ssh",
            "destination": "10.0.0.0/8", "destination_port_min": 22, "destination_port_max": 22}  # fmt: skip
    made = account.vpc.create_network_acl({"vpc": {"id": vpc["id"]}, "name": "mine", "rules": [rule]}).get_result()
    assert account.vpc.replace_subnet_network_acl(subnet, {"id": made["id"]}).get_result()["id"] == made["id"]
    assert account.vpc.get_subnet(subnet).get_result()["network_acl"]["id"] == made["id"]
    assert status_of(lambda: account.vpc.delete_network_acl(made["id"])) == 409
    account.vpc.update_subnet(subnet, {"network_acl": {"id": default["id"]}})
    assert account.vpc.get_subnet_network_acl(subnet).get_result()["id"] == default["id"]
    assert account.vpc.delete_network_acl(made["id"]).get_status_code() == 204
    assert status_of(lambda: account.vpc.delete_network_acl(default["id"])) == 409
    assert status_of(lambda: account.vpc.replace_subnet_network_acl(subnet, {"id": made["id"]})) == 400


def test_acls_and_their_rules(account: Any) -> None:
    vpc = account.a_vpc()
    made = account.vpc.create_network_acl({"vpc": {"id": vpc["id"]}, "name": "mine"}).get_result()
    assert [rule["direction"] for rule in made["rules"]] == ["inbound", "outbound"]
    assert account.vpc.update_network_acl(made["id"], {"name": "b"}).get_result()["name"] == "b"
    assert {acl["name"] for acl in account.vpc.list_network_acls().get_result()["network_acls"]} >= {"b"}
    first = made["rules"][0]
    rule = {"action": "deny", "direction": "inbound", "protocol": "icmp_tcp_udp", "source": "10.0.0.0/8",
            "destination": "0.0.0.0/0", "before": {"id": first["id"]}}  # fmt: skip
    added = account.vpc.create_network_acl_rule(made["id"], rule).get_result()
    assert added["before"]["id"] == first["id"]
    inbound = account.vpc.list_network_acl_rules(made["id"], direction="inbound").get_result()["rules"]
    assert [one["id"] for one in inbound] == [added["id"], first["id"]]
    assert account.vpc.get_network_acl_rule(made["id"], added["id"]).get_result()["action"] == "deny"
    account.vpc.delete_network_acl_rule(made["id"], added["id"])
    assert len(account.vpc.get_network_acl(made["id"]).get_result()["rules"]) == 2
    account.vpc.delete_vpc(vpc["id"])
    account.clock.advance(15)
    assert account.vpc.list_network_acls().get_result()["network_acls"] == []


# -- reserved IPs ---------------------------------------------------------------------------------------------


def test_reserved_ips_of_a_subnet(account: Any) -> None:
    subnet = account.a_subnet(account.a_vpc())
    lb = account.a_balancer(subnet)
    free = account.vpc.get_subnet(subnet["id"]).get_result()["available_ipv4_address_count"]
    made = account.vpc.create_subnet_reserved_ip(subnet["id"], address="10.240.0.99", name="mine").get_result()
    assert (made["address"], made["owner"]) == ("10.240.0.99", "user")
    assert account.vpc.get_subnet(subnet["id"]).get_result()["available_ipv4_address_count"] == free - 1
    chosen = account.vpc.create_subnet_reserved_ip(subnet["id"]).get_result()
    listed = account.vpc.list_subnet_reserved_ips(subnet["id"]).get_result()["reserved_ips"]
    assert chosen["address"] not in {ip["address"] for ip in listed if ip["id"] != chosen["id"]}
    of_balancer = account.vpc.list_subnet_reserved_ips(subnet["id"], target_id=lb["id"]).get_result()["reserved_ips"]
    assert [ip["address"] for ip in of_balancer] == [ip["address"] for ip in lb["private_ips"]]
    renamed = account.vpc.update_subnet_reserved_ip(subnet["id"], made["id"], {"name": "b"}).get_result()
    assert account.vpc.get_subnet_reserved_ip(subnet["id"], made["id"]).get_result() == renamed
    assert status_of(lambda: account.vpc.create_subnet_reserved_ip(subnet["id"], address="10.240.0.99")) == 409
    assert status_of(lambda: account.vpc.create_subnet_reserved_ip(subnet["id"], address="10.9.9.9")) == 400
    theirs = next(ip for ip in listed if ip["name"] == "ibm-default-gateway")
    assert status_of(lambda: account.vpc.delete_subnet_reserved_ip(subnet["id"], theirs["id"])) == 403
    assert account.vpc.delete_subnet_reserved_ip(subnet["id"], made["id"]).get_status_code() == 204
    assert status_of(lambda: account.vpc.get_subnet_reserved_ip(subnet["id"], made["id"])) == 404


# -- load balancers -------------------------------------------------------------------------------------------


def test_targets_of_a_security_group(account: Any, balancer: Any) -> None:
    group = balancer["security_groups"][0]["id"]
    listed = account.vpc.list_security_group_targets(group).get_result()
    assert ([one["id"] for one in listed["targets"]], listed["total_count"]) == ([balancer["id"]], 1)
    assert account.vpc.get_security_group_target(group, balancer["id"]).get_result()["name"] == "lb"
    assert status_of(lambda: account.vpc.get_security_group_target(group, "none")) == 404


def test_members_are_replaced_and_updated(account: Any, balancer: Any) -> None:
    lb, pool = balancer["id"], balancer["pools"][0]["id"]

    def member(address: str, port: int = 6443, **more: Any) -> dict[str, Any]:
        return {"port": port, "target": {"address": address}, **more}

    done = account.vpc.replace_load_balancer_pool_members(lb, pool, [member("10.0.0.1"), member("10.0.0.2")])
    assert (done.get_status_code(), len(done.get_result()["members"])) == (202, 2)
    account.clock.advance(10)
    assert status_of(
        lambda: account.vpc.replace_load_balancer_pool_members(lb, pool, [member("10.0.0.3"), member("10.0.0.3")])
    ) == 409  # fmt: skip
    account.vpc.replace_load_balancer_pool_members(lb, pool, [member("10.0.0.2", weight=7)])
    account.clock.advance(10)
    [kept] = account.vpc.list_load_balancer_pool_members(lb, pool).get_result()["members"]
    assert (kept["target"]["address"], kept["weight"]) == ("10.0.0.2", 7)
    account.vpc.update_load_balancer_pool_member(lb, pool, kept["id"], {"port": 22, "weight": 9})
    account.clock.advance(10)
    seen = account.vpc.get_load_balancer_pool_member(lb, pool, kept["id"]).get_result()
    assert (seen["port"], seen["weight"], seen["target"]["address"]) == (22, 9, "10.0.0.2")
    account.vpc.replace_load_balancer_pool_members(lb, pool, [])
    assert account.vpc.get_load_balancer_pool(lb, pool).get_result()["members"] == []


def test_profiles_and_statistics(account: Any, balancer: Any) -> None:
    profiles = account.vpc.list_load_balancer_profiles().get_result()["profiles"]
    assert [one["name"] for one in profiles] == [balancer["profile"]["name"]]
    assert account.vpc.get_load_balancer_profile("dynamic").get_result() == profiles[0]
    subnets = [{"id": balancer["subnets"][0]["id"]}]
    for name, status in (("network-fixed", 501), ("network-private-path", 501), ("none", 404)):
        for ask in (
            lambda name=name: account.vpc.get_load_balancer_profile(name),
            lambda name=name: account.vpc.create_load_balancer(True, subnets, profile={"name": name}),
        ):
            refused, message = refusal(ask)
            assert (refused, name in message) == (status, True)
    assert account.vpc.get_load_balancer_statistics(balancer["id"]).get_result()["active_connections"] == 0


def test_every_field_of_a_pool_and_a_listener_is_kept(account: Any, balancer: Any) -> None:
    lb = balancer["id"]
    pool = account.vpc.create_load_balancer_pool(
        lb, algorithm="least_connections", protocol="http", name="web", proxy_protocol="v1",
        session_persistence={"type": "app_cookie", "cookie_name": "c"},
        health_monitor={**MONITOR, "type": "http", "url_path": "/ok", "port": 81},
    ).get_result()  # fmt: skip
    account.clock.advance(10)
    assert (pool["proxy_protocol"], pool["session_persistence"]["cookie_name"]) == ("v1", "c")
    assert (pool["health_monitor"]["url_path"], pool["health_monitor"]["port"]) == ("/ok", 81)
    patch = {"proxy_protocol": "v2", "session_persistence": {"type": "source_ip"}, "health_monitor": {**MONITOR}}
    changed = account.vpc.update_load_balancer_pool(lb, pool["id"], patch).get_result()
    account.clock.advance(10)
    assert (changed["proxy_protocol"], changed["session_persistence"]) == ("v2", {"type": "source_ip"})
    assert "url_path" not in changed["health_monitor"]
    listener = account.vpc.create_load_balancer_listener(
        lb, protocol="http", port_min=80, port_max=80, accept_proxy_protocol=True, idle_connection_timeout=100
    ).get_result()
    account.clock.advance(10)
    assert (listener["port"], listener["accept_proxy_protocol"], listener["idle_connection_timeout"]) == (80, True, 100)
    patch = {"port": 81, "accept_proxy_protocol": False, "idle_connection_timeout": 60, "protocol": "tcp"}
    moved = account.vpc.update_load_balancer_listener(lb, listener["id"], patch).get_result()
    assert {key: moved[key] for key in patch} == patch
    account.clock.advance(10)
    assert status_of(lambda: account.vpc.update_load_balancer_listener(lb, listener["id"], {"port": 6443})) == 409
    assert (
        status_of(lambda: account.vpc.create_load_balancer_listener(lb, protocol="tcp", port_min=90, port_max=99))
        == 400
    )


@pytest.mark.parametrize("needed", [True, False])
def test_a_load_balancer_may_need_subnets_that_are_available(make_account: Callable[..., Any], needed: bool) -> None:
    """No source documents it, so both ways exist."""
    account = make_account(assumptions=Assumptions(balancer_needs_available_subnets=needed))
    vpc = account.a_vpc()
    prototype = {"vpc": {"id": vpc["id"]}, "zone": {"name": "us-south-1"}, "total_ipv4_address_count": 256}
    pending = account.vpc.create_subnet(prototype).get_result()["id"]

    def create() -> Any:
        return account.vpc.create_load_balancer(is_public=True, subnets=[{"id": pending}])

    if needed:
        assert status_of(create) == 409
    else:
        assert create().get_status_code() == 201


# -- what is not served ---------------------------------------------------------------------------------------


def test_filters_by_vpc(account: Any) -> None:
    one, other = account.a_vpc("one"), account.a_vpc("other")
    for vpc in (one, other):
        account.a_subnet(vpc, f"of-{vpc['name']}")
    for key in ("id", "crn", "name"):
        subnets = account.vpc.list_subnets(**{f"vpc_{key}": one[key]}).get_result()["subnets"]
        groups = account.vpc.list_security_groups(**{f"vpc_{key}": one[key]}).get_result()["security_groups"]
        assert [subnet["name"] for subnet in subnets] == ["of-one"]
        assert [group["vpc"]["id"] for group in groups] == [one["id"]]
    assert account.vpc.list_vpcs(classic_access=True).get_result()["vpcs"] == []


def test_fields_of_the_vendor_that_are_not_served_are_refused_by_name(account: Any) -> None:
    vpc = account.a_vpc()
    manual = {"resolver": {"type": "manual", "manual_servers": [{"address": "10.0.0.1"}]}}
    for call, field in (
        (lambda: account.vpc.create_vpc(name="x", classic_access=True), "classic_access"),
        (lambda: account.vpc.create_vpc(name="x", dns=manual), "dns.resolver.type"),
        (lambda: account.vpc.update_vpc(vpc["id"], {"dns": {"enable_hub": True}}), "dns.enable_hub"),
        (lambda: account.vpc.list_subnets(routing_table_id="x"), "routing_table.id"),
    ):
        status, message = refusal(call)
        assert status == 501
        assert field in message
    assert account.vpc.create_vpc(name="x", classic_access=False).get_status_code() == 201
    assert refusal(lambda: account.vpc.update_vpc(vpc["id"], {"nmae": "x"}))[0] == 400


@pytest.mark.parametrize(
    "fields",
    [{"protocol": "any", "port_min": 1}, {"protocol": "tcp", "code": 1}, {"protocol": "icmp", "port_max": 9},
     {"protocol": "tcp", "remote": {"id": "r006-none"}}],
)  # fmt: skip
def test_a_rule_has_only_the_fields_of_its_protocol(account: Any, fields: dict[str, Any]) -> None:
    group = account.a_vpc()["default_security_group"]["id"]
    rule = {"direction": "inbound", **fields}
    assert status_of(lambda: account.vpc.create_security_group_rule(group, rule)) == 400
