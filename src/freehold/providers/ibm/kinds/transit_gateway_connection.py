"""Kind ``transit-gateway-connection``: has no CRN and no tags, so its gateway carries its mark.

Engine id: ``<gateway id>/<connection id>``. A network joins a gateway once, whatever the connection's name, so a
connection of the wanted network counts as one of the wanted name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.drivers import Listed
from freehold.engine.errors import NotFound
from freehold.engine.kinds import CreateRules, Dedupe, DeleteRules, Kind, NameRules, ReadRules, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.ibm import crn
from freehold.providers.ibm.calls import PAGE, IbmClient, Json
from freehold.providers.ibm.names import TRANSIT, birth_name, has_nonce
from freehold.providers.ibm.times import SETTLE, epoch
from freehold.providers.ibm.transit_connections import Connections

STATES = {
    "pending": State.PENDING,
    "network_pending": State.PENDING,
    "attached": State.READY,
    "failed": State.FAILED,
    "detached": State.FAILED,
    "suspending": State.FAILED,
    "suspended": State.FAILED,
    "detaching": State.DELETING,
    "deleting": State.DELETING,
}


def _to_observed(gateway: str, gateway_crn: str, body: Json) -> Observed:
    # The name is left out: it keeps its nonce for life, and would differ from the wanted one.
    attributes = {name: body.get(name, "") for name in ("id", "network_id", "network_type")} | {"gateway": gateway}
    return Observed(
        id=f"{gateway}/{body['id']}",
        name=body.get("name", ""),
        state=STATES.get(body["status"], State.PENDING),
        target=gateway_crn,
        carried=True,
        nonce_fields=frozenset({body.get("name", "")}),
        created_at=epoch(body.get("created_at")),
        vendor_state=body["status"],
        region=crn.location_of(gateway_crn),
        attributes=attributes,
    )


class ConnectionDriver:
    """A driver. Several connections of one gateway are observed by one list."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client
        self._sdk = client.session.transit
        self._connections = Connections(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        gateway, network, network_type = request["gateway"], request["network_id"], request["network_type"]
        name = birth_name(request["name"], birth.nonce, TRANSIT)
        body = await self._client.write(
            "transit",
            "create_transit_gateway_connection",
            lambda: self._sdk().create_transit_gateway_connection(gateway, network_type, name=name, network_id=network),
            f"connection {request['name']} of transit gateway {gateway}",
            name=name,
            network=network,
        )
        return _to_observed(gateway, request["gateway_crn"], body)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        gateways: dict[str, list[Ref]] = {}
        for ref in refs:
            gateways.setdefault(ref.id.partition("/")[0], []).append(ref)
        found: dict[str, Observed] = {}
        for gateway, group in gateways.items():
            bodies = await self._list_connections(gateway) if len(group) > 1 else []
            listed = {body["id"]: body for body in bodies}
            for ref in group:
                ident = ref.id.partition("/")[2]
                # A list may lag: a connection that it does not show is read by its id before it counts as gone.
                body = listed.get(ident)
                if body is None and not (len(group) > 1 and ref.delete_requested):
                    body = await self._connections.get(gateway, ident)
                if body is not None:
                    found[ref.id] = _to_observed(gateway, ref.target, body)
        return found

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        gateways = sorted({want.request["gateway"] for want in wants})
        bodies = {gateway: await self._list_connections(gateway) for gateway in gateways}
        return {
            want.key: [
                _to_observed(want.request["gateway"], want.request["gateway_crn"], body)
                for body in bodies[want.request["gateway"]]
                if _matches_want(body, want)
            ]
            for want in wants
        }

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        gateways = {want.request["gateway"]: want.request["gateway_crn"] for want in wants}
        gateways |= {place.ref.id: place.ref.target for place in places if place.kind == "transit-gateway"}
        found: list[Observed] = []
        for gateway, target in sorted(gateways.items()):
            here = [want for want in wants if want.request["gateway"] == gateway]
            for body in await self._connections.list_for_gateway(gateway):
                if has_nonce(body.get("name", ""), nonces) or any(_matches_want(body, want) for want in here):
                    found.append(_to_observed(gateway, target, body))
        return found

    page = PAGE

    def list_of(self, ref: Ref) -> str:
        """Return an empty name: the account has one list."""
        return ""

    async def read_rows(self, name: str) -> Sequence[Listed]:
        bodies = await self._connections.list_for_account()
        gateways = [body.get("transit_gateway") or {} for body in bodies]
        return [
            Listed(_to_observed(gateway["id"], gateway["crn"], body))
            for gateway, body in zip(gateways, bodies, strict=True)
            if gateway.get("id") and gateway.get("crn")
        ]

    async def _list_connections(self, gateway: str) -> list[Json]:
        """Return the connections of a gateway; none if the gateway is gone."""
        try:
            return await self._connections.list_for_gateway(gateway)
        except NotFound:
            return []

    def identify(self, target: str, carried: str = "") -> str:
        parsed = crn.parse(target)
        is_gateway = parsed and parsed.service == "transit" and parsed.type == "gateway"
        return f"{parsed.id}/{carried}" if parsed and is_gateway and carried else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        """Do nothing: a connection is never changed in place."""

    async def delete(self, ref: Ref) -> None:
        gateway, _, ident = ref.id.partition("/")
        await self._client.write(
            "transit",
            "delete_transit_gateway_connection",
            lambda: self._sdk().delete_transit_gateway_connection(gateway, ident),
            f"connection {ident} of transit gateway {gateway}",
        )


def _matches_want(body: Json, want: Want) -> bool:
    """Return whether it joins the wanted network or has one of our nonces.

    The name alone decides nothing: a namesake joins another network, on a shared gateway another cluster's.
    """
    same_network = str(body.get("network_id", "")).casefold() == str(want.request["network_id"]).casefold()
    return same_network or has_nonce(body.get("name", ""), want.nonces)


def kind(client: IbmClient) -> Kind:
    driver = ConnectionDriver(client)
    return Kind(
        name="transit-gateway-connection",
        api="transit",
        tagging=Tagging.NEVER,
        dedupe=Dedupe.NONCE,
        driver=driver,
        requires=("transit-gateway", "vpc", "workspace"),
        carrier="transit-gateway",
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud tg connection-update {gateway} {id} --name NEW_NAME"),
        creation=CreateRules(usual_time=120.0),
        deletion=DeleteRules(delete_command="ibmcloud tg connection-delete {gateway} {id}", usual_time=60.0),
        reads=ReadRules(listing=driver),
    )
