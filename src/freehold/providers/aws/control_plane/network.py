"""The network of a cluster whose control plane EKS runs: that of an AWSCluster, without machines of a control plane.

The fields of both specs have the same paths, so that the plan, the checks and the nodes of AWSCluster serve here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol

from freehold.api.served import ServedName
from freehold.engine.graph import Node
from freehold.providers.aws.cluster import desired
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.name_conflicts import refuse_taken_name
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.nodes.groups import group_nodes
from freehold.providers.aws.cluster.nodes.machines import bastion_nodes
from freehold.providers.aws.cluster.nodes.network import network_nodes
from freehold.providers.aws.cluster.nodes.routing import routing_nodes
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec, Bastion
from freehold.providers.aws.types.identity import AWSIdentityReference
from freehold.providers.aws.types.load_balancer import AWSLoadBalancerSpec
from freehold.providers.aws.types.network import NetworkSpec, VpcCidrBlock, VPCSpec
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NoAnswer


class NetworkFields(Protocol):
    """The fields of the spec of an AWSManagedControlPlane that say what its network is."""

    @property
    def region(self) -> str | None: ...

    @property
    def partition(self) -> str | None: ...

    @property
    def identity_ref(self) -> AWSIdentityReference | None: ...

    @property
    def network(self) -> NetworkSpec | None: ...

    @property
    def bastion(self) -> Bastion | None: ...

    @property
    def ssh_key_name(self) -> str | None: ...

    @property
    def secondary_cidr_block(self) -> str | None: ...

    @property
    def additional_tags(self) -> Mapping[str, str]: ...


class EKSNetworkSpec(AWSClusterSpec):
    """The spec of an AWSCluster that has the network of a control plane."""

    IS_EKS: ClassVar[bool] = True


def network_spec(spec: NetworkFields) -> EKSNetworkSpec:
    """Return the spec of the network: no load balancer is in front of EKS."""
    return EKSNetworkSpec(
        region=spec.region,
        partition=spec.partition,
        identity_ref=spec.identity_ref,
        network=_add_secondary(spec.network, spec.secondary_cidr_block),
        bastion=spec.bastion,
        ssh_key_name=spec.ssh_key_name,
        additional_tags=dict(spec.additional_tags),
        control_plane_load_balancer=AWSLoadBalancerSpec(load_balancer_type="disabled"),
    )


def _add_secondary(network: NetworkSpec | None, block: str | None) -> NetworkSpec | None:
    """Return the network with one more range of the VPC, for pods."""
    if not block:
        return network
    network = network or NetworkSpec()
    vpc = network.vpc or VPCSpec()
    if vpc.id or block in {each.ipv4_cidr_block for each in vpc.secondary_cidr_blocks}:
        return network
    blocks = (*vpc.secondary_cidr_blocks, VpcCidrBlock(ipv4_cidr_block=block))
    return network.model_copy(update={"vpc": vpc.model_copy(update={"secondary_cidr_blocks": blocks})})


def plan_network(
    names: AWSClusterNames, raw: Mapping[str, Any], spec: EKSNetworkSpec, facts: AWSClusterFacts, served: ServedName
) -> Decided | RefusedSpec | UndecidedSpec:
    """Make the plan of the network of the object ``raw`` of kind ``served``, or say why there is none.

    A name that another cluster has in its tags is refused before anything is created.
    """
    found = desired.decide(names, raw, spec, facts, served=served)
    if not isinstance(found, Decided):
        return found
    if found.cluster_plan.vpc.given and facts.network is None:
        return UndecidedSpec({"spec.network.vpc.id": NOT_ASKED}, found.notes)
    owner, given = f"{names.namespace}/{raw['metadata']['name']}", raw.get("spec") or {}
    taken = refuse_taken_name(names, owner, found.cluster_plan, given, facts, found.notes)
    if isinstance(taken, NoAnswer):
        return UndecidedSpec({"metadata.name": taken}, found.notes)
    return taken or found


def nodes(cluster_plan: ClusterPlan, names: AWSClusterNames, facts: AWSClusterFacts) -> Iterator[Node]:
    """Yield the nodes of the network in the order of the status."""
    tags = NodeTags.from_plan(names, cluster_plan)
    yield from network_nodes(cluster_plan, tags)
    yield from routing_nodes(cluster_plan, tags)
    yield from group_nodes(cluster_plan, tags)
    image = facts.image.value if isinstance(facts.image, Answer) else ""
    yield from bastion_nodes(cluster_plan, image, tags)
