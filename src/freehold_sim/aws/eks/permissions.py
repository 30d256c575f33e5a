"""What a call of EKS is about, and the permissions that it needs beside its own.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_eks.html
"""

from collections.abc import Iterator
from typing import NamedTuple

from freehold_sim.aws import kms
from freehold_sim.aws.call import Call
from freehold_sim.aws.eks.common import ACCESS_ENTRY, ADDON, CLUSTER, FARGATE_PROFILE, NODEGROUP
from freehold_sim.aws.world import Record

_PASSED = {
    "CreateCluster": "roleArn", "CreateNodegroup": "nodeRole", "CreateFargateProfile": "podExecutionRoleArn",
    "CreateAddon": "serviceAccountRoleArn", "UpdateAddon": "serviceAccountRoleArn",
}  # fmt: skip
"""The role that an operation passes to EKS, by operation."""

_PARTS = {
    "nodegroupName": NODEGROUP, "addonName": ADDON, "fargateProfileName": FARGATE_PROFILE,
    "principalArn": ACCESS_ENTRY,
}  # fmt: skip


class Permission(NamedTuple):
    """A further permission; `refusal` is the code of EKS's own for a call that lacks it, empty for the usual one."""

    action: str
    resource: str
    context: tuple[tuple[str, str], ...] = ()
    refusal: str = ""


def implied(call: Call) -> Iterator[Permission]:
    """Yield each further permission.

    Of the key that encrypts secrets: https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/2432
    """
    params = call.params
    if role := params.get(_PASSED.get(call.operation, "")):
        yield Permission("iam:PassRole", role, (("iam:passedtoservice", "eks.amazonaws.com"),))
    if call.operation == "CreateAccessEntry" and params.get("type", "").startswith("EC2_"):
        yield Permission("iam:PassRole", params["principalArn"], (("iam:passedtoservice", "ec2.amazonaws.com"),))
    if call.operation.startswith("Create") and params.get("tags"):
        yield Permission("eks:TagResource", _future(call))
    for row in params.get("encryptionConfig", ()):
        key = kms.usable(call, row.get("provider", {}).get("keyArn", ""))
        if key is not None:
            yield Permission("kms:DescribeKey", key["arn"], refusal="InvalidRequestException")
            alias = next((each.rpartition(":")[2] for each in key["aliases"]), "")
            yield Permission(
                "kms:CreateGrant", key["arn"], (("kms:resourcealiases", alias),), refusal="InvalidRequestException"
            )


def _future(call: Call) -> str:
    """Return the ARN that a create gives what it makes; the last word of a part's is not known before."""
    key = next((key for key in _PARTS if key in call.params), None)
    if key is None:
        return missing(call)
    kind, name = _PARTS[key].removeprefix("eks-").replace("-", ""), call.params[key]
    if key == "principalArn":
        kind, name = "access-entry", name.rpartition("/")[2]
    return f"arn:{call.partition}:eks:{call.region}:{call.account}:{kind}/{call.params['clusterName']}/{name}/new"


def named(call: Call) -> list[Record]:
    """Return the part of a cluster that a call names, if it is there, else the cluster."""
    params = call.params
    if "resourceArn" in params:
        record = call.world.by_arn(params["resourceArn"])
        return [] if record is None else [record]
    cluster = params.get("clusterName", params.get("name"))
    found = call.world.table(call.scope, CLUSTER).get(cluster or "")
    for key, kind in _PARTS.items():
        part = call.world.table(call.scope, kind).get(f"{cluster}/{params.get(key)}")
        if part is not None and not call.operation.startswith("Create"):
            found = part
    return [] if found is None else [found]


def missing(call: Call) -> str:
    """Return the ARN of a cluster that is not there; "*" for a call that names none."""
    cluster = call.params.get("clusterName", call.params.get("name"))
    return f"arn:{call.partition}:eks:{call.region}:{call.account}:cluster/{cluster}" if cluster else "*"
