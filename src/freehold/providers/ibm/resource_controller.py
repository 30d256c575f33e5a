"""Resource Controller instances: what workspaces and object storage have in common.

Source: docs/reference/ibm-cloud.md#resource-controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from freehold.engine.resources import NonceSet, Observed, Ref, State, Want
from freehold.providers.ibm import crn
from freehold.providers.ibm.calls import PAGE, IbmClient, Json
from freehold.providers.ibm.names import INSTANCE, birth_name, has_nonce, matches
from freehold.providers.ibm.times import epoch

GONE = frozenset({"removed", "pending_reclamation"})
"""States that count as gone. A removed instance still answers 200; one in reclamation may be restored by a person."""

_LISTS = ("pre_provisioning", None, "failed", "inactive")
"""The states to list, one list each; None is the default, active and provisioning, and hides the others.

They are in the order in which an instance passes through them: one that moves on between two lists is in the second.
"""

STATES = {
    "pre_provisioning": State.PENDING,
    "provisioning": State.PENDING,
    "inactive": State.PENDING,
    "active": State.READY,
    "failed": State.FAILED,
    "pending_removal": State.DELETING,
}


@dataclass(frozen=True)
class Offering:
    """An entry of the catalog. ``label`` is what people call it."""

    label: str
    service: str
    resource_id: str
    plan: str


POWER = Offering(
    "workspace", "power-iaas", "abd259f0-9990-11e8-acc8-b9f54a8f1661", "f165dd34-3a40-423b-9d95-e90a23f724dd"
)
COS = Offering(
    "object storage instance",
    "cloud-object-storage",
    "dff97f5c-bc5e-4455-b470-411c3edbe49c",
    "1e4e33e4-cfa6-4f12-9016-be594a6d5f87",
)


def state_of(body: Json) -> State:
    """Return the state. A delete shows in the last operation before it shows in the state."""
    last = body.get("last_operation") or {}
    if last.get("type") == "delete" and last.get("state") == "in progress":
        return State.DELETING
    return STATES.get(str(body["state"]), State.PENDING)


def to_observed(body: Json) -> Observed:
    return Observed(
        id=body["guid"],
        name=body["name"],
        state=state_of(body),
        target=body["crn"],
        nonce_fields=frozenset({body["name"]}),
        created_at=epoch(body.get("created_at")),
        created_by=str(body.get("created_by") or ""),
        vendor_state=str(body["state"]),
        region=str(body.get("region_id") or ""),
        attributes={
            "id": body["guid"],
            "crn": body["crn"],
            "name": body["name"],
            "resource_group": body.get("resource_group_id"),
        },
    )


def _group(want: Want) -> str:
    return str(want.request.get("resource_group", ""))


def _matches_want(body: Json, want: Want) -> bool:
    """Return whether it has the wanted group, the wanted zone (a workspace's), and the wanted name or a nonce."""
    group, zone = _group(want), want.request.get("zone")
    if (group and body.get("resource_group_id") != group) or (zone and body.get("region_id") != zone):
        return False
    return matches(body["name"], want.name, want.nonces)


class Instances:
    """The instances of one offering."""

    def __init__(self, client: IbmClient, offering: Offering) -> None:
        self._client = client
        self._offering = offering

    async def create(self, name: str, nonce: str, target: str, group: str) -> Json:
        sdk, plan = self._client.session.resource_controller, self._offering.plan
        with_nonce = birth_name(name, nonce, INSTANCE)
        body: Json = await self._client.write(
            "rc",
            "create_resource_instance",
            lambda: sdk().create_resource_instance(with_nonce, target, group, plan),
            f"{self._offering.label} {name}",
            name=with_nonce,
            target=target,
        )
        return body

    async def get(self, guid: str) -> Json | None:
        """Return the instance in any state, None when it is gone."""
        sdk = self._client.session.resource_controller
        body: Json | None = await self._client.get_or_none(
            "rc",
            "get_resource_instance",
            lambda: sdk().get_resource_instance(guid),
            f"{self._offering.label} {guid}",
        )
        return None if body is None or body["state"] in GONE else body

    async def read_present(self, refs: Sequence[Ref]) -> list[Json]:
        """Return those of ``refs`` that exist, one read each: a list would hide some states."""
        found = [await self.get(ref.id) for ref in refs]
        return [body for body in found if body is not None]

    async def find_matching(self, want: Want) -> list[Json]:
        """Return every instance in the group that has the name or a nonce; names are not unique."""
        return [body for body in await self._list_all_states(_group(want)) if _matches_want(body, want)]

    async def find_by_nonce(self, wants: Sequence[Want], nonces: NonceSet) -> list[Json]:
        """Return the account's instances with one of ``nonces`` in their names, and what matches one of ``wants``."""
        return [
            body
            for body in await self._list_all_states("")
            if has_nonce(body["name"], nonces) or any(_matches_want(body, want) for want in wants)
        ]

    async def rename(self, guid: str, name: str) -> None:
        sdk = self._client.session.resource_controller
        await self._client.write(
            "rc",
            "update_resource_instance",
            lambda: sdk().update_resource_instance(guid, name=name),
            f"{self._offering.label} {name} ({guid})",
            name=name,
        )

    async def delete(self, guid: str, *, recursive: bool) -> None:
        """Delete it; ``recursive`` deletes the instance's keys too."""
        sdk = self._client.session.resource_controller
        await self._client.write(
            "rc",
            "delete_resource_instance",
            lambda: sdk().delete_resource_instance(guid, recursive=recursive),
            f"{self._offering.label} {guid}",
            recursive=recursive,
        )

    def guid_of(self, target: str) -> str:
        """Return the guid in the CRN of an instance of this offering; empty for any other text."""
        parsed = crn.parse(target)
        return parsed.instance if parsed and parsed.service == self._offering.service and not parsed.type else ""

    async def list_running(self) -> list[Json]:
        """Return what is active or being provisioned, of all groups: one list."""
        return await self._list("", None)

    async def _list_all_states(self, group: str) -> list[Json]:
        """Return the instances of every state, a list each; of all groups where ``group`` is empty."""
        listed = [body for state in _LISTS for body in await self._list(group, state)]
        return list({body["guid"]: body for body in listed}.values())

    async def _list(self, group: str, state: str | None) -> list[Json]:
        sdk, resource_id = self._client.session.resource_controller, self._offering.resource_id
        return await self._client.read_list(
            "rc",
            "list_resource_instances",
            lambda start: sdk().list_resource_instances(
                resource_id=resource_id, resource_group_id=group or None, state=state, limit=PAGE, start=start
            ),
            "resources",
            f"{self._offering.label}s in state {state or 'active or provisioning'}",
        )


def index_by_id(observations: Iterable[Observed]) -> dict[str, Observed]:
    """Return observations as ``Driver.observe`` does."""
    return {one.id: one for one in observations}
