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
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.kind_facts import KINDS
from freehold.providers.aws.tags.native_tags import (
    OF_IAM,
    Keeper,
    NativeTags,
    TagsByArn,
    chunks,
    group_by_keeper,
    summarize_arns,
    tag_map,
)
from freehold.providers.aws.tags.source import group_changes
from freehold.providers.aws.tags.tag_map import Tags

SERVICE = "resourcegroupstaggingapi"
PAGE = 100
ARNS_LISTED = 100
BATCH = 20
"""The most ARNs in one TagResources call."""


class TaggingApi:
    """An index that lags: what it shows has existed, what it does not show is only a hint (source.TagSource)."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._native = NativeTags(client)

    async def find_by_tag(
        self, key: str, values: Sequence[str] = (), without: frozenset[str] = frozenset()
    ) -> TagsByArn:
        filters = [{"Key": key, **({"Values": list(values)} if values else {})}]
        types = sorted({kind.indexed_as for kind in KINDS if kind.indexed_as and kind.name not in without})
        only = {"ResourceTypeFilters": types} if without else {}
        return await self._list_resources(f"tagged {key}", TagFilters=filters, ResourcesPerPage=PAGE, **only)

    async def find_by_any_tag(self, tags: Mapping[str, str]) -> TagsByArn:
        return {arn: has for key, value in tags.items() for arn, has in (await self.find_by_tag(key, [value])).items()}

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByArn:
        found = await self.find_by_tag(UUID, [uuid])
        left = set(also) - set(found)
        of_iam = _list_of_iam(left)
        for arns in chunks(sorted(left.difference(of_iam)), ARNS_LISTED):
            found |= await self._list_resources(", ".join(arns), ResourceARNList=arns)
        return found | (await self._native.tags_of(of_iam) if of_iam else {})

    async def find_by_arn(self, arns: Collection[str]) -> TagsByArn:
        """Return what the index shows of these resources; those that it omits are missing, or have no tags."""
        found: TagsByArn = {}
        for some in chunks(sorted(arns), ARNS_LISTED):
            found |= await self._list_resources(summarize_arns(some), ResourceARNList=some)
        return found

    async def attach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        """Add tags, on IAM's resources with IAM's own calls."""
        failed: dict[str, CloudError] = {}
        for tags, targets in group_changes(changes):
            of_iam = _list_of_iam(targets)
            if of_iam:
                failed |= await self._native.attach(of_iam, tags)
            for some in chunks([target for target in targets if target not in of_iam], BATCH):
                failed |= await self._send_to_each("tag_resources", "attach", some, Tags=dict(tags))
        return failed

    async def detach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        """Remove tags, on resources of EC2 and IAM with their own calls: EC2 keeps a tag whose value has changed."""
        failed: dict[str, CloudError] = {}
        for tags, targets in group_changes(changes):
            own = [*sorted(group_by_keeper(targets).get(Keeper.EC2, {})), *_list_of_iam(targets)]
            if own:
                failed |= await self._native.detach(own, tags)
            for some in chunks([target for target in targets if target not in own], BATCH):
                failed |= await self._send_to_each("untag_resources", "detach", some, TagKeys=sorted(tags))
        return failed

    async def tag(self, targets: Sequence[str], tags: Tags) -> dict[str, CloudError]:
        """Send one TagResources; return what failed, by ARN. Raises CloudError where the whole call did."""
        return await self._send("tag_resources", "attach", targets, summarize_arns(targets), Tags=dict(tags))

    async def untag(self, targets: Sequence[str], keys: Collection[str]) -> dict[str, CloudError]:
        """Send one UntagResources; return what failed, by ARN. Raises CloudError where the whole call did."""
        return await self._send("untag_resources", "detach", targets, summarize_arns(targets), TagKeys=sorted(keys))

    async def _list_resources(self, subject: str, **params: Any) -> TagsByArn:
        """Read all pages. A resource that once had tags is listed without any; it is left out."""
        try:
            rows = await self._client.read_list(SERVICE, "get_resources", "ResourceTagMappingList", subject, **params)
        except CloudError as error:
            raise _to_not_offered(error) from error
        return {row["ResourceARN"]: tag_map(row["Tags"]) for row in rows if row["Tags"]}

    async def _send_to_each(
        self, operation: str, verb: str, targets: Sequence[str], **what: Any
    ) -> dict[str, CloudError]:
        """Send one call; return what failed, by ARN. A success does not mean that it worked for every target."""
        try:
            return await self._send(operation, verb, targets, ", ".join(targets), **what)
        except CloudError as error:
            return dict.fromkeys(targets, error)

    async def _send(
        self, operation: str, verb: str, targets: Sequence[str], subject: str, **what: Any
    ) -> dict[str, CloudError]:
        try:
            body = await self._client.write(SERVICE, operation, subject, ResourceARNList=list(targets), **what)
        except CloudError as error:
            raise _to_not_offered(error) from error
        failures = body.get("FailedResourcesMap") or {}
        return {target: self._refusal(verb, target, failures[target]) for target in targets if target in failures}

    def _refusal(self, verb: str, target: str, said: dict[str, Any]) -> CloudError:
        """Return the error for one resource; its service's own code is often in the text only."""
        code, text = str(said.get("ErrorCode", "")), str(said.get("ErrorMessage", ""))
        if re.search(r"does not exist|not ?found|could not be found", text, re.IGNORECASE) and _names_target(
            target, text
        ):
            fact = f"AWS could not {verb} the tags of {target}: {text}"
            return NotFound(fact, advice="Check that it still exists", code=code)
        if re.search(r"too many tags|tag ?limit|more than \d+ tags", text, re.IGNORECASE):
            advice = "Take tags off it that nobody needs, or give fewer"
            return Quota(f"AWS could not {verb} the tags of {target}: {text}", advice=advice, code=code)
        arn = Arn.parse(target)
        failure = errors.AwsFailure(
            status=int(said.get("StatusCode") or 0),
            code=code,
            text=text,
            service=arn.service if arn else "",
            operation="CreateTags" if verb == "attach" else "DeleteTags",
        )
        session = self._client.session
        what = f"{verb} the tags of {target}"
        return errors.translate_failure(
            failure, effect=Effect.WRITE, what=what, origin=session.identity.origin, scrub=session.scrub
        )


def _list_of_iam(targets: Collection[str]) -> list[str]:
    by_keeper = group_by_keeper(targets)
    return sorted(target for keeper in OF_IAM for target in by_keeper.get(keeper, {}))


def _names_target(target: str, text: str) -> bool:
    """Return whether the text names the resource, not another: a role or an AWS service may be "not found" too."""
    arn = Arn.parse(target)
    said = [target, *({arn.id, arn.id.rpartition("/")[2]} if arn else ())]
    return any(re.search(rf"(?<![\w-]){re.escape(each)}(?![\w-])", text) for each in said if each)


def _to_not_offered(error: CloudError) -> CloudError:
    """Return NotOffered if no connection was made: this network (CAPA#3987) or partition has no endpoint."""
    if not errors.is_unreachable(error):
        return error
    return NotOffered(error.message, code=error.code, request_id=error.request_id)
