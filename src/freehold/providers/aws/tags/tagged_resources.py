"""Tagged resources of AWS as the metadata controller has them, by their ARNs."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from freehold.engine.errors import CloudError
from freehold.providers.aws.arn import Arn


@lru_cache(maxsize=1 << 17)  # a resource is found, and read
def kind_of(text: str) -> str:
    """As the tagging API spells it: ``ec2:volume``, ``secretsmanager:secret``, ``s3:bucket``."""
    arn = Arn.parse(text)
    if arn is None:
        return ""
    word, separator, _ = arn.resource.replace(":", "/").partition("/")
    if arn.service == "s3" and not separator:
        word = "bucket"
    return f"{arn.service}:{word}"


def region_of(text: str) -> str:
    """Empty for what is in none, or does not say so: a bucket."""
    arn = Arn.parse(text)
    return arn.region if arn else ""


def named_in(error: CloudError, arns: Collection[str]) -> frozenset[str]:
    """The resources that a refusal of EC2 names as the reason: ``The vpc ID 'vpc-1' does not exist``."""
    said = {ident for quoted in re.findall(r"'([^']+)'", error.message) for ident in re.split(r",\s*", quoted)}
    return frozenset(text for text in arns if (arn := Arn.parse(text)) and arn.id in said)
