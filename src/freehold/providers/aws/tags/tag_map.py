"""Tags as AWS has them, a mapping of keys to values, and what the keys of our marks (keyed_codec) tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from shlex import quote

from freehold.engine.keyed_codec import UUID, WITHIN, KeyedCodec
from freehold.providers.aws.arn import Arn

Tags = Mapping[str, str]


class AwsCodec(KeyedCodec):
    """Marks as tags of AWS."""

    def detach_command(self, target: str, tags: Collection[str]) -> str:
        """https://docs.aws.amazon.com/cli/latest/reference/resourcegroupstaggingapi/untag-resources.html"""
        arn = Arn.parse(target)
        region = f" --region {quote(arn.region)}" if arn and arn.region else ""
        keys = " ".join(sorted(quote(self.key(tag)) for tag in tags))
        return (
            f"aws resourcegroupstaggingapi untag-resources{region} --resource-arn-list {quote(target)} "
            f"--tag-keys {keys}"
        )


def not_of(uuid: str, found: Mapping[str, Tags]) -> tuple[str, ...]:
    """Of resources with their tags, those that neither this owner nor one within it has, in order."""
    return tuple(sorted(arn for arn, tags in found.items() if uuid not in (tags.get(UUID), tags.get(WITHIN))))
