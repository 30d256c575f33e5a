"""Foreign actors: changes by other users of the same account, and a complete view of all resources."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from freehold_sim import service_accounts
from freehold_sim.http import Request
from freehold_sim.ibm import resource_controller
from freehold_sim.ibm.settings import Settings
from freehold_sim.ibm.world import Record
from freehold_sim.simulated import digest

if TYPE_CHECKING:
    from freehold_sim.ibm.cloud import SimulatedIBM

_ID_KEYS = ("id", "guid", "networkID", "pvmInstanceID")


def _names(answer: Any, record: Record) -> bool:
    """Return whether `answer`, the reply to a create, is about `record`."""
    one = answer[0] if isinstance(answer, list) else answer
    return record["id"] in {one.get(key) for key in _ID_KEYS}


Fields = Mapping[str, Any]
Recipe = tuple[str, dict[str, Any]]


class Strangers:
    """Other users of the account. Their calls need no token, and no fault or lag applies to them."""

    def __init__(self, cloud: "SimulatedIBM") -> None:
        self._cloud = cloud

    def act(self, verb: str, body: dict[str, Any]) -> Any:
        """Call the method named `verb` with arguments from JSON. Raises ValueError for an unknown verb."""
        match verb:
            case "make":
                return self.make(body.pop("kind"), tags=body.pop("tags", ()), **body)
            case "create":
                return self.create(**body)
            case "occupy":
                return self.occupy(**body)
            case "send":
                return self.send(body["method"], body["path"], body.get("body"))
            case "token":
                return service_accounts.issue(body, time.time())
            case "attach":
                self.attach(body["crn"], *body["tags"])
            case "detach":
                self.detach(body["crn"], *body["tags"])
            case "strip":
                self.strip(body["crn"])
            case "rename":
                self.rename(body["id"], body["name"])
            case "change":
                self.change(body["id"], **body["fields"])
            case "delete":
                self.delete(body["id"])
            case _:
                raise ValueError(f"unknown verb: {verb}")
        return {"done": verb}

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request as another user of the account; raises ValueError with the body if it is refused."""
        raw = json.dumps(body).encode() if body is not None else b""
        response = self._cloud.handle(Request(method, path, {}, {}, raw), actor="stranger")
        if response.status >= 400:
            raise ValueError(f"{method} {path}: {response.status} {response.body.decode()}")
        return response.json()

    def create(self, path: str, body: dict[str, Any], *, tags: Iterable[str] = (), settled: bool = True) -> Record:
        """Create by POST on a service path; with `settled` the resource is in its final state at once.

        Returns a copy of the record. Example: create("/vpc/us-south/v1/vpcs", {"name": "theirs"}, tags=["a:b"]).
        """
        before = {record["serial"] for record in self._cloud.world.everything()}
        answer = self.send("POST", path, body)
        fresh = [r for r in self._cloud.world.everything() if r["serial"] not in before]
        record = next(r for r in fresh if _names(answer, r))
        for one in fresh if settled else ():
            self._cloud.world.finish_pending(one, self._cloud.clock.now())
        self.attach(record["crn"], *tags)
        return dict(record)

    def make(self, kind: str, *, tags: Iterable[str] = (), **fields: Any) -> Record:
        """Create a resource of a common kind from a few fields, in its final state; returns a copy of the record.

        vpc(region, name), subnet(region, vpc, zone, name), security-group(region, vpc, name),
        load-balancer(region, subnet, name), gateway(location, name), connection(gateway, network, name),
        workspace(zone, name), dhcp(region, workspace, name), network(region, workspace, name),
        vm(region, workspace, network, name), cos-instance(name). For dhcp, network and vm `region` is the
        PowerVS region; `network` of a connection is a CRN. Raises KeyError for another kind or a missing field.
        """
        path, body = _RECIPES[kind](fields, self._cloud.settings)
        return self.create(path, body, tags=tags)

    def occupy(self, kind: str, name: str, **fields: Any) -> Record:
        """Add a resource that no simulated service creates: a `virtual-server` or a `public-gateway`.

        Fields: `vpc` (id), `region`, and for a server `subnets` (list of ids): such a subnet cannot be deleted.
        """
        self._cloud.settle()
        now, world = self._cloud.clock.now(), self._cloud.world
        record = {"id": world.new_uuid(), "name": name, "state": "available", "by": "stranger", **fields}
        added = dict(world.add(kind, now, record))
        self._changed()
        return added

    def attach(self, crn: str, *tags: str) -> None:
        known = self._cloud.world.data["tag_names"]
        for tag in tags:
            self._cloud.world.tag(crn, known.setdefault(tag.casefold(), tag), self._cloud.clock.now())

    def detach(self, crn: str, *tags: str) -> None:
        for tag in tags:
            self._cloud.world.untag(crn, tag, self._cloud.clock.now())
            self._cloud.world.forget_unused_tag(tag, self._cloud.clock.now())

    def strip(self, crn: str) -> None:
        """Detach every tag."""
        self.detach(crn, *self._cloud.world.tags_at(crn, self._cloud.clock.now()))

    def rename(self, ident: str, name: str) -> None:
        self._cloud.settle()
        self.find(ident)["name"] = name
        self._changed()

    def change(self, ident: str, **fields: Any) -> None:
        """Set fields of a record directly, such as state="failed"; cancels its pending transitions."""
        self._cloud.settle()
        self._cloud.world.redirect(self.find(ident), **fields)
        self._changed()

    def delete(self, ident: str) -> None:
        """Remove a resource by id or CRN, and its contents, at once, even if other resources refer to it.

        Raises KeyError for an unknown resource, ValueError for the default security group of a VPC.
        """
        self._cloud.settle()
        record, world, now = self.find(ident), self._cloud.world, self._cloud.clock.now()
        if record.get("default"):
            raise ValueError(f"{ident} is the default security group of its VPC and cannot be deleted")
        for child in [r for r in world.everything() if r is not record and _inside(record, r)]:
            world.remove(child, now)
        if record["kind"] == "instance":
            world.redirect(record, state="removed", operation="delete", sub_operation="", progress="succeeded")
            world.unindex(record, now)
        else:
            world.remove(record, now)
        self._changed()

    def _changed(self) -> None:
        """Record that the world was changed directly, not through a service."""
        self._cloud.world.touched = True
        self._cloud.world.record_history(self._cloud.clock.now())

    def find(self, ident: str) -> Record:
        """Return the live record with this id or CRN; raises KeyError."""
        for record in self._cloud.world.everything():
            if ident in {record["id"], record["crn"] or None}:
                return record
        raise KeyError(ident)

    def resources(self) -> list[dict[str, Any]]:
        """Return every resource as it is now, oldest first, without lag.

        Removed service instances are included with state `removed`, as in Resource Controller.
        """
        self._cloud.settle()
        now, world = self._cloud.clock.now(), self._cloud.world
        rows = sorted(world.everything(), key=lambda r: int(r["serial"]))
        return [
            {
                "kind": r["kind"],
                "name": r["name"],
                "id": r["id"],
                "crn": r["crn"],
                "state": r["state"],
                "created_by": r["by"],
                "created_at": r["created_at"],
                "parent": next((r[key] for key in _PARENTS if r.get(key)), ""),
                "tags": sorted(world.tags_at(r["crn"], now).values()) if r["crn"] else [],
                "digest": digest(r),
            }
            for r in rows
        ]


def _power(fields: Fields, rest: str) -> str:
    return f"/power/{fields['region']}/pcloud/v1/cloud-instances/{fields['workspace']}/{rest}"


def _instance(fields: Fields, settings: Settings, offering: resource_controller.Offering, target: str) -> Recipe:
    group = fields.get("group") or next(iter(settings.resource_groups.values()))
    body = {"name": fields["name"], "target": target, "resource_group": group, "resource_plan_id": offering.plans[0]}
    return "/resource-controller/v2/resource_instances", body


def _connection(fields: Fields) -> Recipe:
    kind = "power_virtual_server" if ":power-iaas:" in fields["network"] else "vpc"
    body = {"network_type": kind, "network_id": fields["network"], "name": fields["name"]}
    return f"/transit/v1/transit_gateways/{fields['gateway']}/connections", body


_RECIPES: Mapping[str, Callable[[Fields, Settings], Recipe]] = {
    "vpc": lambda f, _: (f"/vpc/{f['region']}/v1/vpcs", {"name": f["name"]}),
    "subnet": lambda f, _: (
        f"/vpc/{f['region']}/v1/subnets",
        {"name": f["name"], "vpc": {"id": f["vpc"]}, "zone": {"name": f["zone"]}, "total_ipv4_address_count": 256},
    ),
    "security-group": lambda f, _: (
        f"/vpc/{f['region']}/v1/security_groups",
        {"name": f["name"], "vpc": {"id": f["vpc"]}},
    ),
    "load-balancer": lambda f, _: (
        f"/vpc/{f['region']}/v1/load_balancers",
        {"name": f["name"], "is_public": True, "subnets": [{"id": f["subnet"]}]},
    ),
    "gateway": lambda f, _: ("/transit/v1/transit_gateways", {"name": f["name"], "location": f["location"]}),
    "connection": lambda f, _: _connection(f),
    "workspace": lambda f, s: _instance(f, s, resource_controller.POWER, f["zone"]),
    "cos-instance": lambda f, s: _instance(f, s, resource_controller.COS, "global"),
    "dhcp": lambda f, _: (_power(f, "services/dhcp"), {"name": f["name"]}),
    "network": lambda f, _: (_power(f, "networks"), {"name": f["name"], "type": "vlan"}),
    "vm": lambda f, _: (
        _power(f, "pvm-instances"),
        {"serverName": f["name"], "networks": [{"networkID": f["network"]}]},
    ),
}

_PARENTS = ("vpc", "gateway", "workspace", "instance")


def _inside(parent: Record, child: Record) -> bool:
    return any(child.get(key) == parent["id"] for key in _PARENTS)
