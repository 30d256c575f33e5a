"""Writes what a pass over tags came to: the statuses of both objects, and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from freehold.api import conditions
from freehold.controllers.events import Severity
from freehold.kube.merge_patch import build_merge_patch
from freehold.kube.resources import Json, Resource, key_of
from freehold.tags.context import CLOUD_METADATAS, PROVIDERS, Context, dict_of
from freehold.tags.policy import status
from freehold.tags.policy.grants import Grants
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.references import ProviderObject, Reference, Refused


@dataclass(frozen=True)
class ProviderResult:
    """What one provider's object came to. ``provider``: None where it is missing."""

    reference: Reference
    provider: ProviderObject | None
    outcome: Outcome | Refused


async def write_statuses(
    context: Context, cloud: Json, parts: Sequence[ProviderResult], refused: Refused | None = None
) -> None:
    """``refused``: why there are no parts. Raises KubeError."""
    outcomes: dict[str, Outcome | Refused] = {str(each.reference): each.outcome for each in parts}
    if refused is not None:
        outcomes = {"": refused}
    before = cloud.get("status") or {}
    after = status.of_cloud(cloud, outcomes, _now(context))
    for each in parts:  # first: where one has changed meanwhile, Ready must not be true
        speaker = _speaker(context, each.provider)
        if speaker == cloud["metadata"]["uid"] and each.provider is not None:
            await write_of_provider(context, each.provider, each.outcome)
        elif speaker == "":
            context.wake(each.reference)
    await _write_of_cloud(context, cloud, after)
    _events(context, cloud, before, after, list(outcomes.values()))


async def write_applying(context: Context, cloud: Json, provider: ProviderObject) -> None:
    """Say that Ready is false, before the first call for a new generation (A17). Raises KubeError."""
    now = _now(context)
    await _write_of_cloud(context, cloud, status.of_applying(cloud, (status.READY, status.APPLIED), now))
    if _speaker(context, provider) == cloud["metadata"]["uid"] and not status.has_observed(
        provider.raw, status.APPLIED
    ):
        applying = status.of_applying(provider.raw, (status.APPLIED,), now)
        await _patch_status(context, PROVIDERS[provider.kind], dict_of(provider), applying)


async def write_of_provider(context: Context, provider: ProviderObject, outcome: Outcome | Refused) -> None:
    """Write what it came to. Raises KubeError."""
    after = status.of_provider(provider.raw, outcome, _now(context))
    await _patch_status(context, PROVIDERS[provider.kind], dict_of(provider), after)


async def write_unreferred(context: Context, provider: ProviderObject) -> None:
    """Take back what was said of an object to which no CloudMetadata refers any more. Raises KubeError."""
    if "conditions" in (provider.raw.get("status") or {}):
        unreferred = status.of_unreferred(provider.raw, _now(context))
        await _patch_status(context, PROVIDERS[provider.kind], dict_of(provider), unreferred)


def _speaker(context: Context, provider: ProviderObject | None) -> str | None:
    """Find the oldest that may refer to the object, by its uid: two writers of one status would never rest.

    Empty where there is none, None where nobody speaks for it: it is being deleted, or there is none.
    """
    if provider is None or provider.is_going:
        return None
    oldest = min(context.referring(provider.reference, context.grants() or Grants()), key=_age, default=None)
    return str(oldest["metadata"]["uid"]) if oldest else ""


def _age(raw: Json) -> tuple[str, str]:
    return str(raw["metadata"].get("creationTimestamp", "")), str(raw["metadata"]["uid"])


def _now(context: Context) -> datetime:
    return datetime.fromtimestamp(context.clock.now(), UTC)


async def _write_of_cloud(context: Context, cloud: Json, after: status.Status) -> None:
    await _patch_status(context, CLOUD_METADATAS, cloud, after)
    context.hooks.ready(key_of(cloud), status.is_ready(after))


async def _patch_status(context: Context, resource: Resource, raw: Json, wanted: Mapping[str, Any]) -> None:
    """``raw`` is kept at the version that was stored last. Raises KubeError."""
    before = raw.get("status") or {}
    if wanted == before:
        return
    changes = build_merge_patch(before, wanted, last=before)
    body = {"metadata": {"resourceVersion": raw["metadata"]["resourceVersion"]}, "status": changes}
    stored = await context.client.patch(resource, key_of(raw), body, subresource="status")
    raw["metadata"], raw["status"] = stored["metadata"], stored.get("status") or {}


def _events(
    context: Context,
    cloud: Json,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    outcomes: Sequence[Outcome | Refused],
) -> None:
    """Record a repair each time, anything else when it changes."""
    record = context.recorder.record
    repairs = [repair for each in outcomes if isinstance(each, Outcome) for repair in each.repairs]
    for repair in repairs[: status.SHOWN]:
        record(cloud, Severity.WARNING, "DriftRepaired", repair.message)
    if (before.get("status"), before.get("reason")) != (after["status"], after["reason"]):
        severity = Severity.NORMAL if after["reason"] == "none" else Severity.WARNING
        ready = conditions.find_condition(after["conditions"], status.READY) or after
        record(cloud, severity, ready["reason"], after["message"])
