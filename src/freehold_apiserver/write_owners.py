"""``managedFields`` as a step of a write."""

from __future__ import annotations

import copy
from datetime import datetime
from typing import Any

from freehold_apiserver import applying, metadata
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json
from freehold_apiserver.write_options import WriteOptions


def record_owners(
    resource: Resource,
    old: Json | None,
    obj: Json,
    given: Any,
    options: WriteOptions,
    subresource: str,
    now: datetime,
    managed: list[Json] | None = None,
) -> None:
    """Set ``managedFields``: ``managed``, or what this write makes of the recorded owners."""
    if managed is None:
        name = options.field_manager or options.user_agent or "unknown"
        named, time = bool(options.field_manager), metadata.timestamp(now)
        managed = applying.tracked(resource, old, obj, given, name, named, subresource, time)
    obj["metadata"].pop("managedFields", None)
    if managed:
        obj["metadata"]["managedFields"] = managed


def draft_owners(
    resource: Resource, old: Json | None, obj: Json, options: WriteOptions, subresource: str, now: datetime
) -> list[Json]:
    """Find the owners of fields before webhooks change any: nobody owns what a webhook sets."""
    draft = copy.deepcopy(obj)
    given = draft["metadata"].get("managedFields")
    if old is None:
        metadata.stamp_new(draft["metadata"], now)
        resource.strategy.prepare_create(draft)
    else:
        resource.strategy.prepare_update(draft, old, subresource)
    record_owners(resource, old, draft, given, options, subresource, now)
    found: list[Json] = draft["metadata"].get("managedFields") or []
    return found
