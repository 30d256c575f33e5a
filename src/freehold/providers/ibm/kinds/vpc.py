"""Kind ``vpc``: a VPC, and those rules of its default security group that are ours.

Engine id: ``<region>/<id>``. Names are unique in a region. The default group, ACL and routing table come and go with
the VPC and are no children of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.drivers import Listed
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
from freehold.providers.ibm.calls import PAGE, IbmClient, Json, require_rows
from freehold.providers.ibm.names import VPC, birth_name, matches
from freehold.providers.ibm.rules import SecurityGroupRules, part_of, parts_of
from freehold.providers.ibm.times import SETTLE


def _to_observed(region: str, body: Json) -> Observed:
    attributes = {"region": region, "default_security_group": body["default_security_group"]["id"]}
    return vpc.to_observed(region, body, body["status"], attributes)


class IbmVpcDriver:
    """A driver that also lists the contents, and the rules of the default group (parts of kind ``rule``)."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client
        self._vpcs = vpc.VpcCollection(client, "vpc", "vpcs")
        self._subnets = vpc.VpcCollection(client, "subnet", "subnets")
        self._groups = vpc.VpcCollection(client, "security_group", "security_groups")
        self._rules = SecurityGroupRules(client)
        self._default_groups: dict[str, str] = {}

    async def create(self, request: Request, birth: Birth) -> Observed:
        region, group = request["region"], {"id": request["resource_group"]}
        name = birth_name(request["name"], birth.nonce, VPC)
        body = await self._vpcs.create(
            region, request["name"], lambda send: send(name=name, resource_group=group), name=name
        )
        return self._remember_default_group(region, body)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        seen = [self._remember_default_group(region, body) for region, body in await self._vpcs.read_present(refs)]
        return {one.id: one for one in seen}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        regions = sorted({want.request["region"] for want in wants})
        bodies = {region: await self._vpcs.list_all(region) for region in regions}
        found: dict[NodeKey, Sequence[Observed]] = {}
        for want in wants:
            region = want.request["region"]
            named = [body for body in bodies[region] if matches(body["name"], want.name, want.nonces)]
            found[want.key] = [self._remember_default_group(region, body) for body in named]
        return found

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        found: list[Observed] = []
        for region in await vpc.regions_to_search(self._client, places, wants):
            here = [want for want in wants if want.request["region"] == region]
            bodies = await self._vpcs.list_all(region)
            found += [
                self._remember_default_group(region, body)
                for body in bodies
                if vpc.is_wanted(body["name"], here, nonces)
            ]
        return found

    def identify(self, target: str, carried: str = "") -> str:
        return vpc.identify(target, "vpc")

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._vpcs.rename(ref, changes["name"])

    async def delete(self, ref: Ref) -> None:
        await self._vpcs.delete(ref)

    async def children(self, ref: Ref) -> Sequence[Observed]:
        """Return subnets, and groups other than the default one. A load balancer cannot be here without a subnet."""
        region, ident = vpc.split_id(ref.id)
        default = await self._default_group(ref)
        subnets = [
            vpc.to_observed(region, body, body["status"], {}) for body in await self._subnets.list_all(region, ident)
        ]
        groups = [
            vpc.to_observed(region, body, "available", {})
            for body in await self._groups.list_all(region, ident)
            if body["id"] != default
        ]
        return [*subnets, *groups]

    async def parts(self, ref: Ref) -> frozenset[Part]:
        """Return the rules of the default group, in one call."""
        region, ident = vpc.split_id(ref.id)
        body = await self._client.read_page(
            "vpc",
            "get_vpc_default_security_group",
            lambda: self._client.session.vpc(region).get_vpc_default_security_group(ident),
            f"vpc {ident}",
        )
        self._default_groups[ident] = body["id"]
        return frozenset(
            part_of(rule) for rule in require_rows(body, "rules", "get_vpc_default_security_group", f"vpc {ident}")
        )

    async def add_part(self, ref: Ref, part: Part) -> None:
        region, _ = vpc.split_id(ref.id)
        await self._rules.add(region, await self._default_group(ref), part)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        region, _ = vpc.split_id(ref.id)
        await self._rules.remove(region, await self._default_group(ref), part)

    page = PAGE // 2  # a second list, of security groups, is as long

    def list_of(self, ref: Ref) -> str:
        return vpc.split_id(ref.id)[0]

    async def read_rows(self, name: str) -> Sequence[Listed]:
        """Return the VPCs of a region; the list of its security groups has the rules of their default groups."""
        rules = {body["id"]: parts_of(body) async for body in self._groups.iterate(name)}
        return [
            Listed(self._remember_default_group(name, body), rules.get(body["default_security_group"]["id"]))
            async for body in self._vpcs.iterate(name)
        ]

    def _remember_default_group(self, region: str, body: Json) -> Observed:
        self._default_groups[body["id"]] = body["default_security_group"]["id"]
        return _to_observed(region, body)

    async def _default_group(self, ref: Ref) -> str:
        _, ident = vpc.split_id(ref.id)
        if ident not in self._default_groups:
            await self.parts(ref)
        return self._default_groups[ident]


def kind(client: IbmClient) -> Kind:
    driver = IbmVpcDriver(client)
    return Kind(
        name="vpc",
        api="vpc",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        driver=driver,
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud is vpc-update {id} --name NEW_NAME"),
        creation=CreateRules(usual_time=15.0),
        attributes=AttributeRules(mutable=frozenset({"name"}), outputs=frozenset({"default_security_group"})),
        parts=PartRules(driver=driver),
        deletion=DeleteRules(
            delete_command="ibmcloud is vpc-delete {id}",
            contains=("vpc-subnet", "security-group"),
            usual_time=15.0,
            container=driver,
        ),
        reads=ReadRules(listing=driver),
    )
