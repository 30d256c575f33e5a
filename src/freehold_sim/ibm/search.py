"""Global Search v3: a lagging replica of the account, queried in a subset of Lucene syntax.

Source: docs/reference/ibm-cloud.md#global-search.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply, iso, reads
from freehold_sim.ibm.fields import served
from freehold_sim.ibm.world import World

_FIELDS = (
    "crn", "name", "family", "type", "service_name", "region", "account_id", "resource_id", "resource_group_id",
    "creation_date", "tags",
)  # fmt: skip

_TOKEN = re.compile(r'\s*(\(|\)|(?:[\w.]+:)?"(?:[^"\\]|\\.)*"|(?:\\.|[^\s()"\\])+)')
_PIECE = re.compile(r"\\(.)|([*?])|(.)")
_FAMILY = {
    "vpc": ("is", "vpc"), "subnet": ("is", "subnet"), "security-group": ("is", "security-group"),
    "load-balancer": ("is", "load-balancer"), "gateway": ("transit", "gateway"),
    "instance": ("resource_controller", "resource-instance"), "network": ("power-iaas", "network"),
}  # fmt: skip


@dataclass(slots=True)
class Hit:
    """One resource as the replica shows it. `tags` maps the case-folded name of a tag to the name as written."""

    crn: str
    account: str
    record: Mapping[str, Any]
    tags: Mapping[str, str]

    def value(self, field: str) -> Any:
        """Return the value of an indexed field, "" for an unknown field."""
        record = self.record
        if field == "crn":
            return self.crn
        if field == "name":
            return record["name"]
        if field in {"service_name", "region"}:
            return self.crn.split(":")[4 if field == "service_name" else 5]
        if field in {"family", "type"}:
            family, kind = _FAMILY.get(record["kind"], (self.crn.split(":")[4], record["kind"]))
            return family if field == "family" else kind
        if field == "creation_date":
            return iso(record["created_at"])
        stored = {"account_id": self.account, "resource_id": record["id"], "resource_group_id": record.get("group")}
        return stored.get(field) or ""

    def document(self, fields: list[str]) -> dict[str, Any]:
        """Return the requested fields, all for "*"; the CRN is always included."""
        wanted = _FIELDS if "*" in fields else [field for field in _FIELDS if field == "crn" or field in fields]
        return {f: sorted(self.tags.values()) if f == "tags" else self.value(f) for f in wanted}


@dataclass(frozen=True, slots=True)
class Test:
    """`holds` tests one hit; `among` returns a superset of the matching CRNs, None if it is not known."""

    holds: Callable[[Hit], bool]
    among: Callable[[World], Collection[str] | None] = lambda world: None


def _any(tests: list[Test]) -> Test:
    def among(world: World) -> Collection[str] | None:
        found: set[str] = set()
        for test in tests:
            some = test.among(world)
            if some is None:
                return None
            found.update(some)
        return found

    return Test(lambda hit: any(test.holds(hit) for test in tests), among)


def _all(tests: list[Test]) -> Test:
    def among(world: World) -> Collection[str] | None:
        known = [some for test in tests if (some := test.among(world)) is not None]
        return min(known, key=len, default=None)

    return Test(lambda hit: all(test.holds(hit) for test in tests), among)


@lru_cache(1000)  # the same questions come again and again
def _parse(query: str) -> Test:
    return _Parser(query).parse()


class _Parser:
    """Recursive descent over OR, AND (also by juxtaposition), NOT, parentheses and `field:value` terms."""

    def __init__(self, query: str) -> None:
        self._tokens: list[str] = []
        at = 0
        query = query.strip()
        while at < len(query):
            found = _TOKEN.match(query, at)
            if found is None:
                raise errors.vpc(400, "invalid_value", f"The query cannot be parsed: {query}", "query", query)
            self._tokens.append(found.group(1))
            at = found.end()

    def parse(self) -> Test:
        test = self._either()
        if self._tokens:
            raise errors.vpc(400, "invalid_value", f"The query cannot be parsed at {self._tokens[0]}", "query")
        return test

    def _either(self) -> Test:
        tests = [self._both()]
        while self._tokens and self._tokens[0] == "OR":
            self._tokens.pop(0)
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else _any(tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._tokens and self._tokens[0] not in {"OR", ")"}:
            if self._tokens[0] == "AND":
                self._tokens.pop(0)
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else _all(tests)

    def _one(self) -> Test:
        word = self._tokens.pop(0) if self._tokens else ""
        if word == "NOT":
            inner = self._one()
            return Test(lambda hit: not inner.holds(hit))
        if word == "(":
            group = self._either()
            if not self._tokens or self._tokens.pop(0) != ")":
                raise errors.vpc(400, "invalid_value", "The query lacks a closing parenthesis", "query")
            return group
        if word in {"", ")", "AND", "OR"}:
            raise errors.vpc(400, "invalid_value", "The query lacks a term", "query")
        return _term(word)


def _pieces(text: str) -> list[tuple[str, str]]:
    """Return each character as (literal, ""), and each wildcard as ("", its regular expression).

    A wildcard that is escaped or inside quotes is a literal character.
    """
    quoted = text.startswith('"')
    found = _PIECE.findall(text[1:-1] if quoted else text)
    wildcards = {} if quoted else {"*": ".*", "?": "."}
    return [
        ("", wildcards[mark]) if mark in wildcards else (escaped or mark or char, "") for escaped, mark, char in found
    ]


def _term(text: str) -> Test:
    field, colon, value = text.partition(":")
    if text.startswith('"') or not colon:
        field, value = "", text
    pieces = _pieces(value.casefold())
    value = "".join(literal for literal, _ in pieces)
    wild = [place for place, (_, wildcard) in enumerate(pieces) if wildcard]
    plain = not wild
    ends_open = wild == [len(pieces) - 1] and pieces[-1][1] == ".*"
    pattern = None if plain or ends_open else re.compile("".join(w or re.escape(literal) for literal, w in pieces))

    def fits(held: str) -> bool:
        if pattern is None:
            return held.startswith(value) if ends_open else held == value
        return pattern.fullmatch(held) is not None

    def tagged(hit: Hit) -> bool:
        return value in hit.tags if plain else any(map(fits, hit.tags))

    def tagged_crns(world: World) -> Collection[str] | None:
        if plain:
            return world.crns_with_tag(value)
        return world.crns_with_tag_prefix(value) if ends_open else None

    def itself(world: World) -> Collection[str] | None:
        return (value,) if plain and value in world.data["index"] else None

    if field == "tags":
        return Test(tagged, tagged_crns)
    if field:
        return Test(
            lambda hit: fits(str(hit.value(field)).casefold()), itself if field == "crn" else lambda world: None
        )
    return Test(lambda hit: tagged(hit) or fits(hit.record["name"].casefold()) or fits(hit.crn.casefold()))


def _hits(call: Call, among: Collection[str] | None) -> Iterator[tuple[int, Hit]]:
    """Yield the hits that the replica shows now (out of `among`), oldest first, each with a stable number."""
    lags, reclaimed = call.settings.lags, call.query.get("is_reclaimed", "false").lower()
    newest = call.now - call.lag(lags.new)
    gone, tagged = call.now - call.lag(lags.ghost), call.now - call.lag(lags.tags)
    account = call.settings.account_id
    for number, (crn, entry) in enumerate(call.world.data["index"].items(), start=1):
        if among is not None and crn not in among:
            continue
        if entry["from"] > newest or (entry["to"] is not None and entry["to"] <= gone):
            continue
        record = call.world.get(entry["kind"], entry["id"]) or entry["last"]
        if reclaimed != "any" and (record["state"] == "pending_reclamation") != (reclaimed == "true"):
            continue
        yield number, Hit(crn, account, record, call.world.tags_seen(crn, tagged))


def search(call: Call) -> Reply:
    """Answer one page. A full page has a cursor, which contains the query of the first page."""
    body = call.json()
    text = call.query.get("limit", "10")
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise errors.vpc(400, "invalid_value", f"limit must be between 1 and 1000, not {text}", "limit", text)
    limit = min(int(text), call.settings.page_size or 1000)
    after, query = 0, body.get("query") or "*"
    if not isinstance(query, str):
        raise errors.vpc(400, "invalid_type", "query must be a string", "query")
    if cursor := body.get("search_cursor"):
        number, _, query = str(cursor).partition("/")
        if not number.isdigit():
            raise errors.vpc(400, "invalid_value", "search_cursor is not known", "search_cursor")
        after = int(number)
    test = Test(lambda hit: True) if query.strip() in {"*", "*:*"} else _parse(query)
    hits = _hits(call, test.among(call.world))
    page = list(islice((row for row in hits if row[0] > after and test.holds(row[1])), limit))
    fields = body.get("fields") or ["name", "family", "type", "account_id"]
    answer: dict[str, Any] = {"limit": limit, "items": [hit.document(fields) for _, hit in page]}
    if len(page) == limit:
        answer["search_cursor"] = f"{page[-1][0]}/{query}"
    return Reply(200, answer)


ROUTES = (
    reads(
        "POST", "/search/v3/resources/search", "search.search", search,
        fields=served("query fields search_cursor"), query="account_id limit timeout is_reclaimed",
    ),
)  # fmt: skip
