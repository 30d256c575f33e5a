"""Others in the simulated account: what they own from the beginning, and what they do to our resources."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from freehold_sim.faults import Effect, Fault
from freehold_sim.http import Request
from harness import resources
from harness.powervs import UID, Harness
from harness.resources import REGION, Row, Theirs

PLACE = "us-south-1"
CARRIED = tuple(f"{resources.MARK}{kind}:{UID}." for kind in ("transit-gateway-connection", "cos-bucket"))
LEAVING = frozenset({"removed", "pending_reclamation", "reclaimed", "deleting", "delete_pending"})
SIM = {
    "workspace": "instance",
    "dhcp-server": "dhcp",
    "vpc": "vpc",
    "vpc-subnet": "subnet",
    "security-group": "security-group",
    "load-balancer": "load-balancer",
    "transit-gateway": "gateway",
    "transit-gateway-connection": "connection",
}
"""Our kinds, by the names of the simulator."""
WANTED = {
    "workspace": "freehold-demo-serviceInstance",
    "dhcp-server": "DHCPSERVERfreehold-demo_Private",
    "vpc": "freehold-demo-vpc",
    "vpc-subnet": "freehold-demo-vpcsubnet",
    "load-balancer": "freehold-demo-loadbalancer",
    "transit-gateway": "freehold-demo-transitgateway",
    "transit-gateway-connection": "freehold-demo-transitgateway-vpc-con",
}
"""The names of the example's resources, which are also the default names."""

PROVISIONS = {
    "workspace": "rc.create_resource_instance",
    "dhcp-server": "power.create_dhcp",
    "vpc": "vpc.create_vpc",
    "vpc-subnet": "vpc.create_subnet",
    "load-balancer": "vpc.create_load_balancer",
    "transit-gateway": "transit.create_transit_gateway",
}
"""Our requests that may succeed and still lead to a failed resource."""


def existing(harness: Harness) -> list[tuple[str, Row]]:
    """Requested resources that are not being deleted, with the logical node of each."""
    find = harness.cloud.world.get
    found = []
    for row in harness.resources():
        record = find(row["kind"], row["id"])
        if record is None or row["state"] in LEAVING or record.get("leaving") or record.get("default"):
            continue
        if row["kind"] == "network" and record.get("dhcp") and find("dhcp", record["dhcp"]) is not None:
            continue  # created and deleted with its server
        if row["kind"] in ("reclamation", "resource-key", "resource-group"):
            continue
        found.append((_role(row, record), row))
    return found


def _role(row: Row, record: Mapping[str, Any]) -> str:
    """One for each wanted node: two resources of one role are duplicates."""
    match row["kind"]:
        case "instance":
            return "workspace/main" if ":power-iaas:" in row["crn"] else "cos-instance/main"
        case "bucket":
            return "cos-bucket/main"
        case "network":
            return "dhcp-server/main"
        case "subnet":
            return f"subnet/{record['zone']}"
        case "connection":
            return f"connection/{record['type']}"
        case "security-group" | "load-balancer":
            return f"{row['kind']}/{row['name']}"
    return f"{row['kind']}/main"


USER_TAGS = frozenset({"team:red"})
"""Those of the user in these families: nobody else attaches them."""


class Neighbours:
    """They act without fault or delay; ``due`` is each of their resources as they left it, byte for byte."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._cloud = harness.cloud
        self.due: dict[str, bytes | None] = {}
        self.forged: dict[str, list[str]] = {}  # tags that they attached on purpose
        self.theirs: Theirs = resources.infrastructure(harness, "freehold-demo-of-others")
        self._note()

    def engine_id(self, row: Row) -> str:
        """A bucket has no id of its own: the engine names it by instance, region and name."""
        if row["kind"] != "bucket":
            return str(row["id"])
        return (
            f"{row['parent']}/{resources.record(self._harness, row['id'])['location'].rpartition('-')[0]}.{row['id']}"
        )

    def aliases(self, row: Row) -> frozenset[str]:
        """A DHCP server that was found by its marks is recorded by the id of its network, which has the marks."""
        return frozenset({str(resources.record(self._harness, row["id"])["network"])} if row["kind"] == "dhcp" else ())

    def tags(self, row: Row) -> list[str]:
        return self._tags(str(row["crn"])) if row["crn"] else []

    def snapshot(self, ident: str, ignored: Collection[str] = ()) -> bytes | None:
        """The cloud's own record and tags, without carrier's marks with our uuid, which change: `marks` checks them.

        ``ignored``: tags that may be there or not.
        """
        try:
            record = dict(self._cloud.strangers.find(ident))
        except KeyError:
            return None
        tags = sorted(self._cloud.world.tags_at(record["crn"], self._harness.clock.now())) if record["crn"] else []
        theirs = [tag for tag in tags if not tag.startswith(CARRIED) and tag not in ignored]
        return json.dumps([record, theirs], sort_keys=True).encode()

    def _note(self, *again: str) -> None:
        """Remember the state of their resources after they acted: new ones, and those that they changed."""
        for _, row in existing(self._harness):
            if row["created_by"] == "stranger" and (row["id"] not in self.due or row["id"] in again):
                self.due[row["id"]] = self.snapshot(row["id"], USER_TAGS)
                self.forged[row["id"]] = [tag for tag in self.tags(row) if tag not in USER_TAGS]

    def offer_storage(self, name: str) -> None:
        """An instance of theirs, with a bucket in it."""
        made = self._cloud.strangers.make("cos-instance", name=name)
        put = Request("PUT", f"/cos/{REGION}/bucket-of-others", {}, {"ibm-service-instance-id": made["id"]}, b"")
        self._cloud.handle(put, actor="stranger")
        self._harness.clock.advance(3600.0)
        self._note()

    def missing(self) -> list[str]:
        there = {row["id"] for _, row in existing(self._harness)}
        return [f"{ident} of somebody else's is gone" for ident in self.due if ident not in there]

    def remove(self, ident: str) -> None:
        """Its owner deletes it, with everything in it: a DHCP server as IBM does it, the rest at once."""
        record = resources.record(self._harness, ident)
        if record["kind"] == "dhcp":
            path = f"/power/dal/pcloud/v1/cloud-instances/{record['workspace']}/services/dhcp/{ident}"
            with contextlib.suppress(ValueError):
                self._cloud.strangers.send("DELETE", path)
        else:
            self._cloud.strangers.delete(ident)
        there = {row["id"] for _, row in existing(self._harness)}
        self.due = {ident: photo for ident, photo in self.due.items() if ident in there}

    def ours(self, kind: str) -> Row | None:
        rows = [r for _, r in existing(self._harness) if r["kind"] == SIM[kind] and r["created_by"] == "api"]
        return rows[0] if rows else None

    def old(self, kind: str) -> Row:
        """What they owned before anything of ours existed."""
        return {
            "workspace": self.theirs.workspace,
            "vpc": self.theirs.vpc,
            "vpc-subnet": self.theirs.subnet,
            "load-balancer": self.theirs.balancer,
            "transit-gateway": self.theirs.gateway,
            "dhcp-server": self.theirs.network,
        }[kind]

    def _target(self, row: Row) -> str:
        """The target of the marks of a resource of ours, empty for one that is carried."""
        if row["kind"] == "dhcp":
            network = self._cloud.world.get("network", resources.record(self._harness, row["id"])["network"])
            return str(network["crn"]) if network else ""
        return str(row["crn"])

    def _tags(self, crn: str) -> list[str]:
        return list(self._cloud.world.tags_at(crn, self._harness.clock.now()).values())

    # -- acts ---------------------------------------------------------------------------------------

    def namesake(self, kind: str) -> None:
        """Create a resource with the name that we want, in the same place, if that exists."""
        self._make(kind, WANTED[kind])

    def rival(self, kind: str) -> None:
        """Take the only place for ours, with another name: a workspace's DHCP server, a connection."""
        workspace, gateway, vpc = self.ours("workspace"), self.ours("transit-gateway"), self.ours("vpc")
        if kind == "dhcp-server" and workspace:
            self._try("dhcp", region="dal", workspace=workspace["id"], name="their-dhcp")
        elif kind == "transit-gateway-connection" and gateway and vpc:
            self._try("connection", gateway=gateway["id"], network=vpc["crn"], name="their-connection")

    def copycat(self, kind: str) -> None:
        """Create a resource like ours, with the same name if possible, and copy every tag of ours onto it."""
        model = self.ours(kind)
        if model is None:
            return
        tags = self._tags(self._target(model))
        match kind:
            case "workspace":
                self._try("workspace", tags, zone="dal10", name=model["name"])
            case "vpc":
                self._try("vpc", tags, region=REGION, name=f"{model['name']}-copy")
            case "vpc-subnet":
                vpc = self.theirs.vpc["id"]
                self._try("subnet", tags, region=REGION, vpc=vpc, zone=PLACE, name=model["name"])
            case "load-balancer":
                self._try("load-balancer", tags, region=REGION, subnet=self.theirs.subnet["id"], name=model["name"])
            case "transit-gateway":
                self._try("gateway", tags, location=REGION, name=f"{model['name']}-copy")
            case "dhcp-server":
                name = resources.record(self._harness, resources.record(self._harness, model["id"])["network"])["name"]
                self._try("network", tags, region="dal", workspace=self.theirs.workspace["id"], name=name)

    def brand(self, kind: str) -> None:
        """Copy every tag of ours onto an old resource of theirs."""
        old, model = self.old(kind), self.ours(kind)
        if model is not None:
            self._cloud.strangers.attach(old["crn"], *self._tags(self._target(model)))
            self._note(old["id"])

    def steal(self, kind: str) -> None:
        """Another owner takes over a resource of ours: its tags name them."""
        self._take(kind, "owner:prod.c2", f"cluster-uuid:{'2' * 8}-2222-4222-8222-{'2' * 12}", alone=True)

    def claim_uuid(self, kind: str) -> None:
        """An owner of our name in another management cluster attaches its uuid beside our marks."""
        self._take(kind, f"cluster-uuid:{'2' * 8}-2222-4222-8222-{'2' * 12}")

    def claim_owner(self, kind: str) -> None:
        """Another owner attaches its name beside our marks."""
        self._take(kind, "owner:prod.c2")

    def _take(self, kind: str, *marks: str, alone: bool = False) -> None:
        taken = self.ours(kind)
        if taken is None or taken["state"].casefold() not in ("active", "available"):
            return
        crn = self._target(taken)
        if alone:
            self._cloud.strangers.strip(crn)
        self._cloud.strangers.attach(crn, *(resources.MARK + mark for mark in marks))
        self._cloud.strangers.change(taken["id"], by="stranger")
        self._note()

    def move_in(self, kind: str) -> None:
        """Put something into ours that its delete would destroy."""
        if (host := self.ours(kind)) is not None:
            self._try("network", region="dal", workspace=host["id"], name="their-network")

    def victim(self, kind: str, *, young: bool) -> tuple[str, str] | None:
        """A resource of theirs: old, or created now with the name that we want."""
        if kind == "transit-gateway-connection":
            one = self.theirs.vpc_connection
            return f"{self.theirs.gateway['id']}/{one['id']}", self.theirs.gateway["crn"]
        if not young:
            old = self.old(kind)
            return str(old["id"]), str(old["crn"])
        before = set(self.due)
        self.namesake(kind)
        new = [row for _, row in existing(self._harness) if row["id"] in self.due.keys() - before]
        return (str(new[0]["id"]), str(new[0]["crn"])) if new else None

    def victim_in_carrier(self) -> tuple[str, str, str] | None:
        """Their connection in the gateway that carries ours."""
        return "transit-gateway-connection", str(self.theirs.vpc_connection["id"]), str(self.theirs.gateway["crn"])

    def forge(self, target: str, tags: frozenset[str]) -> None:
        self._cloud.strangers.attach(target, *tags)
        self._note(*[row["id"] for _, row in existing(self._harness) if row["crn"] == target])

    def spy(self, kind: str, nonce: str) -> None:
        """Create what a create of ours with that nonce would create."""
        name = WANTED[kind]
        born = name.replace("_Private", f"-{nonce}_Private") if kind == "dhcp-server" else f"{name}-{nonce}"
        if kind != "load-balancer":
            self._make(kind, born)

    def strip(self, kind: str) -> None:
        """Detach every tag of a resource of ours."""
        if (victim := self.ours(kind)) is not None:
            self._cloud.strangers.strip(self._target(victim))

    def strike(self, kind: str) -> None:
        """Delete a resource of ours, and everything in it."""
        if (victim := self.ours(kind)) is not None:
            self.remove(victim["id"])

    def fail(self, kind: str) -> None:
        """New resources of this kind fail from now on."""
        self._cloud.faults.add(Fault(Effect.FAILED, PROVISIONS[kind], count=None))

    def _make(self, kind: str, name: str) -> None:
        places: dict[str, Callable[[], Mapping[str, Any] | None]] = {
            "workspace": lambda: {"zone": "dal10"},
            "vpc": lambda: {"region": REGION},
            "transit-gateway": lambda: {"location": REGION},
            "dhcp-server": lambda: self._in("workspace", "workspace", region="dal"),
            "vpc-subnet": lambda: self._in("vpc", "vpc", region=REGION, zone=PLACE),
            "load-balancer": lambda: self._in("vpc-subnet", "subnet", region=REGION),
            "transit-gateway-connection": lambda: self._in(
                "transit-gateway", "gateway", network=self.theirs.vpc["crn"]
            ),
        }
        place = places[kind]()
        if place is not None:
            self._try({**SIM, "workspace": "workspace", "dhcp-server": "network"}[kind], name=name, **place)

    def _in(self, kind: str, word: str, **more: Any) -> Mapping[str, Any] | None:
        host = self.ours(kind)
        return {word: host["id"], **more} if host else None

    def _try(self, kind: str, tags: list[str] | None = None, **fields: Any) -> None:
        """Ignore a refusal of the cloud (a name that is taken, a place that is not ready)."""
        with contextlib.suppress(ValueError):
            self._cloud.strangers.make(kind, tags=tags or (), **fields)
        self._note()
