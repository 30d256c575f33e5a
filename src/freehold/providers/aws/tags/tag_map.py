"""Tags in AWS's form, a mapping of keys to values, and the spelling of our marks' keys (keyed_codec)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from shlex import quote

from freehold.engine.keyed_codec import UUID, WITHIN, KeyedCodec
from freehold.providers.aws.arn import Arn

Tags = Mapping[str, str]


class AwsCodec(KeyedCodec):
    """Our marks as tags of AWS."""

    def detach_command(self, target: str, tags: Collection[str]) -> str:
        """Return the command that removes tags.

        https://docs.aws.amazon.com/cli/latest/reference/resourcegroupstaggingapi/untag-resources.html
        """
        arn = Arn.parse(target)
        region = f" --region {quote(arn.region)}" if arn and arn.region else ""
        keys = " ".join(sorted(quote(self.key(tag)) for tag in tags))
        return (
            f"aws resourcegroupstaggingapi untag-resources{region} --resource-arn-list {quote(target)} "
            f"--tag-keys {keys}"
        )


def find_foreign(uuid: str, found: Mapping[str, Tags]) -> tuple[str, ...]:
    """Return the resources that belong neither to this owner nor to one within it, in order."""
    return tuple(sorted(arn for arn, tags in found.items() if uuid not in (tags.get(UUID), tags.get(WITHIN))))
