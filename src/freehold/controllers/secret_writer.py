"""Writer of the Secrets that belong to an object (providers.objects.kept_secrets).

A Secret is read in each pass, and written only if it is due: nothing of it is kept in memory. One that is not of the
object is never written. No message has a value of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from freehold.api import names
from freehold.engine.clock import Clock
from freehold.engine.secret_values import remove_secret_values, withhold
from freehold.kube import errors as kube
from freehold.kube.resources import SECRETS, Json, Key, Resource
from freehold.providers.objects.kept_secrets import (
    SecretKept,
    SecretNotKept,
    SecretOutcome,
    SecretsReport,
    WantedSecret,
    build_annotations,
    build_owner_reference,
    explain_foreign,
    find_remaining,
    is_owned,
)

CHANGED_SECONDS = 1.0
FOREIGN_SECONDS = 30.0
REFUSED_SECONDS = 60.0


class ObjectStore(Protocol):
    """The part of a client of the API server that is used here."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def create(self, resource: Resource, obj: Json) -> Json: ...

    async def patch(self, resource: Resource, key: Key, body: Json) -> Json: ...


class SecretWriter:
    """A writer of Secrets through one client."""

    def __init__(self, client: ObjectStore, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def keep(self, owner: Json, wanted: Sequence[WantedSecret]) -> SecretsReport:
        """Write those that are missing or due. Raises KubeError if the API server cannot be used now."""
        return SecretsReport({each.name: await self._keep_one(owner, each) for each in wanted})

    async def _keep_one(self, owner: Json, wanted: WantedSecret) -> SecretOutcome:
        key = Key(str(owner["metadata"]["namespace"]), wanted.name)
        verb = "get"
        try:
            try:
                stored = await self._client.get(SECRETS, key)
            except kube.ObjectNotFound:
                verb = "create"
                await self._client.create(SECRETS, self._build_secret(key, owner, wanted))
                return SecretKept(wanted.renew_every)
            if not is_owned(stored, owner):
                return SecretNotKept(names.REASON_FOREIGN, explain_foreign(stored, owner), FOREIGN_SECONDS)
            if remaining := find_remaining(stored, wanted, self._now()):
                return SecretKept(remaining)
            verb = "patch"
            await self._client.patch(SECRETS, key, self._build_patch(stored, wanted))
            return SecretKept(wanted.renew_every)
        except kube.KubeError as problem:
            _hide_values(problem, wanted)
            return _explain_failure(problem, verb, key)

    def _build_secret(self, key: Key, owner: Json, wanted: WantedSecret) -> Json:
        return {
            "apiVersion": SECRETS.api_version,
            "kind": SECRETS.kind,
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "labels": dict(wanted.labels),
                "annotations": build_annotations(wanted, self._now()),
                "ownerReferences": [build_owner_reference(owner)],
            },
            "type": wanted.type,
            "data": wanted.encode_data(),
        }

    def _build_patch(self, stored: Json, wanted: WantedSecret) -> Json:
        """Build a patch of the version that was judged: of a Secret that changed hands since, nothing is written."""
        metadata = {
            "resourceVersion": stored["metadata"]["resourceVersion"],
            "labels": dict(wanted.labels),
            "annotations": build_annotations(wanted, self._now()),
        }
        return {"metadata": metadata, "data": wanted.encode_data()}

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)


def _explain_failure(problem: kube.KubeError, verb: str, key: Key) -> SecretNotKept:
    """Explain a request that was refused. Raises ``problem`` if any request would fail now."""
    match problem:
        case kube.Conflict() | kube.AlreadyExists() | kube.ObjectNotFound():
            message = f"Secret {key} changed while it was written; it is read again"
            return SecretNotKept(names.REASON_CHANGED_MEANWHILE, message, CHANGED_SECONDS)
        case kube.Forbidden():
            message = (
                f"Secret {key} cannot be kept: grant the operator 'get', 'create' and 'patch' on {SECRETS} in "
                f"namespace {key.namespace} ({verb}: {problem.message})"
            )
        case kube.InvalidRequest():
            message = (
                f"Secret {key} cannot be written: {problem.message}. Delete it, and it is made anew: kubectl delete "
                f"secret {key.name} -n {key.namespace}"
            )
        case _:
            raise problem
    return SecretNotKept(names.REASON_WRITE_REFUSED, message, REFUSED_SECONDS)


def _hide_values(problem: kube.KubeError, wanted: WantedSecret) -> None:
    """Take the values out of what a server, or a webhook in front of it, may have repeated."""
    hidden = tuple(wanted.data.values())
    problem.message = remove_secret_values(problem.message, hidden)
    problem.details = remove_secret_values(problem.details, hidden)
    withhold(problem, hidden)
