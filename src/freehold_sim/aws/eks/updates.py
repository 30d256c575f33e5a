"""Changes of clusters: one at a time, each with an update that tells how it went.

https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateClusterConfig.html,
https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateClusterVersion.html
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from freehold_sim.aws.call import Call, Operation, Refused, Token, not_served, reads, writes
from freehold_sim.aws.eks import options, versions
from freehold_sim.aws.eks.common import (
    MISMATCH,
    NODEGROUP,
    UPDATE,
    bad,
    cluster_of,
    in_use,
    listed,
    missing,
    why_failed,
)
from freehold_sim.aws.world import Record

_ROLLBACK_DAYS = 7
_MOST_SKEW = 3


class Change(NamedTuple):
    """What an update does: its type, its parameters as they are shown, and what of the cluster is another then."""

    kind: str
    values: Mapping[str, str]
    change: Mapping[str, Any]
    effect: str = ""


# -- the update itself --------------------------------------------------------------------------------------------


def _note(call: Call, cluster: Record, wanted: Change, done: float) -> Record:
    """Record an update that ends at `done`."""
    ident = call.world.new_uuid()
    params = [{"type": name, "value": value} for name, value in wanted.values.items()]
    view: dict[str, Any] = {
        "id": ident, "status": "InProgress", "type": wanted.kind, "params": params, "createdAt": call.now,
        "errors": [],
    }  # fmt: skip
    made = call.add(UPDATE, ident, view, cluster=cluster["id"], part="", done=done)
    error = {"errorCode": "Unknown", "errorMessage": why_failed(call), "resourceIds": [cluster["id"]]}
    end = {"status": "Failed", "errors": [error]} if call.fails else {"status": "Successful"}
    call.world.schedule(done, made, end)
    return made


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"update": dict(made[0]["view"])}


def _of(call: Call, cluster: Record, part: str = "") -> list[Record]:
    """Return the updates of a cluster, or of a part of it."""
    return [row for row in call.all(UPDATE) if (row["cluster"], row["part"]) == (cluster["id"], part)]


def running(call: Call, cluster: Record) -> str:
    """Return the id of the update of a cluster that is in progress, "" for none."""
    found = [row["id"] for row in _of(call, cluster) if row["view"]["status"] == "InProgress"]
    return str(found[0]) if found else ""


def _begin(call: Call, cluster: Record, wanted: Change, seconds: float) -> dict[str, Any]:
    """Begin a change. One that fails leaves the cluster as it is: no cluster is left between two versions.

    https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html
    """
    done = call.takes(seconds)
    made = _note(call, cluster, wanted, done)
    call.world.redirect(cluster, status="UPDATING")
    change, effect = ({}, "") if call.fails else (wanted.change, wanted.effect)
    call.world.schedule(done, cluster, {**change, "status": "ACTIVE"}, effect)
    return _reply(call, [made])


def _free(call: Call, cluster: Record, kind: str) -> None:
    """Refuse a change while another is in progress, and of a cluster that is not there yet or no longer.

    https://github.com/aws/aws-cdk/issues/33452
    """
    if ident := running(call, cluster):
        raise in_use(f"Cannot {kind} because cluster {cluster['id']} currently has update {ident} in progress")
    if cluster["view"]["status"] != "ACTIVE":
        raise Refused("InvalidRequestException", f"Cluster '{cluster['id']}' is not in ACTIVE status")


# -- version ------------------------------------------------------------------------------------------------------


def update_version(call: Call) -> dict[str, Any]:
    """Update to the next minor version. https://github.com/rancher/rancher/issues/21043"""
    cluster, name = cluster_of(call, call.params["name"]), call.params["version"]
    held = cluster["view"]["version"]
    _free(call, cluster, "VersionUpdate")
    version = versions.offered(name)
    if version is None:
        raise bad("unsupported Kubernetes version")
    step = versions.minor(name) - versions.minor(held)
    if step == -1 and _upgraded_lately(call, cluster):
        raise not_served("rollbacks of a version")
    if step != 1:
        raise bad(f"Unsupported Kubernetes minor version update from {held} to {name}")
    _check_nodes(call, cluster, name)
    values = {"Version": name, "PlatformVersion": version.platform}
    change = {"version": name, "platformVersion": version.platform}
    return _begin(call, cluster, Change("VersionUpdate", values, change), call.settings.delays.upgrade_cluster)


def _upgraded_lately(call: Call, cluster: Record) -> bool:
    """Whether EKS would roll back. https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html"""
    since = call.now - _ROLLBACK_DAYS * 86_400
    return any(
        row["view"]["type"] == "VersionUpdate" and row["view"]["status"] == "Successful" and row["done"] >= since
        for row in _of(call, cluster)
    )


def _check_nodes(call: Call, cluster: Record, wanted: str) -> None:
    """Refuse a version that is too new for the nodes of a group.

    https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html,
    https://github.com/hashicorp/terraform-provider-aws/issues/19478
    """
    old = [
        row["view"]["nodegroupName"]
        for row in call.where(NODEGROUP, clusterName=cluster["id"])
        if versions.minor(wanted) - versions.minor(row["view"]["version"]) > _MOST_SKEW
    ]
    if old:
        held = cluster["view"]["version"]
        need = f"must be updated to match cluster version {held} before updating cluster version"
        raise bad(f"Nodegroups {', '.join(old)} {need}")


# -- configuration ------------------------------------------------------------------------------------------------


def update_config(call: Call) -> dict[str, Any]:
    """Change one thing. https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/3553"""
    cluster = cluster_of(call, call.params["name"])
    given = [name for name in _CHANGES if name in call.params]
    if not given:  # https://github.com/aws-controllers-k8s/community/issues/3046
        raise bad("The type for cluster update was not provided.")
    if len(given) > 1:
        raise bad("Only one type of update can be allowed.")
    kind, decide = _CHANGES[given[0]]
    if _PLACE & call.params.get("resourcesVpcConfig", {}).keys():
        _free(call, cluster, "VpcConfigUpdate")
        wanted = _place(call, cluster, call.params["resourcesVpcConfig"])
        return _begin(call, cluster, wanted, call.settings.delays.update_cluster)
    _free(call, cluster, kind)
    values, change = decide(cluster["view"], call.params[given[0]])
    effect = "open-access-entries" if kind == "AccessConfigUpdate" else ""
    return _begin(call, cluster, Change(kind, values, change, effect), call.settings.delays.update_cluster)


_Decided = tuple[dict[str, str], dict[str, Any]]


def _logging(view: Mapping[str, Any], given: dict[str, Any]) -> _Decided:
    """https://github.com/aws-samples/eks-workshop-v2/issues/1404"""
    held = options.logs_on(view)
    wanted = options.logging(given, held)
    if wanted == held:
        raise bad("No changes needed for the logging config provided")
    return {"ClusterLogging": json.dumps(given)}, {"logging": options.shown_logging(wanted)}


def _endpoint(view: Mapping[str, Any], given: dict[str, Any]) -> _Decided:
    """https://github.com/crossplane-contrib/provider-aws/issues/1047"""
    held = view["resourcesVpcConfig"]
    wanted = options.endpoint(given, held)
    if all(held[name] == value for name, value in wanted.items()):
        private, public = (str(held[f"endpoint{which}Access"]).lower() for which in ("Private", "Public"))
        have = f"endpointPrivateAccess: {private} , endpointPublicAccess: {public}"
        blocks = ", ".join(held["publicAccessCidrs"])
        raise bad(
            f"Cluster is already at the desired configuration with {have}, and Public Endpoint Restrictions: [{blocks}]"
        )
    values = {name[0].upper() + name[1:]: json.dumps(value) for name, value in wanted.items()}
    return values, {f"resourcesVpcConfig.{name}": value for name, value in wanted.items()}


_PLACE = frozenset({"subnetIds", "securityGroupIds"})


def _place(call: Call, cluster: Record, given: dict[str, Any]) -> Change:
    """Change subnets and groups. Of the interfaces that are there none moves (assumed)."""
    if given.keys() - _PLACE:
        raise bad("Only one type of update can be allowed.")
    held = cluster["view"]["resourcesVpcConfig"]
    wanted = {name: given.get(name, held[name]) for name in sorted(_PLACE)}
    subnets = options.subnets(call, wanted["subnetIds"])
    if subnets[0]["view"]["VpcId"] != held["vpcId"]:
        raise bad("Provided subnets belong to another VPC than the cluster")
    options.groups(call, wanted["securityGroupIds"], call.world.table(call.scope, "vpc")[held["vpcId"]])
    if all(sorted(each) == sorted(held[name]) for name, each in wanted.items()):
        raise bad("No changes needed for the VPC config provided")
    values = {"SecurityGroups": json.dumps(wanted["securityGroupIds"]), "Subnets": json.dumps(wanted["subnetIds"])}
    return Change("VpcConfigUpdate", values, {f"resourcesVpcConfig.{name}": each for name, each in wanted.items()})


def _mode(view: Mapping[str, Any], given: dict[str, Any]) -> _Decided:
    """Upwards, one step at a time. https://github.com/pulumi/pulumi-eks/issues/1493"""
    held = view["accessConfig"]["authenticationMode"]
    wanted = given.get("authenticationMode", held)
    if options.MODES.index(wanted) != options.MODES.index(held) + 1:
        raise bad(f"Unsupported authentication mode update from {held} to {wanted}")
    return {"AuthenticationMode": wanted}, {"accessConfig.authenticationMode": wanted}


def _policy(view: Mapping[str, Any], given: dict[str, Any]) -> _Decided:
    """https://docs.aws.amazon.com/eks/latest/userguide/disable-extended-support.html"""
    held = view["upgradePolicy"]["supportType"]
    wanted = given.get("supportType", held)
    if wanted == held:
        raise bad("No changes needed for the upgrade policy provided")
    if wanted == "STANDARD" and versions.support(view["version"]) != versions.STANDARD:
        raise bad(f"Extended support of Kubernetes version {view['version']} has begun and cannot be disabled")
    return {"UpgradePolicy": json.dumps(given)}, {"upgradePolicy.supportType": wanted}


def _protection(view: Mapping[str, Any], given: bool) -> _Decided:
    """https://docs.aws.amazon.com/eks/latest/userguide/deletion-protection.html"""
    if given is view["deletionProtection"]:
        raise bad("No changes needed for the deletion protection provided")
    return {"DeletionProtection": json.dumps(given)}, {"deletionProtection": given}


_CHANGES: Mapping[str, tuple[str, Callable[[Mapping[str, Any], Any], _Decided]]] = {
    "logging": ("LoggingUpdate", _logging),
    "resourcesVpcConfig": ("EndpointAccessUpdate", _endpoint),
    "accessConfig": ("AccessConfigUpdate", _mode),
    "upgradePolicy": ("UpgradePolicyUpdate", _policy),
    "deletionProtection": ("DeletionProtectionUpdate", _protection),
}


def associate_encryption(call: Call) -> dict[str, Any]:
    """Encrypt secrets with a key, for good. https://github.com/hashicorp/terraform-provider-aws/issues/19968"""
    cluster = cluster_of(call, call.params["clusterName"])
    _free(call, cluster, "AssociateEncryptionConfig")
    if "encryptionConfig" in cluster["view"]:
        raise bad("Encryption is already enabled on the cluster")
    wanted = options.encryption(call, call.params["encryptionConfig"])
    if not wanted:
        raise bad("Encryption config is required")
    change = Change("AssociateEncryptionConfig", {"EncryptionConfig": json.dumps(wanted)}, {"encryptionConfig": wanted})
    return _begin(call, cluster, change, call.settings.delays.encrypt_cluster)


# -- what is told -------------------------------------------------------------------------------------------------


def _part(call: Call) -> str:
    """Return of what updates are asked for: "" for the cluster, or a node group or an add-on of it."""
    named = [f"{kind}/{call.params[f'{kind}Name']}" for kind in ("nodegroup", "addon") if f"{kind}Name" in call.params]
    if len(named) > 1:
        raise bad("An update is of a node group or of an add-on")
    return named[0] if named else ""


def describe_update(call: Call) -> dict[str, Any]:
    cluster, ident = cluster_of(call, call.params["name"]), call.params["updateId"]
    found = [row for row in _of(call, cluster, _part(call)) if row["id"] == ident and call.sees(row)]
    if not found:
        raise missing(f"No update found for ID: {ident}")
    return _reply(call, found)


def list_updates(call: Call) -> dict[str, Any]:
    cluster = cluster_of(call, call.params["name"])
    rows = [row for row in _of(call, cluster, _part(call)) if call.sees(row)]
    return listed(call, "updateIds", [row["id"] for row in rows])


def _token() -> Token:
    return Token("clientRequestToken", UPDATE, _reply, MISMATCH)


_ENDPOINT = " ".join(f"resourcesVpcConfig.{name}" for name in (*options.OPEN, *sorted(_PLACE)))
OPERATIONS: tuple[Operation, ...] = (
    writes("UpdateClusterVersion", update_version, "name version clientRequestToken force", _token()),
    writes("UpdateClusterConfig", update_config,
           f"name clientRequestToken logging accessConfig upgradePolicy deletionProtection {_ENDPOINT}", _token()),
    writes("AssociateEncryptionConfig", associate_encryption, "clusterName encryptionConfig clientRequestToken",
           _token()),
    reads("DescribeUpdate", describe_update, "name updateId nodegroupName addonName"),
    reads("ListUpdates", list_updates, "name nodegroupName addonName maxResults nextToken"),
)  # fmt: skip
