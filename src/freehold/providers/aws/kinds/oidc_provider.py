"""Kind ``oidc-provider``: an identity provider of IAM, by which pods of a cluster get roles. Its engine id is its ARN.

Request: ``url``, which is the cluster's issuer, and ``client_ids``, sorted. An account has one provider of a URL, so
what has it is what is wanted, whoever made it. IAM is global. IAM finds the thumbprints of the issuer's certificate
itself (https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateOpenIDConnectProvider.html).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.drivers import User
from freehold.engine.kinds import AttributeRules, DeleteRules, Kind, NameRules, ReadRules
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource, epoch
from freehold.providers.aws.iam import SERVICE, IamReader
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.policy_json import canonical_json
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import tag_map

_TYPE = "oidc-provider"
_SCHEME = "https://"


def decode(arn: str, body: Json) -> DecodedResource:
    """Decode what GetOpenIDConnectProvider shows, which has neither ARN nor scheme.

    A later one of its URL has the same ARN; the date tells them apart.
    """
    created = epoch(body.get("CreateDate"))
    return DecodedResource(
        id=arn,
        arn=arn,
        state=State.READY,
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "name": body["Url"],
            "url": f"{_SCHEME}{body['Url']}",
            "client_ids": sorted(body.get("ClientIDList", ())),
        },
        created_at=created,
        incarnation=f"{created:.3f}" if created else "",
    )


class OidcProviderDriver:
    """A driver. A create is refused if the URL has a provider, of anybody; the delete of a missing one succeeds."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._reader = IamReader(client, "get_open_id_connect_provider", "OpenIDConnectProviderArn", decode)

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. The reply has the ARN and the tags only."""
        body = await self._client.write(
            SERVICE,
            "create_open_id_connect_provider",
            str(request.get("name") or request["url"]),
            Url=request["url"],
            ClientIDList=list(request["client_ids"]),
            Tags=birth_tags.birth_tag_list(birth),
        )
        shown = {
            "Url": str(request["url"]).removeprefix(_SCHEME),
            "ClientIDList": request["client_ids"],
            "Tags": body.get("Tags", ()),
        }
        return decode(body["OpenIDConnectProviderArn"], shown).to_observed()

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        return await self._reader.read(ref.id for ref in refs)

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        """Find the provider of each URL, which its ARN has in it."""
        arns = {want.key: await self._arn_of(want.request["url"]) for want in wants}
        found = await self._reader.read(arns.values())
        return {key: [found[arn]] if arn in found else [] for key, arn in arns.items()}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search for birth marks. The list shows no tags, so each provider of an EKS cluster of the region is read."""
        named = [await self._arn_of(want.request["url"]) for want in wants if "url" in want.request]
        found = await self._reader.read(named)
        region = self._client.session.region
        issuers = f"/oidc.eks.{region}."
        rows = await self._client.read_list(
            SERVICE, "list_open_id_connect_providers", "OpenIDConnectProviderList", f"all of EKS in {region}"
        )
        others = {str(row["Arn"]) for row in rows if issuers in str(row["Arn"])} - found.keys()
        return [*found.values(), *(await self._reader.read_born(sorted(others), nonces)).values()]

    def identify(self, target: str, carried: str = "") -> str:
        arn = Arn.parse(target)
        return target if arn and (arn.service, arn.type) == (SERVICE, _TYPE) else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        """Do nothing: another URL is another provider."""

    async def delete(self, ref: Ref) -> None:
        await self._client.write(SERVICE, "delete_open_id_connect_provider", ref.id, OpenIDConnectProviderArn=ref.id)

    async def users(self, ref: Ref) -> Sequence[User]:
        """Return the roles that trust it, which IAM does not heed: pods of the cluster get no such role any more."""
        rows = await self._client.read_list(SERVICE, "list_roles", "Roles", "all that trust an issuer")
        trusting = (row for row in rows if ref.id in canonical_json(row.get("AssumeRolePolicyDocument", "")))
        return sorted(User(f"role {row['RoleName']} trusts it") for row in trusting)

    async def _arn_of(self, url: str) -> str:
        account = await self._client.account()
        path = url.removeprefix(_SCHEME)
        return str(Arn(self._client.session.partition, SERVICE, "", account, f"{_TYPE}/{path}"))


def kind(client: AwsClient) -> Kind:
    driver = OidcProviderDriver(client)
    return aws_kind(
        "oidc-provider",
        driver,
        naming=NameRules(name_attribute="url", id_returns=True),
        attributes=AttributeRules(changeable=frozenset({"client_ids"})),
        deletion=DeleteRules(usage=driver, after_collection=True, gone_at_once=True),
        reads=ReadRules(indexed=False),
    )
