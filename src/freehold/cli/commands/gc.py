"""``freehold gc``: annotations of one cluster's object that say what is collected with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

from freehold.api import names
from freehold.api.feature_gates import FeatureGate, format_option
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.fast_read import ReadSession
from freehold.cli.local.session import Session, open_session
from freehold.cli.local.user_audit import log_decision
from freehold.cli.objects.naming import FoundObject
from freehold.cli.objects.object_lookup import absent, all_of, of_name, short
from freehold.cli.output.hints import hint
from freehold.cli.output.terminal import say, warn
from freehold.controllers.owner_cluster import CLUSTERS
from freehold.kube.errors import ObjectNotFound
from freehold.kube.resources import Json, Key
from freehold.providers.objects.gate import find_referred_name
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import MIRRORS, SERVED

COLLECTABLE = tuple(resource_of(served) for served in SERVED if served.collectable)


@dataclass(frozen=True)
class _Wish:
    """An annotation and its value, None to remove it. ``verb`` begins the sentence that says it is done."""

    verb: str
    annotation: str
    value: str | None


def enable(cluster_name: str, namespace: str, **where: Unpack[Where]) -> None:
    """Opt a cluster in. Raises CliError."""
    wish = _Wish("Enabled", names.EXTERNAL_RESOURCE_GC_ANNOTATION, "true")
    run_to_end(_annotate(access(operator=False, **where), Key(namespace, cluster_name), wish))


def disable(cluster_name: str, namespace: str, **where: Unpack[Where]) -> None:
    """Opt a cluster out. Raises CliError."""
    wish = _Wish("Disabled", names.EXTERNAL_RESOURCE_GC_ANNOTATION, "false")
    run_to_end(_annotate(access(operator=False, **where), Key(namespace, cluster_name), wish))


def configure(cluster_name: str, namespace: str, tasks: str, **where: Unpack[Where]) -> None:
    """Set the tasks; without any, the default again. Raises CliError."""
    wish = _Wish("Configuring", names.EXTERNAL_RESOURCE_TASKS_ANNOTATION, tasks or None)
    run_to_end(_annotate(access(operator=False, **where), Key(namespace, cluster_name), wish))


async def _annotate(target: Access, cluster: Key, wish: _Wish) -> None:
    """Write one annotation; another writer's changes of the object stay. The sentences are clusterawsadm's.

    A mirror that has the annotation with another value, as clusterawsadm writes it there, gets this one too.
    """
    async with open_session(target) as session:
        collected = await collected_object(session, cluster)
        stored = await _write(target, session, collected, wish)
        for each in await _contradicting_mirrors(session, collected, wish):
            await _write(target, session, each, wish)
        say(f"{wish.verb} garbage collection for cluster {cluster}")
        for sentence in _warnings(session, _call(collected), stored):
            warn(f"warning: {sentence}")


async def _write(target: Access, session: Session, found: FoundObject, wish: _Wish) -> Json:
    resource, key = found
    more = {wish.annotation: wish.value}
    try:
        stored = await session.client.patch(resource, key, {"metadata": {"annotations": more}})
    except ObjectNotFound as gone:
        raise CliError(f"{_call(found)} is gone meanwhile") from gone
    if target.state is not None:
        log_decision(target.state, session.clock, _call(found), "garbage collection", more)
    return stored


def _call(found: FoundObject) -> str:
    return f"{found[0].kind} {found[1]}"


async def _contradicting_mirrors(session: ReadSession, collected: FoundObject, wish: _Wish) -> Sequence[FoundObject]:
    """Find the mirrors of what is collected that have the annotation with another value."""
    resource, key = collected
    found = []
    for kind in (each for each in MIRRORS if resource_of(each.source) == resource):
        for cluster in await _list_clusters(session, key.namespace):
            name = find_referred_name(cluster, kind.served)
            if find_referred_name(cluster, kind.source) != key.name or not name:
                continue
            place = Key(key.namespace, name)
            for mirror in await of_name(session, [resource_of(kind.served)], place):
                said = (mirror["metadata"].get("annotations") or {}).get(wish.annotation)
                if said not in (None, wish.value):
                    found.append((resource_of(kind.served), place))
    return found


async def _list_clusters(session: ReadSession, namespace: str) -> Sequence[Json]:
    try:
        return await all_of(session, [CLUSTERS], namespace)
    except ObjectNotFound:  # Cluster API is not installed
        return ()


def _warnings(session: Session, subject: str, stored: Json) -> Iterator[str]:
    gate = FeatureGate.EXTERNAL_RESOURCE_GC
    if session.gates is not None and gate not in session.gates:
        yield f"nothing is collected by the operator at work here: it runs without {format_option(gate)}"
    if "deletionTimestamp" in stored["metadata"]:
        yield f"{subject} is being deleted already: this holds for what is still there"


async def collected_object(session: ReadSession, cluster: Key) -> FoundObject:
    """Find the object whose workloads' resources are collected: a Cluster's, or one of this name. Raises CliError.

    clusterawsadm follows ``infrastructureRef`` alone, for EKS to an object that its collector does not read
    (https://github.com/kubernetes-sigs/cluster-api-provider-aws, cmd/clusterawsadm/gc).
    """
    clusters = await of_name(session, [CLUSTERS], cluster)
    referred = [found for each in clusters for found in _references(each, cluster.namespace)]
    for resource, key in [*referred, *((each, cluster) for each in COLLECTABLE)]:
        if await of_name(session, [resource], key):
            return resource, key
    if referred:
        resource, key = referred[0]
        problem = f"Cluster {short(str(cluster))} refers to {resource.kind} {key}, which is not there"
    else:
        problem = await absent(session, COLLECTABLE, cluster)
    raise CliError(f"{problem}. To list all: {hint('get', '-A')}")


def _references(cluster: Json, namespace: str) -> Iterator[FoundObject]:
    """Return what a Cluster refers to and is collected, by its ``infrastructureRef`` or ``controlPlaneRef``."""
    for served in (each for each in SERVED if each.collectable):
        if name := find_referred_name(cluster, served):
            yield resource_of(served), Key(namespace, name)
