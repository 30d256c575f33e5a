"""Lists: a consistent snapshot, page by page.

Every page shows and reports the revision of the first page. With the *current* revision on each page,
clients lost the updates between pages (docs/reference/kubernetes.md#watching).
"""

from __future__ import annotations

import base64
import binascii
import bisect
import json
from collections.abc import Mapping
from dataclasses import dataclass

from freehold_apiserver import errors, requests, selectors
from freehold_apiserver.resources import Resource
from freehold_apiserver.selectors import Matches
from freehold_apiserver.store import Json, Store, Stored, key_of

_FIELDS = ("metadata.name", "metadata.namespace")
_MORE_FIELDS = {
    "/events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
        "reason", "reportingComponent", "source", "type",
    ),
    "/namespaces": ("status.phase",),
    "/secrets": ("type",),
    "events.k8s.io/events": (
        "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
        "regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Page:
    """Part of a list. ``token`` continues at the next page, empty at the end; ``remaining`` may be unknown."""

    items: list[Stored]
    revision: int
    token: str = ""
    remaining: int | None = None


def matcher(resource: Resource, query: Mapping[str, str]) -> Matches | None:
    """Read the selectors of a list or watch; None selects everything."""
    fields = _FIELDS + _MORE_FIELDS.get(f"{resource.group}/{resource.plural}", ())
    by_fields = selectors.by_fields(query.get("fieldSelector", ""), fields)
    if by_fields and resource.stored_as:
        by_fields = _shown(resource, by_fields)
    return selectors.both(selectors.by_labels(query.get("labelSelector", "")), by_fields)


def _shown(resource: Resource, matches: Matches) -> Matches:
    """Restrict the selector to the fields that the resource serves."""
    return lambda obj: matches(resource.shown(obj))


def list_page(store: Store, resource: Resource, namespace: str | None, query: Mapping[str, str]) -> Page:
    """Read the page that the query requests. Raises 400, 410 Expired, and 504 for a future revision."""
    matches = matcher(resource, query)
    limit = requests.number(query, "limit") or 0
    if query.get("continue"):
        if query.get("resourceVersion", "0") != "0":
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        revision, after = _read_token(query["continue"])
    else:
        revision, after = _asked_revision(store, query), ("", "")
    items = store.scan_at(resource.collection, revision, namespace)
    if after != ("", ""):
        items = items[bisect.bisect_right(items, after, key=key_of) :]
    if matches:
        items = [each for each in items if matches(each.obj)]
    if not limit or len(items) <= limit:
        return Page(items, revision)
    rest = len(items) - limit
    return Page(items[:limit], revision, _token(revision, key_of(items[limit - 1])), None if matches else rest)


def _asked_revision(store: Store, query: Mapping[str, str]) -> int:
    """``resourceVersion`` is a lower bound unless ``resourceVersionMatch=Exact``."""
    asked = requests.number(query, "resourceVersion")
    match = query.get("resourceVersionMatch", "")
    if match not in ("", "Exact", "NotOlderThan"):
        raise errors.bad_request(f"invalid resourceVersionMatch {match!r}; use Exact or NotOlderThan")
    if match and asked is None:
        raise errors.bad_request("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if asked and asked > store.revision:
        raise errors.too_large(asked, store.revision)
    return asked if asked and match == "Exact" else store.revision


def list_metadata(page: Page) -> Json:
    meta: Json = {"resourceVersion": str(page.revision)}
    if page.token:
        meta["continue"] = page.token
        if page.remaining is not None:
            meta["remainingItemCount"] = page.remaining
    return meta


def _token(revision: int, last: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps([revision, *last]).encode()).decode()


def _read_token(token: str) -> tuple[int, tuple[str, str]]:
    try:
        revision, namespace, name = json.loads(base64.urlsafe_b64decode(token.encode()))
        return int(revision), (str(namespace), str(name))
    except (ValueError, binascii.Error, TypeError, OverflowError, RecursionError) as problem:
        raise errors.bad_request("continue key is not valid: this server did not issue it") from problem
