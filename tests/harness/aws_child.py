"""The least kind of machine, in the simulated account of an AWSCluster: one instance in the cluster's network.

It is what is around a machine that is tested with it: account, identity, Secret, and who waits for whom.
"""

from __future__ import annotations

import copy
from base64 import b64encode
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation, format_time
from freehold.api.served import ClusterLink, ServedName
from freehold.controllers.controller import Result
from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.journal import Journal
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, Request
from freehold.engine.secret_values import reference
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.access.accounts import Accounts
from freehold.providers.access.audit import NoAudit
from freehold.providers.aws.accounts import AwsAccounts
from freehold.providers.aws.cluster.kind import AS_PARENT, AWS_CLUSTER
from freehold.providers.aws.identity_objects import StoredIdentities
from freehold.providers.objects import identity, status
from freehold.providers.objects.adapter import Desired, GraphMode, PassReport, StatusUpdate, WantedGraph
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, Proceed
from freehold.providers.objects.resource_rows import build_rows, describe_blockers
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.ec2.image_catalog import IMAGES
from harness.aws_clients import KEYS, SharingCloud
from harness.aws_cluster import AwsHarness
from harness.powervs import ReconcilerHarness

CHILD = ServedName(
    AWS_CLUSTER.group, AWS_CLUSTER.version, "AWSMachine", "awsmachines", "awsmachine.example.com",
    link=ClusterLink.MACHINE, parents=(AS_PARENT,), parts=("InstanceReady",),
    waiting_part="InstanceReady",
)  # fmt: skip
INSTANCE = NodeKey("instance", "machine")
BOOT_DATA = b"#!/bin/sh\necho the bootstrap token 0123456789\n"


class Stored:
    """What the API server has: the Secrets of this namespace, and of another one."""

    def __init__(self) -> None:
        self.secrets = {Key("default", "boot"): {"data": {"value": b64encode(BOOT_DATA).decode()}}}
        self.asked: list[tuple[str, Key]] = []

    async def get(self, resource: Resource, key: Key) -> Json:
        self.asked.append((resource.kind, key))
        if resource.kind != "Secret" or key not in self.secrets:
            raise kube.ObjectNotFound(f"no {resource} {key}")
        return copy.deepcopy(self.secrets[key])

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        raise AssertionError("Secrets are never listed")


class ChildAdapter:
    """One instance in the first subnet of its cluster."""

    served = CHILD

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        name, cluster = raw["metadata"]["name"], proceed.around.parent
        record = identity.read_record(cluster) if cluster else None
        if record is None:  # a delete knows its instance by the journal
            return WantedGraph(GraphMode.CREATE, Graph([]))
        ids = {kind: sorted(e.id for k, e in record.entries.items() if k.kind == kind) for kind in _IN}

        def request(known: ReadyNodes) -> Request:
            found: dict[str, Any] = {
                "name": name, "image_id": IMAGES[0].ident, "instance_type": "t3.small",
                "subnet_id": ids["subnet"][0], "security_groups": ids["security-group"][:1],
            }  # fmt: skip
            return found | ({"user_data": reference(f"{proceed.bootstrap}/value")} if proceed.bootstrap else {})

        return WantedGraph(GraphMode.CREATE, Graph([Node(INSTANCE, name, request)]))

    async def find_secrets(self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport) -> tuple[()]:
        """Find none: the kind keeps no Secrets."""
        return ()

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        found = dict(raw.get("status") or {})
        if report.journal:
            found["identity"] = dict(identity.build_status_identity(raw, report.journal))
        graph = report.plan.graph if isinstance(report.plan, WantedGraph) else None
        found["resources"] = build_rows(
            found.get("resources") or (), graph, report.journal, report.outcomes, format_time(now),
            deleting=report.deleting, deleted=report.deleted,
        )  # fmt: skip
        said = "; ".join(describe_blockers(report.outcomes))
        ready = Observation(names.READY, "False" if said or report.deleting else "True", "Said", said)
        return status.build_update(raw, found, [ready], now)

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        return {}

    def find_collection(self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND) -> None:
        return None


_IN = ("subnet", "security-group")


class ChildHarness(ReconcilerHarness[SimulatedAWS]):
    """A machine without an owner, in the account of ``cluster``."""

    served = CHILD

    def __init__(self, cluster: AwsHarness, name: str = "m1", **annotations: str) -> None:
        self.cluster = cluster
        self.reader = Stored()
        annotations = annotations or {names.BOOTSTRAP_ANNOTATION: "boot"}
        labels = {names.CLUSTER_NAME_LABEL: cluster.object.raw["metadata"]["name"]}
        metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": annotations}
        manifest = {"apiVersion": f"{CHILD.group}/{CHILD.version}", "kind": CHILD.kind, "metadata": metadata}
        super().__init__({**manifest, "spec": {"instanceType": "t3.small"}}, beside=cluster)

    def new_cloud(self) -> SimulatedAWS:
        raise AssertionError("it is its cluster's")

    def new_accounts(self) -> Accounts:
        aws = SharingCloud(self.cloud, self.wall, NoAudit(), self._intervals, port=self._port())
        return AwsAccounts(aws, StoredIdentities(self.reader, "operators-own", KEYS), lambda account: ChildAdapter())

    def look_around(self) -> ClusterContext:
        there = None if self.cluster.object.gone else self.cluster.object.raw
        return ClusterContext(ClusterApiMode.OFF, around=Around(parent=there))

    def pass_once(self) -> Result:
        self.around = self.look_around()
        return super().pass_once()
