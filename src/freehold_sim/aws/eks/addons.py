"""EKS add-ons of a cluster, and their updates.

https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAddon.html, API_UpdateAddon.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Token, reads, writes
from freehold_sim.aws.eks import addon_versions
from freehold_sim.aws.eks.common import (
    ADDON,
    MISMATCH,
    UPDATE,
    active_cluster,
    check_role,
    check_tags,
    cluster_of,
    in_use,
    listed,
    missing,
    shown,
)
from freehold_sim.aws.world import Record

SELF_MANAGED = ("vpc-cni", "coredns", "kube-proxy")
"""Add-ons that a cluster has by itself unless it is made with bootstrapSelfManagedAddons false: `self_managed` of its
record (https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html)."""

_BUSY = frozenset({"CREATING", "UPDATING", "DELETING"})


def _find(call: Call, cluster: Record) -> Record:
    record = call.get(ADDON, f"{cluster['id']}/{call.params['addonName']}")
    if record is None:
        raise missing(f"No addon: {call.params['addonName']} found in cluster: {cluster['id']}")
    return record


def create_addon(call: Call) -> dict[str, Any]:
    params, cluster = call.params, active_cluster(call)
    name, ident = params["addonName"], f"{cluster['id']}/{params['addonName']}"
    version = addon_versions.chosen(name, cluster["view"]["version"], params.get("addonVersion"))
    if call.get(ADDON, ident) is not None:
        raise in_use("Addon already exists.")
    _check(call)
    check_tags(call, params.get("tags", {}))
    arn = f"arn:{call.partition}:eks:{call.region}:{call.account}:addon/{ident}/{call.world.new_uuid()}"
    view: dict[str, Any] = {
        "addonName": name, "clusterName": cluster["id"], "status": "CREATING", "addonArn": arn, "addonVersion": version,
        "createdAt": call.now, "modifiedAt": call.now, "health": {"issues": []}, "publisher": "eks", "owner": "aws",
    }  # fmt: skip
    for key in ("serviceAccountRoleArn", "configurationValues"):
        if params.get(key):
            view[key] = params[key]
    record = call.add(ADDON, ident, view, arn, tags=dict(params.get("tags", {})))
    change: dict[str, Any] = {"status": "ACTIVE"}
    if problem := _problem(call, cluster, {"NONE", "PRESERVE"}):
        change = {"status": "CREATE_FAILED", "health.issues": [problem]}
    else:
        _take_over(cluster, name)
    call.world.schedule(call.takes(call.settings.delays.create_addon), record, change)
    return _reply(call, [record])


def _check(call: Call) -> None:
    if role := call.params.get("serviceAccountRoleArn"):
        check_role(call, role)
    addon_versions.check_configuration(call.params["addonName"], call.params.get("configurationValues", ""))


def _problem(call: Call, cluster: Record, careful: set[str]) -> dict[str, Any] | None:
    """Return why an add-on fails to be installed: of a self-managed one, no `careful` mode changes what differs.

    That a self-managed add-on always differs is assumed.
    https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2829
    """
    name = call.params["addonName"]
    if call.fails:
        return {"code": "ClusterUnreachable", "message": "The cluster could not be reached", "resourceIds": []}
    if name not in _self_managed(cluster) or call.params.get("resolveConflicts", "NONE") not in careful:
        return None
    text = "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts:"
    message = f"{text}\nServiceAccount {name} - .metadata.labels.app.kubernetes.io/version"
    return {"code": "ConfigurationConflict", "message": message, "resourceIds": []}


def _self_managed(cluster: Record) -> list[str]:
    return list(cluster.get("self_managed", SELF_MANAGED))


def _take_over(cluster: Record, name: str) -> None:
    cluster["self_managed"] = [each for each in _self_managed(cluster) if each != name]


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"addon": shown(made[0])}


def describe_addon(call: Call) -> dict[str, Any]:
    return {"addon": shown(_find(call, cluster_of(call, call.params["clusterName"])))}


def list_addons(call: Call) -> dict[str, Any]:
    cluster = cluster_of(call, call.params["clusterName"])
    rows = call.where(ADDON, clusterName=cluster["id"])
    return listed(call, "addons", [row["view"]["addonName"] for row in rows if call.sees(row)])


def update_addon(call: Call) -> dict[str, Any]:
    """Change version, role and values of an add-on; a role that is not named again is taken away.

    https://github.com/hashicorp/terraform-provider-aws/issues/19402. Values that are not named stay, as
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/addon.go relies on.
    """
    params, cluster = call.params, active_cluster(call)
    record = _find(call, cluster)
    name, status = record["view"]["addonName"], record["view"]["status"]
    if status in _BUSY:  # https://github.com/eksctl-io/eksctl/issues/8091
        raise in_use(f"Addon {name} cannot be updated as it is currently in {status} state")
    if "addonVersion" in params:
        addon_versions.chosen(name, cluster["view"]["version"], params["addonVersion"])
    _check(call)
    wanted = {"serviceAccountRoleArn": params.get("serviceAccountRoleArn")}
    wanted |= {key: params[key] or None for key in ("addonVersion", "configurationValues") if key in params}
    when = call.takes(call.settings.delays.update_addon)
    update = _add_update(call, record, when)
    problem = _problem(call, cluster, {"NONE"})
    call.world.redirect(record, status="UPDATING")
    change: dict[str, Any] = {"status": "ACTIVE", "health.issues": [], "modifiedAt": when, **wanted}
    if problem is None:
        _take_over(cluster, name)
        call.world.schedule(when, update, {"status": "Successful"})
    else:
        change = {"status": "UPDATE_FAILED", "health.issues": [problem], "modifiedAt": when}
        error = {"errorCode": problem["code"], "errorMessage": problem["message"], "resourceIds": []}
        call.world.schedule(when, update, {"status": "Failed", "errors": [error]})
    call.world.schedule(when, record, change)
    return _update_reply(call, [update])


def _add_update(call: Call, addon: Record, done: float) -> Record:
    keys = ("addonVersion", "serviceAccountRoleArn", "resolveConflicts", "configurationValues")
    given = [{"type": key[0].upper() + key[1:], "value": call.params[key]} for key in keys if key in call.params]
    ident = call.world.new_uuid()
    view = {
        "id": ident, "status": "InProgress", "type": "AddonUpdate", "params": given, "createdAt": call.now,
        "errors": [],
    }  # fmt: skip
    return call.add(UPDATE, ident, view, cluster=addon["view"]["clusterName"], part=_part(addon), done=done)


def _part(addon: Record) -> str:
    """Return what an update of an add-on calls it."""
    return f"addon/{addon['view']['addonName']}"


def _update_reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"update": dict(made[0]["view"])}


def delete_addon(call: Call) -> dict[str, Any]:
    """Delete an add-on; what was installed stays with `preserve`, and is self-managed from then on.

    https://docs.aws.amazon.com/eks/latest/userguide/removing-an-add-on.html
    """
    cluster = cluster_of(call, call.params["clusterName"])
    record = _find(call, cluster)
    if call.params.get("preserve"):
        cluster["self_managed"] = [*_self_managed(cluster), record["view"]["addonName"]]
    if record["view"]["status"] != "DELETING":
        for update in call.where(UPDATE, status="InProgress"):
            if (update["cluster"], update["part"]) == (cluster["id"], _part(record)):
                call.world.redirect(update, status="Cancelled")
        call.world.redirect(record, status="DELETING")
        call.world.schedule(call.takes(call.settings.delays.delete_addon), record, None)
    return {"addon": shown(record)}


_NAMES = "clusterName addonName"
_SETTINGS = f"{_NAMES} addonVersion serviceAccountRoleArn resolveConflicts clientRequestToken configurationValues"
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateAddon", create_addon, f"{_SETTINGS} tags", Token("clientRequestToken", ADDON, _reply, MISMATCH)),
    reads("DescribeAddon", describe_addon, _NAMES),
    reads("ListAddons", list_addons, "clusterName maxResults nextToken"),
    writes("UpdateAddon", update_addon, _SETTINGS, Token("clientRequestToken", UPDATE, _update_reply, MISMATCH)),
    writes("DeleteAddon", delete_addon, f"{_NAMES} preserve"),
    *addon_versions.OPERATIONS,
)
