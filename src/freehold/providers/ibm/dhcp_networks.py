"""A DHCP server and its network as one resource, and the target of its mark (docs/reference/ibm-cloud.md#powervs)."""

from __future__ import annotations

from freehold.engine.resources import Observed, State
from freehold.providers.ibm import crn
from freehold.providers.ibm.calls import Json
from freehold.providers.ibm.power_networks import PowerNetworks

_STATES = {"ACTIVE": State.READY, "ERROR": State.FAILED}


def observe_server(guid: str, body: Json, workspace: str, target: str, carried: bool) -> Observed:
    network = body.get("network") or {}
    name = network.get("name", "")
    return Observed(
        id=f"{guid}/dhcp/{body['id']}",
        name=name,
        state=_STATES.get(str(body["status"]).upper(), State.PENDING),
        target=target,
        carried=carried,
        nonce_fields=frozenset({name}),
        vendor_state=body["status"],
        region=crn.location_of(workspace),
        attributes={"id": body["id"], "workspace": guid, "network_id": network.get("id", ""), "network": name},
    )


def observe_network(guid: str, body: Json, workspace: str, state: State = State.READY) -> Observed:
    own = body.get("crn") or ""
    return Observed(
        id=f"{guid}/network/{body['networkID']}",
        name=body["name"],
        state=state,
        target=own or workspace,
        carried=not own,
        nonce_fields=frozenset({body["name"]}),
        region=crn.location_of(workspace),
        attributes={"id": "", "workspace": guid, "network_id": body["networkID"], "network": body["name"]},
    )


class MarkedNetworks:
    """The target of a DHCP server's mark: its network, or the workspace where the network has no CRN."""

    def __init__(self, power: PowerNetworks) -> None:
        self._power = power

    async def resolve_target(self, guid: str, workspace: str, server: Json, target: str) -> Observed:
        """Return the server with the target of its mark; ``target`` is the known one, which saves a read."""
        network = (server.get("network") or {}).get("id", "")
        known = crn.parse(target)
        if known and network and known.id == network:
            return observe_server(guid, server, workspace, target, False)
        if target == workspace:
            return observe_server(guid, server, workspace, workspace, True)
        body = await self._power.get_network(workspace, network) if network else None
        if body is None:
            return observe_server(guid, server, workspace, "", False)
        own = body.get("crn") or ""
        return observe_server(guid, server, workspace, own or workspace, not own)

    async def find_left_behind(self, workspace: str, target: str) -> Json | None:
        """Return the network of a server that is gone, while it still exists (openshift/installer#9458).

        Raises NotFound when the workspace is gone, NotReady when PowerVS does not know a workspace that exists: then it
        answers 404 for everything inside.
        """
        known = crn.parse(target)
        on_mark = known.id if known and known.type == "network" else ""
        left = await self._power.get_network(workspace, on_mark) if on_mark else None
        if left is not None:
            return left
        managed = [body for body in await self._power.list_networks(workspace) if body.get("dhcpManaged")]
        if on_mark or not managed:
            return None
        serving = {(server.get("network") or {}).get("id") for server in await self._power.list_servers(workspace)}
        return next((body for body in managed if body["networkID"] not in serving), None)
