"""Objects of every sort that the live page shows, run on the simulated clouds in virtual time, and their JSON.

``python -m harness.page_world`` writes the JSON to ``tests/data/page``, for tests and work on the front end.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from freehold.api import names
from freehold.controllers.repairs import Repaired
from freehold.controllers.settings import Settings
from freehold.kube.config import Connection
from freehold.kube.resources import Json, Key, Resource
from freehold.page.deletion import build_deletion
from freehold.page.detail import build_detail
from freehold.page.history import Histories
from freehold.page.rows import Row, build_row
from freehold.page.stored_object import key_of_stored
from freehold.providers.access.accounts import Accounts, NoCredentials, OneAccount
from freehold.providers.objects.served_resources import resource_of
from freehold.tags.context import CLOUD_METADATAS
from freehold_sim.aws.settings import Quotas
from freehold_sim.aws.settings import Settings as AwsSettings
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_control_plane import ControlPlaneHarness
from harness.aws_machines import Machines
from harness.metadata import NAMESPACE, Lab
from harness.powervs import Harness, HeldRing, ReconcilerHarness, example

SAMPLES = Path(__file__).parents[1] / "data" / "page"
SETTINGS = Settings(Connection("https://api.test"), {})
RING = HeldRing().ring
ONE_ZONE: Mapping[str, Any] = {"vpc": {"availabilityZoneUsageLimit": 1}}


def stamp(at: float) -> str:
    """Write a time as the API server does."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def named(manifest: Mapping[str, Any], name: str, namespace: str = "default") -> Json:
    """Return the manifest with another name."""
    return {**manifest, "metadata": {**manifest["metadata"], "name": name, "namespace": namespace}}


@dataclass
class Watched:
    """One object under a harness, whose stored versions the histories are told of, as the operator's watch is."""

    harness: ReconcilerHarness[Any]
    histories: Histories = field(default_factory=Histories)
    last: Json | None = None

    def __post_init__(self) -> None:
        self.harness.on_repair = self._note_repairs
        self.raw["metadata"].setdefault("creationTimestamp", stamp(self.harness.clock.now()))

    @property
    def resource(self) -> Resource:
        return resource_of(self.harness.served)

    @property
    def raw(self) -> Json:
        return self.harness.object.raw

    @property
    def key(self) -> str:
        return key_of_stored(self.resource, self.raw)

    def note(self) -> None:
        """Tell the histories what is stored now."""
        new = None if self.harness.object.gone else json.loads(json.dumps(self.raw))
        self.histories.note(self.key, self.last, new, self.harness.clock.now())
        self.last = new

    def _note_repairs(self, kind: str, key: Key, repaired: Repaired) -> None:
        self.histories.note_repairs(self.key, repaired, self.harness.clock.now())

    def run(self, until: Callable[[], bool], limit: float = 7200.0) -> None:
        """Run passes until ``until``."""

        def noted() -> bool:
            self.note()
            return until()

        self.harness.run(noted, limit)

    def up(self) -> Watched:
        self.run(self.harness.ready)
        return self

    def for_a_while(self, seconds: float) -> None:
        end = self.harness.clock.now() + seconds
        self.run(lambda: self.harness.clock.now() >= end or self.harness.object.gone, limit=seconds * 2 + 7200)

    def delete(self) -> None:
        """Ask for the deletion, at the time of the clock."""
        self.raw["metadata"]["deletionTimestamp"] = stamp(self.harness.clock.now())
        self.harness.object.delete()
        self.note()

    def count(self, *states: str) -> int:
        """Count the resources that are in one of these states."""
        return sum(row["state"] in states for row in self.harness.status().get("resources", ()))

    def detail(self) -> Json:
        now = self.harness.clock.now()
        history, repairs = self.histories.find(self.key), self.histories.find_repairs(self.key)
        return build_detail(self.resource, self.raw, history, RING, now, repairs=repairs)

    def deletion(self) -> Json:
        return build_deletion(self.resource, self.raw, RING, SETTINGS)


def ready_cluster() -> Watched:
    """An AWSCluster in three zones that is ready."""
    return Watched(AwsHarness(named(aws_cluster(), "prod"))).up()


def drifted_cluster() -> Watched:
    """An AWSCluster of which somebody changed an attribute, a rule and deleted a table, and which was brought back."""
    found = Watched(AwsHarness(named(aws_cluster(network=ONE_ZONE), "web"))).up()
    found.for_a_while(700)
    rows = {row["kind"]: row["id"] for row in found.harness.status()["resources"]}
    public = next(row["id"] for row in found.harness.status()["resources"] if "subnet-public" in row["name"])
    strangers = Strangers(found.harness.cloud)
    strangers.call("ec2", "ModifySubnetAttribute", {"SubnetId": public, "MapPublicIpOnLaunch": {"Value": False}})
    strangers.delete(rows["route-table"])
    rules = strangers.call("ec2", "DescribeSecurityGroups", {"GroupIds": [rows["security-group"]]})
    allowed = rules["SecurityGroups"][0]["IpPermissions"]
    strangers.call(
        "ec2", "RevokeSecurityGroupIngress", {"GroupId": rows["security-group"], "IpPermissions": allowed[:1]}
    )
    found.for_a_while(1500)
    return found


def creating_cluster() -> Watched:
    """An AWSCluster half of whose resources are there."""
    found = Watched(AwsHarness(named(aws_cluster(), "staging", "team-a")))
    found.run(lambda: found.count("Ready") >= 12)
    return found


def blocked_cluster() -> Watched:
    """An AWSCluster for whose gateways the account has no addresses left."""
    settings = AwsSettings(quotas=Quotas(addresses=1))
    found = Watched(AwsHarness(named(aws_cluster(), "big", "team-b"), settings))
    found.run(lambda: found.count("Blocked") > 0)
    found.for_a_while(600)
    return found


def deleting_cluster() -> Watched:
    """An AWSCluster that is being deleted."""
    found = Watched(AwsHarness(named(aws_cluster(network=ONE_ZONE), "old"))).up()
    found.delete()
    found.run(lambda: found.count("Gone") >= 3)
    return found


def stuck_cluster() -> Watched:
    """An AWSCluster whose delete waits for a stranger's network interface for long."""
    harness = AwsHarness(named(aws_cluster(network=ONE_ZONE), "legacy", "team-b"))
    found = Watched(harness).up()
    subnet = next(row["id"] for row in harness.status()["resources"] if row["kind"] == "subnet")
    Strangers(harness.cloud).create("ec2", "CreateNetworkInterface", {"SubnetId": subnet})
    found.delete()
    found.for_a_while(6000)
    return found


def paused_cluster() -> Watched:
    """An AWSCluster that somebody paused."""
    found = Watched(AwsHarness(named(aws_cluster(network=ONE_ZONE), "frozen", "team-a"))).up()
    harness = found.harness
    harness.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}})
    found.run(lambda: harness.condition(names.PAUSED).get("status") == "True")
    return found


class _WithoutCredentials(AwsHarness):
    def new_accounts(self) -> Accounts:
        return OneAccount(NoCredentials("the operator has no AWS credentials: set AWS_ACCESS_KEY_ID, or a role"))


def keyless_cluster() -> Watched:
    """An AWSCluster for which there are no credentials."""
    found = Watched(_WithoutCredentials(named(aws_cluster(), "keyless", "team-a")))
    found.run(lambda: bool(found.harness.conditions()))
    return found


def powervs_cluster() -> Watched:
    """An IBMPowerVSCluster that is ready."""
    return Watched(Harness(named(example(), "power", "ibm"))).up()


def eks_control_plane() -> Watched:
    """An AWSManagedControlPlane that is ready."""
    return Watched(ControlPlaneHarness()).up()


def machines() -> tuple[Watched, Watched]:
    """An AWSMachine that runs, and one that waits for its instance."""
    cluster = AwsHarness(named(aws_cluster(network=ONE_ZONE, controlPlaneLoadBalancer={}), "fleet"))
    cluster.up()
    fleet = Machines(cluster)
    machine = fleet.add("worker-1")
    first, second = Watched(machine), Watched(fleet.add("worker-2"))
    first.run(machine.is_provisioned)
    second.harness.pass_once()
    second.note()
    return first, second


def tagged() -> tuple[Json, float]:
    """A CloudMetadata whose tags are in conflict with somebody else's."""

    async def run() -> tuple[Json, float]:
        lab = Lab()
        begun = lab.clock.now()
        groups = lab.groups(4)
        lab.somebody_sets(groups[0], env="prod")
        await lab.tags("tags", {"env": "test", "centre": "eng"})
        await lab.cloud("costs", "tags", controllerconfig={"foreignValues": "Fail"})
        for _ in range(4):
            await lab.work("costs")
            lab.wait(60)
        found = lab.objects.objects["CloudMetadata", Key(NAMESPACE, "costs")]
        found["metadata"]["creationTimestamp"] = stamp(begun)
        return found, lab.clock.now()

    return asyncio.run(run())


@dataclass(frozen=True)
class PageWorld:
    """Objects of every sort, by name, and a CloudMetadata with the time at which it was looked at."""

    watched: Mapping[str, Watched]
    costs: Json
    costs_at: float

    def build_rows(self) -> list[Row]:
        """Build the rows of all objects."""
        rows = [build_row(each.resource, each.raw, each.harness.clock.now()) for each in self.watched.values()]
        return [*rows, build_row(CLOUD_METADATAS, self.costs, self.costs_at)]


def build_world() -> PageWorld:
    """Run all objects on their clouds."""
    watched = {
        "ready": ready_cluster(),
        "creating": creating_cluster(),
        "drifted": drifted_cluster(),
        "blocked": blocked_cluster(),
        "deleting": deleting_cluster(),
        "stuck": stuck_cluster(),
        "paused": paused_cluster(),
        "keyless": keyless_cluster(),
        "powervs": powervs_cluster(),
        "control-plane": eks_control_plane(),
    }
    watched["machine"], watched["machine-waiting"] = machines()
    return PageWorld(watched, *tagged())


def build_samples(world: PageWorld) -> dict[str, Json]:
    """Build all samples, by name of their file."""
    latest = max(world.costs_at, *(each.harness.clock.now() for each in world.watched.values()))
    rows = [row.to_json() for row in world.build_rows()]
    found: dict[str, Json] = {"objects": {"seq": len(rows), "now": latest, "rows": rows}}
    for name, watched in world.watched.items():
        found[f"detail-{name}"] = watched.detail()
        found[f"deletion-{name}"] = watched.deletion()
    return found


def write_samples(folder: Path = SAMPLES) -> None:
    """Write the samples to files, one for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in build_samples(build_world()).items():
        (folder / f"{name}.json").write_text(format_sample(content))


def format_sample(content: Json) -> str:
    """Format a sample as it is in its file."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_samples()
