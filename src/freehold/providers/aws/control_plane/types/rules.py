"""The rules of ``AWSManagedControlPlane`` (:mod:`freehold.api.rules`): what upstream's webhook and EKS refuse.

https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/controlplane/eks/webhooks
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from freehold.api.base import ApiRule
from freehold.api.rules import (
    Format,
    none_of,
    present,
    reconciler_only,
    require,
    require_format,
    require_formats,
    require_unique,
    value_at,
)
from freehold.providers.aws.types import kept as aws_kept
from freehold.providers.aws.types.rules import IPV4, REGION_RULE, TAG_RULES

VERSION_PATTERN: Final = r"^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.?(\.0|[1-9][0-9]*)?$"
"""Upstream's."""

# --- the ways in -------------------------------------------------------------------------------

ENDPOINT_RULES: Final = (
    require(
        "!has(self.public) || self.public || (has(self.private) && self.private)",
        "nobody could reach the API server; set private to true, or leave public out",
        lambda endpoint: endpoint.public is not False or bool(endpoint.private),
        "public",
    ),
    require_formats("publicCIDRs", IPV4),
)
ACCESS_CONFIG_RULES: Final = (
    require(
        "!has(self.authenticationMode) || self.authenticationMode != 'config_map' || "
        "self.bootstrapClusterCreatorAdminPermissions",
        "with authenticationMode config_map nobody could enter the cluster; set it to true, or choose another mode",
        lambda access: access.authentication_mode != "config_map" or access.bootstrap_cluster_creator_admin_permissions,
        "bootstrapClusterCreatorAdminPermissions",
    ),
)
_NODES: Final = ("ec2_linux", "ec2_windows")
_PRINCIPAL = Format(
    "arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+",
    "{it} is not the ARN of a role or user of IAM; write one like arn:aws:iam::111122223333:role/admins",
)
ACCESS_ENTRY_RULES: Final = (
    require_format("principalARN", _PRINCIPAL),
    require(
        f"!(self.type in ['ec2_linux', 'ec2_windows']) || ({none_of('kubernetesGroups')})",
        "nodes have the groups that EKS gives them; remove them, or write another type",
        lambda entry: entry.type not in _NODES or not entry.kubernetes_groups,
        "kubernetesGroups",
    ),
    require(
        f"!(self.type in ['ec2_linux', 'ec2_windows']) || ({none_of('accessPolicies')})",
        "nodes have the rights that EKS gives them; remove them, or write another type",
        lambda entry: entry.type not in _NODES or not entry.access_policies,
        "accessPolicies",
    ),
)
SCOPE_RULES: Final = (
    require(
        "self.type != 'namespace' || (has(self.namespaces) && size(self.namespaces) > 0)",
        "with type namespace list at least one",
        lambda scope: scope.type != "namespace" or bool(scope.namespaces),
        "namespaces",
    ),
)
_NO_ENTRIES: Final = (
    "entries are not used with authenticationMode config_map; write api_and_config_map, which cannot be taken back, or "
    "remove them"
)

# --- encryption --------------------------------------------------------------------------------

ENCRYPTION_RULES: Final = (
    require(
        "has(self.provider) && self.provider != ''",
        "it is missing; give the ARN or the alias of a key of KMS, or remove encryptionConfig",
        lambda encryption: bool(encryption.provider),
        "provider",
    ),
    require(
        "!has(self.resources) || self.resources.all(r, r == 'secrets')",
        "EKS encrypts secrets, and nothing else; write that, or leave it out",
        lambda encryption: all(each == "secrets" for each in encryption.resources),
        "resources",
    ),
)

# --- the cluster -------------------------------------------------------------------------------

_EKS_NAME = Format(
    "[0-9A-Za-z][0-9A-Za-z_-]{0,99}",
    "{it} is no name of an EKS cluster: at most 100 letters, digits, - and _, the first one a letter or digit",
)
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_POD_RANGE = Format(
    f"(100[.](6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])|198[.]19)[.]{_BYTE}[.]{_BYTE}/(1[6-9]|2[0-8])",
    "{it} is no range for pods: a /16 to /28 within 100.64.0.0/10 or 198.19.0.0/16",
)


def _require_not_installed(switch: str, addon: str) -> ApiRule:
    """Make the rule that what is switched off is no addon."""
    path = f"{switch}.disable"

    def holds(spec: Any) -> bool:
        return not value_at(spec, path) or all(each.name != addon for each in spec.addons)

    return require(
        f"!has(self.{switch}) || !self.{path} || !has(self.addons) || !self.addons.exists(a, a.name == '{addon}')",
        f"the addon {addon} cannot be installed and switched off; remove one of the two",
        holds,
        path,
    )


def _require_mode_for_entries() -> ApiRule:
    mode = "self.accessConfig.authenticationMode"
    return require(
        f"({none_of('accessEntries')}) || !({present(mode)}) || {mode} != 'config_map'",
        _NO_ENTRIES,
        lambda spec: not spec.access_entries or value_at(spec, "accessConfig.authenticationMode") != "config_map",
        "accessEntries",
    )


def _require_pod_range_listed() -> ApiRule:
    """Make the rule that both fields for more ranges agree, as upstream's webhook has it."""
    blocks = "self.network.vpc.secondaryCidrBlocks"
    there = f"has(self.secondaryCidrBlock) && self.secondaryCidrBlock != '' && {present(blocks)} && size({blocks}) > 0"

    def holds(spec: Any) -> bool:
        listed = {each.ipv4_cidr_block for each in value_at(spec, "network.vpc.secondaryCidrBlocks") or ()}
        return not spec.secondary_cidr_block or not listed or spec.secondary_cidr_block in listed

    return require(
        f"!({there}) || {blocks}.exists(b, b.ipv4CidrBlock == self.secondaryCidrBlock)",
        "{it} is not among network.vpc.secondaryCidrBlocks; list it there too, or remove one of the two",
        holds,
        "secondaryCidrBlock",
    )


CONTROL_PLANE_RULES: Final = (
    REGION_RULE,
    *TAG_RULES,
    require_format("eksClusterName", _EKS_NAME),
    require_format("secondaryCidrBlock", _POD_RANGE),
    _require_pod_range_listed(),
    _require_mode_for_entries(),
    _require_not_installed("kubeProxy", "kube-proxy"),
    _require_not_installed("vpcCni", "vpc-cni"),
    reconciler_only(require_unique("addons", "name", "two addons have one name; rename one")),
    reconciler_only(require_unique("accessEntries", "principalARN", "two entries are of one role or user; remove one")),
)

# --- what must not change ----------------------------------------------------------------------

_MODE, _OLD_MODE = (f"{each}.accessConfig.authenticationMode" for each in ("self", "oldSelf"))
_KEY, _OLD_KEY = (f"{each}.encryptionConfig.provider" for each in ("self", "oldSelf"))


def _minor(spec: str) -> str:
    """Return the expression for the minor version."""
    return f"int({spec}.version.split('.')[1])"


_STAYS: Final = (
    ApiRule(
        "!has(oldSelf.eksClusterName) || oldSelf.eksClusterName == '' || "
        "(has(self.eksClusterName) && self.eksClusterName == oldSelf.eksClusterName)",
        "an EKS cluster cannot be renamed",
        field=".eksClusterName",
    ),
    ApiRule(
        f"!({present(_OLD_KEY)}) || {_OLD_KEY} == '' || ({present(_KEY)} && {_KEY} == {_OLD_KEY})",
        "EKS neither changes nor removes the key with which the Secrets of a cluster are encrypted",
        field=".encryptionConfig",
    ),
    ApiRule(
        f"!({present(_OLD_MODE)}) || {_OLD_MODE} == 'config_map' || ({present(_MODE)} && "
        f"({_MODE} == {_OLD_MODE} || {_MODE} == 'api'))",
        "EKS does not take access entries away again: the mode only goes from config_map to api_and_config_map to api",
        field=".accessConfig",
    ),
    ApiRule(
        f"!has(oldSelf.version) || !has(self.version) || {_minor('self')} >= {_minor('oldSelf')}",
        "EKS never goes back to an earlier version",
        field=".version",
    ),
)


def _of_living(rule: ApiRule) -> ApiRule:
    """Make a rule one of living clusters: until then it would forbid what EKS refused to be corrected."""
    return replace(rule, cel=f"{aws_kept.NOT_SETTLED} || {rule.cel}")


OBJECT_RULES: Final = (
    aws_kept.REGION_STAYS,
    *(_of_living(aws_kept.lift(rule)) for rule in _STAYS),
    *map(aws_kept.lift, (aws_kept.VPC_STAYS, aws_kept.IDENTITY_STAYS)),
)
