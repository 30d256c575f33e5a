"""``freehold resolve``: decide whether a resource is the object's, where no read can tell. The evidence first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Unpack

from freehold.api.vendor_ids import vendor_id
from freehold.cli.commands import copies
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.cloud_reads import account_of, plan_objects, simulator_of
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.session import Session, open_session
from freehold.cli.local.user_audit import who
from freehold.cli.objects.decisions import add_decisions, decide, journal_of, read_object, require_ring
from freehold.cli.objects.naming import NameSyntax, split_words
from freehold.cli.output.hints import Hint, hint
from freehold.cli.output.tables import with_ids
from freehold.cli.output.terminal import say, tell, warn, width
from freehold.kube.resources import Json, Key, Resource, key_of

if TYPE_CHECKING:
    from freehold.controllers.recovery.open_decisions import Candidate, OpenDecision
    from freehold.engine.journal import Entry
    from freehold.engine.keys import KeyRing
    from freehold.engine.resources import NodeKey


def run(
    words: Sequence[str], verdict: str | None, copied: str | None, yes: bool, namespace: str, **where: Unpack[Where]
) -> None:
    """Run the command. Raises CliError."""
    if copied and verdict:
        raise CliError(f"--{copied} is about the object itself: decide nothing else with it", code=MISUSED)
    if yes and not (verdict or copied):
        raise CliError("say what is decided: --mine or --not-mine", code=MISUSED)
    target = access(operator=yes and not copied, **where)
    if copied:
        run_to_end(_decide_about_copy(target, words, namespace, copied, yes=yes))
        return
    run_to_end(_resolve(target, words, verdict or "", namespace, yes=yes))


async def _resolve(target: Access, words: Sequence[str], verdict: str, namespace: str, *, yes: bool) -> None:
    from freehold.controllers.other_objects import OtherStoredObjects
    from freehold.controllers.recovery.open_decisions import find_open_decisions, find_owned, match_candidates
    from freehold.engine.decisions import Decision, Verdict
    from freehold.providers.registry import SERVED_RESOURCES

    async with open_session(target) as session, AsyncExitStack() as stack:
        name, rest = await split_words(session, NameSyntax("resolve"), words, namespace)
        asked = _parse_asked(rest, name, verdict, namespace)
        kind, raw = await read_object(session, NameSyntax("resolve", rest=tuple(rest)), name, namespace)
        key = _Decided(kind, key_of(raw), session.namespace)
        ring = await require_ring(target, session)
        simulator = await simulator_of(session, target, stack)
        account = await account_of(session, target, raw, stack, simulator)
        deps = replace(account.build_read_only_deps(ring), others=OtherStoredObjects(session.client, SERVED_RESOURCES))
        journal, deleting = journal_of(raw), "deletionTimestamp" in raw["metadata"]
        found = await find_open_decisions(journal, deps, deleting=deleting)
        if asked[0] and not match_candidates(found, *asked):
            asked = _id_of_shown(raw, asked[0]) or asked[0], asked[1]
            found += await find_owned(journal, deps, *asked)
        if not found and asked[0]:
            raise CliError(f"{asked[0]} is neither to be decided nor on record as {key}'s", [key.tree()])
        if not found:
            tell(f"{key}: nothing is left for a person to decide")
            return
        if not asked[0]:
            for each in found:
                _print(each)
            tell(f"to decide: {key.command('RESOURCE')} --mine, or --not-mine")
            return
        question, candidate = _choose(found, asked, verdict, key)
        _print(question)
        if not verdict:
            if question.unread:
                tell("decide when it can be read: try again")
                return
            for way in _list_ways(key, question, candidate, found):
                tell(f"to decide: {way}")
            return
        if question.owned and not question.lost and verdict == Verdict.MINE:
            tell(f"{question.entry.id} is this object's own already: nothing is to be decided")
            return
        named = candidate and (verdict == Verdict.MINE or question.recorded)
        ident = candidate.observed.id if candidate and named else ""
        now = round(session.clock.now(), 3)
        made = Decision(Verdict(verdict), str(question.key), ident, question.entry.attempt, who(), now)
        if not yes:
            _say_what_follows(question, candidate, verdict, deleting=deleting)
            if question.owned and verdict == Verdict.NOT_MINE and not deleting:
                wished = add_decisions(raw, [made], ring)
                await _say_what_comes_instead(session, target, wished, question.key, ring, simulator)
            tell(f"nothing was done. To decide so: {_command(key, question, ident, found)} --{verdict} --yes")
            return
        await decide(session, kind, raw, [made], ring)


@dataclass(frozen=True)
class _Decided:
    """The object that is decided about. ``usual``: the namespace that a command means without ``-n``."""

    resource: Resource
    key: Key
    usual: str

    def __str__(self) -> str:
        return str(self.key)

    def tree(self) -> Hint:
        """Return the command that shows what it has."""
        return NameSyntax("tree").exact((self.resource, self.key), self.usual)

    def command(self, *words: str) -> Hint:
        """Return the command that decides about this resource of it."""
        return NameSyntax("resolve", rest=words).exact((self.resource, self.key), self.usual)


def _id_of_shown(raw: Json, text: str) -> str:
    """Return the id of the resource that ``freehold tree`` shows under this name; empty where none is, or several."""
    shown = (raw.get("status") or {}).get("resources") or ()
    ids = {str(row.get("id")) for row in shown if text in (row["name"], f"{row['kind']}/{row['name']}")}
    return ids.pop() if len(ids) == 1 else ""


def _parse_asked(rest: Sequence[str], name: Sequence[str], verdict: str, namespace: str) -> tuple[str, str]:
    """Read the resource and the id that were given. Raises CliError."""
    if len(rest) > 2:
        raise CliError(f"{rest[2]} is one word too many: give an object, RESOURCE and ID", code=MISUSED)
    if verdict and not rest:
        this = hint("resolve", *name, "RESOURCE", namespace=namespace)
        raise CliError(f"say which resource: {this} --{verdict}", code=MISUSED)
    resource, ident = (*rest, "", "")[:2]
    return resource, ident


async def _decide_about_copy(target: Access, words: Sequence[str], namespace: str, copied: str, *, yes: bool) -> None:
    async with open_session(target) as session:
        name, rest = await split_words(session, NameSyntax("resolve"), words, namespace)
        if rest:
            raise CliError(f"--{copied} is about the object itself: name no resource with it", code=MISUSED)
        kind, raw = await read_object(session, NameSyntax("resolve", rest=(f"--{copied}",)), name, namespace)
        if copied == "new-cluster":
            await copies.make_new(session.client, kind, raw, yes=yes)
        else:
            ring = await require_ring(target, session)
            await copies.take_over(session.client, ring, copies.copy_of(kind, raw), yes=yes)


def _command(key: _Decided, question: OpenDecision, ident: str, among: Sequence[OpenDecision]) -> Hint:
    """Return the command that means this resource, or this create: by the node where the id alone means several."""
    from freehold.controllers.recovery.open_decisions import match_candidates

    shown = vendor_id(ident)
    words = (
        [shown]
        if shown and len(match_candidates(among, shown)) == 1
        else [str(question.key), *([shown] if shown else [])]
    )
    return key.command(*words)


def _list_ways(
    key: _Decided, question: OpenDecision, candidate: Candidate | None, among: Sequence[OpenDecision]
) -> list[str]:
    """Return the commands that decide: with one candidate or several, or with none that could be it."""
    ident = candidate.observed.id if candidate else "ID"
    may_be_mine = question.candidates and (question.lost or not question.owned)
    mine = [f"{_command(key, question, ident, among)} --mine"] if may_be_mine else []
    return [*mine, f"{_command(key, question, '', among)} --not-mine"]


def _choose(
    found: Sequence[OpenDecision], asked: tuple[str, str], verdict: str, key: _Decided
) -> tuple[OpenDecision, Candidate | None]:
    """Choose what is decided: one create, with --mine one resource, with --not-mine all of them. Raises CliError."""
    from freehold.controllers.recovery.open_decisions import match_candidates

    (resource, ident), fit = asked, match_candidates(found, *asked)
    if len(fit) != 1:
        what = f"{ident} of {resource}" if ident else resource
        if not fit and (unread := next((each.unread for each in found if each.unread), "")):
            raise CliError(f"{what} may be something that could not be read ({unread}). Try again")
        if not fit:
            raise CliError(f"{what} is none of what is to be decided")
        decided = f" --{verdict}" if verdict else ""
        own = [[str(question.key), *_id_to_say(one, verdict)] for question, one in fit]
        lines = [f"{key.command(*words)}{decided}" for words in own]
        raise CliError(f"{what} fits several of what is to be decided: say which", lines)
    question, candidate = fit[0]
    ids = [vendor_id(one.observed.id) for one in question.candidates]
    this = key.command(str(question.key))
    if verdict == "mine" and candidate is None:
        if question.unread:
            raise CliError(f"{question.key}: what it may have made could not be read ({question.unread}). Try again")
        if not ids:
            raise CliError(f"{question.key}: there is nothing in the cloud that could be it")
        raise CliError(f"{question.key}: say which of them it is, by its id", [f"{this} {each} --mine" for each in ids])
    by_id = candidate and resource not in (str(question.key), question.key.logical, question.name)
    if verdict == "not-mine" and (by_id or ident) and len(ids) > 1 and not question.recorded:
        said = f"{question.key} may have made {', '.join(ids)}. If it made none of them: {this} --not-mine"
        raise CliError(said)
    return question, candidate


def _id_to_say(candidate: Candidate | None, verdict: str) -> list[str]:
    """Return the id to say; none with --not-mine, because a create that had no effect made none of them."""
    return [vendor_id(candidate.observed.id)] if candidate and verdict != "not-mine" else []


def _print(question: OpenDecision) -> None:
    entry = question.entry
    if question.owned:
        lost = "; a mark of ours that it had is not on it any more, so a delete keeps it" if question.lost else ""
        tell(f"{question.key}: {entry.id} is on record as this object's own{lost}")
    elif question.recorded:
        tell(f"{question.key}: {entry.id} is on record for it; neither its marks nor a signature show that it is ours")
    else:
        _print_create(question, entry)
    if question.unread:
        tell(f"  what it may have made could not be read: {question.unread}")
    rows = [_row(one) for one in question.candidates]
    for line in with_ids(("NAME", "CREATED", "BY", "ID", "EVIDENCE"), rows, width()) if rows else ():
        say(line)
    if not rows and not question.unread:
        tell("  nothing in the cloud could be it")


def _print_create(question: OpenDecision, entry: Entry) -> None:
    sent = datetime.fromtimestamp(entry.opened, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if question.vanished and entry.gone:
        tell(f"{question.key}: {entry.gone} was made for it and has gone; whether another one is made is the question")
    elif question.vanished:
        tell(f"{question.key}: created {entry.fails} times, and vanished each time before it could be marked")
    else:
        by = f" as {entry.by}" if entry.by else ""
        tell(f"{question.key}: a create was sent at {sent}{by}; its outcome is unknown")


async def _say_what_comes_instead(
    session: Session, target: Access, wished: Json, key: NodeKey, ring: KeyRing, simulator: str
) -> None:
    """Plan the passes with the decision in place, and tell what they do for what the spec still wants."""
    (plan,) = await plan_objects(session, target, [wished], simulator, ring)
    for row in plan.rows:
        if (row.kind, row.logical) == (key.kind, key.logical) and not row.attribute:
            why = f": {row.reason}" if row.reason else ""
            tell(f"the spec still wants {row.kind} {row.name}. The next pass would {row.action}{why}")
    for problem in (*plan.problems, *plan.unanswered):
        warn(f"what the next pass does cannot be told: {problem}")


def _row(one: Candidate) -> tuple[str, ...]:
    seen = one.observed
    made = datetime.fromtimestamp(seen.created_at, UTC).strftime("%Y-%m-%d %H:%M:%S") if seen.created_at else "?"
    return seen.name, made, seen.created_by or "?", vendor_id(seen.id), one.evidence


def _say_what_follows(question: OpenDecision, candidate: Candidate | None, verdict: str, *, deleting: bool) -> None:
    if verdict == "mine" and candidate:
        tell(f"{candidate.observed.id} would be this object's own: it is marked, and deleted with the object")
    elif question.owned:
        tell(
            f"{question.entry.id} would be given up: our marks are taken off it, and it is neither changed nor deleted "
            "any more. What it needs stays with it when the object is deleted"
        )
    elif question.recorded:
        tell(
            f"{question.entry.id} would be taken off the record and left as it is"
            f"{'' if deleting else '; the next pass may create another one'}"
        )
    else:
        ids = ", ".join(vendor_id(one.observed.id) for one in question.candidates)
        left = f"{ids} would be left as {'it is' if len(question.candidates) == 1 else 'they are'}, and " if ids else ""
        again = "" if deleting else "; the next pass may create it again"
        tell(f"{left}the create of {question.key} would count as one without effect{again}")
