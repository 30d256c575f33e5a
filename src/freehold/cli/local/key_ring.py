"""The operator's key ring, as a command reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.cli.local.access import Access
from freehold.cli.local.fast_read import ReadSession

if TYPE_CHECKING:
    from freehold.controllers.keyring.stored_form import RingStore
    from freehold.engine.keys import KeyRing


def ring_store(target: Access, session: ReadSession) -> RingStore:
    """Return where the operator keeps its key ring."""
    if target.state:
        from freehold.controllers.keyring.file import FileRing

        return FileRing(target.state.keys)
    from freehold.controllers.keyring.secret import NAMESPACE, SecretRing

    return SecretRing(session.client, target.keys_namespace or NAMESPACE)


async def key_ring(target: Access, session: ReadSession) -> KeyRing | None:
    """Read the operator's key ring; None where there is none that this user may read."""
    from freehold.controllers.keyring.stored_form import RingError

    try:
        found = (await ring_store(target, session).read()).document
    except RingError:
        return None
    return found.build_ring() if found else None
