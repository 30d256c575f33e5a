"""What a command looks up to say something about one object: the object itself, and the operator's key ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.cli.access import Access
from freehold.cli.errors import CliError
from freehold.cli.quick import ReadSession
from freehold.kube.errors import NotFound
from freehold.kube.resources import Json, Key, Resource

if TYPE_CHECKING:
    from freehold.lifecycle.keys import KeyRing


async def one(session: ReadSession, resource: Resource, key: Key) -> Json:
    """One object. Raises CliError that says what there is instead."""
    try:
        return await session.client.get(resource, key)
    except NotFound:
        raise CliError(await absent(session, resource, key)) from None


async def absent(session: ReadSession, resource: Resource, key: Key) -> str:
    """The sentence for an object that is not there: what there is instead."""
    present = [each["metadata"]["name"] for each in (await session.client.list(resource, key.namespace)).items]
    there = f"there are: {', '.join(sorted(present)[:10])}" if present else "there is none at all"
    where = f" in namespace {key.namespace}" if key.namespace else ""
    return f"there is no {resource.kind} {short(key.name)}{where}; {there}"


def short(name: str) -> str:
    """A word of the user's, as a sentence shows it."""
    return name if len(name) <= 80 else f"{name[:79]}…"


async def key_ring(target: Access, session: ReadSession) -> KeyRing | None:
    """The operator's key ring; None where there is none that this user may read."""
    from freehold.operator.keyring import RingError, RingStore
    from freehold.operator.keyring_file import FileRing

    if target.state:
        store: RingStore = FileRing(target.state.keys)
    else:
        from freehold.operator.keyring_secret import NAMESPACE, SecretRing

        store = SecretRing(session.client, target.keys_namespace or NAMESPACE)
    try:
        found = (await store.read()).document
    except RingError:
        return None
    return found.ring() if found else None
