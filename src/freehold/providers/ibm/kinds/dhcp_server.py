"""Kind ``dhcp-server``: a DHCP server with the private network that it creates, or a plain network that is reused.

Engine id: ``<workspace guid>/dhcp/<id>`` or ``<workspace guid>/network/<id>``. The mark is on the network; that of a
network without a CRN is on the workspace (docs/reference/ibm-cloud.md#powervs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from freehold.engine.errors import CloudError, InUse, NotFound, NotReady
from freehold.engine.kinds import AttributeRules, CreateRules, Dedupe, DeleteRules, Kind, NameRules, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.ibm import crn
from freehold.providers.ibm.calls import IbmClient
from freehold.providers.ibm.dhcp_networks import MarkedNetworks, observe_network, observe_server
from freehold.providers.ibm.names import DHCP, birth_name, has_nonce
from freehold.providers.ibm.power_networks import PowerNetworks
from freehold.providers.ibm.times import SETTLE


class DhcpServerDriver:
    """A driver. IBM allows one DHCP server in a workspace; its private network outlives it for a while."""

    def __init__(self, client: IbmClient) -> None:
        self._power = PowerNetworks(client)
        self._marks = MarkedNetworks(self._power)

    async def create(self, request: Request, birth: Birth) -> Observed:
        guid = request["workspace"]
        workspace = await self._power.workspace_crn(guid, zone=request["zone"])
        optional = {"cidr": request.get("cidr"), "dnsServer": request.get("dns"), "snatEnabled": request.get("snat")}
        wanted = {name: value for name, value in optional.items() if value is not None}
        body = {"name": birth_name(request["name"], birth.nonce, DHCP), **wanted}
        made = await self._power.create_server(workspace, body)
        try:
            return await self._marks.resolve_target(guid, workspace, made, "")
        except CloudError:
            # The server exists. A later read finds its network, which has the mark.
            return observe_server(guid, made, workspace, "", False)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found: dict[str, Observed] = {}
        for ref in refs:
            try:
                seen = await self._observe_one(ref)
            except NotFound:  # the workspace itself is gone
                continue
            if seen is not None:
                found[ref.id] = seen
        return found

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        return {want.key: await self._find_one(want) for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        found: dict[str, Observed] = {}
        scopes = {want.request["workspace"]: "" for want in wants}
        scopes |= {place.ref.id: place.ref.target for place in places if place.kind == "workspace"}
        for guid, target in sorted(scopes.items()):
            here = await self._list_inside(guid, await self._power.workspace_crn(guid, target))
            ours = [one for one in here if has_nonce(one.name, nonces) or _shows_no_network(one)]
            ours += [one for want in wants if want.request["workspace"] == guid for one in _select_matching(here, want)]
            found |= {one.id: one for one in ours}
        return list(found.values())

    def identify(self, target: str, carried: str = "") -> str:
        parsed = crn.parse(target)
        if parsed is None or parsed.service != "power-iaas":
            return ""
        if carried:
            return f"{parsed.instance}/dhcp/{carried}"
        return f"{parsed.instance}/network/{parsed.id}" if parsed.type == "network" else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        guid, form, ident = ref.id.split("/")
        workspace = await self._power.workspace_crn(guid, ref.target)
        if form == "dhcp":
            server = await self._power.get_server(workspace, ident)
            if server is None:
                raise NotFound(f"the DHCP server {ident} of workspace {guid} is gone")
            ident = (server.get("network") or {}).get("id", "")
            if not ident:
                raise NotReady(f"the DHCP server of workspace {guid} has no network yet")
        await self._power.rename_network(workspace, ident, changes["network"])

    async def delete(self, ref: Ref) -> None:
        """Delete the server with its network, or a plain network."""
        guid, form, ident = ref.id.split("/")
        workspace = await self._power.workspace_crn(guid, ref.target)
        try:
            if form == "dhcp":
                await self._power.delete_server(workspace, ident)
                return
            for server in await self._power.list_servers(workspace):
                if (server.get("network") or {}).get("id") == ident:
                    await self._power.delete_server(workspace, server["id"])
                    return
            await self._power.delete_network(workspace, ident)
        except InUse as refused:
            raise refused.held_by(await self._find_machines(workspace, ident)) from refused

    async def _find_machines(self, workspace: str, ident: str) -> str:
        """Return the machines on the network of server or network ``ident``: they prevent its delete (CAPIBM#1815)."""
        network = ((await self._power.get_server(workspace, ident) or {}).get("network") or {}).get("id", ident)
        return ", ".join(
            sorted(
                f"virtual machine {vm['serverName']} ({vm['pvmInstanceID']})"
                for vm in await self._power.list_machines(workspace)
                if vm["pvmInstanceID"] != ident
                and network in {attached.get("networkID") for attached in vm.get("networks") or ()}
            )
        )

    async def _observe_one(self, ref: Ref) -> Observed | None:
        guid, form, ident = ref.id.split("/")
        workspace = await self._power.workspace_crn(guid, ref.target)
        if form == "network":
            network = await self._power.get_network(workspace, ident)
            return observe_network(guid, network, workspace) if network else None
        server = await self._power.get_server(workspace, ident)
        if server is not None:
            return await self._marks.resolve_target(guid, workspace, server, ref.target)
        left = await self._marks.find_left_behind(workspace, ref.target)
        if left is None:
            return None
        return replace(observe_network(guid, left, workspace, State.DELETING), id=ref.id)

    async def _find_one(self, want: Want) -> Sequence[Observed]:
        guid = want.request["workspace"]
        try:
            workspace = await self._power.workspace_crn(guid, zone=want.request.get("zone", ""))
            here = await self._list_inside(guid, workspace)
        except NotFound:  # the workspace itself is gone
            return []
        return _select_matching(here, want)

    async def _list_inside(self, guid: str, workspace: str) -> list[Observed]:
        """Return the DHCP servers of a workspace, and the networks that no server created.

        Raises NotFound when the workspace is gone.
        """
        networks = {body["networkID"]: body for body in await self._power.list_networks(workspace)}
        here: list[Observed] = []
        for server in await self._power.list_servers(workspace):
            body = networks.pop((server.get("network") or {}).get("id", ""), None)
            own = (body or {}).get("crn") or ""
            target = own or (workspace if body else "")
            here.append(observe_server(guid, server, workspace, target, bool(body) and not own))
        for body in networks.values():
            state = State.DELETING if body.get("dhcpManaged") else State.READY
            here.append(observe_network(guid, body, workspace, state))
        return here


def _select_matching(here: Sequence[Observed], want: Want) -> list[Observed]:
    """Return those with a nonce or, as yet, without a name, and those of the first wanted name that exists."""
    nonce_fields = [one for one in here if has_nonce(one.name, want.nonces) or not one.name]
    for name in want.request.get("search") or [want.name]:
        named = [one for one in here if one.name == name and one not in nonce_fields]
        if named:
            return [*nonce_fields, *named]
    return nonce_fields


def _shows_no_network(one: Observed) -> bool:
    """Return False. Raises NotReady for a server without a network yet, which may be one of ours."""
    if not one.name and one.state is State.PENDING:
        message = f"the DHCP server {one.id} shows no network yet, and only the network's name tells whether it is ours"
        raise NotReady(f"{message}. It is asked again")
    return False


def kind(client: IbmClient) -> Kind:
    return Kind(
        name="dhcp-server",
        api="power",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        driver=DhcpServerDriver(client),
        requires=("workspace",),
        carrier="workspace",
        carrier_owned=True,
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud pi subnet update {network_id} --name NEW_NAME"),
        creation=CreateRules(usual_time=300.0),
        attributes=AttributeRules(mutable=frozenset({"network"}), create_only=frozenset({"cidr", "dns", "snat"})),
        deletion=DeleteRules(usual_time=210.0),
    )
