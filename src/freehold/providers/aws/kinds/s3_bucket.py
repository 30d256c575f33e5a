"""Kind ``s3-bucket``: its engine id is its name, which all accounts of a partition share.

Request: ``name``. Parts: :func:`policy` and :func:`lifecycle`, read by a call each, and the objects in
it. It is deleted when nothing is in it but objects that we put there; S3 refuses it otherwise.
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
from freehold.providers.aws.calls import ApiClient, Json
from freehold.providers.aws.decoded import Seen
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.policy_json import canonical, digest
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import NativeTags

POLICY, LIFECYCLE, OBJECT = "bucket-policy", "bucket-lifecycle", "object"
ONE = "the only one"
HOME = "us-east-1"
"""The region that a create must not name.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucketConfiguration.html
"""
_NAMED = 5


def policy(document: Any) -> Part:
    """The bucket's policy, given as text or as what it says."""
    return Part(POLICY, ONE, request={"Policy": canonical(document)}, behavior=digest(policy_json.policy(document)))


def lifecycle(rules: Sequence[Json]) -> Part:
    """The rules by which S3 deletes objects."""
    wanted = [dict(rule) for rule in rules]
    return Part(LIFECYCLE, ONE, request={"Rules": wanted}, behavior=digest(wanted))


def _seen(client: ApiClient, name: str) -> Seen:
    arn = str(Arn(client.session.partition, "s3", "", "", name))
    return Seen(id=name, arn=arn, state=State.READY, tags={}, attributes={"name": name})


NO_BUCKET = "NoSuchBucket"


async def look(client: ApiClient, name: str) -> Seen | None:
    """The bucket with its tags; None where there is none. Raises Denied for one of another account."""
    return await _tagged(client, _seen(client, name)) if await is_there(client, name) else None


async def is_there(client: ApiClient, name: str) -> bool:
    """Asked by a list of one object: the answer to HeadBucket has no body, so none of S3's codes."""
    return await _read(client, "list_objects_v2", name, {NO_BUCKET}, MaxKeys=1) is not None


async def _tagged(client: ApiClient, seen: Seen) -> Seen:
    return replace(seen, tags=(await NativeTags(client).tags_of([seen.arn])).get(seen.arn, {}))


async def _read(client: ApiClient, operation: str, name: str, absent: Collection[str], **params: Any) -> Json | None:
    """None where S3 says by one of these codes that it is missing. Raises NotFound where there is no bucket.

    A 404 without a code of S3 comes from something in between, and shows no absence.
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


async def keys_of(client: ApiClient, name: str) -> AsyncIterator[str]:
    """The objects in it. A page of S3 has no list where it would be empty. Raises NotFound."""
    token: Json = {}
    while True:
        body = await _read(client, "list_objects_v2", name, (), **token) or {}
        for row in body.get("Contents", ()):
            yield row["Key"]
        if not body.get("IsTruncated"):
            return
        token = {"ContinuationToken": body["NextContinuationToken"]}


class S3BucketDriver:
    """It is there at once, and gone at once."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def create(self, request: Request, birth: Birth) -> Observed:
        """In us-east-1 a create answers with a bucket of this account that is there: only its tags tell whose it is."""
        name, region = request["name"], self._client.session.region
        where = {} if region == HOME else {"LocationConstraint": region}
        configuration = {**where, "Tags": birth_tags.as_list(birth)}
        await self._client.write("s3", "create_bucket", name, Bucket=name, CreateBucketConfiguration=configuration)
        seen = _seen(self._client, name)
        try:
            return self._shown(await _tagged(self._client, seen))
        except CloudError:
            return self._untagged(seen)  # the reply counts as lost, and the engine looks for it

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        there = [ref.id for ref in refs if await self._is_there(ref.id)]
        return {name: self._untagged(_seen(self._client, name)) for name in there}

    async def _is_there(self, name: str) -> bool:
        """One of another account, which has got the name, is none of ours."""
        try:
            return await is_there(self._client, name)
        except Denied:
            own = await self._client.listed("s3", "list_buckets", "Buckets", name)
            if name in {row["Name"] for row in own}:
                raise
            return False

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found: dict[NodeKey, Sequence[Observed]] = {}
        for want in wants:
            seen = await self._of_this_account(want.name)
            found[want.key] = [self._shown(seen)] if seen else []
        return found

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """S3 has no list that shows tags: each bucket that may have a birth mark is asked for its own."""
        found: dict[str, Observed] = {}
        for want in wants:
            with suppress(NameTaken):  # of another account, so not ours
                found |= {one.id: one for one in (await self.find([want]))[want.key]}
        for name in await self._with_birth_mark():
            seen = await look(self._client, name) if name not in found else None
            if seen and birth_tags.is_born(seen.tags, nonces):
                found[name] = self._shown(seen)
        return list(found.values())

    async def _with_birth_mark(self) -> list[str]:
        """The buckets that the tag index names; all of this region where that is denied or cannot be reached."""
        try:
            rows = await self._client.listed(
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
        rows = await self._client.listed("s3", "list_buckets", "Buckets", "all")
        return [str(row["Name"]) for row in rows if row.get("BucketRegion", region) == region]

    async def _of_this_account(self, name: str) -> Seen | None:
        """Raises NameTaken for one of another account, which S3 shows no more than one that we may not read."""
        try:
            return await look(self._client, name)
        except Denied as denied:
            own = await self._client.listed("s3", "list_buckets", "Buckets", name)
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
        """Nothing but its parts is changed in place."""

    async def delete(self, ref: Ref) -> None:
        try:
            await self._client.write("s3", "delete_bucket", ref.id, Bucket=ref.id)
        except InUse as refused:
            found = []
            async for key in keys_of(self._client, ref.id):
                found.append(key)
                if len(found) > _NAMED:
                    break
            named = ", ".join(found[:_NAMED]) + (" and more" if len(found) > _NAMED else "")
            raise refused.held_by(named or "versions of deleted objects") from refused

    # -- parts --------------------------------------------------------------------------------------------------

    async def parts(self, ref: Ref) -> frozenset[Part]:
        objects = [Part(OBJECT, key) async for key in keys_of(self._client, ref.id)]
        return frozenset([*await self._policy(ref), *await self._lifecycle(ref), *objects])

    async def _policy(self, ref: Ref) -> list[Part]:
        body = await _read(self._client, "get_bucket_policy", ref.id, {"NoSuchBucketPolicy"})
        return [policy(body["Policy"])] if body else []

    async def _lifecycle(self, ref: Ref) -> list[Part]:
        none = {"NoSuchLifecycleConfiguration"}
        body = await _read(self._client, "get_bucket_lifecycle_configuration", ref.id, none)
        return [lifecycle(body["Rules"])] if body else []

    async def add_part(self, ref: Ref, part: Part) -> None:
        if part.kind == POLICY:
            await self._write("put_bucket_policy", ref, Policy=part.request["Policy"])
        elif part.kind == LIFECYCLE:
            await self._write("put_bucket_lifecycle_configuration", ref, LifecycleConfiguration=dict(part.request))
        else:
            await self._write("put_object", ref, Key=part.natural_key, Body=part.request["Body"])

    async def remove_part(self, ref: Ref, part: Part) -> None:
        """Each of them may be gone already."""
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

    def _shown(self, seen: Seen) -> Observed:
        return replace(seen.observed(), region=self._client.session.region, parts=None)

    def _untagged(self, seen: Seen) -> Observed:
        return replace(self._shown(seen), tags=None)


def kind(client: ApiClient) -> Kind:
    driver = S3BucketDriver(client)
    return aws_kind(
        "s3-bucket",
        driver,
        naming=NameRules(id_returns=True),
        creation=CreateRules(answers_existing=True),
        parts=PartRules(exclusive=frozenset({POLICY}), holding=frozenset({OBJECT}), driver=driver, changer=driver),
        deletion=DeleteRules(gone_at_once=True),
    )
