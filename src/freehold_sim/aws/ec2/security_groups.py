"""Security groups. Their rules are in security_group_rules.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSecurityGroup.html
"""

import re
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.ec2 import security_group_rules as rules
from freehold_sim.aws.ec2.describing import matching, paged_rows
from freehold_sim.aws.ec2.kinds import arn_of, create, dependency, find, full, show, tags_for
from freehold_sim.aws.ec2.resources import SECURITY_GROUP, VPC
from freehold_sim.aws.world import Record

_LEGAL = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{1,255}")


def create_default(call: Call, vpc: Record) -> None:
    """Create the default group that comes with a VPC."""
    group = make(call, vpc, "default", "default VPC security group", {})
    rules.add_referencing(call, group)


def create_group(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "security-group")["security-group"]
    name, description = call.params["GroupName"], call.params["Description"]
    for parameter, text in (("groupName", name), ("groupDescription", description)):
        if not _LEGAL.fullmatch(text):
            problem = (
                f"Invalid security group {parameter}. Valid names contain a-z, A-Z, 0-9 and ._-:/()#,@[]+=&;{{}}!$*"
            )
            raise Refused("InvalidParameterValue", problem)
    if name.startswith("sg-"):
        raise Refused("InvalidParameterValue", "invalid value for parameter groupName: it may not begin with sg-")
    if "VpcId" not in call.params:
        raise Refused("VPCIdNotSpecified", "No default VPC for this user")
    vpc = find(call, VPC, call.params["VpcId"])
    if name == "default":
        raise Refused("InvalidParameterValue", f"Cannot use reserved security group name: {name}")
    if call.where("security-group", VpcId=vpc["id"], GroupName=name):
        text = f"The security group '{name}' already exists for VPC '{vpc['id']}'"
        raise Refused("InvalidGroup.Duplicate", text)
    full(call, len(call.all("security-group")), call.settings.quotas.security_groups, "security groups")
    group = make(call, vpc, name, description, tags)
    shown = show(group, SECURITY_GROUP)
    return {"GroupId": group["id"], "Tags": shown["Tags"], "SecurityGroupArn": group["arn"]}


def make(call: Call, vpc: Record, name: str, description: str, tags: dict[str, str]) -> Record:
    """Create a group with the rule that lets everything out."""
    view = {"GroupName": name, "Description": description, "VpcId": vpc["id"], "OwnerId": call.account}
    group = create(call, SECURITY_GROUP, view, tags, rules=[])
    group["view"]["SecurityGroupArn"] = arn_of(call, "security-group", group["id"])
    rules.add_open_egress(call, group)
    return group


def _shown(call: Call, group: Record) -> dict[str, Any]:
    return {
        **show(group, SECURITY_GROUP),
        "IpPermissions": rules.permissions(call, group, egress=False),
        "IpPermissionsEgress": rules.permissions(call, group, egress=True),
    }


def describe(call: Call) -> dict[str, Any]:
    if "GroupIds" in call.params:
        records = [find(call, SECURITY_GROUP, ident) for ident in dict.fromkeys(call.params["GroupIds"])]
    else:
        records = [row for row in call.all("security-group") if call.sees(row)]
    rows = matching(call, [(row, _shown(call, row)) for row in records], SECURITY_GROUP.filters)
    page, more = paged_rows(call, rows)
    return {"SecurityGroups": [view for _, view in page], **({"NextToken": more} if more else {})}


def delete_group(call: Call) -> dict[str, Any]:
    if "GroupId" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter GroupId")
    group = find(call, SECURITY_GROUP, call.params["GroupId"])
    if group["view"]["GroupName"] == "default":
        text = f'the specified group: "{group["id"]}" name: "default" cannot be deleted by a user'
        raise Refused("CannotDelete", text)
    if _in_use(call, group["id"]):
        raise dependency(f"resource {group['id']} has a dependent object")
    for ident in group["rules"]:
        call.world.remove(call.world.table(call.scope, "security-group-rule")[ident], call.now)
    call.world.remove(group, call.now)
    return {"Return": True, "GroupId": group["id"]}


def _in_use(call: Call, ident: str) -> bool:
    """Whether an interface is in the group, or a rule of another group names it."""
    for interface in call.all("network-interface"):
        if any(group["GroupId"] == ident for group in interface["view"]["Groups"]):
            return True
    return any(
        rule["view"].get("ReferencedGroupInfo", {}).get("GroupId") == ident and rule["view"]["GroupId"] != ident
        for rule in call.all("security-group-rule")
    )


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateSecurityGroup", create_group, "GroupName Description VpcId TagSpecifications"),
    reads("DescribeSecurityGroups", describe, "GroupIds Filters MaxResults NextToken"),
    writes("DeleteSecurityGroup", delete_group, "GroupId"),
)
