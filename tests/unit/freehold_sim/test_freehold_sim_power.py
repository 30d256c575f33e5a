"""PowerVS: as in docs/reference/ibm-cloud.md#powervs, since there is no SDK model to compare with."""

from collections.abc import Callable
from typing import Any

import pytest

from freehold_sim.ibm.settings import Assumptions


def _path(workspace: dict[str, Any], rest: str = "") -> str:
    return f"/pcloud/v1/cloud-instances/{workspace['guid']}{rest}"


def test_datacenters_need_no_token_and_show_whether_there_is_an_edge_router(account: Any) -> None:
    def ask(zone: str) -> Any:
        return account.session.get(f"http://ibm.sim/power/dal/v1/datacenters/{zone}")

    assert ask("dal10").json()["capabilities"]["power-edge-router"] is True
    assert ask("wdc04").json()["capabilities"]["power-edge-router"] is False
    assert {"capabilities", "location", "status", "type"} <= set(ask("dal10").json())
    details = ask("dal10").json()["capabilitiesDetails"]
    assert "s1022" in details["supportedSystems"]["general"], "by which a client judges the type of a machine"
    assert details["disasterRecovery"]["replicationServices"]["asynchronousReplication"]["enabled"] is False
    assert ask("mars01").status_code == 400


def test_workspaces_by_their_own_api(account: Any) -> None:
    workspace = account.a_workspace()
    listed = account.power("GET", "/v1/workspaces").json()["workspaces"]
    assert [(one["id"], one["status"]) for one in listed] == [(workspace["guid"], "active")]
    one = account.power("GET", f"/v1/workspaces/{workspace['guid']}").json()
    assert one["details"]["powerEdgeRouter"]["state"] == "active"
    assert account.power("GET", f"/v1/workspaces/{workspace['guid']}", region="wdc").status_code == 404
    cloud_instance = account.power("GET", _path(workspace), crn=workspace["crn"]).json()
    assert cloud_instance["cloudInstanceID"] == workspace["guid"]


def test_calls_without_the_workspace_crn_are_refused(account: Any) -> None:
    workspace = account.a_workspace()
    assert account.power("GET", _path(workspace, "/networks")).status_code == 401
    assert account.power("GET", _path(workspace, "/networks"), crn=workspace["crn"]).status_code == 200


def test_a_workspace_that_is_not_active_yet_serves_nothing(account: Any) -> None:
    plan = "f165dd34-3a40-423b-9d95-e90a23f724dd"
    group = "11111111111111111111111111111111"
    made = account.rc.create_resource_instance("ws", "dal10", group, plan).get_result()
    refused = account.power("GET", _path(made, "/networks"), crn=made["crn"])
    assert (refused.status_code, refused.json()["error"]) == (400, "bad request")


def test_dhcp_server_and_its_network_through_their_states(account: Any) -> None:
    workspace = account.a_workspace()
    path, crn = _path(workspace, "/services/dhcp"), workspace["crn"]
    made = account.power("POST", path, {"name": "c", "cidr": "192.168.5.0/24", "dnsServer": "9.9.9.9"}, crn)
    server = made.json()
    assert (made.status_code, server["status"], server["network"]["name"]) == (202, "BUILD", "DHCPSERVERc_Private")
    account.clock.advance(300)
    assert [one["status"] for one in account.power("GET", path, crn=crn).json()] == ["ACTIVE"]
    network = account.power("GET", _path(workspace, f"/networks/{server['network']['id']}"), crn=crn).json()
    assert (network["cidr"], network["dnsServers"], network["dhcpManaged"]) == ("192.168.5.0/24", ["9.9.9.9"], True)
    assert {"networkID", "name", "type", "vlanID", "ipAddressRanges", "ipAddressMetrics", "crn"} <= set(network)
    one = f"{path}/{server['id']}"
    assert account.power("DELETE", one, crn=crn).status_code == 202
    assert account.power("GET", one, crn=crn).json()["status"] == "ACTIVE", "it keeps its state until it is gone"
    account.clock.advance(180)
    gone = account.power("GET", one, crn=crn)
    assert (gone.status_code, gone.json()["description"]) == (404, "dhcp server does not exist")
    networks = _path(workspace, "/networks")
    assert len(account.power("GET", networks, crn=crn).json()["networks"]) == 1, "the network outlives its server"
    account.clock.advance(30)
    assert account.power("GET", networks, crn=crn).json()["networks"] == []


def test_a_dhcp_server_is_also_a_service_instance(account: Any) -> None:
    workspace = account.a_workspace()
    server = account.a_dhcp(workspace)
    seen = account.power("GET", _path(workspace, f"/pvm-instances/{server['id']}"), crn=workspace["crn"])
    assert seen.json()["pvmInstanceID"] == server["id"]


def test_dhcp_delete_waits_for_the_vms_on_its_network(account: Any) -> None:
    workspace = account.a_workspace()
    server, crn = account.a_dhcp(workspace), workspace["crn"]
    network = server["network"]["id"]
    body = {"serverName": "vm", "networks": [{"networkID": network}]}
    vm = account.power("POST", _path(workspace, "/pvm-instances"), body, crn).json()[0]
    one = _path(workspace, f"/services/dhcp/{server['id']}")
    assert len(account.power("GET", one, crn=crn).json()["leases"]) == 1
    refused = account.power("DELETE", one, crn=crn)
    assert refused.status_code == 400
    assert f"network {network} still attached to pvm-instances" in refused.json()["description"]
    account.power("DELETE", _path(workspace, f"/pvm-instances/{vm['pvmInstanceID']}"), crn=crn)
    assert account.power("DELETE", one, crn=crn).status_code == 202


def test_one_dhcp_server_a_workspace_and_only_plain_names(account: Any) -> None:
    workspace = account.a_workspace()
    path, crn = _path(workspace, "/services/dhcp"), workspace["crn"]
    assert account.power("POST", path, {"name": "a.b"}, crn).status_code == 400
    assert account.power("POST", path, {"name": "a", "cidr": "1.2.3/8"}, crn).status_code == 400
    assert account.power("POST", path, {"name": "a", "cloudConnectionID": "x"}, crn).status_code == 404
    assert account.power("POST", path, {"name": "a"}, crn).status_code == 202
    assert account.power("POST", path, {"name": "b"}, crn).status_code == 409


def test_the_dhcp_network_may_have_no_crn_and_may_be_missing_from_the_post(make_account: Callable[..., Any]) -> None:
    account = make_account(assumptions=Assumptions(dhcp_network_has_crn=False, dhcp_post_shows_network=False))
    workspace = account.a_workspace()
    assert "network" not in account.a_dhcp(workspace)
    networks = account.power("GET", _path(workspace, "/networks"), crn=workspace["crn"]).json()["networks"]
    assert [("crn" in one, one["name"]) for one in networks] == [(False, "DHCPSERVERd_Private")]


def test_networks_and_ports(account: Any) -> None:
    workspace = account.a_workspace()
    path, crn = _path(workspace, "/networks"), workspace["crn"]
    body = {"type": "vlan", "name": "n", "cidr": "10.0.0.0/24", "userTags": ["a:b"]}
    made = account.power("POST", path, body, crn)
    network = f"{path}/{made.json()['networkID']}"
    assert (made.status_code, made.json()["userTags"]) == (201, ["a:b"])
    assert account.power("POST", path, body, crn).status_code == 409
    assert account.power("PUT", network, {"name": "m"}, crn).json()["name"] == "m"
    port = account.power("POST", f"{network}/ports", {"description": "p"}, crn).json()
    assert account.power("GET", f"{network}/ports", crn=crn).json()["ports"] == [port]
    assert account.power("GET", f"{network}/ports/{port['portID']}", crn=crn).json() == port
    assert account.power("DELETE", network, crn=crn).status_code == 409
    assert account.power("DELETE", f"{network}/ports/{port['portID']}", crn=crn).status_code == 200
    assert account.power("DELETE", network, crn=crn).status_code == 200
    assert account.power("GET", network, crn=crn).status_code == 404


NETWORK = {
    "type": "vlan", "name": "n", "cidr": "10.0.0.0/24", "gateway": "10.0.0.254", "dnsServers": ["9.9.9.9"],
    "ipAddressRanges": [{"startingIPAddress": "10.0.0.20", "endingIPAddress": "10.0.0.29"}],
    "accessConfig": "outbound-only", "advertise": "disable", "arpBroadcast": "enable", "mtu": 9000, "jumbo": True,
}  # fmt: skip


def test_a_network_keeps_every_field(account: Any) -> None:
    workspace = account.a_workspace()
    path, crn = _path(workspace, "/networks"), workspace["crn"]
    made = account.power("POST", path, NETWORK, crn).json()
    assert {key: made[key] for key in NETWORK} == NETWORK
    assert made["ipAddressMetrics"]["total"] == 10
    [listed] = account.power("GET", path, crn=crn).json()["networks"]
    assert (listed["mtu"], listed["jumbo"], listed["accessConfig"]) == (9000, True, "outbound-only")
    change = {
        "gateway": "10.0.0.1", "advertise": "enable", "arpBroadcast": "disable", "dnsServers": ["1.1.1.1"], "name": "m",
        "ipAddressRanges": [{"startingIPAddress": "10.0.0.5", "endingIPAddress": "10.0.0.5"}],
    }  # fmt: skip
    changed = account.power("PUT", f"{path}/{made['networkID']}", change, crn).json()
    assert {key: changed[key] for key in change} == change
    both = account.power("POST", path, {"type": "vlan", "name": "both", "jumbo": True, "mtu": 8000}, crn).json()
    assert (both["mtu"], both["jumbo"]) == (8000, True)
    plain = account.power("POST", path, {"type": "vlan", "name": "plain", "jumbo": True, "mtu": None}, crn).json()
    assert (plain["mtu"], plain["dnsServers"], plain["accessConfig"]) == (9000, ["127.0.0.1"], "internal-only")


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [("gateway", "10.9.0.1", 400), ("mtu", 100, 400), ("accessConfig", "any", 400), ("dnsServers", ["x"], 400),
     ("jumbo", False, 400),
     ("ipAddressRanges", [{"startingIPAddress": "10.0.0.9", "endingIPAddress": "10.0.0.2"}], 400),
     ("peer", {"id": "p"}, 501), ("nmae", "x", 400)],
)  # fmt: skip
def test_bad_networks(account: Any, field: str, value: Any, status: int) -> None:
    workspace = account.a_workspace()
    refused = account.power("POST", _path(workspace, "/networks"), {**NETWORK, field: value}, workspace["crn"])
    assert (refused.status_code, refused.json()["code"]) == (status, 0)


def test_network_interfaces(account: Any) -> None:
    workspace = account.a_workspace()
    crn = workspace["crn"]
    network = account.power("POST", _path(workspace, "/networks"), NETWORK, crn).json()["networkID"]
    path = f"/v1/networks/{network}/network-interfaces"
    body = {"name": "i", "ipAddress": "10.0.0.21", "userTags": ["a:b"]}
    made = account.power("POST", path, body, crn)
    one = made.json()
    assert (made.status_code, {key: one[key] for key in body}) == (201, body)
    assert account.power("POST", path, body, crn).status_code == 409
    assert account.power("GET", path, crn=crn).json()["interfaces"] == [one]
    vm = account.cloud.strangers.make("vm", region="dal", workspace=workspace["guid"], network=network, name="vm")
    changed = account.power("PUT", f"{path}/{one['id']}", {"name": "j", "instanceID": vm["id"]}, crn).json()
    assert (changed["name"], changed["status"], changed["instance"]["instanceID"]) == ("j", "ACTIVE", vm["id"])
    assert account.power("PUT", f"{path}/{one['id']}", {"instanceID": "none"}, crn).status_code == 404
    assert "instance" not in account.power("PUT", f"{path}/{one['id']}", {"instanceID": ""}, crn).json()
    assert account.power("GET", f"{path}/{one['id']}").status_code == 401
    account.cloud.strangers.delete(vm["id"])
    assert account.power("DELETE", _path(workspace, f"/networks/{network}"), crn=crn).status_code == 409
    assert account.power("DELETE", f"{path}/{one['id']}", crn=crn).status_code == 200
    assert account.power("GET", f"{path}/{one['id']}", crn=crn).status_code == 404
    assert account.power("DELETE", _path(workspace, f"/networks/{network}"), crn=crn).status_code == 200


def test_a_port_is_attached_to_a_vm(account: Any) -> None:
    workspace = account.a_workspace()
    crn = workspace["crn"]
    network = account.power("POST", _path(workspace, "/networks"), NETWORK, crn).json()["networkID"]
    vm = account.cloud.strangers.make("vm", region="dal", workspace=workspace["guid"], network=network, name="vm")
    ports = _path(workspace, f"/networks/{network}/ports")
    port = account.power("POST", ports, {"ipAddress": "10.0.0.77"}, crn).json()
    change = {"description": "d", "pvmInstanceID": vm["id"]}
    changed = account.power("PUT", f"{ports}/{port['portID']}", change, crn).json()
    assert (changed["ipAddress"], changed["pvmInstance"]["pvmInstanceID"]) == ("10.0.0.77", vm["id"])


def test_power_is_served_at_the_root_in_all_regions(account: Any) -> None:
    """Its Go client takes only scheme and host of an endpoint, and puts the region into neither path nor query."""
    near, far = account.a_workspace("near", "dal10"), account.a_workspace("far", "wdc06")

    def ask(path: str, crn: str = "") -> Any:
        headers = {"Authorization": f"Bearer {account.token}", "CRN": crn}
        return account.session.get(f"http://ibm.sim{path}", headers=headers)

    assert ask("/v1/datacenters/dal10").json()["capabilities"]["power-edge-router"] is True
    assert {one["name"] for one in ask("/v1/workspaces").json()["workspaces"]} == {"near", "far"}
    for workspace in (near, far):
        assert ask(_path(workspace, "/networks"), workspace["crn"]).json() == {"networks": []}
    assert ask(_path(near, "/networks"), far["crn"]).status_code == 401
    refused = ask("/pcloud/v1/none")
    assert (refused.status_code, refused.json()["error"]) == (404, "not found")
    refused = ask(_path(near, "/volumes"), near["crn"])
    assert (refused.status_code, refused.json()["error"]) == (501, "not implemented")
    assert "pcloud.cloudinstances.volumes.getall" in refused.json()["description"]


def test_workspace_delete_deletes_everything_inside(account: Any) -> None:
    workspace = account.a_workspace()
    account.a_dhcp(workspace)
    account.rc.delete_resource_instance(workspace["guid"])
    account.clock.advance(90)
    left = {row["kind"]: row["state"] for row in account.cloud.strangers.resources()}
    assert left == {"instance": "removed"}


def test_workspace_delete_may_need_several_tries(make_account: Callable[..., Any]) -> None:
    """CAPIBM#1805: the first delete of a workspace with something in it often fails."""
    account = make_account(assumptions=Assumptions(workspace_delete_tries=2))
    workspace = account.a_workspace()
    account.a_dhcp(workspace)
    account.rc.delete_resource_instance(workspace["guid"])
    account.clock.advance(90)
    seen = account.rc.get_resource_instance(workspace["guid"]).get_result()
    assert (seen["state"], seen["last_operation"]["state"]) == ("active", "failed")
    account.rc.delete_resource_instance(workspace["guid"])
    account.clock.advance(90)
    assert account.rc.get_resource_instance(workspace["guid"]).get_result()["state"] == "removed"
