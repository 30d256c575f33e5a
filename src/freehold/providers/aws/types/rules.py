"""The rules of ``AWSCluster`` (:mod:`freehold.api.rules`); what must not change is in ``kept.py``.

What upstream's webhook refuses: https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/webhooks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Network
from typing import Any, Final

from freehold.api import patterns
from freehold.api.base import ApiRule, Broken
from freehold.api.rules import (
    RANGE,
    Format,
    none_of,
    reconciler_only,
    require,
    require_format,
    require_formats,
    schema_only,
    value_at,
)
from freehold.providers.aws.api_names import AWS_TAG_LIMIT, AWS_TAG_PREFIX, AWS_USER_TAG_LIMIT

_COMPASS = "(north|south|east|west|central|northeast|northwest|southeast|southwest)"
REGION: Final = f"[a-z]{{2,4}}(-[a-z]{{2,4}})?-{_COMPASS}-[0-9]{{1,2}}"
"""Every region of botocore's list fits, and new ones will: a country or continent, a point of the compass, a number."""
DEFAULT_VPC_RANGE: Final = "10.0.0.0/16"
"""The range of a VPC that is created, where the spec gives none."""


def _is_ipv6(text: str) -> bool:
    try:
        return bool(IPv6Network(text, strict=False))
    except ValueError:
        return False


_RANGE_6 = "[0-9a-fA-F:.]+/(12[0-8]|1[01][0-9]|[1-9]?[0-9])"
"""More than IPv6 ranges, which an expression of that length would not fit into the API server's budget."""
_IPV4 = Format(RANGE, "{it} is not an IPv4 range; write one like 10.0.0.0/16")
_IPV6 = Format(_RANGE_6, "{it} is not an IPv6 range; write one like 2600:1f14:e08:7400::/56", _is_ipv6)
_ANY_RANGE = Format(
    f"{RANGE}|{_RANGE_6}",
    "{it} is not a range; write ones like 192.0.2.0/24 or 2001:db8::/64",
    lambda text: ":" not in text or _is_ipv6(text),
)
_REGION = Format(REGION, "AWS has no region of that name; write one like eu-central-1")
_ZONE = Format("[a-z0-9]+(-[a-z0-9]+)+", "a zone is written in lower-case letters, digits and dashes, like us-east-1a")
_VPC = Format("vpc-[0-9a-f]{8,17}", "{it} is not the id of a VPC; write one like vpc-0123456789abcdef0")
_GROUP = Format("sg-.*", "{it} is not the id of a security group; write one like sg-0123456789abcdef0")
_POOL = Format("ipv4pool-ec2-.*", "the id of a public pool begins with ipv4pool-ec2-")
_GO_DURATION = patterns.DURATION[1:-1].replace("\\.", "[.]") + "|0"
_DURATION = Format(_GO_DURATION, "{it} is not a duration; write one like 30m or 24h0m0s")

# --- ingress rules -----------------------------------------------------------------------------

_GROUPS = ("sourceSecurityGroupIds", "sourceSecurityGroupRoles")
_BLOCKS = ("cidrBlocks", "ipv6CidrBlocks")


def _has_any(value: Any, fields: Iterable[str]) -> bool:
    return any(value_at(value, field) for field in fields)


INGRESS_RULES: Final = (
    require(
        f"!has(self.natGatewaysIPsSource) || !self.natGatewaysIPsSource || ({none_of(*_BLOCKS, *_GROUPS)})",
        "natGatewaysIPsSource is a source by itself; remove the ranges and security groups, or write a second rule",
        lambda rule: not (rule.nat_gateways_ips_source and (_has_any(rule, _BLOCKS) or _has_any(rule, _GROUPS))),
    ),
    require(
        f"({none_of(*_BLOCKS)}) || ({none_of(*_GROUPS)})",
        "a rule has ranges or security groups as its source, not both; write two rules",
        lambda rule: not (_has_any(rule, _BLOCKS) and _has_any(rule, _GROUPS)),
    ),
    reconciler_only(require_formats("cidrBlocks", _IPV4)),
    reconciler_only(require_formats("ipv6CidrBlocks", _IPV6)),
    reconciler_only(require_formats("sourceSecurityGroupIds", _GROUP)),
)

# --- the VPC and its subnets -------------------------------------------------------------------

# The reconciler ignores or refuses the fields of the first four (freehold.providers.aws.cluster.types.fields).
CARRIER_GATEWAY: Final = ApiRule("self.startsWith('cagw-')", "the id of a carrier gateway begins with cagw-")
FALLBACK_ORDER: Final = ApiRule("self in ['none', 'amazon-pool']", "write none or amazon-pool")
ADDRESS_POOL_RULES: Final = (
    ApiRule(
        "has(self.publicIpv4Pool) == has(self.publicIpv4PoolFallbackOrder)",
        "publicIpv4Pool and publicIpv4PoolFallbackOrder need each other; set both or none",
    ),
    schema_only(require_format("publicIpv4Pool", _POOL)),
)
IPV6_RULES: Final = (
    schema_only(require_format("cidrBlock", _IPV6)),
    ApiRule(
        "!has(self.cidrBlock) || self.cidrBlock == '' || has(self.poolId)",
        "a range of your own needs its pool; set poolId, or remove cidrBlock to get a range from Amazon",
        field=".cidrBlock",
    ),
    ApiRule(
        "!has(self.ipamPool) || !(has(self.cidrBlock) || has(self.poolId))",
        "ipamPool chooses the range; remove cidrBlock and poolId",
        field=".ipamPool",
    ),
)
SECONDARY_RANGE: Final = require_format("ipv4CidrBlock", _IPV4)
VPC_RULES: Final = (
    require_format("cidrBlock", _IPV4),
    require_format("id", _VPC),
    ApiRule(
        "!has(self.ipamPool) || !has(self.cidrBlock) || self.cidrBlock == ''",
        "ipamPool chooses the range; remove cidrBlock",
        field=".ipamPool",
    ),
    ApiRule(
        "!has(self.ipamPool) || has(self.ipamPool.id) || has(self.ipamPool.name)",
        "give the pool's id or its name",
        field=".ipamPool",
    ),
)
SUBNET_RULES: Final = (
    require_format("cidrBlock", _IPV4),
    require_format("ipv6CidrBlock", _IPV6),
    # The reconciler knows which zones there are, and serves no other type.
    schema_only(require_format("availabilityZone", _ZONE)),
    ApiRule(
        "!has(self.zoneType) || self.zoneType == 'availability-zone' || has(self.parentZoneName)",
        "a local or Wavelength zone belongs to another one; set parentZoneName",
    ),
)
NETWORK_RULES: Final = (require_formats("nodePortIngressRuleCidrBlocks", _IPV4),)

# --- load balancers ----------------------------------------------------------------------------


def _require_unused(field: str, is_unset: str) -> ApiRule:
    return require(
        f"self.loadBalancerType != 'disabled' || {is_unset}",
        "there is no load balancer; remove it",
        lambda balancer: balancer.load_balancer_type != "disabled" or not value_at(balancer, field),
        field,
    )


_LISTS = ("subnets", "additionalSecurityGroups", "additionalListeners", "ingressRules")
_FLAGS = ("crossZoneLoadBalancing", "preserveClientIP", "disableHostsRewrite")
LOAD_BALANCER_RULES: Final = (
    require(
        "!(self.loadBalancerType in ['alb', 'elb'])",
        "only classic and network load balancers pass TCP to an API server; write nlb or classic",
        lambda balancer: balancer.load_balancer_type not in ("alb", "elb"),
        "loadBalancerType",
    ),
    *(_require_unused(field, f"!has(self.{field})") for field in ("name", "healthCheckProtocol")),
    *(_require_unused(field, f"({none_of(field)})") for field in _LISTS),
    *(_require_unused(field, f"!has(self.{field}) || !self.{field}") for field in _FLAGS),
    require(
        "self.loadBalancerType == 'nlb' || !has(self.targetGroupIPType)",
        "only a network load balancer has target groups; remove it",
        lambda balancer: balancer.load_balancer_type == "nlb" or balancer.target_group_ip_type is None,
        "targetGroupIPType",
    ),
    require(
        "!has(self.healthCheckProtocol) || self.healthCheckProtocol in ['TCP', 'HTTP', 'HTTPS'] || "
        "(self.healthCheckProtocol == 'SSL' && self.loadBalancerType == 'classic')",
        "health checks use TCP, HTTP or HTTPS, of a classic load balancer also SSL; write one of them",
        lambda balancer: (
            balancer.health_check_protocol in (None, "TCP", "HTTP", "HTTPS")
            or (balancer.health_check_protocol, balancer.load_balancer_type) == ("SSL", "classic")
        ),
        "healthCheckProtocol",
    ),
    reconciler_only(require_formats("additionalSecurityGroups", _GROUP)),
)

# --- the cluster -------------------------------------------------------------------------------

FIRST, SECOND = "controlPlaneLoadBalancer", "secondaryControlPlaneLoadBalancer"


def _require_of_second(cel: str, message: str, holds: Callable[[Any, Any], bool], field: str) -> ApiRule:
    """Make a rule for the second load balancer. ``holds`` is asked of it and of the first one, None if omitted."""

    def holds_of_both(spec: Any) -> bool:
        second = value_at(spec, SECOND)
        return second is None or holds(second, value_at(spec, FIRST))

    return require(f"!has(self.{SECOND}) || ({cel})", message, holds_of_both, f"{SECOND}.{field}")


REGION_RULE: Final = schema_only(require_format("region", _REGION))
"""For the API server alone: the reconciler knows which regions there are."""
CLUSTER_RULES: Final = (
    REGION_RULE,
    # The reconciler compares names with those of load balancers without one.
    _require_of_second(
        f"has(self.{SECOND}.name) && self.{SECOND}.name != ''",
        "the second load balancer needs a name; give it one",
        lambda second, first: bool(second.name),
        "name",
    ),
    ApiRule(
        f"!has(self.{SECOND}) || !has(self.{SECOND}.name) || !has(self.{FIRST}) || !has(self.{FIRST}.name) || "
        f"self.{SECOND}.name != self.{FIRST}.name",
        "the two load balancers have the same name; change one",
        field=f".{SECOND}.name",
    ),
    _require_of_second(
        f"self.{SECOND}.scheme != (has(self.{FIRST}) ? self.{FIRST}.scheme : 'internet-facing')",
        "the two load balancers must have different schemes; one is internet-facing, the other internal",
        lambda second, first: second.scheme != (first.scheme if first else "internet-facing"),
        "scheme",
    ),
    _require_of_second(
        f"self.{SECOND}.loadBalancerType == 'nlb'",
        "the second load balancer must be of type nlb; write that",
        lambda second, first: second.load_balancer_type == "nlb",
        "loadBalancerType",
    ),
)


# --- tags --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TagRule:
    """A rule for one tag: CEL over ``key`` and ``self[key]``, and the same in Python.

    Source: docs/reference/aws.md#tags.
    """

    cel: str
    message: str
    holds: Callable[[str, str], bool]

    def require_of_all(self) -> ApiRule:
        """Make the rule that it holds for the tags of a cluster."""

        def find(tags: dict[str, str]) -> Iterable[Broken]:
            return (Broken(f"[{key}]") for key, value in tags.items() if not self.holds(key, value))

        return ApiRule(f"self.all(key, {self.cel})", self.message, of="additionalTags", find=find)


_TAG_TEXT = "[a-zA-Z0-9 _.:/=+@-]*"
"""What upstream's webhook takes, and every service. Some services take letters of other languages too."""
_LONGEST_KEY, _LONGEST_VALUE = 128, 256
AWS_TAG_RULES: Final = (
    TagRule(
        f"size(key) >= 1 && size(key) <= {_LONGEST_KEY}",
        f"a key has 1 to {_LONGEST_KEY} characters; choose another",
        lambda key, value: 1 <= len(key) <= _LONGEST_KEY,
    ),
    TagRule(
        "!key.matches('^[aA][wW][sS]:')",
        "keys that begin with aws: are reserved by AWS; choose another",
        lambda key, value: not key.lower().startswith("aws:"),
    ),
    TagRule(
        f"key.matches('^{_TAG_TEXT}$') && self[key].matches('^{_TAG_TEXT}$')",
        "keys and values have letters, digits, spaces and _ . : / = + - @; change it",
        lambda key, value: re.fullmatch(_TAG_TEXT, key + value) is not None,
    ),
)
"""The rules of AWS. The length of a value is in the schema, where the tags are a cluster's."""
VALUE_LENGTH: Final = TagRule(
    f"size(self[key]) <= {_LONGEST_VALUE}",
    f"a value has at most {_LONGEST_VALUE} characters; shorten it",
    lambda key, value: len(value) <= _LONGEST_VALUE,
)


def aws_tag_problems(key: str, value: str) -> Iterator[str]:
    """Yield why AWS refuses a tag, and what to do about it."""
    yield from (rule.message for rule in (*AWS_TAG_RULES, VALUE_LENGTH) if not rule.holds(key, value))


OWNERSHIP_PREFIX: Final = TagRule(
    f"!key.startsWith('{AWS_TAG_PREFIX}')",
    f"keys that begin with {AWS_TAG_PREFIX} are reserved for ownership tags; choose another",
    lambda key, value: not key.startswith(AWS_TAG_PREFIX),
)
TOO_MANY_TAGS: Final = (
    f"a resource has at most {AWS_TAG_LIMIT} tags, and {AWS_TAG_LIMIT - AWS_USER_TAG_LIMIT} of them are not yours; "
    f"remove all but {AWS_USER_TAG_LIMIT}"
)
TAG_RULES: Final = (
    require(
        f"size(self) <= {AWS_USER_TAG_LIMIT}",
        TOO_MANY_TAGS,
        lambda tags: len(tags) <= AWS_USER_TAG_LIMIT,
        of="additionalTags",
    ),
    *(rule.require_of_all() for rule in (*AWS_TAG_RULES, OWNERSHIP_PREFIX)),
)

# --- bastion, bucket ---------------------------------------------------------------------------

BASTION_RULES: Final = (
    require_formats("allowedCIDRBlocks", _ANY_RANGE),
    require(
        f"!has(self.disableIngressRules) || !self.disableIngressRules || ({none_of('allowedCIDRBlocks')})",
        "with disableIngressRules nobody may reach the bastion; remove one of the two",
        lambda bastion: not (bastion.disable_ingress_rules and bastion.allowed_cidr_blocks),
        "allowedCIDRBlocks",
    ),
)
BUCKET_RULES: Final = (require_format("presignedURLDuration", _DURATION),)
