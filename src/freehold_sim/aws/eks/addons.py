"""EKS add-ons."""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Token, reads, writes
from freehold_sim.aws.eks.common import (
    ADDON,
    MISMATCH,
    active_cluster,
    bad,
    check_tags,
    cluster_of,
    in_use,
    listed,
    missing,
    shown,
)
from freehold_sim.aws.world import Record

VERSIONS = {"vpc-cni": "v1.19.0-eksbuild.1", "coredns": "v1.11.3-eksbuild.2", "kube-proxy": "v1.32.0-eksbuild.2",
            "aws-ebs-csi-driver": "v1.38.1-eksbuild.1"}  # fmt: skip


def _find(call: Call) -> Record:
    cluster = cluster_of(call, call.params["clusterName"])
    record = call.get(ADDON, f"{cluster['id']}/{call.params['addonName']}")
    if record is None:
        raise missing(f"No addon: {call.params['addonName']} found in cluster: {cluster['id']}")
    return record


def create_addon(call: Call) -> dict[str, Any]:
    params, cluster = call.params, active_cluster(call)
    name, ident = params["addonName"], f"{cluster['id']}/{params['addonName']}"
    if name not in VERSIONS:
        raise bad(f"Addon {name} specified is not supported")
    if call.get(ADDON, ident) is not None:
        raise in_use(f"Addon already exists: {name}")
    check_tags(call, params.get("tags", {}))
    arn = f"arn:{call.partition}:eks:{call.region}:{call.account}:addon/{ident}/{call.world.new_uuid()}"
    view: dict[str, Any] = {
        "addonName": name, "clusterName": cluster["id"], "status": "CREATING", "addonArn": arn,
        "addonVersion": params.get("addonVersion", VERSIONS[name]), "createdAt": call.now, "modifiedAt": call.now,
        "health": {"issues": []},
    }  # fmt: skip
    for key in ("serviceAccountRoleArn", "configurationValues"):
        if key in params:
            view[key] = params[key]
    record = call.add(ADDON, ident, view, arn, tags=dict(params.get("tags", {})))
    status = "CREATE_FAILED" if call.fails else "ACTIVE"
    call.world.schedule(call.takes(call.settings.delays.create_addon), record, {"status": status})
    return _reply(call, [record])


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"addon": shown(made[0])}


def describe_addon(call: Call) -> dict[str, Any]:
    return {"addon": shown(_find(call))}


def list_addons(call: Call) -> dict[str, Any]:
    cluster = cluster_of(call, call.params["clusterName"])
    rows = call.where(ADDON, clusterName=cluster["id"])
    return listed(call, "addons", [row["view"]["addonName"] for row in rows])


def delete_addon(call: Call) -> dict[str, Any]:
    record = _find(call)
    if record["view"]["status"] != "DELETING":
        call.world.redirect(record, status="DELETING")
        call.world.schedule(call.takes(call.settings.delays.delete_addon), record, None)
    return {"addon": shown(record)}


_NAMES = "clusterName addonName"
_TAKES = f"{_NAMES} addonVersion serviceAccountRoleArn resolveConflicts clientRequestToken tags configurationValues"
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateAddon", create_addon, _TAKES, Token("clientRequestToken", ADDON, _reply, MISMATCH)),
    reads("DescribeAddon", describe_addon, _NAMES),
    reads("ListAddons", list_addons, "clusterName maxResults nextToken"),
    writes("DeleteAddon", delete_addon, _NAMES),
)
