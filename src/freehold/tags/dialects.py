"""What each provider's object for tags brings: dialect and spec, by its kind.

The one place of this room that asks the list of providers; decisions name no cloud.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from freehold.api.base import ApiModel
from freehold.providers.registry import TAG_KINDS
from freehold.tags.policy.dialect import TagDialect

DIALECTS: Final[Mapping[str, TagDialect]] = {each.served.kind: each.dialect() for each in TAG_KINDS.values()}
SPECS: Final[Mapping[str, type[ApiModel]]] = {each.served.kind: each.spec() for each in TAG_KINDS.values()}
PROVIDER_NAMES: Final[Mapping[str, str]] = {each.served.kind: name for name, each in TAG_KINDS.items()}
