"""Tells people what a pass over tags came to: the statuses of both objects, and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from freehold.api import conditions
from freehold.kube.merge_patch import merge_patch
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.operator.events import Severity
from freehold.operator.metadata.means import CLOUD_METADATAS, PROVIDERS, Means
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
    await patch_status(means, CLOUD_METADATAS, cloud, after)
    for each in parts:
        if each.provider is not None and not each.provider.is_going:
            await _tell_part(means, cloud, each.provider, each.outcome)
    _events(means, cloud, before, after, list(named.values()))


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
        await patch_status(means, PROVIDERS[provider.kind], provider.raw, status.of_unreferred(provider.raw, now))
    return found


async def tell_provider(means: Means, provider: Provider, outcome: Outcome | Refused) -> None:
    """Raises KubeError."""
    now = datetime.fromtimestamp(means.clock.now(), UTC)
    after = status.of_provider(provider.raw, outcome, now)
    await patch_status(means, PROVIDERS[provider.kind], provider.raw, after)


async def patch_status(means: Means, resource: Resource, raw: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    before = raw.get("status") or {}
    if wanted == before:
        return
    changes = merge_patch(before, wanted, last=before)
    body = {"metadata": {"resourceVersion": raw["metadata"]["resourceVersion"]}, "status": changes}
    await means.client.patch(resource, key_of(dict(raw)), body, subresource="status")


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
        good = after["status"] == "True"
        ready = conditions.find(after["conditions"], status.READY) or after
        record(cloud, Severity.NORMAL if good else Severity.WARNING, ready["reason"], after["message"])
