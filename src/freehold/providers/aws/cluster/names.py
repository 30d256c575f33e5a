"""What the resources of an AWSCluster are called where the spec names nothing: as upstream calls them.

Source: https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/pkg/cloud/services
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

_BALANCER_LIMIT = 32
BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"

_CLUSTER_TAG_ROOM = 128 - len("sigs.k8s.io/cluster-api-provider-aws/cluster/")
NAME_LIMIT = _CLUSTER_TAG_ROOM
"""Characters of a cluster's name: it is part of a tag's key, which has at most 128, and keys are never cut (ADR 5)."""


@dataclass(frozen=True)
class AWSClusterNames:
    """The default names for one object. ``cluster`` is the name of its Cluster, or its own where it stands alone.

    ``eks`` is the name of its EKS cluster, empty where it has none.
    """

    namespace: str
    cluster: str
    eks: str = ""

    @property
    def of_workloads(self) -> str:
        """Return the name that the cluster's own controllers put on what they make."""
        return self.eks or self.cluster

    @property
    def vpc(self) -> str:
        return f"{self.cluster}-vpc"

    def subnet(self, zone: str, *, public: bool) -> str:
        """Return the default name of a subnet; also its ``id`` in a spec into which upstream wrote derived ones."""
        return f"{self.cluster}-subnet-{'public' if public else 'private'}-{zone}"

    def group(self, role: str) -> str:
        """Return the default name of a security group. AWS refuses names that begin like ids."""
        return f"{'@' if self.cluster.startswith('sg-') else ''}{self.cluster}-{role}"

    @property
    def classic_balancer(self) -> str:
        return _balancer(self.cluster)

    @property
    def network_balancer(self) -> str:
        """Return the default name, with the namespace: names of load balancers are unique in a region.

        AWS refuses names that begin with ``internal-``
        (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html).
        """
        base = f"{self.namespace}-{self.cluster}"
        return _hash_name(base) if base.startswith("internal-") else _balancer(base)


def _balancer(base: str) -> str:
    name = f"{base.replace('.', '-')}-apiserver"
    return name if len(name) <= _BALANCER_LIMIT else _hash_name(base)


def _hash_name(base: str) -> str:
    digest = hashlib.blake2b(base.encode(), digest_size=_BALANCER_LIMIT - len("-k8s")).digest()
    return "".join(BASE_36[byte % 36] for byte in digest) + "-k8s"
