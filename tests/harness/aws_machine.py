"""An AWSMachine for tests: its object, its cluster as stored, facts that AWS might tell, and its reconcile."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.controllers.controller import Result
from freehold.engine import journal as journals
from freehold.engine.errors import NotFound
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.engine.port import InlinePort, Port
from freehold.engine.resources import NodeKey
from freehold.providers.access.accounts import Accounts, Binding, OneAccount
from freehold.providers.access.audit import Audit
from freehold.providers.aws.accounts import AwsAccount
from freehold.providers.aws.machine.adapter import AWSMachineAdapter
from freehold.providers.aws.machine.cluster_view import ClusterView, read_cluster
from freehold.providers.aws.machine.facts import (
    Image,
    InstanceType,
    MachineFacts,
    MachineQuestions,
    MachineSubnet,
    ResourceSelection,
)
from freehold.providers.aws.machine.keys import INSTANCE
from freehold.providers.aws.machine.kind import AWS_MACHINE
from freehold.providers.aws.machine.machine_plan import Decided, OwnerMachine, decide
from freehold.providers.aws.machine.recorded import read_recorded
from freehold.providers.aws.machine.types.spec import AWSMachineSpec
from freehold.providers.objects.adapter import Desired, RefusedSpec, parse_or_refuse
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.gate import Around, ClusterApiMode, ClusterContext, Proceed
from freehold.providers.objects.vouching import vouch_with
from freehold_sim.aws.cloud import SimulatedAWS
from harness.aws_account import REGION
from harness.aws_clients import SharedClients
from harness.aws_cluster import AwsHarness
from harness.powervs import ReconcilerHarness
from harness.stepping import run_blocking

VPC = "vpc-0123456789abcdef0"
IMAGE = "ami-0123456789abcdef0"
ZONES = ("us-east-1a", "us-east-1b")
PRIVATE, OTHER_PRIVATE = "subnet-0000000000000000a", "subnet-0000000000000000b"
PUBLIC, PODS = "subnet-0000000000000000c", "subnet-0000000000000000d"
FOREIGN = "subnet-0000000000000000f"
GROUPS = {"node": "sg-0000000000000001", "lb": "sg-0000000000000002", "controlplane": "sg-0000000000000003"}
ARN = "arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/t/0123456789abcdef"
OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSCluster", "default", "demo")


def machine(**spec: Any) -> dict[str, Any]:
    """An AWSMachine ``default/m1``; a value of None leaves a field out."""
    whole = {"instanceType": "m5.large", "ami": {"id": IMAGE}, **spec}
    return {
        "apiVersion": f"{AWS_MACHINE.group}/{AWS_MACHINE.version}",
        "kind": AWS_MACHINE.kind,
        "metadata": {
            "name": "m1",
            "namespace": "default",
            "labels": {names.CLUSTER_NAME_LABEL: "demo"},
            "annotations": {names.BOOTSTRAP_ANNOTATION: names.NO_BOOTSTRAP},
        },
        "spec": {name: value for name, value in whole.items() if value is not None},
    }


def owner_machine(*, control_plane: bool = False, **spec: Any) -> dict[str, Any]:
    """The Machine of Cluster API that owns it."""
    labels = {names.CONTROL_PLANE_LABEL: ""} if control_plane else {}
    metadata = {"name": "m1-owner", "namespace": "default", "labels": labels}
    return {"kind": "Machine", "metadata": metadata, "spec": {"version": "v1.33.1", **spec}}


def stored_cluster(*, entries: Mapping[NodeKey, Entry] | None = None, **spec: Any) -> dict[str, Any]:
    """The AWSCluster as the API server has it: with a network of its own, and two target groups."""
    record = {
        NodeKey("vpc", "main"): VPC,
        NodeKey("subnet", "private-us-east-1a"): PRIVATE,
        NodeKey("subnet", "private-us-east-1b"): OTHER_PRIVATE,
        NodeKey("subnet", "public-us-east-1a"): PUBLIC,
        NodeKey("subnet", "x-pods"): PODS,
        NodeKey("target-group", "primary:6443"): ARN,
        **{NodeKey("security-group", role): ident for role, ident in GROUPS.items()},
    }
    tags = ("sigs.k8s.io/cluster-api-provider-aws/cluster/demo=owned",)
    kept = {key: Entry(RecordState.OWNED, ident, node_tags=tags) for key, ident in record.items()}
    journal = Journal(OWNER, {**kept, **(entries or {})})
    annotations = {names.JOURNAL_ANNOTATION: journals.dumps(journal)}
    return {
        "kind": "AWSCluster",
        "metadata": {"name": "demo", "namespace": "default", "annotations": annotations},
        "spec": {"region": REGION, **spec},
        "status": {"ready": True},
    }


def view_of(cluster: Mapping[str, Any] | None = None) -> ClusterView:
    found = read_cluster(cluster or stored_cluster(), vouch_with(None))
    assert isinstance(found, ClusterView)
    return found


SUBNETS = (
    MachineSubnet(PRIVATE, VPC, ZONES[0]),
    MachineSubnet(OTHER_PRIVATE, VPC, ZONES[1]),
    MachineSubnet(PUBLIC, VPC, ZONES[0], public=True),
    MachineSubnet(PODS, VPC, ZONES[0], for_pods=True),
)


def facts(**changed: Any) -> MachineFacts:
    """What AWS says when all is well."""
    known = MachineFacts(
        Answer(Image(IMAGE, "x86_64", "/dev/sda1", 8)), Answer(InstanceType("m5.large", ("x86_64",))), Answer(SUBNETS)
    )
    return replace(known, **changed)


def planned(
    raw: Mapping[str, Any] | None = None,
    known: MachineFacts | None = None,
    owner: Mapping[str, Any] | None = None,
    view: ClusterView | None = None,
    record: Mapping[NodeKey, Entry] | None = None,
) -> Decided:
    """Decide, as the adapter does after its checks."""
    raw = raw or machine()
    spec = parse_or_refuse(AWSMachineSpec, raw)
    if isinstance(spec, RefusedSpec):
        return spec
    recorded = read_recorded(spec.provider_id or "", record or {})
    return decide(OwnerMachine.read(raw, owner), spec, view or view_of(), known or facts(), recorded)


class SaidFacts:
    """A source of facts that the test gives, with the questions that it was asked."""

    def __init__(self, known: MachineFacts | Callable[[MachineQuestions], Awaitable[MachineFacts]]) -> None:
        self.known = known
        self.asked: list[MachineQuestions] = []

    async def read(self, questions: MachineQuestions) -> MachineFacts:
        self.asked.append(questions)
        return await self.known(questions) if callable(self.known) else self.known


def desired_of(
    raw: Mapping[str, Any],
    known: MachineFacts | None = None,
    owner: Mapping[str, Any] | None = None,
    cluster: Mapping[str, Any] | None = None,
    record: Mapping[NodeKey, Entry] | None = None,
    bootstrap: str = "",
) -> Desired:
    """Ask the adapter. ``bootstrap`` are the bootstrap data; without any there is no Secret."""
    return _ask(SaidFacts(known or facts()), raw, owner, cluster, record, bootstrap)


def asked_of(
    raw: Mapping[str, Any],
    known: Callable[[MachineQuestions], MachineFacts],
    owner: Mapping[str, Any] | None = None,
    bootstrap: str = "",
) -> tuple[Desired, MachineQuestions | None]:
    """Ask the adapter, and return what it asked; None where it did not come so far."""

    async def answer(questions: MachineQuestions) -> MachineFacts:
        return known(questions)

    source = SaidFacts(answer)
    found = _ask(source, raw, owner, None, None, bootstrap)
    return found, source.asked[0] if source.asked else None


def _ask(
    source: SaidFacts,
    raw: Mapping[str, Any],
    owner: Mapping[str, Any] | None,
    cluster: Mapping[str, Any] | None,
    record: Mapping[NodeKey, Entry] | None,
    bootstrap: str,
) -> Desired:
    around = Around(owner, None, cluster or stored_cluster())
    proceed = Proceed("demo", around=around, bootstrap="boot" if bootstrap else "", secrets=_Secret(bootstrap))
    journal = Journal(Owner(OWNER.uuid, "AWSMachine", "default", "m1"), record or {})
    return run_blocking(AWSMachineAdapter(source).find_desired(raw, proceed, journal))


class _Secret:
    """The Secret ``boot``, without a format."""

    def __init__(self, value: str) -> None:
        self._value = value

    async def read(self, reference: str) -> bytes:
        if reference != "boot/value":
            raise NotFound(f"there is no {reference}")
        return self._value.encode()


def on_record(ident: str = "i-0123456789abcdef0", **fields: Any) -> dict[NodeKey, Entry]:
    """The journal's entries of a machine whose instance is there."""
    return {INSTANCE: Entry(RecordState.OWNED, ident, **fields)}


SIMULATED_IMAGE = "ami-0a0000000000000c1"
"""One of the simulated AWS."""


class MachineHarness(ReconcilerHarness[SimulatedAWS]):
    """A standalone AWSMachine of the cluster of another harness, on its simulated AWS."""

    served = AWS_MACHINE

    def __init__(
        self,
        cluster: AwsHarness,
        manifest: Mapping[str, Any] | None = None,
        owner: Mapping[str, Any] | None = None,
        port: Callable[[], Port] = InlinePort,
        audit: Audit | None = None,
    ) -> None:
        self._cluster, self.owner = cluster, owner
        super().__init__(manifest or machine(), port=port, audit=audit, beside=cluster)

    def new_cloud(self) -> SimulatedAWS:
        raise AssertionError("it is the cluster's")

    def new_accounts(self) -> Accounts:
        session = SharedClients(self.cloud, REGION, wall=lambda: self.wall.now())
        self.account = AwsAccount(session, self._port(), self.wall, self._audit, self._intervals)
        return OneAccount(Binding(self.account, AWSMachineAdapter(self.account.machine_facts)))

    def pass_once(self) -> Result:
        """One reconcile, with what is stored around it now."""
        stored = None if self._cluster.object.gone else copy.deepcopy(self._cluster.object.raw)
        around = Around(copy.deepcopy(self.owner) if self.owner else None, None, stored)
        self.around = ClusterContext(ClusterApiMode.OFF, around=around)
        return super().pass_once()


def group(ident: str) -> ResourceSelection:
    return ResourceSelection(ident)
