"""Others in the simulated AWS account: what they own from the beginning, and what they do to our resources."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.engine import journal
from freehold.engine.keyed_codec import OWNER, SEAL, UUID
from freehold.engine.tag_text import tag_map, texts
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION
from harness.powervs import ReconcilerHarness
from lab.aws_requests import STRIKES, Place, request_of

Record = dict[str, Any]

KINDS: Mapping[str, str] = {
    "vpc": "vpc",
    "subnet": "subnet",
    "internet-gateway": "internet-gateway",
    "egress-only-internet-gateway": "egress-only-gateway",
    "elastic-ip": "elastic-ip",
    "natgateway": "nat-gateway",
    "route-table": "route-table",
    "security-group": "security-group",
    "vpc-endpoint": "vpc-endpoint",
    "instance": "instance",
    "classic-balancer": "classic-load-balancer",
    "balancer": "network-load-balancer",
    "target-group": "target-group",
    "listener": "listener",
    "bucket": "s3-bucket",
    "network-interface": "network-interface",
    "secret": "bootstrap-secret",
    "eks-cluster": "eks-cluster",
    "eks-addon": "eks-addon",
    "eks-access-entry": "eks-access-entry",
    "eks-nodegroup": "eks-node-group",
    "eks-fargate-profile": "eks-fargate-profile",
    "role": "iam-role",
    "oidc-provider": "oidc-provider",
}
"""Kinds of the simulator, and our names for them."""
OVER = frozenset({"deleting", "deleted", "shutting-down", "terminated"})
ANOTHER = {OWNER: "prod/c2", UUID: f"{'2' * 8}-2222-4222-8222-{'2' * 12}"}
"""The marks of an owner who is not served here."""
NAMES: Mapping[str, str] = {
    "security-group": "demo-node",
    "classic-load-balancer": "demo-apiserver",
    "network-load-balancer": "default-demo-apiserver",
    "target-group": "apiserver-target-d478e9fcaac8b63",
    "s3-bucket": "freehold-demo-bucket",
}
"""The names that we want, of kinds that have one of their own."""
PROVISIONS: Mapping[str, str] = {
    "nat-gateway": "ec2.CreateNatGateway",
    "eks-cluster": "eks.CreateCluster",
    "eks-addon": "eks.CreateAddon",
}
"""Our requests that may succeed and still lead to a failed resource."""
THEIR_ROLE = "their-role"
THEIR_ROUTE = "192.0.2.0/24"
TIDY = "tidy"
"""A value that somebody writes under a key of ours."""
OLD_RANGE, WANTED_RANGE = "10.9.0.0/16", "10.0.0.0/17"


def existing(harness: ReconcilerHarness[SimulatedAWS]) -> Iterator[Record]:
    """What somebody made and nobody is deleting; without what came along with something else."""
    harness.cloud.settle()
    for record in harness.cloud.world.everything():
        view = record["view"]
        if record["kind"] not in KINDS or state_of(view) in OVER or "DeletedDate" in view:
            continue
        if record.get("main") or view.get("GroupName") == "default":
            continue  # it comes and goes with its VPC
        if record.get("by_eks") or _is_of_eks(record):
            continue  # it comes and goes with its cluster of EKS
        if record["kind"] == "network-interface" and (record["by"] != "stranger" or _is_of_a_service(view)):
            continue  # likewise with a NAT gateway, a load balancer, a machine, a cluster of EKS
        yield record


def _is_of_a_service(interface: Mapping[str, Any]) -> bool:
    return str(interface.get("Description", "")).startswith(("ELB ", "Amazon EKS "))


def _is_of_eks(record: Record) -> bool:
    """An access entry that EKS made by itself in a cluster of ours: of its creator, of a node group of theirs."""
    ends = ("user/admin", f"role/{THEIR_ROLE}")
    return (
        record["kind"] == "eks-access-entry" and record["by"] == "api" and record["view"]["principalArn"].endswith(ends)
    )


def state_of(view: Mapping[str, Any]) -> str:
    state = view.get("State", view.get("status", ""))
    return str(state.get("Name", state.get("Code", "")) if isinstance(state, dict) else state).lower()


class Neighbours:
    """They act without fault or delay; ``due`` is each of their resources as they left it, byte for byte."""

    names = NAMES

    def __init__(self, harness: ReconcilerHarness[SimulatedAWS]) -> None:
        self._harness = harness
        self._cloud = harness.cloud
        self.due: dict[str, bytes] = {}
        self.forged: dict[str, frozenset[str]] = {}  # tags that they attached on purpose
        self.given_tags: frozenset[str] = frozenset()
        """What an object of ours may put on what is given."""
        self.olds: dict[str, str] = {}
        self.tidied: set[str] = set()
        self.routed: set[str] = set()
        self.is_ours: Callable[[Record], bool] = lambda record: True
        """Whether what our process made is for the object that is tested."""
        self._settle_in()

    def _settle_in(self) -> None:
        """A network of theirs, and something of each kind in it."""
        vpc = self._call("ec2", "CreateVpc", CidrBlock=OLD_RANGE)["Vpc"]["VpcId"]
        gateway = self._call("ec2", "CreateInternetGateway")["InternetGateway"]["InternetGatewayId"]
        self._call("ec2", "AttachInternetGateway", InternetGatewayId=gateway, VpcId=vpc)
        self.olds = {"vpc": vpc, "internet-gateway": gateway}
        place = Place(vpc, "")
        names = {"subnet": "10.9.0.0/20", "security-group": "theirs"}
        for kind in ("subnet", "route-table", "security-group", "egress-only-gateway", "vpc-endpoint"):
            self.olds[kind] = self._made(kind, names.get(kind, ""), place)["id"]
        table, subnet = self.olds["route-table"], self.olds["subnet"]
        self._call("ec2", "CreateRoute", RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
        self._call("ec2", "AssociateRouteTable", RouteTableId=table, SubnetId=subnet)
        place = Place(vpc, subnet)
        for kind in ("elastic-ip", "nat-gateway", "classic-load-balancer", "network-load-balancer", "target-group"):
            self.olds[kind] = self._made(kind, "theirs", place)["id"]
        place = Place(vpc, self.olds["subnet"], self.olds["network-load-balancer"], self.olds["target-group"])
        for kind in ("listener", "instance", "s3-bucket"):
            self.olds[kind] = self._made(kind, f"their-{kind}", place)["id"]
        self._harness.clock.advance(3600.0)
        self.note()

    def moved_to(self, harness: ReconcilerHarness[SimulatedAWS]) -> Neighbours:
        """The same in a copy of the account."""
        moved = copy.copy(self)
        moved._harness, moved._cloud = harness, harness.cloud
        moved.due, moved.forged, moved.olds = dict(self.due), dict(self.forged), dict(self.olds)
        moved.tidied, moved.routed = set(self.tidied), set(self.routed)
        return moved

    @property
    def place(self) -> Place:
        return Place(*(self.olds[kind] for kind in ("vpc", "subnet", "network-load-balancer", "target-group")))

    # -- what is there ------------------------------------------------------------------------------------

    def snapshot(self, record: Record) -> bytes:
        """The cloud's own record and tags."""
        tags = sorted(texts(record["tags"]) - self.given_tags)
        view = {key: value for key, value in record["view"].items() if key != "AvailableIpAddressCount"}
        return json.dumps([view, tags], sort_keys=True, default=str).encode()

    def note(self, *again: str) -> None:
        """Remember the state of their resources after they acted: new ones, and those that they changed."""
        for record in existing(self._harness):
            if record["by"] == "stranger" and (record["id"] not in self.due or record["id"] in again):
                self.due[record["id"]] = self.snapshot(record)
                self.forged[record["id"]] = texts(record["tags"])

    def tampered(self) -> list[str]:
        """What of theirs is gone, and values of theirs on ours that somebody else has replaced."""
        tags = {record["id"]: record["tags"] for record in existing(self._harness)}
        gone = [f"{ident} of somebody else's is gone" for ident in self.due if ident not in tags]
        kept = {ident: tags[ident].get(SEAL) for ident in self.tidied & tags.keys()}
        gone += [f"{SEAL} of {ident} was {TIDY}, is {is_}" for ident, is_ in kept.items() if is_ != TIDY]
        tables = [self._cloud.strangers.find(ident)["view"] for ident in self.routed & tags.keys()]
        lost = [view for view in tables if THEIR_ROUTE not in [r.get("DestinationCidrBlock") for r in view["Routes"]]]
        return gone + [f"their route {THEIR_ROUTE} in {view['RouteTableId']} is gone" for view in lost]

    def ours(self, kind: str) -> Record | None:
        rows = (r for r in existing(self._harness) if KINDS[r["kind"]] == kind and r["by"] == "api")
        return next((record for record in rows if self.is_ours(record)), None)

    def remove(self, ident: str) -> None:
        """Its owner deletes it, with everything in it."""
        record = self._cloud.strangers.find(ident)
        if record["kind"] == "vpc":
            self._empty(ident)
        self._cloud.strangers.delete(ident)
        there = {record["id"] for record in existing(self._harness)}
        self.due = {each: photo for each, photo in self.due.items() if each in there}

    # -- acts ---------------------------------------------------------------------------------------------

    def namesake(self, kind: str) -> None:
        """Create a resource with the name, or the range, that we want, in the same place, if that exists."""
        self._make(kind, {"Name": f"demo-{kind}"})

    def homonym(self, kind: str) -> None:
        """Another cluster of our name, of another owner, creates a resource in this account."""
        tags = {"sigs.k8s.io/cluster-api-provider-aws/cluster/demo": "owned", **ANOTHER}
        name = {"subnet": "10.9.64.0/20"}.get(kind, f"demo-{len(self.due)}")
        self._try(kind, name, self.place, {**tags, "Name": f"demo-{kind}"})

    def copycat(self, kind: str) -> None:
        """Create a resource like ours, and copy every tag of ours onto it."""
        if (model := self.ours(kind)) is not None:
            name = {"subnet": "10.9.128.0/20"}.get(kind, f"{self.names.get(kind, 'copy')[:20]}-copy")
            self._try(kind, name, self.place, model["tags"])

    def brand(self, kind: str) -> None:
        """Copy every tag of ours onto an old resource of theirs."""
        if (model := self.ours(kind)) is not None:
            self.forge(self.olds[kind], texts(model["tags"]))

    def steal(self, kind: str) -> None:
        """Another owner takes over a resource of ours: its tags name them."""
        self._take(kind, ANOTHER, alone=True)

    def claim_uuid(self, kind: str) -> None:
        """An owner of our name in another management cluster writes its uuid over ours."""
        self._take(kind, {UUID: ANOTHER[UUID]})

    def claim_owner(self, kind: str) -> None:
        """Another owner writes its name over ours."""
        self._take(kind, {OWNER: ANOTHER[OWNER]})

    def _take(self, kind: str, marks: Mapping[str, str], *, alone: bool = False) -> None:
        taken = self.ours(kind)
        if taken is None or state_of(taken["view"]) not in ("", "available", "active"):
            return
        if alone:
            self._cloud.strangers.strip(taken["id"])
        self._cloud.strangers.tag(taken["id"], dict(marks))
        taken["by"] = "stranger"
        self.note()

    def move_in(self, kind: str) -> None:
        """Put something into ours that keeps it from being deleted."""
        if (host := self.ours(kind)) is None:
            return
        if kind == "subnet":
            self._cloud.strangers.occupy(host["id"])
            self.note()
        else:
            self._try("security-group", f"guest-{len(self.due)}", Place(host["id"], ""), {})

    def victim(self, kind: str, *, young: bool) -> tuple[str, str] | None:
        """A resource of theirs: old, or created now with the name that we want."""
        if not young:
            return self._named(self.olds[kind])
        before = set(self.due)
        self.namesake(kind)
        return next((self._named(ident) for ident in self.due if ident not in before), None)

    def _named(self, ident: str) -> tuple[str, str]:
        return ident, str(self._cloud.strangers.find(ident)["arn"])

    def forge(self, ident: str, tags: frozenset[str]) -> None:
        record = self._cloud.strangers.find(ident)
        self._cloud.strangers.tag(ident, tag_map(tags))
        self.note(record["id"])

    def spy(self, kind: str, tags: frozenset[str]) -> None:
        """Create what a create of ours with these birth tags would create."""
        self._make(kind, tag_map(tags))

    def strip(self, kind: str) -> None:
        """Detach every tag of a resource of ours."""
        if (victim := self.ours(kind)) is not None:
            self._cloud.strangers.strip(victim["id"])

    def on_record(self) -> set[str]:
        """The ids that the object's journal has."""
        annotations = self._harness.object.raw["metadata"].get("annotations", {})
        text = annotations.get(JOURNAL_ANNOTATION)
        return {entry.id for entry in journal.loads(text).entries.values()} if text else set()

    def strike(self, kind: str) -> None:
        """Delete a resource of ours as anybody may who has the permission: a VPC with everything in it."""
        if (victim := self.ours(kind)) is None:
            return
        if kind == "vpc":
            self._empty(victim["id"])
        with contextlib.suppress(ValueError):
            for service, operation, params in STRIKES[kind](victim):
                self._call(service, operation, **params)
        there = {record["id"] for record in existing(self._harness)}
        self.due = {each: photo for each, photo in self.due.items() if each in there}

    def fail(self, kind: str) -> None:
        """New resources of this kind fail from now on."""
        self._cloud.faults.add(Fault(Effect.FAILED, PROVISIONS[kind], count=None))

    def unhook(self, kind: str) -> None:
        """Take out what is inside ours: a gateway's attachment, a table's routes and associations, a group's rules."""
        victim = self.ours(kind)
        if victim is None:
            return
        view = victim["view"]
        with contextlib.suppress(ValueError):
            if kind == "internet-gateway":
                for held in view["Attachments"]:
                    self._call("ec2", "DetachInternetGateway", InternetGatewayId=victim["id"], VpcId=held["VpcId"])
            elif kind == "route-table":
                self._call("ec2", "DeleteRoute", RouteTableId=victim["id"], DestinationCidrBlock="0.0.0.0/0")
            elif kind == "security-group":
                self._revoke(victim)

    def _revoke(self, group: Record) -> None:
        """The first of its rules."""
        shown = self._call("ec2", "DescribeSecurityGroups", GroupIds=[group["id"]])["SecurityGroups"][0]
        if rules := shown["IpPermissions"]:
            self._call("ec2", "RevokeSecurityGroupIngress", GroupId=group["id"], IpPermissions=rules[:1])

    def drop_in(self, kind: str) -> None:
        """Add a route of theirs to a route table of ours, which goes with the table."""
        table, gateway = self.ours(kind), self.ours("internet-gateway")
        if table is not None and gateway is not None and table["id"] not in self.routed:
            with contextlib.suppress(ValueError):
                to = {"DestinationCidrBlock": THEIR_ROUTE, "GatewayId": gateway["id"]}
                self._call("ec2", "CreateRoute", RouteTableId=table["id"], **to)
                self.routed.add(table["id"])

    def retag(self, kind: str) -> None:
        """Write another value under the key of our seal, as somebody may who tidies up tags."""
        if (victim := self.ours(kind)) is not None:
            self._cloud.strangers.tag(victim["id"], {SEAL: TIDY})
            self.tidied.add(victim["id"])

    # -- how --------------------------------------------------------------------------------------------------

    def _make(self, kind: str, tags: Mapping[str, str]) -> None:
        vpc = self.ours("vpc")
        inside = kind in ("subnet", "security-group", "route-table", "egress-only-gateway", "vpc-endpoint")
        if inside and vpc is None:
            return
        place = Place(vpc["id"], "") if inside and vpc else self.place
        self._try(kind, WANTED_RANGE if kind == "subnet" else self.names.get(kind, "theirs"), place, tags)

    def _try(self, kind: str, name: str, place: Place, tags: Mapping[str, str]) -> None:
        """Ignore a refusal of the cloud (a name that is taken, a place that is not ready)."""
        with contextlib.suppress(ValueError):
            self._made(kind, name, place, tags)
        self.note()

    def _made(self, kind: str, name: str, place: Place, tags: Mapping[str, str] | None = None) -> Record:
        service, operation, params = request_of(kind, name, place, tags or {})
        return self._cloud.strangers.create(service, operation, params, region=REGION)

    def _call(self, service: str, operation: str, **params: Any) -> dict[str, Any]:
        return self._cloud.strangers.call(service, operation, params, region=REGION)

    def _empty(self, vpc: str) -> None:
        """Everything in a VPC goes at once, the youngest first, and its gateway is detached."""
        rows = sorted(existing(self._harness), key=lambda record: -int(record["serial"]))
        inside = [record for record in rows if vpc in (record["view"].get("VpcId"), record["view"].get("VPCId"))]
        for record in inside:
            if record["kind"] != "vpc":
                self._cloud.strangers.delete(record["id"])
        for record in rows:
            held: Callable[..., Any] = record["view"].get
            if record["kind"] == "internet-gateway" and any(each["VpcId"] == vpc for each in held("Attachments", ())):
                with contextlib.suppress(ValueError):
                    self._call("ec2", "DetachInternetGateway", InternetGatewayId=record["id"], VpcId=vpc)
