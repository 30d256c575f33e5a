"""Edits of a spec, to be made at any moment of a cluster's life, and the check of their result.

The world must become what a new object with the last spec would create, or else the status must tell which
resource differs in which field.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from freehold.api import names
from freehold.controllers.controller import RequeueAfter, Result
from freehold.providers.ibm import api_names as ibm_names
from harness.powervs import IGNITION, Harness, example
from harness.resources import MARK, REGION, existing, let_in, made_by_others, omitted, snapshot
from harness.traits import Trait, kind_of, made, traits, unborn

Patch = dict[str, Any]


@dataclass(frozen=True)
class Edit:
    """``steps`` are merge patches on the object, with passes between them.

    ``base`` is merged into a minimal spec. ``theirs`` first creates resources of strangers, and
    may answer with a patch that names one of them, which is the first step.
    """

    name: str
    steps: tuple[Patch, ...]
    base: Patch = field(default_factory=dict)
    theirs: Callable[[Harness], Patch] = lambda harness: {}


class Watched(Harness):
    """A harness with a check after each pass: if Ready for this generation, each difference must be reported."""

    wanted: Counter[Trait] | None = None
    """The wanted traits; None before the last step."""

    def pass_once(self) -> Result:
        result = super().pass_once()
        if self.wanted is not None and self.claims():
            unsaid = self.unsaid(self.wanted)
            assert not unsaid, f"pass {self.passes}: Ready, and silent about {unsaid}"
        return result

    def claims(self) -> bool:
        """Whether status claims that this spec is fulfilled."""
        metadata = self.object.raw["metadata"]
        paused = self.condition(names.PAUSED).get("status") == "True"
        newest = self.status().get("observedGeneration") == metadata["generation"]
        return self.ready() and newest and not paused and "deletionTimestamp" not in metadata

    def unsaid(self, wanted: Counter[Trait]) -> list[Trait]:
        """Differences between the world and ``wanted`` that no row of ``status.resources`` reports."""
        have = traits(self)
        rows = self.status().get("resources") or []
        surplus = {row.get("id") for row in rows if row.get("state") == "Surplus"}
        ours = {(kind_of(r), unborn(r)) for r in made(self) if surplus & {_row_id(r), _bucket(r)}}
        told = {(row["kind"], row["name"]): row.get("message", "") for row in rows}
        differing = [*(wanted - have), *(have - wanted)]
        return [
            trait
            for trait in differing
            if (trait.kind, trait.name) not in ours and not _tells(told, trait, wanted, have)
        ]


def _row_id(record: Mapping[str, Any]) -> str:
    """The id under which status shows it: the network of a DHCP server has the id of the server."""
    return str(record.get("dhcp") or record["id"]) if record["kind"] == "network" else str(record["id"])


def _tells(told: Mapping[tuple[str, str], str], trait: Trait, wanted: Counter[Trait], have: Counter[Trait]) -> bool:
    """Traits treat a connection with another target as another one; status reports it as a difference."""
    if trait.kind == "transit-gateway-connection":
        messages = [message for (kind, _), message in told.items() if kind == trait.kind]
        return any("network_id is " in message or "gateway is " in message for message in messages)
    word = "listener 22623" if trait.field == "listener" else trait.field
    named = [message for (kind, _), message in told.items() if kind == trait.kind and f"'{trait.name}'" in message]
    return f"{word} is " in told.get((trait.kind, trait.name), "") or any("name is " in message for message in named)


def start(edit: Edit, *, last: bool = False) -> tuple[Watched, tuple[Patch, ...], dict[str, bytes]]:
    """The harness before the edit, or with the last spec from the start; the patches; strangers' resources."""
    harness = Watched(example(**{**omitted(), **edit.base}), gates=IGNITION)
    given = edit.theirs(harness)
    steps = (*((given,) if given else ()), *edit.steps)
    if last:
        for step in steps:
            harness.object.patch(step)
    return harness, steps, snapshot(harness, [row["id"] for row in made_by_others(harness)])


@functools.cache
def wanted(edit: str) -> Counter[Trait]:
    """What a new object with the last spec makes."""
    harness, _, _ = start(EDITS[edit], last=True)
    harness.up()
    return traits(harness)


def play(name: str, passes: int) -> None:
    """Create, edit after that many passes, run until rest, delete; with checks after each pass."""
    goal = wanted(name)
    harness, steps, strangers = start(EDITS[name])
    _edit(harness, steps, passes)
    harness.wanted = goal
    _conclude(harness, goal, strangers)


def _edit(harness: Harness, steps: tuple[Patch, ...], passes: int) -> None:
    _go(harness, passes)
    for index, step in enumerate(steps):
        _go(harness, 3 if index else 0)
        harness.object.patch(step)


def edited(name: str, passes: int) -> Watched:
    """A cluster that was edited after that many passes; no pass has seen the last step."""
    harness, steps, _ = start(EDITS[name])
    _edit(harness, steps, passes)
    return harness


def at_rest(harness: Watched) -> None:
    """Run passes until nothing changes by itself, and two deep passes more."""
    harness.run(lambda: harness.claims() or _stuck(harness), limit=3600.0)
    harness.for_a_while(1400.0)


def play_amid(name: str, call: int) -> None:
    """The same with an edit of one step, made during the pass that sends this call to the cloud."""
    harness, (step,), strangers = start(EDITS[name])
    goal = wanted(name)
    handle, calls = harness.cloud.handle, itertools.count(1)

    def handled(*request: Any, **actor: Any) -> Any:
        if not actor and next(calls) == call:
            harness.object.patch(step)
            harness.wanted = goal
        return handle(*request, **actor)

    harness.cloud.handle = handled  # type: ignore[method-assign]  # the wire
    harness.run(lambda: harness.wanted is not None, limit=3600.0)
    _conclude(harness, goal, strangers)


def _conclude(harness: Watched, goal: Counter[Trait], strangers: dict[str, bytes]) -> None:
    harness.run(lambda: harness.claims() or _stuck(harness), limit=3600.0)
    harness.for_a_while(700.0)
    assert harness.claims() or _stuck(harness), harness.conditions()
    if harness.claims():
        assert not harness.unsaid(goal)
    _accounted(harness)
    still = snapshot(harness)
    harness.for_a_while(700.0)
    assert snapshot(harness) == still, "it still writes at rest"
    assert _unmarked(snapshot(harness, strangers)) == _unmarked(strangers)
    harness.down()
    assert [row["name"] for row in existing(harness) if row["created_by"] == "api"] == []
    assert snapshot(harness, strangers) == strangers


def _unmarked(photographs: Mapping[str, bytes]) -> dict[str, Any]:
    """Without our marks: a stranger's gateway carries those of our connections (docs/reference/requirements.md T14)."""
    found = {}
    for ident, photo in photographs.items():
        record, tags = json.loads(photo)
        found[ident] = [record, [tag for tag in tags if not tag.startswith(MARK)]]
    return found


def _go(harness: Harness, passes: int) -> None:
    for _ in range(passes):
        result = harness.pass_once()
        harness.clock.advance(max(result.seconds, 0.01) if isinstance(result, RequeueAfter) else 60.0)


def _stuck(harness: Harness) -> bool:
    """A message tells a person what to do, and nothing changes by itself."""
    rows = harness.status().get("resources") or []
    invalid = harness.condition(names.SPEC_VALID).get("status") == "False"
    return invalid or (
        any(row["state"] == "Blocked" for row in rows) and not any(row["state"] == "Waiting" for row in rows)
    )


def _accounted(harness: Harness) -> None:
    """Each of our resources is in status, and nothing that the spec wants once exists twice."""
    shown = {row.get("id") for row in harness.status()["resources"]}
    orphans = [f"{kind_of(r)} {r['name']}" for r in made(harness) if not shown & {r["id"], _row_id(r), _bucket(r)}]
    assert not orphans, f"stands and is not shown: {orphans}"
    alike = Counter((kind_of(record), record["name"]) for record in made(harness))
    assert not [which for which, count in alike.items() if count > 1]
    repeated = Counter(row["id"] for row in harness.status()["resources"] if row.get("id"))
    assert not [ident for ident, count in repeated.items() if count > 1], "one resource in two rows"


def _bucket(record: Mapping[str, Any]) -> str:
    return f"{record.get('location', '').removesuffix('-smart')}.{record['name']}"


def _spec(**fields: Any) -> Patch:
    return {"spec": fields}


def _annotated(name: str, value: str | None) -> Patch:
    return {"metadata": {"annotations": {name: value}}}


def _workspace(harness: Harness) -> Patch:
    made = harness.cloud.strangers.make("workspace", zone="dal10", name="theirs")
    harness.clock.advance(3600.0)
    return _spec(serviceInstance={"id": made["id"]})


def _vpc(harness: Harness) -> Patch:
    made = harness.cloud.strangers.make("vpc", region=REGION, name="theirs")
    let_in(harness, made)
    harness.clock.advance(3600.0)
    return _spec(vpc={"id": made["id"]})


def _gateway(harness: Harness) -> Patch:
    made = harness.cloud.strangers.make("gateway", location=REGION, name="theirs")
    harness.clock.advance(3600.0)
    return _spec(transitGateway={"id": made["id"]})


def _rule(port: int, **remote: Any) -> Patch:
    ports = {"minimumPort": port, "maximumPort": port}
    source = {"protocol": "tcp", "portRange": ports, "remotes": [remote or {"remoteType": "any"}]}
    return {"direction": "inbound", "source": source}


def _group(*rules: Patch, name: str = "workers") -> Patch:
    return {"name": name, "rules": list(rules)}


_DEV, _PROD = {"key": "env", "value": "dev"}, {"key": "env", "value": "prod"}
_PAUSE, _GO_ON = _annotated(names.PAUSED_ANNOTATION, ""), _annotated(names.PAUSED_ANNOTATION, None)
_CREATE = ibm_names.CREATE_INFRA_ANNOTATION
_LISTENS = {"name": "lb", "additionalListeners": [{"port": 22623}]}
_A, _B = {"name": "a", "zone": f"{REGION}-1"}, {"name": "b", "zone": f"{REGION}-2"}
_COS = {"name": "store", "bucketName": "the-bucket", "bucketRegion": REGION}

_ALL = (
    Edit("a tag is added", (_spec(tags=[_DEV]),)),
    Edit("a tag is changed", (_spec(tags=[_PROD]),), {"tags": [_DEV]}),
    Edit("a tag is removed", (_spec(tags=None),), {"tags": [_DEV]}),
    Edit("a tag is removed and put back", (_spec(tags=[]), _spec(tags=[_DEV])), {"tags": [_DEV]}),
    Edit("a tag is added and taken back", (_spec(tags=[_DEV]), _spec(tags=[]))),
    Edit("a subnet is added", (_spec(vpcSubnets=[_A, _B]),), {"vpcSubnets": [_A]}),
    Edit("a subnet is removed", (_spec(vpcSubnets=[_A]),), {"vpcSubnets": [_A, _B]}),
    Edit("a subnet is renamed", (_spec(vpcSubnets=[_B]),), {"vpcSubnets": [{"name": "a", "zone": f"{REGION}-2"}]}),
    Edit("omitted subnets are listed", (_spec(vpcSubnets=[{"name": "a", "zone": f"{REGION}-2"}]),)),
    Edit(
        "a subnet moves",
        (_spec(vpcSubnets=[{"name": "a", "zone": f"{REGION}-2"}]),),
        {"vpcSubnets": [{"name": "a", "zone": f"{REGION}-1"}]},
    ),
    Edit(
        "the zone that was picked is set",
        (_spec(vpcSubnets=[{"zone": f"{REGION}-1"}]),),
        {"vpcSubnets": [{}]},
    ),
    Edit("a group is added", (_spec(vpcSecurityGroups=[_group(_rule(22))]),)),
    Edit("a group is removed", (_spec(vpcSecurityGroups=None),), {"vpcSecurityGroups": [_group(_rule(22))]}),
    Edit(
        "a rule is added",
        (_spec(vpcSecurityGroups=[_group(_rule(22), _rule(80))]),),
        {"vpcSecurityGroups": [_group(_rule(22))]},
    ),
    Edit(
        "a rule is removed",
        (_spec(vpcSecurityGroups=[_group(_rule(22))]),),
        {"vpcSecurityGroups": [_group(_rule(22), _rule(80))]},
    ),
    Edit(
        "all rules are removed",
        (_spec(vpcSecurityGroups=[_group()]),),
        {"vpcSecurityGroups": [_group(_rule(22), _rule(80))]},
    ),
    Edit(
        "a rule is changed",
        (_spec(vpcSecurityGroups=[_group(_rule(2222))]),),
        {"vpcSecurityGroups": [_group(_rule(22))]},
    ),
    Edit(
        "a rule names another group",
        (
            _spec(
                vpcSecurityGroups=[_group(_rule(22, remoteType="sg", securityGroupName="two")), _group(name="two")],
            ),
        ),
        {"vpcSecurityGroups": [_group(_rule(22))]},
    ),
    Edit("a listener is added", (_spec(loadBalancers=[_LISTENS]),), {"loadBalancers": [{"name": "lb"}]}),
    Edit("a listener is removed", (_spec(loadBalancers=[{"name": "lb"}]),), {"loadBalancers": [_LISTENS]}),
    Edit(
        "the port of a listener is changed",
        (_spec(loadBalancers=[{"name": "lb", "additionalListeners": [{"port": 22624}]}]),),
        {"loadBalancers": [_LISTENS]},
    ),
    Edit(
        "the target of a listener is changed",
        (_spec(loadBalancers=[{"name": "lb", "additionalListeners": [{"port": 22623, "defaultPoolName": "web"}]}]),),
        {"loadBalancers": [_LISTENS]},
    ),
    Edit(
        "a load balancer is added",
        (_spec(loadBalancers=[{"name": "lb"}, {"name": "inside", "public": False}]),),
        {"loadBalancers": [{"name": "lb"}]},
    ),
    Edit(
        "a load balancer is removed",
        (_spec(loadBalancers=[{"name": "lb"}]),),
        {"loadBalancers": [{"name": "lb"}, {"name": "inside", "public": False}]},
    ),
    Edit("a load balancer gets a name", (_spec(loadBalancers=[{"name": "lb"}]),)),
    Edit(
        "a load balancer turns private",
        (_spec(loadBalancers=[{"name": "lb", "public": False}, {"name": "other"}]),),
        {"loadBalancers": [{"name": "lb"}, {"name": "other"}]},
    ),
    Edit(
        "a load balancer gets a group",
        (_spec(loadBalancers=[{"name": "lb", "securityGroups": [{"name": "workers"}]}]),),
        {"loadBalancers": [{"name": "lb"}], "vpcSecurityGroups": [_group(_rule(22))]},
    ),
    Edit("the workspace gets a name", (_spec(serviceInstance={"name": "power"}),)),
    Edit("the VPC gets a name", (_spec(vpc={"name": "net"}),)),
    Edit("the gateway gets a name", (_spec(transitGateway={"name": "hub"}),)),
    Edit("the network gets a name", (_spec(network={"name": "blue"}),)),
    Edit("the DHCP server gets a name", (_spec(dhcpServer={"name": "blue"}),)),
    Edit("the workspace is given", (), theirs=_workspace),
    Edit("the VPC is given", (), theirs=_vpc),
    Edit("the gateway is given", (), theirs=_gateway),
    Edit("the workspace is given, and not any more", (_spec(serviceInstance=None),), theirs=_workspace),
    Edit("the VPC is given, and not any more", (_spec(vpc={"id": None}),), theirs=_vpc),
    Edit("the gateway is given, and not any more", (_spec(transitGateway=None),), theirs=_gateway),
    Edit("routing turns global", (_spec(transitGateway={"globalRouting": True}),)),
    Edit(
        "routing turns local",
        (_spec(transitGateway={"globalRouting": False}),),
        {"transitGateway": {"globalRouting": True}},
    ),
    Edit("routing is left open", (_spec(transitGateway=None),), {"transitGateway": {"globalRouting": False}}),
    Edit("storage is added", (_spec(cosInstance=_COS),)),
    Edit("storage is removed", (_spec(cosInstance=None),), {"cosInstance": _COS}),
    Edit("the bucket is another", (_spec(cosInstance={**_COS, "bucketName": "other"}),), {"cosInstance": _COS}),
    Edit("the store is renamed", (_spec(cosInstance={**_COS, "name": "attic"}),), {"cosInstance": _COS}),
    Edit("the name server is another", (_spec(dhcpServer={"dnsServer": "9.9.9.9"}),)),
    Edit("addresses are not translated", (_spec(dhcpServer={"snat": False}),)),
    Edit("the range is another", (_spec(dhcpServer={"cidr": "10.20.0.0/24"}),)),
    Edit("the resource group is another", (_spec(resourceGroup={"name": "ibm-hypershift-dev"}),)),
    Edit("the zone is another", (_spec(zone="dal12"),)),
    Edit("creation is taken back and asked again", (_annotated(_CREATE, None), _annotated(_CREATE, "true"))),
    Edit(
        "creation is taken back, a subnet is added, creation is asked again",
        (
            _annotated(_CREATE, "false"),
            _spec(vpcSubnets=[_A, _B]),
            _annotated(_CREATE, "true"),
        ),
        {"vpcSubnets": [_A]},
    ),
    Edit(
        "it is paused and goes on",
        (_PAUSE, _GO_ON),
    ),
    Edit(
        "it is paused, a tag is added, it goes on",
        (
            _PAUSE,
            _spec(tags=[_DEV]),
            _GO_ON,
        ),
    ),
    Edit("the spec is invalid for a while", (_spec(zone="nowhere"), _spec(zone="dal10"))),
    Edit("another VPC name, and the old one again", (_spec(vpc={"name": "net"}), _spec(vpc={"name": None}))),
    Edit(
        "a subnet goes, and comes back",
        (_spec(vpcSubnets=[_A]), _spec(vpcSubnets=[_A, _B])),
        {"vpcSubnets": [_A, _B]},
    ),
    Edit("nothing", ()),
)
EDITS = {edit.name: edit for edit in _ALL}
