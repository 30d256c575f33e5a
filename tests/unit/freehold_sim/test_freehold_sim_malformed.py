"""The service refuses a malformed request: the simulation never crashes, and never leaves a partial resource."""

import json
import random
import re
import time
from typing import Any

import pytest

from freehold_sim.clock import VirtualClock
from freehold_sim.http import Request
from freehold_sim.ibm import iam
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.services import ROUTES

JUNK: list[Any] = [None, 1, -1, True, "x", "a" * 300, [], {}, ["x"], [1], [{}], {"id": 1}, {"id": None}, {"name": []}]
FIELDS = (
    "name", "vpc", "zone", "resource_group", "subnets", "is_public", "pools", "listeners", "rules", "remote",
    "protocol", "direction", "port", "health_monitor", "default_pool", "target", "algorithm", "ipv4_cidr_block",
    "total_ipv4_address_count", "location", "network_type", "network_id", "tag_names", "tag_name", "resources",
    "query", "search_cursor", "fields", "source", "parameters", "cidr", "dnsServer", "networks", "serverName",
    "type", "resource_plan_id", "tags", "userTags", "port_min", "security_groups",
)  # fmt: skip


@pytest.fixture(scope="module")
def populated() -> tuple[SimulatedIBM, dict[str, list[str]], dict[str, Any], str]:
    """Return a world with one of each, ids for path variables, a good body to damage, and the workspace's CRN."""
    cloud = SimulatedIBM(VirtualClock())
    make = cloud.strangers.make
    vpc = make("vpc", region="us-south", name="v")
    subnet = make("subnet", region="us-south", vpc=vpc["id"], zone="us-south-1", name="s")
    group = make("security-group", region="us-south", vpc=vpc["id"], name="g")
    balancer = make("load-balancer", region="us-south", subnet=subnet["id"], name="l")
    gateway = make("gateway", location="us-south", name="t")
    workspace = make("workspace", zone="dal10", name="w")
    dhcp = make("dhcp", region="dal", workspace=workspace["id"], name="d")
    cos = make("cos-instance", name="c")
    ids = [record["id"] for record in (vpc, subnet, group, balancer, gateway, workspace, cos)]
    variables = {
        "region": ["us-south", "dal"], "id": ids, "workspace": [workspace["id"]], "dhcp": [dhcp["id"]],
        "group": [group["id"]],
    }  # fmt: skip
    good = {
        "vpc": {"id": vpc["id"]}, "zone": {"name": "us-south-1"}, "is_public": True, "subnets": [{"id": subnet["id"]}],
        "direction": "inbound", "protocol": "tcp", "algorithm": "round_robin", "location": "us-south",
        "health_monitor": {"delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp"}, "network_type": "vpc",
        "network_id": vpc["crn"], "resources": [{"resource_id": vpc["crn"]}], "tag_names": ["a"], "target": "dal10",
        "resource_plan_id": "f165dd34-3a40-423b-9d95-e90a23f724dd",
    }  # fmt: skip
    return cloud, variables, good, workspace["crn"]


@pytest.mark.parametrize("route", [r for r in ROUTES if r.method not in {"GET", "HEAD"}], ids=lambda r: r.operation)
def test_malformed_bodies(populated: Any, route: Any) -> None:
    cloud, variables, good, crn = populated
    chance = random.Random(route.operation)
    headers = {"authorization": f"Bearer {iam.issue(cloud.settings, 1, time.time())}", "crn": crn}
    taken = cloud.snapshot()
    for _ in range(60):
        path = re.sub(r"{([^}]+)}", lambda found: chance.choice(variables.get(found[1], ["x"])), route.pattern)
        body = {**(good if chance.random() < 0.6 else {}), chance.choice(FIELDS): chance.choice(JUNK)}
        request = Request(route.method, path, {"version": "1", "generation": "2"}, headers, json.dumps(body).encode())
        before = len(list(cloud.world.everything()))
        response = cloud.handle(request)
        if response.status >= 400:
            assert len(list(cloud.world.everything())) == before, f"{path} {body} left something behind"
    cloud.restore(taken)
