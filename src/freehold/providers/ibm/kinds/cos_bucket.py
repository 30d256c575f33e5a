"""Kind ``cos-bucket``: has no tags, so its instance carries its mark, even another owner's instance (ADR 16).

Engine id: ``<instance guid>/<region>.<name>``. Names are global: a name that somebody else has is refused at the
create. IBM deletes only empty buckets, so no object is ever lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.kinds import CreateRules, Dedupe, DeleteRules, Kind, Tagging
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.ibm import crn
from freehold.providers.ibm.buckets import Buckets, join_id, split_id
from freehold.providers.ibm.calls import IbmClient
from freehold.providers.ibm.marks import named_in_mark
from freehold.providers.ibm.times import SETTLE

KIND = "cos-bucket"


def _to_observed(instance: str, region: str, name: str, target: str) -> Observed:
    return Observed(
        id=join_id(instance, region, name),
        name=name,
        state=State.READY,
        target=target,
        carried=True,
        nonce_fields=frozenset({name}),
        attributes={"name": name, "region": region, "instance": instance},
    )


class CosBucketDriver:
    """A driver. A bucket is ready at once and gone at once."""

    def __init__(self, client: IbmClient) -> None:
        self._buckets = Buckets(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        instance, region, name = request["instance"], request["region"], request["name"]
        await self._buckets.create(instance, region, name)
        return _to_observed(instance, region, name, request["instance_crn"])

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        inside = {
            instance: await self._buckets.list_buckets(instance) for instance in {split_id(r.id)[0] for r in refs}
        }
        found: dict[str, Observed] = {}
        for ref in refs:
            instance = split_id(ref.id)[0]
            for name, region in inside[instance].items():
                ident = join_id(instance, region, name)
                # An id from a mark is cut where the name is long, so it proves no absence.
                if ref.id in (ident, f"{instance}/{named_in_mark(KIND, ident)}"):
                    found[ref.id] = _to_observed(instance, region, name, ref.target)
        return found

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found: dict[NodeKey, Sequence[Observed]] = {}
        for want in wants:
            instance, name = want.request["instance"], want.name
            region = (await self._buckets.list_buckets(instance)).get(name)
            here = [] if region is None else [_to_observed(instance, region, name, want.request["instance_crn"])]
            found[want.key] = here
        return found

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Return what :meth:`find` finds: a bucket has its final name from the start, so no nonce is ever in it."""
        return [one for found in (await self.find(wants)).values() for one in found]

    def identify(self, target: str, carried: str = "") -> str:
        parsed = crn.parse(target)
        is_storage = parsed and parsed.service == "cloud-object-storage"
        return f"{parsed.instance}/{carried}" if parsed and is_storage and "." in carried else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        """Do nothing: a bucket is never changed in place."""

    async def delete(self, ref: Ref) -> None:
        _, region, name = split_id(ref.id)
        await self._buckets.delete(region, name)


def kind(client: IbmClient) -> Kind:
    return Kind(
        name=KIND,
        api="cos",
        tagging=Tagging.NEVER,
        dedupe=Dedupe.KEY,
        driver=CosBucketDriver(client),
        requires=("cos-instance",),
        carrier="cos-instance",
        settle=SETTLE,
        creation=CreateRules(usual_time=2.0),
        deletion=DeleteRules(usual_time=2.0),
    )
