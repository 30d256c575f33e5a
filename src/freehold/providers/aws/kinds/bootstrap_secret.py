"""Kind ``bootstrap-secret``: a secret of Secrets Manager with bootstrap data; its engine id is its ARN.

Request: ``name`` and ``value``, which is a piece of a Secret of Kubernetes. The machine that it is for deletes it. A
deleted secret may be shown for a while, with the date: its value can be read no more, so it counts as gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from freehold.engine.errors import CloudError, Invalid, NameTaken, NotFound, NotReady, TokenReused
from freehold.engine.keyed_codec import BIRTH
from freehold.engine.kinds import CreateRules, DeleteRules, Kind
from freehold.engine.port import run_together
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.engine.secret_values import SecretValue
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource, epoch
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import tag_map

SERVICE = FACTS["bootstrap-secret"].service
NAMES = "aws.cluster.x-k8s.io/"
"""The beginning of the names (docs/reference/aws.md#bootstrap-data)."""
_TYPE = "secret:"
_DELETED = "DeletedDate"


def decode(body: Json) -> DecodedResource | None:
    if body.get(_DELETED):
        return None
    return DecodedResource(
        id=body["ARN"],
        arn=body["ARN"],
        state=State.READY,
        tags=tag_map(body.get("Tags", ())),
        attributes={"name": body["Name"]},
        created_at=epoch(body.get("CreatedDate")),
    )


class BootstrapSecretDriver:
    """A driver. A secret is ready at once; the delete of a missing one succeeds."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. The same token with the same value returns the secret, with its own tags, while that exists.

        The reply shows no tags.
        """
        name, value = request["name"], request["value"]
        content = {"SecretBinary" if isinstance(value, SecretValue) else "SecretString": value}
        tags = birth_tags.birth_tag_list(birth)
        try:
            body = await self._client.write(
                SERVICE, "create_secret", name, Name=name, ClientRequestToken=birth.token, Tags=tags, **content
            )
        except (Invalid, NameTaken) as refused:
            raise await self._explain(refused, name, birth) from refused
        made = decode(body)
        assert made is not None
        return replace(made.to_observed(), tags=None)

    async def _explain(self, refused: CloudError, name: str, birth: Birth) -> CloudError:
        """Return what a refusal means by what has the name: AWS has one code for much."""
        there = await self._describe(name)
        code, request = refused.code, refused.request_id
        if there.get(_DELETED):
            return NotReady(
                f"an earlier secret {name} is still being deleted: AWS makes none of its name before",
                code=code,
                request_id=request,
            )
        if tag_map(there.get("Tags", ())).get(BIRTH) == birth.nonce:
            return TokenReused(
                f"the secret {name} was made by this create with another value", code=code, request_id=request
            )
        return refused

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        return await self._read_all([ref.id for ref in refs])

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found = await self._read_all([want.name for want in wants])
        by_name = {seen.name: seen for seen in found.values()}
        return {want.key: [by_name[want.name]] if want.name in by_name else [] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search for birth marks in the list of all secrets of machines, page by page."""
        named = [one for found in (await self.find(wants)).values() for one in found]
        filters = [{"Key": "name", "Values": [NAMES]}]
        rows = await self._client.read_list(
            SERVICE, "list_secrets", "SecretList", "all of machines", Filters=filters, MaxResults=100
        )
        seen = [each for row in rows if (each := decode(row)) and birth_tags.has_birth_nonce(each.tags, nonces)]
        return list({one.id: one for one in [*(each.to_observed() for each in seen), *named]}.values())

    def identify(self, target: str, carried: str = "") -> str:
        arn = Arn.parse(target)
        return target if arn and arn.service == SERVICE and arn.resource.startswith(_TYPE) else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        """Do nothing: other data are another secret."""

    async def delete(self, ref: Ref) -> None:
        """Delete it for good: within a recovery window the data would stay, and the name be taken."""
        await self._client.write(SERVICE, "delete_secret", ref.id, SecretId=ref.id, ForceDeleteWithoutRecovery=True)

    async def _read_all(self, idents: Sequence[str]) -> dict[str, Observed]:
        """Read each by its ARN or name: the list lags behind. Raises CloudError."""
        found: dict[str, Observed] = {}
        for seen in await run_together([self._read(ident) for ident in idents]):
            if isinstance(seen, Exception):
                raise seen
            if seen is not None:
                found[seen.id] = seen
        return found

    async def _read(self, ident: str) -> Observed | None:
        body = await self._describe(ident)
        seen = decode(body) if body else None
        return seen.to_observed() if seen else None

    async def _describe(self, ident: str) -> Json:
        """Return the description; empty where there is no such secret."""
        try:
            return await self._client.read(SERVICE, "describe_secret", ident, SecretId=ident)
        except NotFound:
            return {}


def kind(client: AwsClient) -> Kind:
    return aws_kind(
        "bootstrap-secret",
        BootstrapSecretDriver(client),
        creation=CreateRules(consumer="instance"),
        deletion=DeleteRules(prunable=True, gone_at_once=True),
    )
