"""A PowerVS client: IBM publishes none for Python, so the few operations we need on the SDK core.

Source: docs/reference/ibm-cloud.md#powervs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ibm_cloud_sdk_core import BaseService, DetailedResponse


class PowerV1(BaseService):  # type: ignore[misc]  # the SDK ships no type information
    """Operations of ``https://{region}.power-iaas.cloud.ibm.com``. ``workspace`` is the workspace's CRN."""

    def __init__(self, authenticator: Any) -> None:
        super().__init__(authenticator=authenticator)

    def list_datacenters(self) -> DetailedResponse:
        """Return every datacenter of every region, with its capabilities; not paged."""
        return self._call("GET", "/v1/datacenters")

    def list_networks(self, workspace: str) -> DetailedResponse:
        return self._call_workspace(workspace, "GET", "networks")

    def get_network(self, workspace: str, network: str) -> DetailedResponse:
        return self._call_workspace(workspace, "GET", f"networks/{quote(network, safe='')}")

    def update_network(self, workspace: str, network: str, name: str) -> DetailedResponse:
        return self._call_workspace(workspace, "PUT", f"networks/{quote(network, safe='')}", {"name": name})

    def delete_network(self, workspace: str, network: str) -> DetailedResponse:
        return self._call_workspace(workspace, "DELETE", f"networks/{quote(network, safe='')}")

    def list_dhcp(self, workspace: str) -> DetailedResponse:
        """Return the DHCP servers: a bare JSON array."""
        return self._call_workspace(workspace, "GET", "services/dhcp")

    def get_dhcp(self, workspace: str, server: str) -> DetailedResponse:
        return self._call_workspace(workspace, "GET", f"services/dhcp/{quote(server, safe='')}")

    def create_dhcp(self, workspace: str, body: Mapping[str, Any]) -> DetailedResponse:
        """Create a server from ``body``: name, cidr, dnsServer, snatEnabled."""
        return self._call_workspace(workspace, "POST", "services/dhcp", body)

    def delete_dhcp(self, workspace: str, server: str) -> DetailedResponse:
        return self._call_workspace(workspace, "DELETE", f"services/dhcp/{quote(server, safe='')}")

    def list_pvm_instances(self, workspace: str) -> DetailedResponse:
        return self._call_workspace(workspace, "GET", "pvm-instances")

    def _call_workspace(
        self, workspace: str, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> DetailedResponse:
        guid = quote(workspace.split(":")[7], safe="")
        return self._call(method, f"/pcloud/v1/cloud-instances/{guid}/{path}", body, {"CRN": workspace})

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> DetailedResponse:
        asked = {"Accept": "application/json", **(headers or {})}
        if body is not None:
            asked["Content-Type"] = "application/json"
        request = self.prepare_request(method, path, headers=asked, data=dict(body) if body is not None else None)
        return self.send(request)
