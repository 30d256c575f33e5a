"""Checks of the spec of an AWSMachine: what is wrong, where, what to do.

A schema has refused most of it when the object was applied. This says the same of objects that no such API server
checked, by the same rules (``types/rules.py``), and what no schema can know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from freehold.api.parse import broken_rules
from freehold.providers.aws.api_names import AWS_USER_TAG_LIMIT
from freehold.providers.aws.cluster.tag_checks import user_tag_problems
from freehold.providers.aws.machine.cluster_view import ClusterView
from freehold.providers.aws.machine.kind import AWS_MACHINE
from freehold.providers.aws.machine.machine_plan import OwnerMachine
from freehold.providers.aws.machine.questions import ask_image
from freehold.providers.aws.machine.recorded import InstanceStanding, RecordedInstance, instance_of
from freehold.providers.aws.machine.types.spec import AWSMachineSpec
from freehold.providers.aws.tags.capa_tags import Lifecycle, cloud_provider_key
from freehold.providers.aws.types.rules import OWNERSHIP_PREFIX, TOO_MANY_TAGS, aws_tag_problems
from freehold.providers.objects.served_fields import find_refused_fields
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning

Checks = Iterator[SpecProblem]


def check(
    machine: OwnerMachine,
    raw: Mapping[str, Any],
    spec: AWSMachineSpec,
    view: ClusterView | None,
    recorded: RecordedInstance,
) -> tuple[SpecProblem, ...]:
    """Find everything that must be changed before anything is created, in the order of the docs.

    What only a create needs is not checked once there is an instance, and what depends on the cluster is not while
    there is no view of it.
    """
    parts = (
        _identity(spec, recorded),
        find_refused_fields(AWS_MACHINE.fields, raw),
        _values(spec),
        broken_rules(spec, "spec"),
        _tags(spec),
        _tags_beside(spec, view) if view else (),
        _image(machine, spec, view) if view and not recorded.is_chosen else (),
    )
    return tuple(dict.fromkeys(problem for part in parts for problem in part))


def warn(spec: AWSMachineSpec, recorded: RecordedInstance) -> Iterator[SpecWarning]:
    """Say what a person may not expect."""
    if recorded.standing is InstanceStanding.GIVEN:
        yield SpecWarning(
            "spec.providerID",
            f"instance {recorded.id} was there before this object: it is used as it is, never changed and never "
            "terminated, also when this object is deleted",
            served=True,
        )


def _identity(spec: AWSMachineSpec, recorded: RecordedInstance) -> Checks:
    named = instance_of(spec.provider_id or "")
    if recorded.standing is InstanceStanding.OURS and recorded.is_vouched and named and named != recorded.id:
        yield SpecProblem(
            "spec.providerID",
            f"it names {named}, and the instance of this machine is {recorded.id}; write that, or remove the field",
        )
    if spec.instance_id and not named and recorded.standing is InstanceStanding.NONE:
        yield SpecProblem(
            "spec.instanceID",
            "alone it names no machine; to use an instance that is there give providerID, aws:///<zone>/"
            f"{spec.instance_id}, else remove it",
        )
    elif spec.instance_id and named and named != spec.instance_id:
        yield SpecProblem("spec.instanceID", f"providerID names {named}, and this {spec.instance_id}; remove one")


_ONLY = (
    ("spec.marketType", "market_type", "CapacityBlock", "capacity blocks are not served; write OnDemand or Spot"),
    ("spec.tenancy", "tenancy", "host", "dedicated hosts are not served; write default or dedicated"),
    ("spec.hostAffinity", "host_affinity", "host", "dedicated hosts are not served; write default, or remove it"),
    ("spec.networkInterfaceType", "network_interface_type", "efa", "EFA is not served; write interface, or remove it"),
)


def _values(spec: AWSMachineSpec) -> Checks:
    """Refuse values that are not served of fields that are."""
    for field, attribute, value, message in _ONLY:
        if getattr(spec, attribute) == value:
            yield SpecProblem(field, message)
    options, cloud_init = spec.instance_metadata_options, spec.cloud_init
    if options and options.instance_metadata_tags == "enabled":
        yield SpecProblem(
            "spec.instanceMetadataOptions.instanceMetadataTags",
            "EC2 takes it only without a slash in the keys of tags, and those that say whose the instance is have one; "
            "write disabled, or remove it",
        )
    if cloud_init and cloud_init.secure_secrets_backend == "ssm-parameter-store":
        yield SpecProblem(
            "spec.cloudInit.secureSecretsBackend",
            "the parameter store is not served; write secrets-manager, or remove it",
        )


def _tags(spec: AWSMachineSpec) -> Checks:
    for key, value in spec.additional_tags.items():
        told = {*aws_tag_problems(key, value), OWNERSHIP_PREFIX.message}  # by the rules of the schema
        for each in user_tag_problems(key, value):
            if each not in told:
                yield SpecProblem(f"spec.additionalTags[{key}]", each)


def _tags_beside(spec: AWSMachineSpec, view: ClusterView) -> Checks:
    """Check the tags beside those of the cluster."""
    every = {**view.tags, **spec.additional_tags}
    if len(every) > AWS_USER_TAG_LIMIT:
        yield SpecProblem("spec.additionalTags", f"with those of {view.title} there are {len(every)}: {TOO_MANY_TAGS}")
    own = cloud_provider_key(view.of_workloads)
    for key, value in spec.additional_tags.items():
        if key.startswith(cloud_provider_key("")) and key != own and value == Lifecycle.OWNED.value:
            yield SpecProblem(
                f"spec.additionalTags[{key}]",
                "it says that another cluster owns the instance, whose controllers would delete it; remove it",
            )


def _image(machine: OwnerMachine, spec: AWSMachineSpec, view: ClusterView) -> Checks:
    if isinstance(problem := ask_image(spec, view, machine.version), SpecProblem):
        yield problem
