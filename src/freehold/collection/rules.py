"""Rules that prove a leftover to be a cluster's, from what its own service shows, without I/O.

A rule is a list of alternatives, each a tuple of proofs that must all hold. The first proof of an alternative is the
claim: a thing without any claim is not about this cluster, and is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from freehold.collection.found import Look, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.collection.things import CollectionTask
from freehold.engine.keyed_codec import UUID

CLUSTER_TAG = "kubernetes.io/cluster/"
"""The cloud controllers put it on all that they make
(https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/tags.go)."""


@dataclass(frozen=True)
class LeftoverProof:
    """A condition on a thing. ``describe`` says it for people."""

    describe: Callable[[Workloads], str]
    holds: Callable[[Thing, Workloads], bool]


@dataclass(frozen=True)
class CollectionRule:
    """The proofs that a thing is the cluster's. ``made_by``: who made and takes away what has a tag of this key."""

    alternatives: tuple[tuple[LeftoverProof, ...], ...]
    made_by: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Delete:
    """The verdict that a thing is proven to be the cluster's, and is deleted."""

    thing: Thing
    proof: str


@dataclass(frozen=True)
class Keep:
    """The verdict that a thing stays, and why."""

    thing: Thing
    why: str


Verdict = Delete | Keep


def build_cluster_tag(name: str) -> str:
    """Build the key of the tag that names the cluster."""
    return f"{CLUSTER_TAG}{name}"


OWNED = LeftoverProof(
    lambda w: f"tag {build_cluster_tag(w.name)}=owned", lambda t, w: t.tags.get(build_cluster_tag(w.name)) == "owned"
)
IN_NETWORK = LeftoverProof(lambda w: f"a place in {w.network}", lambda t, w: bool(w.network) and t.network == w.network)


def require_name_tag(key: str) -> LeftoverProof:
    """Require that the tag has the cluster's name as its value."""
    return LeftoverProof(lambda w: f"tag {key}={w.name}", lambda t, w: t.tags.get(key) == w.name)


def require_tag(*keys: str, value: str = "") -> LeftoverProof:
    """Require one of these tags, with this value or with any but an empty one."""
    return LeftoverProof(
        lambda w: f"tag {' or '.join(keys)}{'=' + value if value else ''}",
        lambda t, w: any(t.tags.get(key) == value if value else bool(t.tags.get(key)) for key in keys),
    )


def require_name_prefix(prefix: str) -> LeftoverProof:
    """Require a name that begins with ``prefix``."""
    return LeftoverProof(lambda w: f"a name {prefix}…", lambda t, w: t.name.startswith(prefix))


def require_description_prefix(prefix: str) -> LeftoverProof:
    """Require a description that begins with ``prefix``."""
    return LeftoverProof(lambda w: f"a description {prefix!r}…", lambda t, w: t.description.startswith(prefix))


def require_state(state: str) -> LeftoverProof:
    """Require this state, in the words of its service."""
    return LeftoverProof(lambda w: f"state {state}", lambda t, w: t.state == state)


def judge(thing: Thing, workloads: Workloads, rule: CollectionRule) -> Verdict | None:
    """Judge a thing; None if it is not about this cluster, or is ours, which the engine deletes."""
    if thing.tags.get(UUID, "").casefold() == workloads.uuid.casefold():
        return None
    claimed = [proofs for proofs in rule.alternatives if proofs[0].holds(thing, workloads)]
    if not claimed:
        return None
    if why := _explain_exclusion(thing, workloads, rule):
        return Keep(thing, why)
    lacking = [
        [proof.describe(workloads) for proof in proofs if not proof.holds(thing, workloads)] for proofs in claimed
    ]
    if [] in lacking:
        proofs = claimed[lacking.index([])]
        return Delete(thing, ", ".join(proof.describe(workloads) for proof in proofs))
    nearest = sorted(lacking, key=len)[0]
    return Keep(thing, f"it lacks {', '.join(nearest)}")


def _explain_exclusion(thing: Thing, workloads: Workloads, rule: CollectionRule) -> str:
    """Explain why a thing with a mark of the cluster is never collected; empty if it may be."""
    if UUID in thing.tags:
        return "it has the marks of another owner"
    for key, maker in rule.made_by.items():
        if key in thing.tags:
            return f"tag {key}: {maker} made it, and takes it away"
    others = sorted(
        key for key in thing.tags if key.startswith(CLUSTER_TAG) and key != build_cluster_tag(workloads.name)
    )
    if others:
        return f"several clusters use it: {', '.join(others)}"
    return "a service of the cloud keeps it" if thing.by_service else ""


def judge_all(
    look: Look,
    workloads: Workloads,
    rules: Mapping[CollectionTask, CollectionRule],
    tasks: Sequence[CollectionTask],
    volumes: Volumes,
) -> tuple[Verdict, ...]:
    """Judge all things of a look, in the order of their deletion."""
    found: list[Verdict] = []
    for task in CollectionTask:
        for thing in sorted((each for each in look.things if each.task is task), key=lambda each: (each.name, each.id)):
            verdict = judge(thing, workloads, rules[task])
            if isinstance(verdict, Delete) and task not in tasks:
                verdict = Keep(thing, f"task {task} is not among those of this cluster")
            elif isinstance(verdict, Delete) and task is CollectionTask.VOLUME:
                verdict = _judge_volume(verdict, look, volumes)
            if verdict is not None:
                found.append(verdict)
    return tuple(found)


def _judge_volume(verdict: Delete, look: Look, volumes: Volumes) -> Verdict:
    """Judge a volume. It is in no network, so its tag proves nothing if another cluster has the name."""
    if volumes is Volumes.RETAIN:
        return Keep(verdict.thing, "volumes are retained: they hold data")
    if look.elsewhere:
        return Keep(verdict.thing, f"another cluster may have this name: {', '.join(look.elsewhere)}")
    return verdict
