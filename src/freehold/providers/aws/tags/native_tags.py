"""Tags from each service itself: read consistently for a proof, and written where the tagging API is denied.

Batches and their limits: docs/reference/aws.md#tags.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from freehold.engine.errors import CloudError, Denied, Invalid, NotFound, Quota
from freehold.engine.keyed_codec import CARRIED
from freehold.engine.port import run_together
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.tags.tag_map import Tags

TagsByArn = dict[str, dict[str, str]]

FILTER_VALUES = 200
EC2_WRITES = 1000
BALANCERS = 20
OTHER_REGION = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "301"})
"""S3's codes for a bucket of another region, which is none of this one's resources."""


T = TypeVar("T")


class Keeper(StrEnum):
    """The service that keeps the tags of an ARN; IAM has calls of its own for each type."""

    EC2 = "ec2"
    CLASSIC = "elb"
    BALANCING = "elbv2"
    BUCKET = "s3"
    ROLE = "iam"
    OIDC = "iam oidc-provider"
    SECRET = "secretsmanager"  # noqa: S105 - the name of a service
    CLUSTER = "eks"


class ReadMode(StrEnum):
    """The cost of reading a resource's tags from its own service."""

    TOGETHER = "many resources in a call"
    ALONE = "a call for each"
    NEVER = "its service is not known here"


_READS: Mapping[Keeper, int] = {
    Keeper.EC2: FILTER_VALUES,
    Keeper.CLASSIC: BALANCERS,
    Keeper.BALANCING: BALANCERS,
    Keeper.BUCKET: 1,
    Keeper.ROLE: 1,
    Keeper.OIDC: 1,
    Keeper.SECRET: 1,
    Keeper.CLUSTER: 1,
}
"""The most resources in one read of tags."""


OF_IAM = frozenset({Keeper.ROLE, Keeper.OIDC})
"""Keepers of tags that the tagging API does not change, or in one region only (docs/reference/aws.md#tags)."""

READS_AT_ONCE = 8
"""The most reads at once, where each resource needs its own. Most threads (providers.access.ports) stay free."""

NO_ANSWER = "ResponseParserError"
"""The code of an unreadable reply. A tag with a control character would cause one: XML has no such character, and S3
for one sends it all the same (botocore#3496). No source says whether EC2 takes such tags."""
MOST_UNREAD = 12
"""The most unreadable replies of a batch: as many as halving needs to find one resource of 200, and a few more."""


def keeper_of(arn: Arn) -> Keeper | None:
    match arn.service:
        case "ec2":
            return Keeper.EC2
        case "elasticloadbalancing":
            return Keeper.CLASSIC if arn.type == "loadbalancer" and "/" not in arn.id else Keeper.BALANCING
        case "s3" if not arn.type:
            return Keeper.BUCKET
        case "iam" if arn.type == "role":
            return Keeper.ROLE
        case "iam" if arn.type == "oidc-provider":
            return Keeper.OIDC
        case "secretsmanager":
            return Keeper.SECRET
        case "eks":
            return Keeper.CLUSTER
    return None


def read_mode(text: str) -> ReadMode:
    arn = Arn.parse(text)
    keeper = keeper_of(arn) if arn else None
    if keeper is None:
        return ReadMode.NEVER
    return ReadMode.TOGETHER if _READS[keeper] > 1 else ReadMode.ALONE


def chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    return (list(items[at : at + size]) for at in range(0, len(items), size))


def summarize_arns(arns: Sequence[str]) -> str:
    """Return the resources of one call, short enough for a message."""
    return arns[0] if len(arns) == 1 else f"{arns[0]} and {len(arns) - 1} more"


def tag_map(rows: Iterable[Json]) -> dict[str, str]:
    return {row["Key"]: row.get("Value", "") for row in rows}


def tag_list(tags: Tags) -> list[Json]:
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def group_by_keeper(arns: Collection[str]) -> dict[Keeper, dict[str, Arn]]:
    """Group ARNs by the keeper of their tags, without those that are no ARN or of an unknown service."""
    found: dict[Keeper, dict[str, Arn]] = {}
    for text in sorted(set(arns)):
        arn = Arn.parse(text)
        keeper = keeper_of(arn) if arn else None
        if arn and keeper:
            found.setdefault(keeper, {})[text] = arn
    return found


class NativeTags:
    """Reads and writes of tags through each service's own calls."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    # -- reading ------------------------------------------------------------------------------------------------

    async def tags_of_each(self, arns: Collection[str]) -> dict[str, dict[str, str] | CloudError]:
        """Ask the resources themselves, in few calls. Return their tags (none for a missing one), or the error."""
        found: dict[str, dict[str, str] | CloudError] = {arn: {} for arn in arns}
        for keeper, group in group_by_keeper(arns).items():
            for several_reads in chunks(list(chunks(list(group), _READS[keeper])), READS_AT_ONCE):
                work = [self._read_or_error(keeper, {text: group[text] for text in some}) for some in several_reads]
                for each in await run_together(work):
                    if isinstance(each, Exception):
                        raise each
                    found |= each
        return found

    async def _read_or_error(
        self, keeper: Keeper, group: Mapping[str, Arn]
    ) -> Mapping[str, dict[str, str] | CloudError]:
        """Read tags. An unreadable batch is halved until the resource is found, so that it does not hide the others."""
        found: dict[str, dict[str, str] | CloudError] = {}
        waiting, unread = [list(group)], 0
        while waiting:
            some = waiting.pop()
            try:
                found |= await self._read(keeper, {text: group[text] for text in some})
            except CloudError as error:
                unread += error.code == NO_ANSWER
                if error.code == NO_ANSWER and len(some) > 1 and unread < MOST_UNREAD:
                    waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
                    continue
                alone = error.code == NO_ANSWER and len(some) == 1
                found |= dict.fromkeys(some, _suspect_control_character(error) if alone else error)
        return found

    async def tags_of(self, arns: Collection[str]) -> TagsByArn:
        """Return the tags of those that have some. Raises CloudError where one of them could not be read."""
        found: TagsByArn = {}
        for arn, tags in (await self.tags_of_each(arns)).items():
            if isinstance(tags, CloudError):
                raise tags
            if tags:
                found[arn] = tags
        return found

    async def find_carriers(self, uuid: str = "") -> TagsByArn:
        """Return the EC2 resources that carry marks of this owner's (or any owner's) resources.

        The tagging API has no wildcards; EC2's own list has them, and all carriers are of EC2.
        """
        filters = [{"Name": "key", "Values": [f"{CARRIED}*"]}]
        if uuid:
            filters.append({"Name": "value", "Values": [f"{uuid}*"]})
        return await self.find_in_ec2(f"carrying for {uuid or 'anybody'}", filters)

    async def find_in_ec2(self, subject: str, filters: list[Json]) -> TagsByArn:
        """Return the EC2 resources that these filters of DescribeTags select, with all their tags."""
        rows = await self._client.read_list("ec2", "describe_tags", "Tags", subject, Filters=filters, MaxResults=1000)
        if not rows:
            return {}
        session, account = self._client.session, await self._client.account()
        arns = {
            Arn(session.partition, "ec2", session.region, account, f"{row['ResourceType']}/{row['ResourceId']}")
            for row in rows
        }
        return await self._read_ec2({str(arn): arn for arn in arns})

    async def _read(self, keeper: Keeper, group: Mapping[str, Arn]) -> TagsByArn:
        match keeper:
            case Keeper.EC2:
                return await self._read_ec2(group)
            case Keeper.CLASSIC:
                return await self._read_classic(group)
            case Keeper.BALANCING:
                return await self._read_balancing(group)
            case Keeper.BUCKET:
                return {text: await self._read_bucket(arn) for text, arn in group.items()}
            case Keeper.ROLE:
                return {text: await self._read_role(arn) for text, arn in group.items()}
            case Keeper.OIDC:
                return {text: await self._read_oidc(text) for text in group}
            case Keeper.SECRET:
                return {text: await self._read_secret(text) for text in group}
            case Keeper.CLUSTER:
                return {text: await self._read_cluster(text) for text in group}

    async def _read_ec2(self, group: Mapping[str, Arn]) -> TagsByArn:
        by_id = {arn.id: text for text, arn in group.items()}
        found: TagsByArn = {}
        for idents in chunks(sorted(by_id), FILTER_VALUES):
            filters = [{"Name": "resource-id", "Values": idents}]
            rows = await self._client.read_list(
                "ec2", "describe_tags", "Tags", summarize_arns(idents), Filters=filters, MaxResults=1000
            )
            for row in rows:
                found.setdefault(by_id[row["ResourceId"]], {})[row["Key"]] = row.get("Value", "")
        return found

    async def _read_classic(self, group: Mapping[str, Arn]) -> TagsByArn:
        by_name = {arn.id: text for text, arn in group.items()}
        rows = await self._describe_tags("elb", "LoadBalancerNames", sorted(by_name))
        return {by_name[row["LoadBalancerName"]]: tag_map(row["Tags"]) for row in rows}

    async def _read_balancing(self, group: Mapping[str, Arn]) -> TagsByArn:
        rows = await self._describe_tags("elbv2", "ResourceArns", sorted(group))
        return {row["ResourceArn"]: tag_map(row["Tags"]) for row in rows}

    async def _describe_tags(self, service: str, parameter: str, names: Sequence[str]) -> list[Json]:
        """Return rows of DescribeTags, 20 a call. A missing resource fails its call; then each gets its own call."""
        found: list[Json] = []
        for some in chunks(names, BALANCERS):
            try:
                body = await self._client.read(service, "describe_tags", summarize_arns(some), **{parameter: some})
                found += body["TagDescriptions"]
            except NotFound:
                if len(some) > 1:
                    for one in some:
                        found += await self._describe_tags(service, parameter, [one])
        return found

    async def _read_bucket(self, arn: Arn) -> dict[str, str]:
        try:
            body = await self._client.read("s3", "get_bucket_tagging", arn.id, Bucket=arn.id)
        except NotFound:  # no bucket, or no tags
            return {}
        except Invalid as error:
            if error.code in OTHER_REGION:
                return {}
            raise
        return tag_map(body["TagSet"])

    async def _read_role(self, arn: Arn) -> dict[str, str]:
        name = arn.id.rpartition("/")[2]
        return await self._read_iam("list_role_tags", name, RoleName=name)

    async def _read_oidc(self, arn: str) -> dict[str, str]:
        return await self._read_iam("list_open_id_connect_provider_tags", arn, OpenIDConnectProviderArn=arn)

    async def _read_iam(self, operation: str, subject: str, **named: str) -> dict[str, str]:
        try:
            return tag_map(await self._client.read_list("iam", operation, "Tags", subject, **named))
        except CloudError as error:
            if error.code == "NoSuchEntity":
                return {}
            raise

    async def _read_secret(self, arn: str) -> dict[str, str]:
        try:
            body = await self._client.read("secretsmanager", "describe_secret", arn, SecretId=arn)
        except NotFound:
            return {}
        return tag_map(body.get("Tags", []))

    async def _read_cluster(self, arn: str) -> dict[str, str]:
        try:
            body = await self._client.read("eks", "list_tags_for_resource", arn, resourceArn=arn)
        except NotFound:
            return {}
        return dict(body.get("tags", {}))

    # -- writing ------------------------------------------------------------------------------------------------

    async def attach(self, arns: Collection[str], tags: Tags) -> dict[str, CloudError]:
        """Add the same tags to each; return what failed. A bucket is refused: S3 only replaces all of its tags."""
        return await self._change("attach", arns, tags)

    async def detach(self, arns: Collection[str], tags: Tags) -> dict[str, CloudError]:
        """Remove these tags from each; return what failed. EC2 keeps a tag that has another value meanwhile."""
        return await self._change("detach", arns, tags)

    async def _change(self, verb: str, arns: Collection[str], tags: Tags) -> dict[str, CloudError]:
        failed = {arn: unknown_service_error(verb, arn) for arn in arns}
        for keeper, group in group_by_keeper(arns).items():
            size = EC2_WRITES if keeper is Keeper.EC2 else BALANCERS if keeper is Keeper.BALANCING else 1
            for some in chunks(sorted(group), size):
                outcome = await self._send(keeper, verb, {text: group[text] for text in some}, tags)
                failed = {arn: error for arn, error in failed.items() if arn not in some} | outcome
        return failed

    async def _send(self, keeper: Keeper, verb: str, group: Mapping[str, Arn], tags: Tags) -> dict[str, CloudError]:
        """Send one call, which does all or nothing. Where one of several is refused, each gets a call of its own."""
        if keeper is Keeper.BUCKET:
            return {text: _bucket_error(verb, arn) for text, arn in group.items()}
        service, operation, params = _request(keeper, verb, group, tags)
        try:
            await self._client.write(service, operation, ", ".join(group), **params)
        except (NotFound, Invalid, Quota) as error:
            if len(group) == 1:
                return dict.fromkeys(group, error)
            failed: dict[str, CloudError] = {}
            for text, arn in group.items():
                failed |= await self._send(keeper, verb, {text: arn}, tags)
            return failed
        except CloudError as error:
            return dict.fromkeys(group, error)
        return {}


def ec2_request(verb: str, arns: Sequence[str], tags: Tags) -> tuple[str, str, dict[str, Any]]:
    """Return service, operation and parameters of one CreateTags or DeleteTags: for all, or for none."""
    return _request(Keeper.EC2, verb, group_by_keeper(arns)[Keeper.EC2], tags)


def _request(keeper: Keeper, verb: str, group: Mapping[str, Arn], tags: Tags) -> tuple[str, str, dict[str, Any]]:
    attach = verb == "attach"
    arns = list(group.values())
    keys = sorted(tags)
    match keeper:
        case Keeper.EC2:
            params = {"Resources": [arn.id for arn in arns], "Tags": tag_list(tags)}
            return "ec2", "create_tags" if attach else "delete_tags", params
        case Keeper.CLASSIC:
            named = {"LoadBalancerNames": [arn.id for arn in arns]}
            if attach:
                return "elb", "add_tags", {**named, "Tags": tag_list(tags)}
            return "elb", "remove_tags", {**named, "Tags": [{"Key": key} for key in keys]}
        case Keeper.BALANCING:
            listed = {"ResourceArns": list(group)}
            if attach:
                return "elbv2", "add_tags", {**listed, "Tags": tag_list(tags)}
            return "elbv2", "remove_tags", {**listed, "TagKeys": keys}
        case Keeper.SECRET:
            secret = {"SecretId": str(arns[0])}
            if attach:
                return "secretsmanager", "tag_resource", {**secret, "Tags": tag_list(tags)}
            return "secretsmanager", "untag_resource", {**secret, "TagKeys": keys}
        case Keeper.CLUSTER:
            cluster = {"resourceArn": str(arns[0])}
            if attach:
                return "eks", "tag_resource", {**cluster, "tags": dict(tags)}
            return "eks", "untag_resource", {**cluster, "tagKeys": keys}
        case Keeper.OIDC:
            provider = {"OpenIDConnectProviderArn": str(arns[0])}
            if attach:
                return "iam", "tag_open_id_connect_provider", {**provider, "Tags": tag_list(tags)}
            return "iam", "untag_open_id_connect_provider", {**provider, "TagKeys": keys}
    name = {"RoleName": arns[0].id.rpartition("/")[2]}
    if attach:
        return "iam", "tag_role", {**name, "Tags": tag_list(tags)}
    return "iam", "untag_role", {**name, "TagKeys": keys}


def _suspect_control_character(error: CloudError) -> CloudError:
    message = (
        f"{error.message}. If this repeats for this resource alone, one of its tags has a control character, which "
        "cannot be read: remove that tag"
    )
    return type(error)(message, code=error.code, request_id=error.request_id)


def unknown_service_error(verb: str, arn: str) -> CloudError:
    return Invalid(
        f"cannot {verb} tags of {arn}: it is no ARN of a resource whose tags are known. Correct the manifest"
    )


def _bucket_error(verb: str, arn: Arn) -> CloudError:
    return Denied(
        f"cannot {verb} tags of the bucket {arn.id} without the tagging API: S3 would replace all of its tags. "
        "Grant tag:TagResources and tag:UntagResources"
    )
