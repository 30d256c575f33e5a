"""From an AWSCluster to wanted resources: a pure decision over the object, the facts and the journal.

The wish (:mod:`decide`) becomes nodes (:mod:`nodes`); equal wishes give equal nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from freehold.engine.graph import Graph, Node
from freehold.providers.aws.cluster import namesakes
from freehold.providers.aws.cluster.decide import Decided, decide
from freehold.providers.aws.cluster.facts import Facts
from freehold.providers.aws.cluster.load_balancers import PRIMARY
from freehold.providers.aws.cluster.names import DefaultNames
from freehold.providers.aws.cluster.nodes.balancers import balancer_key, balancer_nodes
from freehold.providers.aws.cluster.nodes.groups import group_nodes
from freehold.providers.aws.cluster.nodes.machines import bastion_nodes, bucket_nodes
from freehold.providers.aws.cluster.nodes.network import network_nodes
from freehold.providers.aws.cluster.nodes.routing import routing_nodes
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.cluster.wish import ClusterWish
from freehold.providers.objects.adapter import Desired, Mode, Undecided
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NoAnswer
from freehold.providers.objects.cluster_status import ClusterWanted


@dataclass(frozen=True)
class AWSWanted(ClusterWanted):
    """Also the wish that the nodes are made of, None only by default."""

    wish: ClusterWish | None = None


def wanted(
    names: DefaultNames, raw: Mapping[str, Any], facts: Facts, *, account: str = "", storage: bool = False
) -> Desired:
    """What shall be there for the object ``raw``.

    ``account`` is the id of the AWS account. ``storage``: whether ``s3Bucket`` is acted on.
    """
    found = decide(names, raw, facts, storage=storage)
    if not isinstance(found, Decided):
        return found
    wish = found.wish
    if wish.vpc.given and facts.network is None:
        return Undecided({"spec.network.vpc.id": NOT_ASKED}, found.notes)
    graph = Graph(nodes(wish, names, account, facts.image.value if isinstance(facts.image, Answer) else ""))
    endpoint = next((balancer_key(each) for each in wish.load_balancers if each.key == PRIMARY), None)
    plan = AWSWanted(
        Mode.CREATE,
        graph,
        wish.tags,
        found.notes,
        facts.api_port,
        endpoint,
        wish,
        unmet=found.unmet,
        known_before=facts.known_before,
        holds_name=facts.recorded.anything and _lives_on_what_is_given(raw, graph),
    )
    if plan.holds_name:
        return plan
    owner = f"{names.namespace}/{raw['metadata']['name']}"
    taken = namesakes.refusal(names.cluster, owner, wish, raw.get("spec") or {}, facts, found.notes)
    if isinstance(taken, NoAnswer):
        return Undecided({"metadata.name": taken}, found.notes)
    return plan if taken is None else taken


def _lives_on_what_is_given(raw: Mapping[str, Any], graph: Graph) -> bool:
    """Nothing is made, or has been until it was ready, which it is for ever then: what has the cluster's name, its own
    cloud controller and machines have made."""
    ready = (raw.get("status") or {}).get("ready") is True
    return ready or all(node.given is not None for node in graph.nodes.values())


def nodes(wish: ClusterWish, names: DefaultNames, account: str, image: str) -> Iterator[Node]:
    """The nodes of a wish, in the order in which the status shows them. ``image``: for a bastion without its own."""
    tags = NodeTags.of(names.cluster, wish)
    yield from network_nodes(wish, tags)
    yield from routing_nodes(wish, tags)
    yield from group_nodes(wish, tags)
    yield from bastion_nodes(wish, image, tags)
    yield from balancer_nodes(wish, names, tags)
    yield from bucket_nodes(wish, account, tags)
