"""The rest of a Cluster that stays when ``freehold down NAME`` deletes one object of it.

Nothing stored says which file an object came from, and what applied it may not have been ``freehold up``. So this goes
by what the objects say themselves, whoever applied them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from freehold.api.names import CLUSTER_NAME_LABEL
from freehold.api.served import ClusterLink
from freehold.cli.local.session import Session
from freehold.cli.objects.kinds import OURS
from freehold.cli.objects.object_lookup import all_of
from freehold.kube.errors import KubeError
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.providers.crds import PLACEHOLDERS
from freehold.providers.objects.gate import owner_of, refers_to
from freehold.providers.registry import MIRROR_RESOURCES, TEMPLATE_RESOURCES, served_of

_KEPT = tuple(Resource(each.group, each.version, each.plural, each.kind) for each in PLACEHOLDERS)
_KINDS = (*_KEPT, *TEMPLATE_RESOURCES, *MIRROR_RESOURCES, *OURS)
"""Those of Cluster API's templates; of what is not installed, or may not be read, nothing is said."""

_Name = tuple[str, str]
"""Kind and name."""


async def rest_of_clusters(session: Session, doomed: Collection[tuple[Resource, Key]]) -> list[str]:
    """Kind and key of what belongs to the Clusters of ``doomed``, and is neither among them nor being deleted."""
    found: list[str] = []
    for namespace in sorted({key.namespace for _, key in doomed}):
        stored = [each for kind in _KINDS for each in await _list_readable(session, kind, namespace)]
        names = {(resource.kind, key.name) for resource, key in doomed if key.namespace == namespace}
        rest = [each for each in rest_of_cluster(names, stored) if "deletionTimestamp" not in each["metadata"]]
        found += [f"{each['kind']} {key_of(each)}" for each in rest]
    return found


async def _list_readable(session: Session, kind: Resource, namespace: str) -> list[Json]:
    try:
        return await all_of(session, [kind], namespace)
    except KubeError:
        return []


def rest_of_cluster(doomed: Collection[_Name], stored: Sequence[Json]) -> list[Json]:
    """Return what of ``stored``, the objects of one namespace, belongs to the Clusters of ``doomed``, without these.

    An object belongs to the Cluster that it names, that owns it or that names it; so does what such an object names.
    """
    clusters = {
        name
        for each in stored
        if _name(each) in doomed
        for name in (*_clusters_named_by(each), *(_referrers(each, stored)))
    }
    theirs = {
        _name(each)
        for each in stored
        if clusters.intersection(_clusters_named_by(each)) or (each["kind"] == "Cluster" and _name(each)[1] in clusters)
    }
    while True:
        named = {name for each in stored if _name(each) in theirs for name in _references(each.get("spec"))}
        if named <= theirs:
            break
        theirs |= named
    return [each for each in stored if _name(each) in theirs and _name(each) not in doomed]


def _name(obj: Json) -> _Name:
    return obj["kind"], obj["metadata"]["name"]


def _clusters_named_by(obj: Json) -> Iterator[str]:
    if label := (obj["metadata"].get("labels") or {}).get(CLUSTER_NAME_LABEL):
        yield label
    if name := (obj.get("spec") or {}).get("clusterName"):
        yield name
    if owner := owner_of(obj, ClusterLink.INFRASTRUCTURE):
        yield owner.name


def _referrers(obj: Json, stored: Sequence[Json]) -> Iterator[str]:
    """Yield the Clusters that name an object of ours as their infrastructure."""
    for each in stored:
        if each["kind"] == "Cluster" and refers_to(each, obj, served_of(obj["kind"]).link):
            yield each["metadata"]["name"]


def _references(value: Any) -> Iterator[_Name]:
    """Yield each field below ``value`` that names an object, as its kind and name."""
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str) and isinstance(value.get("name"), str):
            yield value["kind"], value["name"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _references(each)
