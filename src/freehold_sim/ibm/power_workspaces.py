"""PowerVS: datacenters, workspaces and cloud instances (docs/reference/ibm-cloud.md#powervs)."""

from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, iso, reads
from freehold_sim.ibm.resource_controller import POWER
from freehold_sim.ibm.world import Record

_SYSTEMS = ("e1080", "e980", "s1022", "s922")
"""Types of machines that every datacenter has here."""


def check_region(call: Call) -> str:
    """Return the region of the address, "" at the root, where all regions are served; refuses an unknown region."""
    region = call.params.get("region", "")
    if region and all(zone.region != region for zone in call.settings.power_zones.values()):
        raise errors.power(404, f"region {region} does not exist")
    return region


def workspace_of(call: Call, *, ready: bool = True, ident: str | None = None) -> Record:
    """Return the workspace of a cloud-instance path, or the one with the id `ident`.

    Refuses an unknown workspace, a missing or different CRN header and, if `ready`, an inactive workspace.
    """
    region, ident = check_region(call), call.params["workspace"] if ident is None else ident
    record = call.world.get("instance", ident)
    known = record is not None and record["service"] == POWER.service and record["state"] != "removed"
    if record is None or not known or not _is_in(call, record, region):
        raise errors.power(404, f"cloud instance {ident} does not exist")
    if call.actor == "api":
        _check_crn_header(call, record)
    if ready and record["state"] != "active":
        raise errors.power(400, f"cloud instance {ident} is not ready: it is {record['state']}")
    return record


def _is_in(call: Call, record: Record, region: str) -> bool:
    return not region or call.settings.power_zones[record["target"]].region == region


def _check_crn_header(call: Call, record: Record) -> None:
    """Check that the CRN header names the workspace; clients of a test host send `staging` for `bluemix`.

    Source: docs/reference/ibm-cloud.md#powervs.
    """
    sent = call.request.headers.get("crn", "").replace(":staging:", ":bluemix:", 1)
    if sent != record["crn"]:
        raise errors.power(401, f"the CRN header does not name this workspace: {sent or 'missing'}")


def _datacenter(call: Call, name: str) -> dict[str, Any]:
    zone = call.settings.power_zones[name]
    location = {
        "region": name,
        "regionDisplayName": name.upper(),
        "type": "data-center",
        "url": f"https://{zone.region}.power-iaas.cloud.ibm.com",
    }
    capabilities = {"cloud-connections": True, "disaster-recovery-site": False, "vpn-connections": False}
    return {
        "capabilities": {**capabilities, "power-edge-router": zone.edge_router},
        "capabilitiesDetails": {
            "disasterRecovery": {
                "replicationServices": {"asynchronousReplication": {"enabled": False, "targetLocations": []}}
            },
            "supportedSystems": {"dedicated": [*_SYSTEMS], "general": [*_SYSTEMS]},
        },
        "location": location,
        "status": "active",
        "type": "off-premises",
    }


def list_datacenters(call: Call) -> Reply:
    check_region(call)
    return Reply(200, {"datacenters": [_datacenter(call, name) for name in call.settings.power_zones]})


def get_datacenter(call: Call) -> Reply:
    check_region(call)
    name = call.params["zone"]
    if name not in call.settings.power_zones:
        raise errors.power(400, f"datacenter {name} does not exist")
    return Reply(200, _datacenter(call, name))


def _render(call: Call, record: Record) -> dict[str, Any]:
    zone = call.settings.power_zones[record["target"]]
    details: dict[str, Any] = {"creationDate": iso(record["created_at"]), "crn": record["crn"]}
    if zone.edge_router:
        state = "active" if record["state"] == "active" else "configuring"
        details["powerEdgeRouter"] = {"state": state, "type": "automated", "migrationStatus": ""}
    return {
        "capabilities": {"cloud-connections": True, "power-edge-router": zone.edge_router},
        "details": details,
        "id": record["id"],
        "location": _datacenter(call, record["target"])["location"],
        "name": record["name"],
        "status": {"active": "active", "failed": "critical"}.get(record["state"], "configuring"),
        "type": "off-premises",
    }


def _in_region(call: Call) -> list[Record]:
    region, records = check_region(call), call.world.all("instance", service=POWER.service)
    return [r for r in records if r["state"] != "removed" and _is_in(call, r, region)]


def list_workspaces(call: Call) -> Reply:
    return Reply(200, {"workspaces": [_render(call, r) for r in call.listed(_in_region(call))]})


def get_workspace(call: Call) -> Reply:
    for record in _in_region(call):
        if record["id"] == call.params["workspace"]:
            return Reply(200, _render(call, record))
    raise errors.power(404, f"workspace {call.params['workspace']} does not exist")


def get_cloud_instance(call: Call) -> Reply:
    record = workspace_of(call)
    limits = {"instances": 25, "memory": 960, "processors": 20, "storage": 100, "procUnits": 20}
    body = {
        "capabilities": [],
        "cloudInstanceID": record["id"],
        "enabled": True,
        "initialized": True,
        "limits": limits,
        "name": record["name"],
        "openstackID": record["id"].replace("-", ""),
        "pvmInstances": [],
        "region": record["target"],
        "tenantID": call.settings.account_id,
        "usage": dict.fromkeys(limits, 0),
    }
    return Reply(200, body)


_POWER = "/power/{region}"
ROUTES = (
    reads("GET", _POWER + "/v1/datacenters", "power.list_datacenters", list_datacenters, without_token=True),
    reads("GET", _POWER + "/v1/datacenters/{zone}", "power.get_datacenter", get_datacenter, without_token=True),
    reads("GET", _POWER + "/v1/workspaces", "power.list_workspaces", list_workspaces),
    reads("GET", _POWER + "/v1/workspaces/{workspace}", "power.get_workspace", get_workspace),
    reads("GET", _POWER + "/pcloud/v1/cloud-instances/{workspace}", "power.get_cloud_instance", get_cloud_instance),
)
