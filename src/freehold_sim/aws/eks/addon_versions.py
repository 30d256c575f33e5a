"""Add-ons that EKS offers, their versions by Kubernetes version, and what can be configured.

Latest versions: https://docs.aws.amazon.com/eks/latest/userguide/managing-kube-proxy.html, managing-coredns.html,
managing-vpc-cni.html (of 2026); older ones, those of 1.36 and all of the other add-ons are made up in their pattern.
Which version is the default for a Kubernetes version is assumed: the one before the latest, where there are two.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jsonschema_rs
import yaml

from freehold_sim.aws.call import Call, Operation, reads
from freehold_sim.aws.eks.common import bad, listed, missing

_OLDEST, _LATEST = 30, 36


class Release(NamedTuple):
    """A version of an add-on, for clusters from one minor version of Kubernetes to another."""

    version: str
    oldest: int = _OLDEST
    latest: int = _LATEST


class Addon(NamedTuple):
    """An add-on with its releases, the latest first, and the top level of its configuration."""

    type: str
    releases: Sequence[Release]
    properties: Mapping[str, str]
    needs_permissions: bool = False

    def for_minor(self, minor: int) -> list[str]:
        return [each.version for each in self.releases if each.oldest <= minor <= each.latest]

    def default(self, minor: int) -> str:
        return self.for_minor(minor)[:2][-1]

    @property
    def schema(self) -> dict[str, Any]:
        properties = {name: {"type": kind} for name, kind in self.properties.items()}
        return {
            "$schema": "http://json-schema.org/draft-06/schema#",
            "type": "object", "additionalProperties": False, "properties": properties,
        }  # fmt: skip


def _proxies() -> list[Release]:
    """Return the releases of kube-proxy: each is for the Kubernetes version in its name."""
    rows = {
        36: ("1-eksbuild.2", "0-eksbuild.2"), 35: ("3-eksbuild.2", "0-eksbuild.2"),
        34: ("6-eksbuild.2", "1-eksbuild.2"), 33: ("10-eksbuild.2", "5-eksbuild.2"),
        32: ("13-eksbuild.5", "9-eksbuild.2"), 31: ("14-eksbuild.9", "13-eksbuild.2"),
        30: ("14-eksbuild.28", "14-eksbuild.8"),
    }  # fmt: skip
    return [Release(f"v1.{minor}.{patch}", minor, minor) for minor, patches in rows.items() for patch in patches]


_PODS = {"affinity": "object", "nodeSelector": "object", "resources": "object", "tolerations": "array"}
ADDONS: Mapping[str, Addon] = {
    "vpc-cni": Addon(
        "networking",
        [Release("v1.21.1-eksbuild.7"), Release("v1.20.4-eksbuild.2"), Release("v1.19.6-eksbuild.7", 30, 34)],
        {"enableNetworkPolicy": "string", "enableWindowsIpam": "string", "eniConfig": "object", "env": "object",
         "init": "object", "livenessProbeTimeoutSeconds": "integer", "nodeAgent": "object",
         "readinessProbeTimeoutSeconds": "integer", **_PODS},
        needs_permissions=True,
    ),
    "coredns": Addon(
        "networking",
        [Release("v1.14.2-eksbuild.4", 35), Release("v1.13.2-eksbuild.7", 33), Release("v1.12.4-eksbuild.1", 33, 34),
         Release("v1.11.4-eksbuild.33", 30, 33), Release("v1.11.4-eksbuild.24", 30, 32)],
        {"autoScaling": "object", "computeType": "string", "corefile": "string", "podDisruptionBudget": "object",
         "replicaCount": "integer", "topologySpreadConstraints": "array", **_PODS},
    ),
    "kube-proxy": Addon("networking", _proxies(), {"ipvs": "object", "mode": "string", **_PODS}),
    "aws-ebs-csi-driver": Addon(
        "storage", [Release("v1.56.0-eksbuild.1"), Release("v1.53.0-eksbuild.1")],
        {"controller": "object", "node": "object", "sidecars": "object", "defaultStorageClass": "object"},
        needs_permissions=True,
    ),
    "eks-pod-identity-agent": Addon(
        "security", [Release("v1.3.10-eksbuild.2"), Release("v1.3.8-eksbuild.2")], {"agent": "object", **_PODS},
    ),
}  # fmt: skip


def chosen(name: str, kubernetes: str, version: str | None) -> str:
    """Return the version of an add-on that a cluster gets; refuse an add-on and a version that it cannot have.

    https://github.com/marcincuber/eks/issues/10, https://github.com/hashicorp/terraform-provider-aws/issues/33385
    """
    if name not in ADDONS:
        raise bad(f"Addon {name} specified is not supported in {kubernetes} kubernetes version")
    minor = int(kubernetes.partition(".")[2])
    if version is not None and version not in ADDONS[name].for_minor(minor):
        raise bad("Addon version specified is not supported")
    return version or ADDONS[name].default(minor)


def check_configuration(name: str, text: str) -> None:
    """Refuse values that are neither JSON nor YAML, or that the schema of the add-on does not have; "" is none.

    https://docs.aws.amazon.com/cli/latest/reference/eks/update-addon.html (YAML),
    https://github.com/aws/amazon-vpc-cni-k8s/issues/2173
    """
    if not text:
        return
    refusal = "ConfigurationValue provided in request is not supported: Json schema validation failed with error: "
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError:
        raise bad(f"{refusal}[neither JSON nor YAML]") from None
    found = next(iter(jsonschema_rs.validator_for(ADDONS[name].schema).iter_errors(values)), None)
    if found is not None:
        raise bad(f"{refusal}[{'.'.join(['$', *map(str, found.instance_path)])}: {found.message}]")


def describe_versions(call: Call) -> dict[str, Any]:
    """List add-ons with the versions for a Kubernetes version, or for all; an unknown name lists nothing (assumed)."""
    params, kubernetes = call.params, call.params.get("kubernetesVersion")
    rows = [
        {**shown, "addonName": name, "type": addon.type, "publisher": "eks", "owner": "aws",
         "defaultNamespace": "kube-system"}
        for name, addon in ADDONS.items()
        if params.get("addonName", name) == name
        and addon.type in params.get("types", [addon.type])
        and "eks" in params.get("publishers", ["eks"])
        and "aws" in params.get("owners", ["aws"])
        and (shown := {"addonVersions": _versions(addon, kubernetes)})["addonVersions"]
    ]  # fmt: skip
    return listed(call, "addons", rows)


def _versions(addon: Addon, kubernetes: str | None) -> list[dict[str, Any]]:
    minors = [minor for minor in range(_LATEST, _OLDEST - 1, -1) if kubernetes in {None, f"1.{minor}"}]
    return [
        {
            "addonVersion": release.version, "architecture": ["amd64", "arm64"],
            "computeTypes": ["ec2", "auto", "hybrid"], "requiresConfiguration": False,
            "requiresIamPermissions": addon.needs_permissions,
            "compatibilities": [
                {"clusterVersion": f"1.{minor}", "platformVersions": ["*"],
                 "defaultVersion": addon.default(minor) == release.version}
                for minor in minors
                if release.oldest <= minor <= release.latest
            ],
        }
        for release in addon.releases
        if any(release.oldest <= minor <= release.latest for minor in minors)
    ]  # fmt: skip


def describe_configuration(call: Call) -> dict[str, Any]:
    name, version = call.params["addonName"], call.params["addonVersion"]
    if name not in ADDONS or version not in {release.version for release in ADDONS[name].releases}:
        raise missing(f"No addon {name} of version {version}")
    schema = json.dumps(ADDONS[name].schema)
    return {"addonName": name, "addonVersion": version, "configurationSchema": schema, "podIdentityConfiguration": []}


OPERATIONS: tuple[Operation, ...] = (
    reads("DescribeAddonVersions", describe_versions,
          "kubernetesVersion maxResults nextToken addonName types publishers owners"),
    reads("DescribeAddonConfiguration", describe_configuration, "addonName addonVersion"),
)  # fmt: skip
