"""What the controllers in a workload cluster make in AWS, named and tagged exactly as they do; each with its source.

What makes a load balancer may be called again: as its controller does, it makes only what is missing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.cloud_actors import Actor, Refused

Tags = Mapping[str, str]
IMAGE = "ami-0a0000000000000c1"


@dataclass(frozen=True)
class Ground:
    """Where a cluster's workloads live; an application load balancer needs two subnets.

    ``nodes``: the group that their machines are in, "" for none. ``internal``: load balancers without public addresses,
    as they are in a VPC without an internet gateway.
    """

    cluster: str
    vpc: str
    subnets: Sequence[str]
    nodes: str = ""
    internal: bool = False

    @property
    def scheme(self) -> dict[str, str]:
        return {"Scheme": "internal"} if self.internal else {}

    @property
    def owned(self) -> dict[str, str]:
        """https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/tags.go (clusterTagKey)"""
        return {f"kubernetes.io/cluster/{self.cluster}": "owned"}


@dataclass
class Controller:
    """One controller of a cluster. ``made``: ids, ARNs or names (of classic load balancers) by what they are."""

    actor: Actor
    ground: Ground
    made: dict[str, str] = field(default_factory=dict)

    def _group(self, what: str, name: str, description: str, tags: Tags) -> str:
        vpc = self.ground.vpc
        filters = [{"Name": "group-name", "Values": [name]}, {"Name": "vpc-id", "Values": [vpc]}]
        held = self.actor.call("ec2", "DescribeSecurityGroups", Filters=filters)["SecurityGroups"]
        self.made[what] = held[0]["GroupId"] if held else self.actor.make(
            "ec2", "CreateSecurityGroup", GroupName=name, Description=description, VpcId=vpc,
            TagSpecifications=_specified("security-group", tags),
        )  # fmt: skip
        return self.made[what]

    def _allow(self, group: str, what: str = "", **permission: Any) -> None:
        """Add a rule to a group if it lacks it."""
        try:
            rule = self.actor.make("ec2", "AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[permission])
        except Refused as refused:
            if "InvalidPermission.Duplicate" not in str(refused):
                raise
        else:
            self.made |= {what: rule} if what else {}

    def _balancer(self, what: str, name: str, tags: Tags, **more: Any) -> str:
        held = self.balancers(name)
        self.made[what] = held[0]["LoadBalancerArn"] if held else self.actor.make(
            "elbv2", "CreateLoadBalancer", Name=name, Subnets=[*self.ground.subnets], Tags=_listed(tags),
            **self.ground.scheme, **more,
        )  # fmt: skip
        return self.made[what]

    def _target_group(self, what: str, name: str, tags: Tags, **more: Any) -> str:
        held = self._described("DescribeTargetGroups", "TargetGroups", Names=[name])
        self.made[what] = held[0]["TargetGroupArn"] if held else self.actor.make(
            "elbv2", "CreateTargetGroup", Name=name, VpcId=self.ground.vpc, Tags=_listed(tags), **more
        )  # fmt: skip
        return self.made[what]

    def _listener(self, what: str, balancer: str, group: str, tags: Tags, protocol: str, port: int) -> None:
        held = self._described("DescribeListeners", "Listeners", LoadBalancerArn=balancer)
        action = [{"Type": "forward", "TargetGroupArn": group}]
        self.made[what] = held[0]["ListenerArn"] if held else self.actor.make(
            "elbv2", "CreateListener", LoadBalancerArn=balancer, Protocol=protocol, Port=port, DefaultActions=action,
            Tags=_listed(tags),
        )  # fmt: skip

    def short(self, name: str, *more: str) -> str:
        """Return ``k8s-<namespace>-<name>-<hash>``, as both controllers name what has at most 32 characters."""
        namespace, _, own = name.partition("/")
        digits = _hash(self.ground.cluster, self.ground.vpc, name, *more)
        return f"k8s-{_plain(namespace)[:8]}-{_plain(own)[:8]}-{digits[:10]}"

    def balancers(self, name: str) -> list[dict[str, Any]]:
        """Return the load balancer with a name, network or application, if there is one."""
        return self._described("DescribeLoadBalancers", "LoadBalancers", Names=[name])

    def _described(self, operation: str, rows: str, **params: Any) -> list[dict[str, Any]]:
        """Return the rows of a list by name; none if the name is not found."""
        try:
            return list(self.actor.call("elbv2", operation, **params)[rows])
        except Refused as refused:
            if "NotFound" not in str(refused):
                raise
            return []


class CloudProvider(Controller):
    """The Services of type LoadBalancer of the AWS cloud provider.

    https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/aws.go (EnsureLoadBalancer,
    buildELBSecurityGroupList, updateInstanceSecurityGroupsForLoadBalancer), .../aws_loadbalancer.go
    (ensureLoadBalancer, ensureLoadBalancerv2, ensureTargetGroup, buildTargetGroupName)
    """

    def classic(self, service: str = "team/web") -> None:
        """Make a classic load balancer with its group, and the rule that lets it through to the nodes."""
        name, tags, group = self.name_of(service), self._tags(service), self._group_for(service)
        listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 30080}
        if not self.has_classic(name):
            self.actor.make(
                "elb", "CreateLoadBalancer", LoadBalancerName=name, Listeners=[listener], SecurityGroups=[group],
                Subnets=[*self.ground.subnets], Tags=_listed(tags), **self.ground.scheme,
            )  # fmt: skip
        self.made[f"classic {service}"] = name

    def network(self, service: str = "team/api", *, grouped: bool = False) -> None:
        """Make a network load balancer with its target group and listener, and the rule for its clients.

        ``grouped``: with a group like that of a classic one (``NLBSecurityGroupMode`` of the provider's configuration).
        """
        name, tags = self.name_of(service), self._tags(service)
        group = self._target_group(
            f"target group of {service}", self.short(service), tags, Protocol="TCP", Port=30443,
        )  # fmt: skip
        groups = {"SecurityGroups": [self._group_for(service)]} if grouped else {}
        balancer = self._balancer(f"network {service}", name, tags, Type="network", **groups)
        self._listener(f"listener of {service}", balancer, group, tags, "TCP", 443)
        if self.ground.nodes:
            ranges = [{"CidrIp": "0.0.0.0/0", "Description": f"kubernetes.io/rule/nlb/client={name}"}]
            self._allow(self.ground.nodes, IpProtocol="tcp", FromPort=30443, ToPort=30443, IpRanges=ranges)

    def instance(self) -> str:
        """Run a machine of the cluster; its kubelet and the controllers on it run as long."""
        groups = {"SecurityGroupIds": [self.ground.nodes]} if self.ground.nodes else {}
        tags = _specified("instance", {**self.ground.owned, "Name": f"{self.ground.cluster}-node"})
        ident = self.actor.make(
            "ec2", "RunInstances", ImageId=IMAGE, InstanceType="t3.micro", MinCount=1, MaxCount=1,
            SubnetId=self.ground.subnets[0], TagSpecifications=tags, **groups,
        )  # fmt: skip
        self.made[f"instance {ident}"] = ident
        return ident

    def runs(self) -> bool:
        """Whether a machine of the cluster runs in its VPC."""
        [(key, value)] = self.ground.owned.items()
        filters = [
            {"Name": f"tag:{key}", "Values": [value]},
            {"Name": "vpc-id", "Values": [self.ground.vpc]},
            {"Name": "instance-state-name", "Values": ["running"]},
        ]
        return bool(self.actor.call("ec2", "DescribeInstances", Filters=filters)["Reservations"])

    def name_of(self, service: str) -> str:
        """Return "a" and the uid of the Service, 32 characters (k8s.io/cloud-provider: DefaultLoadBalancerName)."""
        return f"a{_hash(self.ground.cluster, self.ground.vpc, service)}"[:32]

    def _group_for(self, service: str) -> str:
        name, everywhere = self.name_of(service), [{"CidrIp": "0.0.0.0/0"}]
        about = f"Security group for Kubernetes ELB {name} ({service})"
        group = self._group(f"group of {service}", f"k8s-elb-{name}", about, self.ground.owned)
        self._allow(group, IpProtocol="tcp", FromPort=80, ToPort=80, IpRanges=everywhere)
        self._allow(group, IpProtocol="icmp", FromPort=3, ToPort=4, IpRanges=everywhere)
        if self.ground.nodes:
            pairs = [{"GroupId": group}]
            self._allow(self.ground.nodes, f"rule for {service}", IpProtocol="-1", UserIdGroupPairs=pairs)
        return group

    def _tags(self, service: str) -> dict[str, str]:
        return {**self.ground.owned, "kubernetes.io/service-name": service}

    def has_classic(self, name: str) -> bool:
        try:
            return bool(self.actor.call("elb", "DescribeLoadBalancers", LoadBalancerNames=[name]))
        except Refused as refused:
            if "NotFound" not in str(refused):
                raise
            return False


class LoadBalancerController(Controller):
    """The AWS Load Balancer Controller: Ingresses as application, Services as network load balancers.

    https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/deploy/tracking/provider.go (tags),
    .../pkg/ingress/model_build_managed_sg.go, .../pkg/service/model_build_managed_sg.go (frontend groups),
    .../pkg/networking/backend_sg_provider.go (backend group)
    """

    def ingress(self, name: str = "team/shop") -> None:
        """Make an application load balancer with its groups, target group and listener."""
        tags = self._tags("ingress", name)
        groups = [self._frontend(name, tags("ManagedLBSecurityGroup")), self._backend()]
        balancer = self._balancer(
            f"application {name}", self.short(name), tags("LoadBalancer"), Type="application",
            SecurityGroups=groups,
        )  # fmt: skip
        target = self._targets(name, tags(f"{name}-backend:80"), "HTTP")
        self._listener(f"listener of {name}", balancer, target, tags("80"), "HTTP", 80)

    def service(self, name: str = "team/mail") -> None:
        """Make a network load balancer with groups, a target group and a listener."""
        tags = self._tags("service", name)
        groups = [self._frontend(name, tags("ManagedLBSecurityGroup")), self._backend()]
        balancer = self._balancer(
            f"network {name}", self.short(name), tags("LoadBalancer"), Type="network",
            SecurityGroups=groups,
        )  # fmt: skip
        target = self._targets(name, tags(f"{name}:80"), "TCP")
        self._listener(f"listener of {name}", balancer, target, tags("80"), "TCP", 80)

    def _tags(self, sort: str, stack: str) -> Any:
        """Return a maker of the tags of a resource of a stack."""
        both = {"elbv2.k8s.aws/cluster": self.ground.cluster, f"{sort}.k8s.aws/stack": stack}
        return lambda resource: {**both, f"{sort}.k8s.aws/resource": resource}

    def _frontend(self, name: str, tags: Tags) -> str:
        about = "[k8s] Managed SecurityGroup for LoadBalancer"
        group = self._group(f"group of {name}", self.short(name), about, tags)
        self._allow(group, IpProtocol="tcp", FromPort=80, ToPort=80, IpRanges=[{"CidrIp": "0.0.0.0/0"}])
        return group

    def _backend(self) -> str:
        """Make the group that all load balancers of the cluster share, and the rule that lets it through."""
        cluster = self.ground.cluster
        name = f"k8s-traffic-{_plain(cluster)[:232]}-{_hash(cluster)[:10]}"
        tags = {"elbv2.k8s.aws/cluster": cluster, "elbv2.k8s.aws/resource": "backend-sg"}
        group = self._group("backend group", name, "[k8s] Shared Backend SecurityGroup for LoadBalancer", tags)
        if self.ground.nodes:
            pairs = [{"GroupId": group, "Description": "elbv2.k8s.aws/targetGroupBinding=shared"}]
            self._allow(
                self.ground.nodes, "rule for backend group", IpProtocol="tcp", FromPort=0, ToPort=65535,
                UserIdGroupPairs=pairs,
            )  # fmt: skip
        return group

    def _targets(self, name: str, tags: Tags, protocol: str) -> str:
        short = self.short(name, "targets")
        return self._target_group(f"target group of {name}", short, tags, Protocol=protocol, Port=80, TargetType="ip")


class Nodes(Controller):
    """What the pods on the nodes make: interfaces of the VPC CNI, volumes of the EBS CSI driver.

    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/pkg/awsutils/awsutils.go (createENITags),
    https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/pkg/driver/controller.go (CreateVolume),
    .../docs/tagging.md
    """

    def interface(self, instance: str = "", node: str = "i-0123456789abcdef0") -> str:
        """Make an interface that the CNI left behind, or one that is attached to an ``instance``."""
        node, groups = instance or node, [self.ground.nodes] if self.ground.nodes else []
        tags = {
            "cluster.k8s.amazonaws.com/name": self.ground.cluster, "eks:eni:owner": "amazon-vpc-cni",
            "node.k8s.amazonaws.com/instance_id": node, "node.k8s.amazonaws.com/createdAt": "2026-11-27T12:00:00Z",
        }  # fmt: skip
        ident = self.actor.make(
            "ec2", "CreateNetworkInterface", SubnetId=self.ground.subnets[0], Description=f"aws-K8S-{node}",
            TagSpecifications=_specified("network-interface", tags), **({"Groups": groups} if groups else {}),
        )  # fmt: skip
        if instance:
            self.actor.call(
                "ec2", "AttachNetworkInterface", NetworkInterfaceId=ident, InstanceId=instance, DeviceIndex=1
            )
        self.made[f"interface {ident}"] = ident
        return ident

    def volume(self, claim: str = "team/data", zone: str = "us-east-1a") -> str:
        """Make the volume of a claim; attached to nothing."""
        namespace, _, name = claim.partition("/")
        volume = f"pvc-{_hash(self.ground.cluster, claim)[:8]}"
        tags = {
            **self.ground.owned, "KubernetesCluster": self.ground.cluster, "ebs.csi.aws.com/cluster": "true",
            "CSIVolumeName": volume, "Name": f"{self.ground.cluster}-dynamic-{volume}",
            "kubernetes.io/created-for/pv/name": volume, "kubernetes.io/created-for/pvc/name": name,
            "kubernetes.io/created-for/pvc/namespace": namespace,
        }  # fmt: skip
        specified = _specified("volume", tags)
        made = self.actor.make(
            "ec2", "CreateVolume", AvailabilityZone=zone, Size=8, VolumeType="gp3", TagSpecifications=specified
        )
        self.made[f"volume {claim}"] = made
        return made


def everything(actor: Actor, ground: Ground) -> dict[str, str]:
    """Let each controller make one of each kind, without a machine that runs; what they made, by what it is."""
    made: dict[str, str] = {}
    provider = CloudProvider(actor, ground, made)
    controller = LoadBalancerController(actor, ground, made)
    nodes = Nodes(actor, ground, made)
    provider.classic()
    provider.network()
    if len(ground.subnets) > 1:
        controller.ingress()
    controller.service()
    nodes.interface()
    nodes.volume()
    return made


def protect(actor: Actor, balancer: str) -> None:
    """Turn on the deletion protection of a load balancer (not a classic one, which has none)."""
    attribute = {"Key": "deletion_protection.enabled", "Value": "true"}
    actor.call("elbv2", "ModifyLoadBalancerAttributes", LoadBalancerArn=balancer, Attributes=[attribute])


class Recreating:
    """A cloud controller whose Services GitOps keeps: what is missing comes back while a machine runs."""

    def __init__(self, provider: CloudProvider, classic: Sequence[str] = (), network: Sequence[str] = ()) -> None:
        self._provider = provider
        self._services = [
            *((provider.classic, each) for each in classic),
            *((provider.network, each) for each in network),
        ]
        self.made_again = 0
        """Load balancers that came back."""

    def tick(self) -> None:
        """Let the controller look once; what the cloud refuses it tries again at the next tick."""
        if not self._provider.runs():
            return
        for ensure, service in self._services:
            before = self._there(service)
            try:
                ensure(service)
            except Refused:
                continue
            self.made_again += not before

    def _there(self, service: str) -> bool:
        name = self._provider.name_of(service)
        return self._provider.has_classic(name) or bool(self._provider.balancers(name))


def _listed(tags: Tags) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _specified(kind: str, tags: Tags) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": _listed(tags)}]


def _hash(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def _plain(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "", text)
