"""The machine plan: everything that one AWSMachine wants of AWS, by our own names. A pure decision.

What to run is chosen once: of an instance that is there, or is being made, the record says what was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from freehold.api import names
from freehold.engine.outcomes import Reason
from freehold.providers.aws.cluster.cluster_plan import Role
from freehold.providers.aws.cluster.normalize import DEFAULT_KEY
from freehold.providers.aws.machine import questions
from freehold.providers.aws.machine.cluster_view import ClusterView
from freehold.providers.aws.machine.facts import Image, MachineFacts, MachineSubnet, ResourceSelection
from freehold.providers.aws.machine.recorded import InstanceStanding, RecordedInstance
from freehold.providers.aws.machine.types.spec import AWSMachineSpec, OtherVolume, RootVolume
from freehold.providers.aws.types.instance import InstanceMetadataOptions, PrivateDNSName, Volume
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning

CLUSTER = "its cluster"
"""In place of a field: what only the cluster can answer."""
SLOWLY = 300.0
"""Seconds until it is asked again whether there is capacity."""


@dataclass(frozen=True)
class OwnerMachine:
    """Facts about a machine from its object and its owner Machine, beside the spec.

    ``owner`` is ``namespace/name`` of the Machine, or of the object where it stands alone. ``version`` is the Machine's
    of Kubernetes, ``zone`` its failure domain; both empty where there is none.
    """

    name: str
    owner: str
    control_plane: bool = False
    version: str = ""
    zone: str = ""

    @staticmethod
    def read(raw: Mapping[str, Any], machine: Mapping[str, Any] | None) -> OwnerMachine:
        """Read them from the object and its owner Machine."""
        said = machine or raw
        metadata, spec = said["metadata"], (machine or {}).get("spec") or {}
        return OwnerMachine(
            str(raw["metadata"]["name"]),
            f"{metadata.get('namespace', '')}/{metadata['name']}",
            names.CONTROL_PLANE_LABEL in (metadata.get("labels") or {}),
            str(spec.get("version") or ""),
            str(spec.get("failureDomain") or ""),
        )


@dataclass(frozen=True)
class MachinePlan:
    """One instance. ``given`` is the id of one that is there already, ``gone``: there was one; the rest is then empty.

    ``image_id``, ``subnet_id`` and ``zone`` are empty where the instance is ours already: it keeps its own. ``request``
    has the attributes that only a create sets. ``registrations`` are the target groups and classic load balancers that
    send to it. ``tags`` are the user's. ``of_workloads``: the name by which the cluster's own controllers find it.
    """

    machine: OwnerMachine
    cluster: str
    of_workloads: str
    given: str = ""
    gone: bool = False
    instance_type: str = ""
    image_id: str = ""
    subnet_id: str = ""
    zone: str = ""
    security_groups: tuple[str, ...] = ()
    key_name: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    registrations: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    spot: bool = False


Decided = MachinePlan | RefusedSpec | UndecidedSpec


def decide(
    machine: OwnerMachine,
    spec: AWSMachineSpec,
    view: ClusterView,
    facts: MachineFacts,
    recorded: RecordedInstance,
    notes: tuple[SpecWarning, ...] = (),
) -> Decided:
    """Make the plan of a ``spec`` in which :mod:`spec_checks` found nothing, or say why there is none."""
    tags = tuple(sorted({**view.tags, **spec.additional_tags}.items()))
    if recorded.standing in (InstanceStanding.GIVEN, InstanceStanding.GONE):
        given = recorded.id if recorded.standing is InstanceStanding.GIVEN else ""
        zone = (spec.provider_id or "").removeprefix("aws:///").partition("/")[0]
        return MachinePlan(
            machine, view.cluster, view.of_workloads, given, not given, zone=zone, tags=tags, spot=is_spot(spec)
        )
    asked = {
        "spec.additionalSecurityGroups": facts.groups,
        "the security group of EKS": facts.eks_group,
        **({} if recorded.is_chosen else _asked_to_choose(facts)),
    }
    if missing := {where: answer for where, answer in asked.items() if isinstance(answer, NoAnswer)}:
        return UndecidedSpec(missing, notes)
    if recorded.standing is InstanceStanding.NONE and view.deleting:
        return _wait(f"{view.title} is being deleted: no instance is made for it", notes)
    if machine.control_plane and view.forged:
        shown = ", ".join(view.forged)
        return _wait(f"{view.title}: {shown} is on its record with an id that the operator did not write", notes)
    groups = _groups(machine, spec, view, facts)
    if isinstance(groups, str):
        return _wait(groups, notes)
    problems = [] if recorded.is_chosen else list(check_chosen(machine, spec, view, facts))
    problems += check_groups(spec, view, facts)
    if problems:
        return RefusedSpec(tuple(problems), notes)
    subnet = None if recorded.is_chosen else choose_subnet(machine, spec, view, facts)
    if subnet is None and not recorded.is_chosen:
        return _no_capacity(machine, spec, view, facts, notes)
    image = facts.image.value if isinstance(facts.image, Answer) else None
    return MachinePlan(
        machine,
        view.cluster,
        view.of_workloads,
        instance_type=spec.instance_type,
        image_id=image.id if image else "",
        subnet_id=subnet.id if subnet else "",
        zone=subnet.zone if subnet else "",
        security_groups=groups,
        key_name=_key_name(spec, view),
        request=dict(recorded.request) if recorded.is_chosen else dict(_at_birth(spec, image, subnet)),
        registrations=view.registrations if machine.control_plane else (),
        tags=tags,
        spot=is_spot(spec),
    )


def _asked_to_choose(facts: MachineFacts) -> dict[str, object]:
    return {
        "spec.instanceType": facts.type,
        "spec.ami": facts.image,
        "spec.subnet": facts.chosen,
        "the subnets of the cluster": facts.subnets,
    }


def _wait(why: str, notes: tuple[SpecWarning, ...]) -> UndecidedSpec:
    return UndecidedSpec({CLUSTER: NoAnswer(Reason.REQUIREMENT, why, SLOWLY)}, notes)


# --- where -------------------------------------------------------------------------------------


def candidates(
    machine: OwnerMachine, spec: AWSMachineSpec, view: ClusterView, facts: MachineFacts
) -> tuple[MachineSubnet, ...]:
    """Return the subnets that the spec allows, in the order in which they are taken.

    Those that the spec selects, else the cluster's: in the Machine's failure domain, else of all zones; a public one if
    the instance is to have a public address, else a private one. None that is for pods alone.
    """
    there = facts.subnets.value if isinstance(facts.subnets, Answer) else ()
    in_vpc = {each.id: each for each in there}
    if spec.subnet is not None and isinstance(facts.chosen, Answer):
        found = [in_vpc[each.id] for each in facts.chosen.value if each.id in in_vpc]
        fits = [each for each in found if each.public or not spec.public_ip]
    else:
        found = [in_vpc[ident] for ident in view.subnets if ident in in_vpc]
        fits = [each for each in found if each.public is bool(spec.public_ip)]
    return tuple(each for each in fits if not each.for_pods and machine.zone in ("", each.zone))


def choose_subnet(
    machine: OwnerMachine, spec: AWSMachineSpec, view: ClusterView, facts: MachineFacts
) -> MachineSubnet | None:
    """Return the first one in a zone that has capacity; None where no zone has."""
    found = candidates(machine, spec, view, facts)
    return next((each for each in found if each.zone not in facts.full), None)


def _no_capacity(
    machine: OwnerMachine, spec: AWSMachineSpec, view: ClusterView, facts: MachineFacts, notes: tuple[SpecWarning, ...]
) -> UndecidedSpec:
    zones = sorted({each.zone for each in candidates(machine, spec, view, facts)})
    where = f"{', '.join(zones)}, which {'is' if len(zones) == 1 else 'are'} all that the spec allows"
    message = f"AWS has no capacity for {spec.instance_type} in {where}; it is tried again, or make another machine"
    return UndecidedSpec({"spec.instanceType": NoAnswer(Reason.NO_CAPACITY, message, SLOWLY)}, notes)


def check_chosen(
    machine: OwnerMachine, spec: AWSMachineSpec, view: ClusterView, facts: MachineFacts
) -> Iterator[SpecProblem]:
    """Check type, image and subnet against what AWS said of them."""
    if isinstance(facts.type, NotThere):
        yield SpecProblem("spec.instanceType", f"AWS has no type {spec.instance_type!r} in {view.region}; correct it")
    yield from _check_image(machine, spec, view, facts)
    yield from _check_subnet(machine, spec, view, facts)


def _check_image(
    machine: OwnerMachine, spec: AWSMachineSpec, view: ClusterView, facts: MachineFacts
) -> Iterator[SpecProblem]:
    named = spec.ami.id if spec.ami else None
    if isinstance(facts.image, NotThere):
        yield SpecProblem(
            "spec.ami.id",
            f"there is no image {named}, or it is not shared with this account; correct the id"
            if named
            else f"no image fits {questions.describe_lookup(spec, view, machine.version)}; give the id of one",
        )
        return
    if not isinstance(facts.image, Answer):
        return
    image = facts.image.value
    fits = facts.type.value.architectures if isinstance(facts.type, Answer) else (image.architecture,)
    if image.architecture not in fits:
        yield SpecProblem(
            "spec.ami.id",
            f"image {image.id} is for {image.architecture}, and {spec.instance_type} has {', '.join(fits)}; choose "
            "another image, or another type",
        )
    if spec.root_volume and spec.root_volume.size < image.root_size:
        yield SpecProblem(
            "spec.rootVolume.size", f"image {image.id} needs at least {image.root_size} GiB; write that, or more"
        )


def _check_subnet(
    machine: OwnerMachine, spec: AWSMachineSpec, view: ClusterView, facts: MachineFacts
) -> Iterator[SpecProblem]:
    if candidates(machine, spec, view, facts):
        return
    zone = f" in {machine.zone}, the Machine's spec.failureDomain" if machine.zone else ""
    if spec.subnet is None:
        sort = "public" if spec.public_ip else "private"
        field = "spec.publicIP" if spec.public_ip else "spec.subnet"
        mend = "choose another failure domain" if machine.zone else "name a subnet in spec.subnet"
        yield SpecProblem(field, f"{view.title} has no {sort} subnet for machines{zone}; {mend}, or give it one")
        return
    chosen = facts.chosen.value if isinstance(facts.chosen, Answer) else ()
    field, which = ("spec.subnet.id", f"subnet {spec.subnet.id}") if spec.subnet.id else ("spec.subnet.filters", "none")
    if not chosen:
        yield SpecProblem(field, f"there is no such subnet: {which} fits; correct it")
    elif others := [each for each in chosen if each.vpc != view.vpc]:
        shown = ", ".join(f"{each.id} (of {each.vpc})" for each in others[:3])
        yield SpecProblem(field, f"{shown} is not in the cluster's VPC {view.vpc}; choose one that is")
    else:
        wanted = "public one, as publicIP needs," if spec.public_ip else "one"
        shown = ", ".join(each.id for each in chosen[:3])
        yield SpecProblem(field, f"of {shown} no {wanted} is for machines{zone}; choose another")


# --- with what ---------------------------------------------------------------------------------


def _groups(
    machine: OwnerMachine, spec: AWSMachineSpec, view: ClusterView, facts: MachineFacts
) -> tuple[str, ...] | str:
    """Return the ids of the groups, sorted; or which of the cluster's is not there."""
    found: set[str] = set()
    of_cluster = {**view.groups, **_eks_groups(facts)}
    for role in questions.roles_of(view, control_plane=machine.control_plane):
        ident = spec.security_group_overrides.get(role) or of_cluster.get(role)
        if not ident:
            return f"{view.title} has no security group {role} yet"
        found.add(ident)
    said = facts.groups.value if isinstance(facts.groups, Answer) else {}
    for each in spec.additional_security_groups:
        found |= {group.id for group in said.get(questions.select(each), ()) if group.vpc == view.vpc}
    return tuple(sorted(found))


def _eks_groups(facts: MachineFacts) -> Mapping[str, str]:
    return {Role.NODE.value: facts.eks_group.value} if isinstance(facts.eks_group, Answer) else {}


def check_groups(spec: AWSMachineSpec, view: ClusterView, facts: MachineFacts) -> Iterator[SpecProblem]:
    """Check the groups that the spec names against what AWS said of them."""
    said = facts.groups.value if isinstance(facts.groups, Answer) else {}
    named: list[tuple[str, ResourceSelection]] = [
        (f"spec.securityGroupOverrides[{role}]", ResourceSelection(ident))
        for role, ident in sorted(spec.security_group_overrides.items())
        if ResourceSelection(ident) in said
    ]
    named += [
        (f"spec.additionalSecurityGroups[{index}]", questions.select(each))
        for index, each in enumerate(spec.additional_security_groups)
    ]
    for where, selection in named:
        found = said.get(selection, ())
        which = f"security group {selection.id}" if selection.id else "security group that fits"
        if not found:
            yield SpecProblem(where, f"there is no {which}; correct it")
        elif all(group.vpc != view.vpc for group in found):
            yield SpecProblem(
                where, f"{found[0].id} is of {found[0].vpc}, and the cluster is in {view.vpc}; choose one there"
            )


def _key_name(spec: AWSMachineSpec, view: ClusterView) -> str:
    """Return the SSH key: the spec's, else the cluster's, else upstream's; an empty one means none."""
    said: Sequence[str | None] = (spec.ssh_key_name, view.key_name, DEFAULT_KEY)
    return next(each for each in said if each is not None)


def is_spot(spec: AWSMachineSpec) -> bool:
    """Return whether it is a spot instance: options for one mean one, as upstream."""
    return spec.market_type == "Spot" or spec.spot_market_options is not None


def _at_birth(spec: AWSMachineSpec, image: Image | None, subnet: MachineSubnet | None) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that only a create sets, those that are wanted."""
    if spec.public_ip is not None:
        yield "associate_public_ip_address", spec.public_ip
    if spec.iam_instance_profile:
        yield "profile", spec.iam_instance_profile
    if spec.root_volume and image:
        yield "root_volume", _mapping(spec.root_volume, image.root_device)
    if spec.non_root_volumes:
        yield "volumes", [_mapping(each, each.device_name or "") for each in spec.non_root_volumes]
    if is_spot(spec):
        yield "spot", {"max_price": (spec.spot_market_options and spec.spot_market_options.max_price) or ""}
    if spec.tenancy and spec.tenancy != "default":
        yield "tenancy", spec.tenancy
    if spec.placement_group_name:
        yield "placement_group", spec.placement_group_name
    if spec.placement_group_partition:
        yield "partition", spec.placement_group_partition
    if subnet and subnet.ipv6 and spec.assign_primary_ipv6 != "disabled":
        yield "ipv6", True
        yield "primary_ipv6", True
    if spec.private_dns_name:
        yield "hostname", _hostname(spec.private_dns_name)
    yield "metadata", _metadata(spec.instance_metadata_options or InstanceMetadataOptions())


def _mapping(volume: RootVolume | OtherVolume | Volume, device: str) -> dict[str, Any]:
    """Spell a volume. One with a key is encrypted, as upstream's; all go with the instance."""
    said = {
        "device": device,
        "size": volume.size,
        "type": volume.type,
        "iops": volume.iops or None,
        "throughput": volume.throughput,
        "encrypted": True if volume.encryption_key else volume.encrypted,
        "kms_key": volume.encryption_key or None,
        "delete_on_termination": True,
    }
    return {name: value for name, value in said.items() if value is not None}


def _metadata(options: InstanceMetadataOptions) -> dict[str, Any]:
    return {
        "http_endpoint": options.http_endpoint,
        "http_tokens": options.http_tokens,
        "hop_limit": options.http_put_response_hop_limit,
        "instance_metadata_tags": options.instance_metadata_tags,
        **({"http_protocol_ipv6": "enabled"} if options.http_protocol_ipv6 == "enabled" else {}),
    }


def _hostname(said: PrivateDNSName) -> dict[str, Any]:
    found = {
        "type": said.hostname_type,
        "a_record": said.enable_resource_name_dns_a_record,
        "aaaa_record": said.enable_resource_name_dns_aaaa_record,
    }
    return {name: value for name, value in found.items() if value is not None}
