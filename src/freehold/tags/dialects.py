"""What each provider's object for tags brings: dialect and spec, by its kind.

The one place of this room that asks the list of providers; decisions name no cloud.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from freehold.api.base import ApiModel
from freehold.providers.registry import PROVIDERS
from freehold.tags.policy.dialect import TagDialect

_KNOWN = sorted(PROVIDERS, key=lambda provider: provider.tags.served.kind)

DIALECTS: Final[Mapping[str, TagDialect]] = {each.tags.served.kind: each.tags.dialect() for each in _KNOWN}
SPECS: Final[Mapping[str, type[ApiModel]]] = {each.tags.served.kind: each.tags.spec() for each in _KNOWN}
PROVIDER_NAMES: Final[Mapping[str, str]] = {each.tags.served.kind: each.name for each in _KNOWN}
