"""What several CloudMetadata would overwrite or remove for one provider's object: the limit counts them together.

In memory: after a start each of them looks once before any of them goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from freehold.reconcilers.metadata.references import Provider, Reference

Versions = tuple[str, str, str, str]


@dataclass
class Risks:
    """``waits``: whether one that has not looked yet keeps the others waiting; else it counts for nothing."""

    waits: bool = True
    _told: dict[Reference, dict[str, tuple[Versions, frozenset[str]]]] = field(default_factory=dict)

    def tell(self, provider: Provider, cloud: Mapping[str, Any], resources: frozenset[str] = frozenset()) -> None:
        """What the pass of ``cloud`` that is under way would overwrite or remove."""
        told = self._told.setdefault(provider.reference, {})
        told[str(cloud["metadata"]["uid"])] = (_versions(provider, cloud), resources)

    def of_others(self, provider: Provider, others: Iterable[Mapping[str, Any]]) -> frozenset[str] | None:
        """``others`` refer to the object too. None where one has not looked since it, or the object, changed."""
        told, found = self._told.get(provider.reference, {}), frozenset[str]()
        for each in others:
            versions, resources = told.get(str(each["metadata"]["uid"]), (None, frozenset[str]()))
            if versions == _versions(provider, each):
                found |= resources
            elif self.waits:
                return None
        return found

    def of(self, reference: Reference, uid: str) -> frozenset[str]:
        """What the CloudMetadata of this uid would overwrite or remove for it, as far as it has looked."""
        return self._told.get(reference, {}).get(uid, (None, frozenset[str]()))[1]

    def has_told(self, reference: Reference, uid: str) -> bool:
        return uid in self._told.get(reference, {})

    def shared(self) -> frozenset[Reference]:
        """Providers' objects for which more than one of them would overwrite or remove something."""
        return frozenset(
            reference
            for reference, told in self._told.items()
            if len([resources for _, resources in told.values() if resources]) > 1
        )


def _versions(provider: Provider, cloud: Mapping[str, Any]) -> Versions:
    one, other = provider.raw["metadata"], cloud["metadata"]
    return str(one["uid"]), str(one.get("generation", "")), str(other["uid"]), str(other.get("generation", ""))
