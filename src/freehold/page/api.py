"""The answers under ``/api``: who looks, the objects, one of them, its deletion, tags and audit.

Each is made of what the operator has in memory, and of what the viewer may see of it.
"""

from __future__ import annotations

import asyncio
import gzip
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web

from freehold.api.served import CLOUD_METADATA
from freehold.controllers.settings import Settings
from freehold.kube.resources import Json, Key, Resource
from freehold.page.answers import Problem, accepts_gzip, build_json, dump_json
from freehold.page.audit import AuditReader
from freehold.page.audit_lines import AuditQuery
from freehold.page.deletion import build_deletion
from freehold.page.detail import build_detail
from freehold.page.feed import Feed, Snapshot
from freehold.page.gate import Viewer, read_bearer
from freehold.page.source import ObjectSource
from freehold.page.stored_object import object_key
from freehold.page.streams import Streams
from freehold.page.tags import build_report
from freehold.providers.objects.served_resources import resource_of
from freehold.tags.pass_summary import PassSummary

CLOUD_METADATAS = resource_of(CLOUD_METADATA)
KEPT_SECONDS = 1.0
"""Seconds for which an answer is given again while its object is the same."""
MOST_KEPT = 64
LONGEST_TEXT = 1000
LONGEST_SHOWN = 100
NO_NAMESPACE = "-"


@dataclass(frozen=True)
class PageFacts:
    """Facts of the process that a session is told. ``started`` is domain time; ``simulated``: its clouds are simulated.

    ``where`` says which options the commands on the page need, empty for none.
    """

    version: str
    started: float
    simulated: bool
    where: str


class KeptAnswers:
    """Answers of the last moment, so that viewers of the same thing share one."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._kept: OrderedDict[object, tuple[object, float, bytes]] = OrderedDict()

    def find(self, name: object, version: object) -> bytes | None:
        """Return the answer of this name, if it is of this version (the same object) and young."""
        found = self._kept.get(name)
        if found is None or found[0] is not version or found[1] < self._monotonic():
            return None
        return found[2]

    def keep(self, name: object, version: object, body: bytes) -> bytes:
        """Keep an answer, and return it."""
        self._kept.pop(name, None)
        self._kept[name] = (version, self._monotonic() + KEPT_SECONDS, body)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return body


class PageApi:
    """The answers of one process (server.Api)."""

    def __init__(
        self, facts: PageFacts, settings: Settings, source: ObjectSource, feed: Feed, streams: Streams,
        audit: AuditReader, find_tags: Callable[[Key], PassSummary | None],
    ) -> None:  # fmt: skip
        self._facts = facts
        self._settings = settings
        self._source = source
        self._feed = feed
        self._streams = streams
        self._audit = audit
        self._find_tags = find_tags
        self._kept = KeptAnswers()

    async def describe_session(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        """Tell whose page it is, and who looks."""
        await self._source.wait_until_listed()
        rights = await viewer.read_rights(self._feed.places)
        seen = {name for each, names in self._feed.places.items() for name in names if rights.allow(each.kind, name)}
        return await build_json(
            request,
            {
                "version": self._facts.version,
                "now": self._settings.clock.now(),
                "speed": self._settings.clock.speed,
                "simulated": self._facts.simulated,
                "viewer": viewer.name,
                "everywhere": rights.everywhere >= {each.kind for each in self._feed.resources},
                "namespaces": sorted(seen - {""}),
                "started": self._facts.started,
                "leads": self._source.operator.leads(),
                "where": self._facts.where,
                "server": _hide_credentials(self._settings.kube.server),
            },
        )

    async def list_objects(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        """Send the rows of all objects; viewers of equal rights share the bytes."""
        await self._source.wait_until_listed()
        rights = await viewer.read_rights(self._feed.places)
        snapshot = await self._feed.read_snapshot(rights)
        packed = accepts_gzip(request)
        name = ("objects", snapshot.seq, rights, packed)
        body = self._kept.find(name, None)
        if body is None:
            body = _join_rows(snapshot, self._source.list_unread(rights))
            body = self._kept.keep(name, None, await asyncio.to_thread(gzip.compress, body, 5) if packed else body)
        headers = {"Vary": "Accept-Encoding", **({"Content-Encoding": "gzip"} if packed else {})}
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def stream_changes(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        """Stream what changes."""
        return await self._streams.serve(request, viewer, read_bearer(request.headers.getall("Authorization", [])))

    async def show_object(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        """Show one object whole."""
        resource, raw, key = await self._find_object(request, viewer)
        histories = self._source.histories
        name = ("detail", key, self._source.repairs_noted)
        body = self._kept.find(name, raw)
        if body is None:
            detail = build_detail(
                resource, raw, histories.find(key), self._source.key_ring, self._settings.clock.now(),
                repairs=histories.find_repairs(key), read_time=self._settings.clock.domain,
            )  # fmt: skip
            body = self._kept.keep(name, raw, dump_json(detail))
        return await build_json(request, body)

    async def show_deletion(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        """Show what a delete of an object would do, with what the viewer may see of the others that it waits for."""
        resource, raw, key = await self._find_object(request, viewer)
        rights = await viewer.read_rights(self._feed.places)
        name = ("deletion", key, rights)
        body = self._kept.find(name, raw)
        if body is None:
            others = self._feed.list_seen(rights)
            deletion = build_deletion(resource, raw, self._source.key_ring, self._settings, others=others)
            body = self._kept.keep(name, raw, dump_json(deletion))
        return await build_json(request, body)

    async def show_tags(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        """Show how far the tags are as wanted."""
        await self._source.wait_until_listed()
        rights = await viewer.read_rights(self._feed.places)
        shown = [raw for raw in self._feed.list_seen(rights) if raw["kind"] == CLOUD_METADATAS.kind]
        return await build_json(request, build_report(shown, self._find_tags))

    async def read_audit(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        """Show who changed what in the clouds."""
        asked = AuditQuery(*(_read_text(request, name) for name in ("before", "object", "text")))
        await self._source.wait_until_listed()
        rights = await viewer.read_rights(self._list_places(asked.object))
        kinds = frozenset(each.kind for each in self._feed.resources)

        def may_see(kind: str, namespace: str) -> bool:
            return rights.allow(kind, namespace) or rights.everywhere >= kinds

        return await build_json(request, await self._audit.read_lines(asked, may_see))

    def _list_places(self, key: str) -> Mapping[Resource, Collection[str]]:
        """List all places of which lines may tell: also of objects that have gone, as the one of this key may have."""
        kind, _, rest = key.partition("/")
        namespace = rest.partition("/")[0]
        places = self._feed.known_places
        return {each: names | {namespace} if each.kind == kind else names for each, names in places.items()}

    async def _find_object(self, request: web.Request, viewer: Viewer) -> tuple[Resource, Json, str]:
        """Find the object that is asked for. Raises Problem also where it may not be seen."""
        asked = request.match_info
        namespace = "" if asked["namespace"] == NO_NAMESPACE else asked["namespace"]
        resource = next((each for each in self._feed.resources if each.kind == asked["kind"]), None)
        if resource is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"there is no kind {asked['kind'][:LONGEST_SHOWN]!r} on this page")
        rights = await viewer.read_rights({resource: (namespace,)})
        where = f"in namespace {namespace[:LONGEST_SHOWN]!r}" if namespace else "in no namespace"
        if not rights.allow(resource.kind, namespace):
            raise Problem(HTTPStatus.FORBIDDEN, f"{viewer.name} may not list {resource} {where}")
        await self._source.wait_until_listed()
        key = object_key(resource.kind, namespace, asked["name"])
        found = self._feed.find(key)
        if found is None:
            sentence = f"there is no {resource.kind} {asked['name'][:LONGEST_SHOWN]!r} {where}"
            raise Problem(HTTPStatus.NOT_FOUND, sentence)
        return resource, found[1], key


def _join_rows(snapshot: Snapshot, unread: Sequence[str]) -> bytes:
    head = b'{"seq":%d,"now":%s,"unread":%s,"rows":[' % (snapshot.seq, dump_json(snapshot.now), dump_json(unread))
    return head + b",".join(snapshot.rows) + b"]}"


def _read_text(request: web.Request, name: str) -> str:
    """Read a parameter. Raises Problem for one that is too long."""
    text = request.query.get(name, "")
    if len(text) > LONGEST_TEXT:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} is longer than {LONGEST_TEXT} characters")
    return text


def _hide_credentials(url: str) -> str:
    """Return the URL of a server without what stands before its name."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
