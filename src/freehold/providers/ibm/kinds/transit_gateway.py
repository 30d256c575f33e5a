"""Kind ``transit-gateway``. Engine id: the uuid. It is unknown whether names are unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.drivers import Listed
from freehold.engine.errors import InUse
from freehold.engine.kinds import AttributeRules, CreateRules, Dedupe, DeleteRules, Kind, NameRules, ReadRules, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.ibm import crn
from freehold.providers.ibm.calls import PAGE, IbmClient, Json
from freehold.providers.ibm.names import TRANSIT, birth_name, has_nonce, matches
from freehold.providers.ibm.times import SETTLE, epoch
from freehold.providers.ibm.transit_connections import Connections

STATES = {
    "pending": State.PENDING,
    "available": State.READY,
    "failed": State.FAILED,
    "suspended": State.FAILED,
    "suspending": State.FAILED,
    "deleting": State.DELETING,
}
"""States of gateways. IBM suspends those with fewer than two connections after 45 days
(docs/reference/ibm-cloud.md#transit-gateway)."""


def _to_observed(body: Json) -> Observed:
    attributes = {name: body[name] for name in ("id", "location", "global", "name")}
    attributes["crn"] = body.get("crn", "")  # the SDK's model does not require it
    if group := body.get("resource_group"):
        attributes["resource_group"] = group["id"]
    return Observed(
        id=body["id"],
        name=body["name"],
        state=STATES.get(body["status"], State.PENDING),
        target=attributes["crn"],
        nonce_fields=frozenset({body["name"]}),
        created_at=epoch(body.get("created_at")),
        vendor_state=body["status"],
        region=body["location"],
        attributes=attributes,
    )


class TransitGatewayDriver:
    """A driver. A gateway that is ``deleted`` may still be listed for a while (terraform-provider-ibm#1783)."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client
        self._sdk = client.session.transit
        self._connections = Connections(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        name, location, routing = (
            birth_name(request["name"], birth.nonce, TRANSIT),
            request["location"],
            request["global"],
        )
        group = {"id": request["resource_group"]}
        body = await self._client.write(
            "transit",
            "create_transit_gateway",
            lambda: self._sdk().create_transit_gateway(location, name, global_=routing, resource_group=group),
            f"transit gateway {request['name']}",
            name=name,
            location=location,
        )
        return _to_observed(body)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found: dict[str, Observed] = {}
        for ref in refs:
            body = await self._get(ref.id)
            if body is not None and body["status"] != "deleted":
                found[ref.id] = _to_observed(body)
        return found

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        bodies = await self._list_all()
        return {want.key: [_to_observed(body) for body in bodies if _matches_want(body, want)] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        return [
            _to_observed(body)
            for body in await self._list_all()
            if has_nonce(body["name"], nonces) or any(_matches_want(body, want) for want in wants)
        ]

    def identify(self, target: str, carried: str = "") -> str:
        parsed = crn.parse(target)
        return parsed.id if parsed and parsed.service == "transit" and parsed.type == "gateway" else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        name, routing = changes.get("name"), changes.get("global")
        await self._client.write(
            "transit",
            "update_transit_gateway",
            lambda: self._sdk().update_transit_gateway(ref.id, name=name, global_=routing),
            f"transit gateway {ref.id}",
            **changes,
        )

    async def delete(self, ref: Ref) -> None:
        """Delete it. Connections refuse that; IBM does not say which, so they are read and named."""
        try:
            await self._client.write(
                "transit",
                "delete_transit_gateway",
                lambda: self._sdk().delete_transit_gateway(ref.id),
                f"transit gateway {ref.id}",
            )
        except InUse as refused:
            there = await self._connections.list_for_gateway(ref.id)
            names = sorted(f"connection {body.get('name', '')} ({body['id']})" for body in there)
            raise refused.held_by(", ".join(names)) from refused

    page = PAGE

    def list_of(self, ref: Ref) -> str:
        """Return an empty name: the account has one list."""
        return ""

    async def read_rows(self, name: str) -> Sequence[Listed]:
        return [Listed(_to_observed(body)) for body in await self._list_all()]

    async def _list_all(self) -> list[Json]:
        bodies = await self._client.read_list(
            "transit",
            "list_transit_gateways",
            lambda start: self._sdk().list_transit_gateways(limit=PAGE, start=start),
            "transit_gateways",
            "in the account",
        )
        return [body for body in bodies if body["status"] != "deleted"]

    async def _get(self, ident: str) -> Json | None:
        body: Json | None = await self._client.get_or_none(
            "transit", "get_transit_gateway", lambda: self._sdk().get_transit_gateway(ident), f"transit gateway {ident}"
        )
        return body


def _matches_want(body: Json, want: Want) -> bool:
    return body["location"] == want.request["location"] and matches(body["name"], want.name, want.nonces)


def kind(client: IbmClient) -> Kind:
    driver = TransitGatewayDriver(client)
    return Kind(
        name="transit-gateway",
        api="transit",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        driver=driver,
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud tg gateway-update {id} --name NEW_NAME"),
        creation=CreateRules(usual_time=120.0),
        attributes=AttributeRules(mutable=frozenset({"name", "global"}), calls_a_change=lambda changes: 1),
        deletion=DeleteRules(delete_command="ibmcloud tg gateway-delete {id}", usual_time=60.0),
        reads=ReadRules(listing=driver),
    )
