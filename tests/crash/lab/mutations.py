"""Safety lines of the engine that families of crashes must cover: rows of `tests/mutants/rows.txt`.

`make mutants` tries every row with the quickest test that reaches it; here a row is applied in this process, and a
family of crashes must fail.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import freehold
from lab import families, mapped
from lab.catalogue import Families
from lab.families import Case
from mutants.rows import Mutant, edit, read

ROWS = read()


@dataclass(frozen=True)
class Mutation:
    """``families`` must fail in memory, and those of ``powervs`` and ``aws`` on the simulated clouds, unless another
    line replaces it there. ``first`` is a case that fails, where it takes the others long to find one."""

    row: Mutant
    families: tuple[str, ...]
    powervs: str = ""
    aws: str = ""
    first: str = ""

    def __str__(self) -> str:
        return self.row.why


def in_order(mutation: Mutation, table: Families, most: int | None = None) -> list[Case]:
    """The cases of its families, that many of each; the one that is known to fail first."""
    cases = [case for family in mutation.families for case in families.shuffled(table[family](), most)]
    found = sorted(cases, key=lambda case: case.label != mutation.first)
    assert mutation.first in ("", found[0].label), f"there is no case {mutation.first!r} any more: {mutation}"
    return found


@contextlib.contextmanager
def mutated(row: Mutant) -> Iterator[None]:
    """The engine without that line. Raises Moved if the row no longer fits."""
    changed = ast.parse(edit(row, Path(freehold.__file__).parent).text)
    module = importlib.import_module("freehold." + row.file.removesuffix(".py").replace("/", "."))
    *classes, name = row.function.split(".")
    holder = getattr(module, classes[0]) if classes else module
    original = getattr(holder, name)
    space: dict[str, object] = {}
    function = ast.Module([_defined(changed, row.function)], [])
    exec(compile(function, f"<{row.why}>", "exec"), vars(module), space)  # noqa: S102 - our own source
    rebound = [
        other
        for other_name, other in list(sys.modules.items())
        if other_name.startswith("freehold.engine") and not classes and getattr(other, name, None) is original
    ]
    for target in [holder, *rebound]:
        setattr(target, name, space[name])
    try:
        yield
    finally:
        for target in [holder, *rebound]:
            setattr(target, name, original)


def _defined(scope: ast.AST, path: str) -> ast.stmt:
    """The definition of ``path`` in a module."""
    name, _, rest = path.partition(".")
    found = next(
        each
        for each in ast.iter_child_nodes(scope)
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and each.name == name
    )
    return _defined(found, rest) if rest else found


def _row(file: str, why: str) -> Mutant:
    return next(row for row in ROWS if row.file.removeprefix("engine/") == f"{file}.py" and row.why == why)


def _of_creates(file: str, why: str, *named: str, first: str = "") -> Mutation:
    return Mutation(_row(file, why), named, first=first)


MUTATIONS = (
    Mutation(
        _row("phases/create", "no intent is recorded before a create"),
        ("crash before and after each call",),
        aws="the process dies between create and record",
    ),
    Mutation(
        _row("phases/intents", "a create that reads do not show yet is closed at once, and sent again"),
        ("late effects within settle",),
        powervs="late effects within settle",
        aws="late effects within settle",
    ),
    Mutation(
        _row("phases/intents", "a create with a client token is closed without a replay of the token"),
        ("crash before and after each call", "single faults"),
    ),
    Mutation(
        _row("phases/observe", "one read that shows nothing counts as gone, and the resource is created again"),
        ("lags and reads that step back",),
        powervs="lags and reads that step back",
        aws="lags and reads that step back",
        first="crash-after at 9",
    ),
    Mutation(
        _row("phases/delete", "one read that shows nothing counts as gone, and the resource is orphaned"),
        ("delete in a lagging cloud",),
        powervs="delete in a lagging cloud",
        first="dead at 7, unavailable 11 later",
    ),
    Mutation(
        _row("phases/delete", "a recorded resource is deleted without proof"),
        ("our resource handed to another owner",),
        powervs="our resource handed to another owner",
        aws="our resource handed to another owner",
    ),
    Mutation(
        _row("ownership", "a resource that two owners claim is deleted by one of them"),
        ("our resource claimed by another owner too",),
        powervs="our resource claimed by another owner too",
        aws="our resource claimed by another owner too",
    ),
    Mutation(
        _row("keys", "a mark that is copied from our resource to another proves that one, too"),
        ("stranger copies our tags",),
        powervs="stranger copies our tags",
        aws="stranger copies our tags",
    ),
    Mutation(
        _row("birth_marks", "a resource that is older than the create counts as its result"),
        ("stranger copies our tags onto an old resource",),
        first="brand of net at 7, crash-before",
    ),
    Mutation(
        _row("phases/intents", "of two resources with one nonce the first counts as ours"),
        ("stranger copies our tags",),
        first="copycat of net at 8, crash-after",
    ),
    Mutation(
        _row("phases/delete", "the finalizer does not wait for creates in flight"),
        ("journal rolled back, object deleted",),
        aws="journal rolled back, object deleted",
        first="late-crash15 at 6",
    ),
    Mutation(
        _row("phases/delete", "native lists are not read at the end"),
        ("journal rolled back, object deleted",),
        powervs="journal rolled back, object deleted",
    ),
    Mutation(
        _row(
            "phases/create",
            "a restarted process creates at once, although a create of the earlier one may be under way",
        ),
        ("journal rolled back, create in flight",),
    ),
    Mutation(
        _row("phases/delete", "the contents of a container are not read before it is deleted"),
        ("stranger's resource in ours",),
        powervs="stranger's resource in ours",
    ),
    Mutation(
        _row("phases/detach", "the mark of a carried resource that vanished stays on its carrier"),
        ("carried resource deleted, carrier given",),
        powervs="carried resource deleted, carrier given",
    ),
    Mutation(
        _row("phases/create", "a namesake is adopted because of its name"),
        ("stranger of the same name",),
        powervs="stranger of the same name",
        aws="stranger of the same name",
    ),
    Mutation(
        _row("phases/delete", "stripped marks are not attached again"),
        ("our tags stripped",),
        aws="our tags stripped",
        first="strip of net at 140, no crash",
    ),
    Mutation(
        _row("context", "an id in the journal counts without a valid signature"),
        ("a stranger's id forged into the journal",),
        powervs="a stranger's id forged into the journal",
        aws="a stranger's id forged into the journal",
    ),
    Mutation(
        _row("phases/recovery", "marks of ours in the index are not followed"),
        ("journal rolled back far",),
        powervs="journal rolled back far",
    ),
    Mutation(
        _row("phases/keyed_tags", "another's value under a key of ours is overwritten"),
        (f"another's value under a key of ours{mapped.SUFFIX}",),
        aws="another's value under the key of our seal",
    ),
    Mutation(
        _row("phases/keyed_tags", "a detach takes a key whose value is another's"),
        (f"a value of another's on what is given{mapped.SUFFIX}",),
    ),
    Mutation(
        _row("birth_marks", "a name with capitals is not known again after a crash: a second resource is made"),
        (f"crash before and after each call{mapped.SUFFIX}",),
    ),
    Mutation(
        _row("wanted_tags", "a resource never gets the tags of its node"),
        (f"crash before and after each call{mapped.SUFFIX}",),
        aws="crash before and after each call",
    ),
    Mutation(
        _row("phases/parts", "rules of the in-cluster provider are removed"),
        (f"the in-cluster provider at work on what is shared{mapped.SUFFIX}",),
    ),
    Mutation(
        _row("phases/child_owners", "a cluster is deleted under its machines"),
        (f"crashes, with a machine{mapped.SUFFIX}",),
    ),
    Mutation(
        _row("phases/child_owners", "whoever may tag any resource can hold a cluster's delete for ever"),
        (f"marks of a machine that are forged, with a machine{mapped.SUFFIX}",),
    ),
)

AWS_MUTATIONS = (
    Mutation(
        _row("providers/aws/calls", "a route that somebody took out is never put back"),
        (),
        aws="parts taken out",
    ),
    Mutation(
        _row("phases/parts", "nothing waits for an essential part"),
        (),
        aws="crash before and after each call",
    ),
    Mutation(
        _row("phases/delete", "two groups that name each other are never deleted"),
        (),
        aws="crash before and after each call",
    ),
    Mutation(
        _row("phases/create", "a create whose effect is unknown counts as refused"),
        (),
        aws="single faults",
    ),
    Mutation(
        _row("ownership", "copied marks of ours prove ownership"),
        (),
        aws="stranger copies our tags",
    ),
    Mutation(
        _row("phases/parts", "parts that others added are removed"),
        (),
        aws="routes of others",
    ),
)
"""Those that only families on the simulated AWS cover here."""

NETWORK_MUTATIONS = (
    Mutation(
        _row("phases/parts", "parts of others are changed and removed"),
        ("routes of others",),
    ),
    Mutation(
        _row(
            "phases/parts",
            "a route that somebody takes out is never put back: its create is fenced, and nothing new is on record",
        ),
        ("parts taken out or redirected",),
    ),
    Mutation(
        _row(
            "phases/create",
            "a new process does not look for what an earlier one made, and makes a second",
        ),
        ("journal rolled back one write",),
    ),
)
"""Those of parts and of reads that looks with tags make needless, which families on :mod:`lab.network` must cover."""

MACHINE_MUTATIONS = (
    _of_creates(
        "phases/intents",
        "a stranger's resource that a create answered with is marked, and deleted with the object",
        "stranger of the same name",
        first="namesake of pool at 2, no crash",
    ),
    _of_creates(
        "phases/create",
        "a stranger's resource that a create answered with is recorded by the next pass",
        "stranger of the same name",
        first="namesake of pool at 2, no crash",
    ),
    _of_creates(
        "birth_marks",
        "with a wrong clock nothing is ever created of a kind that answers with what was there",
        "the operator's clock is wrong",
    ),
    _of_creates("birth_marks", "a machine that somebody terminated is made again", "our machine deleted"),
    _of_creates(
        "phases/create",
        "a machine that somebody terminated is made again by the next pass",
        "our machine deleted",
    ),
    _of_creates(
        "phases/create",
        "a create is sent for ever under a token that the cloud has bound to a refused one",
        "a quota of the cloud uses up tokens",
    ),
    _of_creates("phases/intents", "an expired token makes a second resource", "down for as long as a token lives"),
    _of_creates(
        "phases/intents",
        "a token counts as fresh when our clock has gone back, and makes a second resource",
        "down for as long as a token lives, and the clock is put back",
    ),
    _of_creates(
        "phases/intents",
        "what a token made with another request is forgotten when the token expires, and made again",
        "the token of another request, refused at first, where only its token finds it",
    ),
    _of_creates(
        "kinds",
        "a restored journal makes a second resource under an earlier token, and nothing tells them apart",
        "the token of another request, refused at first, where only its token finds it",
    ),
    _of_creates(
        "phases/resolve_secrets", "the value of a secret is in the journal", "crash before and after each call"
    ),
    _of_creates("phases/intents", "a repeat is sent with a reference in place of the value", "single faults"),
)
"""Those of creates, which families on :mod:`lab.machines` and :mod:`lab.expiring_tokens` must cover."""
