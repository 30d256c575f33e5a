"""Tells people what a pass over tags came to: the statuses of both objects, and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from freehold.api import conditions
from freehold.controllers.events import Severity
from freehold.kube.merge_patch import merge_patch
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.operator.metadata.means import CLOUD_METADATAS, PROVIDERS, Means, dict_of
from freehold.operator.metadata.speaking import Referred, referred, speaker
from freehold.reconcilers.metadata import status
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.reconcilers.metadata.references import Provider, Reference, Refused


@dataclass(frozen=True)
class Part:
    """What one provider's object came to. ``provider``: None where it is missing."""

    reference: Reference
    provider: Provider | None
    outcome: Outcome | Refused


async def tell(means: Means, cloud: Json, parts: Sequence[Part], refused: Refused | None = None) -> None:
    """``refused``: why there are no parts. Raises KubeError."""
    now = datetime.fromtimestamp(means.clock.now(), UTC)
    named: dict[str, Outcome | Refused] = {str(each.reference): each.outcome for each in parts}
    if refused is not None:
        named = {"": refused}
    before = cloud.get("status") or {}
    after = status.of_cloud(cloud, named, now)
    for each in parts:  # first: where one has changed meanwhile, Ready must not be true
        if each.provider is not None and not each.provider.is_going:
            await _tell_part(means, cloud, each.provider, each.outcome)
    await _tell_cloud(means, cloud, after)
    _events(means, cloud, before, after, list(named.values()))


async def tell_applying(means: Means, cloud: Json, provider: Provider) -> None:
    """Ready is false before the first call for a new generation (A17). Raises KubeError."""
    now = datetime.fromtimestamp(means.clock.now(), UTC)
    await _tell_cloud(means, cloud, status.of_applying(cloud, (status.READY, status.APPLIED), now))
    if speaker(means, cloud, provider) is cloud and not status.has_observed(provider.raw, status.APPLIED):
        applying = status.of_applying(provider.raw, (status.APPLIED,), now)
        await patch_status(means, PROVIDERS[provider.kind], dict_of(provider), applying)


async def _tell_cloud(means: Means, cloud: Json, after: status.Status) -> None:
    await patch_status(means, CLOUD_METADATAS, cloud, after)
    means.ready(key_of(cloud), status.is_ready(after))


async def _tell_part(means: Means, cloud: Json, provider: Provider, outcome: Outcome | Refused) -> None:
    speaking = speaker(means, cloud, provider)
    if speaking is cloud:
        await tell_provider(means, provider, outcome)
    elif speaking is None:
        await tell_unreferred(means, provider)


async def tell_unreferred(means: Means, provider: Provider, but: Key | None = None) -> Referred:
    """Where no CloudMetadata refers to an object, what was told of it before is not so any more. Raises KubeError.

    ``but``: see speaking.referred.
    """
    found = referred(means, provider.reference, but)
    if found is Referred.NO and not provider.is_going and "conditions" in (provider.raw.get("status") or {}):
        now = datetime.fromtimestamp(means.clock.now(), UTC)
        unreferred = status.of_unreferred(provider.raw, now)
        await patch_status(means, PROVIDERS[provider.kind], dict_of(provider), unreferred)
    return found


async def tell_provider(means: Means, provider: Provider, outcome: Outcome | Refused) -> None:
    """Raises KubeError."""
    now = datetime.fromtimestamp(means.clock.now(), UTC)
    after = status.of_provider(provider.raw, outcome, now)
    await patch_status(means, PROVIDERS[provider.kind], dict_of(provider), after)


async def patch_status(means: Means, resource: Resource, raw: Json, wanted: Mapping[str, Any]) -> None:
    """``raw`` is kept at the version that was stored last. Raises KubeError."""
    before = raw.get("status") or {}
    if wanted == before:
        return
    changes = merge_patch(before, wanted, last=before)
    body = {"metadata": {"resourceVersion": raw["metadata"]["resourceVersion"]}, "status": changes}
    stored = await means.client.patch(resource, key_of(raw), body, subresource="status")
    raw["metadata"], raw["status"] = stored["metadata"], stored.get("status") or {}


def _events(
    means: Means,
    cloud: Json,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    outcomes: Sequence[Outcome | Refused],
) -> None:
    """A repair each time, anything else when it changes."""
    record = means.recorder.record
    repairs = [repair for each in outcomes if isinstance(each, Outcome) for repair in each.repairs]
    for repair in repairs[: status.SHOWN]:
        record(cloud, Severity.WARNING, "DriftRepaired", repair.message)
    if (before.get("status"), before.get("reason")) != (after["status"], after["reason"]):
        good = after["reason"] == "none"
        ready = conditions.find(after["conditions"], status.READY) or after
        record(cloud, Severity.NORMAL if good else Severity.WARNING, ready["reason"], after["message"])
