"""The dialect of each provider's object, by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from freehold.providers.aws.types.served import AWS_METADATA
from freehold.providers.ibm.types.served import IBM_METADATA
from freehold.tags.aws_dialect import AWS
from freehold.tags.ibm_dialect import IBM
from freehold.tags.policy.dialect import TagDialect

DIALECTS: Final[Mapping[str, TagDialect]] = {AWS_METADATA.kind: AWS, IBM_METADATA.kind: IBM}
