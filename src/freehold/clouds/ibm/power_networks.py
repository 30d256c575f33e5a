"""DHCP servers and networks of a PowerVS workspace, as values (reference ibm-cloud.md §1.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from freehold.clouds.ibm import crn
from freehold.clouds.ibm.calls import Caller, Json


class PowerNetworks:
    """Every operation needs the workspace's CRN: it names the endpoint, and goes into a header."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._crns: dict[str, str] = {}

    async def workspace(self, guid: str, target: str = "", zone: str = "") -> str:
        """The CRN of a workspace: from a CRN in it, from its zone, else asked. Raises NotFound.

        Only the cloud's own answer is kept: this serves all objects, and the journal of one may be forged.
        """
        if guid in self._crns:
            return self._crns[guid]
        parsed = crn.parse(target)
        if parsed and parsed.service == "power-iaas" and parsed.instance == guid:
            return ":".join(target.split(":")[:8]) + "::"
        if zone:
            return f"crn:v1:bluemix:public:power-iaas:{zone}:a/{await self._caller.account()}:{guid}::"
        sdk = self._caller.session.resource_controller
        body = await self._caller.read(
            "rc", "get_resource_instance", lambda: sdk().get_resource_instance(guid), f"workspace {guid}"
        )
        self._crns[guid] = str(body["crn"])
        return self._crns[guid]

    async def servers(self, workspace: str) -> list[Json]:
        """The DHCP servers; none when the workspace is gone."""
        return list(await self._look(workspace, "list_dhcp", f"in workspace {_guid(workspace)}") or ())

    async def server(self, workspace: str, ident: str) -> Json | None:
        body: Json | None = await self._look(workspace, "get_dhcp", f"dhcp server {ident}", ident)
        return body

    async def networks(self, workspace: str) -> list[Json]:
        """The networks; none when the workspace is gone. ``crn`` may be missing."""
        body = await self._look(workspace, "list_networks", f"in workspace {_guid(workspace)}")
        return list(body["networks"]) if body else []

    async def network(self, workspace: str, ident: str) -> Json | None:
        body: Json | None = await self._look(workspace, "get_network", f"network {ident}", ident)
        return body

    async def machines(self, workspace: str) -> list[Json]:
        """The virtual machines. Raises NotFound when the workspace is gone."""
        where = f"in workspace {_guid(workspace)}"
        body = await self._caller.read(
            "power", "list_pvm_instances", lambda: self._sdk(workspace).list_pvm_instances(workspace), where
        )
        return list(body["pvmInstances"])

    async def create_server(self, workspace: str, body: Json) -> Json:
        made: Json = await self._write(
            workspace, "create_dhcp", f"dhcp server {body['name']}", lambda sdk: sdk.create_dhcp(workspace, body)
        )
        return made

    async def delete_server(self, workspace: str, ident: str) -> None:
        await self._write(
            workspace, "delete_dhcp", f"dhcp server {ident}", lambda sdk: sdk.delete_dhcp(workspace, ident)
        )

    async def rename_network(self, workspace: str, ident: str, name: str) -> None:
        await self._write(
            workspace,
            "update_network",
            f"network {name} ({ident})",
            lambda sdk: sdk.update_network(workspace, ident, name),
        )

    async def delete_network(self, workspace: str, ident: str) -> None:
        await self._write(
            workspace, "delete_network", f"network {ident}", lambda sdk: sdk.delete_network(workspace, ident)
        )

    async def _look(self, workspace: str, operation: str, subject: str, *arguments: str) -> Any:
        return await self._caller.look(
            "power",
            operation,
            lambda: getattr(self._sdk(workspace), operation)(workspace, *arguments),
            subject,
        )

    async def _write(self, workspace: str, operation: str, subject: str, send: Callable[[Any], Any]) -> Any:
        return await self._caller.write(
            "power", operation, lambda: send(self._sdk(workspace)), subject, workspace=_guid(workspace)
        )

    def _sdk(self, workspace: str) -> Any:
        return self._caller.session.power(crn.power_region(workspace.split(":")[5]))


def _guid(workspace: str) -> str:
    return workspace.split(":")[7]
