"""Stored objects by kind and name, and the sentence for a name that none has."""

from __future__ import annotations

from collections.abc import Sequence

from freehold.api.names import CLUSTER_NAME_LABEL
from freehold.cli.local.fast_read import ReadSession
from freehold.cli.objects.kinds import NOUN
from freehold.kube.errors import ObjectNotFound
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.objects.gate import find_cluster_name
from freehold.providers.objects.served_resources import resource_around
from freehold.providers.registry import SERVED


async def of_name(session: ReadSession, resources: Sequence[Resource], key: Key) -> list[Json]:
    """Read the objects of these kinds that have this name."""
    found = []
    for resource in resources:
        try:
            found.append(await session.client.get(resource, key))
        except ObjectNotFound:
            continue
    return found


async def all_of(
    session: ReadSession, resources: Sequence[Resource], namespace: str, *, selector: str = ""
) -> list[Json]:
    """List the objects of these kinds."""
    found: list[Json] = []
    for each in resources:
        items = (await session.client.list(each, namespace, label_selector=selector)).items
        found += [{"apiVersion": each.api_version, "kind": each.kind, **item} for item in items]
    return found


async def list_machines(session: ReadSession, raw: Json) -> list[Json]:
    """List the served machines that are part of this cluster, by the label that Cluster API puts on them."""
    served = {each.kind: each for each in SERVED}
    owner = served.get(str(raw.get("kind")))
    resources = [resource_around(each) for each in owner.machines if each.kind in served] if owner else []
    if owner is None or not resources:
        return []
    selector = f"{CLUSTER_NAME_LABEL}={find_cluster_name(raw, owner.link)}"
    found = await all_of(session, resources, raw["metadata"].get("namespace", ""), selector=selector)
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


async def absent(session: ReadSession, resources: Sequence[Resource], key: Key) -> str:
    """Say of a name that no object of these kinds has it, and what there is instead."""
    present = {each["metadata"]["name"] for each in await all_of(session, resources, key.namespace)}
    there = f"there are: {', '.join(sorted(present)[:10])}" if present else "there is none at all"
    where = f" in namespace {key.namespace}" if key.namespace else ""
    what = resources[0].kind if len(resources) == 1 else NOUN
    return f"there is no {what} {short(key.name)}{where}; {there}"


def short(name: str) -> str:
    """Shorten a word of the user's for a sentence."""
    return name if len(name) <= 80 else f"{name[:79]}…"
