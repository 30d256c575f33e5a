r"""Patterns of names and ids, with a description of each.

The patterns are exactly upstream's: every object that upstream accepts must pass. Does not import pydantic.
"""

from __future__ import annotations

from typing import Final

from freehold.api.tag_sentences import IBM_VALUE

VPC_NAME: Final = r"^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$"
VPC_ID: Final = r"^[-0-9a-z_]+$"
GATEWAY_NAME: Final = r"^([a-zA-Z]|[a-zA-Z][-_a-zA-Z0-9]*[a-zA-Z0-9])$"
COS_NAME: Final = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"
AWS_LOAD_BALANCER_NAME: Final = r"^[A-Za-z0-9]([A-Za-z0-9]{0,31}|[-A-Za-z0-9]{0,30}[A-Za-z0-9])$"
TAG_KEY: Final = r"^[A-Za-z0-9_.:-][A-Za-z0-9 _.:-]*$"
TAG_VALUE: Final = r"^[A-Za-z0-9 _.:-]*$"
PROTECTED_KEY: Final = (
    r"(?i)^\p{Z}*(aws:|eks:|(kubernetescluster|csivolumename|csivolumesnapshotname)\p{Z}*$)"
    r"|(^\p{Z}*|\.)"
    r"(freehold\.dev|x-k8s\.io|k8s\.io|kubernetes\.io|k8s\.aws|k8s\.amazonaws\.com|csi\.aws\.com|karpenter\.sh)"
    r"([/.:]|\p{Z}*$)"
)
"""A match in a key that no metadata object may touch (:mod:`freehold.tags.policy.protected`). For CEL."""
AWS_ILLEGAL: Final = r"[^\p{L}\p{Z}\p{N}_.:/=+\-@]"
"""A character that some service of AWS refuses in tags (docs/reference/metadata-compat.md#limits-and-legal-tags).

For CEL, whose regular expressions have classes of Unicode (https://github.com/google/re2/wiki/Syntax); Python's do not.
"""
DURATION: Final = r"^(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$"
"""Go's notation (https://pkg.go.dev/time#ParseDuration), without a sign."""
CONDITION_REASON: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
"""The pattern of Kubernetes; Cluster API core mirrors our reason, and its patch fails if the reason does not match.

Source: docs/reference/capi-contract.md C10.
"""
CONDITION_TYPE: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)

# RFC 3986 path and query; a slash first.
URL_PATH: Final = (
    r"^\/(([a-zA-Z0-9-._~!$&'()*+,;=:@]|%[a-fA-F0-9]{2})+(\/([a-zA-Z0-9-._~!$&'()*+,;=:@]|%[a-fA-F0-9]{2})*)*)?"
    r"(\\?([a-zA-Z0-9-._~!$&'()*+,;=:@\/?]|%[a-fA-F0-9]{2})*)?$"
)

# The names that the VPC API gives to IP protocols; numbers that have a name are left out of ``number_``.
IP_PROTOCOL: Final = (
    r"^(any|all|icmp_tcp_udp|icmp|tcp|udp|ah|esp|gre|ip_in_ip|l2tp|rsvp|sctp|vrrp|number_(?:0|2|3|5|[7-9]|1[0-6]"
    r"|1[8-9]|[2-3][0-9]|4[0-5]|4[89]|5[2-9]|[6-9][0-9]|10[0-9]|11[0-1]|11[3-4]|11[6-9]|12[0-9]|13[0-1]|13[3-9]"
    r"|1[4-9][0-9]|2[0-4][0-9]|25[0-5]))$"
)

WORDS: Final[dict[str, str]] = {
    VPC_NAME: "a VPC name has lower-case letters, digits and dashes, begins with a letter and ends with no dash",
    VPC_ID: "an id has lower-case letters, digits, dashes and underscores",
    GATEWAY_NAME: "a transit gateway's name has letters, digits, dashes and underscores, begins with a letter and "
    "ends with a letter or digit",
    COS_NAME: "a name in object storage has 3 to 63 lower-case letters, digits, dots and dashes, and begins "
    "and ends with a letter or digit",
    AWS_LOAD_BALANCER_NAME: "a load balancer's name has 1 to 32 letters, digits and dashes, and neither begins nor "
    "ends with a dash",
    TAG_KEY: "a tag's key has letters, digits, spaces and _ - . : and does not begin with a space",
    TAG_VALUE: IBM_VALUE,
    CONDITION_REASON: "a reason is one word of letters, digits and _ , : that begins with a letter",
    CONDITION_TYPE: "a condition type is one word of letters and digits, with an optional domain prefix",
    URL_PATH: "it must be the path of a URL, beginning with a slash",
    IP_PROTOCOL: "it must be any, all, icmp, tcp, udp or another protocol name of the VPC API",
}
"""Pattern -> description for messages to users."""

TAG_CHARACTERS: Final = "[^A-Za-z0-9 _.:-]"
"""A character that IBM Cloud refuses in tags."""
