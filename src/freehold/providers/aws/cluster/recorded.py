"""The choices in an object's journal that must not be made a second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from freehold.api.served import ClusterLink
from freehold.engine.journal import Entry, RecordState
from freehold.engine.resources import NodeKey
from freehold.engine.tag_text import key_and_value
from freehold.providers.aws.cluster.facts import Recorded
from freehold.providers.aws.cluster.keys import (
    BASTION,
    CLASSIC_KIND,
    EGRESS_GATEWAY,
    NAT_GATEWAY_KIND,
    NETWORK_KIND,
    SUBNET_KIND,
    VPC,
)
from freehold.providers.aws.cluster.kind import AWS_CLUSTER, QUICK_HEALTH_CHECKS
from freehold.providers.aws.tags.capa_tags import cluster_key
from freehold.providers.objects.gate import find_cluster_name


def recorded_in(record: Mapping[NodeKey, Entry], defaults: int = QUICK_HEALTH_CHECKS) -> Recorded:
    """Read the choices out of the journal's entries. What is given, reused or came to nothing is none of ours.

    ``defaults`` is the journal's generation of them.
    """
    own = {key: entry for key, entry in record.items() if entry.state.is_claimed}
    return Recorded(
        vpc=own[VPC].id if VPC in own else "",
        subnets={key.logical: entry.id for key, entry in own.items() if key.kind == SUBNET_KIND},
        nat_gateways=tuple(sorted(key.logical for key in own if key.kind == NAT_GATEWAY_KIND)),
        bastion=next(iter(_subnets_among(own[BASTION])), "") if BASTION in own else "",
        balancers={
            key: _subnets_among(entry) for key, entry in own.items() if key.kind in (CLASSIC_KIND, NETWORK_KIND)
        },
        cluster=_cluster_of(own.values()),
        ipv6=EGRESS_GATEWAY in own,  # it is made in the VPCs that have IPv6, and nowhere else
        anything=any(entry.state.counts for entry in record.values()),
        given_vpc=record[VPC].id if own and VPC in record and record[VPC].state is RecordState.GIVEN else "",
        quick_checks=defaults >= QUICK_HEALTH_CHECKS,
    )


def name_of(raw: Mapping[str, Any], record: Mapping[NodeKey, Entry], link: ClusterLink = AWS_CLUSTER.link) -> str:
    """Return the name of the cluster. Once there is a resource it stays.

    What a label says later would give the cluster another's tags. Of the object alone: a delete proceeds without
    its Cluster, and looks for what has the same names.
    """
    return _cluster_of(entry for entry in record.values() if entry.state.is_claimed) or find_cluster_name(raw, link)


def name_for_workloads(raw: Mapping[str, Any], record: Mapping[NodeKey, Entry]) -> str:
    """Return the name that the cluster's controllers have in their tags, while it is deleted too.

    What has gone tells it: by a label that somebody changed since, another cluster's load balancers would be
    collected.
    """
    return _cluster_of(record.values()) or find_cluster_name(raw, AWS_CLUSTER.link)


def _cluster_of(entries: Iterable[Entry]) -> str:
    """Return the name that most of them have: an earlier version could rename a cluster, and be stopped halfway."""
    prefix = cluster_key("")
    tags = (tag for entry in entries for tag in entry.node_tags if tag.startswith(prefix))
    named = Counter(key_and_value(tag)[0].removeprefix(prefix) for tag in tags)
    return min(named, key=lambda name: (-named[name], name), default="")


def _subnets_among(entry: Entry) -> tuple[str, ...]:
    """Return the subnets among what must outlive it: a bastion is in one, a load balancer in one of each zone."""
    keys = [NodeKey.parse(text) for text in entry.requires or ()]
    return tuple(key.logical for key in keys if key.kind == SUBNET_KIND)
