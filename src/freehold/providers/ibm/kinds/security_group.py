"""Kind ``security-group``: a security group of a VPC, all of whose rules are ours. Engine id: ``<region>/<id>``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from freehold.engine.drivers import Listed
from freehold.engine.errors import InUse, NotFound
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
from freehold.providers.ibm import rules, vpc
from freehold.providers.ibm.calls import IbmClient, Json
from freehold.providers.ibm.names import VPC, birth_name
from freehold.providers.ibm.times import SETTLE


def _to_observed(region: str, body: Json) -> Observed:
    """Return a group. It has no status: it is ready at once and gone at once."""
    return vpc.to_observed(region, body, "available", {"vpc": body["vpc"]["id"]})


def _to_row(region: str, body: Json) -> Listed:
    return Listed(_to_observed(region, body), rules.parts_of(body))


class IbmSecurityGroupDriver:
    """A driver. Names are unique in a VPC."""

    def __init__(self, client: IbmClient) -> None:
        self._groups = vpc.VpcCollection(client, "security_group", "security_groups")
        self._rules = rules.SecurityGroupRules(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        name = birth_name(request["name"], birth.nonce, VPC)
        home, group = {"id": request["vpc"]}, {"id": request["resource_group"]}
        body = await self._groups.create(
            request["region"],
            request["name"],
            lambda send: send(vpc=home, name=name, resource_group=group),
            name=name,
        )
        return _to_observed(request["region"], body)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        seen = [_to_observed(region, body) for region, body in await self._groups.read_present(refs)]
        return {one.id: one for one in seen}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found = await self._groups.find_wanted(wants)
        return {key: [_to_observed(region, body) for region, body in bodies] for key, bodies in found.items()}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        return [_to_observed(region, body) for region, body in await self._groups.find_by_nonce(places, wants, nonces)]

    def identify(self, target: str, carried: str = "") -> str:
        return vpc.identify(target, "security-group")

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._groups.rename(ref, changes["name"])

    async def delete(self, ref: Ref) -> None:
        """Delete it. Two groups whose rules name each other refuse that: then its rules that name groups are removed.

        IBM does not say which load balancers use it, so they are read and named.
        """
        try:
            await self._groups.delete(ref)
        except InUse as refused:
            body = await self._groups.get(*vpc.split_id(ref.id)) or {}
            parts = [rules.part_of(rule) for rule in body.get("rules") or ()]
            for part in sorted(parts, key=lambda part: part.natural_key):
                if (part.request.get("remote") or {}).get("crn"):
                    with suppress(NotFound):  # the rule, or the group itself, is gone
                        await self.remove_part(ref, part)
            targets = (f"{target['name']} ({target['id']})" for target in body.get("targets") or ())
            raise refused.held_by(", ".join(sorted(targets))) from refused

    async def parts(self, ref: Ref) -> frozenset[Part]:
        return await self._rules.read_all(*vpc.split_id(ref.id))

    async def add_part(self, ref: Ref, part: Part) -> None:
        await self._rules.add(*vpc.split_id(ref.id), part)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        await self._rules.remove(*vpc.split_id(ref.id), part)


def kind(client: IbmClient) -> Kind:
    driver = IbmSecurityGroupDriver(client)
    return Kind(
        name="security-group",
        api="vpc",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        driver=driver,
        requires=("vpc",),
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud is security-group-update {id} --name NEW_NAME"),
        creation=CreateRules(usual_time=2.0),
        attributes=AttributeRules(mutable=frozenset({"name"})),
        parts=PartRules(exclusive=frozenset({rules.KIND}), driver=driver),
        deletion=DeleteRules(delete_command="ibmcloud is security-group-delete {id}", usual_time=2.0),
        reads=ReadRules(
            listing=vpc.VpcListing(vpc.VpcCollection(client, "security_group", "security_groups"), _to_row)
        ),
    )
