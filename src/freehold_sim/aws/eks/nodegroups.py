"""Managed node groups, as far as the API shows them; their instances are not simulated.

https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html, API_UpdateNodegroupConfig.html
"""

import json
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, reads, writes
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.eks.admission import admit_nodes
from freehold_sim.aws.eks.common import (
    MISMATCH,
    NODEGROUP,
    UPDATE,
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
    scaling = _scaling({"minSize": 1, "maxSize": 2, "desiredSize": 2}, params)
    updating = _updating(params.get("updateConfig", {"maxUnavailable": 1}), scaling["maxSize"])
    held = call.where(NODEGROUP, clusterName=cluster["id"])
    full(call, len(held), call.settings.quotas.nodegroups_per_cluster, "node groups of a cluster")
    path = f"nodegroup/{ident}/{call.world.new_uuid()}"
    arn = f"arn:{call.partition}:eks:{call.region}:{call.account}:{path}"
    view = {
        "nodegroupName": name, "nodegroupArn": arn, "clusterName": cluster["id"], "status": "CREATING",
        "version": params.get("version", cluster["view"]["version"]), "createdAt": call.now, "modifiedAt": call.now,
        "capacityType": params.get("capacityType", "ON_DEMAND"), "scalingConfig": scaling,
        "updateConfig": updating,
        "instanceTypes": params.get("instanceTypes", ["t3.medium"]), "subnets": params["subnets"],
        "amiType": params.get("amiType", "AL2023_x86_64_STANDARD"), "nodeRole": params["nodeRole"],
        "labels": params.get("labels", {}), "taints": params.get("taints", []), "diskSize": params.get("diskSize", 20),
        "health": {"issues": []}, "resources": {"autoScalingGroups": []},
    }  # fmt: skip
    record = call.add(NODEGROUP, ident, view, arn, tags=dict(params.get("tags", {})))
    admit_nodes(call.world, cluster, record, call.now)
    status = "CREATE_FAILED" if call.fails else "ACTIVE"
    call.world.schedule(call.takes(call.settings.delays.create_nodegroup), record, {"status": status})
    return _reply(call, [record])


def _scaling(held: dict[str, int], params: dict[str, Any]) -> dict[str, int]:
    scaling = {**held, **params.get("scalingConfig", {})}
    if not scaling["minSize"] <= scaling["desiredSize"] <= scaling["maxSize"]:
        raise bad("desired capacity must lie between the minimum and the maximum size")
    return scaling


def _updating(given: dict[str, Any], most: int) -> dict[str, Any]:
    """Return how many nodes may be unavailable in an update: a number or a percentage.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html,
    https://github.com/hashicorp/terraform-provider-aws/issues/26535
    """
    if ("maxUnavailable" in given) == ("maxUnavailablePercentage" in given):
        raise bad("Exactly one of max-unavailable and max-unavailable-percentage must be given")
    if given.get("maxUnavailable", 1) > most:
        raise bad("max-unavailable must be within the range 1 and max size of the node group")
    return {"updateStrategy": "DEFAULT", **given}


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"nodegroup": shown(made[0])}


def describe_nodegroup(call: Call) -> dict[str, Any]:
    return {"nodegroup": shown(_find(call))}


def list_nodegroups(call: Call) -> dict[str, Any]:
    cluster = cluster_of(call, call.params["clusterName"])
    rows = call.where(NODEGROUP, clusterName=cluster["id"])
    return listed(call, "nodegroups", [row["view"]["nodegroupName"] for row in rows])


def update_config(call: Call) -> dict[str, Any]:
    """Change labels, taints, sizes and how nodes are updated; each label and taint by its key."""
    record, params = _find(call), call.params
    view = record["view"]
    if view["status"] == "UPDATING":
        raise in_use(f"Nodegroup {view['nodegroupName']} currently has an update in progress")
    if view["status"] != "ACTIVE":
        raise Refused("InvalidRequestException", f"Nodegroup {view['nodegroupName']} is not in ACTIVE status")
    scaling = _scaling(view["scalingConfig"], params)
    change: dict[str, Any] = {"scalingConfig": scaling, "labels": _labels(view["labels"], params.get("labels", {}))}
    change["taints"] = _taints(view["taints"], params.get("taints", {}))
    if "updateConfig" in params:
        change["updateConfig"] = _updating(params["updateConfig"], scaling["maxSize"])
    done, ident = call.takes(call.settings.delays.update_nodegroup), call.world.new_uuid()
    told = {
        "id": ident, "status": "InProgress", "type": "ConfigUpdate", "params": _told(params), "createdAt": call.now,
        "errors": [],
    }  # fmt: skip
    part = f"nodegroup/{view['nodegroupName']}"
    update = call.add(UPDATE, ident, told, cluster=view["clusterName"], part=part, done=done)
    call.world.redirect(record, status="UPDATING")
    error = {"errorCode": "Unknown", "errorMessage": "The update failed", "resourceIds": []}
    end = {"status": "Failed", "errors": [error]} if call.fails else {"status": "Successful"}
    call.world.schedule(done, update, end)
    held = {"status": "ACTIVE", "modifiedAt": done}
    call.world.schedule(done, record, held if call.fails else {**change, **held})
    return _update_reply(call, [update])


def _labels(held: dict[str, str], given: dict[str, Any]) -> dict[str, str]:
    gone = given.get("removeLabels", [])
    return {key: value for key, value in {**held, **given.get("addOrUpdateLabels", {})}.items() if key not in gone}


def _taints(held: list[dict[str, str]], given: dict[str, Any]) -> list[dict[str, str]]:
    """Return the taints of a node group; a taint is known by its key and its effect (assumed)."""
    added = given.get("addOrUpdateTaints", [])
    gone = [(each.get("key"), each.get("effect")) for each in (*given.get("removeTaints", []), *added)]
    return [*(each for each in held if (each.get("key"), each.get("effect")) not in gone), *added]


def _told(params: dict[str, Any]) -> list[dict[str, str]]:
    """Return what an update says of itself."""
    flat = {**params.get("scalingConfig", {}), **params.get("updateConfig", {})}
    labels, taints = params.get("labels", {}), params.get("taints", {})
    flat |= {"labelsToAdd": labels.get("addOrUpdateLabels"), "labelsToRemove": labels.get("removeLabels"),
             "taintsToAdd": taints.get("addOrUpdateTaints"), "taintsToRemove": taints.get("removeTaints")}  # fmt: skip
    return [{"type": name[0].upper() + name[1:], "value": value if isinstance(value, str) else json.dumps(value)}
            for name, value in flat.items() if value is not None]  # fmt: skip


def _update_reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"update": dict(made[0]["view"])}


def delete_nodegroup(call: Call) -> dict[str, Any]:
    record = _find(call)
    if record["view"]["status"] != "DELETING":
        call.world.redirect(record, status="DELETING")
        call.world.schedule(call.takes(call.settings.delays.delete_nodegroup), record, None)
    return {"nodegroup": shown(record)}


_NAMES = "clusterName nodegroupName"
_TAKES = (
    f"{_NAMES} scalingConfig diskSize subnets instanceTypes amiType nodeRole labels taints tags clientRequestToken "
    "capacityType version updateConfig.maxUnavailable updateConfig.maxUnavailablePercentage "
    "updateConfig.updateStrategy"
)
_CHANGES = (
    f"{_NAMES} labels.addOrUpdateLabels labels.removeLabels taints.addOrUpdateTaints taints.removeTaints scalingConfig "
    "updateConfig.maxUnavailable updateConfig.maxUnavailablePercentage updateConfig.updateStrategy clientRequestToken"
)
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateNodegroup", create_nodegroup, _TAKES, Token("clientRequestToken", NODEGROUP, _reply, MISMATCH)),
    reads("DescribeNodegroup", describe_nodegroup, _NAMES),
    reads("ListNodegroups", list_nodegroups, "clusterName maxResults nextToken"),
    writes(
        "UpdateNodegroupConfig", update_config, _CHANGES, Token("clientRequestToken", UPDATE, _update_reply, MISMATCH)
    ),
    writes("DeleteNodegroup", delete_nodegroup, _NAMES),
)
