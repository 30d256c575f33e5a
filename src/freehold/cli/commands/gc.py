"""``freehold gc``: annotations of one cluster's object that say what is collected with it."""

from __future__ import annotations

from collections.abc import Iterator
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
from freehold.cli.objects.object_lookup import absent, of_name, short
from freehold.cli.output.hints import hint
from freehold.cli.output.terminal import say, warn
from freehold.controllers.owner_cluster import CLUSTERS
from freehold.kube.errors import ObjectNotFound
from freehold.kube.resources import Json, Key
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import SERVED

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
    """Write one annotation; another writer's changes of the object stay. The sentences are clusterawsadm's."""
    async with open_session(target) as session:
        resource, key = await collected_object(session, cluster)
        try:
            patch = {"metadata": {"annotations": {wish.annotation: wish.value}}}
            stored = await session.client.patch(resource, key, patch)
        except ObjectNotFound as gone:
            raise CliError(f"{resource.kind} {key} is gone meanwhile") from gone
        if target.state is not None:
            more = {wish.annotation: wish.value}
            log_decision(target.state, session.clock, f"{resource.kind} {key}", "garbage collection", more)
        say(f"{wish.verb} garbage collection for cluster {cluster}")
        for sentence in _warnings(session, f"{resource.kind} {key}", stored):
            warn(f"warning: {sentence}")


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
    raise CliError(f"{problem}. To list all: {hint('get', COLLECTABLE[0].plural, '-A')}")


def _references(cluster: Json, namespace: str) -> Iterator[FoundObject]:
    """Return what a Cluster refers to and is collected, by its ``infrastructureRef`` or ``controlPlaneRef``."""
    for served in (each for each in SERVED if each.collectable):
        reference = (cluster.get("spec") or {}).get(served.link.value) or {}
        group = reference.get("apiGroup") or str(reference.get("apiVersion", "")).partition("/")[0]
        if (group, reference.get("kind")) == (served.group, served.kind) and reference.get("name"):
            yield resource_of(served), Key(namespace, str(reference["name"]))
