"""``freehold keys``: show the operator's key ring, rotate it, bring keys to it, hand them on, give lost ones up.

No command prints a key but ``export``, whose purpose it is.
"""

from __future__ import annotations

import getpass
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Unpack

import click
import yaml

from freehold.cli.commands import lost_key
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.session import Session, open_session
from freehold.cli.objects.kinds import OURS
from freehold.cli.objects.manifests import read_text
from freehold.cli.objects.naming import NameSyntax, find_object
from freehold.cli.output import keys_report as report
from freehold.cli.output.formats import emit
from freehold.cli.output.hints import hint, notes
from freehold.cli.output.terminal import columns, say, tell, warn
from freehold.controllers.keyring.file import FileRing
from freehold.controllers.keyring.needs import KeyNeed, build_first_ring, need_of, read_needs
from freehold.controllers.keyring.secret import NAMESPACE, SecretRing, read_ring_text
from freehold.controllers.keyring.stored_form import (
    Acceptance,
    RingDocument,
    RingError,
    RingStore,
    StoredRing,
    dumps,
    find_added,
    parse_ring,
)
from freehold.kube.errors import KubeError
from freehold.tags.context import PROVIDERS
from freehold.tags.key_needs import tag_needs
from freehold.tags.policy.references import Reference


@dataclass(frozen=True)
class OpenRing:
    """The ring of one operator, and what its objects need of it."""

    store: RingStore
    found: StoredRing
    needed: Sequence[KeyNeed]
    session: Session
    namespace: str

    @property
    def document(self) -> RingDocument:
        """Raises CliError where there is no ring."""
        if self.found.document is None:
            raise CliError(
                f"there is no key ring in {self.store.where} yet; the operator makes the first one when it starts, "
                f"or: {hint('keys new')}"
            )
        return self.found.document

    async def write(self, document: RingDocument) -> None:
        await self.store.write(document, self.found.version)


@dataclass(frozen=True)
class RingTarget:
    """The key ring that is meant: a state directory's, or that of the operator in a cluster."""

    access: Access
    namespace: str


def ring_target(namespace: str, **where: Unpack[Where]) -> RingTarget:
    """Say whose ring is meant. Raises CliError when the state directory cannot be used."""
    return RingTarget(access(operator=False, install=False, **where), namespace or NAMESPACE)


def _run(where: RingTarget, command: Callable[[OpenRing], Awaitable[None]]) -> None:
    async def run() -> None:
        async with _open_ring(where) as place:
            await command(place)

    try:
        run_to_end(run())
    except RingError as problem:
        raise CliError(problem.message, notes()) from problem


@asynccontextmanager
async def _open_ring(where: RingTarget) -> AsyncIterator[OpenRing]:
    async with open_session(where.access) as session:
        state = where.access.state
        store: RingStore = FileRing(state.keys) if state else SecretRing(session.client, where.namespace)
        found = await store.read()
        try:
            needed = [*await read_needs(session.client, OURS), *await tag_needs(session.client, where.namespace)]
        except KubeError as problem:
            raise CliError(f"which keys the objects name cannot be told: {problem.message}") from problem
        yield OpenRing(store, found, needed, session, where.namespace)


def list_(where: RingTarget, output: str) -> None:
    """``freehold keys list``."""

    async def show(place: OpenRing) -> None:
        found = report.report(place.store.where, place.found.document, place.needed)
        if output != "table":
            emit(output, report.document(found))
            return
        tell(f"key ring in {place.store.where}" if place.found.document else f"no key ring in {place.store.where}")
        if found.rows:
            for line in columns([report.HEADS, *(report.cells(row, time.time()) for row in found.rows)]):
                say(line)
        for line in report.remarks(found):
            tell(line)

    _run(where, show)


def new(where: RingTarget) -> None:
    """``freehold keys new``."""

    async def make(place: OpenRing) -> None:
        before = place.found.document
        if before is None:
            made = build_first_ring(place.store.where, place.needed, time.time())
            await place.write(made)
            tell(f"key {made.writing} made: the first of a new key ring in {place.store.where}; make a backup of it")
            return
        made = before.add_new_key(time.time())
        await place.write(made)
        tell(f"key {made.writing} made: it writes from now on, and {before.writing} can still be read")
        tell(f"what the old key wrote is renewed over time, object by object; {hint('keys list')} counts what is left")
        tell(f"make a new backup of {place.store.where}")

    _run(where, make)


def add(where: RingTarget, filename: str) -> None:
    """``freehold keys add``. Raises CliError when the file holds no keys."""
    offered = _read_offered(filename)

    async def bring(place: OpenRing) -> None:
        before = place.found.document
        if before is not None:
            after = before.add_keys_of(offered)
        elif offered.writing:
            after = offered
        else:  # keys of single objects are no ring: its own first key writes
            after = RingDocument.create(time.time()).add_keys_of(offered)
        keys, handed_on = find_added(before, after)
        if after == before:
            tell(f"nothing to add: the key ring in {place.store.where} holds all of these keys")
            return
        await place.write(after)
        for line in report.additions(keys, handed_on, after.writing, before is None, place.store.where):
            tell(line)
        tell(report.describe_mended(report.lacking(before, place.needed), report.lacking(after, place.needed)))

    _run(where, bring)


def export(where: RingTarget, words: Sequence[str]) -> None:
    """``freehold keys export``: the document on standard output, nothing else."""

    async def hand_on(place: OpenRing) -> None:
        document = place.document
        if words:
            document = _ring_of_object(place, await _need_of_named(place, words))
            warn("whoever has this can sign for that one object: bring it over a safe way, then delete it")
        else:
            warn("whoever has this can sign for every object of this operator: keep it as secret as a password")
        click.echo(dumps(document), nl=False)

    _run(where, hand_on)


def accept(where: RingTarget, digest: str, without: Sequence[str], agreed: str) -> None:
    """``freehold keys accept``: a list of what would be believed; a note in the ring with the list's digest."""

    async def give_up(place: OpenRing) -> None:
        # Without a ring this is the way back from the loss of the whole of it: a new one, which notes what is lost.
        document = place.found.document or RingDocument.create(time.time())
        concerned = [need for need in place.needed if report.is_unaccepted(document, digest, need)]
        if not concerned and digest in document.accepted:
            tell(f"key {digest} is noted as lost already, for every object that names it")
            return
        if not concerned:
            raise CliError(*_say_nothing_lost(document, digest, place.needed))
        shown = await lost_key.read(place.session, where.access, document, digest, concerned)
        left_out = lost_key.left_out(shown, without)
        if not agreed or agreed != shown.digest:
            if place.found.document is None:
                tell(f"there is no key ring in {place.store.where}: a new one is made, and notes what is lost")
            for line in report.acceptance(document, digest, concerned):
                tell(line)
            lost_key.print_list(shown, left_out, place.session.clock.now())
            lost_key.print_ways(shown, left_out, without, agreed=agreed)
            return
        lost_key.require_acceptable(shown, left_out)
        acceptance = Acceptance(
            float(int(time.time())), getpass.getuser(), lost_key.select_accepted_records(shown, left_out)
        )
        await place.write(document.accept_loss(digest, acceptance))
        tell(f"key {digest} is noted as lost in {place.store.where}; should it turn up: {hint('keys add', 'FILE')}")
        lost_key.print_rest(shown, left_out)

    _run(where, give_up)


def remove(where: RingTarget, digest: str) -> None:
    """``freehold keys remove``."""

    async def take_out(place: OpenRing) -> None:
        document = place.document
        if digest == document.writing:
            raise CliError(f"key {digest} writes; make another one first: {hint('keys new')}")
        handed_on = {pair for pair in document.handed_on if pair[0] == digest}
        if digest not in document.keys and not handed_on and digest not in document.accepted:
            raise CliError(f"the key ring in {place.store.where} has no key {digest}; {hint('keys list')} shows them")
        refuse_in_use(digest, place.needed)
        wait = document.find_write_seconds(digest, time.time())
        if wait:
            raise CliError(
                f"an operator that has not read the key ring again may still write with key {digest}; run this again "
                f"in {int(wait) + 1} s"
            )
        await place.write(document.remove_key(digest))
        tell(f"key {digest} removed from {place.store.where}; no object names it")

    _run(where, take_out)


def refuse_in_use(digest: str, needed: Sequence[KeyNeed]) -> None:
    """Raise CliError where an object names the key, or may name it."""
    using = [need for need in needed if digest in need.digests]
    if using:
        raise CliError(
            f"key {digest} is still needed: without it these objects cannot be served; they are renewed over time",
            [str(need.object) for need in using],
        )
    damaged = [need for need in needed if need.damaged]
    if damaged:
        raise CliError(
            f"whether key {digest} is still needed cannot be told: the journal of these objects cannot be read",
            [str(need.object) for need in damaged],
        )


def _read_offered(filename: str) -> RingDocument:
    """Read a ring, an export, or a Secret as kubectl prints it. Raises CliError."""
    shown = "standard input" if filename == "-" else filename
    try:
        content = yaml.safe_load(read_text(filename, shown))
        if isinstance(content, dict) and content.get("kind") == "Secret":
            content = json.loads(read_ring_text(content, shown) or "null")
        return parse_ring(content, shown)
    except (yaml.YAMLError, ValueError):  # not shown: it may quote a key
        raise CliError(f"{shown} is neither a key ring nor a Secret that holds one") from None
    except RingError as problem:
        raise CliError(problem.message, notes()) from problem


async def _need_of_named(place: OpenRing, words: Sequence[str]) -> KeyNeed:
    """Return what the object that the words name needs of the ring. Raises CliError."""
    naming = NameSyntax("keys export", (*OURS, *PROVIDERS.values()), with_namespace=True)
    resource, key = await find_object(place.session, naming, words, "")
    if resource in OURS:
        return need_of(await place.session.client.get(resource, key))
    signed = str(Reference(resource.kind, *key))
    return next((each for each in place.needed if each.uuid == signed), KeyNeed(key))


def _ring_of_object(place: OpenRing, need: KeyNeed) -> RingDocument:
    if need.damaged:
        raise CliError(f"the journal of {need.object} cannot be read: which key it needs cannot be told")
    if not need.digests:
        raise CliError(f"{need.object} names no key of the ring: there is nothing to hand on for it")
    lacking = report.missing(place.document, need)
    if lacking:
        raise CliError(f"{need.object} names key {', '.join(sorted(lacking))}, which this key ring lacks")
    return place.document.derive_for_object(need.uuid)


def _say_nothing_lost(document: RingDocument, digest: str, needed: Sequence[KeyNeed]) -> tuple[str, list[str]]:
    if digest in document.keys:
        return f"key {digest} is in the ring: nothing is lost", []
    missing = frozenset[str]().union(*(report.missing(document, need) for need in needed))
    return f"no object misses key {digest}", [f"missing: {each}" for each in sorted(missing)]
