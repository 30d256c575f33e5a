"""Kind ``cos-instance``: a Cloud Object Storage instance of the standard plan. Engine id: the guid.

A deleted one stays in reclamation for days and counts as gone, though a person may restore it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.drivers import Listed
from freehold.engine.kinds import AttributeRules, CreateRules, Dedupe, DeleteRules, Kind, NameRules, ReadRules, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.ibm import buckets
from freehold.providers.ibm.calls import PAGE, IbmClient
from freehold.providers.ibm.resource_controller import COS, Instances, index_by_id, to_observed
from freehold.providers.ibm.times import SETTLE

TARGET = "Global"


class CosInstanceDriver:
    """A driver. Names need not be unique; instances are global."""

    def __init__(self, client: IbmClient) -> None:
        self._instances = Instances(client, COS)
        self._buckets = buckets.Buckets(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        body = await self._instances.create(request["name"], birth.nonce, TARGET, request["resource_group"])
        return to_observed(body)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        return index_by_id(to_observed(body) for body in await self._instances.read_present(refs))

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        return {want.key: [to_observed(body) for body in await self._instances.find_matching(want)] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        return [to_observed(body) for body in await self._instances.find_by_nonce(wants, nonces)]

    def identify(self, target: str, carried: str = "") -> str:
        return self._instances.guid_of(target)

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._instances.rename(ref.id, changes["name"])

    async def delete(self, ref: Ref) -> None:
        """Delete it with its keys; the buckets have been looked at before."""
        await self._instances.delete(ref.id, recursive=True)

    page = PAGE

    def list_of(self, ref: Ref) -> str:
        """Return an empty name: the account has one list."""
        return ""

    async def read_rows(self, name: str) -> Sequence[Listed]:
        return [Listed(to_observed(body)) for body in await self._instances.list_running()]

    async def children(self, ref: Ref) -> Sequence[Observed]:
        inside = await self._buckets.list_buckets(ref.id)
        return [Observed(buckets.join_id(ref.id, region, name), name, State.READY) for name, region in inside.items()]


def kind(client: IbmClient) -> Kind:
    driver = CosInstanceDriver(client)
    return Kind(
        name="cos-instance",
        api="rc",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        driver=driver,
        settle=SETTLE,
        naming=NameRules(rename_command="ibmcloud resource service-instance-update {id} --name NEW_NAME"),
        creation=CreateRules(usual_time=10.0),
        attributes=AttributeRules(mutable=frozenset({"name"})),
        deletion=DeleteRules(
            delete_command="ibmcloud resource service-instance-delete {id}",
            contains=("cos-bucket",),
            usual_time=5.0,
            container=driver,
        ),
        reads=ReadRules(listing=driver),
    )
