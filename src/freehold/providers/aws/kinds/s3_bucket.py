"""Kind ``s3-bucket``: its engine id is its name, which all accounts of a partition share.

Request: ``name``. Parts: :func:`policy_part` and :func:`lifecycle_part`, each read by a call of its own, and the
objects. It is deleted once it contains no object except our own; S3 refuses the delete otherwise.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from freehold.engine.errors import CloudError, Denied, InUse, NameTaken, NotFound
from freehold.engine.keyed_codec import BIRTH
from freehold.engine.kinds import CreateRules, DeleteRules, Kind, NameRules, PartRules
from freehold.engine.resources import (
    Birth,
    NodeKey,
    NonceSet,
    Observed,
    ParentResource,
    Part,
    Ref,
    Request,
    State,
    Want,
)
from freehold.providers.aws import errors, policy_json
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.policy_json import canonical_json, short_digest
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import NativeTags

POLICY, LIFECYCLE, OBJECT = "bucket-policy", "bucket-lifecycle", "object"
ONE = "the only one"
UNNAMED_REGION = "us-east-1"
"""The region that a create must not name.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucketConfiguration.html
"""
_NAMED = 5


def policy_part(document: Any) -> Part:
    """Return the part of a bucket's policy, given as text or as a document."""
    return Part(
        POLICY,
        ONE,
        request={"Policy": canonical_json(document)},
        behavior=short_digest(policy_json.canonical_policy(document)),
    )


def lifecycle_part(rules: Sequence[Json]) -> Part:
    """Return the part of the rules by which S3 deletes objects."""
    wanted = [dict(rule) for rule in rules]
    return Part(LIFECYCLE, ONE, request={"Rules": wanted}, behavior=short_digest(wanted))


def _decode(client: AwsClient, name: str) -> DecodedResource:
    arn = str(Arn(client.session.partition, "s3", "", "", name))
    return DecodedResource(id=name, arn=arn, state=State.READY, tags={}, attributes={"name": name})


NO_BUCKET = "NoSuchBucket"


async def read_bucket(client: AwsClient, name: str) -> DecodedResource | None:
    """Return the bucket with its tags; None where there is none. Raises Denied for one of another account."""
    return await _fill_in_tags(client, _decode(client, name)) if await bucket_exists(client, name) else None


async def bucket_exists(client: AwsClient, name: str) -> bool:
    """Return whether the bucket exists, from a list of one object: HeadBucket's reply has no body, so no code of S3."""
    return await _read(client, "list_objects_v2", name, {NO_BUCKET}, MaxKeys=1) is not None


async def _fill_in_tags(client: AwsClient, seen: DecodedResource) -> DecodedResource:
    return replace(seen, tags=(await NativeTags(client).tags_of([seen.arn])).get(seen.arn, {}))


async def _read(client: AwsClient, operation: str, name: str, absent: Collection[str], **params: Any) -> Json | None:
    """Send a read; None if S3 answers with one of the ``absent`` codes. Raises NotFound where there is no bucket.

    A 404 without a code of S3 comes from something in between, and proves no absence.
    """
    try:
        return await client.read("s3", operation, name, Bucket=name, **params)
    except NotFound as missing:
        if missing.code in absent:
            return None
        if missing.code == NO_BUCKET:
            raise
        again = f"{missing.message}. It is asked again"
        raise errors.ListNotFound(again, code=missing.code, request_id=missing.request_id) from missing


async def iterate_keys(client: AwsClient, name: str) -> AsyncIterator[str]:
    """Yield the keys of all objects. An empty page of S3 has no list. Raises NotFound."""
    token: Json = {}
    while True:
        body = await _read(client, "list_objects_v2", name, (), **token) or {}
        for row in body.get("Contents", ()):
            yield row["Key"]
        if not body.get("IsTruncated"):
            return
        token = {"ContinuationToken": body["NextContinuationToken"]}


class S3BucketDriver:
    """A driver. A bucket is ready at once and gone at once."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. In us-east-1 AWS returns an existing bucket of this account: only its tags tell whose it is."""
        name, region = request["name"], self._client.session.region
        where = {} if region == UNNAMED_REGION else {"LocationConstraint": region}
        configuration = {**where, "Tags": birth_tags.birth_tag_list(birth)}
        await self._client.write("s3", "create_bucket", name, Bucket=name, CreateBucketConfiguration=configuration)
        seen = _decode(self._client, name)
        try:
            return self._to_observed(await _fill_in_tags(self._client, seen))
        except CloudError:
            return self._without_tags(seen)  # the reply counts as lost, and the engine searches for the bucket

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        there = [ref.id for ref in refs if await self._exists_here(ref.id)]
        return {name: self._without_tags(_decode(self._client, name)) for name in there}

    async def _exists_here(self, name: str) -> bool:
        """Return whether it exists in this account; in another account, which took the name, it is not ours."""
        try:
            return await bucket_exists(self._client, name)
        except Denied:
            own = await self._client.read_list("s3", "list_buckets", "Buckets", name)
            if name in {row["Name"] for row in own}:
                raise
            return False

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found: dict[NodeKey, Sequence[Observed]] = {}
        for want in wants:
            seen = await self._read_own(want.name)
            found[want.key] = [self._to_observed(seen)] if seen else []
        return found

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search for birth marks. S3 has no list with tags, so each bucket that may have one is read."""
        found: dict[str, Observed] = {}
        for want in wants:
            with suppress(NameTaken):  # another account's bucket is not ours
                found |= {one.id: one for one in (await self.find([want]))[want.key]}
        for name in await self._list_candidates():
            seen = await read_bucket(self._client, name) if name not in found else None
            if seen and birth_tags.has_birth_nonce(seen.tags, nonces):
                found[name] = self._to_observed(seen)
        return list(found.values())

    async def _list_candidates(self) -> list[str]:
        """List the buckets that the tag index names; all of this region where the index is denied or unreachable."""
        try:
            rows = await self._client.read_list(
                "resourcegroupstaggingapi",
                "get_resources",
                "ResourceTagMappingList",
                "all buckets with a birth mark",
                TagFilters=[{"Key": BIRTH}],
                ResourceTypeFilters=["s3:bucket"],
                ResourcesPerPage=100,
            )
            return [self.identify(row["ResourceARN"]) for row in rows]
        except CloudError as refused:
            if not (isinstance(refused, Denied) or errors.is_unreachable(refused)):
                raise
        region = self._client.session.region
        rows = await self._client.read_list("s3", "list_buckets", "Buckets", "all")
        return [str(row["Name"]) for row in rows if row.get("BucketRegion", region) == region]

    async def _read_own(self, name: str) -> DecodedResource | None:
        """Return the bucket. Raises NameTaken for another account's, which S3 hides like one that we may not read."""
        try:
            return await read_bucket(self._client, name)
        except Denied as denied:
            own = await self._client.read_list("s3", "list_buckets", "Buckets", name)
            if name in {row["Name"] for row in own}:
                raise
            raise NameTaken(
                f"the bucket {name} belongs to another account: names are shared by all of them. Choose another name",
                code=denied.code,
                request_id=denied.request_id,
            ) from denied

    def identify(self, target: str, carried: str = "") -> str:
        arn = Arn.parse(target)
        is_bucket = arn is not None and arn.service == "s3" and "/" not in arn.resource
        return arn.resource if arn and is_bucket else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        """Do nothing: only parts are changed in place."""

    async def delete(self, ref: Ref) -> None:
        try:
            await self._client.write("s3", "delete_bucket", ref.id, Bucket=ref.id)
        except InUse as refused:
            found = []
            async for key in iterate_keys(self._client, ref.id):
                found.append(key)
                if len(found) > _NAMED:
                    break
            named = ", ".join(found[:_NAMED]) + (" and more" if len(found) > _NAMED else "")
            raise refused.held_by(named or "versions of deleted objects") from refused

    # -- parts --------------------------------------------------------------------------------------------------

    async def parts(self, ref: Ref) -> frozenset[Part]:
        objects = [Part(OBJECT, key) async for key in iterate_keys(self._client, ref.id)]
        return frozenset([*await self._policy(ref), *await self._lifecycle(ref), *objects])

    async def _policy(self, ref: Ref) -> list[Part]:
        body = await _read(self._client, "get_bucket_policy", ref.id, {"NoSuchBucketPolicy"})
        return [policy_part(body["Policy"])] if body else []

    async def _lifecycle(self, ref: Ref) -> list[Part]:
        none = {"NoSuchLifecycleConfiguration"}
        body = await _read(self._client, "get_bucket_lifecycle_configuration", ref.id, none)
        return [lifecycle_part(body["Rules"])] if body else []

    async def add_part(self, ref: Ref, part: Part) -> None:
        if part.kind == POLICY:
            await self._write("put_bucket_policy", ref, Policy=part.request["Policy"])
        elif part.kind == LIFECYCLE:
            await self._write("put_bucket_lifecycle_configuration", ref, LifecycleConfiguration=dict(part.request))
        else:
            await self._write("put_object", ref, Key=part.natural_key, Body=part.request["Body"])

    async def remove_part(self, ref: Ref, part: Part) -> None:
        """Remove a part, which may be gone already."""
        if part.kind == POLICY:
            await self._write("delete_bucket_policy", ref)
        elif part.kind == LIFECYCLE:
            await self._write("delete_bucket_lifecycle", ref)
        else:
            await self._write("delete_object", ref, Key=part.natural_key)

    async def change_part(self, ref: Ref, part: Part) -> None:
        await self.add_part(ref, part)

    async def _write(self, operation: str, ref: Ref, **what: Any) -> None:
        await self._client.write("s3", operation, ref.id, Bucket=ref.id, **what)

    def _to_observed(self, seen: DecodedResource) -> Observed:
        return replace(seen.to_observed(), region=self._client.session.region, parts=None)

    def _without_tags(self, seen: DecodedResource) -> Observed:
        return replace(self._to_observed(seen), tags=None)


def kind(client: AwsClient) -> Kind:
    driver = S3BucketDriver(client)
    return aws_kind(
        "s3-bucket",
        driver,
        naming=NameRules(id_returns=True),
        creation=CreateRules(answers_existing=True),
        parts=PartRules(exclusive=frozenset({POLICY}), holding=frozenset({OBJECT}), driver=driver, changer=driver),
        deletion=DeleteRules(gone_at_once=True),
    )
