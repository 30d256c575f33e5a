"""The list that a person looks through before a key is given up for lost: each resource that would be believed."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING

from freehold.api.vendor_ids import vendor_id
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access
from freehold.cli.local.cloud_reads import accounts_of
from freehold.cli.local.credentials import has_some
from freehold.cli.local.session import Session
from freehold.cli.local.state_directory import CloudChoice
from freehold.cli.objects.kinds import OURS
from freehold.cli.output.hints import hint
from freehold.cli.output.keys_report import unaccepted_records
from freehold.cli.output.terminal import duration, say, tell
from freehold.controllers.keyring.lost_key_evidence import (
    ObjectEvidence,
    RecordEvidence,
    RecordStanding,
    build_unread_rows,
    digest_list,
    gather_evidence,
)
from freehold.controllers.keyring.needs import KeyNeed, need_of
from freehold.controllers.keyring.stored_form import Acceptance, RecordName, RingDocument
from freehold.engine.drivers import User
from freehold.engine.errors import CloudError
from freehold.kube.errors import ObjectNotFound
from freehold.kube.resources import Json
from freehold.providers.objects.identity import read_record
from freehold.providers.registry import PROVIDERS

if TYPE_CHECKING:
    from freehold.providers.access.accounts import CloudAccount

MOST_NAMED, LONGEST_TAG = 8, 60
"""So many tags, contents and users of a resource are shown, and so many letters of each tag."""


@dataclass(frozen=True)
class LostKeyList:
    """The records under the key ``lost`` that nobody has accepted yet, by object. ``needs`` are the objects'."""

    lost: str
    objects: tuple[ObjectEvidence, ...]
    needs: tuple[KeyNeed, ...]

    @property
    def digest(self) -> str:
        return digest_list(self.lost, self.objects)

    @property
    def rows(self) -> list[tuple[str, RecordEvidence]]:
        """Each record with what names it after ``--without``."""
        return [(self.path(each, row), row) for each in self.objects for row in each.rows]

    def path(self, of: ObjectEvidence, row: RecordEvidence) -> str:
        """NAMESPACE/NAME/NODE."""
        return f"{self.title(of)}/{row.record.node}"

    def title(self, of: ObjectEvidence) -> str:
        """NAMESPACE/NAME, with the kind before it where objects of two kinds have the name."""
        alone = sum(each.object == of.object and bool(each.rows) for each in self.objects) == 1
        return str(of.object) if alone else f"{of.kind}/{of.object}"


async def read(
    session: Session, target: Access, document: RingDocument, lost: str, concerned: Sequence[KeyNeed]
) -> LostKeyList:
    """Ask the cloud about each record. What it cannot be asked about is on the list as such."""
    resources = {each.kind: each for each in OURS}
    objects, needs = [], []
    async with AsyncExitStack() as stack:
        accounts = _Accounts(session, target, stack)
        for need in concerned:
            if need.kind not in resources:
                needs.append(need)
                objects.append(ObjectEvidence("", need.object, need.uuid))
                continue
            resource = resources[need.kind]
            try:
                raw = await session.client.get(resource, need.object)
            except ObjectNotFound:
                continue
            raw = {"apiVersion": resource.api_version, "kind": resource.kind, **raw}
            now = need_of(raw)
            rows = await _rows(session, accounts, raw, document, lost, now)
            needs.append(now)
            objects.append(ObjectEvidence(need.kind, need.object, now.uuid, rows))
    return LostKeyList(lost, tuple(objects), tuple(needs))


class _Accounts:
    """The accounts of objects. Their clouds are started for the first object that has records."""

    def __init__(self, session: Session, target: Access, stack: AsyncExitStack) -> None:
        self._given = session, target, stack
        self._of: Callable[[Json], Awaitable[CloudAccount]] | None = None

    async def find_account(self, raw: Json) -> CloudAccount:
        """Return the account of an object. Raises CliError where it cannot be asked."""
        if self._of is None:
            _require_credentials(*self._given[:2])
            self._of = await accounts_of(*self._given)
        return await self._of(raw)


def _require_credentials(session: Session, target: Access) -> None:
    """Raise CliError where there are none for any cloud."""
    if session.simulator or has_some(os.environ):
        return
    if target.state is None or target.state.choose(simulate=False) is CloudChoice.REAL:
        variables = " or ".join(provider.variable for provider in PROVIDERS)
        or_else = ", or --simulator URL" if target.kubeconfig else ""
        raise CliError(f"there are no credentials here: set {variables} as the operator has it{or_else}")


async def _rows(
    session: Session, accounts: _Accounts, raw: Json, document: RingDocument, lost: str, need: KeyNeed
) -> tuple[RecordEvidence, ...]:
    from freehold.controllers.other_objects import OtherStoredObjects
    from freehold.providers.registry import SERVED_RESOURCES

    records = unaccepted_records(document, lost, need)
    journal = read_record(raw)
    if not records or journal is None:
        return ()
    ring = document.accept_loss(lost, Acceptance(0.0, "", {need.uuid: records})).build_ring()
    try:
        account = await accounts.find_account(raw)
        known = await account.read_account()
    except CliError as problem:
        return build_unread_rows(records, problem.sentence)
    except CloudError as error:
        return build_unread_rows(records, error.message)
    if journal.account not in ("", known):
        return build_unread_rows(
            records, f"it is of account {journal.account}, and the credentials here are of {known}"
        )
    others = OtherStoredObjects(session.client, SERVED_RESOURCES)
    return await gather_evidence(journal, records, replace(account.build_read_only_deps(ring), others=others))


def left_out(shown: LostKeyList, without: Sequence[str]) -> frozenset[str]:
    """Return the paths that a person leaves out. Raises CliError for what names nothing on the list."""
    paths = [path for path, _ in shown.rows]
    found = set[str]()
    for word in without:
        fit = {path for path in paths if path == word or path.startswith(f"{word}/")}
        if not fit:
            raise CliError(f"--without {word}: no record of the list has this name; nothing has been changed")
        found |= fit
    return frozenset(found)


def require_acceptable(shown: LostKeyList, out: Collection[str]) -> None:
    """Raise CliError where a record could not be shown, or two objects have one identity."""
    hidden = [
        f"{path}: {row.why}" for path, row in shown.rows if row.standing is RecordStanding.UNREAD and path not in out
    ]
    if hidden:
        raise CliError(
            "these records could not be shown, so they cannot be accepted; leave them out, or ask again", hidden
        )
    uuids = [need.uuid for need in shown.needs]
    twins = [str(need.object) for need in shown.needs if uuids.count(need.uuid) > 1]
    if twins:
        raise CliError(
            "these objects have the same identity, so one is a copy, and whose records are true cannot be told", twins
        )


def select_accepted_records(shown: LostKeyList, out: Collection[str]) -> Mapping[str, frozenset[RecordName]]:
    """Return what a person accepts: of each object the records that its marks agree with, and that are not left out."""
    return {
        each.uuid: frozenset(
            row.record
            for row in each.rows
            if row.standing is RecordStanding.AGREES and shown.path(each, row) not in out
        )
        for each in shown.objects
    }


def print_list(shown: LostKeyList, out: Collection[str], now: float) -> None:
    """Print each record with what the cloud says of its resource; ``now`` in epoch seconds of domain time."""
    listed = {row.record.id for path, row in shown.rows if row.standing is RecordStanding.AGREES and path not in out}
    for standing, head in _HEADS.items():
        rows = [(path, row) for path, row in shown.rows if row.standing is standing and path not in out]
        _print_section(head, rows, listed, now)
    _print_section("left out:", [(path, row) for path, row in shown.rows if path in out], listed, now)


_HEADS = {
    RecordStanding.AGREES: "record and marks agree, so these would be believed:",
    RecordStanding.DIFFERS: "the marks do not show that these are the object's, so they are not believed:",
    RecordStanding.UNREAD: "these could not be read, and cannot be accepted:",
    RecordStanding.GONE: "these do not exist any more:",
}


def _print_section(head: str, rows: Sequence[tuple[str, RecordEvidence]], listed: Collection[str], now: float) -> None:
    if not rows:
        return
    say()
    tell(head)
    for path, row in rows:
        say(f"  {path}")
        for line in details(row, listed, now):
            tell(f"      {line}")


def details(row: RecordEvidence, listed: Collection[str], now: float) -> Iterator[str]:
    """Yield what the cloud says of one resource; ``listed`` are the ids of those that the list has anyway."""
    ident = vendor_id(row.record.id)
    if row.standing in (RecordStanding.GONE, RecordStanding.UNREAD):
        yield ": ".join(filter(None, (ident, row.why)))
        return
    yield f"{ident}, {_quote(row.name)}"
    if row.why:
        yield row.why
    if row.created_at is not None:
        made = f"{datetime.fromtimestamp(row.created_at, UTC):%Y-%m-%d %H:%M} UTC"
        by = f" by {row.created_by}" if row.created_by else ""
        yield f"made {duration(now - row.created_at)} ago, {made}{by}"
    if row.marked_on:
        yield f"its mark is on {row.marked_on}"
    else:
        yield f"tags: {_list_some([_quote(each) for each in row.tags])}" if row.tags else "no tags but the marks"
    if row.inside is not None:
        yield f"in it: {_list_others(row.inside, listed)}"
    if row.users is not None:
        yield f"used by: {_list_others(row.users, listed)}"
    if row.others:
        yield f"it is on record for {', '.join(row.others)}, too"


def _quote(text: str) -> str:
    """Put it in quotation marks: what somebody may have written must not look like what the cloud says."""
    return json.dumps(text[:LONGEST_TAG], ensure_ascii=False)


def _list_others(several: Sequence[User], listed: Collection[str]) -> str:
    """Return those that are not on the list by name."""
    new = [_name_user(each) for each in several if each.id not in listed]
    known = len(several) - len(new)
    parts = [*([f"{known} of this list"] if known else []), *([_list_some(new)] if new else [])]
    return ", and ".join(parts) or "nothing"


def _name_user(user: User) -> str:
    ident = vendor_id(user.id)
    return user.text if not ident or ident in user.text else f"{user.text} ({ident})"


def _list_some(texts: Sequence[str]) -> str:
    more = len(texts) - MOST_NAMED
    return ", ".join(texts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def print_ways(shown: LostKeyList, out: Collection[str], without: Sequence[str], *, agreed: str) -> None:
    """Print the commands with which a person goes on. Raises CliError where ``agreed`` is another list's digest."""
    say()
    hidden = sorted({path for path, row in shown.rows if row.standing is RecordStanding.UNREAD} - set(out))
    believed = [path for path, row in shown.rows if row.standing is RecordStanding.AGREES and path not in out]
    command = accept_command(shown, [*without, *_shorten_paths(shown, hidden)])
    if believed:
        tell(
            "where nothing is said of when a resource was made, what is in it, or what uses it, no read of the cloud "
            "shows that"
        )
        tell(f"to leave one out, so that it waits for your decision, add for example: --without {quote(believed[-1])}")
    if hidden:
        tell("run this again where they can be read; or leave them out, so that each waits for your decision:")
    else:
        tell(f"to accept {'this list' if believed else 'the loss'}:")
    say(f"  {command}")
    if agreed:
        raise CliError("nothing has been changed: --yes has the digest of another list; look at this one")
    tell("nothing has been changed")


def _shorten_paths(shown: LostKeyList, paths: Sequence[str]) -> list[str]:
    """Return what names these records after ``--without``: an object, where it has no others."""
    words = list(paths)
    for each in shown.objects:
        own = {shown.path(each, row) for row in each.rows}
        if own and own <= set(words):
            words = [shown.title(each), *(path for path in words if path not in own)]
    return words


def accept_command(shown: LostKeyList, without: Sequence[str]) -> str:
    """Return the command that accepts the list without these records, on one line, so that it can be pasted."""
    left = (word for each in without for word in ("--without", each))
    return str(hint("keys accept", shown.lost, *left, "--yes", shown.digest))


def print_rest(shown: LostKeyList, out: Collection[str]) -> None:
    """Print what is not accepted, and waits for a person."""
    waits = [path for path, row in shown.rows if path in out or row.standing is RecordStanding.DIFFERS]
    if waits:
        tell(f"not accepted, and neither marked nor deleted: {', '.join(waits)}")
    for each in shown.objects:
        if any(shown.path(each, row) in waits for row in each.rows):
            tell(f"to decide: {hint('resolve', each.object.name, namespace=each.object.namespace)}")
