"""The traits of a world without ids, nonces and history: two worlds of one spec must have the same.

They are read from the simulator's records, not from the product.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from harness.powervs import Harness
from harness.resources import MARK, Row, existing

_NONCE = re.compile(r"-f(?:[a-z2-7]{12}|[a-z2-7]{7})(?=-|$)")
_KINDS = {
    "instance": "workspace",
    "network": "dhcp-server",
    "vpc": "vpc",
    "subnet": "vpc-subnet",
    "security-group": "security-group",
    "load-balancer": "load-balancer",
    "gateway": "transit-gateway",
    "connection": "transit-gateway-connection",
    "bucket": "cos-bucket",
}
"""The kind in the simulator, and ours. A DHCP server counts with its network."""

_SCALARS = {
    "instance": {"target": "zone", "group": "resource_group"},
    "network": {"workspace": "workspace", "cidr": "cidr"},
    "vpc": {"region": "region", "group": "resource_group"},
    "subnet": {"zone": "zone", "vpc": "vpc", "group": "resource_group"},
    "security-group": {"vpc": "vpc", "group": "resource_group"},
    "load-balancer": {"public": "public", "group": "resource_group"},
    "gateway": {"location": "location", "global": "global", "group": "resource_group"},
    "connection": {"gateway": "gateway", "network": "network_id"},
    "bucket": {"instance": "instance", "location": "region"},
}
"""Fields of a record that the spec decides, and their names in the product's messages."""


class Trait(NamedTuple):
    """One property of a world."""

    kind: str
    name: str
    field: str
    value: str


def kind_of(record: Row) -> str:
    """Our name for the kind of a record."""
    storage = record["kind"] == "instance" and record.get("service") == "cloud-object-storage"
    return "cos-instance" if storage else _KINDS.get(record["kind"], "")


def made(harness: Harness) -> list[Row]:
    """Our existing records, without those that are created and deleted with another resource."""
    ids = {row["id"] for row in existing(harness) if row["created_by"] == "api"}
    return [
        record
        for record in harness.cloud.world.everything()
        if record["id"] in ids and kind_of(record) and not record.get("default")
    ]


def traits(harness: Harness) -> Counter[Trait]:
    """All traits of our resources."""
    everything = {record["id"]: record for record in harness.cloud.world.everything()}
    everything |= {record["crn"]: record for record in everything.values() if record["crn"]}
    tags = {row["id"]: row["tags"] for row in existing(harness)}
    found: Counter[Trait] = Counter()
    for record in made(harness):
        kind, name = kind_of(record), _name(record, everything)
        pairs = [("name", name), *_plain(record, everything), *_inside(record, everything)]
        pairs += [("tag", tag) for tag in tags[record["id"]] if not tag.startswith(MARK)]
        found.update(Trait(kind, name, field, value) for field, value in pairs)
    return found


def _name(record: Row, everything: dict[str, Row]) -> str:
    """A connection is identified by its network: its name is not in the spec, and keeps the nonce."""
    if record["kind"] == "connection":
        return f"to {_spelled(record['network'], everything)}"
    return unborn(record)


def unborn(record: Row) -> str:
    """The name without the nonce, which is removed after the resource was marked, if it is still wanted then."""
    return _NONCE.sub("", record["name"])


def _plain(record: Row, everything: dict[str, Row]) -> Iterator[tuple[str, str]]:
    for source, field in _SCALARS[record["kind"]].items():
        yield field, _spelled(record[source], everything)


def _spelled(value: Any, everything: dict[str, Row]) -> str:
    """A reference, by the name of its target."""
    return str(everything[value]["name"]) if isinstance(value, str) and value in everything else str(value)


def _inside(record: Row, everything: dict[str, Row]) -> Iterator[tuple[str, str]]:
    match record["kind"]:
        case "network":
            server = everything[record["dhcp"]]
            yield "dns", ", ".join(record["dns"])
            yield "snat", str(server["snat"])
        case "vpc":
            default = next(r for r in everything.values() if r.get("default") and r.get("vpc") == record["id"])
            yield from (("rule", rule) for rule in _rules(default, everything) if "port" in rule)
        case "security-group":
            yield from (("rule", rule) for rule in _rules(record, everything))
        case "load-balancer":
            yield "subnets", ", ".join(sorted(_spelled(ident, everything) for ident in record["subnets"]))
            groups = (everything[ident] for ident in record["groups"])
            yield "security_groups", ", ".join(sorted("default" if g.get("default") else g["name"] for g in groups))
            pools = {pool["id"]: _NONCE.sub("", pool["name"]) for pool in record["pools"]}
            for listener in record["listeners"]:
                yield "listener", f"{listener['protocol']} {listener['port']} {pools[listener['pool']]}"


def _rules(group: Row, everything: dict[str, Row]) -> Iterator[str]:
    for rule in group["rules"]:
        remote = ", ".join(
            "default" if everything.get(value, {}).get("default") else _spelled(value, everything)
            for value in rule["remote"].values()
        )
        ends = {key: rule[key] for key in ("port_min", "port_max", "type", "code") if rule.get(key) is not None}
        yield f"{rule['direction']} {rule['protocol']} {ends} {remote}"
