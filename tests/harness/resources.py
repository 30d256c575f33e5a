"""The resources in the simulated world, as an observer sees them, and resources of others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from harness.powervs import Harness

MARK = "powervs.cluster.x-k8s.io."
REGION = "us-south"
ZONE = "us-south-1"

Row = dict[str, Any]


def existing(harness: Harness, kind: str = "", name: str = "") -> list[Row]:
    """The existing resources, oldest first.

    Service instances that were deleted are gone, although IBM still shows them, or could bring them back.
    """
    return [
        row
        for row in harness.resources()
        if row["kind"] != "reclamation"
        and row["state"] not in ("removed", "pending_reclamation")
        and (not kind or row["kind"] == kind)
        and (not name or row["name"] == name)
    ]


def only(harness: Harness, kind: str, name: str = "") -> Row:
    """The only such resource; a second one is a defect of the test or a duplicate."""
    rows = existing(harness, kind, name)
    assert len(rows) == 1, f"{len(rows)} of kind {kind} {name}: {[row['name'] for row in rows]}"
    return rows[0]


def names(harness: Harness, kind: str = "") -> set[str]:
    return {row["name"] for row in existing(harness, kind)}


def made_by_us(harness: Harness) -> list[Row]:
    """The existing resources that our calls created."""
    return [row for row in existing(harness) if row["created_by"] == "api"]


def made_by_others(harness: Harness) -> list[Row]:
    return [row for row in existing(harness) if row["created_by"] != "api"]


def snapshot(harness: Harness, ids: Iterable[str] | None = None) -> dict[str, bytes]:
    """Every record in the cloud, with rules, listeners and tags, by id: equal means byte for byte.

    With ``ids`` only those resources; one that is gone is missing.
    """
    wanted = None if ids is None else set(ids)
    tags = {row["id"]: row["tags"] for row in existing(harness)}
    return {
        record["id"]: json.dumps([record, tags[record["id"]]], sort_keys=True).encode()
        for record in harness.cloud.world.everything()
        if record["id"] in tags and (wanted is None or record["id"] in wanted)
    }


def record(harness: Harness, ident: str) -> Row:
    """The cloud's own record of a resource."""
    found: Row = harness.cloud.strangers.find(ident)
    return found


def marks(row: Row) -> list[str]:
    return [tag for tag in row["tags"] if tag.startswith(MARK)]


def messages(harness: Harness) -> str:
    """All messages of the conditions, in one text."""
    return "\n".join(f"{type_} {text}" for type_, text in harness.conditions().items())


def row_of(harness: Harness, kind: str, name: str = "") -> Row:
    """The row of ``status.resources``."""
    rows = [r for r in harness.status()["resources"] if r["kind"] == kind and (not name or r["name"] == name)]
    assert len(rows) == 1, rows
    return dict(rows[0])


@dataclass(frozen=True)
class Theirs:
    """A whole infrastructure that others created, too old to be of a create in flight."""

    workspace: Row
    network: Row
    vpc: Row
    subnet: Row
    balancer: Row
    gateway: Row
    vpc_connection: Row
    power_connection: Row

    @property
    def ids(self) -> set[str]:
        return {row["id"] for row in vars(self).values()}


def infrastructure(harness: Harness, prefix: str = "theirs", *, connected: bool = True) -> Theirs:
    """Workspace with network, VPC with subnet and load balancer, gateway with both connections."""
    make = harness.cloud.strangers.make
    workspace = make("workspace", zone="dal10", name=f"{prefix}-serviceInstance")
    network = make("network", region="dal", workspace=workspace["id"], name=f"{prefix}-net")
    vpc = make("vpc", region=REGION, name=f"{prefix}-vpc")
    subnet = make("subnet", region=REGION, vpc=vpc["id"], zone=ZONE, name=f"{prefix}-subnet")
    balancer = make("load-balancer", region=REGION, subnet=subnet["id"], name=f"{prefix}-lb")
    let_in(harness, vpc)
    listen(harness, balancer)
    gateway = make("gateway", location=REGION, name=f"{prefix}-tg")
    ends = [vpc["crn"], workspace["crn"]] if connected else []
    joined = [
        make("connection", gateway=gateway["id"], network=crn, name=f"{prefix}-tg-{end}-con")
        for crn, end in zip(ends, ("vpc", "pvs"), strict=False)
    ]
    harness.clock.advance(3600.0)
    first, second = joined or (gateway, gateway)
    return Theirs(workspace, network, vpc, subnet, balancer, gateway, first, second)


def let_in(harness: Harness, vpc: Row, port: int = 6443) -> None:
    """The default group of their VPC lets clients of the API server in."""
    group = record(harness, vpc["id"])["default_group"]
    rule = {"direction": "inbound", "protocol": "tcp", "port_min": port, "port_max": port, "ip_version": "ipv4"}
    harness.cloud.strangers.send("POST", f"/vpc/{REGION}/v1/security_groups/{group}/rules", rule)


def listen(harness: Harness, balancer: Row, port: int = 6443) -> None:
    """Their load balancer listens on the API server's port."""
    path = f"/vpc/{REGION}/v1/load_balancers/{balancer['id']}/listeners"
    harness.cloud.strangers.send("POST", path, {"protocol": "tcp", "port": port})
    harness.clock.advance(600.0)


def everything_by_name(prefix: str = "theirs") -> dict[str, Any]:
    """A spec that names all of :func:`infrastructure`."""
    return {
        "serviceInstance": {"name": f"{prefix}-serviceInstance"},
        "network": {"name": f"{prefix}-net"},
        "vpc": {"name": f"{prefix}-vpc", "region": REGION},
        "vpcSubnets": [{"name": f"{prefix}-subnet"}],
        "loadBalancers": [{"name": f"{prefix}-lb"}],
        "transitGateway": {"name": f"{prefix}-tg"},
    }


def everything_by_id(theirs: Theirs) -> dict[str, Any]:
    return {
        "serviceInstance": {"id": theirs.workspace["id"]},
        "network": {"id": theirs.network["id"]},
        "vpc": {"id": theirs.vpc["id"], "name": None, "region": REGION},
        "vpcSubnets": [{"id": theirs.subnet["id"]}],
        "loadBalancers": [{"id": theirs.balancer["id"]}],
        "transitGateway": {"id": theirs.gateway["id"]},
    }


def omitted() -> dict[str, Any]:
    """A patch that removes everything optional from the spec."""
    return {
        "serviceInstance": None,
        "vpc": {"region": REGION},
        "vpcSubnets": None,
        "transitGateway": None,
        "loadBalancers": None,
    }
