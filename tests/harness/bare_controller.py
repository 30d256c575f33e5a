"""The metadata controller alone: two objects, its record and its key ring in memory; the cloud is the caller's.

It imports nothing of the simulators and of pytest: benchmarks measure a process that has it, and moto is put under it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.controllers.events import Severity
from freehold.engine.clock import Clock
from freehold.engine.keys import KeyRing
from freehold.kube.resources import Json, Key
from freehold.providers.access.audit import FileAudit
from freehold.providers.aws.accounts import AwsCloud
from freehold.providers.aws.identities import Identity, StaticKeys
from freehold.providers.aws.identity_objects import IdentityReference, RoleRequest
from freehold.providers.aws.tags.endpoints import AwsTagAccounts
from freehold.tags.cloud_reconcile import CloudReconciler
from freehold.tags.context import CLOUD_METADATAS, PROVIDERS, Context
from freehold.tags.ledger_store import LedgerStore
from freehold.tags.pass_hooks import AuditedChanges, PassHooks
from freehold.tags.policy.references import ProviderObject
from harness.stored_objects import MemoryObjects

NAMESPACE, NAME = "metadata-controller", "tags"
ACCESS_KEY = "AKIASIMULATED0000001"


@dataclass(frozen=True)
class _Known:
    """What the watches have shown, the key ring, whose credentials are used, and where events go."""

    objects: MemoryObjects
    ring: KeyRing

    def report_missing_key(self) -> None:
        """It never is."""

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None:
        """Nobody looks at them."""

    async def credentials(self, reference: IdentityReference, namespace: str) -> Identity:
        return StaticKeys(ACCESS_KEY, "any secret")

    async def find_by_role(self, role: RoleRequest, namespace: str) -> tuple[IdentityReference, Identity]:
        raise AssertionError("no object here names a role")

    def clouds(self) -> Sequence[Json]:
        return self._all(CLOUD_METADATAS.kind)

    def knows_clouds(self) -> bool:
        return True

    def providers(self) -> Sequence[ProviderObject]:
        return [
            ProviderObject(PROVIDERS["AWSMetadata"].kind, each) for each in self._all(PROVIDERS["AWSMetadata"].kind)
        ]

    def clusters(self) -> Sequence[Json]:
        return ()

    def grants(self) -> Sequence[Json]:
        return ()

    def _all(self, kind: str) -> list[Json]:
        return [each for (of, _), each in self.objects.objects.items() if of == kind]


class BareController:
    """One CloudMetadata and its AWSMetadata, whose tags can be changed."""

    def __init__(self, cloud: AwsCloud, clock: Clock, audit: FileAudit, region: str) -> None:
        self._objects = MemoryObjects()
        known = _Known(self._objects, KeyRing.single(b"r" * 32))
        places = AwsTagAccounts(cloud, known, clock)
        hooks = PassHooks(watches=[AuditedChanges(audit)])
        record = LedgerStore(self._objects, "freehold-system")
        means = Context(self._objects, known, places, record, known, clock, known, lambda: 0.5, (region,), hooks=hooks)
        self._reconciler = CloudReconciler(means)

    async def asked_for(self, classifiers: Mapping[str, str], tags: Mapping[str, Any]) -> None:
        """``tags``: the spec of the AWSMetadata."""
        provider = {"awsref": {"name": NAME}}
        for resource, spec in (
            (PROVIDERS["AWSMetadata"], tags),
            (CLOUD_METADATAS, {"cloudprovider": provider, "classifiers": dict(classifiers)}),
        ):
            metadata = {"name": NAME, "namespace": NAMESPACE}
            kind = {"apiVersion": resource.api_version, "kind": resource.kind}
            await self._objects.create(resource, {**kind, "metadata": metadata, "spec": dict(spec)})

    async def edit(self, tags: Mapping[str, Any]) -> None:
        """A merge patch of the AWSMetadata's spec."""
        await self._objects.patch(PROVIDERS["AWSMetadata"], Key(NAMESPACE, NAME), {"spec": dict(tags)})

    async def work(self) -> Json:
        """One pass; the status that it leaves."""
        await self._reconciler.reconcile(Key(NAMESPACE, NAME))
        found: Json = (await self._objects.get(CLOUD_METADATAS, Key(NAMESPACE, NAME)))["status"]
        return found
