"""What others have that looks like a leftover of a cluster's workloads and must never be touched."""

from __future__ import annotations

from typing import Any

from harness.cloud_actors import OtherUser
from harness.cloud_controllers import CloudProvider, Controller, Ground, Nodes, everything


def elsewhere(user: OtherUser, cluster: str, zones: str = "ab", block: str = "10.99") -> dict[str, str]:
    """Make a VPC of a stranger in which a cluster of the same name lives, with everything its workloads made."""
    ground = strange_ground(user, cluster, zones, block)
    made = {f"elsewhere: {what}": ident for what, ident in everything(user, ground).items()}
    made |= {"elsewhere: vpc": ground.vpc, "elsewhere: nodes": ground.nodes}
    return made | {f"elsewhere: subnet {number}": each for number, each in enumerate(ground.subnets)}


def strange_ground(user: OtherUser, cluster: str, zones: str = "ab", block: str = "10.99") -> Ground:
    """Make a stranger's VPC with an internet gateway, a subnet a zone and a group for nodes."""
    vpc = user.make("ec2", "CreateVpc", CidrBlock=f"{block}.0.0/16")
    gateway = user.make("ec2", "CreateInternetGateway")
    user.call("ec2", "AttachInternetGateway", InternetGatewayId=gateway, VpcId=vpc)
    region = user.region
    subnets = [
        user.make(
            "ec2", "CreateSubnet", VpcId=vpc, CidrBlock=f"{block}.{number}.0/24", AvailabilityZone=f"{region}{zone}"
        )
        for number, zone in enumerate(zones)
    ]
    nodes = user.make("ec2", "CreateSecurityGroup", GroupName=f"{cluster}-node", Description="nodes", VpcId=vpc)
    return Ground(cluster, vpc, subnets, nodes)


class Tempting(Controller):
    """What is in the cluster's own VPC, and holds it as long as its owner leaves it there."""

    def __init__(self, user: OtherUser, ground: Ground) -> None:
        super().__init__(user, ground)
        self._user = user
        self._tags = ground.owned

    def all(self) -> dict[str, str]:
        self.balancer_without_service()
        self.target_group_without_service()
        self.group_of_a_user()
        self.group_of_two_clusters()
        self.group_of_eks()
        self.interface_of_a_service()
        self.interface_of_another_cluster()
        return self.made

    def balancer_without_service(self) -> None:
        """A user tags what he makes for the cluster, as documentation tells him to."""
        self._balancer("balancer without service", "team-own", self._tags, Type="network")

    def target_group_without_service(self) -> None:
        self._target_group("target group without service", "team-own", self._tags, Protocol="TCP", Port=443)

    def group_of_a_user(self) -> None:
        """A group that an annotation of a Service names; the tag lets the cloud provider manage its rules.

        https://kubernetes.io/docs/concepts/services-networking/service/ (aws-load-balancer-security-groups)
        """
        self._group("group of a user", "team-web-clients", "Clients of the web shop", self._tags)

    def group_of_two_clusters(self) -> None:
        """Named and described like that of a Service, and tagged for a second cluster too."""
        name = CloudProvider(self.actor, self.ground).name_of("team/both")
        about = f"Security group for Kubernetes ELB {name} (team/both)"
        tags = {**self._tags, "kubernetes.io/cluster/another": "owned"}
        self._group("group of two clusters", f"k8s-elb-{name}", about, tags)

    def group_of_eks(self) -> None:
        """The group that EKS makes, with a tag that only AWS can give.

        https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
        """
        cluster = self.ground.cluster
        about = "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes"
        tags = {**self._tags, "Name": f"eks-cluster-sg-{cluster}-1"}
        group = self._group("group of EKS", f"eks-cluster-sg-{cluster}-1", about, tags)
        self._user.tag(group, **{"aws:eks:cluster-name": cluster})

    def interface_of_a_service(self) -> None:
        """An interface that a service of AWS manages, with the tags of the VPC CNI."""
        made = self._user.act("occupy", {"subnet": self.ground.subnets[0]})["id"]
        tags = {"cluster.k8s.amazonaws.com/name": self.ground.cluster, "eks:eni:owner": "amazon-vpc-cni"}
        self._user.tag(made, **tags)
        self._user.act("change", {"id": made, "fields": {"Status": "available"}})
        self.made["interface of a service"] = made

    def interface_of_another_cluster(self) -> None:
        """In the same VPC, left behind by the machines of another cluster."""
        other = Ground("another", self.ground.vpc, self.ground.subnets)
        self.made["interface of another cluster"] = Nodes(self.actor, other).interface()


def rule_that_names(user: OtherUser, group: str, vpc: str) -> dict[str, str]:
    """Make a stranger's group in a VPC with a rule that lets a Service's group in: it holds that group."""
    theirs = user.make("ec2", "CreateSecurityGroup", GroupName="audit", Description="of another team", VpcId=vpc)
    pair: dict[str, Any] = {"IpProtocol": "tcp", "FromPort": 9000, "ToPort": 9000}
    pair["UserIdGroupPairs"] = [{"GroupId": group}]
    rule = user.make("ec2", "AuthorizeSecurityGroupIngress", GroupId=theirs, IpPermissions=[pair])
    return {"stranger's group": theirs, "stranger's rule": rule}
