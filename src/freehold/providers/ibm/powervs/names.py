"""What IBM Cloud allows as a name, and the default names.

The default names are those of docs/reference/requirements.md I12, I14, I16, I17, I19, I20 and of upstream
(docs/reference/ibm-cloud.md#capibm).

A default name is always legal: a cluster name that is too long, or has what the cloud refuses (a dot, a
leading digit: legal in Kubernetes), is mapped, with a hash of the whole name, so that two clusters never
share one. A name that the user wrote is never changed: an illegal one is a problem.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from freehold.providers.ibm import names as ibm


@dataclass(frozen=True)
class NameRule:
    """What one family of names allows. ``words`` says it to a person; ``foreign`` matches what must go."""

    limit: int
    pattern: re.Pattern[str]
    foreign: re.Pattern[str]
    words: str
    letter_first: bool = False
    least: int = 1

    def legal(self, name: str) -> bool:
        return self.least <= len(name) <= self.limit and self.pattern.fullmatch(name) is not None

    def validation_error(self, name: str) -> str:
        """Say why the cloud refuses ``name``, and what to do; empty when it does not."""
        if len(name) > self.limit:
            return f"the name has {len(name)} characters, IBM Cloud allows {self.limit}; shorten it"
        if len(name) < self.least:
            return f"the name {name!r} is too short, IBM Cloud wants at least {self.least} characters; lengthen it"
        if not self.legal(name):
            return f"IBM Cloud refuses the name {name!r}; use {self.words}"
        return ""


VPC = NameRule(
    ibm.VPC,
    re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?"),
    re.compile(r"[^-a-z0-9]"),
    "lower-case letters, digits and dashes, a letter first and no dash last",
    letter_first=True,
)
"""VPCs, subnets, security groups, load balancers (docs/reference/ibm-cloud.md#vpc)."""

GATEWAY = NameRule(
    ibm.TRANSIT,
    re.compile(r"[a-zA-Z]([-_a-zA-Z0-9]*[a-zA-Z0-9])?"),
    re.compile(r"[^-_a-zA-Z0-9]"),
    "letters, digits, dashes and underscores, a letter first and a letter or digit last",
    letter_first=True,
)
"""Transit gateways. The SDK says 60 and Terraform 63: the shorter one is safe.

Source: docs/reference/ibm-cloud.md#transit-gateway.
"""

INSTANCE = NameRule(
    ibm.INSTANCE,
    re.compile(r"[-A-Za-z0-9 ._:]+"),
    re.compile(r"[^-A-Za-z0-9 ._:]"),
    "letters, digits, spaces and any of - . _ :",
)
"""Instances of the Resource Controller: workspaces, object storage.

Source: docs/reference/ibm-cloud.md#resource-controller.
"""

DHCP = NameRule(
    ibm.DHCP,
    re.compile(r"[-a-zA-Z0-9]+"),
    re.compile(r"[^-a-zA-Z0-9]"),
    "letters, digits and dashes",
)
"""DHCP servers: the network's name, which holds this one, has 128 characters at most.

Source: docs/reference/ibm-cloud.md#powervs.
"""

NETWORK = NameRule(
    128,
    re.compile(r"[-_a-zA-Z0-9]+"),
    re.compile(r"[^-_a-zA-Z0-9]"),
    "letters, digits, dashes and underscores",
)

BUCKET = NameRule(
    63,
    re.compile(r"[a-z0-9][-.a-z0-9]*[a-z0-9]"),
    re.compile(r"[^-.a-z0-9]"),
    "3 to 63 lower-case letters, digits, dots and dashes, a letter or digit first and last",
    least=3,
)


def default_name(cluster: str, suffix: str, rule: NameRule) -> str:
    """Spell ``<cluster><suffix>`` as ``rule`` allows it: the suffix is kept, what was changed is hashed."""
    plain = cluster + suffix
    if rule.legal(plain):
        return plain
    ending = "-" + hashlib.sha256(cluster.encode()).hexdigest()[:8] + rule.foreign.sub("-", suffix)
    base = rule.foreign.sub("-", cluster)
    if rule.letter_first and not base[:1].isalpha():
        base = "c-" + base
    return base[: rule.limit - len(ending)].rstrip("-._ :") + ending


def needs_mapped_names(cluster: str) -> bool:
    """Return whether the default names cannot all be spelled as ``<cluster><suffix>``."""
    longest = "-vpcsubnet-" + "x" * len("us-south-1")
    return not VPC.legal(cluster + longest)


network_of = ibm.network_of


def dhcp_of(network: str) -> str:
    """Return the DHCP server that makes ``network``: the one within its name, else of its name."""
    inner = ibm.dhcp_of(network)
    return inner if inner and network_of(inner) == network else network


@dataclass(frozen=True)
class PowerVSNames:
    """The default names for one object."""

    cluster: str

    @property
    def workspace(self) -> str:
        return default_name(self.cluster, "-serviceInstance", INSTANCE)

    @property
    def dhcp(self) -> str:
        return default_name(self.cluster, "", DHCP)

    @property
    def vpc(self) -> str:
        return default_name(self.cluster, "-vpc", VPC)

    def subnet(self, label: str) -> str:
        """Return the default name. ``label`` is the zone, or the index of an unnamed subnet."""
        return default_name(self.cluster, f"-vpcsubnet-{label}", VPC)

    @property
    def transit_gateway(self) -> str:
        return default_name(self.cluster, "-transitgateway", GATEWAY)

    def load_balancer(self, index: str = "") -> str:
        """Return the default name. ``index`` is empty for the one that is created when the list is omitted."""
        return default_name(self.cluster, "-loadbalancer" + (f"-{index}" if index else ""), VPC)

    @property
    def cos_instance(self) -> str:
        return default_name(self.cluster, "-cosinstance", INSTANCE)

    @property
    def cos_bucket(self) -> str:
        return default_name(self.cluster, "-cosbucket", BUCKET)


def connection_name(gateway: str, end: str) -> str:
    """Return the default name of a connection. ``end`` is ``vpc`` or ``pvs``."""
    return default_name(gateway, f"-{end}-con", GATEWAY)
