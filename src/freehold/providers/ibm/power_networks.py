"""DHCP servers and networks of a PowerVS workspace, as values (docs/reference/ibm-cloud.md#powervs)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from freehold.engine.errors import NotFound, NotReady
from freehold.engine.resources import State
from freehold.providers.ibm import crn
from freehold.providers.ibm.calls import IbmClient, Json
from freehold.providers.ibm.errors import ListNotFound
from freehold.providers.ibm.resource_controller import POWER, Instances, state_of


class PowerNetworks:
    """Operations on networks. Each needs the workspace's CRN, which names the endpoint and goes into a header."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client
        self._instances = Instances(client, POWER)
        self._crns: dict[str, str] = {}

    async def workspace_crn(self, guid: str, target: str = "", zone: str = "") -> str:
        """Return the CRN of a workspace: from a CRN in it, from its zone, else from the cloud. Raises NotFound.

        Only the cloud's own answer is cached: the cache serves all objects, and the journal of one may be forged.
        """
        if guid in self._crns:
            return self._crns[guid]
        parsed = crn.parse(target)
        if parsed and parsed.service == "power-iaas" and parsed.instance == guid:
            return ":".join(target.split(":")[:8]) + "::"
        if zone:
            return f"crn:v1:bluemix:public:power-iaas:{zone}:a/{await self._client.account()}:{guid}::"
        sdk = self._client.session.resource_controller
        body = await self._client.read(
            "rc", "get_resource_instance", lambda: sdk().get_resource_instance(guid), f"workspace {guid}"
        )
        self._crns[guid] = str(body["crn"])
        return self._crns[guid]

    async def list_servers(self, workspace: str) -> list[Json]:
        """Return the DHCP servers. Raises NotFound when the workspace is gone."""
        return await self._read_list(workspace, "list_dhcp", "")

    async def get_server(self, workspace: str, ident: str) -> Json | None:
        body: Json | None = await self._read(workspace, "get_dhcp", f"dhcp server {ident}", ident)
        return body

    async def list_networks(self, workspace: str) -> list[Json]:
        """Return the networks; ``crn`` may be missing. Raises NotFound when the workspace is gone."""
        return await self._read_list(workspace, "list_networks", "networks")

    async def get_network(self, workspace: str, ident: str) -> Json | None:
        body: Json | None = await self._read(workspace, "get_network", f"network {ident}", ident)
        return body

    async def list_machines(self, workspace: str) -> list[Json]:
        """Return the virtual machines. Raises NotFound when the workspace is gone."""
        return await self._read_list(workspace, "list_pvm_instances", "pvmInstances")

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

    async def _read_list(self, workspace: str, operation: str, items: str) -> list[Json]:
        """Return a list, which is not paged. A refusal proves no empty workspace: the account is asked first."""
        subject = f"in workspace {_guid(workspace)}"
        try:
            return await self._client.read_short_list(
                "power", operation, lambda: getattr(self._sdk(workspace), operation)(workspace), items, subject
            )
        except (ListNotFound, NotReady) as refused:
            await self._expect_empty(_guid(workspace), refused)
            return []

    async def _expect_empty(self, guid: str, refused: ListNotFound | NotReady) -> None:
        """Return when the workspace never came up, so that nothing can have been put inside; raise otherwise.

        Raises NotFound when the account does not have it either.
        """
        body = await self._instances.get(guid)
        if body is None:
            raise NotFound(f"workspace {guid} is gone: neither PowerVS nor the account has it") from refused
        if state_of(body) is State.FAILED:
            return
        if isinstance(refused, ListNotFound):
            message = f"PowerVS does not know workspace {guid}, which the account has: its contents are unknown"
            raise NotReady(f"{message}. It is asked again; open a case with IBM if this stays") from refused
        raise refused

    async def _read(self, workspace: str, operation: str, subject: str, *arguments: str) -> Any:
        return await self._client.get_or_none(
            "power",
            operation,
            lambda: getattr(self._sdk(workspace), operation)(workspace, *arguments),
            subject,
        )

    async def _write(self, workspace: str, operation: str, subject: str, send: Callable[[Any], Any]) -> Any:
        return await self._client.write(
            "power", operation, lambda: send(self._sdk(workspace)), subject, workspace=_guid(workspace)
        )

    def _sdk(self, workspace: str) -> Any:
        return self._client.session.power(crn.power_region(workspace.split(":")[5]))


def _guid(workspace: str) -> str:
    return workspace.split(":")[7]
