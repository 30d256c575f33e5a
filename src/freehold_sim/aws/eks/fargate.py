"""Fargate profiles, as far as the API shows them; no pod runs.

https://docs.aws.amazon.com/eks/latest/userguide/fargate-profile.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Token, reads, writes
from freehold_sim.aws.eks.admission import admit_nodes
from freehold_sim.aws.eks.common import (
    FARGATE_PROFILE,
    MISMATCH,
    active_cluster,
    bad,
    check_role,
    check_tags,
    cluster_of,
    in_use,
    listed,
    missing,
    shown,
)
from freehold_sim.aws.world import Record

_MOST_SELECTORS = 5


def _find(call: Call) -> Record:
    cluster = cluster_of(call, call.params["clusterName"])
    record = call.get(FARGATE_PROFILE, f"{cluster['id']}/{call.params['fargateProfileName']}")
    if record is None:
        raise missing(f"No Fargate Profile found with name: {call.params['fargateProfileName']}.")
    return record


def create_profile(call: Call) -> dict[str, Any]:
    """Create a profile, one at a time. https://github.com/terraform-aws-modules/terraform-aws-eks/pull/866"""
    params, cluster = call.params, active_cluster(call)
    name, ident = params["fargateProfileName"], f"{cluster['id']}/{params['fargateProfileName']}"
    if call.get(FARGATE_PROFILE, ident) is not None:  # https://github.com/eksctl-io/eksctl/issues/5652
        raise in_use("A Fargate Profile already exists with this name in this cluster.")
    for row in call.where(FARGATE_PROFILE, clusterName=cluster["id"]):
        if (status := row["view"]["status"]) in {"CREATING", "DELETING"}:
            held = f"currently has Fargate profile {row['view']['fargateProfileName']} in status {status}"
            raise in_use(f"Cannot create Fargate Profile {name} because cluster {cluster['id']} {held}")
    check_role(call, params["podExecutionRoleArn"])
    check_tags(call, params.get("tags", {}))
    selectors = params.get("selectors", [])
    if not 1 <= len(selectors) <= _MOST_SELECTORS or not all(each.get("namespace") for each in selectors):
        raise bad(f"Fargate Profile must have 1 to {_MOST_SELECTORS} selectors with a namespace each")
    subnets = params.get("subnets", cluster["view"]["resourcesVpcConfig"]["subnetIds"])
    for subnet in subnets:
        if call.get("subnet", subnet) is None:
            raise bad(f"The subnet ID '{subnet}' does not exist")
    arn = f"arn:{call.partition}:eks:{call.region}:{call.account}:fargateprofile/{ident}/{call.world.new_uuid()}"
    view = {
        "fargateProfileName": name, "fargateProfileArn": arn, "clusterName": cluster["id"], "createdAt": call.now,
        "podExecutionRoleArn": params["podExecutionRoleArn"], "subnets": subnets, "selectors": selectors,
        "status": "CREATING", "health": {"issues": []},
    }  # fmt: skip
    record = call.add(FARGATE_PROFILE, ident, view, arn, tags=dict(params.get("tags", {})))
    admit_nodes(call.world, cluster, record, call.now)
    status = "CREATE_FAILED" if call.fails else "ACTIVE"
    call.world.schedule(call.takes(call.settings.delays.create_fargate_profile), record, {"status": status})
    return _reply(call, [record])


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"fargateProfile": shown(made[0])}


def describe_profile(call: Call) -> dict[str, Any]:
    return {"fargateProfile": shown(_find(call))}


def list_profiles(call: Call) -> dict[str, Any]:
    cluster = cluster_of(call, call.params["clusterName"])
    rows = call.where(FARGATE_PROFILE, clusterName=cluster["id"])
    return listed(call, "fargateProfileNames", [row["view"]["fargateProfileName"] for row in rows])


def delete_profile(call: Call) -> dict[str, Any]:
    record = _find(call)
    if record["view"]["status"] != "DELETING":
        call.world.redirect(record, status="DELETING")
        call.world.schedule(call.takes(call.settings.delays.delete_fargate_profile), record, None)
    return {"fargateProfile": shown(record)}


_NAMES = "clusterName fargateProfileName"
_TAKES = f"{_NAMES} podExecutionRoleArn subnets selectors.namespace selectors.labels clientRequestToken tags"
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateFargateProfile", create_profile, _TAKES,
           Token("clientRequestToken", FARGATE_PROFILE, _reply, MISMATCH)),
    reads("DescribeFargateProfile", describe_profile, _NAMES),
    reads("ListFargateProfiles", list_profiles, "clusterName maxResults nextToken"),
    writes("DeleteFargateProfile", delete_profile, _NAMES),
)  # fmt: skip
