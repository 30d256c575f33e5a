"""DHCP options: the default set of a region, which every VPC has.

https://docs.aws.amazon.com/vpc/latest/userguide/DHCPOptionSetConcepts.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads
from freehold_sim.aws.ec2.describing import matching, paged_rows
from freehold_sim.aws.ec2.interfaces import domain
from freehold_sim.aws.ec2.resources import DHCP_OPTIONS

DEFAULT_ID = "dopt-0123456789abcdef0"


def describe(call: Call) -> dict[str, Any]:
    view = {
        "DhcpOptionsId": DEFAULT_ID, "OwnerId": call.account, "Tags": [],
        "DhcpConfigurations": [
            {"Key": "domain-name", "Values": [{"Value": domain(call.region)}]},
            {"Key": "domain-name-servers", "Values": [{"Value": "AmazonProvidedDNS"}]},
        ],
    }  # fmt: skip
    for ident in call.params.get("DhcpOptionsIds", []):
        if not ident.startswith(f"{DHCP_OPTIONS.prefix}-"):
            raise Refused(DHCP_OPTIONS.malformed, f'Invalid id: "{ident}" (expecting "dopt-...")')
        if ident != DEFAULT_ID:
            raise Refused(DHCP_OPTIONS.not_found, f"The {DHCP_OPTIONS.noun} '{ident}' does not exist")
    page, more = paged_rows(call, matching(call, [({"serial": 1, "tags": {}}, view)], DHCP_OPTIONS.filters))
    return {"DhcpOptions": [row for _, row in page], **({"NextToken": more} if more else {})}


OPERATIONS: tuple[Operation, ...] = (
    reads("DescribeDhcpOptions", describe, "DhcpOptionsIds Filters MaxResults NextToken"),
)
