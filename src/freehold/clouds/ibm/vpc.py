"""What all VPC kinds share: ids with their region, lists, reads that look twice (reference ibm-cloud.md §1.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from freehold.clouds.ibm import crn
from freehold.clouds.ibm.calls import PAGE, Caller, Json
from freehold.clouds.ibm.names import bears
from freehold.clouds.ibm.times import epoch
from freehold.lifecycle.kinds import NodeKey, Observed, Ref, State, Want

STATES = {
    "pending": State.PENDING,
    "create_pending": State.PENDING,
    "available": State.READY,
    "active": State.READY,
    "failed": State.FAILED,
    "deleting": State.DELETING,
    "delete_pending": State.DELETING,
    # A mutation is under way; what stands keeps working.
    "update_pending": State.READY,
    "maintenance_pending": State.READY,
    "migrate_pending": State.READY,
}


def join(region: str, ident: str) -> str:
    """The engine id: VPC ids mean nothing outside their region."""
    return f"{region}/{ident}"


def split(engine_id: str) -> tuple[str, str]:
    """Region and vendor id of an engine id."""
    region, _, ident = engine_id.partition("/")
    return region, ident


def identify(target: str, resource_type: str) -> str:
    """The engine id of a CRN of this type; empty for any other text."""
    parsed = crn.parse(target)
    if parsed is None or parsed.service != "is" or parsed.type != resource_type:
        return ""
    return join(parsed.region, parsed.id)


def observed(region: str, body: Json, word: str, attributes: Mapping[str, Any], births: Iterable[str] = ()) -> Observed:
    """``word`` is the resource's status; ``births`` are texts besides its name in which a nonce may stand."""
    return Observed(
        id=join(region, body["id"]),
        name=body["name"],
        state=STATES.get(word, State.PENDING),
        target=body["crn"],
        births=frozenset({body["name"], *births}),
        created_at=epoch(body.get("created_at")),
        word=word,
        attributes={"id": body["id"], "crn": body["crn"], "name": body["name"], **group_of(body), **attributes},
    )


def group_of(body: Json) -> dict[str, str]:
    """The attribute ``resource_group``, where the reply shows it."""
    group = body.get("resource_group")
    return {"resource_group": group["id"]} if group else {}


class Collection:
    """One kind of VPC resource: ``subnet`` and ``subnets`` as the SDK's methods spell it.

    Remembers which VPC a resource is in, so that several of one VPC are observed by one list.
    """

    def __init__(self, caller: Caller, one: str, many: str) -> None:
        self._caller = caller
        self._one = one
        self._many = many
        self._homes: dict[str, str] = {}
        self._listed: set[str] = set()

    async def get(self, region: str, ident: str) -> Json | None:
        body: Json | None = await self._caller.look(
            "vpc", f"get_{self._one}", lambda: self._sdk(region, f"get_{self._one}")(ident), self._says(ident)
        )
        if body is not None:
            self._remember(body)
        return body

    async def every(self, region: str, vpc: str = "") -> list[Json]:
        """All of a region, or of one VPC where the list can be narrowed to it."""
        narrow = {"vpc_id": vpc} if vpc else {}
        bodies = await self._caller.pages(
            "vpc",
            f"list_{self._many}",
            lambda start: self._sdk(region, f"list_{self._many}")(limit=PAGE, start=start, **narrow),
            self._many,
            f"in {vpc or region}",
        )
        for body in bodies:
            self._remember(body)
            self._listed.add(body["id"])
        return bodies

    async def present(self, refs: Sequence[Ref]) -> list[tuple[str, Json]]:
        """Those of ``refs`` that are there, with their region.

        One list a VPC where several are asked for; what no list has shown yet is asked for itself, because
        lists show new resources late.
        """
        found: dict[str, Json] = {}
        groups: dict[tuple[str, str], list[str]] = {}
        for ref in refs:
            region, ident = split(ref.id)
            groups.setdefault((region, self._homes.get(ident, "")), []).append(ident)
        missing: set[str] = set()
        for (region, vpc), idents in groups.items():
            if vpc and len(idents) > 1:
                found |= {body["id"]: body for body in await self.every(region, vpc)}
                missing |= self._listed.intersection(idents) - found.keys()
        answers: list[tuple[str, Json]] = []
        for ref in refs:
            region, ident = split(ref.id)
            body = found.get(ident)
            if body is None and ident not in missing:
                body = await self.get(region, ident)
            if body is not None:
                answers.append((region, body))
        return answers

    async def named(self, wants: Sequence[Want]) -> dict[NodeKey, list[tuple[str, Json]]]:
        """In the VPC of each want, what bears its name or one of our nonces, with the region; one list a VPC."""
        scopes = {(want.request["region"], want.request["vpc"]) for want in wants}
        bodies = {scope: await self.every(*scope) for scope in sorted(scopes)}
        found = {}
        for want in wants:
            region, home = want.request["region"], want.request["vpc"]
            here = bodies[region, home]
            found[want.key] = [(region, body) for body in here if bears(body["name"], want.name, want.nonces)]
        return found

    async def create(self, region: str, subject: str, send: Callable[[Any], Any], **detail: Any) -> Json:
        """``send`` takes the SDK's method and calls it."""
        operation = f"create_{self._one}"
        body: Json = await self._caller.write(
            "vpc", operation, lambda: send(self._sdk(region, operation)), self._says(subject), region=region, **detail
        )
        self._remember(body)
        return body

    async def rename(self, ref: Ref, name: str) -> None:
        region, ident = split(ref.id)
        operation = f"update_{self._one}"
        await self._caller.write(
            "vpc", operation, lambda: self._sdk(region, operation)(ident, {"name": name}), self._says(ident), name=name
        )

    async def delete(self, ref: Ref) -> None:
        region, ident = split(ref.id)
        operation = f"delete_{self._one}"
        await self._caller.write("vpc", operation, lambda: self._sdk(region, operation)(ident), self._says(ident))

    def _remember(self, body: Json) -> None:
        home = body.get("vpc")
        if home:
            self._homes[body["id"]] = home["id"]

    def _says(self, subject: str) -> str:
        return f"{self._one.replace('_', ' ')} {subject}"

    def _sdk(self, region: str, method: str) -> Any:
        return getattr(self._caller.session.vpc(region), method)
