"""Writes the stores beside this file: what today's version leaves in the API server and in a simulated cloud.

    PYTHONPATH=src:tests:tests/crash python tests/data/stores/write_stores.py [DIRECTORY]

It imports harness code alone, and runs in the commit that the README names.
"""

from __future__ import annotations

import asyncio
import json
import lzma
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from freehold.lifecycle import journal as journals
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.ownership import Owner
from freehold.lifecycle.port import Call, Effect, InlinePort
from freehold.lifecycle.resources import NodeKey
from freehold.operator import keyring
from freehold_sim.aws.settings import Settings as AwsSettings
from freehold_sim.faults import Effect as FaultEffect
from freehold_sim.faults import Fault
from freehold_sim.ibm.settings import Settings as IbmSettings
from freehold_sim.simulated import SimulatedCloud
from harness.aws_cluster import STORAGE, AwsHarness, aws_cluster
from harness.cloud_controllers import everything
from harness.collected import ground_of, user_of
from harness.metadata import CLASSIFIER, Killed
from harness.metadata_on_both import Both
from harness.powervs import IGNITION, Harness, ReconcilerHarness, example
from harness.resources import everything_by_name, infrastructure
from lab.aws_neighbours import Neighbours

HERE = Path(__file__).parent
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "ibm": {"assumptions": {"dhcp_network_has_crn": False}},
    "aws": {"limits": {}},
}
"""Of the simulated clouds: what differs from the defaults. An IBM network without a CRN is marked on its carrier."""
Build = Callable[[InlinePort], "ReconcilerHarness[Any]"]


class KillingPort(InlinePort):
    """Ends the process at one write: ``at`` says before or after which, as ``after create_vpc`` does."""

    def __init__(self, at: str = "") -> None:
        self.at = at
        self.log: list[str] = []

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.READ:
            return await super().send(call)
        name = f"{call.operation}"
        number = sum(each.split(" #")[0] == name for each in self.log) + 1
        write = f"{name} #{number}" if number > 1 else name
        self.log.append(write)
        if self.at == f"before {write}":
            raise Killed
        reply = await super().send(call)
        if self.at == f"after {write}":
            raise Killed
        return reply


# -- objects that own resources ---------------------------------------------------------------------------------


def powervs(port: InlinePort) -> Harness:
    """A cluster with everything that is served, on a gateway of somebody else's; beside it a stranger's cluster."""
    anywhere = {
        "protocol": "tcp",
        "portRange": {"minimumPort": 22, "maximumPort": 22},
        "remotes": [{"remoteType": "any"}],
    }
    manifest = example(
        vpcSecurityGroups=[{"name": "workers", "rules": [{"direction": "inbound", "source": anywhere}]}],
        cosInstance={"name": "demo-cos", "bucketName": "demo-bucket", "bucketRegion": "us-south"},
        tags=[{"key": "team", "value": "red"}],
    )
    settings = IbmSettings.from_dict(SETTINGS["ibm"])
    harness = Harness(manifest, settings, port=lambda: port, gates=IGNITION)
    theirs = infrastructure(harness)
    for row in vars(theirs).values():
        if row["crn"]:
            harness.cloud.strangers.attach(row["crn"], "team:network")
    harness.object.patch({"spec": {"transitGateway": {"id": theirs.gateway["id"], "name": None}}})
    return harness


def aws(port: InlinePort) -> AwsHarness:
    """A cluster in one zone with bastion, two load balancers and bucket; beside it a stranger's network."""
    manifest = aws_cluster(
        network={"vpc": {"availabilityZoneUsageLimit": 1}},
        bastion={"enabled": True},
        sshKeyName="",
        additionalTags={"team": "red"},
        secondaryControlPlaneLoadBalancer={"name": "second", "loadBalancerType": "nlb", "scheme": "internal"},
        s3Bucket={"name": "boot", "controlPlaneIAMInstanceProfile": "cp", "nodesIAMInstanceProfiles": ["nodes"]},
    )
    harness = AwsHarness(manifest, AwsSettings.from_dict(SETTINGS["aws"]), port=lambda: port, gates=STORAGE)
    Neighbours(harness)
    return harness


def aws_given(port: InlinePort) -> AwsHarness:
    """A cluster in somebody else's network, which it tags."""
    harness = AwsHarness(
        aws_cluster(additionalTags={"team": "red"}), AwsSettings.from_dict(SETTINGS["aws"]), port=lambda: port
    )
    olds = Neighbours(harness).olds
    network = {"vpc": {"id": olds["vpc"]}, "subnets": [{"id": olds["subnet"]}]}
    harness.object.patch({"spec": {"network": network}})
    return harness


def aws_collected(port: InlinePort) -> AwsHarness:
    """A cluster whose own controllers make everything that they can before it is deleted."""
    return AwsHarness(settings=AwsSettings.from_dict(SETTINGS["aws"]), port=lambda: port)


def powervs_reused(port: InlinePort) -> Harness:
    """A cluster whose spec names what somebody else has made."""
    harness = Harness(settings=IbmSettings.from_dict(SETTINGS["ibm"]), port=lambda: port)
    infrastructure(harness)
    harness.object.patch({"spec": everything_by_name()})
    return harness


# -- objects that own resources, moment by moment ------------------------------------------------------------------

CLUSTERS: Mapping[str, tuple[Build, tuple[str, ...]]] = {
    "powervs": (
        powervs,
        (
            "ready",
            "creating after create_vpc",
            "creating before create_bucket",
            "creating after create_load_balancer",
            "creating after create_dhcp",
            "creating after attach_tag #11",
            "asking after create_bucket",
            "deleting after save_journal #14",
            "deleting after delete_dhcp",
            "deleting after detach_tag",
            "deleting before delete_vpc",
        ),
    ),
    "aws": (
        aws,
        (
            "ready",
            "creating after allocate_address",
            "creating before create_security_group #3",
            "creating after run_instances",
            "creating after create_listener",
            "repeating before create_nat_gateway #2",
            "healing before tag_resources #6",
            "asking after create_vpc",
            "deleting after save_journal #17",
            "deleting after terminate_instances",
            "deleting after delete_nat_gateway",
            "deleting before delete_vpc",
        ),
    ),
    "aws-given": (aws_given, ("ready", "creating after tag_resources", "deleting after delete_security_group #4")),
    "aws-collected": (
        aws_collected,
        ("collecting after delete_load_balancer #2", "collecting after delete_network_interface"),
    ),
    "powervs-reused": (powervs_reused, ("ready",)),
}
"""By the name of the file: the object and its moments, each with the write at which the process dies.

`repeating`: after a NAT gateway that failed. `healing`: after somebody took our tags off the VPC. `asking`: an hour
later, when a person is asked whether a bucket of the name, or an address without a tag, is what was to be made.
"""


def moment_of(build: Build, moment: str) -> dict[str, Any]:
    """The store and the cloud at this moment of an undisturbed life but for this one death."""
    word, _, at = moment.partition(" ")
    port = KillingPort(at)
    harness = build(port)
    theirs = digests(harness.cloud)
    if word == "repeating":
        harness.cloud.faults.add(Fault(FaultEffect.FAILED, "ec2.CreateNatGateway"))
    try:
        harness.up()
        harness.settle()
        if word == "collecting":
            everything(user_of(harness), ground_of(harness))
        if word in ("deleting", "collecting"):
            harness.down()
        if word == "healing":
            (vpc,) = (row for row in harness.resources() if row["kind"] == "vpc" and row["created_by"] == "api")
            harness.cloud.strangers.untag(vpc["id"], *(key for key in vpc["tags"] if key.startswith("freehold")))
            harness.for_a_while(3600.0)
    except Killed:
        pass
    else:
        assert not at, f"no process came to {at}: {port.log}"
    if word == "asking":
        port.at = ""
        harness.start_process()
        harness.for_a_while(3600.0)
    cloud = "ibm" if isinstance(harness, Harness) else "aws"
    return {
        "time": harness.clock.now(),
        "objects": [harness.object.raw],
        "ring": ring_text(harness.rings.ring),
        "clouds": {cloud: harness.cloud.state()},
        "theirs": {cloud: theirs},
    }


def cluster_moments(name: str) -> dict[str, Any]:
    build, moments = CLUSTERS[name]
    return {moment: moment_of(build, moment) for moment in moments}


def whole_journal() -> str:
    """A journal in which each field has a value, of a type that is read for it."""
    texts, numbers = ("earlier", "parts", "requires", "node_tags", "tags", "candidates"), ("opened", "deleting")
    values: dict[str, Any] = {each.name: f"{each.name}-1" for each in fields(journals.Entry)}
    values |= {name: (f"{name}-1", f"{name}-2") for name in texts}
    values |= dict.fromkeys(numbers, 1700000000.5)
    values |= {"attempt": 3, "fails": 2, "request": {"name": "demo"}, "key": "abcdefgh27"}
    values |= dict.fromkeys(("carried", "shared", "had_effect", "read_back"), True)
    entries = {
        NodeKey("vpc", phase.name.lower()): journals.Entry(**{**values, "phase": phase}) for phase in journals.Phase
    }
    owner = Owner("0b7e6a52-9a59-4d0c-8a2c-6f0d6f5f1c11", "AWSCluster", "default", "demo", "default/outer")
    attached = {"arn:1": journals.AttachedTags(("team:red",), "signature", "abcdefgh27")}
    return journals.dumps(
        journals.Journal(
            owner, entries, "account", frozenset({"team:red"}), "abcdefgh27", attached, "untouched", True, {}, 1
        )
    )


def digests(cloud: SimulatedCloud) -> dict[str, str]:
    """What tells whether anything of a resource differs, by id."""
    cloud.settle()
    return {row["id"]: row["digest"] for row in cloud.resources()}


def ring_text(ring: KeyRing) -> str:
    """The key ring as the operator stores it."""
    keys = {digest: keyring.StoredKey(key, 1_700_000_000.0) for digest, key in ring.keys.items()}
    return keyring.dumps(keyring.RingDocument(ring.writing, keys))


# -- tags -------------------------------------------------------------------------------------------------------------

EDITED = {"env": "prod", "centre": None, "cost": "4711"}
"""A merge patch: one value is another, one key is wanted no more, one is new."""


def bucket(lab: Both) -> None:
    """Its id does not say where it is: the record does."""
    strangers = lab.account.cloud.strangers
    strangers.create("s3", "CreateBucket", {"Bucket": "shop"})
    strangers.tag("shop", {CLASSIFIER: "owned"})


async def begun() -> Both:
    """One CloudMetadata for each cloud, whose tags are on three resources each; a stranger's tags are beside them."""
    lab = Both(IbmSettings.from_dict(SETTINGS["ibm"]))
    lab.groups(3, owner="somebody")
    lab.group("tagged before", **{CLASSIFIER: "owned"}, env="test")
    lab.group("unselected", env="theirs")
    bucket(lab)
    lab.on_ibm(3, "owner:somebody")
    wanted = {"env": "test", "centre": "eng"}
    await lab.tags("awstags", wanted, deletionPolicy="Remove")
    await lab.cloud("metadata", "awstags")
    await lab.ibm_tags("ibmtags", wanted, deletionPolicy="Remove")
    await lab.cloud("onibm", "", cloudprovider={"ibmref": {"name": "ibmtags"}}, classifiers={"fleet": "a"})
    return lab


async def written() -> Both:
    lab = await begun()
    await lab.settle("metadata", "onibm")
    return lab


async def edit(lab: Both) -> None:
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": EDITED})
    await lab.edit("IBMMetadata", "ibmtags", {"resourcetags": EDITED})
    await lab.settle("metadata", "onibm")


async def delete(lab: Both) -> None:
    await lab.remove("awstags")
    await lab.remove("ibmtags", "IBMMetadata")


TAGS: Mapping[str, tuple[Any, str, bool]] = {
    "editing before create_tags": (edit, "create_tags", False),
    "editing after create_tags": (edit, "create_tags", True),
    "editing after delete_tags": (edit, "delete_tags", True),
    "editing after attach_tag": (edit, "attach_tag", True),
    "deleting after delete_tags": (delete, "delete_tags", True),
    "deleting before detach_tag": (delete, "detach_tag", False),
}


async def tag_moments() -> dict[str, Any]:
    theirs = cloud_digests(await begun())
    found = {"written": {**tag_moment(await written()), "theirs": theirs}}
    for name, (act, operation, after) in TAGS.items():
        whole = await written()
        whole.port.calls.clear()
        await act(whole)
        lab = await written()
        lab.port.calls.clear()
        lab.port.at = [call.operation for call in whole.port.calls].index(operation)
        lab.port.after = after
        try:
            await act(lab)
        except Killed:
            found[name] = {**tag_moment(lab), "theirs": theirs}
        if act is edit:
            found[name]["edited"] = tags_by_id(whole)
            await delete(whole)  # a value that an edit has written over does not come back
            found[name]["theirs"] = cloud_digests(whole)
    assert found.keys() == {"written", *TAGS}
    return found


def clouds(lab: Both) -> Mapping[str, SimulatedCloud]:
    return {"aws": lab.account.cloud, "ibm": lab.cloud_of_ibm}


def cloud_digests(lab: Both) -> dict[str, Any]:
    return {name: digests(cloud) for name, cloud in clouds(lab).items()}


def tags_by_id(lab: Both) -> dict[str, Any]:
    return {row["id"]: row["tags"] for cloud in clouds(lab).values() for row in cloud.resources()}


def tag_moment(lab: Both) -> dict[str, Any]:
    assert lab.ibm is not None
    return {
        "time": lab.clock.now(),
        "objects": [{"kind": kind, **obj} for (kind, _), obj in sorted(lab.objects.objects.items())],
        "ring": ring_text(lab.rings.ring),
        "clouds": {name: cloud.state() for name, cloud in clouds(lab).items()},
        "clocks": {"aws": lab.account.clock.now(), "ibm": lab.ibm.clock.now()},
    }


def write(directory: Path, name: str, moments: Mapping[str, Any]) -> None:
    content = {"settings": SETTINGS, "moments": moments}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    packed = lzma.compress(text.encode(), preset=9)
    (directory / f"{name}.json.xz").write_bytes(packed)
    print(f"{name}: {len(moments)} moments, {len(text)} characters, {len(packed)} bytes")


def main(directory: Path) -> None:
    for name in CLUSTERS:
        write(directory, name, cluster_moments(name))
    (directory / "journal.json").write_text(whole_journal() + "\n")
    write(directory, "tags", asyncio.run(tag_moments()))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
