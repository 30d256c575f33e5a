"""The rules of ``AWSCluster`` that compare with the earlier object, for the API server alone.

They keep the fields that upstream's webhook does not let change, the type of the load balancer that is the endpoint,
and IPv6, which upstream does not add to a cluster that is there either. A status that is lost opens nothing: the
reconciler compares with its own record.
"""

from __future__ import annotations

import re
from typing import Final

from freehold.api.base import ApiRule
from freehold.api.rules import absent, present, require_kept
from freehold.providers.aws.types.rules import DEFAULT_VPC_RANGE, FIRST, SECOND

_NOW, _OLD = f"self.{FIRST}", f"oldSelf.{FIRST}"
_SCHEME_STAYS = "the scheme of a load balancer cannot change"
_TYPE_STAYS = "a load balancer cannot be disabled or enabled later"
_HOST = "oldSelf.controlPlaneEndpoint.host"
_AWS_ENDPOINT = f"{present(_HOST)} && {_HOST}.contains('.elb.') && {_HOST}.contains('.amazonaws.com')"
_BALANCER_STAYS: Final = (
    ApiRule("self.scheme == oldSelf.scheme", _SCHEME_STAYS, field=".scheme"),
    ApiRule(
        "(self.loadBalancerType == 'disabled') == (oldSelf.loadBalancerType == 'disabled')",
        _TYPE_STAYS,
        field=".loadBalancerType",
    ),
    require_kept("name", "the name of a load balancer cannot change"),
    ApiRule(
        "oldSelf.loadBalancerType == 'classic' || (has(self.healthCheckProtocol) == has(oldSelf.healthCheckProtocol) "
        "&& (!has(self.healthCheckProtocol) || self.healthCheckProtocol == oldSelf.healthCheckProtocol))",
        "the health check protocol of a network load balancer cannot change",
        field=".healthCheckProtocol",
    ),
    require_kept("targetGroupIPType", "the address family of a target group cannot change"),
)


def _require_endpoint_kept(field: str, unset: str) -> ApiRule:
    """Make the rule that a part of the endpoint does not change once it is set.

    A port without a host is no endpoint: the load balancer's own port comes in its place.
    """
    now, old = f"self.controlPlaneEndpoint.{field}", f"oldSelf.controlPlaneEndpoint.{field}"
    was = f"{present(_HOST)} && {_HOST} != '' && has({old}) && {old} != {unset}"
    return ApiRule(
        f"!({was}) || ({present(now)} && {now} == {old})",
        "the endpoint of a cluster cannot change",
        field=".controlPlaneEndpoint",
    )


def _type_of(balancer: str) -> str:
    """Return the expression for the type of a load balancer, also where the field is left out."""
    return f"(has({balancer}) ? {balancer}.loadBalancerType : 'classic')"


def _require_default_kept(field: str, usual: str, message: str, ending: str) -> tuple[ApiRule, ...]:
    """Make the rules for a field whose load balancer is written out in one of the two specs alone."""
    gone, new = (f"{message}, and without the field {ending.format(verb)}" for verb in ("is", "was"))
    return (
        ApiRule(f"has({_NOW}) || !has({_OLD}) || {_OLD}.{field} {usual}", gone),
        ApiRule(f"!has({_NOW}) || has({_OLD}) || {_NOW}.{field} {usual}", new, field=f".{FIRST}.{field}"),
    )


_VPC, _OLD_VPC = "self.network.vpc.id", "oldSelf.network.vpc.id"
VPC_STAYS: Final = ApiRule(
    # Taken out it may be: one that was written by mistake is. Whether it was is not known here (given_checks).
    f"!({present(_OLD_VPC)} && {_OLD_VPC} != '') || !({present(_VPC)}) || {_VPC} in ['', {_OLD_VPC}]",
    "the VPC of a cluster cannot change",
    field=".network",
)
IDENTITY_STAYS: Final = ApiRule(
    "!has(oldSelf.identityRef) || has(self.identityRef)",
    "the identity cannot be taken away: without it nobody can delete what it created; name another one",
)
_CLUSTER_STAYS: Final = (
    _require_endpoint_kept("host", "''"),
    _require_endpoint_kept("port", "0"),
    VPC_STAYS,
    IDENTITY_STAYS,
    ApiRule(
        f"!has(oldSelf.{SECOND}) || has(self.{SECOND})",
        "the second load balancer cannot be taken away",
    ),
    ApiRule(
        f"!({_AWS_ENDPOINT}) || {_type_of(_NOW)} == {_type_of(_OLD)}",
        "the endpoint is the address of the load balancer that there is, so its type cannot change",
        field=f".{FIRST}.loadBalancerType",
    ),
    *_require_default_kept(
        "scheme", "== 'internet-facing'", "the scheme of a load balancer cannot change", "it {} internet-facing"
    ),
    *_require_default_kept("loadBalancerType", "!= 'disabled'", _TYPE_STAYS, "there {} one"),
)

_STATUS = "oldSelf.status"
_NOT_READY = f"{absent(f'{_STATUS}.ready')} || !{_STATUS}.ready"
NOT_SETTLED: Final = f"{_NOT_READY} || (has({_STATUS}.phase) && {_STATUS}.phase == 'Blocked')"
"""The expression for a cluster that has not been ready, or is blocked: an edit that was stored must be possible to take
back, and what there can be no cluster with to correct. The reconciler says what fits."""


def _gives_vpc(cluster: str) -> str:
    """Return the expression that the spec names a VPC by its id."""
    ident = f"{cluster}.spec.network.vpc.id"
    return f"({present(ident)} && {ident} != '')"


def _range_of(cluster: str) -> str:
    """Return the expression for the range of the VPC, also where the field is left out."""
    block = f"{cluster}.spec.network.vpc.cidrBlock"
    return f"({present(block)} && {block} != '' ? {block} : '{DEFAULT_VPC_RANGE}')"


def _require_name_kept() -> ApiRule:
    """Make the rule that a name is kept where one of the two specs has no load balancer written out.

    ``_BALANCER_STAYS`` compares two that have. Before the cluster is ready another name is the way out of one that is
    taken, and a manifest is applied over a spec that was rebuilt. A spec that names another one than there is may be
    corrected.
    """
    new, old, there = f"self.spec.{FIRST}", f"oldSelf.spec.{FIRST}", f"{_STATUS}.networkStatus.apiServerElb"
    has_new, has_old = f"({present(new)})", f"({present(old)})"
    names_one = f"({has_new} ? has({new}.name) : has({old}.name))"
    is_there = " && ".join(f"has({each})" for each in (f"{_STATUS}.networkStatus", there, f"{there}.name"))
    new_fits, old_fits = (f"(has({each}.name) && {each}.name == {there}.name)" for each in (new, old))
    return ApiRule(
        f"{NOT_SETTLED} || {has_new} == {has_old} || !{names_one} || "
        f"(({is_there}) && ({has_new} ? {new_fits} : !{old_fits}))",
        "the name of a living cluster's load balancer cannot change, and where the spec gives none it is the default "
        "one; write the field, or leave it out, as it was",
        field=f".spec.{FIRST}.name",
    )


_HAS_IPV6, _HAD_IPV6 = (f"({present(f'{cluster}.spec.network.vpc.ipv6')})" for cluster in ("self", "oldSelf"))
_LIVING_STAYS: Final = (
    ApiRule(
        f"{NOT_SETTLED} || {_HAS_IPV6} == {_HAD_IPV6}",
        "IPv6 cannot be added to the VPC of a living cluster or taken away: its load balancer and target groups keep "
        "the address family that they were made with; make another cluster",
        field=".spec.network.vpc.ipv6",
    ),
    _require_name_kept(),
    ApiRule(
        # Of a given VPC it says nothing, and upstream fills it in. Once there was a VPC no other range is a way out.
        f"{_NOT_READY} || {_gives_vpc('self')} || {_gives_vpc('oldSelf')} || "
        f"{_range_of('self')} == {_range_of('oldSelf')}",
        "the range of the VPC of a living cluster cannot change: AWS keeps the first one for life; write it letter for "
        "letter as it was, and more ranges into secondaryCidrBlocks",
        field=".spec.network.vpc.cidrBlock",
    ),
)
_IDENTITY = "oldSelf.status.identity"
_UNTOUCHED = absent(f"{_IDENTITY}.account")
# The status names the account, on AWS with its region, once something is on record: until then a slip of the pen may
# be corrected. A status that is lost opens nothing: the reconciler compares the account with that of its own record.


def lift(rule: ApiRule, part: str = "") -> ApiRule:
    """Make a rule for a part of the spec one of the object, which holds only once something is on record."""
    steps = ["spec", *([f"spec.{part}"] if part else [])]
    unset = " || ".join(f"!has({cluster}.{step})" for step in steps for cluster in ("self", "oldSelf"))
    lifted = re.sub(r"\b(self|oldSelf)\.", rf"\1.{steps[-1]}.", rule.cel)
    return ApiRule(f"{_UNTOUCHED} || {unset} || ({lifted})", rule.message, field=f".{steps[-1]}{rule.field}")


REGION_STAYS: Final = ApiRule(
    f"{_UNTOUCHED} || (has(self.spec) && has(self.spec.region) && "
    f"({_IDENTITY}.account.endsWith('/' + self.spec.region) || "
    "(has(oldSelf.spec) && has(oldSelf.spec.region) && self.spec.region == oldSelf.spec.region)))",
    "the region of a cluster that has resources cannot change",
    field=".spec.region",
)
OBJECT_RULES: Final = (
    *_LIVING_STAYS,
    REGION_STAYS,
    *(lift(rule) for rule in _CLUSTER_STAYS),
    *(lift(rule, part) for part in (FIRST, SECOND) for rule in _BALANCER_STAYS),
)
