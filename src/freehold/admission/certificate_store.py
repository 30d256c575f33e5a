"""Certificates in Secret ``freehold-webhook``, which all replicas share, and their CA in the webhook's configuration.

Whoever is first makes the Secret; from then on only the leader writes it, and the CA into the configuration. A Secret
that is deleted is put back from memory.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from freehold.admission import certificates
from freehold.admission.certificates import BrokenCertificates, Certificates, Pair, Step
from freehold.admission.webhook_configuration import (
    CERT_MANAGER_ANNOTATION,
    SERVICE,
    WEBHOOK,
    name_configuration,
)
from freehold.kube import errors as kube
from freehold.kube.resources import SECRETS, Json, Key, Resource

CONFIGURATIONS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
SECRET: Final = SERVICE
_LOG = logging.getLogger(__name__)


class ObjectStore(Protocol):
    """The part of a client of the API server that is used here."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def create(self, resource: Resource, obj: Json) -> Json: ...

    async def replace(self, resource: Resource, obj: Json) -> Json: ...

    async def patch(self, resource: Resource, key: Key, body: Json) -> Json: ...


@dataclass(frozen=True)
class _Stored:
    """The Secret as it was read, None where there is none; ``held`` is None where it is unusable."""

    raw: Json | None = None
    held: Certificates | None = None


class SecretCertificates:
    """The certificates of the operator in a namespace; ``leads`` says whether this process is the one that writes."""

    def __init__(
        self,
        client: ObjectStore,
        namespace: str,
        leads: Callable[[], bool],
        now: Callable[[], datetime] = certificates.utc_now,
    ) -> None:
        self._client = client
        self._key = Key(namespace, SECRET)
        self._configuration = Key("", name_configuration(namespace))
        self._leads = leads
        self._now = now
        self._held: Certificates | None = None
        self._trusted: tuple[bytes, datetime] | None = None
        """The authorities that are in the configuration, and since when this process knows it."""
        self._told: tuple[str, str] = ("", "")
        """The problems of the last look, and of this one: each is logged once."""

    async def refresh(self) -> Pair | None:
        """Look at the Secret and do the step that is due. Return what is served now; None while there is nothing."""
        self._told = self._told[1], ""
        try:
            await self._keep_secret()
            if self._held is not None and self._leads():
                await self._keep_configuration(self._held.authorities)
        except kube.KubeError as problem:
            self._tell(f"the webhook's certificate in Secret {self._key} cannot be looked after: {problem}")
        return self._held.served if self._held else None

    async def _keep_secret(self) -> None:
        stored = await self._read()
        held = stored.held or self._held
        since = self._trusted[1] if self._trusted and held and self._trusted[0] == held.authorities else None
        step = certificates.decide(held, self._now(), since)
        if step in (Step.PREPARE, Step.PROMOTE) and not self._leads():
            step = Step.NOTHING
        wanted = self._take(step, held)
        if wanted is not None and wanted != stored.held and not await self._write(wanted, stored.raw):
            wanted = (await self._read()).held or held  # another replica was faster
        self._held = wanted

    def _take(self, step: Step, held: Certificates | None) -> Certificates | None:
        now = self._now()
        if step is Step.ISSUE or held is None:
            _LOG.info(
                "a certificate of the webhook is made for Secret %s, which has none that can be served", self._key
            )
            return certificates.issue(self._list_names(), now)
        if step is Step.PREPARE:
            return certificates.prepare(held, certificates.issue(self._list_names(), now), now)
        return certificates.promote(held) if step is Step.PROMOTE else held

    def _list_names(self) -> tuple[str, ...]:
        service = f"{SERVICE}.{self._key.namespace}"
        return f"{service}.svc", f"{service}.svc.cluster.local", service, "localhost"

    async def _read(self) -> _Stored:
        try:
            found = await self._client.get(SECRETS, self._key)
        except kube.ObjectNotFound:
            return _Stored()
        try:
            return _Stored(found, certificates.read(_decode(found)))
        except BrokenCertificates as problem:
            if found.get("data"):
                self._tell(f"Secret {self._key} is broken and is replaced: {problem}")
            return _Stored(found)

    async def _write(self, wanted: Certificates, stored: Json | None) -> bool:
        """Write the Secret; False if another process wrote it meanwhile. One that was made empty keeps its type."""
        data = {name: base64.b64encode(value).decode() for name, value in wanted.to_data().items()}
        try:
            if stored is not None:
                await self._client.replace(SECRETS, stored | {"data": data})
            else:
                metadata = {"name": self._key.name, "namespace": self._key.namespace}
                kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
                await self._client.create(SECRETS, kind | {"metadata": metadata, "data": data})
        except (kube.AlreadyExists, kube.Conflict):
            return False
        except kube.ObjectNotFound:
            if stored is None:  # the namespace
                raise
            return False
        return True

    async def _keep_configuration(self, authorities: bytes) -> None:
        """Put the CAs into our entry of the configuration. One that cert-manager fills in is left alone."""
        try:
            found = await self._client.get(CONFIGURATIONS, self._configuration)
        except kube.ObjectNotFound:
            self._tell(f"no {CONFIGURATIONS.kind} {self._configuration} is there, so that nobody asks the webhook")
            return
        metadata = found["metadata"]
        bundle = base64.b64encode(authorities).decode()
        entries = found.get("webhooks") or []
        ours = [each for each in entries if each.get("name") == WEBHOOK]
        if CERT_MANAGER_ANNOTATION in (metadata.get("annotations") or {}) or not ours:
            return
        if any(each["clientConfig"].get("caBundle") != bundle for each in ours):
            for each in ours:
                each["clientConfig"]["caBundle"] = bundle
            patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "webhooks": entries}
            await self._client.patch(CONFIGURATIONS, self._configuration, patch)
            _LOG.info("the CA of the webhook is in %s %s", CONFIGURATIONS.kind, self._configuration)
        if self._trusted is None or self._trusted[0] != authorities:
            self._trusted = authorities, self._now()

    def _tell(self, message: str) -> None:
        """Log a problem, once while it lasts."""
        if message not in self._told:
            _LOG.warning("%s", message)
        self._told = self._told[0], message


def _decode(secret: Json) -> dict[str, bytes]:
    """Decode the entries of a Secret. Raises BrokenCertificates."""
    try:
        return {name: base64.b64decode(value, validate=True) for name, value in (secret.get("data") or {}).items()}
    except (binascii.Error, TypeError, ValueError):
        raise BrokenCertificates("an entry is not base64") from None
