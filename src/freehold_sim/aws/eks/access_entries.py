"""Access entries: which IAM principals a cluster lets in, once its authentication mode has the API.

https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html. The sentences of the refusals are those
of terraform-aws-modules/terraform-aws-eks#2915, #2969, #3024, #3048, #3293 and terraform-provider-aws#36447.
"""

from collections.abc import Sequence
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, not_served, reads, writes
from freehold_sim.aws.eks import access_policies, admission
from freehold_sim.aws.eks.admission import STANDARD
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
from freehold_sim.aws.world import Record

_NOT_SERVED = frozenset({"EC2", "HYPERPOD_LINUX"})
_RESERVED = ("system:", "eks:", "aws:", "amazon:", "iam:")


# -- what the cluster and the principal allow -------------------------------------------------------------------


def _cluster(call: Call) -> Record:
    """Return a cluster whose access entries can be used at all."""
    cluster = cluster_of(call, call.params["clusterName"])
    if admission.mode_of(cluster) == admission.CONFIG_MAP:
        text = "authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation."
        raise Refused("InvalidRequestException", f"The cluster's {text}")
    return cluster


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


def _checked_identity(call: Call, arn: str, kind: str) -> str:
    """Return the unique id of a principal that can have an entry of this type."""
    found = admission.PRINCIPAL.fullmatch(arn)
    if found is None:
        raise bad("The principalArn parameter format is not valid")
    if found["path"].startswith("aws-service-role/"):
        text = "modify access entries with a principalArn value of a Service Linked Role"
        raise bad(f"The caller is not allowed to {text}")
    role, identity = call.world.by_arn(arn), admission.identity_of(call.world, call.settings, arn)
    is_new = role is not None and not call.sees(role)
    of_nodes = kind != STANDARD and (found["kind"] != "role" or found["account"] != call.account)
    if identity is None or is_new or of_nodes:
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


# -- operations -------------------------------------------------------------------------------------------------


def create_entry(call: Call) -> dict[str, Any]:
    params, cluster = call.params, _usable(call)
    arn, kind, groups = params["principalArn"], params.get("type", STANDARD), params.get("kubernetesGroups", [])
    if kind in _NOT_SERVED:
        raise not_served(f"access entries of type {kind}")
    if kind != STANDARD and kind not in admission.OF_NODES:
        raise bad(f"The type {kind} of an access entry is not valid")
    identity = _checked_identity(call, arn, kind)
    if call.world.table(call.scope, ACCESS_ENTRY).get(f"{cluster['id']}/{arn}") is not None:
        raise in_use("The specified access entry resource is already in use on this cluster.")
    if kind != STANDARD and (groups or "username" in params):
        raise bad(f"kubernetesGroups and username can only be given with the type {STANDARD}")
    _check_names(params.get("username"), groups)
    check_tags(call, params.get("tags", {}))
    made = _add(call, cluster, arn, kind, identity)
    if kind == STANDARD:
        made["view"].update(kubernetesGroups=groups, username=params.get("username") or made["view"]["username"])
    return _reply(call, [made])


def _add(call: Call, cluster: Record, arn: str, kind: str, identity: str) -> Record:
    view = admission.view(call.world, cluster, arn, kind, call.now)
    fields = {"tags": dict(call.params.get("tags", {})), "identity": identity, "policies": {}}
    return call.add(ACCESS_ENTRY, f"{cluster['id']}/{arn}", view, view["accessEntryArn"], **fields)


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
