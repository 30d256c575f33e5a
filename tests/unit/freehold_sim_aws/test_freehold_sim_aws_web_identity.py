"""Roles for service accounts: STS with a token of an issuer, and the agent of EKS Pod Identity."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from freehold_sim.aws import pod_identity
from freehold_sim.http import Request
from freehold_sim.service_accounts import ServiceAccountToken
from harness.cluster_credentials import ISSUER, NAME, NAMESPACE, pod_trust, web_trust
from harness.simulated_aws import ACCOUNT, OTHER_ACCOUNT, refused

AUDIENCE = "sts.amazonaws.com"


def _token(**fields: Any) -> ServiceAccountToken:
    now = int(time.time())
    return replace(ServiceAccountToken(ISSUER, NAMESPACE, NAME, AUDIENCE, now, now + 3600), **fields)


def _role(sim: Any, trust: str) -> str:
    return str(sim.iam.create_role(RoleName="operator", AssumeRolePolicyDocument=trust)["Role"]["Arn"])


@pytest.fixture
def role(sim: Any) -> str:
    sim.iam.create_open_id_connect_provider(Url=ISSUER, ClientIDList=[AUDIENCE])
    return _role(sim, web_trust(ACCOUNT))


def _assume(sim: Any, role: str, token: str) -> Any:
    """The service model says that the request is not signed."""
    return sim.sts.assume_role_with_web_identity(RoleArn=role, RoleSessionName="pod", WebIdentityToken=token)


def test_a_service_account_assumes_the_role_that_trusts_it(sim: Any, role: str) -> None:
    given = _assume(sim, role, _token().encode())
    assert given["SubjectFromWebIdentityToken"] == f"system:serviceaccount:{NAMESPACE}:{NAME}"
    assert given["Audience"] == AUDIENCE
    keys = given["Credentials"]
    sts = sim.client("sts", key=keys["AccessKeyId"], token=keys["SessionToken"])
    assert sts.get_caller_identity()["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/operator/pod"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"namespace": "other"}, "AccessDenied"),
        ({"name": "default"}, "AccessDenied"),
        ({"audience": "iam"}, "InvalidIdentityToken"),
        ({"issuer": "https://oidc.example/other"}, "InvalidIdentityToken"),
        ({"expires": 1}, "ExpiredTokenException"),
    ],
)
def test_a_token_of_another_service_account_issuer_audience_or_time_is_refused(
    sim: Any, role: str, fields: dict[str, Any], code: str
) -> None:
    with refused(code):
        _assume(sim, role, _token(**fields).encode())


def test_what_its_issuer_did_not_sign_is_no_token(sim: Any, role: str) -> None:
    head, _, signature = _token(name="default").encode().split(".")
    forged = f"{head}.{_token().encode().split('.')[1]}.{signature}"
    for text in (forged, "nothing"):
        with refused("InvalidIdentityToken"):
            _assume(sim, role, text)


def test_a_role_of_an_account_without_the_provider_is_refused(sim: Any, role: str) -> None:
    with refused("InvalidIdentityToken", "No OpenIDConnect provider found"):
        _assume(sim, role.replace(ACCOUNT, OTHER_ACCOUNT), _token().encode())


def test_a_role_that_trusts_everybody_else_is_refused(sim: Any, role: str) -> None:
    """A principal of IAM, even any, is no identity provider."""
    open_to_all = {"Effect": "Allow", "Principal": "*", "Action": "sts:*"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [open_to_all]})
    sim.iam.update_assume_role_policy(RoleName="operator", PolicyDocument=trust)
    with refused("AccessDenied"):
        _assume(sim, role, _token().encode())


# -- EKS Pod Identity ---------------------------------------------------------------------------------------------


def _ask(sim: Any, token: str) -> tuple[int, str]:
    headers = {"authorization": token} if token else {}
    response = sim.cloud.handle(Request("GET", pod_identity.PATH, {}, headers))
    return response.status, response.body.decode()


def test_the_agent_gives_the_role_that_is_associated_with_a_service_account(sim: Any) -> None:
    sim.cloud.strangers.associate(NAMESPACE, NAME, _role(sim, pod_trust()))
    token = _token(audience=pod_identity.AUDIENCE)
    status, body = _ask(sim, token.encode())
    assert (status, json.loads(body)["AccountId"]) == (200, ACCOUNT)
    refusals = {
        "": "Service account token cannot be empty",
        "Bearer x": "cannot be parsed",
        _token().encode(): "audience",
        replace(token, expires=1).encode(): "token is expired",
        replace(token, name="default").encode(): "AccessDeniedException",
    }
    for text, why in refusals.items():
        status, body = _ask(sim, text)
        assert status == 400 and why in body, body


def test_the_agent_gives_no_role_that_does_not_trust_it(sim: Any) -> None:
    only_assume = pod_trust().replace(', "sts:TagSession"', "")
    sim.cloud.strangers.associate(NAMESPACE, NAME, _role(sim, only_assume))
    status, body = _ask(sim, _token(audience=pod_identity.AUDIENCE).encode())
    assert status == 400 and "AccessDeniedException" in body
