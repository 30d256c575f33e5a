"""Foreign actors: changes by other users of the same accounts, by instances and by AWS, and a complete view."""

import time
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from freehold_sim import service_accounts
from freehold_sim.aws import errors, health_checks, kms, pod_identity
from freehold_sim.aws.authorization import authorize
from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.credentials import Principal, administrator
from freehold_sim.aws.ec2 import capacity, instances, interfaces
from freehold_sim.aws.effects import EFFECTS, ENDS
from freehold_sim.aws.eks import tokens, versions
from freehold_sim.aws.models import service
from freehold_sim.aws.protocols.invalid import Invalid
from freehold_sim.aws.protocols.validation import validate
from freehold_sim.aws.sessions import role_policies
from freehold_sim.aws.world import Record, scope_of
from freehold_sim.simulated import digest

if TYPE_CHECKING:
    from freehold_sim.aws.cloud import SimulatedAWS


_NAMES = ("GroupName", "LoadBalancerName", "TargetGroupName")


class Strangers:
    """Other users of the accounts, and AWS itself. No fault, limit or lag applies to what they do."""

    def __init__(self, cloud: "SimulatedAWS") -> None:
        self._cloud = cloud

    def act(self, verb: str, body: dict[str, Any]) -> Any:
        """Call the method named `verb` with arguments from JSON. Raises ValueError for an unknown verb."""
        match verb:
            case "call":
                return _jsonable(self.call(**body))
            case "as-instance":
                return _jsonable(self.as_instance(**body))
            case "create":
                return self.create(**body)
            case "occupy":
                return self.occupy(**body)
            case "key":
                return self.key(**body)
            case "tag":
                self.tag(body["id"], body["tags"])
            case "tag_each":
                self.tag_each(body["ids"], body["tags"])
            case "untag":
                self.untag(body["id"], *body["keys"])
            case "strip":
                self.strip(body["id"])
            case "change":
                self.change(body["id"], **body["fields"])
            case "delete":
                self.delete(body["id"])
            case "token":
                return service_accounts.issue(body, time.time())
            case "associate":
                self.associate(body["namespace"], body["name"], body["role"])
            case "exhaust":
                self.exhaust(**body)
            case "restock":
                self.restock(**body)
            case "answer":
                self.answer(body["id"], answers=body["answers"])
            case "interrupt":
                self.interrupt(body["id"])
            case "upgrade":
                return {"update": self.upgrade(body["id"])}
            case "enter":
                return self.enter(**body)
            case _:
                raise ValueError(f"unknown verb: {verb}")
        return {"done": verb}

    # -- calls of other users ---------------------------------------------------------------------------------

    def call(
        self, service: str, operation: str, params: dict[str, Any], account: str = "", region: str = "us-east-1"
    ) -> dict[str, Any]:
        """Call an operation as another user of an account (the first one); raises ValueError if it is refused."""
        return self._call(service, operation, params, account, region)[0]

    def as_instance(self, instance: str, service: str, operation: str, params: dict[str, Any]) -> dict[str, Any]:
        """Call an operation as a program on a running instance does, with the rights that its profile gives.

        Raises ValueError if the instance has no credentials, and if the call is refused.
        """
        self._cloud.settle()
        record, world = self.find(instance), self._cloud.world
        if record["view"]["State"]["Name"] != "running":
            raise ValueError(f"{instance} is not running")
        profile = world.by_arn(record["view"].get("IamInstanceProfile", {}).get("Arn", ""))
        if profile is None or not profile["roles"]:
            raise ValueError(f"{instance} has no instance profile with a role: there are no credentials on it")
        account, role = record["account"], profile["roles"][0]
        arn = f"arn:aws:sts::{account}:assumed-role/{role}/{instance}"
        who = Principal(account, arn, f"{role}:{instance}", role_policies(world, account, role))
        return self._call(service, operation, params, account, record["region"], who)[0]

    def enter(self, token: str, cluster: str, region: str = "us-east-1") -> dict[str, Any]:
        """Show the token of a kubeconfig to an EKS cluster, at the cloud's own time: who its bearer is there.

        Raises ValueError if it is not taken.
        """
        try:
            access = tokens.access_of(self._cloud, token, region, cluster, self._cloud.clock.now())
        except tokens.BadToken as bad:
            raise ValueError(str(bad)) from None
        return {"arn": access.identity.arn, "username": access.username, "groups": access.groups}

    def create(
        self,
        service: str,
        operation: str,
        params: dict[str, Any],
        account: str = "",
        region: str = "us-east-1",
        settled: bool = True,
    ) -> Record:
        """Create as another user; with `settled` everything made is in its final state. Returns the main record."""
        made = self._call(service, operation, params, account, region)[1]
        if not made:
            raise ValueError(f"{service}.{operation} answered with what was there")
        for record in made if settled else ():
            self._cloud.world.finish_pending(record, self._cloud.clock.now())
        return dict(made[0])

    def _call(
        self,
        name: str,
        operation: str,
        params: dict[str, Any],
        account: str,
        region: str,
        caller: Principal | None = None,
    ) -> tuple[dict[str, Any], list[Record]]:
        cloud = self._cloud
        cloud.settle()
        account = account or self._first_account()
        place = "" if name == "iam" else region
        now, who = cloud.clock.now(), caller or administrator(account)
        call = Call(cloud.world, cloud.settings, name, operation, params, who, place, now, now, actor="stranger")
        try:
            served = cloud.operations[name][operation]
            model = service(name).operation(operation)
            validate(params, model.input_shape if model else None)
            authorize(call)
            values = served.handler(call)
        except Invalid as invalid:
            refused = errors.of_invalid(name, invalid)
            raise ValueError(f"{name}.{operation}: {refused}") from None
        except Refused as refused:
            raise ValueError(f"{name}.{operation}: {refused}") from None
        if served.writes:
            cloud.world.touched = True
        return values, call.made

    def occupy(self, subnet: str, description: str = "AWS Lambda VPC ENI", groups: tuple[str, ...] = ()) -> Record:
        """Put an interface into a subnet that a service keeps which is not simulated. Returns a copy of its record."""
        record = self.find(subnet)
        call = self._act("ec2", "CreateNetworkInterface", record["account"], record["region"])
        held = interfaces.groups_of(call, record["view"]["VpcId"], list(groups))
        made = interfaces.place(call, record, description, groups=held, requester="awslambda")
        return dict(made)

    def key(self, alias: str = "", account: str = "", region: str = "us-east-1") -> Record:
        """Make a key of KMS, which no request can; with an alias (without ``alias/``). Returns a copy of its record."""
        return dict(kms.make(self._act("kms", "CreateKey", account or self._first_account(), region), alias))

    def _act(self, service: str, operation: str, account: str, region: str) -> Call:
        """Return a call of the administrator of an account, for what is done without a request."""
        cloud, now = self._cloud, self._cloud.clock.now()
        cloud.world.touched = True
        who = administrator(account)
        return Call(cloud.world, cloud.settings, service, operation, {}, who, region, now, now, actor="stranger")

    def _first_account(self) -> str:
        return next(iter(self._cloud.settings.access_keys.values()))

    # -- direct changes ---------------------------------------------------------------------------------------

    def tag(self, ident: str, tags: dict[str, str]) -> None:
        record = self.find(ident)
        self._cloud.world.set_tags(record, {**record["tags"], **tags}, self._cloud.clock.now())

    def tag_each(self, ids: list[str], tags: dict[str, str]) -> None:
        """Tag several resources at once, as one TagResources does: no read comes between two of them."""
        for ident in ids:
            self.tag(ident, tags)

    def untag(self, ident: str, *keys: str) -> None:
        record = self.find(ident)
        kept = {key: value for key, value in record["tags"].items() if key not in keys}
        self._cloud.world.set_tags(record, kept, self._cloud.clock.now())

    def strip(self, ident: str) -> None:
        """Remove every tag."""
        self._cloud.world.set_tags(self.find(ident), {}, self._cloud.clock.now())

    def change(self, ident: str, **fields: Any) -> None:
        """Set members of what AWS shows of a resource, such as State="failed"; cancels its pending transitions."""
        self._cloud.settle()
        self._cloud.world.redirect(self.find(ident), **fields)

    def delete(self, ident: str) -> None:
        """Remove a resource by id or ARN, and what it kept elsewhere, at once, even if other resources refer to it."""
        self._cloud.settle()
        record, now, world = self.find(ident), self._cloud.clock.now(), self._cloud.world
        if record["kind"] in ENDS:
            EFFECTS[ENDS[record["kind"]]](world, record, now)
        scope = scope_of(record["account"], record["region"])
        for rule in record.get("rules", ()):
            world.table(scope, "security-group-rule").pop(rule, None)
        cards = world.table(scope, "network-interface")
        for card in _cards(record):
            if card in cards:
                interfaces.remove(world, cards[card], now)
        world.remove(record, now)

    def associate(self, namespace: str, name: str, role: str) -> None:
        """Give the pods of a service account a role, whose ARN is given (pod_identity.py)."""
        pod_identity.associate(self._cloud.world, namespace, name, role)
        self._cloud.world.touched = True

    # -- what AWS does by itself ------------------------------------------------------------------------------

    def exhaust(self, zone: str, kind: str = "*", market: str = "*", *, offered: bool = True) -> None:
        """Let a zone have no capacity for instance types (a shell pattern); `market` is spot, on-demand or both.

        Not `offered`: the zone does not have them at all, which is another refusal.
        """
        capacity.exhaust(self._cloud.world, zone, kind, market, offered=offered)
        self._cloud.world.touched = True

    def restock(self, zone: str) -> None:
        """Let a zone have capacity for everything again."""
        capacity.restock(self._cloud.world, zone)
        self._cloud.world.touched = True

    def answer(self, ident: str, *, answers: bool) -> None:
        """Let an instance answer the health checks of load balancers from now on, or no longer; a new one does."""
        self._cloud.settle()
        health_checks.answer(self.find(ident), self._cloud.clock.now(), answers=answers)
        self._cloud.world.touched = True

    def interrupt(self, ident: str) -> None:
        """Take a spot instance back; raises ValueError for another one."""
        self._cloud.settle()
        instances.interrupt(self._cloud.world, self.find(ident), self._cloud.clock.now(), self._cloud.settings)

    def upgrade(self, ident: str) -> str:
        """Let EKS update a cluster to the next version, as at the end of support. Returns the id of the update.

        https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html#extended-support-faqs
        """
        record = self.find(ident)
        after = f"1.{versions.minor(record['view']['version']) + 1}"
        params = {"name": record["id"], "version": after}
        made = self.call("eks", "UpdateClusterVersion", params, record["account"], record["region"])
        return str(made["update"]["id"])

    # -- the complete view ------------------------------------------------------------------------------------

    def find(self, ident: str) -> Record:
        """Return the live record with this id or ARN; raises KeyError."""
        if (record := self._cloud.world.by_arn(ident)) is not None:
            return record
        for record in self._cloud.world.everything():
            if record["id"] == ident:
                return record
        raise KeyError(ident)

    def resources(self) -> list[dict[str, Any]]:
        """Return every resource as it is now, oldest first, without lag.

        `default`: it came with its VPC, unasked. `parent` is the VPC.
        """
        self._cloud.settle()
        rows = sorted(self._cloud.world.everything(), key=lambda record: int(record["serial"]))
        return [
            {
                "kind": record["kind"],
                "name": _name(record),
                "id": record["id"],
                "arn": record["arn"],
                "account": record["account"],
                "region": record["region"],
                "state": _state(record["view"]),
                "created_by": record["by"],
                "created_at": record["created_at"],
                "parent": _parent(record),
                "default": _is_default(record),
                "tags": dict(record["tags"]),
                "digest": digest(record),
            }
            for record in rows
        ]


def _jsonable(value: Any) -> Any:
    """Return a reply with binary content as base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _jsonable(each) for key, each in value.items()}
    return [_jsonable(each) for each in value] if isinstance(value, list) else value


def _cards(record: Record) -> list[str]:
    """Return the interfaces of a load balancer, which it keeps by subnet."""
    held = record.get("interfaces", ())
    return list(held.values()) if isinstance(held, dict) else []


def _name(record: Record) -> str:
    """Return the name that a service keeps, else the tag `Name`."""
    view = record["view"]
    given = next((view[key] for key in _NAMES if view.get(key)), "")
    return str(given or record["tags"].get("Name", ""))


def _parent(record: Record) -> str:
    found = "" if record["kind"] == "vpc" else record["view"].get("VpcId", record["view"].get("VPCId"))
    return str(found or "")


def _is_default(record: Record) -> bool:
    named = record["kind"] == "security-group" and record["view"]["GroupName"] == "default"
    return named or bool(record.get("main") or record.get("by_eks"))


def _state(view: dict[str, Any]) -> str:
    state = view.get("State", view.get("Status", view.get("status", "")))
    return str(state.get("Name", state.get("Code", ""))) if isinstance(state, dict) else str(state)
