"""Which leftovers are proven to be a cluster's: decided from what their own service shows, without I/O.

A rule is a list of alternatives, each a tuple of proofs that must all hold. The first proof of an alternative is the
claim: what has none of them is not about this cluster, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from freehold.collection.found import Look, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.collection.things import Task
from freehold.engine.keyed_codec import UUID

CLUSTER_TAG = "kubernetes.io/cluster/"
"""The cloud controllers put it on all that they make
(https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/tags.go)."""
EKS_TAG = "aws:eks:cluster-name"
"""EKS puts it on what it makes itself, and takes away with its cluster
(https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html)."""


@dataclass(frozen=True)
class Proof:
    """``says`` is what must hold, for people."""

    says: Callable[[Workloads], str]
    holds: Callable[[Thing, Workloads], bool]


@dataclass(frozen=True)
class Rule:
    """What proves that a thing is the cluster's."""

    alternatives: tuple[tuple[Proof, ...], ...]


@dataclass(frozen=True)
class Delete:
    """It is proven to be the cluster's, and goes."""

    thing: Thing
    proof: str


@dataclass(frozen=True)
class Keep:
    """It stays, and why."""

    thing: Thing
    why: str


Verdict = Delete | Keep


def cluster_tag(name: str) -> str:
    """Return the key of the tag that names the cluster."""
    return f"{CLUSTER_TAG}{name}"


OWNED = Proof(lambda w: f"tag {cluster_tag(w.name)}=owned", lambda t, w: t.tags.get(cluster_tag(w.name)) == "owned")
IN_NETWORK = Proof(lambda w: f"a place in {w.network}", lambda t, w: bool(w.network) and t.network == w.network)


def tagged_by_name(key: str) -> Proof:
    """Require that the tag has the cluster's name as its value."""
    return Proof(lambda w: f"tag {key}={w.name}", lambda t, w: t.tags.get(key) == w.name)


def tagged(*keys: str, value: str = "") -> Proof:
    """Require one of these tags, with this value or with any but an empty one."""
    return Proof(
        lambda w: f"tag {' or '.join(keys)}{'=' + value if value else ''}",
        lambda t, w: any(t.tags.get(key) == value if value else bool(t.tags.get(key)) for key in keys),
    )


def name_begins(prefix: str) -> Proof:
    """Require that its name begins so."""
    return Proof(lambda w: f"a name {prefix}…", lambda t, w: t.name.startswith(prefix))


def description_begins(prefix: str) -> Proof:
    """Require that its description begins so."""
    return Proof(lambda w: f"a description {prefix!r}…", lambda t, w: t.description.startswith(prefix))


def in_state(state: str) -> Proof:
    """Require that its service calls its state so."""
    return Proof(lambda w: f"state {state}", lambda t, w: t.state == state)


def judge(thing: Thing, workloads: Workloads, rule: Rule) -> Verdict | None:
    """Return what becomes of it; None where it is not about this cluster, or is ours, which the engine deletes."""
    if thing.tags.get(UUID, "").casefold() == workloads.uuid.casefold():
        return None
    claimed = [proofs for proofs in rule.alternatives if proofs[0].holds(thing, workloads)]
    if not claimed:
        return None
    if why := _never(thing, workloads):
        return Keep(thing, why)
    lacking = [[proof.says(workloads) for proof in proofs if not proof.holds(thing, workloads)] for proofs in claimed]
    if [] in lacking:
        proofs = claimed[lacking.index([])]
        return Delete(thing, ", ".join(proof.says(workloads) for proof in proofs))
    nearest = sorted(lacking, key=len)[0]
    return Keep(thing, f"it lacks {', '.join(nearest)}")


def _never(thing: Thing, workloads: Workloads) -> str:
    """Say why a thing with a mark of the cluster is never collected; empty where it may be."""
    if UUID in thing.tags:
        return "it has the marks of another owner"
    if EKS_TAG in thing.tags:
        return f"tag {EKS_TAG}: EKS made it, and takes it away"
    others = sorted(key for key in thing.tags if key.startswith(CLUSTER_TAG) and key != cluster_tag(workloads.name))
    if others:
        return f"several clusters use it: {', '.join(others)}"
    return "a service of the cloud keeps it" if thing.by_service else ""


def verdicts(
    look: Look, workloads: Workloads, rules: Mapping[Task, Rule], tasks: Sequence[Task], volumes: Volumes
) -> tuple[Verdict, ...]:
    """Return all that is to be said of what was found, in the order in which it goes."""
    found: list[Verdict] = []
    for task in Task:
        for thing in sorted((each for each in look.things if each.task is task), key=lambda each: (each.name, each.id)):
            verdict = judge(thing, workloads, rules[task])
            if isinstance(verdict, Delete) and task not in tasks:
                verdict = Keep(thing, f"task {task} is not among those of this cluster")
            elif isinstance(verdict, Delete) and task is Task.VOLUME:
                verdict = _of_volume(verdict, look, volumes)
            if verdict is not None:
                found.append(verdict)
    return tuple(found)


def _of_volume(verdict: Delete, look: Look, volumes: Volumes) -> Verdict:
    """A volume is in no network: that its name means this cluster shows only where nothing else has the name."""
    if volumes is Volumes.RETAIN:
        return Keep(verdict.thing, "volumes are retained: they hold data")
    if look.elsewhere:
        return Keep(verdict.thing, f"another cluster may have this name: {', '.join(look.elsewhere)}")
    return verdict
