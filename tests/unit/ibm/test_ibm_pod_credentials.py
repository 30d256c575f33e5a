"""A pod without an API key: IAM knows it by the token of its service account, and gives it a trusted profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ibm_cloud_sdk_core.authenticators import ContainerAuthenticator
from requests import Request, Session

from freehold.engine.errors import Denied
from freehold.providers.ibm import access
from freehold.providers.ibm.access import access_of, has_credentials
from freehold.providers.ibm.calls import IbmClient
from freehold.providers.ibm.session import ComputeResource, Endpoints, IbmSession
from freehold.providers.ibm.tokens import COMPUTE
from harness.account import BASE, SimMount
from harness.cluster_credentials import TokenFile


@pytest.fixture
def token(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "sa-token", "iam")


def _client(account: Any, file: Path, profile: str = "") -> IbmClient:
    credentials = ComputeResource(profile or account.settings.trusted_profiles[0], str(file))
    session = IbmSession(credentials, Endpoints.from_base(BASE), SimMount(account.cloud))
    return IbmClient(session, account.port)


async def test_a_pod_acts_as_the_trusted_profile_of_its_service_account(account: Any, token: TokenFile) -> None:
    client = _client(account, token.path)
    assert await client.identity() == f"iam-{account.settings.trusted_profiles[0]}"
    assert await client.account() == account.settings.account_id
    assert account.requests().count("iam.issue_token") == 1, "no key, so nothing is exchanged twice"


async def test_a_renewed_token_is_read_for_the_next_access_token(account: Any, token: TokenFile) -> None:
    client = _client(account, token.path)
    await client.account()
    token.renew(expires=1)
    client.session.tokens.forget(client.session.tokens.access_token)
    with pytest.raises(Denied):
        await client.account()
    token.renew()
    assert await client.account() == account.settings.account_id


@pytest.mark.parametrize(
    "fields", [{"namespace": "other"}, {"name": "default"}, {"audience": "sts.amazonaws.com"}, {"expires": 1}]
)
async def test_a_token_that_is_not_linked_is_refused_with_what_to_do(
    account: Any, token: TokenFile, fields: dict[str, Any]
) -> None:
    secret = token.renew(**fields)
    with pytest.raises(Denied) as refused:
        await _client(account, token.path).account()
    assert "trusted-profile-link-create" in str(refused.value)
    assert str(token.path) in str(refused.value)
    assert secret not in str(refused.value)


async def test_another_profile_and_a_forged_token_are_refused(account: Any, token: TokenFile) -> None:
    with pytest.raises(Denied, match="the trusted profile Profile-of-others"):
        await _client(account, token.path, "Profile-of-others").account()
    token.path.write_text("x.y.z", encoding="utf-8")
    with pytest.raises(Denied):
        await _client(account, token.path).account()


@pytest.mark.parametrize("content", [None, b"", b"\xff"])
async def test_a_token_file_that_is_no_text_is_named(account: Any, token: TokenFile, content: bytes | None) -> None:
    token.path.unlink() if content is None else token.path.write_bytes(content)
    with pytest.raises(Denied) as refused:
        await _client(account, token.path).account()
    assert str(token.path) in str(refused.value)
    assert account.requests() == []


def test_no_token_of_the_pod_or_the_profile_is_in_a_message(account: Any, token: TokenFile) -> None:
    session = _client(account, token.path).session
    tokens = f"{session.tokens.get_token()} {token.path.read_text(encoding='utf-8')}"
    assert session.scrub(f"refused: {tokens}") == "refused: *** ***"


def test_a_pod_with_a_profile_and_its_token_has_credentials(token: TokenFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key goes before the token; a profile alone is no credential."""
    monkeypatch.setattr(access, "USUAL_TOKEN_FILE", str(token.path.parent / "missing"))
    profile = {"FREEHOLD_IBM_PROFILE": "Profile-1"}
    named = {**profile, "FREEHOLD_IBM_TOKEN_FILE": str(token.path)}
    assert not has_credentials(profile)
    assert not has_credentials({"FREEHOLD_IBM_TOKEN_FILE": str(token.path)})
    assert has_credentials(named)
    assert (access_of(named, "").token_file, access_of(named, "").has_own) == (str(token.path), True)
    assert access_of({**named, "IBMCLOUD_API_KEY": "k"}, "").token_file == ""
    monkeypatch.setattr(access, "USUAL_TOKEN_FILE", str(token.path))
    assert access_of(profile, "").token_file == str(token.path)


def test_the_simulated_iam_understands_the_authenticator_of_the_vendor(account: Any, token: TokenFile) -> None:
    """Its own client sends the same request as ours."""
    [profile] = account.settings.trusted_profiles
    vendor = ContainerAuthenticator(cr_token_filename=str(token.path), iam_profile_id=profile, url=f"{BASE}/iam")
    assert vendor.token_manager.request_payload["grant_type"] == COMPUTE
    form = {**vendor.token_manager.request_payload, "profile_id": profile}
    form["cr_token"] = vendor.token_manager.retrieve_cr_token()
    session = Session()
    SimMount(account.cloud).http(session)
    given = session.send(session.prepare_request(Request("POST", f"{BASE}/iam/identity/token", data=form)))
    assert given.status_code == 200
