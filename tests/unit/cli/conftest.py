"""What tests of commands begin with: an embedded API server with the kinds of the CLI, or a state with a cluster."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.providers.crds import PLACEHOLDERS, build_crds
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.commands import freehold_in

MINIMAL = str(Path(__file__).parents[3] / "examples" / "powervs-minimal.yaml")


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    """Talks to a server of its own, empty but for the CRDs."""
    store = Store.open(":memory:")
    api = ApiServer(store, [*build_crds(), *(each.build_crd() for each in PLACEHOLDERS)])
    try:
        async with KubeClient(Connection(await api.start())) as talking:
            talking.batches = True  # as a session of the embedded server has it
            yield talking
    finally:
        await api.stop()
        store.close()


@pytest.fixture(name="made", scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("made") / "state"
    made = freehold_in(state, "up", "-f", MINIMAL, "--simulate", "--speed", "2000")
    assert made.returncode == 0, made.stderr
    return state


@pytest.fixture(name="state")
def _state(made: Path, tmp_path: Path) -> Path:
    """A copy of a state directory from which a cluster was made, with its key ring."""
    shutil.copy(made.with_name("state.keys"), tmp_path)
    return Path(shutil.copytree(made, tmp_path / "state"))
