"""Kind ``workspace``: a PowerVS workspace, which the Resource Controller calls a service instance.

Engine id: the guid. Its delete takes everything inside along, so what is inside is listed first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from freehold.engine.drivers import Listed
from freehold.engine.errors import NotFound
from freehold.engine.kinds import Dedupe, Kind, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, Place, Ref, Request, Want
from freehold.providers.ibm.calls import PAGE, ApiClient, Json
from freehold.providers.ibm.resource_controller import POWER, Instances, by_id, observed
from freehold.providers.ibm.times import SETTLE
from freehold.providers.ibm.workspace_contents import Contents


def _observed(body: Json) -> Observed:
    seen = observed(body)
    return replace(seen, attributes={**seen.attributes, "zone": body.get("region_id", "")})


class WorkspaceDriver:
    """A workspace has a zone for its location, and a name that need not be unique."""

    def __init__(self, client: ApiClient) -> None:
        self._instances = Instances(client, POWER)
        self._contents = Contents(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        name, zone, group = request["name"], request["zone"], request["resource_group"]
        return _observed(await self._instances.create(name, birth.nonce, zone, group))

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        return by_id(_observed(body) for body in await self._instances.present(refs))

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        return {want.key: [_observed(body) for body in await self._instances.matching(want)] for want in wants}

    async def by_nonce(self, places: Sequence[Place], wants: Sequence[Want], nonces: NonceSet) -> Sequence[Observed]:
        return [_observed(body) for body in await self._instances.by_nonce(wants, nonces)]

    def identify(self, target: str, carried: str = "") -> str:
        return self._instances.guid_of(target)

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._instances.rename(ref.id, changes["name"])

    async def delete(self, ref: Ref) -> None:
        await self._instances.delete(ref.id, recursive=False)

    page = PAGE

    def list_of(self, ref: Ref) -> str:
        """The account has one list."""
        return ""

    async def listed(self, name: str) -> Sequence[Listed]:
        return [Listed(_observed(body)) for body in await self._instances.running()]

    async def children(self, ref: Ref) -> Sequence[Observed]:
        try:
            return await self._contents.children(ref)
        except NotFound:  # of the workspace, which the account does not have either
            return ()


def kind(client: ApiClient) -> Kind:
    driver = WorkspaceDriver(client)
    return Kind(
        name="workspace",
        api="rc",
        tagging=Tagging.AFTER,
        dedupe=Dedupe.NONCE,
        rename_command="ibmcloud resource service-instance-update {id} --name NEW_NAME",
        delete_command="ibmcloud resource service-instance-delete {id}",
        driver=driver,
        mutable=frozenset({"name"}),
        contains=("dhcp-server",),
        create_time=150.0,
        delete_time=90.0,
        settle=SETTLE,
        listing=driver,
        container=driver,
    )
