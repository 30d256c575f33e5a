"""Access entries that EKS makes by itself, what it gives each type, and whether an entry works.

https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from freehold_sim.aws.call import Call
from freehold_sim.aws.credentials import Principal, administrator
from freehold_sim.aws.eks import access_policies
from freehold_sim.aws.eks.common import ACCESS_ENTRY, FARGATE_PROFILE, NODEGROUP
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.world import Record, World, scope_of

STANDARD, CONFIG_MAP = "STANDARD", "CONFIG_MAP"
PRINCIPAL = re.compile(r"arn:aws[a-z-]*:iam::(?P<account>\d{12}):(?P<kind>role|user)/(?P<path>.+)")
_NODE, _SESSION = "system:node:{{EC2PrivateDNSName}}", "system:node:{{SessionName}}"
OF_NODES: Mapping[str, tuple[str, Sequence[str]]] = {
    "EC2_LINUX": (_NODE, ["system:nodes"]),
    "EC2_WINDOWS": (_NODE, ["eks:kube-proxy-windows", "system:nodes"]),
    "FARGATE_LINUX": (_SESSION, ["system:bootstrappers", "system:node-proxier", "system:nodes"]),
    "HYBRID_LINUX": (_SESSION, ["system:nodes"]),
}
"""User name and groups that EKS gives nodes, by type
(https://docs.aws.amazon.com/cli/latest/reference/eks/create-access-entry.html; the groups of all but Linux: assumed,
from those of https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html)."""


def mode_of(cluster: Record) -> str:
    """Return the authentication mode of a cluster."""
    return str(cluster["view"].get("accessConfig", {}).get("authenticationMode", CONFIG_MAP))


# -- principals -------------------------------------------------------------------------------------------------


def identity_of(world: World, settings: Settings, arn: str) -> str | None:
    """Return the unique id of a role or user that exists, None for another one."""
    who = (administrator(account) for account in settings.access_keys.values())
    return _id_of_role(world, arn) or next((each.user_id for each in who if each.arn == arn), None)


def _id_of_role(world: World, arn: str) -> str | None:
    role = world.by_arn(arn)
    return str(role["view"]["RoleId"]) if role is not None and role["kind"] == "role" else None


def lasting_arn(world: World, who: Principal) -> str:
    """Return the ARN of a user or role: of a session, that of its role."""
    if ":assumed-role/" not in who.arn:
        return who.arn
    name = who.arn.split("/")[1]
    role = world.table(scope_of(who.account, ""), "role").get(name)
    return str(role["arn"]) if role else f"arn:aws:iam::{who.account}:role/{name}"


def works(world: World, settings: Settings, entry: Record) -> bool:
    """Whether the principal of an entry is still the one for which it was made: another of its name is not let in."""
    return identity_of(world, settings, entry["view"]["principalArn"]) == str(entry["identity"])


# -- entries ----------------------------------------------------------------------------------------------------


def view(world: World, cluster: Record, arn: str, kind: str, now: float) -> dict[str, Any]:
    """Return an entry with what EKS gives its type."""
    _, partition, _, region, owner, _ = cluster["arn"].split(":", 5)
    account, path = arn.split(":", 5)[4:]
    what, _, name = path.partition("/")
    place = f"{cluster['id']}/{what}/{account}/{name.rpartition('/')[2]}/{world.new_uuid()}"
    username, groups = OF_NODES.get(kind, (_name_of_person(arn), []))
    return {
        "clusterName": cluster["id"], "principalArn": arn, "kubernetesGroups": list(groups), "username": username,
        "accessEntryArn": f"arn:{partition}:eks:{region}:{owner}:access-entry/{place}",
        "createdAt": now, "modifiedAt": now, "type": kind,
    }  # fmt: skip


def _name_of_person(arn: str) -> str:
    found = PRINCIPAL.fullmatch(arn)
    if found is None or found["kind"] == "user":
        return arn
    role = found["path"].rpartition("/")[2]
    return f"{arn.partition(':iam:')[0]}:sts::{found['account']}:assumed-role/{role}/{{{{SessionName}}}}"


def _add(world: World, cluster: Record, arn: str, kind: str, now: float) -> Record | None:
    """Let a principal in that has no entry yet, if the cluster has entries; return the new entry."""
    ident, place = f"{cluster['id']}/{arn}", {key: cluster[key] for key in ("account", "region", "by")}
    table = world.table(scope_of(cluster["account"], cluster["region"]), ACCESS_ENTRY)
    if mode_of(cluster) == CONFIG_MAP or ident in table:
        return None
    shown, identity = view(world, cluster, arn, kind, now), _id_of_role(world, arn) or cluster["creator"][1]
    record = {**place, "view": shown, "arn": shown["accessEntryArn"], "identity": identity, "policies": {}}
    return world.add(ACCESS_ENTRY, ident, now, record)


def admit_creator(call: Call, cluster: Record) -> None:
    """Let the creator of a new cluster do everything in it, unless the cluster is made without that.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessConfigRequest.html
    """
    who = call.principal
    cluster["creator"] = [lasting_arn(call.world, who), who.user_id.partition(":")[0]]
    _admit_creator(call.world, cluster, call.now)


def _admit_creator(world: World, cluster: Record, now: float) -> None:
    if not cluster["view"].get("accessConfig", {}).get("bootstrapClusterCreatorAdminPermissions", True):
        return
    made = _add(world, cluster, cluster["creator"][0], STANDARD, now)
    if made is not None:
        policy = access_policies.arn_of(cluster["arn"].split(":")[1], access_policies.CLUSTER_ADMIN)
        scope = {"type": "cluster", "namespaces": []}
        made["policies"][policy] = {
            "policyArn": policy, "accessScope": scope, "associatedAt": now, "modifiedAt": now,
        }  # fmt: skip


def admit_nodes(world: World, cluster: Record, part: Record, now: float) -> None:
    """Let the nodes of a node group or Fargate profile in. The entry stays when that goes.

    https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329
    """
    shown = part["view"]
    if part["kind"] == FARGATE_PROFILE:
        _add(world, cluster, shown["podExecutionRoleArn"], "FARGATE_LINUX", now)
    else:
        _add(world, cluster, shown["nodeRole"], "EC2_WINDOWS" if "WINDOWS" in shown["amiType"] else "EC2_LINUX", now)


def open_api(world: World, cluster: Record, now: float) -> None:
    """Timer effect `open-access-entries`: a cluster whose authentication mode gets the API has its first entries.

    https://github.com/aws/containers-roadmap/issues/185 (nodes),
    https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html (the creator, of clusters made before)
    """
    _admit_creator(world, cluster, now)
    scope = scope_of(cluster["account"], cluster["region"])
    for part in [*world.table(scope, NODEGROUP).values(), *world.table(scope, FARGATE_PROFILE).values()]:
        if part["view"]["clusterName"] == cluster["id"]:
            admit_nodes(world, cluster, part, now)
