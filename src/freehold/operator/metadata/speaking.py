"""Which CloudMetadata speaks for a provider's object: it has one status, and several may refer to it, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from freehold.kube.resources import Json, Key, key_of
from freehold.operator.metadata.means import Means
from freehold.reconcilers.metadata.demand import Demand
from freehold.reconcilers.metadata.granting import Grants, refusal_of_reference
from freehold.reconcilers.metadata.references import Provider, Reference


class Referred(Enum):
    """Whether a CloudMetadata refers to an object, and may."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "the watch of CloudMetadata or of grants does not work"


def referred(means: Means, reference: Reference, but: Key | None = None) -> Referred:
    """``but``: one that is known not to refer to it any more; the watch may be behind."""
    grants = means.grants()
    if grants is None or not means.stored.knows_clouds():
        return Referred.UNKNOWN
    if means.namespace and any(reference.namespace in each.spec.references for each in grants.readable):
        return Referred.YES  # perhaps from a namespace that another operator serves
    clouds = (each for each in means.stored.clouds() if key_of(each) != but)
    return Referred.YES if any(_speaking(means, reference, clouds, grants)) else Referred.NO


def speaker(means: Means, cloud: Json, provider: Provider) -> Json | None:
    """The oldest that asks for something that can be done, else the oldest: two writers of one status would answer
    each other for ever. None where none may refer to it. ``cloud`` is newer than what the watch has shown of it.
    """
    grants, ring, reference = means.grants() or Grants(), means.rings.ring, provider.reference
    others = (each for each in means.stored.clouds() if key_of(each) != key_of(cloud))
    found = sorted(_speaking(means, reference, [cloud, *others], grants), key=_age)
    if len(found) > 1:
        asked = ((each, means.demand(each, reference, provider, ring, grants)) for each in found)
        found = [each for each, demand in asked if isinstance(demand, Demand)] or found
    return found[0] if found else None


def _speaking(means: Means, reference: Reference, clouds: Iterable[Json], grants: Grants) -> Iterator[Json]:
    """One of another namespace that no grant lets refer to it has no say in what others are told."""
    for each in clouds:
        refers = "deletionTimestamp" not in each["metadata"] and means.refers_to(each, reference)
        if refers and refusal_of_reference(grants, key_of(each).namespace, reference) is None:
            yield each


def _age(raw: Json) -> tuple[str, str]:
    return str(raw["metadata"].get("creationTimestamp", "")), str(raw["metadata"]["uid"])
