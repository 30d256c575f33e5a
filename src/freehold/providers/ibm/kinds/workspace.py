"""Kind ``workspace``: a PowerVS workspace, which the Resource Controller calls a service instance.

Engine id: the guid. Its delete destroys everything inside, so the contents are listed first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from freehold.engine.drivers import Listed
from freehold.engine.errors import NotFound
from freehold.engine.kinds import AttributeRules, CreateRules, Dedupe, DeleteRules, Kind, NameRules, ReadRules, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.ibm.calls import PAGE, IbmClient, Json
from freehold.providers.ibm.power_networks import PowerNetworks
from freehold.providers.ibm.resource_controller import POWER, Instances, index_by_id, to_observed
from freehold.providers.ibm.times import SETTLE


def _to_observed(body: Json) -> Observed:
    seen = to_observed(body)
    return replace(seen, attributes={**seen.attributes, "zone": body.get("region_id", "")})


class WorkspaceDriver:
    """A driver. A workspace has a zone as its location, and a name that need not be unique."""

    def __init__(self, client: IbmClient) -> None:
        self._instances = Instances(client, POWER)
        self._contents = WorkspaceContents(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        name, zone, group = request["name"], request["zone"], request["resource_group"]
        return _to_observed(await self._instances.create(name, birth.nonce, zone, group))

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        return index_by_id(_to_observed(body) for body in await self._instances.read_present(refs))

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        return {want.key: [_to_observed(body) for body in await self._instances.find_matching(want)] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        return [_to_observed(body) for body in await self._instances.find_by_nonce(wants, nonces)]

    def identify(self, target: str, carried: str = "") -> str:
        return self._instances.guid_of(target)

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._instances.rename(ref.id, changes["name"])

    async def delete(self, ref: Ref) -> None:
        await self._instances.delete(ref.id, recursive=False)

    page = PAGE

    def list_of(self, ref: Ref) -> str:
        """Return an empty name: the account has one list."""
        return ""

    async def read_rows(self, name: str) -> Sequence[Listed]:
        return [Listed(_to_observed(body)) for body in await self._instances.list_running()]

    async def children(self, ref: Ref) -> Sequence[Observed]:
        try:
            return await self._contents.children(ref)
        except NotFound:  # the workspace is gone from the account too
            return ()


class WorkspaceContents:
    """The contents of a workspace, which its delete would destroy (docs/reference/ibm-cloud.md#powervs).

    They are DHCP servers, networks that no DHCP server created, and virtual machines.
    """

    def __init__(self, client: IbmClient) -> None:
        self._power = PowerNetworks(client)

    async def children(self, ref: Ref) -> Sequence[Observed]:
        """Return the contents, from three lists. Ids of servers and networks are those of kind ``dhcp-server``."""
        workspace = await self._power.workspace_crn(ref.id, ref.target)
        servers = await self._power.list_servers(workspace)
        networks = await self._power.list_networks(workspace)
        machines = await self._power.list_machines(workspace)
        serving = {server["id"]: (server.get("network") or {}) for server in servers}
        managed = {network.get("id") for network in serving.values()}
        found = [
            Observed(f"{ref.id}/dhcp/{ident}", network.get("name", f"dhcp server {ident}"), State.READY)
            for ident, network in serving.items()
        ]
        found += [_contained_network(ref.id, network) for network in networks if network["networkID"] not in managed]
        # A DHCP server is a virtual machine too, and may be listed as one.
        found += [
            Observed(f"{ref.id}/pvm-instance/{vm['pvmInstanceID']}", vm["serverName"], State.READY)
            for vm in machines
            if vm["pvmInstanceID"] not in serving
        ]
        return found


def _contained_network(guid: str, network: Json) -> Observed:
    """Return a network; one whose DHCP server is gone is being deleted (openshift/installer#9458)."""
    state = State.DELETING if network.get("dhcpManaged") else State.READY
    return Observed(f"{guid}/network/{network['networkID']}", network["name"], state)


def kind(client: IbmClient) -> Kind:
    driver = WorkspaceDriver(client)
    return Kind(
        name="workspace",
        api="rc",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        driver=driver,
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud resource service-instance-update {id} --name NEW_NAME"),
        creation=CreateRules(usual_time=150.0),
        attributes=AttributeRules(mutable=frozenset({"name"})),
        deletion=DeleteRules(
            delete_command="ibmcloud resource service-instance-delete {id}",
            contains=("dhcp-server",),
            usual_time=90.0,
            container=driver,
        ),
        reads=ReadRules(listing=driver),
    )
