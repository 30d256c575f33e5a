"""Deletion of one object, before it is asked for: what goes in which order, what stays, and why. Pure.

It is told from the journal and the status alone. What only a cloud could tell is said to be so, with the command to
copy: a delete reads the marks of each resource again before it deletes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.api.vendor_ids import vendor_id
from freehold.collection.policy import Collect, Policy
from freehold.controllers.settings import Settings
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.reasons import EXTERNAL
from freehold.engine.resources import NodeKey
from freehold.kube.resources import Json, Resource
from freehold.page.attention import Subject, build_command
from freehold.page.edges import choose_keys
from freehold.page.stored_object import MOST_RESOURCES, as_mapping, cut_name, cut_text, read_stored
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.collection_condition import observe_collection
from freehold.providers.objects.gate import find_cluster_name
from freehold.providers.objects.identity import is_own
from freehold.providers.registry import SERVED, object_kind_of
from freehold.view.journal_view import describe_proof, match_lines, name_owner, read_journal
from freehold.view.object_view import Line, View, view

_SERVED: Final = {each.kind: each for each in SERVED}
_READ_AGAIN: Final = (
    "no cloud was asked for this: a delete reads the marks of each resource again, deletes what they prove, and keeps "
    "and names what has lost a mark"
)
_UNREADABLE: Final = "its journal cannot be read: a delete does nothing before a person has put it back"
_NO_JOURNAL: Final = "it has no journal: nothing of it is on record, so a delete finds only what has its marks"
_NO_ORDER: Final = (
    "the last wave has what no order is on record of, or what requires each other: the kinds decide when they go"
)


MOST_NAMED: Final = 10
"""Machines that a note names; the others are counted."""


class Action(StrEnum):
    """Fate of a resource in a delete."""

    DELETE = "delete"
    KEEP = "keep"
    """It is this object's, and stays."""
    LEAVE = "leave"
    """It is not this object's."""
    UNKNOWN = "unknown"
    """Only the cloud can tell."""


@dataclass(frozen=True)
class Item:
    """One resource in a deletion."""

    key: str
    kind: str
    name: str
    id: str
    action: Action
    why: str

    def to_json(self) -> Json:
        return {
            "key": self.key, "kind": self.kind, "name": self.name, "id": self.id, "action": self.action.value,
            "why": self.why,
        }  # fmt: skip


def build_deletion(
    resource: Resource,
    raw: Json,
    ring: KeyRing | None,
    settings: Settings,
    around: Around = NOTHING_AROUND,
    others: Iterable[Json] = (),
) -> Json:
    """Build the plan of a delete of a stored object. ``ring`` is the operator's, None where it has none.

    ``around`` is what surrounds it, as far as the caches have it: what the infrastructure of a control plane says of
    the collection counts too. ``others`` are cached objects that the viewer may see: machines among them that are of
    its cluster must go first.
    """
    stored = read_stored(resource, raw)
    seen, journal, subject = view(stored), read_journal(stored), Subject(stored)
    untouched = _explain_untouched(stored, journal)
    items = {} if journal is None or untouched else _build_items(journal, seen.lines, ring)
    waves = [] if journal is None or untouched else find_waves(journal)
    going = [[items[key] for key in sorted(wave) if items[key].action is not Action.KEEP] for wave in waves]
    shown, left_out = _cut_waves(going)
    staying = _leave_all(seen, untouched) if untouched else _find_staying(journal, items, seen)
    notes = [untouched] if untouched else [*_find_pause(stored), *_find_notes(stored, journal, left_out)]
    return {
        "waves": [[item.to_json() for item in wave] for wave in shown],
        "stays": [item.to_json() for item in staying[:MOST_RESOURCES]],
        "collection": _build_collection(stored, seen, journal, settings, around),
        "command": build_command(subject, "down"),
        "plan_command": build_command(subject, "plan", "--down"),
        "notes": [*([] if untouched else _describe_machines(stored, others)), *notes],
    }


def _explain_untouched(stored: Json, journal: Journal | None) -> str:
    """Explain why the operator deletes nothing for the object, whatever its journal says; empty where it does."""
    manager = stored["metadata"]["annotations"].get(names.MANAGED_BY_ANNOTATION)
    if manager is not None and manager != names.MANAGED_BY_FREEHOLD:
        return f"something else manages it (annotation {names.MANAGED_BY_ANNOTATION}): nothing is deleted by Freehold"
    if journal is not None and not is_own(stored, journal):
        owner = name_owner(journal)
        return f"its journal is a copy of that of {owner}: nothing is deleted for it before a person has decided"
    return ""


def _leave_all(seen: View, why: str) -> list[Item]:
    """List what the status shows as left alone, for this reason."""
    return [
        Item(key, cut_name(line.kind), cut_name(line.name), cut_name(line.id), Action.LEAVE, cut_text(why))
        for line, key in zip(seen.lines, choose_keys(seen.lines), strict=True)
        if line.id and line.state not in ("Gone", "NotCreated") and line.kind != EXTERNAL
    ]


def _find_pause(stored: Json) -> list[str]:
    paused = find_condition(stored["status"]["conditions"], names.PAUSED) or {}
    is_paused = names.PAUSED_ANNOTATION in stored["metadata"]["annotations"] or paused.get("status") == "True"
    return ["it is paused: a delete waits until the pause is lifted"] if is_paused else []


def find_waves(journal: Journal) -> list[list[NodeKey]]:
    """Find in which waves what is on record as ours goes: each resource after all that requires it.

    It is the order of :mod:`freehold.engine.deletion_order` in one step, with the edges on record. What has none, or
    requires itself by others, as in a journal that somebody edited, comes last.
    """
    entries = {str(key): entry for key, entry in journal.entries.items()}
    unordered = {str(key) for key, entry in journal.claimed.items() if entry.requires is None}
    requires = {key: _edges(key, entry, entries) for key, entry in entries.items() if key not in unordered}
    users = dict.fromkeys(requires, 0)
    for those in requires.values():
        for each in those & users.keys():
            users[each] += 1
    waves: list[list[NodeKey]] = []
    free = [key for key, count in users.items() if not count]
    while free:
        waves.append([NodeKey.parse(key) for key in free if entries[key].state.is_claimed])
        gone, free = free, []
        for key in gone:
            del users[key]
            for each in requires[key] & users.keys():
                users[each] -= 1
                if not users[each]:
                    free.append(each)
    last = [NodeKey.parse(key) for key in (*users, *unordered) if entries[key].state.is_claimed]
    return [wave for wave in (*waves, last) if wave]


def _edges(key: str, entry: Entry, entries: Collection[str]) -> set[str]:
    return {each for each in entry.requires or () if each in entries and each != key}


def _build_items(journal: Journal, lines: Sequence[Line], ring: KeyRing | None) -> dict[NodeKey, Item]:
    """Build an item for each record, named as its row in the status is."""
    matched, keys = match_lines(journal, lines), choose_keys(lines)
    found: dict[NodeKey, Item] = {}
    for key, entry in journal.entries.items():
        index = matched.get(str(key))
        line = None if index is None else lines[index]
        action, why = _decide(key, entry, journal, ring, line)
        name = cut_name(line.name if line else key.logical)
        shown = cut_name(str(key)) if index is None else keys[index]
        found[key] = Item(shown, cut_name(key.kind), name, cut_name(vendor_id(entry.id)), action, cut_text(why))
    return found


def _decide(
    key: NodeKey, entry: Entry, journal: Journal, ring: KeyRing | None, line: Line | None
) -> tuple[Action, str]:
    """Decide what a delete does with a resource, as far as its record tells."""
    if line is not None and line.state == "Kept":
        return Action.KEEP, line.message or line.reason
    proof = describe_proof(key, entry, journal, ring)
    match entry.state:
        case RecordState.OWNED | RecordState.RECORDED if ring is not None and not _is_signed(key, entry, journal, ring):
            return Action.UNKNOWN, f"{proof}: only its marks can prove it, and they are read in the delete"
        case RecordState.OWNED | RecordState.RECORDED:
            return Action.DELETE, proof
        case RecordState.INTENDED:
            return Action.UNKNOWN, f"{proof}: it is looked for first, and deleted if it is found and proven"
    return Action.LEAVE, proof


def _is_signed(key: NodeKey, entry: Entry, journal: Journal, ring: KeyRing) -> bool:
    keys = ring.derive_keys(journal.owner)
    return keys.vouches(entry.key, entry.signature, key.kind, entry.id, entry.incarnation)


def _find_staying(journal: Journal | None, items: Mapping[NodeKey, Item], seen: View) -> list[Item]:
    """Find what stays: what is on record and not ours, and what the status shows and no record has."""
    entries = journal.entries if journal else {}
    staying = [
        items[key]
        for key, entry in entries.items()
        if items[key].action is Action.KEEP or not (entry.state.is_claimed or entry.state is RecordState.VACANT)
    ]
    matched = set(match_lines(journal, seen.lines).values()) if journal else set()
    for index, (line, key) in enumerate(zip(seen.lines, choose_keys(seen.lines), strict=True)):
        if index in matched or not line.id or line.state in ("Gone", "NotCreated") or line.kind == EXTERNAL:
            continue
        staying.append(_build_unrecorded(line, key))
    return staying


def _build_unrecorded(line: Line, key: str) -> Item:
    if line.state == "Kept" or line.ownership == "unmanaged":
        ours = line.ownership in names.OURS
        action, why = (Action.KEEP if ours else Action.LEAVE), line.note or "not made by this object"
    else:
        action, why = Action.UNKNOWN, "it is on no record of this object: a delete takes it only if its marks prove it"
    return Item(key, cut_name(line.kind), cut_name(line.name), cut_name(line.id), action, cut_text(why))


def _cut_waves(waves: Sequence[Sequence[Item]]) -> tuple[list[list[Item]], int]:
    """Cut the waves where they have more than can be shown; return how many are left out, too."""
    shown: list[list[Item]] = []
    room = MOST_RESOURCES
    for wave in waves:
        shown.append(list(wave[:room]))
        room -= len(shown[-1])
    return [wave for wave in shown if wave], sum(map(len, waves)) - sum(map(len, shown))


def _build_collection(stored: Json, seen: View, journal: Journal | None, settings: Settings, around: Around) -> Json:
    """Tell what the collector does with what workloads left, by the object's own words. ``seen``: what it has told."""
    policy = None if journal is None else _find_policy(stored, journal, settings, around)
    said = find_condition(stored["status"]["conditions"], names.EXTERNAL_RESOURCE_GC) or {}
    why = observe_collection(policy).message if policy is not None else str(said.get("message") or "")
    tasks = [each.value for each in policy.tasks] if isinstance(policy, Collect) else []
    told = [f"{line.state}: {line.message or line.reason}" for line in seen.lines if line.kind == EXTERNAL]
    collects = None if policy is None else isinstance(policy, Collect)
    command = build_command(Subject(stored), "gc", "plan", name=Subject(stored).cluster) if policy is not None else ""
    return {
        "collects": collects,
        "why": cut_text(why) or _explain_no_policy(stored),
        "tasks": tasks,
        "command": command,
        "seen": [cut_text(each) for each in told[:MOST_RESOURCES]],
    }


def _explain_no_policy(stored: Json) -> str:
    served = _SERVED.get(stored["kind"])
    if served is None or not served.collectable:
        return "nothing is collected with an object of this kind"
    return "what is stored of the object does not tell whether what its workloads left is collected"


def _find_policy(stored: Json, journal: Journal, settings: Settings, around: Around) -> Policy | None:
    served = _SERVED.get(stored["kind"])
    adapt = object_kind_of(served).adapt_unasked if served is not None and served.collectable else None
    if adapt is None:
        return None
    try:
        wanted = adapt(settings.gates, settings.gc_selector).find_collection(stored, journal, around)
    except (AttributeError, KeyError, TypeError, ValueError):  # a journal that somebody wrote: the delete says so
        return None
    return wanted.policy if wanted is not None else None


def _describe_machines(stored: Json, others: Iterable[Json]) -> list[str]:
    """Describe the machines that must go before it (docs/reference/capi-contract.md C22)."""
    served = _SERVED.get(stored["kind"])
    if served is None or not served.machines:
        return []
    kinds, cluster = {each.kind for each in served.machines}, find_cluster_name(stored, served.link)
    found = sorted(
        f"{each['kind']} {cut_name(metadata.get('name'))}"
        for each in others
        if each.get("kind") in kinds
        and (metadata := as_mapping(each.get("metadata"))).get("namespace", "") == stored["metadata"]["namespace"]
        and as_mapping(metadata.get("labels")).get(names.CLUSTER_NAME_LABEL) == cluster
    )
    if not found:
        return []
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return [f"its delete waits until the machines of its cluster are gone: {', '.join(found[:MOST_NAMED])}{more}"]


def _find_notes(stored: Json, journal: Journal | None, left_out: int) -> list[str]:
    if journal is None:
        corrupt = names.JOURNAL_ANNOTATION in stored["metadata"]["annotations"]
        return [_UNREADABLE if corrupt else _NO_JOURNAL]
    notes = [_READ_AGAIN]
    if any(entry.requires is None for entry in journal.claimed.values()):
        notes.append(_NO_ORDER)
    if left_out:
        notes.append(f"{left_out} more resources are not shown")
    return notes
