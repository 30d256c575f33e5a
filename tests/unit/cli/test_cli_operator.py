"""``freehold operator`` beside a provider of the same kinds: it ends at once, and says which one to uninstall."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from freehold.api import names
from freehold.cli import main
from freehold.providers.crds import build_crds
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

UPSTREAM = Path(__file__).parents[2] / "data" / "upstream"
CRDS = {
    "infrastructure-aws": sorted((UPSTREAM / "capa").glob("*.crd.yaml")),
    "infrastructure-ibmcloud": sorted(UPSTREAM.glob("*.crd.yaml")),
}


def _as_installed(provider: str, path: Path) -> dict[str, Any]:
    """Upstream's CRD as clusterctl applies it: the label comes from its kustomization.

    https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/config/crd/kustomization.yaml
    """
    crd: dict[str, Any] = yaml.safe_load(path.read_text())
    labels = crd["metadata"].get("labels") or {}
    return {**crd, "metadata": {**crd["metadata"], "labels": {**labels, names.PROVIDER_LABEL: provider}}}


@contextmanager
def _served(crds: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """The URL of an API server in a thread of its own, and what is written to it: the command has the main thread, for
    its signals."""
    url, written = Future[str](), list[str]()

    async def serve() -> None:
        store = Store.open(":memory:")
        server = ApiServer(store, crds)
        try:
            address = await server.start()
            store.observe(lambda collection, change: written.append(collection))
            url.set_result(address)
            await over.wait()
        finally:
            await server.stop()
            store.close()

    over, loop = asyncio.Event(), asyncio.new_event_loop()
    with ThreadPoolExecutor(1) as threads:
        serving = threads.submit(loop.run_until_complete, serve())
        try:
            yield url.result(timeout=60), written
        finally:
            loop.call_soon_threadsafe(over.set)
            serving.result()
            loop.close()


@pytest.mark.parametrize(
    ("provider", "path"),
    [(provider, path) for provider, paths in CRDS.items() for path in paths],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_beside_a_crd_of_upstreams_the_operator_does_not_start(
    provider: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of them is enough: whoever installed it has its controller, too (docs/reference/capi-contract.md C2)."""
    theirs = _as_installed(provider, path)
    name = theirs["metadata"]["name"]
    ours = [crd for crd in build_crds() if crd["metadata"]["name"] != name]
    with _served([*ours, theirs]) as (url, written):
        cluster = {"name": "it", "cluster": {"server": url}}
        context = {"name": "it", "context": {"cluster": "it", "user": "it"}}
        config = {"clusters": [cluster], "contexts": [context], "users": [{"name": "it"}], "current-context": "it"}
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        monkeypatch.setattr("os.umask", lambda mask: mask)  # other tests of this process keep theirs
        monkeypatch.setattr(sys, "argv", ["freehold", "operator", "--kubeconfig", str(tmp_path / "kubeconfig")])
        with pytest.raises(SystemExit) as ended:
            main.main()
    assert written == [], "neither a key ring nor an event"
    assert ended.value.code == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == (
        f"freehold: CRD {name} belongs to provider {provider}: two controllers must not serve one object. "
        "Uninstall it first"
    )


@pytest.mark.parametrize("given", ["gcp", "ibm,gcp"])
def test_a_provider_that_there_is_not_is_refused_with_the_names_of_all(
    given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.umask", lambda mask: mask)  # other tests of this process keep theirs
    monkeypatch.setattr(sys, "argv", ["freehold", "operator", "--providers", given])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert "'gcp' is no provider; there are aws, ibm" in capsys.readouterr().err
