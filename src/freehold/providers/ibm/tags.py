"""Tags of IBM Cloud, read and changed.

Source: docs/reference/ibm-cloud.md#global-tagging, #global-search.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from freehold.engine.errors import CloudError, Denied, Invalid, NotFound, NotReady, Quota, Unavailable
from freehold.engine.inventory import TagChange, TagsByTarget, one_by_one
from freehold.providers.ibm.calls import IbmClient, Json, require_rows
from freehold.providers.ibm.marks import PREFIX, UUID

T = TypeVar("T")


def _quote_phrase(text: str) -> str:
    """Return a phrase of a Lucene query. Targets come from journals: the text of one must not become a query."""
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _escape_term(text: str) -> str:
    """Return part of an unquoted term, which a ``*`` may follow, with every special character escaped."""
    return re.sub(r"([^A-Za-z0-9-])", r"\\\1", text)


class IbmTagger:
    """The tagger: Global Tagging changes, Global Search finds. Tags are attached and detached, never replaced."""

    api = "tagging"
    asks_resources = False
    SEARCH_PAGE = 1000
    TAGS_PAGE = 1000
    BATCH = 100

    def __init__(self, client: IbmClient, carried: Sequence[str]) -> None:
        """Keep ``carried``, the kinds whose marks are on another resource."""
        self._client = client
        self._carried = carried

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByTarget:
        """Return, by one query, targets with the uuid, carriers with a mark of it, and the ``also`` targets."""
        terms = [f"tags:{_quote_phrase(f'{UUID}:{uuid}')}"]
        terms += [f"tags:{PREFIX}{kind}\\:{_escape_term(uuid)}.*" for kind in self._carried]
        terms += [f"crn:{_quote_phrase(target)}" for target in sorted(set(also))]
        return await self._search(" OR ".join(terms), f"marks of {uuid}")

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        terms = [f"tags:{mark}\\:*" for mark in (UUID, *(f"{PREFIX}{kind}" for kind in self._carried))]
        return await self._search(" OR ".join(terms), "marks of every cluster")

    async def tags_of(self, target: str) -> frozenset[str]:
        """Return what is attached to ``target``, from all pages; this list pages by offset.

        Raises ListNotFound where the tag service does not know ``target``, which proves neither that it is gone nor
        that it has no tags.
        """
        found: set[str] = set()
        offset = 0
        while True:
            body = await self._tags_page(target, offset)
            items = require_rows(body, "items", "list_tags", target)
            found |= {item["name"] for item in items}
            offset += len(items)
            total = body.get("total_count")
            if not items or (total is not None and offset >= total):
                return frozenset(found)

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | CloudError]:
        return await one_by_one(self, targets)

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._change("attach_tag", changes)

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._change("detach_tag", changes)

    # -- for the metadata controller ----------------------------------------------------------------------------

    async def find_by_tags(self, names: Sequence[str]) -> TagsByTarget:
        """Return what the search shows with one of these tags."""
        return await self._search(" OR ".join(f"tags:{_quote_phrase(name)}" for name in names), ", ".join(names))

    async def send(
        self, operation: str, names: Sequence[str], targets: Sequence[str], *, update: bool
    ) -> dict[str, CloudError]:
        """Send one ``attach_tag`` or ``detach_tag``; return what failed, by target. Raises CloudError if the whole did.

        ``update``: each key loses its other values in the same step.
        """
        return await self._send(operation, sorted(names), targets, **({"update": True} if update else {}))

    async def _search(self, query: str, subject: str) -> TagsByTarget:
        found: dict[str, frozenset[str]] = {}
        cursor: str | None = None
        while True:
            body = await self._search_page(query, cursor, subject)
            items = require_rows(body, "items", "search", subject)
            found |= {item["crn"]: frozenset(item.get("tags") or ()) for item in items}
            cursor = body.get("search_cursor")
            if not items or not cursor or len(items) < body.get("limit", self.SEARCH_PAGE):
                return found

    async def _search_page(self, query: str, cursor: str | None, subject: str) -> Json:
        sdk = self._client.session.search
        body: Json = await self._client.read_page(
            "search",
            "search",
            lambda: sdk().search(query=query, fields=["crn", "tags"], search_cursor=cursor, limit=self.SEARCH_PAGE),
            subject,
        )
        return body

    async def _tags_page(self, target: str, offset: int) -> Json:
        sdk = self._client.session.tagging
        body: Json = await self._client.read_page(
            "tagging",
            "list_tags",
            lambda: sdk().list_tags(attached_to=target, tag_type="user", offset=offset, limit=self.TAGS_PAGE),
            target,
        )
        return body

    async def _change(self, operation: str, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        groups: dict[frozenset[str], list[str]] = {}
        for change in changes:
            if change.tags:
                groups.setdefault(change.tags, []).append(change.target)
        failed: dict[str, CloudError] = {}
        for tags, targets in groups.items():
            for at in range(0, len(targets), self.BATCH):
                failed |= await self._send_batch(operation, tags, targets[at : at + self.BATCH])
        return failed

    async def _send_batch(self, operation: str, tags: Collection[str], targets: Sequence[str]) -> dict[str, CloudError]:
        try:
            return await self._send(operation, sorted(tags), targets)
        except NotFound:  # a 404 for the whole batch does not tell which of them is missing, if any
            return {target: _unplaced_error(operation.removesuffix("_tag"), target) for target in targets}
        except CloudError as error:
            return dict.fromkeys(targets, error)

    async def _send(
        self, operation: str, names: Sequence[str], targets: Sequence[str], **how: bool
    ) -> dict[str, CloudError]:
        """Send one call; return what failed, by target: 200 is no success of all (terraform-provider-ibm#5635)."""
        sdk = self._client.session.tagging
        verb, resources = operation.removesuffix("_tag"), [{"resource_id": target} for target in targets]
        body = await self._client.write(
            self.api,
            operation,
            lambda: getattr(sdk(), operation)(tag_names=names, resources=resources, tag_type="user", **how),
            ", ".join(targets),
            tags=names,
            **how,
        )
        answers = {result["resource_id"]: result for result in (body or {}).get("results") or ()}
        return {
            target: _refusal(verb, target, str(answers.get(target, {}).get("message") or "no answer for it"))
            for target in targets
            if answers.get(target, {"is_error": True}).get("is_error")
        }


def _unplaced_error(verb: str, target: str) -> CloudError:
    message = f"IBM Cloud did not {verb} the tags of {target}: a resource or tag of the request is not found"
    return NotReady(message, advice="It is tried again", code="404")


_MISSING = r"(?:does not exist|not found)"


def _is_missing(said: str, target: str) -> bool:
    """Return whether the text calls the resource missing: a tag, an account or a service may be "not found" too."""
    thing = rf"(?:\bresource\b|{re.escape(target)})"
    about = rf"{thing}[^.]*\b{_MISSING}|{_MISSING}:? *{re.escape(target)}"
    return re.search(about, said, re.IGNORECASE) is not None


_REFUSALS: tuple[tuple[str, type[CloudError], str], ...] = (
    ("too many tags", Quota, "Detach tags that are not needed"),
    ("not valid", Invalid, "Correct the tag in the manifest"),
)


def _refusal(verb: str, target: str, said: str) -> CloudError:
    message = f"IBM Cloud did not {verb} the tags of {target}: {said}"
    if _is_missing(said, target):
        missing = NotFound if verb == "detach" else NotReady  # a lagging index does not know a new resource
        return missing(message, advice="It is looked for again", code="is_error")
    if "not authorized" in said.casefold():
        return _unauthorized_error(verb, message)
    for words, error, advice in _REFUSALS:
        if words in said.casefold():
            return error(message, advice=advice, code="is_error")
    return Unavailable(message, advice="It is tried again", code="is_error")


def _unauthorized_error(verb: str, message: str) -> CloudError:
    """Return NotReady for an attach: an index that does not know a new resource yet refuses it so, too.

    Source: terraform-provider-ibm#3874. A detach is of tags that were just read, so its refusal means what it says.
    """
    advice = "grant the API key's owner the editor role on it"
    denied = f"{message}. {advice[0].upper()}{advice[1:]}"
    if verb == "attach":
        tried = f"{message}. It is tried again; if it goes on, {advice}"
        return NotReady(tried, code="is_error", if_not_new=Denied(denied, code="NotAuthorized"))
    return Denied(denied, code="is_error")
