"""AWSCluster specs for tests: made up, written in other words, and edited."""

from __future__ import annotations

import copy
import random
from typing import Any

from freehold.reconcilers.answers import Answer
from freehold.reconcilers.aws_cluster.facts import Facts, Recorded
from freehold.reconcilers.aws_cluster.names import DefaultNames

Spec = dict[str, Any]

REGION = "eu-central-1"
ZONES = tuple(f"{REGION}{letter}" for letter in "abc")
NAMES = DefaultNames("team", "prod")
VPC = {"id": "vpc-0123456789abcdef0"}
SUBNET = {"id": "subnet-0123456789abcdef0"}


def facts(zones: tuple[str, ...] = ZONES, port: int = 6443, recorded: Recorded = Recorded()) -> Facts:  # noqa: B008
    return Facts(Answer(zones), port, recorded)


def cluster(spec: Spec) -> dict[str, Any]:
    """The object, as the API server stores it but for its defaults."""
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "AWSCluster",
        "metadata": {"name": NAMES.cluster, "namespace": NAMES.namespace},
        "spec": spec,
    }


def rule(**fields: Any) -> dict[str, Any]:
    """One ingress rule."""
    return {"description": "a rule", "protocol": "tcp", "fromPort": 80, "toPort": 80, **fields}


def at(spec: Spec, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for part in path.split("."):
        if not isinstance(spec, dict) or part not in spec:
            return None
        spec = spec[part]
    return spec


def put(spec: Spec, path: str, value: Any) -> None:
    """Set the value at a dotted path."""
    *above, last = path.split(".")
    for part in above:
        spec = spec.setdefault(part, {})
    spec[last] = value


def defaults_of(spec: Spec) -> dict[str, Any]:
    """Path -> what leaving the field out means for this spec: defaults of the schema, and of upstream's webhook."""
    ipv6 = at(spec, "network.vpc.ipv6") is not None
    given = bool(at(spec, "network.vpc.id"))
    network = at(spec, "controlPlaneLoadBalancer.loadBalancerType") == "nlb"
    disabled = at(spec, "controlPlaneLoadBalancer.loadBalancerType") == "disabled"
    calico = [
        {"description": "bgp (calico)", "protocol": "tcp", "fromPort": 179, "toPort": 179},
        {"description": "IP-in-IP (calico)", "protocol": "4", "fromPort": -1, "toPort": 65535},
    ]
    if ipv6:
        calico.append({"description": "VXLAN (calico)", "protocol": "udp", "fromPort": 4789, "toPort": 4789})
    found: dict[str, Any] = {
        "partition": "aws",
        "identityRef": {"kind": "AWSClusterControllerIdentity", "name": "default"},
        "additionalTags": {},
        "network.cni": {"cniIngressRules": calico},
        "network.nodePortIngressRuleCidrBlocks": ["0.0.0.0/0"],
        "network.vpc.availabilityZoneSelection": "Ordered",
        "network.vpc.availabilityZoneUsageLimit": 3,
        "network.vpc.subnetSchema": "PreferPrivate",
        "controlPlaneLoadBalancer.loadBalancerType": "classic",
        "controlPlaneLoadBalancer.scheme": "internet-facing",
        "controlPlaneLoadBalancer.healthCheck": {
            "intervalSeconds": 10, "timeoutSeconds": 5, "thresholdCount": 5, "unhealthyThresholdCount": 3,
        },
        "bastion.enabled": False,
        "sshKeyName": "default",
    }  # fmt: skip
    if not given:
        found["network.vpc.cidrBlock"] = "10.0.0.0/16"
    if not disabled:
        found["controlPlaneLoadBalancer.healthCheckProtocol"] = "TCP"
        found["controlPlaneLoadBalancer.name"] = "team-prod-apiserver" if network else "prod-apiserver"
        found["controlPlaneLoadBalancer.crossZoneLoadBalancing"] = False
    if network:
        found["controlPlaneLoadBalancer.targetGroupIPType"] = "ipv6" if ipv6 else "ipv4"
    if at(spec, "bastion.enabled"):
        found["bastion.instanceType"] = "t3.micro"
        if not at(spec, "bastion.disableIngressRules"):
            found["bastion.allowedCIDRBlocks"] = ["0.0.0.0/0", *(["::/0"] if ipv6 else [])]
    return found


def with_defaults(spec: Spec, choose: random.Random) -> Spec:
    """The same wish with some of what it leaves out written."""
    written = copy.deepcopy(spec)
    for path, value in defaults_of(spec).items():
        if at(written, path) is None and choose.random() < 0.5:
            put(written, path, copy.deepcopy(value))
    return written


def without_defaults(spec: Spec, choose: random.Random) -> Spec:
    """The same wish with some of what says nothing taken out."""
    left = copy.deepcopy(spec)
    for path, value in defaults_of(spec).items():
        above, _, last = path.rpartition(".")
        holder = at(left, above) if above else left
        if isinstance(holder, dict) and last in holder and holder[last] == value and choose.random() < 0.5:
            del holder[last]
    return left


def reordered(value: Any, choose: random.Random) -> Any:
    """The same with every list and every object in another order."""
    if isinstance(value, dict):
        items = [(key, reordered(item, choose)) for key, item in value.items()]
        choose.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        found = [reordered(item, choose) for item in value]
        choose.shuffle(found)
        return found
    return value
