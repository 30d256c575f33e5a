"""PowerVS workspaces: which one is wanted, to which one a request goes, and what is inside it."""

from __future__ import annotations

from typing import Any

from freehold.engine.resources import Observed, Ref, State
from harness.account import GROUP

NONCE = "fabcdefg"
OTHER = "fzzzzzzz"
OTHER_GROUP = "22222222222222222222222222222222"


async def _two_servers(account: Any) -> list[tuple[Observed, Observed]]:
    """Two workspaces in one zone, each with a DHCP server."""
    made = []
    for name, nonce in (("one", NONCE), ("other", OTHER)):
        workspace = await account.ready("workspace", account.workspace(name), nonce)
        made.append((workspace, await account.ready("dhcp-server", account.dhcp(workspace, name), nonce)))
    return made


async def test_a_network_that_others_created_in_a_workspace_is_listed_in_it(account: Any) -> None:
    """The delete of a workspace destroys it; only listed contents are checked before that."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    net = account.cloud.strangers.make("network", region="dal", workspace=workspace.id, name="theirs")
    inside = await account.kinds["workspace"].deletion.container.children(Ref(workspace.id, workspace.target))
    theirs = (f"{workspace.id}/network/{net['id']}", "theirs", State.READY)
    assert [(one.id, one.name, one.state) for one in inside] == [(server.id, server.name, State.READY), theirs]


async def test_the_network_of_another_server_does_not_count_as_left_behind_by_ours(account: Any) -> None:
    """A workspace may have one DHCP server after another. Otherwise the network would hold our delete."""
    workspace = await account.ready("workspace", account.workspace())
    ours = await account.ready("dhcp-server", account.dhcp(workspace))
    for ident in (ours.attributes["id"], ours.attributes["network_id"]):
        account.cloud.strangers.delete(ident)
    theirs = account.cloud.strangers.make("dhcp", region="dal", workspace=workspace.id, name="theirs")
    account.cloud.strangers.delete(theirs["id"])
    left = await account.kinds["workspace"].deletion.container.children(Ref(workspace.id, workspace.target))
    assert [one.state for one in left] == [State.DELETING], "the network of their server outlives it"
    assert await account.look("dhcp-server", ours) is None


async def test_a_forged_target_does_not_empty_a_workspace(account: Any) -> None:
    """A journal may be restored or edited. The list of another workspace shows nothing about this one."""
    [(workspace, server), (other, _)] = await _two_servers(account)
    inside = await account.kinds["workspace"].deletion.container.children(Ref(workspace.id, other.target))
    assert [one.id for one in inside] == [server.id]


async def test_a_forged_target_does_not_redirect_requests_to_another_workspace(account: Any) -> None:
    """A DHCP server is not found in the wrong workspace, and would count as gone."""
    [(_, server), (other, stays)] = await _two_servers(account)
    before = len(account.cloud.calls)
    seen = await account.kinds["dhcp-server"].driver.observe([Ref(server.id, stays.target)])
    assert [one.state for one in seen.values()] == [State.READY]
    await account.kinds["dhcp-server"].driver.delete(Ref(server.id, other.target))
    assert [call.path for call in account.cloud.calls[before:] if other.id in call.path] == []
    account.clock.advance(account.kinds["dhcp-server"].deletion.usual_time)
    assert await account.look("dhcp-server", server) is None
    assert await account.look("dhcp-server", stays) is not None


async def test_a_namesake_in_another_zone_is_not_the_wanted_workspace(account: Any) -> None:
    """Names are not unique. A network and its machines cannot be in another zone than their workspace."""
    account.cloud.strangers.make("workspace", zone="dal12", name="ws", group=GROUP)
    assert await account.find("workspace", account.workspace()) == []
    want = account.want("workspace", account.workspace())
    assert await account.by_nonce("workspace", [], NONCE, want) == []


async def test_a_namesake_in_another_resource_group_is_not_the_wanted_workspace(account: Any) -> None:
    """The final check lists every group: a resource found by name must be in the requested group."""
    account.cloud.strangers.make("workspace", zone="dal10", name="ws", group=OTHER_GROUP)
    want = account.want("workspace", account.workspace())
    assert await account.by_nonce("workspace", [], NONCE, want) == []
    near = account.cloud.strangers.make("workspace", zone="dal10", name="ws", group=GROUP)
    assert [one.id for one in await account.by_nonce("workspace", [], NONCE, want)] == [near["id"]]


async def test_a_workspace_whose_nonce_is_in_capitals_is_found(account: Any) -> None:
    """Instance names keep their case; a workspace that is not recognised would be created a second time."""
    made = await account.create("workspace", account.workspace())
    account.cloud.strangers.rename(made.id, made.name.upper())
    assert [one.id for one in await account.find("workspace", account.workspace(), NONCE)] == [made.id]
