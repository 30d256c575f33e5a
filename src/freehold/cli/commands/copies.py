"""``freehold resolve NAME --new-cluster`` and ``--take-over``: a person says what an object with another's journal is.

The marks in the cloud name the object that they belong to, so nothing of them can be another object's: a new cluster
gets an identity of its own, and who continues the old one does so under its name (ADR 15).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from freehold.api import names
from freehold.cli.errors import CliError
from freehold.cli.objects.decisions import journal_of
from freehold.cli.objects.naming import exact_name
from freehold.cli.output.hints import hint
from freehold.cli.output.terminal import tell
from freehold.kube.errors import AlreadyExists, ObjectNotFound
from freehold.kube.field_managers import LAST_APPLIED
from freehold.kube.resources import NAMESPACES, Json, Key, Resource, key_of
from freehold.providers.objects import identity
from freehold.providers.registry import served_of

if TYPE_CHECKING:
    from freehold.engine.journal import Journal
    from freehold.engine.keys import KeyRing
    from freehold.kube.client import KubeClient

_NOT_COPIED = (names.IDENTITY_ANNOTATION, names.DECISIONS_ANNOTATION, LAST_APPLIED)


@dataclass(frozen=True)
class Copy:
    """An object, and the journal of another one in it."""

    resource: Resource
    raw: Json
    journal: Journal

    @property
    def key(self) -> Key:
        return key_of(self.raw)

    @property
    def original(self) -> Key:
        return Key(self.journal.owner.namespace, self.journal.owner.name)

    def command(self, option: str) -> str:
        return _command(self.resource, self.key, option)


def _command(resource: Resource, key: Key, option: str) -> str:
    """Return the command that decides about just this object, whatever else has its name."""
    return f"{hint('resolve', exact_name(resource, key), namespace=key.namespace)} --{option}"


def copy_of(resource: Resource, raw: Json) -> Copy:
    """Read the journal of another object in this one. Raises CliError where it is its own, or cannot be read."""
    found = Copy(resource, raw, journal_of(raw))
    if found.original == found.key and found.journal.owner.kind == resource.kind:
        raise CliError(f"{resource.kind} {found.key} is no copy: its records are its own")
    if found.journal.owner.kind != resource.kind:
        raise CliError(f"{resource.kind} {found.key} has the journal of an object of kind {found.journal.owner.kind}")
    return found


async def make_new(client: KubeClient, resource: Resource, raw: Json, *, yes: bool) -> None:
    """Ask the operator to give the object an identity of its own. Raises CliError."""
    key, gone = key_of(raw), "deletionTimestamp" in raw["metadata"]
    if names.JOURNAL_ANNOTATION in (raw["metadata"].get("annotations") or {}):
        found = copy_of(resource, raw)
        tell(f"{resource.kind} {key} has the journal of {found.original}, whose resources stay as they are")
    follows = "it would be deleted, and no resource with it" if gone else "it would be a cluster of its own"
    if not yes:
        tell(f"nothing was done. With it {follows}: {_command(resource, key, 'new-cluster')} --yes")
        return
    wish = {"metadata": {"annotations": {names.IDENTITY_ANNOTATION: names.NEW_IDENTITY}}}
    await client.patch(resource, key, wish)
    tell(f"{resource.kind} {key} gets an identity of its own in the operator's next pass")


async def take_over(client: KubeClient, ring: KeyRing, found: Copy, *, yes: bool) -> None:
    """Make the lost original again from its copy, which goes. Raises CliError."""
    kind, original = found.resource.kind, found.original
    with contextlib.suppress(ObjectNotFound):
        await client.get(found.resource, original)
        raise CliError(
            f"{kind} {original} is there, and has the resources: nothing was done. To make {found.key} a cluster of "
            f"its own: {found.command('new-cluster')}"
        )
    if identity.read_proven_status(found.raw) is not None:
        raise CliError(
            f"{kind} {found.key} has resources of its own, by its status: nothing was done. The operator puts its "
            f"records back; if it does not: {found.command('new-cluster')}"
        )
    if missing := ring.missing(found.journal.keys, found.journal.owner.uuid):
        raise CliError(
            f"its records name key {', '.join(missing)}, which the key ring lacks: {hint('keys add', 'FILE')}"
        )
    count = len(found.journal.claimed)
    tell(f"{kind} {original} would be made again from {found.key}, with {count} resources on record; the copy goes")
    tell("Another management cluster or laptop may still serve it: be sure that it is gone there.")
    if not yes:
        tell(f"nothing was done. To do so: {found.command('take-over')} --yes")
        return
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": original.namespace}}
    with contextlib.suppress(AlreadyExists):
        await client.create(NAMESPACES, home)
    try:
        await client.create(found.resource, rebuild_original(found))
    except AlreadyExists:
        raise CliError(f"{kind} {original} was made meanwhile: nothing was done") from None
    await _remove(client, found)
    tell(f"{kind} {original} is there again; {found.key} is gone, and nothing was deleted in the cloud")


def rebuild_original(found: Copy) -> Json:
    """Build the original as it was recorded: its finalizer from the start, so that no delete is faster than a pass."""
    metadata = found.raw["metadata"]
    annotations = {name: said for name, said in metadata["annotations"].items() if name not in _NOT_COPIED}
    return {
        "apiVersion": found.resource.api_version,
        "kind": found.resource.kind,
        "metadata": {
            "name": found.original.name,
            "namespace": found.original.namespace,
            "labels": dict(metadata.get("labels") or {}),
            "annotations": annotations,
            "finalizers": [served_of(found.resource.kind).finalizer],
        },
        "spec": found.raw.get("spec") or {},
    }


async def _remove(client: KubeClient, found: Copy) -> None:
    """Delete first, while the journal in it still holds the operator off; then take our finalizer away."""
    with contextlib.suppress(ObjectNotFound):
        await client.delete(found.resource, found.key)
        left = await client.get(found.resource, found.key)
        ours = served_of(found.resource.kind).finalizer
        kept = [name for name in left["metadata"].get("finalizers") or () if name != ours]
        await client.patch(found.resource, found.key, {"metadata": {"finalizers": kept}})
