"""A trusted profile: requests are made under it, with tokens for which the API key's own are exchanged."""

from __future__ import annotations

from typing import Any

import pytest
from ibm_cloud_sdk_core.authenticators import IAMAssumeAuthenticator
from requests import Request, Session

from freehold.engine.errors import Denied
from freehold.engine.resources import Birth
from freehold.providers.ibm.calls import IbmClient
from freehold.providers.ibm.registry import ibm_kinds
from freehold.providers.ibm.session import ApiKey, Endpoints, IbmSession
from harness.account import BASE, SimMount


def _session(account: Any, profile: str) -> IbmSession:
    return IbmSession(ApiKey(account.settings.api_key, profile), Endpoints.from_base(BASE), SimMount(account.cloud))


async def test_what_is_made_is_made_by_the_profile(account: Any) -> None:
    """Its access groups say what may be done, and an intent records it as the creator."""
    [profile] = account.settings.trusted_profiles
    session = _session(account, profile)
    driver = ibm_kinds(session, account.port)["workspace"].driver
    made = await driver.create(account.workspace(), Birth("token", "fabcdefghijkl"))
    assert made.created_by == await IbmClient(session, account.port).identity() == f"iam-{profile}"
    assert await IbmClient(session, account.port).account() == account.settings.account_id
    assert account.requests().count("iam.issue_token") == 2


async def test_a_profile_that_does_not_trust_the_key_is_a_refusal_that_names_it(account: Any) -> None:
    with pytest.raises(Denied, match="Selected trusted profile not eligible"):
        await IbmClient(_session(account, "Profile-of-others"), account.port).account()


def test_no_token_of_the_key_or_the_profile_is_in_a_message(account: Any) -> None:
    [profile] = account.settings.trusted_profiles
    session = _session(account, profile)
    tokens = f"{session.tokens.get_token()} {session.tokens.exchanged}"
    assert len(tokens) > 100
    assert session.scrub(f"refused: {tokens}") == "refused: *** ***"


def test_the_simulated_iam_understands_the_authenticator_of_the_vendor(account: Any) -> None:
    """Its own client sends the same request as ours."""
    [profile] = account.settings.trusted_profiles
    authenticator = IAMAssumeAuthenticator(account.settings.api_key, iam_profile_id=profile, url=f"{BASE}/iam")
    assert authenticator.token_manager.request_payload["grant_type"] == "urn:ibm:params:oauth:grant-type:assume"
    session = Session()
    SimMount(account.cloud).http(session)
    own = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": account.settings.api_key}
    first = session.send(session.prepare_request(Request("POST", f"{BASE}/iam/identity/token", data=own))).json()
    form = {**authenticator.token_manager.request_payload, "access_token": first["access_token"], "profile_id": profile}
    assumed = session.send(session.prepare_request(Request("POST", f"{BASE}/iam/identity/token", data=form)))
    assert assumed.status_code == 200
    refused = session.send(
        session.prepare_request(Request("POST", f"{BASE}/iam/identity/token", data={**form, "access_token": "forged"}))
    )
    assert refused.status_code == 400
