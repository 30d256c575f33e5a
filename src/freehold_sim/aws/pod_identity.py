"""The agent of EKS Pod Identity: gives the pods of a service account the role that is associated with it.

https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html. A pod asks the agent of its node over HTTP
(https://github.com/aws/eks-pod-identity-agent); here it is below the address of the simulated AWS.
"""

import json
from datetime import UTC, datetime
from typing import Any

from freehold_sim import service_accounts
from freehold_sim.aws import policies
from freehold_sim.aws.call import Call
from freehold_sim.aws.role_sessions import begin_session
from freehold_sim.aws.world import Record, World
from freehold_sim.http import Request, Response

PATH = "/eks-pod-identity-agent/v1/credentials"
OPERATION = "eks-auth.AssumeRoleForPodIdentity"
AUDIENCE = "pods.eks.amazonaws.com"
_SECONDS = 6 * 3600
"""https://docs.aws.amazon.com/eks/latest/userguide/pod-id-configure-pods.html says up to six hours."""


def is_asked(request: Request) -> bool:
    return request.path == PATH


def associate(world: World, namespace: str, name: str, role: str) -> None:
    """Associate a service account with a role, as CreatePodIdentityAssociation does."""
    world.data.setdefault("pod_identities", {})[f"{namespace}/{name}"] = role


def answer(call: Call, request: Request) -> Response:
    """Answer a pod. Refusals are text with 400, as those of the agent."""
    text = request.headers.get("authorization", "")
    if not text:
        return _refusal("Service account token cannot be empty")
    try:
        token = service_accounts.decode(text)
    except service_accounts.Malformed as bad:
        return _refusal(f"Service account token cannot be parsed: {bad}")
    except service_accounts.Forged:
        return _refusal(_of_service("InvalidTokenException", "The token included in the request is invalid."))
    if token.expires <= call.wall:  # https://github.com/boto/botocore/issues/3480
        return _refusal("Service account token failed basic claim validations: token is expired")
    if token.audience != AUDIENCE:
        return _refusal(_of_service("InvalidTokenException", "The audience of the token is not valid."))
    arn = call.world.data.get("pod_identities", {}).get(f"{token.namespace}/{token.name}", "")
    role = call.world.by_arn(arn)
    if role is None or not _trusts(role):
        return _refusal(_of_service("AccessDeniedException", "Unauthorized Exception! EKS does not have permissions"))
    begun = begin_session(call, role, role["account"], f"eks-sim-{token.name}", _SECONDS)
    return _reply(begun["Credentials"], role["account"])


def _trusts(role: Record) -> bool:
    """Whether the role trusts EKS: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html."""
    document = policies.parse(role["view"]["AssumeRolePolicyDocument"])
    given = document["Statement"]
    statements = [each for each in (given if isinstance(given, list) else [given]) if _names_eks(each)]
    wanted = ("sts:AssumeRole", "sts:TagSession")
    return all(policies.decide({"Statement": statements}, action, "*", {}) == "Allow" for action in wanted)


def _names_eks(statement: dict[str, Any]) -> bool:
    principal = statement.get("Principal", {})
    services = principal.get("Service", []) if isinstance(principal, dict) else []
    return AUDIENCE in ([services] if isinstance(services, str) else services)


def _reply(keys: dict[str, Any], account: str) -> Response:
    body = {
        "AccessKeyId": keys["AccessKeyId"], "SecretAccessKey": keys["SecretAccessKey"], "Token": keys["SessionToken"],
        "AccountId": account, "Expiration": datetime.fromtimestamp(keys["Expiration"], UTC).isoformat(),
    }  # fmt: skip
    return Response(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def _of_service(code: str, message: str) -> str:
    """Return a refusal of EKS as the agent passes it on (https://github.com/boto/botocore/issues/3117)."""
    return f"[00000000-0000-4000-a000-000000000000]: ({code}): {message}, fault: client"


def _refusal(text: str) -> Response:
    return Response(400, f"{text}\n".encode(), {"Content-Type": "text/plain; charset=utf-8"})
