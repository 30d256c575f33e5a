"""An embedded API server with the kinds of the CLI, for tests that apply and read."""

from collections.abc import AsyncIterator

import pytest

from freehold.api.crd import custom_resource_definitions
from freehold.api.placeholders import PLACEHOLDERS
from freehold.apiserver.server import ApiServer
from freehold.apiserver.store import Store
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    """Talks to a server of its own, empty but for the CRDs."""
    store = Store.open(":memory:")
    api = ApiServer(store, [*custom_resource_definitions(), *(each.crd() for each in PLACEHOLDERS)])
    try:
        async with KubeClient(Connection(await api.start())) as talking:
            talking.batches = True  # as a session of the embedded server has it
            yield talking
    finally:
        await api.stop()
        store.close()
