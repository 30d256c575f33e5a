"""The identity that created a resource: it distinguishes our create from that of a stranger who knows our nonce."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.engine.resources import Birth, Ref
from freehold.providers.ibm.calls import IbmClient
from freehold.providers.ibm.registry import ibm_kinds
from freehold.providers.ibm.session import ApiKey, Endpoints, IbmSession
from harness.account import BASE, SimMount

NONCE = "fabcdefghijkl"


@pytest.mark.parametrize("kind", ["workspace", "cos-instance"])
async def test_an_instance_shows_its_creator(account: Any, kind: str) -> None:
    """The intent records the identity that sends the create; both must have the same form."""
    requests = {"workspace": account.workspace(), "cos-instance": account.cos()}
    made = await account.create(kind, requests[kind])
    ours = await account.client.identity()
    assert ours == account.settings.iam_id
    seen = await account.look(kind, made)
    assert (made.created_by, seen.created_by) == (ours, ours)
    words = {"workspace": {"zone": "dal10"}, "cos-instance": {}}
    account.cloud.strangers.make(kind, name=f"theirs-{NONCE}", **words[kind])
    [theirs] = await account.by_nonce(kind, [], NONCE)
    assert theirs.created_by not in ("", ours)


async def test_an_unknown_creator_is_empty(account: Any) -> None:
    """Empty means unknown, which must not count as a different identity."""
    vpc = await account.create("vpc", account.vpc())
    gateway = await account.create("transit-gateway", account.gateway())
    assert (vpc.created_by, gateway.created_by) == ("", "")


async def test_the_identity_is_known_before_anything_is_created(account: Any) -> None:
    """An intent is recorded first: one token is fetched, and kept."""
    assert account.session.iam_id == ""
    assert await account.client.identity() == await account.client.identity() != ""
    assert account.requests() == ["iam.issue_token"]


async def test_a_resource_of_other_credentials_keeps_its_creator(account: Any) -> None:
    """Credentials rotate: an open intent has the identity that sent its create, not today's."""
    workspace = await account.ready("workspace", account.workspace())
    account.cloud.settings = replace(account.settings, api_key="rotated", iam_id="iam-ServiceId-1")
    session = IbmSession(ApiKey("rotated"), Endpoints.from_base(BASE), SimMount(account.cloud))
    driver = ibm_kinds(session, account.port)["workspace"].driver
    second = await driver.create(account.workspace("second"), Birth("token", NONCE))
    seen = await driver.observe([Ref(workspace.id), Ref(second.id)])
    assert seen[workspace.id].created_by == account.settings.iam_id
    assert seen[second.id].created_by == await IbmClient(session, account.port).identity() == "iam-ServiceId-1"
