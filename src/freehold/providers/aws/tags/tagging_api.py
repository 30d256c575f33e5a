"""The Resource Groups Tagging API: one index over the services of a region, and tags on up to 20 ARNs of any of them.

https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/overview.html, docs/reference/aws.md#tags
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from freehold.engine.errors import CloudError, NotFound, NotOffered, Quota
from freehold.engine.inventory import TagChange
from freehold.engine.keyed_codec import UUID
from freehold.engine.port import Effect
from freehold.providers.aws import errors
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import ApiClient
from freehold.providers.aws.kind_facts import KINDS
from freehold.providers.aws.tags.native_tags import Keeper, NativeTags, TagsByArn, by_keeper, chunks, several, tag_map
from freehold.providers.aws.tags.source import grouped
from freehold.providers.aws.tags.tag_map import Tags

SERVICE = "resourcegroupstaggingapi"
PAGE = 100
ARNS_LISTED = 100
BATCH = 20
"""ARNs in one TagResources call."""


class TaggingApi:
    """Shows changes late: what it shows was there, what it does not show is a hint (tag_source.TagSource)."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def with_tag(self, key: str, values: Sequence[str] = (), without: frozenset[str] = frozenset()) -> TagsByArn:
        filters = [{"Key": key, **({"Values": list(values)} if values else {})}]
        types = sorted({kind.indexed_as for kind in KINDS if kind.indexed_as and kind.name not in without})
        only = {"ResourceTypeFilters": types} if without else {}
        return await self._listed(f"tagged {key}", TagFilters=filters, ResourcesPerPage=PAGE, **only)

    async def with_one_of(self, tags: Mapping[str, str]) -> TagsByArn:
        return {arn: has for key, value in tags.items() for arn, has in (await self.with_tag(key, [value])).items()}

    async def marked(self, uuid: str, also: Collection[str] = ()) -> TagsByArn:
        found = await self.with_tag(UUID, [uuid])
        for arns in chunks(sorted(set(also) - set(found)), ARNS_LISTED):
            found |= await self._listed(", ".join(arns), ResourceARNList=arns)
        return found

    async def by_arn(self, arns: Collection[str]) -> TagsByArn:
        """What the index has of these resources; one that it does not show is missing, or has no tags."""
        found: TagsByArn = {}
        for some in chunks(sorted(arns), ARNS_LISTED):
            found |= await self._listed(several(some), ResourceARNList=some)
        return found

    async def attach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        failed: dict[str, CloudError] = {}
        for tags, targets in grouped(changes):
            for some in chunks(targets, BATCH):
                failed |= await self._sent("tag_resources", "attach", some, Tags=dict(tags))
        return failed

    async def detach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        """EC2's own call is used for what it keeps: that one leaves a tag whose value has changed meanwhile."""
        failed: dict[str, CloudError] = {}
        for tags, targets in grouped(changes):
            of_ec2 = sorted(by_keeper(targets).get(Keeper.EC2, {}))
            if of_ec2:
                failed |= await NativeTags(self._client).detach(of_ec2, tags)
            for some in chunks([target for target in targets if target not in of_ec2], BATCH):
                failed |= await self._sent("untag_resources", "detach", some, TagKeys=sorted(tags))
        return failed

    async def tag(self, targets: Sequence[str], tags: Tags) -> dict[str, CloudError]:
        """One TagResources; what failed, by ARN. Raises CloudError where the whole call did."""
        return await self._answered("tag_resources", "attach", targets, several(targets), Tags=dict(tags))

    async def untag(self, targets: Sequence[str], keys: Collection[str]) -> dict[str, CloudError]:
        """One UntagResources, likewise."""
        return await self._answered("untag_resources", "detach", targets, several(targets), TagKeys=sorted(keys))

    async def _listed(self, subject: str, **params: Any) -> TagsByArn:
        """All pages. What was tagged once comes without tags."""
        try:
            rows = await self._client.listed(SERVICE, "get_resources", "ResourceTagMappingList", subject, **params)
        except CloudError as error:
            raise _absent(error) from error
        return {row["ResourceARN"]: tag_map(row["Tags"]) for row in rows if row["Tags"]}

    async def _sent(self, operation: str, verb: str, targets: Sequence[str], **what: Any) -> dict[str, CloudError]:
        """One call; success does not mean that it worked for every target."""
        try:
            return await self._answered(operation, verb, targets, ", ".join(targets), **what)
        except CloudError as error:
            return dict.fromkeys(targets, error)

    async def _answered(
        self, operation: str, verb: str, targets: Sequence[str], subject: str, **what: Any
    ) -> dict[str, CloudError]:
        try:
            body = await self._client.write(SERVICE, operation, subject, ResourceARNList=list(targets), **what)
        except CloudError as error:
            raise _absent(error) from error
        failures = body.get("FailedResourcesMap") or {}
        return {target: self._refusal(verb, target, failures[target]) for target in targets if target in failures}

    def _refusal(self, verb: str, target: str, said: dict[str, Any]) -> CloudError:
        """What is said of one resource; its service's own code is often in the text only."""
        code, text = str(said.get("ErrorCode", "")), str(said.get("ErrorMessage", ""))
        if re.search(r"does not exist|not ?found|could not be found", text, re.IGNORECASE) and _names(target, text):
            fact = f"AWS could not {verb} the tags of {target}: {text}"
            return NotFound(fact, advice="Check that it still exists", code=code)
        if re.search(r"too many tags|tag ?limit|more than \d+ tags", text, re.IGNORECASE):
            advice = "Take tags off it that nobody needs, or give fewer"
            return Quota(f"AWS could not {verb} the tags of {target}: {text}", advice=advice, code=code)
        arn = Arn.parse(target)
        failure = errors.Failure(
            status=int(said.get("StatusCode") or 0),
            code=code,
            text=text,
            service=arn.service if arn else "",
            operation="CreateTags" if verb == "attach" else "DeleteTags",
        )
        session = self._client.session
        what = f"{verb} the tags of {target}"
        return errors.of_failure(
            failure, effect=Effect.WRITE, what=what, origin=session.identity.origin, scrub=session.scrub
        )


def _names(target: str, text: str) -> bool:
    """Whether it is the resource that is missing: a role or a service of AWS's own may be "not found" as well."""
    arn = Arn.parse(target)
    said = [target, *({arn.id, arn.id.rpartition("/")[2]} if arn else ())]
    return any(re.search(rf"(?<![\w-]){re.escape(each)}(?![\w-])", text) for each in said if each)


def _absent(error: CloudError) -> CloudError:
    """What cannot be connected to has no endpoint in this network (CAPA#3987) or partition: nothing was sent to it."""
    if not errors.is_unreachable(error):
        return error
    return NotOffered(error.message, code=error.code, request_id=error.request_id)
