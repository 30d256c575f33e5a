"""The engine's safety lines, each with what it looks like when it is taken out.

A line is named by the function it stands in and its own text, so that a changed line is noticed here.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """``where``: module of freehold.lifecycle, and function or Class.function.

    ``families`` must notice in memory, and the one of ``powervs`` on the simulated IBM Cloud, where another line
    does not stand in for it.
    """

    name: str
    where: str
    line: str
    without: str
    families: tuple[str, ...]
    powervs: str = ""

    def __str__(self) -> str:
        return self.name


class Moved(AssertionError):
    """The safety line is not where it was: look what became of it."""


@contextlib.contextmanager
def mutated(mutation: Mutation) -> Iterator[None]:
    """The engine without that line."""
    module_name, _, path = mutation.where.partition(":")
    module = importlib.import_module(f"freehold.lifecycle.{module_name}")
    *classes, name = path.split(".")
    holder = getattr(module, classes[0]) if classes else module
    original = getattr(holder, name)
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(original)))
    if mutation.line not in source:
        raise Moved(f"{mutation.where} no longer has: {mutation.line}")
    changed = source.replace(mutation.line, mutation.without, 1)
    ast.parse(changed)
    space: dict[str, object] = {}
    exec(compile(changed, f"<{mutation.name}>", "exec"), vars(module), space)  # noqa: S102 - our own source
    rebound = [
        other
        for other_name, other in list(sys.modules.items())
        if other_name.startswith("freehold.lifecycle") and not classes and getattr(other, name, None) is original
    ]
    for target in [holder, *rebound]:
        setattr(target, name, space[name])
    try:
        yield
    finally:
        for target in [holder, *rebound]:
            setattr(target, name, original)


MUTATIONS = (
    Mutation(
        "no intent on record before a create",
        "workflow:_create",
        "    await work.save()\n    if not wave:",
        "    if not wave:",
        ("crash before and after each call",),
    ),
    Mutation(
        "a create that is not seen is given up at once",
        "witnesses:_no_effect",
        "if not work.settled(key, since):",
        "if False:",
        ("late effects within settle",),
        powervs="late effects within settle",
    ),
    Mutation(
        "a refused replay closes the intent without the settle time",
        "witnesses:_resolve",
        "await _replay(work, key, entry)",
        "_no_effect(work, key, entry)",
        ("crash before and after each call", "single faults"),
    ),
    Mutation(
        "one read that shows nothing is believed while creating",
        "looking:_absent",
        "elif not work.settled(key, since):",
        "elif False:",
        ("lags and reads that step back",),
        powervs="lags and reads that step back",
    ),
    Mutation(
        "one read that shows nothing is believed while deleting",
        "leaving:_absent",
        "if key not in work.memory.delete_sent and not work.settled(key, since):",
        "if False:",
        ("delete in a lagging cloud",),
        powervs="delete in a lagging cloud",
    ),
    Mutation(
        "what is recorded is deleted without proof",
        "leaving:prove",
        "if evidence.strength is Strength.PROVEN:",
        "if True:",
        ("our resource handed to another owner",),
        powervs="our resource handed to another owner",
    ),
    Mutation(
        "two owners' claims are not compared",
        "ownership:proves",
        "if foreign := codec.fold(marks.uuids) - codec.fold(ours.uuids):",
        "if foreign := frozenset():",
        ("our resource claimed by another owner too",),
        powervs="our resource claimed by another owner too",
    ),
    Mutation(
        "a mark is not bound to its resource",
        "ownership:seal",
        "target.casefold()",
        '""',
        ("stranger copies our tags",),
        powervs="stranger copies our tags",
    ),
    Mutation(
        "a spent birth mark still counts",
        "work:Work.nonces",
        "first = entry.attempt if entry else 1",
        "first = 1",
        ("stranger copies our tags",),
        powervs="stranger copies our tags",
    ),
    Mutation(
        "what is older than the create may have come of it",
        "work:Work.born_here",
        "observed.created_at < opened - CLOCK_SKEW",
        "False",
        ("stranger copies our tags onto something old",),
    ),
    Mutation(
        "two that bear our birth mark: the first is taken",
        "witnesses:_resolve",
        "if len(ours) == 1:",
        "if ours:",
        ("stranger copies our tags",),
    ),
    Mutation(
        "the finalizer does not wait for creates in flight",
        "leaving:finished",
        "if left > 0:",
        "if False:",
        ("journal rolled back, object deleted",),
    ),
    Mutation(
        "native lists are not asked at the end",
        "leaving:finished",
        "await strays.born(work)",
        "pass",
        ("journal rolled back, object deleted",),
        powervs="journal rolled back, object deleted",
    ),
    Mutation(
        "a restarted process creates at once",
        "candidates:_may_create",
        "if not work.memory.minted and not work.settled(key, work.memory.first_seen):",
        "if False:",
        ("journal rolled back, create in flight",),
    ),
    Mutation(
        "nobody looks inside a container",
        "leaving:_occupied",
        "if not kind.contains or kind.container is None:",
        "if True:",
        ("stranger's thing in ours",),
        powervs="stranger's thing in ours",
    ),
    Mutation(
        "a carried mark stays on somebody else's carrier",
        "leaving:_drop",
        "if entry.carried and entry.target and not carrier_ours:",
        "if False:",
        ("crashes, carrier given",),
        powervs="crashes, carrier given",
    ),
    Mutation(
        "the mark of a vanished carried resource stays on its carrier",
        "marking:clean",
        "if not changes:",
        "if True:",
        ("carried resource deleted, carrier given",),
        powervs="carried resource deleted, carrier given",
    ),
    Mutation(
        "a namesake is used because of its name",
        "candidates:_namesake",
        "if strength is Strength.PROVEN:",
        "if True:",
        ("stranger of the same name",),
        powervs="stranger of the same name",
    ),
    Mutation(
        "marks that were stripped are not attached again",
        "leaving:_heal",
        "work.memory.attached.pop(key, None)",
        "pass",
        ("our tags stripped",),
    ),
    Mutation(
        "an id in the journal counts whoever wrote it",
        "work:Work.attested",
        "hmac.compare_digest(entry.deed, self.deed(key, entry.id))",
        "True",
        ("a stranger's id forged into the journal",),
        powervs="a stranger's id forged into the journal",
    ),
    Mutation(
        "marks of ours in the index are not followed",
        "strays:marked",
        "found = [*_nodes(work, tags_by_target), *_carried(work, tags_by_target)]",
        "found = []",
        ("journal rolled back far",),
        powervs="journal rolled back far",
    ),
)
