"""The questions of one machine: only what its spec, its Machine and its record leave open. Pure."""

from __future__ import annotations

import re
from typing import Final

from freehold.providers.aws.cluster.cluster_plan import Role
from freehold.providers.aws.machine.cluster_view import ClusterView, ImageLookup
from freehold.providers.aws.machine.facts import (
    ARCHITECTURE,
    ARM_SUFFIX,
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
from freehold.providers.objects.spec_problems import SpecProblem

DEFAULT_ORG: Final = "819546954734"
DEFAULT_BASE_OS: Final = "ubuntu-24.04"
DEFAULT_FORMAT: Final = "capa-ami-{{.BaseOS}}-?{{.K8sVersion}}-*"
"""Upstream's images: https://cluster-api-aws.sigs.k8s.io/topics/images/built-amis"""
_FIELD = re.compile(r"\{\{-?\s*\.(\w+)\s*-?\}\}")
_FIELDS = ("BaseOS", "K8sVersion")
AMAZON_LINUX_2: Final = "AmazonLinux"
_EKS: Final = {
    AMAZON_LINUX_2: f"amazon-linux-2{ARM_SUFFIX}/recommended/image_id",
    "AmazonLinuxGPU": "amazon-linux-2-gpu/recommended/image_id",
    "AmazonLinux2023": f"amazon-linux-2023/{ARCHITECTURE}/standard/recommended/image_id",
    "AmazonLinux2023GPU": f"amazon-linux-2023/{ARCHITECTURE}/nvidia/recommended/image_id",
}
"""Names of public parameters, after the version
(https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html)."""
_LAST_OF_AMAZON_LINUX_2: Final = (1, 32)
"""The last version of Kubernetes with images of it
(https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html)."""
_VERSION = re.compile(r"v?(\d+)\.(\d+)(\..*)?")


def roles_of(view: ClusterView, *, control_plane: bool) -> tuple[str, ...]:
    """Return the roles of the cluster's groups that a machine is in, as upstream's.

    Of a cluster of EKS ``node`` is the group that EKS made for it.
    """
    if view.eks:
        return Role.NODE.value, Role.EKS_NODE.value
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
    roles = roles_of(view, control_plane=control_plane)
    overrides = {role: ident for role, ident in spec.security_group_overrides.items() if role in roles}
    named = tuple(select(each) for each in spec.additional_security_groups)
    named += tuple(ResourceSelection(ident) for _, ident in sorted(overrides.items()) if ident)
    groups = tuple(dict.fromkeys(named))
    if recorded.is_chosen:
        return MachineQuestions(groups=groups, eks=view.eks)
    image = ask_image(spec, view, version)
    return MachineQuestions(
        image=None if isinstance(image, SpecProblem) else image,
        instance_type=spec.instance_type,
        vpc=view.vpc,
        subnet=select(spec.subnet) if spec.subnet else None,
        groups=groups,
        eks=view.eks,
    )


def ask_image(spec: AWSMachineSpec, view: ClusterView, version: str) -> ImageQuestion | SpecProblem:
    """Return the question for the image, or why there is none to be asked.

    ``version`` is the Machine's; without one the cluster's counts, where it says one.
    """
    if spec.ami and spec.ami.id:
        return ImageById(spec.ami.id)
    version = version or view.version
    found = _VERSION.fullmatch(version)
    if found is None:
        said = f"the Machine's spec.version {version!r} is none" if version else "there is no Machine with a version"
        why = f"an image is looked up by the version of Kubernetes, and {said}; give the id of an image"
        return SpecProblem("spec.ami.id", why)
    minor = (int(found[1]), int(found[2]))
    if lookup := _eks_lookup(spec, view, minor):
        return _ask_eks_image(lookup, minor)
    return _ask_image_by_name(spec, view, version)


def _eks_lookup(spec: AWSMachineSpec, view: ClusterView, minor: tuple[int, int]) -> str:
    """Return which of EKS's images is looked for; empty if none.

    In a cluster of EKS that is also what a machine has for which nothing is said, as upstream has it; but where there
    is no Amazon Linux 2 any more, its successor.
    """
    if spec.ami and spec.ami.eks_lookup_type:
        return spec.ami.eks_lookup_type
    own = (spec.image_lookup_format, spec.image_lookup_org, spec.image_lookup_base_os)
    if view.eks is None or any(own) or view.images != ImageLookup():
        return ""
    return AMAZON_LINUX_2 if minor <= _LAST_OF_AMAZON_LINUX_2 else "AmazonLinux2023"


def _ask_eks_image(lookup: str, minor: tuple[int, int]) -> ImageQuestion | SpecProblem:
    version = f"{minor[0]}.{minor[1]}"
    if lookup.removesuffix("GPU") == AMAZON_LINUX_2 and minor > _LAST_OF_AMAZON_LINUX_2:
        newer = lookup.replace(AMAZON_LINUX_2, "AmazonLinux2023")
        why = f"there are no images of Amazon Linux 2 for Kubernetes {version}; write {newer}"
        return SpecProblem("spec.ami.eksLookupType", why)
    return ImageByParameter(f"/aws/service/eks/optimized-ami/{version}/{_EKS[lookup]}")


def _ask_image_by_name(spec: AWSMachineSpec, view: ClusterView, version: str) -> ImageQuestion | SpecProblem:
    cluster = view.images
    form = spec.image_lookup_format or cluster.format or DEFAULT_FORMAT
    if unknown := sorted({name for name in _FIELD.findall(form) if name not in _FIELDS}):
        why = (
            f"the format of the name has {{{{.{unknown[0]}}}}}; only {{{{.BaseOS}}}} and {{{{.K8sVersion}}}} are known"
        )
        return SpecProblem("spec.imageLookupFormat", why)
    if "{{" in (rest := _FIELD.sub("", form)) or "}}" in rest:
        why = "the format of the name is no plain template; only {{.BaseOS}} and {{.K8sVersion}} are replaced"
        return SpecProblem("spec.imageLookupFormat", why)
    base = spec.image_lookup_base_os or cluster.base_os or DEFAULT_BASE_OS
    values = {"BaseOS": base, "K8sVersion": version.removeprefix("v")}
    name = _FIELD.sub(lambda hit: values[hit[1]], form)
    return ImageByName(spec.image_lookup_org or cluster.org or DEFAULT_ORG, name)


def describe_lookup(spec: AWSMachineSpec, view: ClusterView, version: str) -> str:
    """Describe for a person which image was looked for."""
    match ask_image(spec, view, version):
        case ImageByName(owner, name):
            return f"{name!r} of account {owner}, for the architecture of {spec.instance_type}"
        case ImageByParameter(name):
            return f"the public parameter {name}"
        case _:
            return "what the spec says"
