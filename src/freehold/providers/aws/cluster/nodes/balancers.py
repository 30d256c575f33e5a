"""The load balancers in front of the control plane, with target groups and listeners of network ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.resources import NodeKey, Part, Request
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.cluster_plan import (
    BalancerType,
    ClusterPlan,
    PlannedHealthCheck,
    PlannedListener,
    PlannedLoadBalancer,
    Role,
    Scheme,
)
from freehold.providers.aws.cluster.load_balancers import PRIMARY
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.kinds.classic_load_balancer import LISTENER, SUBNET
from freehold.providers.aws.kinds.target_group import CUTS_UNHEALTHY, DRAINS_UNHEALTHY, PRESERVES_CLIENT_IP
from freehold.providers.aws.tags import capa_tags

IDLE_SECONDS = 600
"""Upstream's, so that ``kubectl logs -f`` and watches survive a quiet time."""
DRAINING_SECONDS = 300
"""Upstream's. An API server that shuts down is not ready first, and ends its connections itself when they are idle.

https://github.com/kubernetes-sigs/cluster-api-provider-aws/pull/5589
"""


def balancer_key(balancer: PlannedLoadBalancer) -> NodeKey:
    return keys.key_of(balancer.type, balancer.key)


def target_group_key(balancer: PlannedLoadBalancer, listener: PlannedListener) -> NodeKey:
    return NodeKey(keys.TARGET_GROUP_KIND, f"{balancer.key}:{listener.port}")


def listener_key(balancer: PlannedLoadBalancer, listener: PlannedListener) -> NodeKey:
    return NodeKey(keys.LISTENER_KIND, f"{balancer.key}:{listener.port}")


def balancer_nodes(plan: ClusterPlan, names: AWSClusterNames, tags: NodeTags) -> Iterator[Node]:
    for balancer in plan.load_balancers:
        front = _Front(balancer, plan, names, tags)
        if balancer.type is BalancerType.CLASSIC:
            yield front.classic()
            continue
        yield front.network()
        for listener in balancer.listeners:
            yield front.target_group(listener)
            yield front.listener(listener)


@dataclass(frozen=True)
class _Front:
    """The nodes of one load balancer."""

    balancer: PlannedLoadBalancer
    plan: ClusterPlan
    names: AWSClusterNames
    tag: NodeTags

    @property
    def _own(self) -> frozenset[str]:
        """Return the tags, which target groups and listeners have too, the name included."""
        return self.tag.own(capa_tags.load_balancer(self.balancer.name))

    @property
    def _requires(self) -> frozenset[NodeKey]:
        """Return what must be there first: with public addresses also an internet gateway."""
        subnets = {keys.subnet(each.logical) for each in self.plan.subnets if each.logical in self.balancer.subnets}
        public = self.balancer.scheme is Scheme.INTERNET_FACING and self.plan.created_vpc
        group = keys.group(Role.API_SERVER_LB.value)
        return frozenset({keys.VPC, group, *subnets, *({keys.INTERNET_GATEWAY} if public else ())})

    def _subnet_ids(self, known: ReadyNodes) -> list[str]:
        """Return the ids of the subnets that the spec names by one."""
        ours = {each.logical for each in self.plan.subnets}
        names = self.balancer.subnets
        return sorted(known[keys.subnet(each)].id if each in ours else each for each in names)

    def _group_ids(self, known: ReadyNodes) -> list[str]:
        return sorted({known[keys.group(Role.API_SERVER_LB.value)].id, *self.balancer.groups})

    @property
    def _field(self) -> str:
        """Return where the spec asks for it."""
        primary = self.balancer.key == PRIMARY
        return "spec.controlPlaneLoadBalancer" if primary else "spec.secondaryControlPlaneLoadBalancer"

    @property
    def _if_taken(self) -> str:
        """Say what to do where the name is taken: never use it, as the endpoint would be a stranger's (ADR 17)."""
        return f"set {self._field}.name to another name, or delete that one"

    def classic(self) -> Node:
        return Node(
            balancer_key(self.balancer),
            self.balancer.name,
            self._classic_request,
            requires=self._requires,
            parts=self._classic_parts,
            field=self._field,
            part_field=lambda part: self._field,
            tags=self._own,
            name_taken_advice=self._if_taken,
        )

    def _classic_request(self, known: ReadyNodes) -> Request:
        first = self.balancer.listeners[0]
        return {
            "name": self.balancer.name,
            "scheme": self.balancer.scheme.value,
            "subnets": self._subnet_ids(known),
            "security_groups": self._group_ids(known),
            "listeners": [_classic_listener(each) for each in self.balancer.listeners],
            "health_check": _classic_check(first.health),
            "cross_zone": self.balancer.cross_zone,
            "idle_timeout": IDLE_SECONDS,
        }

    def _classic_parts(self, known: ReadyNodes) -> frozenset[Part]:
        subnets = (Part(SUBNET, ident) for ident in self._subnet_ids(known))
        return frozenset({*subnets, *map(_listener_part, self.balancer.listeners)})

    def network(self) -> Node:
        key, name = balancer_key(self.balancer), self.balancer.name
        return Node(
            key,
            name,
            self._network_request,
            requires=self._requires,
            field=self._field,
            tags=self._own,
            name_taken_advice=self._if_taken,
        )

    def _network_request(self, known: ReadyNodes) -> Request:
        return {
            "name": self.balancer.name,
            "scheme": self.balancer.scheme.value,
            "subnets": self._subnet_ids(known),
            "security_groups": self._group_ids(known),
            "ip_address_type": "dualstack" if self.balancer.dualstack else "ipv4",
            "attributes": {"load_balancing.cross_zone.enabled": _switch(self.balancer.cross_zone)},
        }

    def target_group(self, listener: PlannedListener) -> Node:
        name = target_group_name(self.names, self.balancer, listener)
        return Node(
            target_group_key(self.balancer, listener),
            name,
            partial(self._target_group_request, name, listener),
            requires=frozenset({keys.VPC}),
            field=self._field,
            tags=self._own,
            name_taken_advice="delete that one, or choose another name for the cluster",
        )

    def _target_group_request(self, name: str, listener: PlannedListener, known: ReadyNodes) -> Request:
        return {
            "name": name,
            "vpc_id": known[keys.VPC].id,
            "protocol": "TCP",
            "port": listener.target_port,
            "target_type": "instance",
            "ip_address_type": listener.ip_type,
            "health_check": _target_check(listener.health),
            "attributes": {
                PRESERVES_CLIENT_IP: _switch(self.balancer.preserve_client_ip),
                CUTS_UNHEALTHY: _switch(False),
                DRAINS_UNHEALTHY: str(DRAINING_SECONDS),
            },
        }

    def listener(self, listener: PlannedListener) -> Node:
        balancer, group = balancer_key(self.balancer), target_group_key(self.balancer, listener)
        return Node(
            listener_key(self.balancer, listener),
            f"{self.balancer.name}:{listener.port}",
            lambda known: {
                "balancer": known[balancer].id,
                "protocol": "TCP",
                "port": listener.port,
                "target_groups": [known[group].id],
            },
            requires=frozenset({balancer, group}),
            field=self._field,
            tags=self._own,
        )


def target_group_name(names: AWSClusterNames, balancer: PlannedLoadBalancer, listener: PlannedListener) -> str:
    """Return upstream's words with a hash for its random text: unique in the region, the same at each pass."""
    text = f"{names.namespace}/{names.cluster}/{balancer.key}/{listener.port}"
    return f"apiserver-target-{hashlib.sha256(text.encode()).hexdigest()[:15]}"


def _classic_listener(listener: PlannedListener) -> dict[str, Any]:
    return {
        "Protocol": "TCP",
        "LoadBalancerPort": listener.port,
        "InstanceProtocol": "TCP",
        "InstancePort": listener.target_port,
    }


def _listener_part(listener: PlannedListener) -> Part:
    """Make the API server's listener. It stays whatever port the Cluster says: the endpoint may lead there."""
    request, behavior = _classic_listener(listener), f"TCP to TCP {listener.target_port}"
    return Part(LISTENER, str(listener.port), request, retain=True, behavior=behavior)


def _classic_check(check: PlannedHealthCheck) -> dict[str, Any]:
    return {
        "Target": f"{check.protocol}:{check.port}{check.path}",
        "Interval": check.interval,
        "Timeout": check.timeout,
        "HealthyThreshold": check.healthy,
        "UnhealthyThreshold": check.unhealthy,
    }


def _target_check(check: PlannedHealthCheck) -> dict[str, Any]:
    found: dict[str, Any] = {
        "HealthCheckProtocol": check.protocol,
        "HealthCheckPort": str(check.port),
        "HealthCheckIntervalSeconds": check.interval,
        "HealthCheckTimeoutSeconds": check.timeout,
        "HealthyThresholdCount": check.healthy,
        "UnhealthyThresholdCount": check.unhealthy,
    }
    return found | ({"HealthCheckPath": check.path} if check.path else {})


def _switch(on: bool) -> str:
    return "true" if on else "false"
