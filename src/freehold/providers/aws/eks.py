"""What the kinds of EKS share: ARNs, single reads, a driver of what is in a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from secrets import token_hex
from typing import Any, NamedTuple

from freehold.engine.errors import NotFound, NotReady
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey, NonceSet, Observed, ParentResource, Ref, Request, Want
from freehold.providers.aws import errors
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import READS_AT_ONCE, chunks

SERVICE = "eks"
CLUSTER_KIND = "eks-cluster"
FIRST_LOOK = 15.0
"""Seconds until the first look at an update that was sent."""
BUSY_SECONDS = 60.0
"""Seconds until a refusal for the state of a cluster is worth another try: an update takes minutes."""


def cluster_name(ident: str) -> str:
    """Return the name of a cluster, by its ARN."""
    arn = Arn.parse(ident)
    return arn.id if arn else ""


class InnerName(NamedTuple):
    """What the ARN of something in a cluster tells: ``addon/<cluster>/<name>/<uuid>``."""

    type: str
    cluster: str
    rest: str

    @classmethod
    def parse(cls, target: str) -> InnerName | None:
        arn = Arn.parse(target)
        if arn is None or arn.service != SERVICE or arn.resource.count("/") < 3:
            return None
        type_, cluster, rest = arn.resource.split("/", 2)
        return cls(type_, cluster, rest.rpartition("/")[0])


def identify(target: str, resource_type: str) -> str:
    """Return ``target``, whose ARN is the engine's id, if it is of this type: ``cluster``, ``addon``."""
    arn = Arn.parse(target)
    return target if arn and arn.service == SERVICE and arn.type == resource_type else ""


async def describe(client: AwsClient, operation: str, subject: str, member: str, **params: str) -> Json:
    """Return one resource; empty where EKS does not know it, or the cluster that it would be in."""
    try:
        body = await client.read(SERVICE, operation, subject, **params)
    except NotFound:
        return {}
    return dict(body[member])


async def describe_cluster(client: AwsClient, name: str) -> Json:
    return await describe(client, "describe_cluster", name, "cluster", name=name)


def health_of(body: Json) -> str:
    """Return what EKS says is wrong with a cluster or an addon; empty where nothing is."""
    issues = (body.get("health") or {}).get("issues") or ()
    return "; ".join(f"{each.get('code', '')}: {each.get('message', '')}" for each in issues)


async def list_names(client: AwsClient, operation: str, items: str, cluster: str) -> list[str]:
    """List what is in a cluster. Raises NotFound where there is no such cluster: that is no empty one."""
    try:
        rows: list[str] = await client.read_list(SERVICE, operation, items, cluster, clusterName=cluster)  # type: ignore[assignment]  # EKS lists names
    except errors.ListNotFound as missing:
        raise NotFound(
            f"EKS does not show the cluster {cluster}", advice="Check that it still exists",
            code=missing.code, request_id=missing.request_id,
        ) from missing  # fmt: skip
    return rows


def one_time_token() -> str:
    """Return a client token for an update, which is sent once: after a crash the resource itself shows it."""
    return token_hex(16)


def is_being_updated(what: str) -> NotReady:
    """Return what a change that EKS took means: what is read shows the state before, until EKS is done."""
    return NotReady(f"EKS is updating {what}", after=FIRST_LOOK)


def more_slowly(refused: NotReady, after: float = BUSY_SECONDS) -> NotReady:
    """Return the same refusal for the state of a cluster, to be tried again when that may be over."""
    return NotReady(refused.fact, advice=refused.advice, code=refused.code, request_id=refused.request_id, after=after)


async def read_all(reads: Sequence[Coroutine[Any, Any, DecodedResource | None]]) -> list[DecodedResource | None]:
    """Read several at once. Raises CloudError."""
    found: list[DecodedResource | None] = []
    for seen in await run_together(reads):
        if isinstance(seen, Exception):
            raise seen
        found.append(seen)
    return found


class InnerDriver(ABC):
    """The reads of a kind of things in a cluster. Each is asked for by its name there: no list shows more.

    A kind says how it reads and lists them, and adds its writes.
    """

    def __init__(self, client: AwsClient, resource_type: str) -> None:
        self._client = client
        self._type = resource_type

    @abstractmethod
    async def _read_named(self, cluster: str, name: str) -> DecodedResource | None:
        """Read what has this name in a cluster; None where there is none."""

    @abstractmethod
    async def _list_names(self, cluster: str) -> list[str]:
        """List the names in a cluster. Raises NotFound where there is no such cluster."""

    @abstractmethod
    async def _read_by_id(self, ident: str) -> DecodedResource | None:
        """Read what has this ARN; a later one of its name has another."""

    @abstractmethod
    def _name_of(self, request: Request) -> str:
        """Return the name in its cluster, by a request."""

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found = await read_all([self._read_by_id(ref.id) for ref in refs])
        return {seen.id: seen.to_observed() for seen in found if seen}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found = await read_all([self._read_named(*self._place_of(want.request)) for want in wants])
        return {want.key: [seen.to_observed()] if seen else [] for want, seen in zip(wants, found, strict=True)}

    def _place_of(self, request: Request) -> tuple[str, str]:
        return str(request["cluster"]), self._name_of(request)

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search each cluster. Raises NotFound for one that is not shown: it may not be an empty one."""
        named = {self._place_of(want.request) for want in wants}
        clusters = {cluster_name(place.ref.id) for place in places if place.kind == CLUSTER_KIND}
        clusters |= {cluster for cluster, _ in named}
        pairs = [(cluster, name) for cluster in sorted(clusters) for name in await self._list_names(cluster)]
        found: list[Observed] = []
        for some in chunks(pairs, READS_AT_ONCE):
            seen = await read_all([self._read_named(*pair) for pair in some])
            found += [
                one.to_observed()
                for pair, one in zip(some, seen, strict=True)
                if one and (pair in named or birth_tags.has_birth_nonce(one.tags, nonces))
            ]
        return found

    def identify(self, target: str, carried: str = "") -> str:
        return identify(target, self._type)

    async def _write(self, operation: str, subject: str, **params: Any) -> Json:
        """Send a write. A refusal for the state of the cluster is tried again when that may be over."""
        try:
            return await self._client.write(SERVICE, operation, subject, **params)
        except NotReady as refused:
            raise more_slowly(refused) from refused
