"""Tagged resources of AWS, by ARN, for the metadata controller."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from freehold.engine.errors import CloudError
from freehold.providers.aws.arn import Arn


@lru_cache(maxsize=1 << 17)  # called for a resource when it is found and when it is read
def kind_of(text: str) -> str:
    """Return the type as the tagging API spells it: ``ec2:volume``, ``secretsmanager:secret``, ``s3:bucket``."""
    arn = Arn.parse(text)
    if arn is None:
        return ""
    word, separator, _ = arn.resource.replace(":", "/").partition("/")
    if arn.service == "s3" and not separator:
        word = "bucket"
    return f"{arn.service}:{word}"


def region_of(text: str) -> str:
    """Return the region; empty for a resource without one, and for a bucket, whose ARN does not name it."""
    arn = Arn.parse(text)
    return arn.region if arn else ""


def find_named(error: CloudError, arns: Collection[str]) -> frozenset[str]:
    """Return the resources that EC2's refusal names as its reason: ``The vpc ID 'vpc-1' does not exist``."""
    said = {ident for quoted in re.findall(r"'([^']+)'", error.message) for ident in re.split(r",\s*", quoted)}
    return frozenset(text for text in arns if (arn := Arn.parse(text)) and arn.id in said)
