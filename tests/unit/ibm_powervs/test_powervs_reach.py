"""Which rules and listeners of others count as letting clients reach the API server."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.engine.graph import Node
from freehold.engine.resources import NodeKey, Part
from freehold.providers.ibm.powervs.desired import build_desired
from freehold.providers.ibm.powervs.facts import PowerVSFacts, PowerZone
from freehold.providers.objects.adapter import WantedGraph
from freehold.providers.objects.cloud_answers import Answer
from harness.schemas import powervs_spec

CREATE = {"powervs.cluster.x-k8s.io/create-infra": "true"}
FACTS = PowerVSFacts(Answer("rg-id"), Answer(PowerZone("dal", edge_router=True)), Answer(("us-south-1",)))
LEAST: dict[str, Any] = {"resourceGroup": {"name": "rg"}, "zone": "dal10", "vpc": {"region": "us-south", "id": "v"}}
RULE = {"direction": "inbound", "protocol": "tcp", "port_min": 6443, "port_max": 6443, "remote": {"cidr_block": "::/0"}}


def endpoint(**more: Any) -> Node:
    result = build_desired("c1", CREATE, powervs_spec({"spec": {**LEAST, **more}}), FACTS)
    assert isinstance(result, WantedGraph)
    return next(node for key, node in result.graph.nodes.items() if key.kind == "load-balancer")


RULES: dict[str, tuple[dict[str, Any], bool]] = {
    "for the port": ({}, True),
    "for a range with the port in it": ({"port_min": 6000, "port_max": 7000}, True),
    "for all ports": ({"port_min": None, "port_max": None}, True),
    "for every protocol": ({"protocol": "icmp_tcp_udp", "port_min": None, "port_max": None}, True),
    "from one address": ({"remote": {"address": "10.0.0.1"}}, True),
    "for another port": ({"port_min": 22, "port_max": 22}, False),
    "for a range below": ({"port_min": 1, "port_max": 6442}, False),
    "outbound": ({"direction": "outbound"}, False),
    "by udp": ({"protocol": "udp"}, False),
    "from members of a group only": ({"remote": {"id": "sg", "crn": "crn", "name": "default"}}, False),
}


@pytest.mark.parametrize(("change", "open_"), RULES.values(), ids=RULES.keys())
def test_a_rule_that_lets_clients_in(change: dict[str, Any], open_: bool) -> None:
    through = endpoint().traffic_via
    assert through is not None
    place, lacks = through
    assert place == NodeKey("vpc", "main")
    said = lacks(frozenset({Part("rule", "r", {**RULE, **change})}))
    assert (said == "") is open_
    assert lacks(frozenset()) != ""


LISTENERS: dict[str, tuple[dict[str, Any], bool]] = {
    "on the port": ({"port": 6443, "protocol": "tcp"}, True),
    "on a range with the port in it": ({"port_min": 1, "port_max": 65535, "port": 1, "protocol": "tcp"}, True),
    "on another port": ({"port": 80, "protocol": "tcp"}, False),
    "by udp": ({"port": 6443, "protocol": "udp"}, False),
}


@pytest.mark.parametrize(("listener", "open_"), LISTENERS.values(), ids=LISTENERS.keys())
def test_a_listener_that_leads_to_the_api_server(listener: dict[str, Any], open_: bool) -> None:
    lacks = endpoint(loadBalancers=[{"id": "lb"}]).missing_inside
    assert lacks is not None
    assert (lacks(frozenset({Part("listener", "p", listener)})) == "") is open_
    assert lacks(frozenset()) != ""


def test_the_first_public_entry_is_the_one_that_is_asked_about() -> None:
    """A given private one that is not the endpoint may have no listener at all."""
    spec = {**LEAST, "loadBalancers": [{"id": "inside", "public": False}, {"name": "outside"}]}
    result = build_desired("c1", CREATE, powervs_spec({"spec": spec}), FACTS)
    assert isinstance(result, WantedGraph)
    asked = {
        key.logical: bool(node.missing_inside)
        for key, node in result.graph.nodes.items()
        if key.kind == "load-balancer"
    }
    assert asked == {"inside": False, "outside:public": True}
