"""Kind ``load-balancer``: a VPC load balancer with its pools and listeners. Engine id: ``<region>/<id>``.

A rename would put it into ``update_pending``, so it is created under its wanted name, and its nonce is in the name of
its first pool, the API server's. Listeners are parts: ours are added when missing, others' are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freehold.engine.drivers import Listed, User
from freehold.engine.kinds import (
    AttributeRules,
    CreateRules,
    Dedupe,
    DeleteRules,
    Kind,
    NameRules,
    PartRules,
    ReadRules,
    Tagging,
)
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Part, Ref, Request, Want
from freehold.providers.ibm import vpc
from freehold.providers.ibm.balancer_parts import Listeners, pool_prototype
from freehold.providers.ibm.calls import IbmClient, Json
from freehold.providers.ibm.names import VPC, has_nonce, nested_birth_name
from freehold.providers.ibm.times import SETTLE


def _to_observed(region: str, body: Json) -> Observed:
    attributes = {
        "hostname": body["hostname"],
        "public": body["is_public"],
        "subnets": sorted(subnet["id"] for subnet in body["subnets"]),
    }
    if groups := body.get("security_groups"):
        attributes["security_groups"] = sorted(group["id"] for group in groups)
    return vpc.to_observed(region, body, body["provisioning_status"], attributes, _pools(body))


def _to_row(region: str, body: Json) -> Listed:
    """Return a row without parts: the list names listeners by id only."""
    return Listed(_to_observed(region, body))


def _pools(body: Json) -> list[str]:
    return [pool["name"] for pool in body.get("pools") or ()]


def _has_pool_nonce(body: Json, nonces: NonceSet) -> bool:
    return any(has_nonce(name, nonces) for name in _pools(body))


def _ids(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"id": value} for value in values]


class LoadBalancerDriver:
    """A driver. Names are unique in a VPC, but the list is the region's, with namesakes of other VPCs."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client
        self._balancers = vpc.VpcCollection(client, "load_balancer", "load_balancers")
        self._subnets = vpc.VpcCollection(client, "subnet", "subnets")
        self._listeners = Listeners(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        names = {pool["name"]: pool["name"] for pool in request["pools"]}
        first = request["pools"][0]["name"]
        names[first] = nested_birth_name(first, birth.nonce, VPC)
        fields: dict[str, Any] = {
            "name": request["name"],
            "resource_group": {"id": request["resource_group"]},
            "pools": [pool_prototype(pool, names[pool["name"]]) for pool in request["pools"]],
            "listeners": [
                {
                    "port": listener["port"],
                    "protocol": listener["protocol"],
                    "default_pool": {"name": names[listener["pool"]]},
                }
                for listener in request["listeners"]
            ],
        }
        if request["security_groups"]:
            fields["security_groups"] = _ids(request["security_groups"])
        public, subnets = request["public"], _ids(request["subnets"])
        body = await self._balancers.create(
            request["region"], request["name"], lambda send: send(public, subnets, **fields), name=request["name"]
        )
        return _to_observed(request["region"], body)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        seen = [_to_observed(region, body) for region, body in await self._balancers.read_present(refs)]
        return {one.id: one for one in seen}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        regions = sorted({want.request["region"] for want in wants})
        bodies = {region: await self._balancers.list_all(region) for region in regions}
        found: dict[NodeKey, Sequence[Observed]] = {}
        for want in wants:
            region = want.request["region"]
            found[want.key] = [
                _to_observed(region, body) for body in bodies[region] if await self._matches_want(body, want)
            ]
        return found

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search the list of each region, which cannot be narrowed to a VPC. A nonce of ours decides in any VPC."""
        for region, home in vpc.parent_vpcs(places):
            await vpc.confirm_vpc(self._client, region, home)
        found: list[Observed] = []
        for region in sorted(
            {*(region for region, _ in vpc.parent_vpcs(places)), *(w.request["region"] for w in wants)}
        ):
            here = [want for want in wants if want.request["region"] == region]
            for body in await self._balancers.list_all(region):
                if _has_pool_nonce(body, nonces) or any([await self._matches_want(body, want) for want in here]):
                    found.append(_to_observed(region, body))
        return found

    async def _matches_want(self, body: Json, want: Want) -> bool:
        """Return whether a pool has one of our nonces, or it has the wanted name and is in the wanted VPC."""
        if _has_pool_nonce(body, want.nonces):
            return True
        wanted = want.request
        return body["name"] == want.name and await self._is_in_vpc(wanted["region"], body, wanted["subnets"])

    def identify(self, target: str, carried: str = "") -> str:
        return vpc.identify(target, "load-balancer")

    async def update(self, ref: Ref, changes: Request) -> None:
        """Do nothing: only listeners are changed in place."""

    async def delete(self, ref: Ref) -> None:
        await self._balancers.delete(ref)

    async def parts(self, ref: Ref) -> frozenset[Part]:
        return await self._listeners.read_all(*vpc.split_id(ref.id))

    async def add_part(self, ref: Ref, part: Part) -> None:
        await self._listeners.add(*vpc.split_id(ref.id), part)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        await self._listeners.remove(*vpc.split_id(ref.id), part)

    async def users(self, ref: Ref) -> Sequence[User]:
        return [User(each) for each in await self._listeners.users(*vpc.split_id(ref.id))]

    async def _is_in_vpc(self, region: str, body: Json, wanted: Sequence[str]) -> bool:
        """Return whether it is in our VPC: its subnets tell, and they are read only if none is one of the wanted."""
        have = [subnet["id"] for subnet in body["subnets"]]
        if not set(have).isdisjoint(wanted):
            return True
        if not have:
            return False
        theirs, ours = [await self._subnets.get(region, ident) for ident in (have[0], wanted[0])]
        return theirs is not None and ours is not None and bool(theirs["vpc"]["id"] == ours["vpc"]["id"])


def kind(client: IbmClient) -> Kind:
    driver = LoadBalancerDriver(client)
    return Kind(
        name="load-balancer",
        api="vpc",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        driver=driver,
        requires=("vpc-subnet", "security-group"),
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud is load-balancer-update {id} --name NEW_NAME"),
        creation=CreateRules(usual_time=240.0),
        attributes=AttributeRules(
            addresses=frozenset({"hostname"}), changeable=frozenset({"subnets", "security_groups"})
        ),
        parts=PartRules(born_with=True, calls_a_part=2, driver=driver),
        deletion=DeleteRules(delete_command="ibmcloud is load-balancer-delete {id}", usual_time=120.0, usage=driver),
        reads=ReadRules(listing=vpc.VpcListing(vpc.VpcCollection(client, "load_balancer", "load_balancers"), _to_row)),
    )
