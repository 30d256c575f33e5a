"""Whether the caller may do what a call asks: the account's administrator may do everything, a role session what its
policies and its session policy both allow, for each resource that the call names."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from freehold_sim.aws import policies, secrets
from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.eks import permissions as of_eks
from freehold_sim.aws.errors import CODES
from freehold_sim.aws.tag_conditions import knows_resource_tags
from freehold_sim.aws.world import Record, scope_of

_PREFIXES = {"elb": "elasticloadbalancing", "elbv2": "elasticloadbalancing", "resourcegroupstaggingapi": "tag"}
_S3_ACTIONS = {"HeadBucket": "ListBucket", "ListObjectsV2": "ListBucket", "HeadObject": "GetObject",
               "ListBuckets": "ListAllMyBuckets", "DeleteObjects": "DeleteObject",
               "DeleteBucketTagging": "PutBucketTagging",
               "GetBucketEncryption": "GetEncryptionConfiguration",
               "PutBucketEncryption": "PutEncryptionConfiguration",
               "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
               "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
               "DeleteBucketLifecycle": "PutLifecycleConfiguration",
               "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
               "PutPublicAccessBlock": "PutBucketPublicAccessBlock"}  # fmt: skip
"""Where an action is not named after its operation
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html)."""

_OF_RULES = frozenset(
    f"{verb}SecurityGroup{direction}" for verb in ("Authorize", "Revoke") for direction in ("Ingress", "Egress")
)
"""Permission for these is asked on the group whose rules change, not on the rules or on the groups that they name
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_examples_ec2_securitygroups-vpc.html)."""

_FREE = frozenset({("sts", "GetCallerIdentity")})
"""What everybody may ask, whatever a policy says."""


def authorize(call: Call) -> None:
    """Refuse a call that the caller's policies do not allow."""
    who = call.principal
    if (who.policies is None and who.session_policies is None) or (call.service, call.operation) in _FREE:
        return
    for implied in _implied(call):
        if not _allowed(
            call,
            implied.action,
            implied.resource,
            _context(call, None) | {key: [value] for key, value in implied.context},
        ):
            code, status = CODES[call.service].denied
            text = f"User: {who.arn} is not authorized to perform: {implied.action} on resource: {implied.resource}"
            raise Refused(implied.refusal or code, text, status)
    action = _action(call)
    records: list[Record | None] = [*_named(call)]
    for record in records or [None]:
        resource = record["arn"] if record else _missing(call)
        if not _allowed(call, action, resource, _context(call, record)):
            code, status = CODES[call.service].denied
            text = f"{who.arn} is not authorized to perform: {action} on resource: {resource}"
            raise Refused(code, f"User: {text} because no policy allows the action", status)


_TAGS = {"ec2": ("CreateTags", "DeleteTags"), "elasticloadbalancing": ("AddTags", "RemoveTags"),
         "s3": ("PutBucketTagging", "PutBucketTagging"), "iam": ("TagRole", "UntagRole"),
         "oidc-provider": ("TagOpenIDConnectProvider", "UntagOpenIDConnectProvider"),
         "eks": ("TagResource", "UntagResource"), "secretsmanager": ("TagResource", "UntagResource")}  # fmt: skip
"""The services' own permissions to tag and to untag, by the service in an ARN or by the type. The tagging API asks for
them too (https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_TagResources.html)."""


class _Implied(NamedTuple):
    """A permission that a call needs beside its own; `refusal` is the code where it is not the service's own."""

    action: str
    resource: str = "*"
    context: tuple[tuple[str, str], ...] = ()
    refusal: str = ""


def _service_role(service: str, refusal: str = "") -> _Implied:
    """Name the permission to let a service make its role, which it does once."""
    return _Implied("iam:CreateServiceLinkedRole", "*", (("iam:awsservicename", f"{service}.amazonaws.com"),), refusal)


def _implied(call: Call) -> list[_Implied]:
    """Return the permissions that a call needs beside its own.

    Of a create with tags: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/supported-iam-actions-tagging.html and
    https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/tagging-resources-during-creation.html
    """
    if call.operation in {"TagResources", "UntagResources"}:
        untags = call.operation == "UntagResources"
        kinds = sorted({_tagged_kind(arn) for arn in call.params.get("ResourceARNList", []) if arn.count(":") > 4})
        return [_Implied(f"{name}:{_TAGS[kind][untags]}") for name, kind in kinds if kind in _TAGS]
    found: list[_Implied] = []
    if call.service in {"elb", "elbv2"} and call.operation == "CreateLoadBalancer" and not _has_balancers(call):
        found.append(_service_role("elasticloadbalancing"))
    if call.service in {"elb", "elbv2"} and call.operation.startswith("Create") and call.params.get("Tags"):
        found.append(_Implied("elasticloadbalancing:AddTags"))
    if call.service == "ec2" and call.params.get("TagSpecifications"):
        found.append(_Implied("ec2:CreateTags"))
    if call.operation == "CreateBucket" and call.params.get("CreateBucketConfiguration", {}).get("Tags"):
        found.append(_Implied("s3:TagResource"))
    if call.operation == "CreateSecret" and call.params.get("Tags"):
        found.append(_Implied("secretsmanager:TagResource", _missing(call)))
    if call.operation == "RunInstances":
        found += _implied_by_launch(call)
    if call.operation == "CreateRole" and call.params.get("Tags"):
        found.append(_Implied("iam:TagRole", _missing(call)))
    if call.operation == "CreateOpenIDConnectProvider" and call.params.get("Tags"):
        found.append(_Implied("iam:TagOpenIDConnectProvider", _missing(call)))
    if call.service == "eks":
        found += (_Implied(*each) for each in of_eks.implied(call))
    return found


def _tagged_kind(arn: str) -> tuple[str, str]:
    """Return the service of an ARN, and the row of `_TAGS` for it."""
    parts = arn.split(":", 5)
    return parts[2], "oidc-provider" if parts[5].startswith("oidc-provider/") else parts[2]


def _implied_by_launch(call: Call) -> Iterator[_Implied]:
    """Yield what a launch needs for the role that it passes to instances, and for the first spot instance.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html,
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
    """
    given = call.params.get("IamInstanceProfile", {})
    name = given.get("Name") or str(given.get("Arn", "")).rpartition("/")[2]
    of_account = scope_of(call.account, "")
    profile, roles = call.world.table(of_account, "instance-profile").get(name), call.world.table(of_account, "role")
    for role in profile["roles"] if profile else ():
        yield _Implied("iam:PassRole", roles[role]["arn"], (("iam:passedtoservice", "ec2.amazonaws.com"),))
    is_spot = call.params.get("InstanceMarketOptions", {}).get("MarketType") == "spot"
    if is_spot and not call.all("spot-instances-request"):
        yield _service_role("spot", "AuthFailure.ServiceLinkedRoleCreationNotPermitted")


def _has_balancers(call: Call) -> bool:
    tables = call.world.data["resources"].get(call.scope, {})
    return any(tables.get(kind) for kind in ("classic-balancer", "balancer"))


def _action(call: Call) -> str:
    name = _S3_ACTIONS.get(call.operation, call.operation) if call.service == "s3" else call.operation
    return f"{_PREFIXES.get(call.service, call.service)}:{name}"


def _allowed(call: Call, action: str, resource: str, context: policies.Context) -> bool:
    """Both the role's policies and the session's must allow it; of each sort one that allows and none that denies."""
    for documents in (call.principal.session_policies, call.principal.policies):
        if documents is None:
            continue
        verdicts = {policies.decide(each, action, resource, context) for each in documents}
        if "Deny" in verdicts or "Allow" not in verdicts:
            return False
    return True


def _named(call: Call) -> list[Record]:
    """Return the existing resources that the parameters name by id, name or ARN, unless the call only lists."""
    if call.service in {"ec2", "elb", "elbv2"} and call.operation.startswith("Describe"):
        return []  # these know no resource-level permissions for their lists
    if call.service == "eks":
        return of_eks.named(call)
    found: dict[str, Record] = {}
    tables = call.world.data["resources"].get(call.scope, {}).values()
    params = call.params
    if call.operation in _OF_RULES:
        params = {"GroupId": params.get("GroupId", "")}
    for text in _texts(params):
        record = call.world.by_arn(text)
        rows = [record] if record else [table[text] for table in tables if text in table]
        found.update({row["arn"] or row["id"]: row for row in rows if row["arn"]})
    return list(found.values())


def _missing(call: Call) -> str:
    """Return what a call is about that names nothing which exists: by its future name, else anything."""
    if call.service == "eks":
        return of_eks.missing(call)
    if call.service == "iam" and "Url" in call.params:
        return f"arn:aws:iam::{call.account}:oidc-provider/{call.params['Url'].removeprefix('https://')}"
    if call.service == "iam" and "RoleName" in call.params:
        return f"arn:aws:iam::{call.account}:role{call.params.get('Path', '/')}{call.params['RoleName']}"
    if "OpenIDConnectProviderArn" in call.params:
        return str(call.params["OpenIDConnectProviderArn"])
    name = call.params.get("SecretId", call.params.get("Name")) if call.service == "secretsmanager" else None
    if name is None:
        return "*"
    return str(name) if name.startswith("arn:") else secrets.arn_of(call, name, "000000")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in {"Tags", "tags", "TagSpecifications"}:
                yield from _texts(each)


def _context(call: Call, record: Record | None) -> dict[str, list[str]]:
    context = {"aws:requestedregion": [call.region], "aws:principalarn": [call.principal.arn]}
    known = record["tags"] if record and knows_resource_tags(call.service, call.operation) else {}
    for key, value in known.items():
        context[f"aws:resourcetag/{key}"] = [value]
        context[f"{_PREFIXES.get(call.service, call.service)}:resourcetag/{key}"] = [value]
    asked = dict(_request_tags(call.params))
    for key, value in asked.items():
        context[f"aws:requesttag/{key}"] = [value]
    keys = [*asked, *(str(key) for key in call.params.get("TagKeys", []))]
    if keys:
        context["aws:tagkeys"] = keys
    return context


def _request_tags(params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("Tags", "tags"):
        given = params.get(name, [])
        if isinstance(given, dict):
            yield from given.items()
        else:
            yield from ((tag["Key"], tag.get("Value", "")) for tag in given if "Key" in tag)
    for specification in params.get("TagSpecifications", []):
        yield from ((tag["Key"], tag.get("Value", "")) for tag in specification.get("Tags", []) if "Key" in tag)
