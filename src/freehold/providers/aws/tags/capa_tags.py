"""The tags that CAPA gives to each resource: names, by which CAPA, the cloud controller and its collector find them.

They prove nothing. Source: api/v1beta2/tags.go (Build) and the services of kubernetes-sigs/cluster-api-provider-aws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

PROVIDER = "sigs.k8s.io/cluster-api-provider-aws/"
ROLE = f"{PROVIDER}role"
ASSOCIATION, SECONDARY = f"{PROVIDER}association", "secondary"
NAME = "Name"
MACHINE_NAME = "MachineName"
VALUE_LIMIT = 256
"""Characters of a tag's value."""


class Lifecycle(Enum):
    OWNED = "owned"  # deleted with the cluster
    SHARED = "shared"  # several clusters may use it


class Reach(Enum):
    """The reach of a subnet: public if it has a route to an internet gateway."""

    PUBLIC = "public"
    PRIVATE = "private"


@dataclass(frozen=True)
class CapaTags:
    """CAPA's tags of one resource. ``by_cloud_provider``: the cluster's cloud controller finds it too.

    ``more`` and the role replace a user's tags of the same keys; ``name`` does not.
    """

    role: str
    name: str = ""
    by_cloud_provider: bool = False
    more: Mapping[str, str] = field(default_factory=dict)

    def to_tags(
        self, cluster: str, additional: Mapping[str, str] | None = None, *, of_workloads: str = ""
    ) -> dict[str, str]:
        """Return all tags, with the user's ``additional`` ones, which replace ``Name`` and nothing else.

        ``of_workloads`` is the name that the cluster's own controllers use; ``cluster`` where it is empty.
        """
        return {
            **({NAME: self.name} if self.name else {}),
            **(additional or {}),
            **({cloud_provider_key(of_workloads or cluster): Lifecycle.OWNED.value} if self.by_cloud_provider else {}),
            **self.more,
            cluster_key(cluster): Lifecycle.OWNED.value,
            ROLE: self.role,
        }


def cluster_key(cluster: str) -> str:
    return f"{PROVIDER}cluster/{cluster}"


def cluster_of(tags: Mapping[str, str]) -> str:
    """Return the cluster's name in CAPA's tag; empty where there is none or more than one. It proves nothing."""
    prefix = cluster_key("")
    named = [key.removeprefix(prefix) for key in tags if key.startswith(prefix)]
    return named[0] if len(named) == 1 else ""


def cloud_provider_key(cluster: str) -> str:
    return f"kubernetes.io/cluster/{cluster}"


COMMON, APISERVER, BASTION, NODE, CONTROL_PLANE = "common", "apiserver", "bastion", "node", "control-plane"
BALANCER_GROUP = "lb"
"""The security group in which the cloud controller opens ports: it must find exactly one."""


def vpc(cluster: str) -> CapaTags:
    return CapaTags(COMMON, f"{cluster}-vpc")


def subnet(cluster: str, reach: Reach, zone: str, *, edge: bool = False, secondary: bool = False) -> CapaTags:
    """Return a subnet's tags. ``edge``: it is in a local or wavelength zone, where load balancers shall not be put."""
    more = {} if edge else {_balancer_role(reach): "1"}
    if secondary:
        more[ASSOCIATION] = SECONDARY
    return CapaTags(reach.value, f"{cluster}-subnet-{reach.value}-{zone}", by_cloud_provider=True, more=more)


def is_for_pods(tags: Mapping[str, str]) -> bool:
    """Return whether a subnet is for the network of pods alone: without load balancers, NAT gateways and machines.

    ``FilterNonCni`` of
    https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/api/v1beta2/network_types.go
    """
    return tags.get(ASSOCIATION) == SECONDARY


def given_subnet(cluster: str, reach: Reach) -> dict[str, str]:
    """Return the tags of a subnet that the user names: for the cloud controller, and removed with the cluster."""
    return {cloud_provider_key(cluster): Lifecycle.SHARED.value, _balancer_role(reach): "1"}


BALANCER_ROLES = {
    Reach.PUBLIC: "kubernetes.io/role/elb",
    Reach.PRIVATE: "kubernetes.io/role/internal-elb",
}
"""Keys by which the cloud controller chooses subnets for load balancers of Services."""


def _balancer_role(reach: Reach) -> str:
    return BALANCER_ROLES[reach]


def internet_gateway(cluster: str) -> CapaTags:
    return CapaTags(COMMON, f"{cluster}-igw")


def egress_only_gateway(cluster: str) -> CapaTags:
    return CapaTags(COMMON, f"{cluster}-eigw")


def elastic_ip(cluster: str, role: str = COMMON) -> CapaTags:
    return CapaTags(role, f"{cluster}-eip-{role}")


def nat_gateway(cluster: str) -> CapaTags:
    """Return the tags of a NAT gateway: all of a cluster's have one name."""
    return CapaTags(COMMON, f"{cluster}-nat")


def route_table(cluster: str, reach: Reach, zone: str) -> CapaTags:
    return CapaTags(COMMON, f"{cluster}-rt-{reach.value}-{zone}", by_cloud_provider=True)


def security_group(cluster: str, role: str) -> CapaTags:
    return CapaTags(role, f"{cluster}-{role}", by_cloud_provider=role == BALANCER_GROUP)


def vpc_endpoint() -> CapaTags:
    return CapaTags(COMMON)


def load_balancer(name: str) -> CapaTags:
    """Return the tags of a load balancer, also for its target groups and listeners, which share its name."""
    return CapaTags(APISERVER, name)


def bastion(cluster: str) -> CapaTags:
    return CapaTags(BASTION, f"{cluster}-bastion")


def machine(name: str, owner: str, *, control_plane: bool) -> CapaTags:
    """Return the tags of a machine. ``owner`` is its Machine's ``namespace/name``, left out where no value has room."""
    more = {MACHINE_NAME: owner} if len(owner) <= VALUE_LIMIT else {}
    return CapaTags(CONTROL_PLANE if control_plane else NODE, name, by_cloud_provider=True, more=more)


def bucket() -> CapaTags:
    return CapaTags(NODE)
