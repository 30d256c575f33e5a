"""AWSCluster specs for tests: made up, written in other words, and edited."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from freehold.providers.aws.cluster import desired
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import AWSClusterFacts, Recorded
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.objects.adapter import Desired, RefusedSpec, UndecidedSpec, parse_or_refuse
from freehold.providers.objects.cloud_answers import Answer

Spec = dict[str, Any]

REGION = "eu-central-1"
ZONES = tuple(f"{REGION}{letter}" for letter in "abc")
NAMES = AWSClusterNames("team", "prod")
VPC = {"id": "vpc-0123456789abcdef0"}
SUBNET = {"id": "subnet-0123456789abcdef0"}
TIMES = {"intervalSeconds": 5, "timeoutSeconds": 4, "thresholdCount": 2, "unhealthyThresholdCount": 6}
"""Of a health check."""
RULES = (
    "network.additionalControlPlaneIngressRules", "network.additionalNodeIngressRules",
    "controlPlaneLoadBalancer.ingressRules", "secondaryControlPlaneLoadBalancer.ingressRules",
)  # fmt: skip
"""Lists of ingress rules."""
SOURCES = {
    "cidrBlocks", "ipv6CidrBlocks", "natGatewaysIPsSource", "sourceSecurityGroupIds", "sourceSecurityGroupRoles",
}  # fmt: skip
"""What traffic comes from."""


def facts(zones: tuple[str, ...] = ZONES, port: int = 6443, recorded: Recorded = Recorded()) -> AWSClusterFacts:  # noqa: B008 - frozen
    return AWSClusterFacts(Answer(zones), port, recorded)


def cluster(spec: Spec) -> dict[str, Any]:
    """The object, as the API server stores it but for its defaults."""
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "AWSCluster",
        "metadata": {"name": NAMES.cluster, "namespace": NAMES.namespace},
        "spec": spec,
    }


def decide(
    names: AWSClusterNames, raw: dict[str, Any], known: AWSClusterFacts, *, storage: bool = False
) -> Decided | RefusedSpec | UndecidedSpec:
    """Parse and decide, as the adapter does."""
    spec = parse_or_refuse(AWSClusterSpec, raw)
    return spec if isinstance(spec, RefusedSpec) else desired.decide(names, raw, spec, known, storage=storage)


def wanted(
    names: AWSClusterNames, raw: dict[str, Any], known: AWSClusterFacts, *, account: str = "", storage: bool = False
) -> Desired:
    """Parse and make the graph, as the adapter does."""
    spec = parse_or_refuse(AWSClusterSpec, raw)
    if isinstance(spec, RefusedSpec):
        return spec
    return desired.build_desired(names, raw, spec, known, account=account, storage=storage)


def rule(**fields: Any) -> dict[str, Any]:
    """One ingress rule."""
    return {"description": "a rule", "protocol": "tcp", "fromPort": 80, "toPort": 80, **fields}


def at(spec: Spec, path: str) -> Any:
    """The value at a dotted path, in which a number is an item of a list; None where there is none."""
    value: Any = spec
    for part in path.split("."):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return None
    return value


def put(spec: Spec, path: str, value: Any) -> None:
    """Set the value at a dotted path, whose lists have the items that it names."""
    *above, last = path.split(".")
    holder: Any = spec
    for part in above:
        holder = holder[int(part)] if isinstance(holder, list) else holder.setdefault(part, {})
    holder[last] = value


def defaults_of(spec: Spec) -> dict[str, Any]:
    """Path -> what leaving the field out means for this spec: defaults of the schema, and of upstream's webhook."""
    ipv6 = at(spec, "network.vpc.ipv6") is not None
    given = bool(at(spec, "network.vpc.id"))
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
        "bastion.enabled": False,
        "sshKeyName": "default",
        "controlPlaneLoadBalancer.loadBalancerType": "classic",
        **_defaults_of_balancer(spec, "controlPlaneLoadBalancer", ipv6=ipv6),
        **_defaults_of_subnets(spec, given=given, ipv6=ipv6),
    }
    if at(spec, "secondaryControlPlaneLoadBalancer") is not None:
        found |= _defaults_of_balancer(spec, "secondaryControlPlaneLoadBalancer", ipv6=ipv6)
    for field in RULES:
        for index, each in enumerate(at(spec, field) or ()):
            found[f"{field}.{index}.natGatewaysIPsSource"] = False
            if not SOURCES & each.keys():
                found[f"{field}.{index}.sourceSecurityGroupRoles"] = ["controlplane"]
    if not given:
        found["network.vpc.cidrBlock"] = "10.0.0.0/16"
    if at(spec, "bastion.enabled"):
        found["bastion.instanceType"] = "t3.micro"
        if not at(spec, "bastion.disableIngressRules"):
            found["bastion.allowedCIDRBlocks"] = ["0.0.0.0/0", *(["::/0"] if ipv6 else [])]
    return found


def _defaults_of_balancer(spec: Spec, field: str, *, ipv6: bool) -> dict[str, Any]:
    kind = at(spec, f"{field}.loadBalancerType")
    found: dict[str, Any] = {f"{field}.scheme": "internet-facing", f"{field}.preserveClientIP": False}
    if kind == "disabled":
        return found
    found |= {
        f"{field}.healthCheckProtocol": "TCP",
        f"{field}.crossZoneLoadBalancing": False,
        **{f"{field}.healthCheck.{name}": value for name, value in TIMES.items()},
    }
    if field == "controlPlaneLoadBalancer":
        found[f"{field}.name"] = "team-prod-apiserver" if kind == "nlb" else "prod-apiserver"
    if kind == "nlb":
        family = "ipv6" if ipv6 else "ipv4"
        found[f"{field}.targetGroupIPType"] = family
        for index, each in enumerate(at(spec, f"{field}.additionalListeners") or ()):
            usual = at(spec, f"{field}.targetGroupIPType") or family
            found |= _defaults_of_listener(each, f"{field}.additionalListeners.{index}", usual)
    return found


def _defaults_of_listener(listener: dict[str, Any], field: str, family: str) -> dict[str, Any]:
    check = f"{field}.healthCheck"
    path = {f"{check}.path": "/"} if at(listener, "healthCheck.protocol") in ("HTTP", "HTTPS") else {}
    return {
        f"{field}.protocol": "TCP",
        f"{field}.targetGroupIPType": family,
        f"{check}.protocol": "TCP",
        f"{check}.port": str(listener["port"]),
        **{f"{check}.{name}": value for name, value in TIMES.items()},
        **path,
    }


def _defaults_of_subnets(spec: Spec, *, given: bool, ipv6: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for index, _ in enumerate(at(spec, "network.subnets") or ()):
        field = f"network.subnets.{index}"
        found[f"{field}.zoneType"] = "availability-zone"
        if not given:
            found[f"{field}.isPublic"] = False
            found |= {} if ipv6 else {f"{field}.isIpv6": False}
    return found


def with_defaults(spec: Spec, choose: random.Random) -> Spec:
    """The same wish with some of what it leaves out written."""
    written: Spec = json.loads(json.dumps(spec))  # a deep copy would share what the spec has in two places
    for path, value in defaults_of(spec).items():
        if at(written, path) is None and choose.random() < 0.5:
            put(written, path, copy.deepcopy(value))
    return written


def without_defaults(spec: Spec, choose: random.Random) -> Spec:
    """The same wish with some of what says nothing taken out."""
    left: Spec = json.loads(json.dumps(spec))
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
