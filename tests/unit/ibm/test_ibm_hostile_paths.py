"""Ids from a journal become path segments: none may resolve to another path or to a list."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from freehold.engine.errors import Invalid, NotReady
from freehold.engine.resources import Ref
from freehold.providers.ibm.registry import ibm_kinds
from freehold.providers.ibm.session import ApiKey, Endpoints, IbmSession

GUID = "d0d0d0d0-0000-4000-8000-000000000000"

FORGED: dict[str, tuple[str, str]] = {
    "a connection that is its gateway": ("transit-gateway-connection", f"{GUID}/.."),
    "a gateway that is the list": ("transit-gateway", "."),
    "a network that is its workspace": ("dhcp-server", f"{GUID}/network/.."),
    "a server that is the list": ("dhcp-server", f"{GUID}/dhcp/"),
    "a workspace that is the service": ("workspace", ".."),
    "a vpc that is the region": ("vpc", "us-south/.."),
}


@pytest.mark.parametrize(("kind", "forged"), FORGED.values(), ids=list(FORGED))
async def test_a_forged_id_reaches_no_other_resource(account: Any, kind: str, forged: str) -> None:
    """``DELETE .../transit_gateways/<id>/connections/..`` would be resolved to the URL of the gateway."""
    workspace = await account.ready("workspace", account.workspace())
    forged = forged.replace(GUID, workspace.id) if kind == "dhcp-server" else forged
    driver, ref = account.kinds[kind].driver, Ref(forged, workspace.target if kind == "dhcp-server" else "")
    before = len(account.cloud.calls)
    for ask in (driver.observe([ref]), driver.delete(ref)):
        with pytest.raises(Invalid):
            await ask
    assert not [call.path for call in account.cloud.calls[before:] if call.mutating]


@pytest.mark.parametrize("path", ["/v1/x/..", "/v1/x/.", "/v1//y", "/v1/x/../y", "/v1/x/", "/v1/x/%2e%2e"])
def test_no_request_has_a_segment_that_a_server_resolves(path: str) -> None:
    session = IbmSession(ApiKey("key"), Endpoints.from_base("http://cloud.invalid"))
    with pytest.raises(ValueError, match="path"):
        session.http.request("DELETE", f"http://cloud.invalid{path}")


def test_ordinary_paths_pass() -> None:
    """Quoted CRNs and names with dots in them are accepted."""
    session = IbmSession(ApiKey("key"), Endpoints.from_base("http://cloud.invalid"))
    for path in ("", "/", "/v2/resource_instances/crn%3Av1%3A%3A", "/v3/tags?attached_to=..", "/b/my..bucket"):
        with pytest.raises(requests.ConnectionError):
            session.http.request("GET", f"http://cloud.invalid{path}")


async def test_a_forged_target_does_not_affect_other_objects(account: Any) -> None:
    """One driver serves all objects: the zone of a workspace in one journal must not count for others.

    They would search for theirs in the wrong zone. For the object with the forged journal no existing resource
    counts as gone either.
    """
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    forged = workspace.target.replace(":dal10:", ":lon06:")
    fresh = ibm_kinds(account.session, account.port)

    with pytest.raises(NotReady, match="PowerVS does not know"):
        await fresh["dhcp-server"].driver.observe([Ref(server.id, forged)])

    assert set(await fresh["dhcp-server"].driver.observe([Ref(server.id, server.target)])) == {server.id}
    inside = await fresh["workspace"].deletion.container.children(Ref(workspace.id, workspace.target))
    assert [child.id for child in inside] == [server.id]
