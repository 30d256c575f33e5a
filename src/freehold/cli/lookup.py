"""What a command looks up to say something about one object: the object itself, and the operator's key ring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from freehold.cli.access import Access
from freehold.cli.kinds import NOUN
from freehold.cli.quick import ReadSession
from freehold.kube.errors import NotFound
from freehold.kube.resources import Json, Key, Resource

if TYPE_CHECKING:
    from freehold.controllers.keyring.stored_form import RingStore
    from freehold.engine.keys import KeyRing


async def of_name(session: ReadSession, resources: Sequence[Resource], key: Key) -> list[Json]:
    """The objects of these kinds that have this name."""
    found = []
    for resource in resources:
        try:
            found.append(await session.client.get(resource, key))
        except NotFound:
            continue
    return found


async def all_of(
    session: ReadSession, resources: Sequence[Resource], namespace: str, *, selector: str = ""
) -> list[Json]:
    """The objects of these kinds."""
    found: list[Json] = []
    for each in resources:
        items = (await session.client.list(each, namespace, label_selector=selector)).items
        found += [{"apiVersion": each.api_version, "kind": each.kind, **item} for item in items]
    return found


async def absent(session: ReadSession, resources: Sequence[Resource], key: Key) -> str:
    """The sentence for a name that no object of these kinds has: what there is instead."""
    present = {each["metadata"]["name"] for each in await all_of(session, resources, key.namespace)}
    there = f"there are: {', '.join(sorted(present)[:10])}" if present else "there is none at all"
    where = f" in namespace {key.namespace}" if key.namespace else ""
    what = resources[0].kind if len(resources) == 1 else NOUN
    return f"there is no {what} {short(key.name)}{where}; {there}"


def short(name: str) -> str:
    """A word of the user's, as a sentence shows it."""
    return name if len(name) <= 80 else f"{name[:79]}…"


def ring_store(target: Access, session: ReadSession) -> RingStore:
    """Return where the operator keeps its key ring."""
    if target.state:
        from freehold.controllers.keyring.file import FileRing

        return FileRing(target.state.keys)
    from freehold.controllers.keyring.secret import NAMESPACE, SecretRing

    return SecretRing(session.client, target.keys_namespace or NAMESPACE)


async def key_ring(target: Access, session: ReadSession) -> KeyRing | None:
    """The operator's key ring; None where there is none that this user may read."""
    from freehold.controllers.keyring.stored_form import RingError

    try:
        found = (await ring_store(target, session).read()).document
    except RingError:
        return None
    return found.ring() if found else None
