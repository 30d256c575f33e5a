"""Opening of the key ring of an operator: its place, and the keeper that reads it again and again."""

from __future__ import annotations

import time
from pathlib import Path

from freehold.controllers.keyring.file import FileRing
from freehold.controllers.keyring.keeper import RingKeeper
from freehold.controllers.keyring.needs import KeyNeed, read_needs
from freehold.controllers.keyring.secret import SecretRing
from freehold.controllers.settings import RingSecret, Settings
from freehold.kube.client import KubeClient
from freehold.tags.key_needs import tag_needs

FILE_POLL_SECONDS = 1.0
SECRET_POLL_SECONDS = 60.0
"""Wall seconds between reads of the key ring; an object that names a missing key brings the next read forward."""


def open_ring_store(client: KubeClient, keys: Path | RingSecret) -> FileRing | SecretRing:
    """Open the place of the key ring."""
    return FileRing(keys) if isinstance(keys, Path) else SecretRing(client, keys.namespace, keys.name)


def build_keeper(client: KubeClient, settings: Settings) -> RingKeeper:
    """Build what reads the key ring again and again, and makes the first one where that is allowed."""
    store = open_ring_store(client, settings.keys)
    poll = FILE_POLL_SECONDS if isinstance(store, FileRing) else SECRET_POLL_SECONDS

    async def read_all_needs() -> list[KeyNeed]:
        namespace, selector, kinds = settings.namespace or "", settings.watch_filter.selector, settings.kinds
        of_tags = await tag_needs(
            client, settings.own_namespace, settings.ledger_name, namespace, kinds=kinds, label_selector=selector
        )
        return [*await read_needs(client, kinds.resources, namespace, selector), *of_tags]

    return RingKeeper(store, read_all_needs, time.time, poll)
