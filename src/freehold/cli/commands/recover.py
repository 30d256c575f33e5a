"""``freehold recover``: an object whose store was lost, rebuilt from its marks in the cloud. A plan first."""

from __future__ import annotations

import contextlib
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from freehold.api.vendor_ids import vendor_id
from freehold.cli.commands import orphans
from freehold.cli.commands.orphans import find_marked_owners, is_repeated, present_uuids
from freehold.cli.commands.search_scope import Searched, SearchScope, find_search_scope
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.key_ring import key_ring
from freehold.cli.local.session import Session, open_session
from freehold.cli.objects import manifests
from freehold.cli.objects.manifest_fields import ownership_patch
from freehold.cli.objects.manifests import ManifestDocument
from freehold.cli.objects.naming import NameSyntax, parse_names
from freehold.cli.output.hints import hint
from freehold.cli.output.tables import with_ids
from freehold.cli.output.terminal import say, tell, width
from freehold.kube.errors import AlreadyExists, Conflict, ObjectNotFound
from freehold.kube.field_managers import OPERATOR
from freehold.kube.resources import NAMESPACES, Key, Resource, key_of
from freehold.providers.registry import object_kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from freehold.controllers.recovery.lost_objects import JudgedResource, Recovery
    from freehold.controllers.recovery.orphans import MarkedOwner
    from freehold.engine.kinds import Registry


def run(
    words: Sequence[str],
    uuid: str,
    all_: bool,
    filename: Sequence[str],
    regions: Sequence[str],
    key_lost: bool,
    yes: bool,
    namespace: str,
    **where: Unpack[Where],
) -> None:
    """Run the command. Raises CliError."""
    if all_:
        if words or uuid or yes or key_lost or filename:
            raise CliError(
                f"--all only lists; recover them one at a time: {hint('recover', '--uuid', 'U')}", code=MISUSED
            )
        orphans.run(regions, "table", **where)
        return
    if bool(words) == bool(uuid):
        raise CliError(
            f"say what to recover: {hint('recover', 'NAME')}, or {hint('recover', '--uuid', 'U')}", code=MISUSED
        )
    wanted = _Wanted(tuple(words), uuid, namespace, tuple(filename), tuple(regions), key_lost)
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(operator=False, **where)
    run_to_end(_recover(target, wanted, documents, yes=yes))


@dataclass(frozen=True)
class _Wanted:
    """The lost object that is meant, and how it is to be rebuilt."""

    words: tuple[str, ...]
    uuid: str
    namespace: str
    filename: tuple[str, ...]
    regions: tuple[str, ...]
    key_lost: bool

    def command(self, recovery: Recovery) -> str:
        """Return the command that does what was shown."""
        lost = ["--key-lost"] if self.key_lost and recovery.unproven else []
        files = (word for each in self.filename for word in ("-f", each))
        regions = (word for each in self.regions for word in ("--region", each))
        which = self.words if self._names_kind else ("--uuid", recovery.owner.uuid)
        return str(hint("recover", *which, *files, *regions, *lost, "--yes", namespace=self._namespace_of_words))

    @property
    def _names_kind(self) -> bool:
        return len(self.words) > 1 or any("/" in each for each in self.words)

    @property
    def _namespace_of_words(self) -> str:
        return self.namespace if self._names_kind else ""


async def _recover(target: Access, wanted: _Wanted, documents: Sequence[ManifestDocument], *, yes: bool) -> None:
    from freehold.controllers.recovery.lost_objects import NoOwner
    from freehold.engine.errors import CloudError

    async with open_session(target) as session, AsyncExitStack() as stack:
        ring = await key_ring(target, session)
        if ring is None:
            raise CliError(
                f"there is no key ring that this command can read: {hint('keys add', 'FILE')}, or {hint('keys new')}"
            )
        places = await find_search_scope(session, target, wanted.regions, ring, stack)
        try:
            at, recovery = await _choose(session, places, wanted, documents)
            owner = recovery.owner
            await _refuse_namesake(session, at.resource, Key(owner.namespace, owner.name))
            _print(recovery, at, key_lost=wanted.key_lost)
            _refuse_unclear(recovery, at.deps.registry, key_lost=wanted.key_lost)
            obj = await _build_object(recovery, at, documents, key_lost=wanted.key_lost)
        except CloudError as error:
            raise CliError(error.message) from error
        except NoOwner as problem:
            raise CliError(str(problem)) from problem
        if not yes:
            tell(f"nothing was done. To make the object, paused: {wanted.command(recovery)}")
            return
        await _create(session, at.resource, obj)
        tell(f"{owner.kind} {owner.namespace}/{owner.name} is there again, paused: nothing is written to the cloud")
        up = hint("up", "-f", "FILE", namespace=owner.namespace)
        down = NameSyntax("down").exact((at.resource, Key(owner.namespace, owner.name)), session.namespace)
        tell(f"apply its manifest: {up}; or delete all: {down}")


async def _choose(
    session: Session, places: SearchScope, wanted: _Wanted, documents: Sequence[ManifestDocument]
) -> tuple[Searched, Recovery]:
    """Choose the lost object that is meant. Raises CliError unless it is just one, NoOwner, and CloudError."""
    present, where = await present_uuids(session), wanted.namespace or session.namespace
    named = await parse_names(session, NameSyntax("recover"), wanted.words, where) if wanted.words else []
    if len(named) > 1:
        raise CliError("recover one object at a time", code=MISUSED)
    kinds, called = (named[0].kinds, f"{where}/{named[0].name}") if named else ((), "")
    every = [(at, one) for at in places.list_accounts() for one in await find_marked_owners(at, present)]
    fit = [
        (at, one)
        for at, one in every
        if one.uuid == wanted.uuid.casefold()
        or (any(each.resource in kinds for each in at) and called in map(str.casefold, one.names))
    ]
    fit = [(at, one) for at, one in fit if not is_repeated(one, [other for _, other in fit])]
    if len(fit) == 1:
        at, lost = fit[0]
        named_kinds = [each for each in at if each.resource in kinds] or at
        return _choose_kind(_find_in_manifest(named_kinds, lost, documents) or named_kinds, lost)
    what = f"uuid {wanted.uuid}" if wanted.uuid else called
    if not fit:
        told = [f"looked through: {places}", *(f"not looked through: {each}" for each in places.not_searched)]
        raise CliError(f"nothing has the marks of {what} and no object here; see {hint('orphans')}", told)
    lines = [
        f"{one.uuid}: {at.resource.kind}, {len(one.resources)} resources in {at.name}"
        for at, one in ((_choose_kind(each, one)[0], one) for each, one in fit)
    ]
    raise CliError(f"several lost objects were called {what}; choose one: {hint('recover', '--uuid', 'U')}", lines)


def _find_in_manifest(
    kinds: Sequence[Searched], lost: MarkedOwner, documents: Sequence[ManifestDocument]
) -> Sequence[Searched]:
    """Find the kinds of which the manifest has an object of the name; none if it has none."""
    named = {name.rpartition("/")[2] for name in lost.names}
    of_name = {each.kind for each in documents if each.name in named}
    return [each for each in kinds if each.served.kind in of_name]


def _choose_kind(kinds: Sequence[Searched], lost: MarkedOwner) -> tuple[Searched, Recovery]:
    """Choose which kind of object it was: no mark says it, and seals fit only the right one.

    Where no seal is ours, it is the kind that alone has such resources, else the first. Raises NoOwner.
    """
    from freehold.controllers.recovery.lost_objects import NoOwner, build_recovery

    found, problems = [], []
    for each in kinds:
        try:
            found.append((each, build_recovery(lost, each.served, each.deps)))
        except NoOwner as problem:
            problems.append(problem)
    if not found:
        raise problems[0]
    proven = [each for each in found if each[1].proven or each[1].born]
    return proven[0] if proven else max(found, key=lambda each: _count_own(each[0], lost))


def _count_own(at: Searched, lost: MarkedOwner) -> int:
    """Count the resources of kinds that only this kind of object has."""
    own = object_kind_of(at.served).own
    return sum(each.key.kind in own for each in lost.resources)


def _how_to_delete(one: JudgedResource, kinds: Registry) -> str:
    """Return the vendor's command, where one is known."""
    kind, seen = kinds.get(one.marked.key.kind), one.marked.seen
    return kind.deletion.delete_command.format_map({"id": seen.id, **seen.attributes}) if kind and seen else ""


def _refuse_unclear(recovery: Recovery, kinds: Registry, *, key_lost: bool) -> None:
    """Raise CliError where nothing may be decided yet, or a person must say more."""
    owner = recovery.owner
    if recovery.unread:
        raise CliError("not all could be read, so nothing is decided; run the same command again")
    if recovery.of_unknown_kind:
        raise CliError("some are of a kind that this version does not know: use the version that made them, or a newer")
    if recovery.without_node and not (recovery.proven or recovery.born or recovery.unproven):
        lines = [each for one in recovery.without_node if (each := _how_to_delete(one, kinds))]
        raise CliError(
            "nothing of it can be recovered: no mark says what each of them is for, so Freehold did not make them, or "
            "somebody has taken that mark off. They stay; choose another name for the cluster, or delete them in the "
            "cloud",
            lines,
        )
    if recovery.claimed_twice:
        lines = [f"{one.marked.key}: {one.marked.target}" for one in recovery.claimed_twice]
        raise CliError("several have the mark of one resource, and without the key nothing tells which is ours", lines)
    if recovery.unproven and not key_lost:
        raise CliError(
            f"{len(recovery.unproven)} of them have marks that this key ring did not make. If that key is known: "
            f"{hint('keys add', 'FILE')}. If it is lost for ever and they are all {owner.namespace}/{owner.name}'s: "
            f"{hint('recover', '--uuid', owner.uuid, '--key-lost')}"
        )


async def _build_object(
    recovery: Recovery, at: Searched, documents: Sequence[ManifestDocument], *, key_lost: bool
) -> dict[str, Any]:
    """Build the object to make, with the spec of its manifest where there is one. Raises CliError."""
    from freehold.controllers.recovery.lost_objects import rebuild_object, rebuild_spec

    owner = recovery.owner
    spec = rebuild_spec(recovery, at.place)
    if documents:
        named = [each for each in documents if (each.kind, each.name) == (owner.kind, owner.name)]
        fit = [each for each in named if each.namespace in ("", owner.namespace)]
        if not fit:
            raise CliError(f"the manifest has no {owner.kind} {owner.namespace}/{owner.name}")
        spec = fit[0].obj.get("spec") or {}
    obj = rebuild_object(recovery, at.served, at.account, at.deps, spec, seal_anew=key_lost)
    await _refuse_elsewhere(at, obj)
    return obj


async def _refuse_elsewhere(at: Searched, obj: dict[str, Any]) -> None:
    """Refuse a manifest that is served in another account: there all that the object has would count as gone."""
    from freehold.providers.access.accounts import NoCredentials

    served = await at.accounts.bind(obj)
    if isinstance(served, NoCredentials):
        raise CliError(served.message)
    account = await served.cloud.read_account()
    if account != at.account:
        raise CliError(f"the manifest is of {served.cloud.name} {account}, and the resources are in {at.name}")


async def _refuse_namesake(session: Session, resource: Resource, key: Key) -> None:
    try:
        await session.client.get(resource, key)
    except ObjectNotFound:
        return
    down = NameSyntax("down").exact((resource, key), session.namespace)
    raise CliError(
        f"there is an {resource.kind} {key} already, with another uuid: what both would own must not be mixed. Delete "
        f"it first, if it owns nothing: {down}"
    )


async def _create(session: Session, resource: Resource, obj: dict[str, object]) -> None:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": metadata["namespace"]}}
    with contextlib.suppress(AlreadyExists):
        await session.client.create(NAMESPACES, home)
    # The operator's manager owns it all at first; the spec and the pause are for a manifest to change.
    path = resource.build_collection_path(str(metadata["namespace"]))
    made = await session.client.request("POST", path, query={"fieldManager": OPERATOR}, body=obj)
    if (patch := ownership_patch(made)) is not None:
        with contextlib.suppress(Conflict):  # up does it, too
            await session.client.patch(resource, key_of(made), patch)


def _print(recovery: Recovery, at: Searched, *, key_lost: bool) -> None:
    owner = recovery.owner
    tell(f"{owner.kind} {owner.namespace}/{owner.name} (uuid {owner.uuid}) in {at.name}:")
    rows = [_row(one, is_in=recovery.is_recovered(one, key_lost=key_lost)) for one in recovery.resources]
    for line in with_ids(("ACTION", "KIND", "NAME", "ID", "PROOF"), rows, width()):
        say(line)
    tell(
        "Another management cluster or laptop may still serve it: two operators would work against each other. Be sure "
        "that it is gone there."
    )


def _row(one: JudgedResource, *, is_in: bool) -> tuple[str, ...]:
    what = "recover" if is_in else "left out"
    marked = one.marked
    return (
        what,
        marked.key.kind,
        marked.name or marked.key.logical,
        vendor_id(marked.id) or marked.target,
        one.source,
    )
