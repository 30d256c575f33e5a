"""Managed node groups, as far as the API shows them; their instances are not simulated."""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Token, reads, writes
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.eks.access_entries import admit_nodes
from freehold_sim.aws.eks.common import (
    MISMATCH,
    NODEGROUP,
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


def _find(call: Call) -> Record:
    cluster = cluster_of(call, call.params["clusterName"])
    record = call.get(NODEGROUP, f"{cluster['id']}/{call.params['nodegroupName']}")
    if record is None:
        raise missing(f"No node group found for name: {call.params['nodegroupName']}.")
    return record


def create_nodegroup(call: Call) -> dict[str, Any]:
    params, cluster = call.params, active_cluster(call)
    name, ident = params["nodegroupName"], f"{cluster['id']}/{params['nodegroupName']}"
    if call.get(NODEGROUP, ident) is not None:
        raise in_use(f"NodeGroup already exists with name {name} and cluster name {cluster['id']}")
    check_role(call, params["nodeRole"])
    check_tags(call, params.get("tags", {}))
    for subnet in params["subnets"]:
        if call.get("subnet", subnet) is None:
            raise bad(f"The subnet ID '{subnet}' does not exist")
    scaling = {"minSize": 1, "maxSize": 2, "desiredSize": 2, **params.get("scalingConfig", {})}
    if not scaling["minSize"] <= scaling["desiredSize"] <= scaling["maxSize"]:
        raise bad("desired capacity must lie between the minimum and the maximum size")
    held = call.where(NODEGROUP, clusterName=cluster["id"])
    full(call, len(held), call.settings.quotas.nodegroups_per_cluster, "node groups of a cluster")
    path = f"nodegroup/{ident}/{call.world.new_uuid()}"
    arn = f"arn:{call.partition}:eks:{call.region}:{call.account}:{path}"
    view = {
        "nodegroupName": name, "nodegroupArn": arn, "clusterName": cluster["id"], "status": "CREATING",
        "version": params.get("version", cluster["view"]["version"]), "createdAt": call.now, "modifiedAt": call.now,
        "capacityType": params.get("capacityType", "ON_DEMAND"), "scalingConfig": scaling,
        "instanceTypes": params.get("instanceTypes", ["t3.medium"]), "subnets": params["subnets"],
        "amiType": params.get("amiType", "AL2023_x86_64_STANDARD"), "nodeRole": params["nodeRole"],
        "labels": params.get("labels", {}), "taints": params.get("taints", []), "diskSize": params.get("diskSize", 20),
        "health": {"issues": []}, "resources": {"autoScalingGroups": []},
    }  # fmt: skip
    record = call.add(NODEGROUP, ident, view, arn, tags=dict(params.get("tags", {})))
    admit_nodes(call, cluster, view["nodeRole"], "EC2_WINDOWS" if "WINDOWS" in view["amiType"] else "EC2_LINUX")
    status = "CREATE_FAILED" if call.fails else "ACTIVE"
    call.world.schedule(call.takes(call.settings.delays.create_nodegroup), record, {"status": status})
    return _reply(call, [record])


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"nodegroup": shown(made[0])}


def describe_nodegroup(call: Call) -> dict[str, Any]:
    return {"nodegroup": shown(_find(call))}


def list_nodegroups(call: Call) -> dict[str, Any]:
    cluster = cluster_of(call, call.params["clusterName"])
    rows = call.where(NODEGROUP, clusterName=cluster["id"])
    return listed(call, "nodegroups", [row["view"]["nodegroupName"] for row in rows])


def delete_nodegroup(call: Call) -> dict[str, Any]:
    record = _find(call)
    if record["view"]["status"] != "DELETING":
        call.world.redirect(record, status="DELETING")
        call.world.schedule(call.takes(call.settings.delays.delete_nodegroup), record, None)
    return {"nodegroup": shown(record)}


_NAMES = "clusterName nodegroupName"
_TAKES = (
    f"{_NAMES} scalingConfig diskSize subnets instanceTypes amiType nodeRole labels taints tags clientRequestToken "
    "capacityType version"
)
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateNodegroup", create_nodegroup, _TAKES, Token("clientRequestToken", NODEGROUP, _reply, MISMATCH)),
    reads("DescribeNodegroup", describe_nodegroup, _NAMES),
    reads("ListNodegroups", list_nodegroups, "clusterName maxResults nextToken"),
    writes("DeleteNodegroup", delete_nodegroup, _NAMES),
)
