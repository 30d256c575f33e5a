"""Rules for what can be known to be wrong before the cloud is asked, so that ``--dry-run=server`` tells.

Only the API server checks them, at apply time, and only what a write changes
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting):
an object stored before a rule existed is parsed as it was, and the reconciler says the same in a condition. Each
rule refuses what upstream's webhook refuses, or what IBM Cloud refuses wherever upstream sends it, so every manifest
that makes a cluster upstream is accepted. The bounds keep the rules within the API server's budget
(docs/reference/kubernetes.md#crd-schemas); they are above IBM Cloud's quotas.
"""

from __future__ import annotations

from typing import Final

from freehold.api.base import Rule

LIST_LIMIT: Final = 250
"""Subnets, load balancers and security groups of one cluster: a VPC has quotas of 100 and fewer of each.

Source: https://cloud.ibm.com/docs/vpc?topic=vpc-quotas
"""
TEXT_LIMIT: Final = 256
"""Characters of a zone, a region, an address or a range: none has a tenth of it."""

_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_ADDRESS = f"({_OCTET}[.]){{3}}{_OCTET}"
RANGE = f"{_ADDRESS}/(3[0-2]|[12]?[0-9])"
_PLACE = "[a-z]([-a-z0-9]*[a-z0-9])?"


def spelled(field: str, pattern: str, message: str, *, unless: str = "") -> Rule:
    """The rule that a text field is empty or has the form ``pattern``; ``unless`` names a field that makes it idle."""
    idle = f"has(self.{unless}) || " if unless else ""
    return Rule(f"{idle}!has(self.{field}) || self.{field}.matches('^({pattern})?$')", message, field=f".{field}")


def unique(field: str, message: str) -> Rule:
    """The rule that no two items of a list have the same ``field``."""
    cel = f"self.all(a, !has(a.{field}) || self.exists_one(b, has(b.{field}) && b.{field} == a.{field}))"
    return Rule(cel, message)


def _short(parent: str, field: str, limit: int) -> Rule:
    """The rule that the name of what is to be created fits; one that is given by id exists under its name."""
    where = f"self.{parent}"
    cel = f"!has({where}) || has({where}.id) || !has({where}.{field}) || size({where}.{field}) <= {limit}"
    return Rule(cel, f"IBM Cloud allows names of at most {limit} characters; shorten it", field=f".{parent}.{field}")


ZONE: Final = spelled(
    "zone", _PLACE, "a zone is written in lower-case letters, digits and dashes, for example dal10 or us-south-1"
)
REGION: Final = spelled(
    "region", _PLACE, "a region is written in lower-case letters, digits and dashes, for example us-south"
)
BUCKET_REGION: Final = spelled(
    "bucketRegion", _PLACE, "a region is written in lower-case letters, digits and dashes, for example us-south"
)
CIDR: Final = spelled("cidr", RANGE, "it is not an IPv4 range; write one like 192.168.10.0/24", unless="id")
DNS_SERVER: Final = spelled("dnsServer", _ADDRESS, "it is not an IPv4 address; write one like 1.1.1.1", unless="id")
DHCP_NAME: Final = spelled(
    "name", "[-a-zA-Z0-9]{1,100}", "a DHCP server's name has at most 100 letters, digits and dashes", unless="id"
)
NAME_LENGTHS: Final = (_short("serviceInstance", "name", 180), _short("network", "name", 128))
"""Sources: docs/reference/ibm-cloud.md#resource-controller, docs/reference/ibm-cloud.md#powervs."""

UNIQUE_SUBNETS: Final = (
    unique("name", "two subnets have the same name; rename one"),
    unique("id", "two subnets have the same id; remove one"),
)
UNIQUE_LOAD_BALANCERS: Final = (
    unique("name", "two load balancers have the same name; rename one"),
    unique("id", "two load balancers have the same id; remove one"),
)
ONE_PUBLIC: Final = Rule(
    "size(self) == 0 || self.exists(b, b.public)",
    "at least one load balancer must be public, for the API server; set public: true on one",
)
UNIQUE_TAGS: Final = Rule(
    "self.all(a, self.exists_one(b, a.key.lowerAscii() == b.key.lowerAscii() && "
    "(has(a.value) ? a.value.lowerAscii() : '') == (has(b.value) ? b.value.lowerAscii() : '')))",
    "two tags are equal, and IBM Cloud ignores upper and lower case; remove one",
)
