"""Gate of the live page in a cluster: the API server says whose a token is, and what that user may list.

It is asked by `TokenReview <https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/>`_ and
`SubjectAccessReview <https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/>`_
(docs/reference/kubernetes.md#reviews). Answers are kept for a while, by a digest of the token and never by itself.
What was not answered is not allowed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from freehold.kube.errors import Forbidden, KubeError
from freehold.kube.resources import ACCESS_REVIEWS, TOKEN_REVIEWS, Json, Resource
from freehold.page.gate import GateUnavailable, Places, Rights, TokenRefused, Viewer

_LOG = logging.getLogger(__name__)

KEPT_SECONDS: Final = 45.0
"""How long an answer counts. kube-apiserver keeps a token's for ten seconds itself, and a stream looks again every few:
what is taken away ends within a minute."""
REFUSED_SECONDS: Final = 5.0
"""How long a token stays refused without being asked about again."""
SILENT_SECONDS: Final = 2.0
"""How long nothing is asked after the API server could not be reached."""
MOST_TOKENS: Final = 1000
"""Tokens that are known at a time; as many are known to be refused."""
MOST_WAITING: Final = 64
"""Tokens that wait for their review: those who have none must not keep out those who have one for long."""
TOKENS_AT_ONCE: Final = 4
ACCESSES_AT_ONCE: Final = 8
MOST_ACCESSES: Final = 2000
"""Reviews of access for one token in KEPT_SECONDS; the rest follows in the next ones."""
DENIED_SECONDS: Final = 0.05
"""A denial counts longer the more are asked about, by this much for each: it can only hide what was just granted."""

_TOKEN: Final = re.compile(r"[-A-Za-z0-9._~+/]+=*")
"""A bearer token (https://www.rfc-editor.org/rfc/rfc6750#section-2.1)."""
_HOW: Final = "make one that the API server takes, for example with: kubectl create token NAME --namespace NAMESPACE"
_VERB: Final = "list"


Pair = tuple[Resource, str]
"""A resource, and a namespace; an empty one means all."""


@dataclass(frozen=True)
class _Answer:
    """Verdict on whether a pair may be listed, and until when it counts."""

    allowed: bool
    until: float


_UNKNOWN: Final = _Answer(False, 0.0)


class Requester(Protocol):
    """A client of the API server, as KubeClient is one."""

    async def request(self, method: str, path: str, *, body: object = None) -> Json:
        """Send a request. Raises KubeError."""
        ...


@dataclass(frozen=True)
class User:
    """A user as a TokenReview names it, and a SubjectAccessReview asks for it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def to_json(self) -> Json:
        """Return the fields of the spec of a SubjectAccessReview."""
        extra = {name: list(values) for name, values in self.extra}
        return {"user": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}


def read_user(review: Json) -> User | None:
    """Return whose token it is by a TokenReview, None if it is nobody's. Raises GateUnavailable for junk."""
    status = review.get("status")
    if not isinstance(status, dict):
        raise GateUnavailable(_explain_junk(TOKEN_REVIEWS))
    if status.get("error") or status.get("authenticated") is not True:
        return None
    user: Any = status.get("user")
    try:
        extra = (user.get("extra") or {}).items()
        groups = _read_texts(user.get("groups") or [])
        found = User(
            user["username"], user.get("uid") or "", groups, tuple((name, _read_texts(each)) for name, each in extra)
        )
        if not isinstance(found.name, str) or not isinstance(found.uid, str) or not found.name:
            raise TypeError
    except (AttributeError, KeyError, TypeError):
        raise GateUnavailable(_explain_junk(TOKEN_REVIEWS)) from None
    return found


def read_access(review: Json) -> bool:
    """Return whether a SubjectAccessReview allows what it asks. Raises GateUnavailable for junk."""
    status = review.get("status")
    if not isinstance(status, dict) or not isinstance(status.get("allowed"), bool):
        raise GateUnavailable(_explain_junk(ACCESS_REVIEWS))
    return status["allowed"] and not status.get("denied")


def _read_texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise TypeError
    return tuple(values)


def _explain_junk(resource: Resource) -> str:
    return f"the API server's answer to a {resource.kind} cannot be read"


class Reviews:
    """Asks an API server for reviews, few at a time. After it could not be reached it is left alone for a moment."""

    def __init__(self, client: Requester, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self._client = client
        self._silent_until = 0.0
        self._tokens = asyncio.Semaphore(TOKENS_AT_ONCE)
        self._accesses = asyncio.Semaphore(ACCESSES_AT_ONCE)
        self._waiting = 0

    async def find_user(self, token: str) -> User | None:
        """Return whose token it is, None if it is nobody's. Raises GateUnavailable.

        No audience is asked for, so it must be the API server's own.
        """
        if self._waiting >= MOST_WAITING:
            raise GateUnavailable("too many tokens wait to be checked: try again in a moment")
        self._waiting += 1
        try:
            async with self._tokens:
                return read_user(await self._ask(TOKEN_REVIEWS, {"token": token}))
        finally:
            self._waiting -= 1

    async def may_list(self, user: User, resource: Resource, namespace: str) -> bool:
        """Return whether the user may list a resource in a namespace; in all, if that is empty."""
        asked = {"verb": _VERB, "group": resource.group, "resource": resource.plural, "namespace": namespace}
        async with self._accesses:
            return read_access(await self._ask(ACCESS_REVIEWS, {**user.to_json(), "resourceAttributes": asked}))

    async def _ask(self, resource: Resource, spec: Json) -> Json:
        """Send a review. What the server says of it is not passed on: a token could be in it."""
        if self.monotonic() < self._silent_until:
            raise GateUnavailable("the API server cannot be reached: try again in a moment")
        review = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        try:
            return await self._client.request("POST", resource.build_collection_path(), body=review)
        except Forbidden as problem:
            raise GateUnavailable(
                f"the operator may not create {resource}: install it with the option --page, which gives it this right"
            ) from problem
        except KubeError as problem:
            if problem.code:
                raise GateUnavailable(f"the API server answers {problem.code} to a {resource.kind}") from None
            self._silent_until = self.monotonic() + SILENT_SECONDS
            raise GateUnavailable(f"the API server cannot be asked: {problem}") from None


class ReviewedViewer:
    """Whoever was identified by a TokenReview. What this user may list is asked when it is needed, and then kept."""

    def __init__(self, user: User, reviews: Reviews) -> None:
        self.user: Final = user
        self._reviews = reviews
        self._lock = asyncio.Lock()
        self._kept: dict[Pair, _Answer] = {}
        self._counted_since = 0.0
        self._count = 0

    @property
    def name(self) -> str:
        """The user's name."""
        return self.user.name

    async def read_rights(self, places: Places) -> Rights:
        """Read which objects of ``places`` may be seen: first in all namespaces, then in each. Raises GateUnavailable.

        What is more than MOST_ACCESSES is no part of it yet.
        """
        async with self._lock:
            whole = [(resource, "") for resource in places]
            await self._ask_for(whole, KEPT_SECONDS)
            everywhere = {resource for resource, _ in whole if self._allows(resource, "")}
            pairs = _list_pairs({each: places[each] for each in places if each not in everywhere})
            await self._ask_for(pairs, max(KEPT_SECONDS, len(pairs) * DENIED_SECONDS))
            within = {(resource.kind, namespace) for resource, namespace in pairs if self._allows(resource, namespace)}
            return Rights(frozenset(each.kind for each in everywhere), frozenset(within))

    def _allows(self, resource: Resource, namespace: str) -> bool:
        return self._kept.get((resource, namespace), _UNKNOWN).allowed

    async def _ask_for(self, pairs: list[Pair], denied_seconds: float) -> None:
        """Ask for those pairs whose answer does not count any more, as many as may be asked for now."""
        now = self._reviews.monotonic()
        if now >= self._counted_since + KEPT_SECONDS:
            self._counted_since, self._count = now, 0
            self._kept = {pair: each for pair, each in self._kept.items() if each.until > now}
        due = sorted((pair for pair in pairs if self._kept.get(pair, _UNKNOWN).until <= now), key=_order)
        for pair in due:
            self._kept.pop(pair, None)
        asked = due[: max(0, MOST_ACCESSES - self._count)]
        if len(asked) < len(due):
            _LOG.info("the page asks later for %d of %d rights of %s", len(due) - len(asked), len(pairs), self.name)
        self._count += len(asked)

        async def ask(pair: Pair) -> None:
            allowed = await self._reviews.may_list(self.user, *pair)
            self._kept[pair] = _Answer(allowed, now + (KEPT_SECONDS if allowed else denied_seconds))

        asking = [asyncio.ensure_future(ask(pair)) for pair in asked]
        try:
            await asyncio.gather(*asking)
        finally:
            for each in asking:
                each.cancel()


def _list_pairs(places: Places) -> list[Pair]:
    return [(resource, namespace) for resource, namespaces in places.items() for namespace in namespaces if namespace]


def _order(pair: Pair) -> tuple[str, str]:
    """Order pairs so that all of a namespace are asked about together."""
    resource, namespace = pair
    return namespace, str(resource)


@dataclass
class _Entry:
    """A token that was shown: its viewer, none if it is refused, and until when that counts."""

    lock: asyncio.Lock
    viewer: ReviewedViewer | None = None
    until: float = 0.0


class ReviewGate:
    """The gate of a cluster. ``client`` is best one of its own, so that viewers keep no other request waiting."""

    def __init__(self, client: Requester, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._reviews = Reviews(client, monotonic)
        self._key = secrets.token_bytes(32)
        """Key of the digests: who reads them in memory cannot compare them with those of tokens."""
        self._known: OrderedDict[bytes, _Entry] = OrderedDict()
        self._strangers: OrderedDict[bytes, _Entry] = OrderedDict()
        """Apart, so that no number of wrong tokens puts out those that are known."""

    async def identify(self, token: str) -> Viewer:
        """Find out whose token it is. Raises TokenRefused, GateUnavailable."""
        if not _TOKEN.fullmatch(token):
            raise TokenRefused(f"a token is needed: {_HOW}" if not token else f"this is no token: {_HOW}")
        digest = hashlib.blake2b(token.encode(), key=self._key).digest()
        entry = self._known.get(digest) or self._strangers.get(digest) or _Entry(asyncio.Lock())
        self._put(digest, entry)
        async with entry.lock:  # one review at a time: a page sends several requests at once
            if entry.until <= self._reviews.monotonic():
                await self._review(token, entry)
                self._put(digest, entry)
            if entry.viewer is None:
                raise TokenRefused(f"the API server does not take this token, or no longer: {_HOW}")
            return entry.viewer

    async def _review(self, token: str, entry: _Entry) -> None:
        now = self._reviews.monotonic()
        user = await self._reviews.find_user(token)
        if user is None:
            entry.viewer, entry.until = None, now + REFUSED_SECONDS
            return
        if entry.viewer is None or entry.viewer.user != user:
            entry.viewer = ReviewedViewer(user, self._reviews)
        entry.until = now + KEPT_SECONDS

    def _put(self, digest: bytes, entry: _Entry) -> None:
        """Put an entry where it belongs, as the latest one."""
        self._known.pop(digest, None)
        self._strangers.pop(digest, None)
        entries = self._known if entry.viewer is not None else self._strangers
        entries[digest] = entry
        if len(entries) > MOST_TOKENS:
            entries.popitem(last=False)
