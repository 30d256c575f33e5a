"""``AWSMachine`` and the templates as kinds with a CRD."""

from __future__ import annotations

from freehold.api.names import CONTRACT_V1BETA1_LABEL, V1BETA2
from freehold.api.served_kind import CLUSTER_LABEL_PATH, Column, ServedKind, build_condition_path
from freehold.providers.aws.machine.kind import AWS_CLUSTER_TEMPLATE, AWS_MACHINE, AWS_MACHINE_TEMPLATE
from freehold.providers.aws.machine.types.spec import AWSMachine
from freehold.providers.aws.machine.types.templates import AWSClusterTemplate, AWSMachineTemplate

_LABELS = {CONTRACT_V1BETA1_LABEL: V1BETA2}
_MACHINE_PATH = '.metadata.ownerReferences[?(@.kind=="Machine")].name'
_AGE = Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date")

AWS_MACHINES = ServedKind(
    name=AWS_MACHINE,
    model=AWSMachine,
    labels=_LABELS,
    short_names=("awsm",),
    columns=(
        Column("Cluster", CLUSTER_LABEL_PATH, "The Cluster that the machine belongs to"),
        Column("State", ".status.instanceState", "The state of the instance"),
        Column("Phase", ".status.phase", "The state of the object in one word"),
        Column("Ready", build_condition_path("Ready"), "Whether the instance runs"),
        Column("Reason", build_condition_path("Ready", "reason"), "Why it is ready, or why not"),
        Column("InstanceID", ".spec.providerID", "The instance"),
        Column("Machine", _MACHINE_PATH, "The Machine that owns it"),
        _AGE,
        Column("Type", ".spec.instanceType", "The type of the instance", priority=1),
        Column("IP", '.status.addresses[?(@.type=="InternalIP")].address', "Private address", priority=1),
        Column("Paused", build_condition_path("Paused"), "Whether reconciliation is paused", priority=10),
    ),
)
AWS_TEMPLATES: tuple[ServedKind, ...] = (
    ServedKind(AWS_MACHINE_TEMPLATE, AWSMachineTemplate, (_AGE,), _LABELS, short_names=("awsmt",)),
    ServedKind(AWS_CLUSTER_TEMPLATE, AWSClusterTemplate, (_AGE,), _LABELS, short_names=("awsct",)),
)
