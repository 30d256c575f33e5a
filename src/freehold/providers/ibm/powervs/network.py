"""The workspace and the private network in it: by id, by name, or by default; created, or only looked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from freehold.engine.graph import Naming, Node, ReadyNodes
from freehold.engine.journal import Entry
from freehold.engine.resources import NodeKey, Request
from freehold.providers.ibm.powervs.keys import NETWORK, WORKSPACE, constant, no_request
from freehold.providers.ibm.powervs.names import PowerVSNames, dhcp_of, network_of
from freehold.providers.ibm.powervs.recorded import own_by_id
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec


def workspace_id(spec: IBMPowerVSClusterSpec) -> str:
    """Return the workspace that the spec gives by id; ``serviceInstanceID`` is the deprecated spelling."""
    return (spec.service_instance and spec.service_instance.id) or spec.service_instance_id or ""


def workspace_node(spec: IBMPowerVSClusterSpec, names: PowerVSNames, resource_group: str) -> Node:
    explicit = spec.service_instance.name if spec.service_instance else None
    name = explicit or names.workspace
    if given := workspace_id(spec):
        by_id = spec.service_instance and spec.service_instance.id
        field = "spec.serviceInstance.id" if by_id else "spec.serviceInstanceID"
        locate = partial(constant, given)
        return Node(WORKSPACE, explicit or given, no_request, Naming.EXPLICIT, given=locate, field=field)
    request = {"name": name, "zone": spec.zone or "", "resource_group": resource_group}
    return Node(WORKSPACE, name, partial(_plain, request), Naming.EXPLICIT if explicit else Naming.DEFAULT)


def _plain(request: Request, known: ReadyNodes) -> Request:
    return request


def network_node(spec: IBMPowerVSClusterSpec, names: PowerVSNames, record: Mapping[NodeKey, Entry]) -> Node:
    """Make the network: ``foo`` means a network ``foo``, else ``DHCPSERVERfoo_Private``, else DHCP server ``foo``.

    ``record`` are the journal's entries: the network of our own DHCP server is that server.
    """
    requires = frozenset({WORKSPACE})
    dhcp = spec.dhcp_server
    for kind, given in (("network", spec.network and spec.network.id), ("dhcp", dhcp and dhcp.id)):
        if given:
            own = own_by_id(NETWORK.kind, given, record)
            locate = partial(constant, record[own].id) if own else partial(_locate_in_workspace, f"{kind}/{given}")
            field = "spec.network.id" if kind == "network" else "spec.dhcpServer.id"
            noun = "DHCP server" if kind == "dhcp" else "network"
            return Node(
                NETWORK, given, no_request, Naming.EXPLICIT, requires, given=locate, field=field, spec_noun=noun
            )
    explicit = (spec.network and spec.network.name) or (dhcp and dhcp.name)
    create = network_request(spec, names)
    naming = Naming.EXPLICIT if explicit else Naming.DEFAULT
    return Node(NETWORK, create["network"], partial(_in_workspace, create), naming, requires)


def network_request(spec: IBMPowerVSClusterSpec, names: PowerVSNames) -> Mapping[str, Any]:
    """Return what to look for and what to create, but for the workspace, which is known later."""
    dhcp = spec.dhcp_server
    wished = spec.network.name if spec.network and spec.network.name else None
    name = dhcp_of(wished) if wished else (dhcp and dhcp.name) or names.dhcp
    network = network_of(name)
    request: dict[str, Any] = {
        "zone": spec.zone or "",
        "name": name,
        "network": network,
        "search": list(dict.fromkeys([wished or network, network])),
        "dns": dhcp.dns_server if dhcp else "1.1.1.1",
        "snat": dhcp.snat if dhcp else True,
    }
    if dhcp and dhcp.cidr:
        request["cidr"] = dhcp.cidr
    return request


def _in_workspace(request: Mapping[str, Any], known: ReadyNodes) -> Request:
    return {"workspace": known[WORKSPACE].attributes["id"], **request}


def _locate_in_workspace(path: str, known: ReadyNodes) -> str:
    """Return the engine id of something in the workspace: ``<guid>/dhcp/<id>`` or ``<guid>/network/<id>``."""
    return f"{known[WORKSPACE].attributes['id']}/{path}"
