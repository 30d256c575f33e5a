"""What a cluster can be asked to have, checked and in the form that DescribeCluster shows.

https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html. Where no other source stands, the code of a
refusal is the one that EKS has for parameters.
"""

from collections.abc import Collection, Iterable, Mapping
from ipaddress import IPv4Network
from typing import Any

from freehold_sim.aws import kms
from freehold_sim.aws.call import Call, not_served
from freehold_sim.aws.ec2.cidrs import overlap
from freehold_sim.aws.eks.common import bad
from freehold_sim.aws.world import Record

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
MODES = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")
_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_RESERVED = (*_PRIVATE, *map(IPv4Network, ("100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4")))
_MOST_GROUPS = 5
OPEN = {"endpointPublicAccess": True, "endpointPrivateAccess": False, "publicAccessCidrs": ["0.0.0.0/0"]}
"""How the endpoint of a new cluster is reached unless the request says something else."""


# -- network ------------------------------------------------------------------------------------------------------


def subnets(call: Call, idents: Iterable[str]) -> list[Record]:
    """Return the subnets of a cluster: at least two, in two zones of one VPC."""
    found = []
    for ident in idents:
        subnet = call.get("subnet", ident)
        if subnet is None:
            raise bad(f"The subnet ID '{ident}' does not exist")
        found.append(subnet)
    if len({subnet["view"]["AvailabilityZone"] for subnet in found}) < 2:
        raise bad("Subnets specified must be in at least two different AZs")
    if len({subnet["view"]["VpcId"] for subnet in found}) > 1:
        raise bad("Subnets specified must belong to the same VPC")
    return found


def groups(call: Call, idents: Collection[str], vpc: Record) -> list[dict[str, str]]:
    """Return the security groups that the interfaces of a cluster get beside its own, as an interface shows them."""
    if len(idents) > _MOST_GROUPS:
        raise bad(f"At most {_MOST_GROUPS} security groups can be specified")
    found = []
    for ident in idents:
        group = call.get("security-group", ident)
        if group is None:
            raise bad(f"The security group ID '{ident}' does not exist")
        if group["view"]["VpcId"] != vpc["id"]:
            raise bad(f"The security group '{ident}' is not in the VPC '{vpc['id']}' of the subnets")
        found.append({"GroupId": ident, "GroupName": group["view"]["GroupName"]})
    return found


def endpoint(given: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
    """Return who reaches the API server after a request, `held` being what holds without it.

    https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
    """
    found = {name: given.get(name, held[name]) for name in OPEN}
    found["publicAccessCidrs"] = found["publicAccessCidrs"] or held["publicAccessCidrs"]
    if not (found["endpointPublicAccess"] or found["endpointPrivateAccess"]):
        raise bad("Private and public endpoint access cannot be false")
    blocks = [_block(text, "publicAccessCidrs") for text in found["publicAccessCidrs"]]
    if reserved := [str(block) for block in blocks if any(block.subnet_of(each) for each in _RESERVED)]:
        raise bad(f"The following CIDRs are not allowed in publicAccessCidrs: {reserved}")
    return found


def _block(text: str, where: str) -> IPv4Network:
    """Return an IPv4 block; one of IPv6 is refused for a cluster of IPv4."""
    try:
        if "/" not in text:
            raise ValueError
        return IPv4Network(text, strict=False)
    except ValueError:
        raise bad(f"The following CIDRs are invalid in {where}: [{text}]") from None


def kubernetes_network(given: Mapping[str, Any], vpc: Record) -> dict[str, Any]:
    """Return the addresses of services. Not asked for, they are others than those of the VPC.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html, and which of the two
    blocks: https://github.com/awslabs/amazon-eks-ami/blob/main/templates/al2/runtime/bootstrap.sh
    """
    if given.get("ipFamily", "ipv4") != "ipv4":
        raise not_served("clusters with the ipFamily ipv6")
    held = [row["CidrBlock"] for row in vpc["view"]["CidrBlockAssociationSet"]]
    ours = "172.20.0.0/16" if any(overlap(each, "10.0.0.0/8") for each in held) else "10.100.0.0/16"
    block = _block(given.get("serviceIpv4Cidr", ours), "serviceIpv4Cidr")
    if not any(block.subnet_of(each) for each in _PRIVATE) or not 12 <= block.prefixlen <= 24:
        raise bad(f"The service CIDR {block} must be a private block between /12 and /24")
    if "serviceIpv4Cidr" in given and any(overlap(str(block), each) for each in held):
        raise bad(f"The service CIDR {block} overlaps with a CIDR of the VPC")
    # shown since EKS has Auto Mode: https://github.com/aws-controllers-k8s/community/issues/3046
    return {"serviceIpv4Cidr": str(block), "ipFamily": "ipv4", "elasticLoadBalancing": {"enabled": False}}


# -- the rest -----------------------------------------------------------------------------------------------------


def logging(given: Mapping[str, Any], held: Collection[str] = ()) -> frozenset[str]:
    """Return the types of logs that are on after a request; a type that it does not name stays as it is."""
    on = set(held)
    for row in given.get("clusterLogging", ()):
        types = set(row.get("types", ()))
        on = on | types if row.get("enabled") else on - types
    return frozenset(on)


def shown_logging(on: Collection[str]) -> dict[str, Any]:
    """Return all five types, those that are on first."""
    rows = (([each for each in LOG_TYPES if (each in on) is state], state) for state in (True, False))
    return {"clusterLogging": [{"types": types, "enabled": state} for types, state in rows if types]}


def logs_on(view: Mapping[str, Any]) -> frozenset[str]:
    rows = view["logging"]["clusterLogging"]
    return frozenset(each for row in rows if row["enabled"] for each in row["types"])


def access(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a cluster knows its users.

    https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3206
    """
    found = {"authenticationMode": "CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": True, **given}
    if found["authenticationMode"] == "CONFIG_MAP" and not found["bootstrapClusterCreatorAdminPermissions"]:
        need = "must be true if cluster authentication mode is set to CONFIG_MAP"
        raise bad(f"bootstrapClusterCreatorAdminPermissions {need}")
    return found


def encryption(call: Call, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return with which key secrets are encrypted, [] for none; an alias is shown as its key (assumed).

    https://github.com/aws-controllers-k8s/community/issues/1175
    """
    found = []
    for row in given:
        arn = row.get("provider", {}).get("keyArn", "")
        if not arn:
            raise bad("KeyArn is required")
        if row.get("resources") != ["secrets"]:
            raise bad("The only resource that can be encrypted is secrets")
        key = kms.usable(call, arn)
        if key is None:
            raise bad(f"The key {arn} does not exist in this region, or cannot be used")
        found.append({"resources": ["secrets"], "provider": {"keyArn": key["arn"]}})
    return found
