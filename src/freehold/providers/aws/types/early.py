"""Rules for what can be known to be wrong in an ``AWSCluster`` or an identity when it is applied.

As :mod:`freehold.api.early`: only the API server checks them, and only what a write changes; the reconciler says the
same in a condition (:mod:`freehold.providers.aws.cluster.input`). Each refuses what upstream's webhook refuses
(https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/webhooks), or AWS wherever upstream sends it.
Those with ``oldSelf`` are the fields that upstream's webhook does not let change, the type of the load balancer that is
the endpoint, and IPv6, which upstream does not add to a cluster that is there either.
"""

from __future__ import annotations

import re
from typing import Final

from freehold.api.base import Rule
from freehold.api.early import LIST_LIMIT as LIST_LIMIT
from freehold.api.early import RANGE, spelled
from freehold.api.early import TEXT_LIMIT as TEXT_LIMIT
from freehold.providers.aws.api_names import AWS_TAG_PREFIX, AWS_USER_TAG_LIMIT

_RANGE_6 = "[0-9a-fA-F:.]+/(12[0-8]|1[01][0-9]|[1-9]?[0-9])"
_DURATION = "(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+|0"
_PLACE = "[a-z0-9]+(-[a-z0-9]+)+"
_COMPASS = "(north|south|east|west|central|northeast|northwest|southeast|southwest)"
REGION: Final = f"[a-z]{{2,4}}(-[a-z]{{2,4}})?-{_COMPASS}-[0-9]{{1,2}}"
"""Every region of botocore's list fits, and new ones will: a country or continent, a point of the compass, a number."""
DEFAULT_VPC_RANGE: Final = "10.0.0.0/16"
"""Of a VPC that is created, where the spec gives none."""
_NO_RANGE = "it is not an IPv4 range; write one like 10.0.0.0/16"
_NO_RANGE_6 = "it is not an IPv6 range; write one like 2600:1f14:e08:7400::/56"


def _none_of(fields: str) -> str:
    """The expression that no list of those names has an entry."""
    return " && ".join(f"(!has(self.{field}) || size(self.{field}) == 0)" for field in fields.split())


def _ranges(field: str, pattern: str, message: str) -> Rule:
    """The rule that every text of a list has the form ``pattern``."""
    return Rule(f"!has(self.{field}) || self.{field}.all(c, c.matches('^({pattern})$'))", message, field=f".{field}")


def _stays(field: str, message: str) -> Rule:
    """The rule that a field has, or lacks, the value that it had."""
    same = f"(!has(self.{field}) || self.{field} == oldSelf.{field})"
    return Rule(f"has(self.{field}) == has(oldSelf.{field}) && {same}", message, field=f".{field}")


# --- ingress rules -----------------------------------------------------------------------------

_GROUPS = "sourceSecurityGroupIds sourceSecurityGroupRoles"
_BLOCKS = "cidrBlocks ipv6CidrBlocks"
INGRESS_SOURCES: Final = (
    Rule(
        f"!has(self.natGatewaysIPsSource) || !self.natGatewaysIPsSource || ({_none_of(f'{_BLOCKS} {_GROUPS}')})",
        "natGatewaysIPsSource is a source by itself; remove the ranges and security groups, or write a second rule",
    ),
    Rule(
        f"({_none_of(_BLOCKS)}) || ({_none_of(_GROUPS)})",
        "a rule has ranges or security groups as its source, not both; write two rules",
    ),
)

# --- the VPC and its subnets -------------------------------------------------------------------

CARRIER_GATEWAY: Final = Rule("self.startsWith('cagw-')", "the id of a carrier gateway begins with cagw-")
FALLBACK_ORDER: Final = Rule("self in ['none', 'amazon-pool']", "write none or amazon-pool")
ADDRESS_POOL: Final = (
    Rule(
        "has(self.publicIpv4Pool) == has(self.publicIpv4PoolFallbackOrder)",
        "publicIpv4Pool and publicIpv4PoolFallbackOrder need each other; set both or none",
    ),
    spelled("publicIpv4Pool", "ipv4pool-ec2-.*", "the id of a public pool begins with ipv4pool-ec2-"),
)
IPV6_RANGE: Final = (
    spelled("cidrBlock", _RANGE_6, _NO_RANGE_6),
    Rule(
        "!has(self.cidrBlock) || self.cidrBlock == '' || has(self.poolId)",
        "a range of your own needs its pool; set poolId, or remove cidrBlock to get a range from Amazon",
        field=".cidrBlock",
    ),
    Rule(
        "!has(self.ipamPool) || !(has(self.cidrBlock) || has(self.poolId))",
        "ipamPool chooses the range; remove cidrBlock and poolId",
        field=".ipamPool",
    ),
)
SECONDARY_RANGE: Final = spelled("ipv4CidrBlock", RANGE, _NO_RANGE)
VPC_RULES: Final = (
    spelled("cidrBlock", RANGE, _NO_RANGE),
    spelled("id", "vpc-[0-9a-f]{8,17}", "the id of a VPC is written like vpc-0123456789abcdef0"),
    Rule(
        "!has(self.ipamPool) || !has(self.cidrBlock) || self.cidrBlock == ''",
        "ipamPool chooses the range; remove cidrBlock",
        field=".ipamPool",
    ),
    Rule(
        "!has(self.ipamPool) || has(self.ipamPool.id) || has(self.ipamPool.name)",
        "give the pool's id or its name",
        field=".ipamPool",
    ),
)
SUBNET_RULES: Final = (
    spelled("cidrBlock", RANGE, _NO_RANGE),
    spelled("ipv6CidrBlock", _RANGE_6, _NO_RANGE_6),
    spelled("availabilityZone", _PLACE, "a zone is written in lower-case letters, digits and dashes, like us-east-1a"),
    Rule(
        "!has(self.zoneType) || self.zoneType == 'availability-zone' || has(self.parentZoneName)",
        "a local or Wavelength zone belongs to another one; set parentZoneName",
    ),
)

# --- load balancers ----------------------------------------------------------------------------

_TYPE_STAYS = "a load balancer cannot be disabled or enabled later"
_DISABLED = "self.loadBalancerType != 'disabled'"
_UNUSED = "subnets additionalSecurityGroups additionalListeners ingressRules"
_FLAGS = "crossZoneLoadBalancing preserveClientIP disableHostsRewrite"
LOAD_BALANCER_RULES: Final = (
    Rule(
        "!(self.loadBalancerType in ['alb', 'elb'])",
        "only classic and network load balancers pass TCP to an API server; write nlb or classic",
        field=".loadBalancerType",
    ),
    *(
        Rule(f"{_DISABLED} || !has(self.{field})", "there is no load balancer; remove it", field=f".{field}")
        for field in ("name", "healthCheckProtocol")
    ),
    *(
        Rule(f"{_DISABLED} || ({_none_of(field)})", "there is no load balancer; remove it", field=f".{field}")
        for field in _UNUSED.split()
    ),
    *(
        Rule(
            f"{_DISABLED} || !has(self.{field}) || !self.{field}",
            "there is no load balancer; remove it",
            field=f".{field}",
        )
        for field in _FLAGS.split()
    ),
    Rule(
        "self.loadBalancerType == 'nlb' || !has(self.targetGroupIPType)",
        "only a network load balancer has target groups; remove it",
        field=".targetGroupIPType",
    ),
    Rule(
        "!has(self.healthCheckProtocol) || self.healthCheckProtocol in ['TCP', 'HTTP', 'HTTPS'] || "
        "(self.healthCheckProtocol == 'SSL' && self.loadBalancerType == 'classic')",
        "health checks use TCP, HTTP or HTTPS, of a classic load balancer also SSL",
        field=".healthCheckProtocol",
    ),
)
_BALANCER_STAYS: Final = (
    Rule("self.scheme == oldSelf.scheme", "the scheme of a load balancer cannot change", field=".scheme"),
    Rule(
        "(self.loadBalancerType == 'disabled') == (oldSelf.loadBalancerType == 'disabled')",
        _TYPE_STAYS,
        field=".loadBalancerType",
    ),
    _stays("name", "the name of a load balancer cannot change"),
    Rule(
        "oldSelf.loadBalancerType == 'classic' || (has(self.healthCheckProtocol) == has(oldSelf.healthCheckProtocol) "
        "&& (!has(self.healthCheckProtocol) || self.healthCheckProtocol == oldSelf.healthCheckProtocol))",
        "the health check protocol of a network load balancer cannot change",
        field=".healthCheckProtocol",
    ),
    _stays("targetGroupIPType", "the address family of a target group cannot change"),
)

# --- the cluster -------------------------------------------------------------------------------

_FIRST = "self.controlPlaneLoadBalancer"
_SECOND = "self.secondaryControlPlaneLoadBalancer"
_OLD_FIRST = "oldSelf.controlPlaneLoadBalancer"
_OLD_VPC = "has(oldSelf.network) && has(oldSelf.network.vpc) && has(oldSelf.network.vpc.id)"
_HOST = "oldSelf.controlPlaneEndpoint.host"
_AWS_NAME = f"{_HOST}.contains('.elb.') && {_HOST}.contains('.amazonaws.com')"
_AWS_ENDPOINT = f"has(oldSelf.controlPlaneEndpoint) && has({_HOST}) && {_AWS_NAME}"
_VPC = "has(self.network) && has(self.network.vpc) && has(self.network.vpc.id)"


def _endpoint_stays(field: str, unset: str) -> Rule:
    """The rule that a part of the endpoint does not change once it is set.

    A port without a host is no endpoint: the load balancer's own port comes in its place.
    """
    endpoint, old = "self.controlPlaneEndpoint", "oldSelf.controlPlaneEndpoint"
    was = f"has({old}) && has({old}.host) && {old}.host != '' && has({old}.{field}) && {old}.{field} != {unset}"
    same = f"has({endpoint}) && has({endpoint}.{field}) && {endpoint}.{field} == {old}.{field}"
    return Rule(f"!({was}) || ({same})", "the endpoint of a cluster cannot change", field=".controlPlaneEndpoint")


def _type(balancer: str) -> str:
    """The type of a load balancer, also where the field is left out."""
    return f"(has({balancer}) ? {balancer}.loadBalancerType : 'classic')"


def _second(holds: str, message: str, field: str) -> Rule:
    return Rule(f"!has({_SECOND}) || ({holds})", message, field=f".secondaryControlPlaneLoadBalancer.{field}")


CLUSTER_RULES: Final = (
    spelled("region", REGION, "AWS has no region of that name; write one like eu-central-1"),
    _second(f"has({_SECOND}.name) && {_SECOND}.name != ''", "the second load balancer needs a name", "name"),
    _second(
        f"!has({_SECOND}.name) || !has({_FIRST}) || !has({_FIRST}.name) || {_SECOND}.name != {_FIRST}.name",
        "the two load balancers have the same name; change one",
        "name",
    ),
    _second(
        f"{_SECOND}.scheme != (has({_FIRST}) ? {_FIRST}.scheme : 'internet-facing')",
        "the two load balancers must have different schemes; one is internet-facing, the other internal",
        "scheme",
    ),
    _second(f"{_SECOND}.loadBalancerType == 'nlb'", "the second load balancer must be of type nlb", "loadBalancerType"),
)


_CLUSTER_STAYS: Final = (
    _endpoint_stays("host", "''"),
    _endpoint_stays("port", "0"),
    Rule(
        # Taken out it may be: one that was written by mistake is. Whether it was is not known here (given_input).
        f"!({_OLD_VPC} && oldSelf.network.vpc.id != '') || !({_VPC}) || "
        "self.network.vpc.id in ['', oldSelf.network.vpc.id]",
        "the VPC of a cluster cannot change",
        field=".network",
    ),
    Rule(
        "!has(oldSelf.identityRef) || has(self.identityRef)",
        "the identity cannot be taken away: without it nobody can delete what it created; name another one",
    ),
    Rule(
        "!has(oldSelf.secondaryControlPlaneLoadBalancer) || has(self.secondaryControlPlaneLoadBalancer)",
        "the second load balancer cannot be taken away",
    ),
    Rule(
        f"!({_AWS_ENDPOINT}) || {_type(_FIRST)} == {_type(_OLD_FIRST)}",
        "the endpoint is the address of the load balancer that there is, so its type cannot change",
        field=".controlPlaneLoadBalancer.loadBalancerType",
    ),
    Rule(
        f"has({_FIRST}) || !has({_OLD_FIRST}) || {_OLD_FIRST}.scheme == 'internet-facing'",
        "the scheme of a load balancer cannot change, and without the field it is internet-facing",
    ),
    Rule(
        f"has({_FIRST}) || !has({_OLD_FIRST}) || {_OLD_FIRST}.loadBalancerType != 'disabled'",
        f"{_TYPE_STAYS}, and without the field there is one",
    ),
    Rule(
        f"!has({_FIRST}) || has({_OLD_FIRST}) || {_FIRST}.scheme == 'internet-facing'",
        "the scheme of a load balancer cannot change, and without the field it was internet-facing",
        field=".controlPlaneLoadBalancer.scheme",
    ),
    Rule(
        f"!has({_FIRST}) || has({_OLD_FIRST}) || {_FIRST}.loadBalancerType != 'disabled'",
        f"{_TYPE_STAYS}, and without the field there was one",
        field=".controlPlaneLoadBalancer.loadBalancerType",
    ),
)


def _gives_vpc(cluster: str) -> str:
    """The expression that the spec names a VPC by its id."""
    network, vpc = f"{cluster}.spec.network", f"{cluster}.spec.network.vpc"
    return f"(has({cluster}.spec) && has({network}) && has({vpc}) && has({vpc}.id) && {vpc}.id != '')"


def _has_ipv6(cluster: str) -> str:
    """The expression that the VPC has IPv6."""
    steps = [f"{cluster}.spec", f"{cluster}.spec.network", f"{cluster}.spec.network.vpc"]
    return "(" + " && ".join(f"has({step})" for step in [*steps, f"{steps[-1]}.ipv6"]) + ")"


_BALANCER = "spec.controlPlaneLoadBalancer"


def _has_balancer(cluster: str) -> str:
    """The expression that the first load balancer is written out."""
    return f"(has({cluster}.spec) && has({cluster}.{_BALANCER}))"


def _names_balancer() -> str:
    """The expression that the one of the two specs that has the first load balancer gives it a name."""
    return f"({_has_balancer('self')} ? has(self.{_BALANCER}.name) : has(oldSelf.{_BALANCER}.name))"


_ELB = "oldSelf.status.networkStatus.apiServerElb"


def _is_there() -> str:
    """The expression that the status has the name of the first load balancer."""
    return f"(has(oldSelf.status.networkStatus) && has({_ELB}) && has({_ELB}.name))"


def _there(cluster: str) -> str:
    """The expression that the load balancer that is there has the name that the spec gives."""
    return f"(has({cluster}.{_BALANCER}.name) && {cluster}.{_BALANCER}.name == {_ELB}.name)"


def _range_of(cluster: str) -> str:
    """The expression for the range of the VPC, also where the field is left out."""
    network, vpc = f"{cluster}.spec.network", f"{cluster}.spec.network.vpc"
    has = f"has({cluster}.spec) && has({network}) && has({vpc}) && has({vpc}.cidrBlock) && {vpc}.cidrBlock != ''"
    return f"({has} ? {vpc}.cidrBlock : '{DEFAULT_VPC_RANGE}')"


_STATUS = "oldSelf.status"
_NOT_READY = f"!has({_STATUS}) || !has({_STATUS}.ready) || !{_STATUS}.ready"
# Once it has been ready, unless it is blocked: an edit that was stored before a rule existed must be possible to take
# back; the reconciler says what fits (aws_cluster/family_input.py).
_FREE = f"{_NOT_READY} || (has({_STATUS}.phase) && {_STATUS}.phase == 'Blocked')"
FAMILY_STAYS: Final = Rule(
    f"{_FREE} || {_has_ipv6('self')} == {_has_ipv6('oldSelf')}",
    "IPv6 cannot be added to the VPC of a living cluster or taken away: its load balancer and target groups keep the "
    "address family that they were made with; make another cluster",
    field=".spec.network.vpc.ipv6",
)
NAME_STAYS: Final = Rule(
    # Where one of the two has no load balancer written out; _stays compares two that are. Before the cluster is ready
    # another name is the way out of one that is taken, and a manifest is applied over a spec that was rebuilt. A spec
    # that names another one than there is may be corrected.
    f"{_FREE} || {_has_balancer('self')} == {_has_balancer('oldSelf')} || !{_names_balancer()} || "
    f"({_is_there()} && ({_has_balancer('self')} ? {_there('self')} : !{_there('oldSelf')}))",
    "the name of a living cluster's load balancer cannot change, and where the spec gives none it is the default one; "
    "write the field, or leave it out, as it was",
    field=".spec.controlPlaneLoadBalancer.name",
)
RANGE_STAYS: Final = Rule(
    # Of a given VPC it says nothing, and upstream fills it in. Once there was a VPC no other range is a way out.
    f"{_NOT_READY} || {_gives_vpc('self')} || {_gives_vpc('oldSelf')} || {_range_of('self')} == {_range_of('oldSelf')}",
    "the range of the VPC of a living cluster cannot change: AWS keeps the first one for life; write it letter for "
    "letter as it was, and more ranges into secondaryCidrBlocks",
    field=".spec.network.vpc.cidrBlock",
)
_BALANCERS = ("controlPlaneLoadBalancer", "secondaryControlPlaneLoadBalancer")
_IDENTITY = "oldSelf.status.identity"
_UNTOUCHED = f"!has({_STATUS}) || !has({_IDENTITY}) || !has({_IDENTITY}.account)"
# The status names the account, on AWS with its region, once something is on record: until then a slip of the pen may
# be corrected. A status that is lost opens nothing: the reconciler compares the account with that of its own record.


def _lifted(rule: Rule, part: str = "") -> Rule:
    """The rule for a part of the spec as one of the object, which holds only once something is on record."""
    steps = ["spec", *([f"spec.{part}"] if part else [])]
    absent = " || ".join(f"!has({cluster}.{step})" for step in steps for cluster in ("self", "oldSelf"))
    lifted = re.sub(r"\b(self|oldSelf)\.", rf"\1.{steps[-1]}.", rule.cel)
    return Rule(f"{_UNTOUCHED} || {absent} || ({lifted})", rule.message, field=f".{steps[-1]}{rule.field}")


STAYS_ONCE_ON_RECORD: Final = (
    Rule(
        f"{_UNTOUCHED} || (has(self.spec) && has(self.spec.region) && "
        f"({_IDENTITY}.account.endsWith('/' + self.spec.region) || "
        "(has(oldSelf.spec) && has(oldSelf.spec.region) && self.spec.region == oldSelf.spec.region)))",
        "the region of a cluster that has resources cannot change",
        field=".spec.region",
    ),
    *(_lifted(rule) for rule in _CLUSTER_STAYS),
    *(_lifted(rule, part) for part in _BALANCERS for rule in _BALANCER_STAYS),
)
TAG_RULES: Final = (
    Rule(
        f"size(self) <= {AWS_USER_TAG_LIMIT}",
        f"a resource has at most 50 tags, and 10 of them are not yours; remove all but {AWS_USER_TAG_LIMIT}",
    ),
    Rule("self.all(key, size(key) >= 1 && size(key) <= 128)", "a key has 1 to 128 characters"),
    Rule(
        "self.all(key, !key.matches('^[aA][wW][sS]:'))", "keys that begin with aws: are reserved by AWS; choose another"
    ),
    Rule(
        f"self.all(key, !key.startsWith('{AWS_TAG_PREFIX}'))",
        f"keys that begin with {AWS_TAG_PREFIX} are reserved for ownership tags; choose another",
    ),
    Rule(
        "self.all(key, key.matches('^[a-zA-Z0-9 _.:/=+@-]*$') && self[key].matches('^[a-zA-Z0-9 _.:/=+@-]*$'))",
        "keys and values have letters, digits, spaces and _ . : / = + - @",
    ),
)
NETWORK_RULES: Final = (_ranges("nodePortIngressRuleCidrBlocks", RANGE, _NO_RANGE),)
BASTION_RULES: Final = (
    _ranges(
        "allowedCIDRBlocks", f"{RANGE}|{_RANGE_6}", "it is not a range; write ones like 192.0.2.0/24 or 2001:db8::/64"
    ),
    Rule(
        f"!has(self.disableIngressRules) || !self.disableIngressRules || ({_none_of('allowedCIDRBlocks')})",
        "with disableIngressRules nobody may reach the bastion; remove one of the two",
        field=".allowedCIDRBlocks",
    ),
)

BUCKET_RULES: Final = (
    spelled("presignedURLDuration", _DURATION, "it is not a duration; write one like 30m or 24h0m0s"),
)

# --- identities --------------------------------------------------------------------------------

STATIC_IDENTITY_RULES: Final = (
    Rule("self.secretRef == oldSelf.secretRef", "it cannot change; make another identity", field=".secretRef"),
)
ROLE_IDENTITY_RULES: Final = (
    Rule(
        "has(self.sourceIdentityRef)",
        "a role is assumed by somebody: name an identity in sourceIdentityRef, most often AWSClusterControllerIdentity "
        "default",
    ),
)
NOT_ITS_OWN_SOURCE: Final = Rule(
    "!has(self.spec) || !has(self.spec.sourceIdentityRef) || "
    "self.spec.sourceIdentityRef.kind != 'AWSClusterRoleIdentity' || "
    "self.spec.sourceIdentityRef.name != self.metadata.name",
    "a role cannot assume itself; name another identity",
    field=".spec.sourceIdentityRef",
)
CALLED_DEFAULT: Final = Rule(
    "self.metadata.name == 'default'", "there is one AWSClusterControllerIdentity, and it is called default"
)
CONTROLLER_IDENTITY_STAYS: Final = Rule("self == oldSelf", "it cannot change; delete it and create it anew")
LABEL_OPERATOR: Final = Rule(
    "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : "
    "self.operator in ['Exists', 'DoesNotExist'] && (!has(self.values) || size(self.values) == 0)",
    "the operator is In or NotIn with values, or Exists or DoesNotExist without",
)
