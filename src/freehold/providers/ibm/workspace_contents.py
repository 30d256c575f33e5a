"""What is in a workspace and would be destroyed with it (docs/reference/ibm-cloud.md#powervs)."""

from __future__ import annotations

from collections.abc import Sequence

from freehold.engine.resources import Observed, Ref, State
from freehold.providers.ibm.calls import ApiClient, Json
from freehold.providers.ibm.power_networks import PowerNetworks


class Contents:
    """DHCP servers, networks that no DHCP server brought along, and virtual machines."""

    def __init__(self, client: ApiClient) -> None:
        self._power = PowerNetworks(client)

    async def children(self, ref: Ref) -> Sequence[Observed]:
        """Three lists. Ids of servers and networks are those of kind ``dhcp-server``."""
        workspace = await self._power.workspace(ref.id, ref.target)
        servers = await self._power.servers(workspace)
        networks = await self._power.networks(workspace)
        machines = await self._power.machines(workspace)
        serving = {server["id"]: (server.get("network") or {}) for server in servers}
        managed = {network.get("id") for network in serving.values()}
        found = [
            Observed(f"{ref.id}/dhcp/{ident}", network.get("name", f"dhcp server {ident}"), State.READY)
            for ident, network in serving.items()
        ]
        found += [_network(ref.id, network) for network in networks if network["networkID"] not in managed]
        # A DHCP server is a virtual machine too, and may be listed as one.
        found += [
            Observed(f"{ref.id}/pvm-instance/{vm['pvmInstanceID']}", vm["serverName"], State.READY)
            for vm in machines
            if vm["pvmInstanceID"] not in serving
        ]
        return found


def _network(guid: str, network: Json) -> Observed:
    """The network of a DHCP server that is gone goes after it (openshift/installer#9458)."""
    state = State.DELETING if network.get("dhcpManaged") else State.READY
    return Observed(f"{guid}/network/{network['networkID']}", network["name"], state)
