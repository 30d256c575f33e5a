"""Secrets of an object are made, renewed and repaired; one of somebody else is never written, and no value is told."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.secret_writer import SecretWriter
from freehold.engine.clock import ManualClock
from freehold.engine.secret_values import SecretValue
from freehold.kube import errors as kube
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import CONFIG_MAPS, SECRETS, Json, Key
from freehold.providers.objects.kept_secrets import SecretKept, SecretNotKept, SecretOutcome, WantedSecret
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.stored_objects import MemoryObjects

KEY = Key("ns", "c1-kubeconfig")
OWNER: Json = {
    "apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "c1", "namespace": "ns", "uid": "u1"}
}  # fmt: skip
RENEWAL = 450.0
FIRST = "token-0001"


def wanted(token: str = FIRST, basis: str = "a", **changed: Any) -> WantedSecret:
    data = {"value": SecretValue("value", f"user: {token}\n".encode()), "token-file": SecretValue("t", token.encode())}
    fields = {"type": "cluster.x-k8s.io/secret", "labels": {names.CLUSTER_NAME_LABEL: "c1"}, "data": data}
    return WantedSecret(KEY.name, **{**fields, "basis": basis, "renew_every": RENEWAL, **changed})


class Kept:
    """The Secrets of one object, an API server, and a clock."""

    def __init__(self) -> None:
        self.server = MemoryObjects()
        self.clock = ManualClock()

    async def keep(self, want: WantedSecret | None = None) -> SecretOutcome:
        """What a process does that has just started."""
        report = await SecretWriter(self.server, self.clock).keep(OWNER, [want or wanted()])
        return report.outcomes[KEY.name]

    @property
    def stored(self) -> Json:
        return self.server.objects["Secret", KEY]

    def token(self) -> str:
        return base64.b64decode(self.stored["data"]["token-file"]).decode()


@pytest.fixture
def kept() -> Kept:
    return Kept()


async def test_a_missing_secret_is_made_for_its_object(kept: Kept) -> None:
    assert await kept.keep() == SecretKept(RENEWAL)
    metadata = kept.stored["metadata"]
    assert kept.stored["type"] == "cluster.x-k8s.io/secret"
    assert metadata["labels"] == {names.CLUSTER_NAME_LABEL: "c1"}
    assert metadata["ownerReferences"] == [
        {"apiVersion": "example.com/v1", "kind": "Toy", "name": "c1", "uid": "u1", "controller": True}
    ]
    assert base64.b64decode(kept.stored["data"]["value"]) == b"user: token-0001\n"


async def test_it_is_written_again_only_when_half_of_its_life_is_over(kept: Kept) -> None:
    await kept.keep()
    kept.clock.advance(RENEWAL - 2.0)
    assert await kept.keep(wanted("token-0002")) == SecretKept(2.0)
    assert kept.token() == "token-0001"
    kept.clock.advance(2.0)
    assert await kept.keep(wanted("token-0003")) == SecretKept(RENEWAL)
    assert kept.token() == "token-0003"
    assert kept.server.written == ["create c1-kubeconfig", "patch c1-kubeconfig"]


def _edit(kept: Kept, patch: Json) -> None:
    for part, change in patch.items():
        kept.stored[part] |= change


CHANGES: dict[str, Callable[[Kept], None]] = {
    "its data": lambda kept: _edit(kept, {"data": {"value": "eA=="}}),
    "an entry": lambda kept: kept.stored["data"].pop("token-file"),
    "all data": lambda kept: kept.stored.pop("data"),
    "its label": lambda kept: _edit(kept, {"metadata": {"labels": {}}}),
    "the time": lambda kept: kept.stored["metadata"]["annotations"].pop(names.RENEWED_AT_ANNOTATION),
    "nonsense": lambda kept: kept.stored["metadata"]["annotations"].update({names.RENEWED_AT_ANNOTATION: "soon"}),
    "a far time": lambda kept: kept.stored["metadata"]["annotations"].update(
        {names.RENEWED_AT_ANNOTATION: "2199-01-01T00:00:00Z"}
    ),
    "no annotations": lambda kept: _edit(kept, {"metadata": {"annotations": None}}),
    "itself": lambda kept: kept.server.objects.clear(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_what_somebody_changes_or_deletes_is_written_again(kept: Kept, change: Callable[[Kept], None]) -> None:
    await kept.keep()
    change(kept)
    assert await kept.keep(wanted("token-0002")) == SecretKept(RENEWAL)
    assert base64.b64decode(kept.stored["data"]["value"]) == b"user: token-0002\n"
    assert await kept.keep(wanted("token-0003")) == SecretKept(RENEWAL)
    assert kept.token() == "token-0002"


async def test_another_endpoint_is_written_at_once(kept: Kept) -> None:
    await kept.keep()
    await kept.keep(wanted("token-0002", "b"))
    assert kept.token() == "token-0002"


async def test_entries_of_others_stay(kept: Kept) -> None:
    await kept.keep()
    _edit(kept, {"data": {"note": "eA=="}})
    await kept.keep(wanted("token-0002", "b"))
    assert kept.stored["data"]["note"] == "eA=="


def reference(**changed: Any) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Toy", "name": "c1", "uid": "u1", "controller": True, **changed}


FOREIGN = {
    "nobody's": ([], "has no ownerReference"),
    "only a dependant": ([reference(controller=False)], "of an earlier Toy"),
    "of a Cluster": ([reference(kind="Cluster", uid="u2")], "is of Cluster 'c1'"),
    "of an earlier object": ([reference(uid="u0")], "of an earlier Toy of this name"),
}


@pytest.mark.parametrize(("references", "said"), FOREIGN.values(), ids=FOREIGN.keys())
async def test_a_secret_of_somebody_else_is_never_written(kept: Kept, references: list[Json], said: str) -> None:
    await kept.server.create(
        SECRETS,
        {"metadata": {"name": KEY.name, "namespace": "ns", "ownerReferences": references}, "data": {"value": "eA=="}},
    )
    before = dict(kept.stored)
    outcome = await kept.keep()
    assert isinstance(outcome, SecretNotKept) and outcome.reason == names.REASON_FOREIGN
    assert said in outcome.message and "kubectl delete secret c1-kubeconfig -n ns" in outcome.message
    assert kept.stored == before
    del kept.server.objects["Secret", KEY]
    assert await kept.keep() == SecretKept(RENEWAL)


async def test_a_secret_that_changes_hands_meanwhile_is_not_written(kept: Kept) -> None:
    await kept.keep()

    def take(verb: str, name: str) -> None:
        kept.server.before = lambda verb, name: None
        kept.stored["metadata"] |= {"ownerReferences": [], "resourceVersion": "77"}

    kept.server.before = take
    outcome = await kept.keep(wanted("token-0002", "b"))
    assert isinstance(outcome, SecretNotKept) and outcome.after <= 1.0
    assert kept.token() == "token-0001"
    assert isinstance(await kept.keep(wanted("token-0003")), SecretNotKept)


async def test_a_secret_that_somebody_makes_first_is_read_again(kept: Kept) -> None:
    def make(verb: str, name: str) -> None:
        kept.server.before = lambda verb, name: None
        kept.server.objects["Secret", KEY] = {"metadata": {"name": KEY.name, "namespace": "ns"}}

    kept.server.before = make
    outcome = await kept.keep()
    assert isinstance(outcome, SecretNotKept) and outcome.reason == names.REASON_CHANGED_MEANWHILE
    assert isinstance(await kept.keep(), SecretNotKept) and "data" not in kept.stored


def _raise(error: kube.KubeError) -> Callable[[str, str], None]:
    def refuse(verb: str, name: str) -> None:
        raise error

    return refuse


REFUSALS = {
    "RBAC": (kube.Forbidden("secrets is forbidden"), "grant the operator 'get', 'create' and 'patch' on secrets"),
    "immutable": (kube.InvalidRequest("data: field is immutable"), "field is immutable. Delete it, and it is made"),
}


@pytest.mark.parametrize(("error", "said"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refused_write_says_what_to_do(kept: Kept, error: kube.KubeError, said: str) -> None:
    kept.server.before = _raise(error)
    outcome = await kept.keep()
    assert isinstance(outcome, SecretNotKept) and outcome.reason == names.REASON_WRITE_REFUSED
    assert said in outcome.message and "ns" in outcome.message


async def test_a_server_that_is_away_ends_the_pass(kept: Kept) -> None:
    kept.server.before = _raise(kube.ServerUnavailable("no answer"))
    with pytest.raises(kube.ServerUnavailable):
        await kept.keep()


@pytest.mark.parametrize("kind", (kube.Forbidden, kube.InvalidRequest, kube.ServerUnavailable))
async def test_no_value_is_told_although_the_server_repeats_it(kept: Kept, kind: type[kube.KubeError]) -> None:
    want = wanted()
    echo = f"refused: {want.encode_data()} token-0001"
    kept.server.before = _raise(kind(echo, details={"causes": [{"message": echo}]}))
    try:
        shown = repr(await kept.keep(want))
    except kube.KubeError as problem:
        shown = f"{problem} {problem!r} {problem.details}"
    hidden = ("token-0001", *want.encode_data().values())
    assert "refused" in shown and not [each for each in hidden if each in shown + repr(want)]


async def test_a_secret_goes_with_its_object() -> None:
    """By its ownerReference: the embedded API server collects it as a real one does."""
    store = Store.open(":memory:")
    server = ApiServer(store)
    url, key = await server.start(), Key("default", KEY.name)
    try:
        async with KubeClient(Connection(url)) as client:
            named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c1", "namespace": "default"}}
            owner = named | await client.create(CONFIG_MAPS, named)
            for want in (wanted(), wanted("token-0002", "b")):
                report = await SecretWriter(client, ManualClock()).keep(owner, [want])
                assert report.is_kept(KEY.name) and not report.problems
            assert (await client.get(SECRETS, key))["type"] == "cluster.x-k8s.io/secret"
            await client.delete(CONFIG_MAPS, Key("default", "c1"))
            async with asyncio.timeout(20):
                while True:
                    await client.get(SECRETS, key)
    except kube.ObjectNotFound as gone:
        assert KEY.name in gone.message
    finally:
        await server.stop()
        store.close()
