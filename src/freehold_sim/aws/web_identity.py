"""Roles for service accounts: STS takes the token of one that an identity provider of IAM vouches for.

https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html. Such a request is not signed.
"""

import json
from collections.abc import Mapping
from typing import Any

from freehold_sim import service_accounts
from freehold_sim.aws import policies
from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.credentials import Principal, Scope
from freehold_sim.aws.iam.common import OIDC_PROVIDER
from freehold_sim.aws.protocols import query
from freehold_sim.aws.role_sessions import begin_session, check_duration
from freehold_sim.aws.world import Record, scope_of
from freehold_sim.http import Request

ACTION = "AssumeRoleWithWebIdentity"
NOBODY = Principal("", "", "")
"""The caller of an unsigned request."""


def scope_of_unsigned(request: Request) -> Scope | None:
    """Return the scope of the one request that needs no signature, None for another one."""
    if request.method != "POST" or request.path.strip("/"):
        return None
    fields = query.form(request.body, request.query)
    return Scope("", "", "sts") if fields.get("Action") == ACTION else None


def assume_role(call: Call) -> dict[str, Any]:
    params = call.params
    arn, token = params["RoleArn"], _read(params["WebIdentityToken"])
    account, _, name = arn.removeprefix("arn:aws:iam::").partition(":role/")
    provider = _provider(call, account, token)
    if token.expires <= call.wall:
        text = f"current date/time {int(call.wall)} must be before the expiration date/time {token.expires}"
        # https://github.com/awslabs/aws-orbit-workbench/issues/707
        raise Refused("ExpiredTokenException", f"Token expired: {text}")
    role = call.world.table(scope_of(account, ""), "role").get(name.rpartition("/")[2])
    if role is None or role["arn"] != arn or not _trusts(role, provider, token):
        # https://github.com/aws-actions/configure-aws-credentials/issues/1446
        raise Refused("AccessDenied", f"Not authorized to perform sts:{ACTION}", 403)
    check_duration(role, params.get("DurationSeconds", 3600))
    begun = begin_session(call, role, account, params["RoleSessionName"], params.get("DurationSeconds", 3600))
    return {
        **begun,
        "SubjectFromWebIdentityToken": token.subject,
        "Audience": token.audience,
        "Provider": provider["arn"],
    }


def _read(text: str) -> service_accounts.ServiceAccountToken:
    try:
        return service_accounts.decode(text)
    except service_accounts.Malformed:
        raise Refused("InvalidIdentityToken", "The ID Token provided is not a valid JWT.") from None
    except service_accounts.Forged:
        text = "Couldn't retrieve verification key from your identity provider"
        raise Refused("InvalidIdentityToken", f"{text}, please reference documentation for requirements") from None


def _provider(call: Call, account: str, token: service_accounts.ServiceAccountToken) -> Record:
    """Return the account's identity provider for the issuer of the token, if it takes its audience.

    https://github.com/aws-actions/configure-aws-credentials/issues/721,
    https://github.com/awslabs/amazon-eks-irsa-cfn/pull/18
    """
    name = token.issuer.removeprefix("https://")
    found = call.world.table(scope_of(account, ""), OIDC_PROVIDER).get(name)
    if found is None:
        raise Refused("InvalidIdentityToken", f"No OpenIDConnect provider found in your account for {token.issuer}")
    if token.audience not in found["view"]["ClientIDList"]:
        raise Refused("InvalidIdentityToken", "Incorrect token audience")
    return found


def _trusts(role: Record, provider: Record, token: service_accounts.ServiceAccountToken) -> bool:
    """Whether the trust policy names the provider, and its conditions hold for the token."""
    document = json.loads(role["view"]["AssumeRolePolicyDocument"])
    given = document["Statement"]
    statements = [each for each in (given if isinstance(given, list) else [given]) if _names(each, provider["arn"])]
    host, slash, path = provider["view"]["Url"].partition("/")
    name = f"{host.lower()}{slash}{path}"
    context = {f"{name}:sub": [token.subject], f"{name}:aud": [token.audience]}
    return policies.decide({"Statement": statements}, f"sts:{ACTION}", "*", context) == "Allow"


def _names(statement: Mapping[str, Any], provider: str) -> bool:
    principal = statement.get("Principal", {})
    federated = principal.get("Federated", []) if isinstance(principal, dict) else []
    return provider in ([federated] if isinstance(federated, str) else federated)
