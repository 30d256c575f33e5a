"""The changes that a plan lists, and those that happened: two sets that must be equal.

The world is read from the simulator's records and the cloud's log, not from the product's own reports.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from freehold.controllers.plan.plan import PlanAction
from freehold.controllers.plan.planner import Plan, plan_with_accounts
from freehold.engine.port import InlinePort
from freehold.providers.access.accounts import Binding, OneAccount
from freehold.providers.ibm.accounts import IbmAccount
from freehold.providers.ibm.powervs.adapter import PowerVSClusterAdapter
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from harness.account import BASE, SimMount
from harness.powervs import Harness, HarnessObjects
from harness.resources import MARK, Row, existing
from harness.stepping import run_blocking
from harness.traits import kind_of, made, unborn


class Change(NamedTuple):
    """One change. ``resource`` is the id, or the name of a resource that does not exist yet."""

    kind: str
    resource: str
    action: str
    attribute: str = ""
    before: str = ""
    after: str = ""


def planned(harness: Harness, *, deleting: bool = False) -> Plan:
    """The plan for the stored object, by a process without other state."""
    key = harness.cloud.settings.api_key
    account = IbmAccount(key, BASE, harness.clock, mount=SimMount(harness.cloud), port=InlinePort())
    accounts = OneAccount(Binding(account, PowerVSClusterAdapter(account.facts_reader(), harness.gates)))
    raw = copy.deepcopy(harness.object.raw)
    if deleting:
        raw["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z"
    ring, others = harness.rings.ring, HarnessObjects(harness.together)
    return run_blocking(plan_with_accounts(POWERVS_CLUSTER, accounts, harness.clock, raw, ring, harness.around, others))


def promised(plan: Plan) -> Counter[Change]:
    """The changes that a plan lists. Changes of marks belong to their create or delete."""
    found: Counter[Change] = Counter()
    for row in plan.rows:
        if not row.action.changes or row.attribute.startswith(MARK):
            continue
        resource = row.id.rpartition("/")[2] if row.id else row.name
        match row.action:
            case PlanAction.CREATE | PlanAction.DELETE:
                found[Change(row.kind, resource, row.action.value)] += 1
            case PlanAction.UPDATE:
                found[Change(row.kind, resource, "update", row.attribute, str(row.before), str(row.after))] += 1
            case PlanAction.ADD_PART | PlanAction.REMOVE_PART:
                part = _part(row.attribute.partition(" ")[0], row.after or row.before)
                found[Change(row.kind, resource, row.action.value, part)] += 1
            case _:
                found[Change(row.kind, resource, row.action.value, row.attribute)] += 1
    return found


class Snapshot:
    """The world at one moment: our records and their tags."""

    def __init__(self, harness: Harness) -> None:
        self.everything: dict[str, Row] = json.loads(
            json.dumps({record["id"]: record for record in harness.cloud.world.everything()})
        )
        self.ours = {_id(record): self.everything[record["id"]] for record in made(harness)}
        self.tags = {row["id"]: frozenset(row["tags"]) for row in existing(harness)}
        self.calls = len(harness.cloud.calls)
        self.writes = sum(call.mutating for call in harness.cloud.calls)

    def __eq__(self, other: object) -> bool:
        """Whether nothing happened in between: the same resources with the same tags, and no write was sent."""
        if not isinstance(other, Snapshot):
            return NotImplemented
        return (self.tags, self.writes) == (other.tags, other.writes)

    def user_tags(self, record: Row) -> frozenset[str]:
        return frozenset(tag for tag in self.tags[record["id"]] if not tag.startswith(MARK))


def changed(before: Snapshot, after: Snapshot) -> Counter[Change]:
    """The changes between two moments."""
    found: Counter[Change] = Counter()
    for ident, record in after.ours.items():
        kind = kind_of(record)
        if ident not in before.ours:
            found[Change(kind, unborn(record), "create")] += 1
            if kind != "load-balancer":
                found.update(_parts(kind, unborn(record), Counter(), _inside(record, after)))
            continue
        old = before.ours[ident]
        for attribute in _MUTABLE.get(kind, ()):
            if old[attribute] != record[attribute]:
                word = "network" if kind == "dhcp-server" else attribute
                found[Change(kind, ident, "update", word, str(old[attribute]), str(record[attribute]))] += 1
        found.update(_parts(kind, ident, _inside(old, before), _inside(record, after)))
        had, has = before.user_tags(old), after.user_tags(record)
        found.update(Change(kind, ident, "add tag", tag) for tag in has - had)
        found.update(Change(kind, ident, "remove tag", tag) for tag in had - has)
    found.update(
        Change(kind_of(record), ident, "delete") for ident, record in before.ours.items() if ident not in after.ours
    )
    return found


_MUTABLE: Mapping[str, tuple[str, ...]] = {
    "workspace": ("name",),
    "cos-instance": ("name",),
    "dhcp-server": ("name",),
    "vpc": ("name",),
    "vpc-subnet": ("name",),
    "security-group": ("name",),
    "transit-gateway": ("name", "global"),
}


def _id(record: Row) -> str:
    if record["kind"] == "network":
        return str(record.get("dhcp") or record["id"])
    if record["kind"] == "bucket":
        return f"{record['location'].removesuffix('-smart')}.{record['name']}"
    return str(record["id"])


def _parts(kind: str, resource: str, had: Counter[str], has: Counter[str]) -> Iterator[Change]:
    for part, count in (has - had).items():
        yield from [Change(kind, resource, "add part", part)] * count
    for part, count in (had - has).items():
        yield from [Change(kind, resource, "remove part", part)] * count


def _inside(record: Row, snapshot: Snapshot) -> Counter[str]:
    match record["kind"]:
        case "vpc":
            group = next(r for r in snapshot.everything.values() if r.get("default") and r.get("vpc") == record["id"])
            return Counter(_part("rule", rule) for rule in group["rules"] if "port_min" in rule)
        case "security-group":
            return Counter(_part("rule", rule) for rule in record["rules"])
        case "load-balancer":
            return Counter(_part("listener", listener) for listener in record["listeners"])
    return Counter()


def _part(kind: str, fields: Mapping[str, Any]) -> str:
    if kind == "listener":
        return f"listener {fields['port']}"
    named = {name: fields[name] for name in ("port_min", "port_max", "type", "code") if fields.get(name) is not None}
    remote = {name: value for name, value in fields["remote"].items() if name not in ("id", "group")}
    return f"rule {fields['direction']} {fields['protocol']} {named} {remote}"


def refused(harness: Harness, since: Snapshot, wanted: Counter[Change]) -> Counter[Change]:
    """Creates that the cloud refused for a reason that only it can check, and that status shows as blocked."""
    codes = [call.status for call in harness.cloud.calls[since.calls :] if call.mutating and call.status in (400, 422)]
    rows = harness.status().get("resources") or () if codes else ()
    blocked = {(row["kind"], row["name"]) for row in rows if row["state"] == "Blocked"}
    return Counter({c: n for c, n in wanted.items() if c.action == "create" and (c.kind, c.resource) in blocked})


def writes(harness: Harness, since: Snapshot) -> Counter[str]:
    """The writes that took effect since then, by API."""
    return Counter(
        call.operation.partition(".")[0]
        for call in harness.cloud.calls[since.calls :]
        if call.mutating and call.actor != "stranger" and call.status < 400
    )
