"""Kind ``vpc-subnet``: a subnet of a VPC, in one zone. Engine id: ``<region>/<id>``. Names are unique in a VPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freehold.engine.drivers import Listed
from freehold.engine.kinds import AttributeRules, CreateRules, Dedupe, DeleteRules, Kind, NameRules, ReadRules, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, Want
from freehold.providers.ibm import vpc
from freehold.providers.ibm.calls import IbmClient, Json
from freehold.providers.ibm.names import VPC, birth_name
from freehold.providers.ibm.times import SETTLE


def _to_observed(region: str, body: Json) -> Observed:
    attributes = {"zone": body["zone"]["name"], "vpc": body["vpc"]["id"], "cidr": body["ipv4_cidr_block"]}
    return vpc.to_observed(region, body, body["status"], attributes)


def _to_row(region: str, body: Json) -> Listed:
    return Listed(_to_observed(region, body))


class VpcSubnetDriver:
    """A driver. A subnet is a requested range, or is cut by size from an address prefix of its zone."""

    def __init__(self, client: IbmClient) -> None:
        self._subnets = vpc.VpcCollection(client, "subnet", "subnets")

    async def create(self, request: Request, birth: Birth) -> Observed:
        prototype: dict[str, Any] = {
            "name": birth_name(request["name"], birth.nonce, VPC),
            "vpc": {"id": request["vpc"]},
            "zone": {"name": request["zone"]},
            "resource_group": {"id": request["resource_group"]},
        }
        if cidr := request.get("cidr"):
            prototype["ipv4_cidr_block"] = cidr
        else:
            prototype["total_ipv4_address_count"] = request["address_count"]
        body = await self._subnets.create(
            request["region"], request["name"], lambda send: send(prototype), name=prototype["name"]
        )
        return _to_observed(request["region"], body)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        seen = [_to_observed(region, body) for region, body in await self._subnets.read_present(refs)]
        return {one.id: one for one in seen}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found = await self._subnets.find_wanted(wants)
        return {key: [_to_observed(region, body) for region, body in bodies] for key, bodies in found.items()}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        return [_to_observed(region, body) for region, body in await self._subnets.find_by_nonce(places, wants, nonces)]

    def identify(self, target: str, carried: str = "") -> str:
        return vpc.identify(target, "subnet")

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._subnets.rename(ref, changes["name"])

    async def delete(self, ref: Ref) -> None:
        await self._subnets.delete(ref)


def kind(client: IbmClient) -> Kind:
    return Kind(
        name="vpc-subnet",
        api="vpc",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        driver=VpcSubnetDriver(client),
        requires=("vpc",),
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud is subnet-update {id} --name NEW_NAME"),
        creation=CreateRules(usual_time=10.0),
        attributes=AttributeRules(mutable=frozenset({"name"})),
        deletion=DeleteRules(delete_command="ibmcloud is subnet-delete {id}", usual_time=10.0),
        reads=ReadRules(listing=vpc.VpcListing(vpc.VpcCollection(client, "subnet", "subnets"), _to_row)),
    )
