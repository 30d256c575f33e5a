"""The rules of ``IBMPowerVSCluster`` (:mod:`freehold.api.rules`).

The reconciler is stricter about names, and knows which zones and regions there are
(:mod:`freehold.providers.ibm.powervs.spec_checks`).
"""

from __future__ import annotations

from typing import Final

from freehold.api.base import ApiRule
from freehold.api.rules import (
    ADDRESS,
    RANGE,
    Format,
    reconciler_only,
    require,
    require_format,
    require_unique,
    schema_only,
)

_PLACE = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SPELLED = "is written in lower-case letters, digits and dashes, for example"
_ZONE = Format(_PLACE, f"a zone {_SPELLED} dal10 or us-south-1")
_REGION = Format(_PLACE, f"a region {_SPELLED} us-south")
_RANGE = Format(RANGE, "{it} is not an IPv4 range; write one like 192.168.10.0/24")
_DHCP_NAME = Format("[-a-zA-Z0-9]{1,100}", "a DHCP server's name has at most 100 letters, digits and dashes")
_DNS_SERVER = Format(ADDRESS, "{it} is not an IPv4 address; write one like 1.1.1.1")
_ADDRESS = Format(ADDRESS, "{it} is not an IPv4 address; write one like 192.168.10.7")


def _short(parent: str, field: str, limit: int) -> ApiRule:
    """Make the rule that the name of what is to be created fits; one that is given by id exists under its name."""
    where = f"self.{parent}"
    cel = f"!has({where}) || has({where}.id) || !has({where}.{field}) || size({where}.{field}) <= {limit}"
    return ApiRule(cel, f"IBM Cloud allows names of at most {limit} characters; shorten it", field=f".{parent}.{field}")


VPC_RULES: Final = (schema_only(require_format("region", _REGION)),)
BUCKET_RULES: Final = (schema_only(require_format("bucketRegion", _REGION)),)
SUBNET_RULES: Final = (require_format("cidr", _RANGE, unless="id"), schema_only(require_format("zone", _ZONE)))
DHCP_RULES: Final = (
    require_format("cidr", _RANGE, unless="id"),
    require_format("dnsServer", _DNS_SERVER, unless="id"),
    schema_only(require_format("name", _DHCP_NAME, unless="id")),
)
REMOTE_ADDRESS: Final = reconciler_only(require_format("address", _ADDRESS))
CLUSTER_RULES: Final = (
    schema_only(require_format("zone", _ZONE)),
    # Sources: docs/reference/ibm-cloud.md#resource-controller, docs/reference/ibm-cloud.md#powervs.
    _short("serviceInstance", "name", 180),
    _short("network", "name", 128),
    require_unique("vpcSubnets", "name", "two subnets have the same name; rename one"),
    require_unique("vpcSubnets", "id", "two subnets have the same id; remove one"),
    reconciler_only(require_unique("vpcSecurityGroups", "name", "two security groups have the same name")),
    reconciler_only(require_unique("vpcSecurityGroups", "id", "two security groups have the same id")),
    require_unique("loadBalancers", "name", "two load balancers have the same name; rename one"),
    require_unique("loadBalancers", "id", "two load balancers have the same id; remove one"),
    require(
        "size(self) == 0 || self.exists(b, b.public)",
        "at least one load balancer must be public, for the API server; set public: true on one",
        lambda balancers: not balancers or any(each.public for each in balancers),
        of="loadBalancers",
    ),
    ApiRule(
        "self.all(a, self.exists_one(b, a.key.lowerAscii() == b.key.lowerAscii() && "
        "(has(a.value) ? a.value.lowerAscii() : '') == (has(b.value) ? b.value.lowerAscii() : '')))",
        "two tags are equal, and IBM Cloud ignores upper and lower case; remove one",
        of="tags",
    ),
)
