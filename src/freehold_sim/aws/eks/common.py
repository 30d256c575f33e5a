"""What the resources of EKS share: tags, missing ones, pages, roles."""

import json
from collections.abc import Mapping
from typing import Any

from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.paging import BadToken, page
from freehold_sim.aws.tagging import why_not
from freehold_sim.aws.world import Record, World, scope_of

CLUSTER, NODEGROUP, ADDON = "eks-cluster", "eks-nodegroup", "eks-addon"
ACCESS_ENTRY = "eks-access-entry"
FARGATE_PROFILE = "eks-fargate-profile"
PARTS = (NODEGROUP, ADDON, ACCESS_ENTRY, FARGATE_PROFILE)
"""What a cluster can have; the view of each has its `clusterName`."""
UPDATE = "eks-update"
"""An update: its record has the name of its `cluster`, the `part` that it changes (``addon/NAME``) and when it is
`done`."""
MISMATCH = "InvalidParameterException"
"""Code of a client token that was used with other parameters (assumed: EKS documents none)."""


def bad(text: str) -> Refused:
    return Refused("InvalidParameterException", text)


def missing(text: str) -> Refused:
    return Refused("ResourceNotFoundException", text, 404)


def in_use(text: str) -> Refused:
    return Refused("ResourceInUseException", text, 409)


def why_failed(call: Call) -> str:
    """Return the reason that EKS tells for what a fault `failed` ends."""
    return call.fault.message if call.fault and call.fault.message else "An internal error has occurred"


def cluster_of(call: Call, name: str) -> Record:
    record = call.get(CLUSTER, name)
    if record is None:
        raise missing(f"No cluster found for name: {name}.")
    return record


def active_cluster(call: Call) -> Record:
    record = cluster_of(call, call.params["clusterName"])
    if record["view"]["status"] != "ACTIVE":
        raise Refused("InvalidRequestException", f"Cluster '{record['id']}' is not in ACTIVE status")
    return record


def check_role(call: Call, arn: str, service: str = "") -> None:
    """Refuse a role that is not there, or that does not trust `service`.

    https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2406
    """
    role = call.world.by_arn(arn)
    if role is None or role["kind"] != "role" or role["account"] != call.account or not _trusts(role, service):
        reason = "it does not exist or the trusted entity is not correct"
        raise bad(f"Role with arn: {arn}, could not be assumed because {reason}")


def _trusts(role: Record, service: str) -> bool:
    """Whether a statement lets the service assume the role; its conditions are not looked at."""
    statements = json.loads(role["view"]["AssumeRolePolicyDocument"])["Statement"]
    for statement in statements if isinstance(statements, list) else [statements]:
        who = statement.get("Principal")
        named = who.get("Service", []) if isinstance(who, dict) else who
        allowed = {named} if isinstance(named, str) else set(named or ())
        if statement["Effect"] == "Allow" and allowed & {service, "*"}:
            return True
    return not service


def check_tags(call: Call, tags: Mapping[str, str]) -> None:
    for key, value in tags.items():
        if problem := why_not(key, value):
            raise bad(problem)
    if len(tags) > call.settings.quotas.tags:
        raise bad(f"A resource has at most {call.settings.quotas.tags} tags")


def shown(record: Record) -> dict[str, Any]:
    return {**record["view"], "tags": dict(record["tags"])}


def listed(call: Call, key: str, names: list[Any]) -> dict[str, Any]:
    size = call.params.get("maxResults", 100)
    try:
        found, more = page(call, list(enumerate(names, 1)), call.params.get("nextToken"), size)
    except BadToken:
        raise bad("Invalid token") from None
    return {key: found, **({"nextToken": more} if more else {})}


def remove_parts(world: World, cluster: Record, now: float) -> None:
    """Remove what a cluster has when it goes."""
    scope = scope_of(cluster["account"], cluster["region"])
    for kind in PARTS:
        rows = [row for row in world.table(scope, kind).values() if row["view"]["clusterName"] == cluster["id"]]
        for row in rows:
            world.remove(row, now)
    for row in [row for row in world.table(scope, UPDATE).values() if row["cluster"] == cluster["id"]]:
        world.remove(row, now)
