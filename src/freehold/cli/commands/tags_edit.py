"""``freehold tags edit``: the objects in $EDITOR, tried before they are saved, opened again with what is wrong."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from freehold.cli.commands.tags_apply import ask_to_apply, audit_approvals, see_done
from freehold.cli.commands.tags_plan import plans_of
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local.access import Access, access
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.logins import without_secrets
from freehold.cli.local.session import Session, open_session
from freehold.cli.local.user_audit import log_decision
from freehold.cli.objects import manifests
from freehold.cli.objects.naming import NameSyntax, parse_names
from freehold.cli.objects.object_lookup import absent, all_of
from freehold.cli.objects.schema_errors import sentences
from freehold.cli.output.hints import hint
from freehold.cli.output.tags_text import print_plan
from freehold.cli.output.terminal import escape_text, say, tell
from freehold.kube.errors import Conflict, KubeError
from freehold.kube.resources import Json, Key, Resource, key_of

if TYPE_CHECKING:
    from freehold.tags.tag_plan import TagPlan

_SHOWN = ("apiVersion", "kind", "metadata", "spec")
_KEPT = ("name", "namespace", "labels")
_TRIES = 5
"""Writes that are tried, as many as client-go's retry.DefaultRetry makes."""
_HELP = """\
# Save and quit to apply; leave it as it is, or empty it, to do nothing.
# What would be refused opens again, with the reason.
"""


class Outdated(CliError):
    """No text can be applied to what was read: the editor is not opened again."""


@dataclass(frozen=True)
class Edited:
    """An object as it was read, and as it is wished now."""

    resource: Resource
    stored: Json
    wanted: Json


def run(
    words: Sequence[str], yes: bool, timeout: float, simulate: bool, speed: float, namespace: str, state: Path | None,
    kubeconfig: str, simulator: str, keys_namespace: str,
) -> None:  # fmt: skip
    """Run the command. Raises CliError."""
    target = access(
        state=state, kubeconfig=kubeconfig, simulate=simulate, speed=speed, simulator=simulator,
        keys_namespace=keys_namespace,
    )  # fmt: skip
    run_to_end(_edit(target, words, namespace, timeout, yes=yes))


async def _edit(target: Access, words: Sequence[str], namespace: str, patience: float, *, yes: bool) -> None:
    async with open_session(target) as session:
        stored = await _read_stored(session, words, namespace)
        name = stored[0][1]["metadata"]["name"]
        with tempfile.TemporaryDirectory(prefix="freehold-edit-") as folder:
            found = await _edit_until_valid(session, target, stored, Path(folder) / f"{name}.yaml")
        if found is None:
            tell("nothing was changed")
            return
        edits, plans = found
        for each in plans:
            print_plan(each)
        digests = {each.object: each.digest for each in plans if each.digest and not yes}
        if not yes:
            await ask_to_apply(approves=bool(digests))
        for edit in edits:
            await _put(session, edit)
            subject = f"{edit.resource.kind} {key_of(edit.wanted)}"
            say(f"{subject}: edited")
            if target.state is not None:
                log_decision(
                    target.state, session.clock, subject, "edited (tags edit)", {"spec": edit.wanted.get("spec")}
                )
        audit_approvals(target, session, digests)
        await see_done(session, target, plans, digests, patience)


async def _read_stored(session: Session, words: Sequence[str], namespace: str) -> list[tuple[Resource, Json]]:
    """Read the object that the words name, with what it refers to. Raises CliError."""
    from freehold.tags.context import CLOUD_METADATAS, PROVIDERS
    from freehold.tags.policy.references import Reference, refers_to

    resources = (CLOUD_METADATAS, *PROVIDERS.values())
    naming = NameSyntax("tags edit", resources)
    wanted = await parse_names(session, naming, words, namespace or session.namespace)
    if len(wanted) > 1:
        raise CliError("edit one object at a time", code=MISUSED)
    kinds, name = wanted[0].kinds, wanted[0].name
    rows = {resource: await all_of(session, [resource], namespace) for resource in resources}
    named = [(each, row) for each in kinds for row in rows[each] if row["metadata"]["name"] == name]
    clouds = [row for resource, row in named if resource == CLOUD_METADATAS]
    referred: list[tuple[Resource, Json]] = []
    for kind, resource in PROVIDERS.items():
        for row in rows[resource]:
            meant = any(refers_to(each, Reference(kind, *key_of(row))) for each in clouds)
            referred += [(resource, row)] if meant else []
    if not named:
        raise CliError(await absent(session, [CLOUD_METADATAS], Key(namespace, name)))
    if len(clouds or named) > 1 or any(each not in referred for each in named if each[0] != CLOUD_METADATAS and clouds):
        ways = [naming.exact((resource, key_of(row)), session.namespace) for resource, row in named]
        raise CliError(f"{name} is the name of {len(named)} objects: say which", ways)
    return [*(each for each in named if each not in referred), *referred]


async def _edit_until_valid(
    session: Session, target: Access, stored: Sequence[tuple[Resource, Json]], path: Path
) -> tuple[list[Edited], list[TagPlan]] | None:
    """Return the edits once they can be applied; None for no edit. Raises CliError."""
    text = before = "---\n".join(_render_for_edit(row) for _, row in stored)
    wrong: list[str] = []
    while True:
        # in a thread: this process may be the server, and goes on serving while a person types
        now = await asyncio.to_thread(_edit_text, path, before, wrong)
        if not now.strip() or yaml_equal(now, text):
            return None
        try:
            edits = _edits(path, stored)
            wrong = await _dry_run_edits(session, edits)
            plans = [] if wrong else await plans_of(session, target, [each.wanted for each in edits])
            wrong += [f"{each.object}: {told}" for each in plans for told in each.problems if not each.selected]
        except Outdated:
            raise
        except CliError as problem:
            wrong, edits, plans = [problem.sentence, *problem.more], [], []
        if not wrong:
            return (edits, plans) if edits else None
        if now == before:
            raise CliError("what was typed is not valid and was left as it was: nothing was applied", wrong)
        before = now


def _edit_text(path: Path, text: str, wrong: Sequence[str]) -> str:
    """Open ``text`` in the editor, below a sentence that says what is ``wrong`` with it. Raises CliError."""
    told = "".join(f"# {line}\n" for each in wrong for line in _lines(each))
    path.write_text(f"{_HELP}{told}{text}", encoding="utf-8")
    path.chmod(0o600)
    _open(path)
    try:
        return _without_comments(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise CliError("what the editor has left is no text in UTF-8: nothing was applied") from problem


def _lines(sentence: str) -> list[str]:
    return [escape_text(line) for line in sentence.split("\n")]


def _open(path: Path) -> None:
    """Open the editor. Raises CliError if it cannot be run, or fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        done = subprocess.run([*shlex.split(editor), str(path)], check=False, env=without_secrets(os.environ))  # noqa: S603 - the person's own editor
    except (OSError, ValueError) as problem:
        raise CliError(f"the editor {editor!r} cannot be run: set EDITOR to one that can") from problem
    if done.returncode:
        raise CliError(f"the editor {editor!r} ended with exit code {done.returncode}: nothing was applied")


def _without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def yaml_equal(left: str, right: str) -> bool:
    """Whether two texts say the same; what is no YAML says something else."""
    try:
        return list(yaml.safe_load_all(left)) == list(yaml.safe_load_all(right))
    except yaml.YAMLError:
        return False


def _render_for_edit(row: Json) -> str:
    """Render an object for a person to edit, without its status and the fields that the server keeps."""
    metadata = {name: row["metadata"][name] for name in _KEPT if name in row["metadata"]}
    content = {"apiVersion": row["apiVersion"], "kind": row["kind"], "metadata": metadata, "spec": row.get("spec", {})}
    return yaml.safe_dump(content, sort_keys=False, width=110)


def _edits(path: Path, stored: Sequence[tuple[Resource, Json]]) -> list[Edited]:
    """Parse the edited objects. Raises CliError, also for an object that was not opened: none is created or deleted."""
    documents = {(each.kind, Key(each.namespace, each.name)): each.obj for each in manifests.read(str(path))}
    found = []
    for resource, row in stored:
        given = documents.pop((resource.kind, key_of(row)), None)
        if given is None:
            raise CliError(f"{resource.kind} {key_of(row)} is not in the text any more: this command deletes nothing")
        if beyond := list(_not_edited(given)):
            raise CliError(
                f"{resource.kind} {key_of(row)}: {', '.join(beyond)} is not edited here, only spec and labels: use "
                "kubectl for the rest"
            )
        found.append(Edited(resource, row, _merge_edit(row, given)))
    if documents:
        names = ", ".join(f"{kind} {key}" for kind, key in documents)
        raise CliError(f"{names} was not opened: this command creates and renames nothing; use {hint('tags apply')}")
    return [each for each in found if each.wanted != each.stored]


def _not_edited(given: Mapping[str, Any]) -> Iterator[str]:
    """Fields that a person has added: to leave them out without a word would look as if they were applied."""
    yield from (name for name in given if name not in _SHOWN)
    yield from (f"metadata.{name}" for name in given.get("metadata") or {} if name not in _KEPT)


def _merge_edit(row: Json, given: Mapping[str, Any]) -> Json:
    labels = (given.get("metadata") or {}).get("labels")
    metadata = {name: value for name, value in row["metadata"].items() if name not in ("labels", "managedFields")}
    merged = {**row, "metadata": {**metadata, **({"labels": labels} if labels else {})}, "spec": given.get("spec", {})}
    return row if (merged["spec"], labels or {}) == (row.get("spec"), row["metadata"].get("labels") or {}) else merged


async def _dry_run_edits(session: Session, edits: Sequence[Edited]) -> list[str]:
    """Send each edit as a dry run, and return the refusals. Raises CliError if it is not the object that was opened."""
    wrong = []
    for each in edits:
        try:
            await _put(session, each, dryRun="All", fieldValidation="Strict", fieldManager="freehold")
        except Outdated:
            raise
        except KubeError as refusal:
            wrong += [f"{each.resource.kind} {key_of(each.wanted)}: {told}" for told in sentences(refusal)]
    return wrong


async def _put(session: Session, edit: Edited, **query: str) -> None:
    """Write an edit to the object as it is by now. Raises Outdated, KubeError.

    The operator writes to the same object meanwhile: its status, its finalizer, its annotations.
    """
    path, wanted = edit.resource.build_object_path(key_of(edit.wanted)), edit.wanted
    for _ in range(_TRIES):
        try:
            await session.client.request("PUT", path, query=query, body=wanted)
        except Conflict:
            now = await session.client.get(edit.resource, key_of(wanted))
            if _edited_part(now) != _edited_part(edit.stored):
                break
            wanted = _merge_edit(now, edit.wanted)
        else:
            return
    told = "was changed by somebody while it was edited: nothing was applied; run the same command again"
    raise Outdated(f"{edit.resource.kind} {key_of(edit.wanted)} {told}")


def _edited_part(row: Json) -> tuple[Any, ...]:
    return row["metadata"]["uid"], row["metadata"].get("labels") or {}, row.get("spec")
