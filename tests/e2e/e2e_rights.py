"""The rights that the shipped Roles give to an operator, and a proxy that gives it no others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from e2e_servers import write_kubeconfig

from harness.judging_proxy import JudgingProxy
from harness.rbac import Right

ACCOUNT, NAMESPACE = "freehold-operator", "freehold-system"
RING = "freehold-keys"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"


@contextlib.contextmanager
def judged(upstream: str, rights: tuple[Right, ...], folder: Path) -> Iterator[tuple[JudgingProxy, str]]:
    """A proxy with these rights in front of a server, and a kubeconfig for it."""
    with JudgingProxy(upstream, rights, USER).running() as proxy:
        yield proxy, write_kubeconfig(folder / f"judged-{id(proxy)}", proxy.url)


def shipped_rights(watched: str = "", own: str = NAMESPACE, ring: str = RING) -> tuple[Right, ...]:
    """What the operator is thought to need, until its Roles are shipped."""
    from freehold.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, EVENTS, NAMESPACES, SECRETS
    from freehold.providers import registry
    from freehold.controllers.owner_cluster import CLUSTERS, MACHINES

    found: list[Right] = []

    def give(resource: object, verbs: str, where: str = "", names: tuple[str, ...] = (), sub: str = "") -> None:
        group, plural = resource.group, resource.plural  # type: ignore[attr-defined]
        found.extend(
            Right("Role" if where else "ClusterRole", where, group, plural + sub, verb, names) for verb in verbs.split()
        )

    for each in (*registry.SERVED_RESOURCES, *registry.MIRROR_RESOURCES, *registry.METADATA_RESOURCES):
        where = watched if each.namespaced else ""
        give(each, "get list watch patch", where)
        give(each, "patch", where, sub="/status")
    for each in registry.READ_RESOURCES:
        give(each, "get")
    give(registry.READ_RESOURCES[1], "list")
    for served in registry.SERVED:
        for machines in served.machines:
            found.append(Right("Machines", watched, machines.group, machines.plural, "list"))
    for each in (CLUSTERS, MACHINES):
        give(each, "get list watch", watched)
    give(CUSTOM_RESOURCE_DEFINITIONS, "get")
    give(NAMESPACES, "get")
    give(EVENTS, "create patch", watched)
    give(SECRETS, "get create patch", watched)
    give(SECRETS, "get", own)
    give(SECRETS, "update", own, (ring,))
    give(SECRETS, "create", own)
    give(CONFIG_MAPS, "get list create update", own)
    return tuple(dict.fromkeys(found))
