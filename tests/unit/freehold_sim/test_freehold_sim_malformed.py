"""The service refuses a malformed request: the simulation never crashes, and never leaves a partial resource."""

import itertools
import json
import random
import re
import time
from collections.abc import Mapping
from typing import Any

import pytest

from freehold_sim.clock import VirtualClock
from freehold_sim.http import Request
from freehold_sim.ibm import iam
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.fields import Fields, Only
from freehold_sim.ibm.services import ROUTES
from harness.rows import over_rows

WITH_FIELDS = [route for route in ROUTES if route.fields]
WRITES = [route for route in ROUTES if route.method not in {"GET", "HEAD"}]
JUNK: list[Any] = [None, 1, -1, True, "x", "a" * 300, [], {}, ["x"], [1], [{}], {"id": 1}, {"id": None}, {"name": []}]


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
    network = make("network", region="dal", workspace=workspace["id"], name="n")
    acl = cloud.strangers.create("/vpc/us-south/v1/network_acls", {"name": "a", "vpc": {"id": vpc["id"]}})
    where = f"/vpc/us-south/v1/load_balancers/{balancer['id']}"
    monitor = {"delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp"}
    pool = {"name": "p", "algorithm": "round_robin", "protocol": "tcp", "health_monitor": monitor}
    pool["members"] = [{"port": 1, "target": {"address": "10.0.0.1"}}]
    balanced = cloud.world.get("load-balancer", balancer["id"])
    for part, body in (("pools", pool), ("listeners", {"port": 80, "protocol": "tcp"})):
        cloud.strangers.send("POST", f"{where}/{part}", body)
        assert balanced is not None
        cloud.world.finish_pending(balanced, cloud.clock.now())
    ids = [record["id"] for record in (vpc, subnet, group, balancer, gateway, workspace, cos, acl)]
    variables = {
        "region": ["us-south", "dal"], "id": ids, "workspace": [workspace["id"]], "dhcp": [dhcp["id"]],
        "group": [group["id"]], "network": [network["id"]], "pool": [balanced["pools"][0]["id"]],
        "member": [balanced["pools"][0]["members"][0]["id"]], "listener": [balanced["listeners"][0]["id"]],
        "prefix": [vpc["prefixes"][0]["id"]], "rule": [group["rules"][0]["id"] if group["rules"] else "x"],
    }  # fmt: skip
    good = {
        "vpc": {"id": vpc["id"]}, "zone": {"name": "us-south-1"}, "is_public": True, "subnets": [{"id": subnet["id"]}],
        "direction": "inbound", "protocol": "tcp", "algorithm": "round_robin", "location": "us-south",
        "health_monitor": {"delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp"}, "network_type": "vpc",
        "network_id": vpc["crn"], "resources": [{"resource_id": vpc["crn"]}], "tag_names": ["a"], "target": "dal10",
        "resource_plan_id": "f165dd34-3a40-423b-9d95-e90a23f724dd", "resource_group": {"id": "1" * 32},
        "cidr": "10.0.0.0/24", "type": "vlan", "action": "allow", "source": "0.0.0.0/0", "destination": "0.0.0.0/0",
    }  # fmt: skip
    return cloud, variables, good, workspace["crn"]


def _damaged(fields: Fields, good: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return a body of fields that are served, one of them with a value, or with a field inside it, that is junk."""
    body = {key: value for key, value in good.items() if key in fields} if chance.random() < 0.6 else {}
    served = [name for name, field in fields.items() if not isinstance(field, Only)]
    if not served:
        return body
    name = chance.choice(served)
    inner, value = fields[name], chance.choice(JUNK)
    if isinstance(inner, Mapping) and chance.random() < 0.7:
        value = _damaged(inner, good, chance)
        value = [value] if chance.random() < 0.5 else value
    return {**body, name: value}


@over_rows("route", WITH_FIELDS, ids=[route.operation for route in WITH_FIELDS])
def test_a_refusal_for_a_missing_field_names_the_field_and_no_value(populated: Any, route: Any) -> None:
    cloud, variables, good, crn = populated
    headers = {"authorization": f"Bearer {iam.issue(cloud.settings, 1, time.time())}", "crn": crn}
    whole = {key: value for key, value in good.items() if key in route.fields}
    names = re.findall(r"{([^}]+)}", route.pattern)
    taken = cloud.snapshot()
    for left in ("", *whole):
        body = {key: value for key, value in whole.items() if key != left} if left else {}
        for values in itertools.product(*(variables.get(name, ["x"]) for name in names)):
            path = re.sub(r"{[^}]+}", "{}", route.pattern).format(*values)
            query = {key: value for key, value in {"version": "1", "generation": "2"}.items() if key in route.query}
            response = cloud.handle(Request(route.method, path, query, headers, json.dumps(body).encode()))
            assert response.status < 400 or b"None" not in response.body, (left, response.body)
            cloud.restore(taken)


@over_rows("route", WRITES, ids=[route.operation for route in WRITES])
def test_malformed_bodies(populated: Any, route: Any) -> None:
    cloud, variables, good, crn = populated
    chance = random.Random(route.operation)
    headers = {"authorization": f"Bearer {iam.issue(cloud.settings, 1, time.time())}", "crn": crn}
    taken = cloud.snapshot()
    for _ in range(120):
        path = re.sub(r"{([^}]+)}", lambda found: chance.choice(variables.get(found[1], ["x"])), route.pattern)
        body = _damaged(route.fields, good, chance)
        query = {key: value for key, value in {"version": "1", "generation": "2"}.items() if key in route.query}
        request = Request(route.method, path, query, headers, json.dumps(body).encode())
        before = len(list(cloud.world.everything()))
        response = cloud.handle(request)
        if response.status >= 400:
            assert len(list(cloud.world.everything())) == before, f"{path} {body} left something behind"
    cloud.restore(taken)
