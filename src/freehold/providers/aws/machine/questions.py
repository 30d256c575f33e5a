"""The questions of one machine: only what its spec, its Machine and its record leave open. Pure."""

from __future__ import annotations

import re
from typing import Final

from freehold.providers.aws.cluster.cluster_plan import Role
from freehold.providers.aws.machine.cluster_view import ClusterView, ImageLookup
from freehold.providers.aws.machine.facts import (
    ARCHITECTURE,
    Filter,
    ImageById,
    ImageByName,
    ImageByParameter,
    ImageQuestion,
    MachineQuestions,
    ResourceSelection,
)
from freehold.providers.aws.machine.recorded import InstanceStanding, RecordedInstance
from freehold.providers.aws.machine.types.spec import AWSMachineSpec, GroupReference, SubnetReference

DEFAULT_ORG: Final = "819546954734"
DEFAULT_BASE_OS: Final = "ubuntu-24.04"
DEFAULT_FORMAT: Final = "capa-ami-{{.BaseOS}}-?{{.K8sVersion}}-*"
"""Upstream's images: https://cluster-api-aws.sigs.k8s.io/topics/images/built-amis"""
_FIELD = re.compile(r"\{\{-?\s*\.(\w+)\s*-?\}\}")
_FIELDS = ("BaseOS", "K8sVersion")
_EKS: Final = {
    "AmazonLinux": "amazon-linux-2/recommended/image_id",
    "AmazonLinuxGPU": "amazon-linux-2-gpu/recommended/image_id",
    "AmazonLinux2023": f"amazon-linux-2023/{ARCHITECTURE}/standard/recommended/image_id",
    "AmazonLinux2023GPU": f"amazon-linux-2023/{ARCHITECTURE}/nvidia/recommended/image_id",
}
"""Names of public parameters, after the version
(https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html)."""
_VERSION = re.compile(r"v?(\d+)\.(\d+)(\..*)?")


def roles_of(control_plane: bool) -> tuple[str, ...]:
    """Return the roles of the cluster's groups that a machine is in, as upstream's."""
    common = (Role.NODE.value, Role.LB.value)
    return (*common, Role.CONTROL_PLANE.value) if control_plane else common


def select(reference: SubnetReference | GroupReference) -> ResourceSelection:
    """Return what a reference of the spec selects."""
    filters = tuple(Filter(each.name, tuple(each.values)) for each in reference.filters)
    return ResourceSelection(reference.id or "", filters)


def questions_of(
    spec: AWSMachineSpec, view: ClusterView, version: str, recorded: RecordedInstance, *, control_plane: bool = False
) -> MachineQuestions:
    """Return what is to be asked. Of an instance that is there only its groups are open."""
    if recorded.standing is InstanceStanding.GIVEN:
        return MachineQuestions()
    overrides = {
        role: ident for role, ident in spec.security_group_overrides.items() if role in roles_of(control_plane)
    }
    named = tuple(select(each) for each in spec.additional_security_groups)
    named += tuple(ResourceSelection(ident) for _, ident in sorted(overrides.items()) if ident)
    groups = tuple(dict.fromkeys(named))
    if recorded.is_chosen:
        return MachineQuestions(groups=groups)
    image = ask_image(spec, view.images, version)
    return MachineQuestions(
        image=None if isinstance(image, str) else image,
        instance_type=spec.instance_type,
        vpc=view.vpc,
        subnet=select(spec.subnet) if spec.subnet else None,
        groups=groups,
    )


def ask_image(spec: AWSMachineSpec, cluster: ImageLookup, version: str) -> ImageQuestion | str:
    """Return the question for the image, or why there is none to be asked."""
    if spec.ami and spec.ami.id:
        return ImageById(spec.ami.id)
    found = _VERSION.fullmatch(version)
    if found is None:
        said = f"the Machine's spec.version {version!r} is none" if version else "there is no Machine with a version"
        return f"an image is looked up by the version of Kubernetes, and {said}; give the id of an image"
    if spec.ami and spec.ami.eks_lookup_type:
        name = f"/aws/service/eks/optimized-ami/{found[1]}.{found[2]}/{_EKS[spec.ami.eks_lookup_type]}"
        return ImageByParameter(name)
    form = spec.image_lookup_format or cluster.format or DEFAULT_FORMAT
    if unknown := sorted({name for name in _FIELD.findall(form) if name not in _FIELDS}):
        return (
            f"the format of the name has {{{{.{unknown[0]}}}}}; only {{{{.BaseOS}}}} and {{{{.K8sVersion}}}} are known"
        )
    if "{{" in (rest := _FIELD.sub("", form)) or "}}" in rest:
        return "the format of the name is no plain template; only {{.BaseOS}} and {{.K8sVersion}} are replaced"
    base = spec.image_lookup_base_os or cluster.base_os or DEFAULT_BASE_OS
    values = {"BaseOS": base, "K8sVersion": version.removeprefix("v")}
    name = _FIELD.sub(lambda hit: values[hit[1]], form)
    return ImageByName(spec.image_lookup_org or cluster.org or DEFAULT_ORG, name)


def describe_lookup(spec: AWSMachineSpec, cluster: ImageLookup, version: str) -> str:
    """Describe for a person which image was looked for."""
    match ask_image(spec, cluster, version):
        case ImageByName(owner, name):
            return f"{name!r} of account {owner}, for the architecture of {spec.instance_type}"
        case ImageByParameter(name):
            return f"the public parameter {name}"
        case _:
            return "what the spec says"
