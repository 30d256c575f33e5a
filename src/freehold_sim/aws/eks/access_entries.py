"""Access entries: which IAM principals a cluster lets in, once its authentication mode has the API.

https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html. The sentences of the refusals are those
of terraform-aws-modules/terraform-aws-eks#2915, #2969, #3024, #3048, #3293 and terraform-provider-aws#36447.
"""

import re
from collections.abc import Sequence
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, not_served, reads, writes
from freehold_sim.aws.credentials import administrator
from freehold_sim.aws.eks import access_policies
from freehold_sim.aws.eks.common import (
    ACCESS_ENTRY,
    MISMATCH,
    bad,
    check_tags,
    cluster_of,
    in_use,
    listed,
    missing,
    shown,
)
from freehold_sim.aws.world import Record, scope_of

STANDARD = "STANDARD"
_NODE = "system:node:{{EC2PrivateDNSName}}"
_SESSION = "system:node:{{SessionName}}"
_OF_NODES: dict[str, tuple[str, Sequence[str]]] = {
    "EC2_LINUX": (_NODE, ["system:nodes"]),
    "EC2_WINDOWS": (_NODE, ["eks:kube-proxy-windows", "system:nodes"]),
    "FARGATE_LINUX": (_SESSION, ["system:bootstrappers", "system:node-proxier", "system:nodes"]),
    "HYBRID_LINUX": (_SESSION, ["system:nodes"]),
}
"""User name and groups that EKS gives nodes, by type
(https://docs.aws.amazon.com/cli/latest/reference/eks/create-access-entry.html; the groups of all but Linux: assumed,
from those of https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html)."""

_NOT_SERVED = frozenset({"EC2", "HYPERPOD_LINUX"})
_RESERVED = ("system:", "eks:", "aws:", "amazon:", "iam:")
_PRINCIPAL = re.compile(r"arn:aws[a-z-]*:iam::(?P<account>\d{12}):(?P<kind>role|user)/(?P<path>.+)")
_CONFIG_MAP = "CONFIG_MAP"


# -- what the cluster and the principal allow -------------------------------------------------------------------


def _cluster(call: Call) -> Record:
    """Return a cluster whose access entries can be used at all."""
    cluster = cluster_of(call, call.params["clusterName"])
    if mode_of(cluster) == _CONFIG_MAP:
        text = "authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation."
        raise Refused("InvalidRequestException", f"The cluster's {text}")
    return cluster


def mode_of(cluster: Record) -> str:
    """Return the authentication mode of a cluster."""
    return str(cluster["view"].get("accessConfig", {}).get("authenticationMode", _CONFIG_MAP))


def _usable(call: Call) -> Record:
    """Return a cluster whose access entries can be changed (assumed: not while it is made or deleted)."""
    cluster = _cluster(call)
    if cluster["view"]["status"] not in {"ACTIVE", "UPDATING"}:
        raise Refused("InvalidRequestException", f"Cluster '{cluster['id']}' is not in ACTIVE status")
    return cluster


def _find(call: Call, cluster: Record) -> Record:
    record = call.get(ACCESS_ENTRY, f"{cluster['id']}/{call.params['principalArn']}")
    if record is None:
        text = "You can view your available access entries with 'list-access-entries'."
        raise missing(f"The specified principalArn could not be found. {text}")
    return record


def _identity_of(call: Call, arn: str) -> str | None:
    """Return the unique id of a role or user that exists, None for another one."""
    role = call.world.by_arn(arn)
    if role is not None and role["kind"] == "role" and call.sees(role):
        return str(role["view"]["RoleId"])
    who = (administrator(account) for account in call.settings.access_keys.values())
    return next((each.user_id for each in who if each.arn == arn), None)


def _checked_identity(call: Call, arn: str, kind: str) -> str:
    """Return the unique id of a principal that can have an entry of this type."""
    found = _PRINCIPAL.fullmatch(arn)
    if found is None:
        raise bad("The principalArn parameter format is not valid")
    if found["path"].startswith("aws-service-role/"):
        text = "modify access entries with a principalArn value of a Service Linked Role"
        raise bad(f"The caller is not allowed to {text}")
    identity = _identity_of(call, arn)
    of_nodes = kind != STANDARD and (found["kind"] != "role" or found["account"] != call.account)
    if identity is None or of_nodes:
        raise bad("The specified principalArn is invalid: invalid principal.")
    return identity


# -- names ------------------------------------------------------------------------------------------------------


def _check_names(username: str | None, groups: Sequence[str]) -> None:
    if username is not None:
        if prefix := next((each for each in _RESERVED if username.startswith(each)), None):
            raise bad(f"The username must not begin with {prefix}")
        before, session, _ = username.partition("{{SessionName")
        if session and ":" not in before:
            raise bad("The username must have a colon before {{SessionName}}")
    for group in groups:
        if group.startswith("system:"):
            raise bad(f"The kubernetes group name {group} is invalid, it cannot start with system:")


def _generated_name(arn: str) -> str:
    found = _PRINCIPAL.fullmatch(arn)
    if found is None or found["kind"] == "user":
        return arn
    role = found["path"].rpartition("/")[2]
    return f"{arn.partition(':iam:')[0]}:sts::{found['account']}:assumed-role/{role}/{{{{SessionName}}}}"


# -- operations -------------------------------------------------------------------------------------------------


def create_entry(call: Call) -> dict[str, Any]:
    params, cluster = call.params, _usable(call)
    arn, kind, groups = params["principalArn"], params.get("type", STANDARD), params.get("kubernetesGroups", [])
    if kind in _NOT_SERVED:
        raise not_served(f"access entries of type {kind}")
    if kind != STANDARD and kind not in _OF_NODES:
        raise bad(f"The type {kind} of an access entry is not valid")
    identity = _checked_identity(call, arn, kind)
    if call.world.table(call.scope, ACCESS_ENTRY).get(f"{cluster['id']}/{arn}") is not None:
        raise in_use("The specified access entry resource is already in use on this cluster.")
    if kind != STANDARD and (groups or "username" in params):
        raise bad(f"kubernetesGroups and username can only be given with the type {STANDARD}")
    _check_names(params.get("username"), groups)
    check_tags(call, params.get("tags", {}))
    made = _add(call, cluster, arn, kind, identity, params.get("tags", {}))
    if kind == STANDARD:
        made["view"].update(kubernetesGroups=groups, username=params.get("username") or _generated_name(arn))
    return _reply(call, [made])


def _add(call: Call, cluster: Record, arn: str, kind: str, identity: str, tags: dict[str, str]) -> Record:
    """Store an entry with what EKS gives its type. It works only for the principal that has the `identity` then."""
    _, _, account, path = arn.split(":", 5)[2:]
    what, _, name = path.partition("/")
    place = f"{cluster['id']}/{what}/{account}/{name.rpartition('/')[2]}/{call.world.new_uuid()}"
    username, groups = _OF_NODES.get(kind, (_generated_name(arn), []))
    view = {
        "clusterName": cluster["id"], "principalArn": arn, "kubernetesGroups": list(groups), "username": username,
        "accessEntryArn": f"arn:{call.partition}:eks:{call.region}:{call.account}:access-entry/{place}",
        "createdAt": call.now, "modifiedAt": call.now, "type": kind,
    }  # fmt: skip
    ident = f"{cluster['id']}/{arn}"
    given = dict(tags)
    return call.add(ACCESS_ENTRY, ident, view, view["accessEntryArn"], tags=given, identity=identity, policies={})


def _reply(_: Call, made: list[Record]) -> dict[str, Any]:
    return {"accessEntry": shown(made[0])}


def describe_entry(call: Call) -> dict[str, Any]:
    return {"accessEntry": shown(_find(call, _cluster(call)))}


def list_entries(call: Call) -> dict[str, Any]:
    cluster, policy = _cluster(call), call.params.get("associatedPolicyArn")
    rows = [row for row in call.where(ACCESS_ENTRY, clusterName=cluster["id"]) if call.sees(row)]
    names = [row["view"]["principalArn"] for row in rows if policy is None or policy in row["policies"]]
    return listed(call, "accessEntries", names)


def update_entry(call: Call) -> dict[str, Any]:
    """Change user name and groups of an entry; what the request does not name stays (assumed)."""
    record, params = _find(call, _usable(call)), call.params
    _check_names(params.get("username"), params.get("kubernetesGroups", []))
    _check_standard(record)
    changes = {key: params[key] for key in ("kubernetesGroups", "username") if key in params}
    record["view"].update(changes, modifiedAt=call.now)
    return _reply(call, [record])


def _check_standard(record: Record) -> None:
    """https://github.com/aws-controllers-k8s/community/issues/2144"""
    if record["view"]["type"] != STANDARD:
        raise bad(f'This operation can only be performed on Access Entries with a type of "{STANDARD}".')


def delete_entry(call: Call) -> dict[str, Any]:
    call.world.remove(_find(call, _usable(call)), call.now)
    return {}


# -- policies ---------------------------------------------------------------------------------------------------


def associate_policy(call: Call) -> dict[str, Any]:
    """Associate a policy with an entry, or change the scope of one that is.

    https://docs.aws.amazon.com/eks/latest/userguide/access-policies.html
    """
    record, arn = _find(call, _usable(call)), call.params["policyArn"]
    _check_standard(record)
    access_policies.check(call, arn)
    scope = _scope(call.params["accessScope"])
    held = record["policies"].get(arn, {"policyArn": arn, "associatedAt": call.now})
    record["policies"][arn] = {**held, "accessScope": scope, "modifiedAt": call.now}
    names = {key: call.params[key] for key in ("clusterName", "principalArn")}
    return {**names, "associatedAccessPolicy": record["policies"][arn]}


def _scope(given: dict[str, Any]) -> dict[str, Any]:
    kind, namespaces = given.get("type"), given.get("namespaces", [])
    if kind not in {"cluster", "namespace"}:
        raise bad("The accessScope type must be one of [cluster, namespace]")
    if bool(namespaces) != (kind == "namespace"):
        raise bad("namespaces must be given with the accessScope type namespace, and only with it")
    return {"type": kind, "namespaces": namespaces}


def disassociate_policy(call: Call) -> dict[str, Any]:
    record, arn = _find(call, _usable(call)), call.params["policyArn"]
    if record["policies"].pop(arn, None) is None:
        raise missing(f"The specified policyArn {arn} is not associated with the access entry")
    return {}


def list_associated(call: Call) -> dict[str, Any]:
    record = _find(call, _cluster(call))
    found = listed(call, "associatedAccessPolicies", list(record["policies"].values()))
    return {**found, **{key: call.params[key] for key in ("clusterName", "principalArn")}}


# -- what EKS makes by itself -----------------------------------------------------------------------------------


def admit_creator(call: Call, cluster: Record) -> None:
    """Give the creator of a cluster an entry that may do everything, unless the cluster was made without it.

    To be called when a cluster is made, and when its authentication mode gets the API.
    https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessConfigRequest.html
    """
    creator = cluster.setdefault("creator", _lasting(call))
    asked = cluster["view"].get("accessConfig", {}).get("bootstrapClusterCreatorAdminPermissions", True)
    if not asked or mode_of(cluster) == _CONFIG_MAP or _held(call, cluster, creator):
        return
    made = _add(call, cluster, creator, STANDARD, _identity_of(call, creator) or "", {})
    policy = access_policies.arn_of(call, access_policies.CLUSTER_ADMIN)
    scope = {"type": "cluster", "namespaces": []}
    made["policies"][policy] = {
        "policyArn": policy, "accessScope": scope, "associatedAt": call.now, "modifiedAt": call.now,
    }  # fmt: skip


def _held(call: Call, cluster: Record, arn: str) -> bool:
    return f"{cluster['id']}/{arn}" in call.world.table(call.scope, ACCESS_ENTRY)


def _lasting(call: Call) -> str:
    """Return the ARN of who calls: of a session, that of its role."""
    arn = call.principal.arn
    if ":assumed-role/" not in arn:
        return arn
    name = arn.split("/")[1]
    role = call.world.table(scope_of(call.account, ""), "role").get(name)
    return str(role["arn"]) if role else f"arn:aws:iam::{call.account}:role/{name}"


def admit_nodes(call: Call, cluster: Record, role: str, kind: str = "EC2_LINUX") -> None:
    """Let the nodes of a node group or Fargate profile in. The entry stays when that goes.

    https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329
    """
    if mode_of(cluster) != _CONFIG_MAP and not _held(call, cluster, role):
        _add(call, cluster, role, kind, _identity_of(call, role) or "", {})


def works(call: Call, entry: Record) -> bool:
    """Whether the principal of an entry is still the one for which it was made: another of its name is not let in."""
    return _identity_of(call, entry["view"]["principalArn"]) == str(entry["identity"])


_NAMES = "clusterName principalArn"
_CREATE = f"{_NAMES} kubernetesGroups tags clientRequestToken username type"
_UPDATE = f"{_NAMES} kubernetesGroups clientRequestToken username"
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateAccessEntry", create_entry, _CREATE, Token("clientRequestToken", ACCESS_ENTRY, _reply, MISMATCH)),
    reads("DescribeAccessEntry", describe_entry, _NAMES),
    reads("ListAccessEntries", list_entries, "clusterName associatedPolicyArn maxResults nextToken"),
    writes("UpdateAccessEntry", update_entry, _UPDATE, Token("clientRequestToken", ACCESS_ENTRY, _reply, MISMATCH)),
    writes("DeleteAccessEntry", delete_entry, _NAMES),
    writes("AssociateAccessPolicy", associate_policy, f"{_NAMES} policyArn accessScope.type accessScope.namespaces"),
    writes("DisassociateAccessPolicy", disassociate_policy, f"{_NAMES} policyArn"),
    reads("ListAssociatedAccessPolicies", list_associated, f"{_NAMES} maxResults nextToken"),
    reads("ListAccessPolicies", access_policies.list_policies, "maxResults nextToken"),
)
