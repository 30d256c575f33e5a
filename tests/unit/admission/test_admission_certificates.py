"""Certificates of the webhook: every answer is trusted, whoever leads, whatever becomes of the Secret."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from freehold.admission import certificates
from freehold.admission.certificate_files import FileCertificates
from freehold.admission.certificate_store import CONFIGURATIONS, SECRET, SecretCertificates
from freehold.admission.certificates import BrokenCertificates, Pair
from freehold.admission.webhook_configuration import (
    CERT_MANAGER_ANNOTATION,
    WebhookOptions,
    build_webhook_configuration,
    name_configuration,
)
from freehold.kube import errors as kube
from freehold.kube.resources import SECRETS, Json, Key
from harness.stored_objects import MemoryObjects

NAMESPACE = "freehold-system"
HOST = f"freehold-webhook.{NAMESPACE}.svc"
KEY = Key(NAMESPACE, SECRET)
CONFIGURATION = Key("", name_configuration(NAMESPACE))
BEGIN = datetime(2026, 11, 28, tzinfo=UTC)
HOUR = timedelta(hours=1)


def is_trusted(pair: Pair, bundle: bytes, now: datetime) -> bool:
    """Judge a certificate as a strict client does that has these roots."""
    roots = Store(x509.load_pem_x509_certificates(bundle))
    verifier = PolicyBuilder().store(roots).time(now).build_server_verifier(x509.DNSName(HOST))
    try:
        verifier.verify(x509.load_pem_x509_certificate(pair.certificate), [])
    except VerificationError:
        return False
    return True


@dataclass
class Replica:
    """A process: it leads or follows."""

    source: SecretCertificates
    leads: bool = False
    served: Pair | None = None

    async def look(self) -> Pair:
        self.served = await self.source.refresh()
        assert self.served is not None
        return self.served


@dataclass
class World:
    """An API server and a clock."""

    objects: MemoryObjects = field(default_factory=MemoryObjects)
    now: datetime = BEGIN

    def start(self, *, leads: bool = False) -> Replica:
        replica = Replica(SecretCertificates(self.objects, NAMESPACE, lambda: replica.leads, lambda: self.now), leads)
        return replica

    async def install(self, **options: Any) -> None:
        await self.objects.create(CONFIGURATIONS, build_webhook_configuration(WebhookOptions(NAMESPACE, **options)))

    async def bundle(self) -> bytes:
        (entry,) = (await self.objects.get(CONFIGURATIONS, CONFIGURATION))["webhooks"]
        return base64.b64decode(entry["clientConfig"].get("caBundle", ""))

    async def secret(self) -> Json:
        return await self.objects.get(SECRETS, KEY)


@pytest.fixture
async def world() -> World:
    made = World()
    await made.install()
    return made


def test_a_strict_client_accepts_the_certificate_for_its_name_alone() -> None:
    made = certificates.issue((HOST,), BEGIN)
    assert is_trusted(made.served, made.authorities, BEGIN)
    assert not is_trusted(certificates.issue(("other.svc",), BEGIN).served, made.authorities, BEGIN)
    assert not is_trusted(made.served, made.authorities, BEGIN + certificates.LIFE + HOUR)


def test_the_key_of_the_authority_is_kept_nowhere() -> None:
    made = certificates.issue((HOST,), BEGIN)
    (authority,) = x509.load_pem_x509_certificates(made.authorities)
    assert certificates.load(made.served).public_key() != authority.public_key()
    assert set(made.to_data()) == {"tls.crt", "tls.key", "ca.crt"}


@pytest.mark.parametrize("both_lead", [False, True], ids=["one leads at a time", "two lead by accident"])
async def test_no_answer_is_untrusted_through_rotations_and_leaders(world: World, both_lead: bool) -> None:
    """A new authority is in the configuration before what it signed is served, whoever leads, and old ones leave it."""
    replicas = [world.start(leads=True), world.start(leads=both_lead)]
    seen: set[bytes] = set()
    await replicas[0].look()
    for hour in range(0, 200 * 24, 12):
        world.now = BEGIN + timedelta(hours=hour)
        if hour % 240 == 0 and not both_lead:
            for each in replicas:
                each.leads = not each.leads
        for each in replicas:
            await each.look()
            bundle = await world.bundle()
            for other in replicas:  # also one that has not looked yet
                if other.served:
                    assert is_trusted(other.served, bundle, world.now), f"hour {hour}"
                    seen.add(other.served.certificate)
        assert len(x509.load_pem_x509_certificates(bundle)) <= 2
    assert len(seen) == 4  # one each 60 days


async def test_the_next_certificate_waits_for_its_authority_to_be_in_every_api_server(world: World) -> None:
    leader = world.start(leads=True)
    first = await leader.look()
    world.now += certificates.LIFE * 2 / 3
    assert await leader.look() == first
    assert "next.crt" in (await world.secret())["data"]
    assert await leader.look() == first
    world.now += certificates.GRACE
    assert await leader.look() != first
    assert "next.crt" not in (await world.secret())["data"]


async def test_a_leader_whose_configuration_cannot_be_written_does_not_rotate(world: World) -> None:
    leader = world.start(leads=True)
    first = await leader.look()

    def refuse(verb: str, name: str) -> None:
        if name == CONFIGURATION.name:
            raise kube.Forbidden("no rights", code=403)

    world.objects.before = refuse
    for _ in range(3):
        world.now += certificates.LIFE * 3 / 10
        assert await leader.look() == first


async def test_a_follower_writes_neither_the_configuration_nor_the_next_certificate(world: World) -> None:
    follower = world.start()
    first = await follower.look()
    world.now += certificates.LIFE * 0.9
    assert await follower.look() == first
    assert world.objects.written == [f"create {CONFIGURATION.name}", f"create {SECRET}"]


async def test_of_two_that_start_at_once_both_serve_the_same(world: World) -> None:
    faster, slower = world.start(), world.start()

    async def overtake(name: str) -> None:
        if name == SECRET and faster.served is None:
            faster.served = Pair(b"", b"")
            await faster.look()

    world.objects.between = overtake
    assert await slower.look() == faster.served
    assert await faster.look() == slower.served


async def test_a_secret_that_is_deleted_is_put_back_as_it_was(world: World) -> None:
    leader = world.start(leads=True)
    first = await leader.look()
    before = (await world.secret())["data"]
    del world.objects.objects["Secret", KEY]
    assert await leader.look() == first
    assert (await world.secret())["data"] == before


@pytest.mark.parametrize(
    "edit",
    [
        {"tls.key": ""},
        {"tls.crt": "%%%"},
        {"tls.crt": base64.b64encode(b"junk").decode()},
        {"ca.crt": base64.b64encode(b"junk").decode()},
        {"ca.crt": base64.b64encode(certificates.issue((HOST,), BEGIN).authorities).decode()},
        {"tls.key": base64.b64encode(certificates.issue((HOST,), BEGIN).served.key).decode()},
    ],
)
async def test_a_broken_secret_is_made_anew_and_trusted_at_once(world: World, edit: Json) -> None:
    await world.start(leads=True).look()
    world.objects.objects["Secret", KEY]["data"] |= edit
    served = await world.start(leads=True).look()
    assert is_trusted(served, await world.bundle(), world.now)


async def test_a_certificate_that_is_over_at_start_is_made_anew(world: World) -> None:
    first = await world.start(leads=True).look()
    world.now += certificates.LIFE + HOUR
    served = await world.start(leads=True).look()
    assert served != first
    assert is_trusted(served, await world.bundle(), world.now)


async def test_a_secret_that_was_made_empty_is_filled_and_keeps_its_type_and_labels(world: World) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    metadata = {"name": SECRET, "namespace": NAMESPACE, "labels": labels}
    await world.objects.create(SECRETS, {"kind": "Secret", "type": "Opaque", "metadata": metadata})
    await world.start(leads=True).look()
    secret = await world.secret()
    assert (secret["type"], secret["metadata"]["labels"]) == ("Opaque", labels)
    assert set(secret["data"]) == {"tls.crt", "tls.key", "ca.crt"}


async def test_only_our_entry_of_the_configuration_is_written() -> None:
    world = World()
    configuration = build_webhook_configuration(WebhookOptions(NAMESPACE))
    theirs = {"name": "validate.example.com", "clientConfig": {"url": "https://example.com", "caBundle": "dGhlaXJz"}}
    configuration["webhooks"].insert(0, theirs)
    await world.objects.create(CONFIGURATIONS, configuration)
    await world.start(leads=True).look()
    first, ours = (await world.objects.get(CONFIGURATIONS, CONFIGURATION))["webhooks"]
    assert first == theirs and ours["clientConfig"]["caBundle"]


async def test_a_configuration_that_changes_meanwhile_is_not_overwritten(world: World) -> None:
    edited = False

    async def edit(name: str) -> None:
        nonlocal edited
        if name == CONFIGURATION.name and not edited:
            edited = True
            await world.objects.patch(CONFIGURATIONS, CONFIGURATION, {"metadata": {"labels": {"a": "b"}}})

    world.objects.between = edit
    leader = world.start(leads=True)
    await leader.look()
    assert await world.bundle() == b""
    served = await leader.look()
    assert is_trusted(served, await world.bundle(), world.now)


async def test_a_configuration_of_cert_manager_is_left_alone() -> None:
    world = World()
    await world.install(certificate="freehold-webhook")
    await world.start(leads=True).look()
    assert await world.bundle() == b""
    stored = await world.objects.get(CONFIGURATIONS, CONFIGURATION)
    assert stored["metadata"]["annotations"] == {CERT_MANAGER_ANNOTATION: f"{NAMESPACE}/freehold-webhook"}


async def test_an_api_server_that_is_gone_is_told_once_and_what_is_served_stays(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = world.start(leads=True)
    first = await leader.look()

    async def fail(*args: object) -> Json:
        raise kube.ServerUnavailable("no answer", code=503)

    monkeypatch.setattr(world.objects, "get", fail)
    with caplog.at_level(logging.DEBUG):
        assert [await leader.look() for _ in range(3)] == [first] * 3
    assert [record.message for record in caplog.records].count(
        f"the webhook's certificate in Secret {KEY} cannot be looked after: no answer"
    ) == 1


async def test_without_rights_nothing_is_served_and_the_missing_one_is_told(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*args: object) -> Json:
        raise kube.Forbidden('secrets "freehold-webhook" is forbidden', code=403)

    monkeypatch.setattr(world.objects, "create", refuse)
    assert await world.start(leads=True).source.refresh() is None
    assert f'Secret {KEY} cannot be looked after: secrets "freehold-webhook" is forbidden' in caplog.text


async def test_no_log_and_no_text_has_a_key(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        leader = world.start(leads=True)
        served = await leader.look()
        world.objects.objects["Secret", KEY]["data"]["ca.crt"] = ""
        await world.start(leads=True).look()
    told = caplog.text + repr(served) + repr(certificates.issue((HOST,), BEGIN))
    assert "is broken and is replaced: entry ca.crt is missing" in told
    assert "PRIVATE KEY" not in told


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    write(tmp_path, certificates.issue((HOST,), BEGIN).served)
    yield tmp_path


def write(directory: Path, pair: Pair) -> None:
    (directory / "tls.crt").write_bytes(pair.certificate)
    (directory / "tls.key").write_bytes(pair.key)


async def test_files_are_read_again_and_a_broken_one_changes_nothing(directory: Path) -> None:
    source = FileCertificates(directory)
    first = await source.refresh()
    (directory / "tls.key").write_bytes(b"half of it")
    assert await source.refresh() == first
    following = certificates.issue((HOST,), BEGIN).served
    write(directory, following)
    assert await source.refresh() == following != first


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
def test_a_missing_file_is_named(directory: Path, name: str) -> None:
    (directory / name).unlink()
    with pytest.raises(BrokenCertificates, match=f"{name} cannot be read: No such file"):
        FileCertificates(directory).read()
