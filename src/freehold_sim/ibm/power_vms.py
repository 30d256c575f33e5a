"""PowerVS VMs: just enough of them to block the delete of a network (docs/reference/ibm-cloud.md#powervs)."""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm import power_networks as networks
from freehold_sim.ibm.call import Call, Reply, iso, reads, writes
from freehold_sim.ibm.fields import SERVED, Field, not_served, served
from freehold_sim.ibm.power_workspaces import workspace_of
from freehold_sim.ibm.world import Record


def _render_vm(record: Record) -> dict[str, Any]:
    networks = [{"networkID": record["network"], "ipAddress": record["ip"], "macAddress": record["mac"]}]
    return {
        "creationDate": iso(record["created_at"]),
        "href": f"/pcloud/v1/cloud-instances/{record['workspace']}/pvm-instances/{record['id']}",
        "networks": networks,
        "pvmInstanceID": record["id"],
        "serverName": record["name"],
        "status": record["state"],
    }


def list_vms(call: Call) -> Reply:
    records = call.listed(call.world.all("vm", workspace=workspace_of(call)["id"]))
    return Reply(200, {"pvmInstances": [_render_vm(r) for r in records]})


def create_vm(call: Call) -> Reply:
    """Create a VM on one network: just enough to block the delete of the network."""
    workspace, body = workspace_of(call), call.json()
    wanted = next((n.get("networkID") for n in body.get("networks") or []), "")
    network = call.world.get("network", str(wanted))
    if not body.get("serverName") or network is None or network["workspace"] != workspace["id"]:
        raise errors.power(400, "serverName and networks[0].networkID are required")
    ip, mac = networks.new_address(call, network, (body["networks"][0]).get("ipAddress"))
    record: Record = {
        "id": call.world.new_uuid(), "name": body["serverName"], "workspace": workspace["id"],
        "network": network["id"], "ip": ip, "mac": mac, "state": "ACTIVE", "by": call.actor,
    }  # fmt: skip
    return Reply(201, [_render_vm(call.world.add("vm", call.now, record))])


def _find_vm(call: Call) -> Record:
    workspace = workspace_of(call)
    record = call.world.get("vm", call.params["vm"])
    if record is None or record["workspace"] != workspace["id"]:
        raise errors.power(404, f"pvm-instance {call.params['vm']} does not exist")
    return record


def get_vm(call: Call) -> Reply:
    """Return a VM; a DHCP server is one too, and its id is valid here (docs/reference/ibm-cloud.md#powervs)."""
    server = call.world.get("dhcp", call.params["vm"])
    if server is not None and server["workspace"] == workspace_of(call)["id"]:
        return Reply(200, _render_vm({**server, "ip": "", "mac": ""}))
    return Reply(200, _render_vm(_find_vm(call)))


def delete_vm(call: Call) -> Reply:
    call.world.remove(_find_vm(call), call.now)
    return Reply(200, {})


_VMS = "/power/{region}/pcloud/v1/cloud-instances/{workspace}/pvm-instances"
_CREATE: dict[str, Field] = {
    "serverName": SERVED,
    "networks": {**served("networkID ipAddress"), **not_served("networkSecurityGroupIDs")},
    **not_served(
        "bootVolumeReplicationEnabled deploymentTarget deploymentType imageID keyPairName licenseRepositoryCapacity "
        "memory migratable networkIDs pinPolicy placementGroup preferredProcessorCompatibilityMode procType "
        "processors replicantAffinityPolicy replicantNamingScheme replicants replicationSites sharedProcessorPool "
        "softwareLicenses storageAffinity storageConnection storageConnectionV2 storagePool storagePoolAffinity "
        "storageType sysType userData userTags virtualCores virtualSerialNumber volumeIDs"
    ),
}
ROUTES = (
    reads("GET", _VMS, "power.list_pvm_instances", list_vms),
    writes("POST", _VMS, "power.create_pvm_instance", create_vm, fields=_CREATE),
    reads("GET", _VMS + "/{vm}", "power.get_pvm_instance", get_vm),
    writes("DELETE", _VMS + "/{vm}", "power.delete_pvm_instance", delete_vm),
)
