"""What a ``CloudMetadata`` and its ``AWSMetadata`` ask for together, or why nothing is done. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from freehold.api.metadata import CloudMetadataSpec, CloudProviders, MetadataReference
from freehold.api.metadata_providers import AWSMetadataSpec
from freehold.api.parse import InvalidObject, parse
from freehold.tagging import sync_period
from freehold.tagging.classifiers import Classifiers, Condition
from freehold.tagging.conflicts import Claim, Claimant
from freehold.tagging.limits import LimitPolicy
from freehold.tagging.operations import Contradictions, Opcode, Operation, UnknownOpcode, merge, operation, parse_opcode
from freehold.tagging.resources import Cloud
from freehold.tagging.validation import problems

Json = Mapping[str, Any]


class Reference(NamedTuple):
    """A provider's object."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"AWSMetadata {self.namespace}/{self.name}"


@dataclass(frozen=True)
class Refused:
    """Nothing is done and no cloud is called until somebody changes something.

    ``of_tags`` names the provider's object where the reason is in it.
    """

    reason: str
    message: str
    of_tags: str = ""


@dataclass(frozen=True)
class Place:
    """With which account and in which regions; without a role it is the operator's own identity."""

    regions: tuple[str, ...]
    role: str = ""
    external_id: str = field(default="", repr=False)

    @property
    def account(self) -> str:
        """That of the role; empty where the operator's own is meant."""
        return self.role.split(":")[4] if self.role.count(":") >= 5 else ""


@dataclass(frozen=True)
class Demand:
    """``selector`` is the CloudMetadata that classifies, by age; ``claim`` is the provider object's.

    ``applied``: the tags that are to be there. ``period``: seconds between looks.
    """

    selector: Claimant
    claim: Claim
    classifiers: Classifiers
    place: Place
    period: float
    applied: Mapping[str, str]


class _NotValid(Exception):
    """Carries a Refused."""

    def __init__(self, reason: str, message: str, of_tags: str = "") -> None:
        super().__init__(message)
        self.refused = Refused(reason, message, of_tags)


def reference_of(cloud: Json) -> Reference | Refused:
    """The provider's object that ``cloud`` refers to (docs/reference/metadata-compat.md A2)."""
    try:
        return _reference(cloud)
    except _NotValid as problem:
        return problem.refused


@dataclass(frozen=True)
class Defaults:
    """The operator's own regions, and its sync period in seconds: of objects that name none."""

    regions: tuple[str, ...] = ()
    period: float = sync_period.DEFAULT


def demand_of(cloud: Json, provider: Json | None, writer: str, defaults: Defaults) -> Demand | Refused:
    """``provider``: what ``cloud`` refers to; ``writer``: for whom its tags were written (writer.py)."""
    try:
        reference = _reference(cloud)
        if provider is None:
            raise _NotValid("ReferenceMissing", f"{reference} does not exist: make it, or name another one")
        if "deletionTimestamp" in provider["metadata"]:
            raise _NotValid("ReferenceDeleted", f"{reference} is being deleted, and its tags stay: name another one")
        claimant = Claimant(_created(provider), writer, str(reference))
        return _demand(_spec_of(cloud), selector_of(cloud), _tags_of(provider, reference), claimant, defaults)
    except _NotValid as problem:
        return problem.refused


def selector_of(cloud: Json) -> Claimant:
    """The CloudMetadata itself, by age."""
    metadata = cloud["metadata"]
    return Claimant(_created(cloud), metadata["uid"], f"CloudMetadata {metadata['namespace']}/{metadata['name']}")


def _created(raw: Json) -> float:
    return datetime.fromisoformat(str(raw["metadata"]["creationTimestamp"])).timestamp()


def _spec_of(cloud: Json) -> CloudMetadataSpec:
    try:
        return parse(CloudMetadataSpec, cloud.get("spec"), at="spec")
    except InvalidObject as problem:
        raise _NotValid("InvalidSpec", str(problem)) from None


def _tags_of(provider: Json, reference: Reference) -> AWSMetadataSpec:
    try:
        return parse(AWSMetadataSpec, provider.get("spec"), at="spec")
    except InvalidObject as problem:
        raise _NotValid("InvalidTags", f"{reference}: {problem}", str(reference)) from None


def _reference(cloud: Json) -> Reference:
    providers = _spec_of(cloud).cloudprovider or CloudProviders()
    if providers.ibmref is not None:
        raise _NotValid("ProviderNotServed", "spec.cloudprovider.ibmref: IBMMetadata is not served yet; remove it")
    found: MetadataReference | None = providers.awsref or providers.awsmetadataref
    if found is None:
        message = "there is no provider, so nothing is done: name an AWSMetadata in spec.cloudprovider.awsref"
        raise _NotValid("NoProvider", message)
    own = str(cloud["metadata"].get("namespace", ""))
    named = Reference(found.namespace or own, found.name)
    if named.namespace != own:
        message = (
            f"spec.cloudprovider.awsref: {named} is in another namespace, which would have to grant its use, and "
            f"grants are not served yet: make one in the namespace {own}"
        )
        raise _NotValid("ReferenceNotGranted", message)
    return named


def _demand(
    spec: CloudMetadataSpec, selector: Claimant, tags: AWSMetadataSpec, claimant: Claimant, defaults: Defaults
) -> Demand:
    reference = claimant.name
    period = sync_period.parse_sync_period(
        spec.controllerconfig.syncevery if spec.controllerconfig else None, defaults.period
    )
    if isinstance(period, sync_period.UnparsableDuration):
        raise _NotValid("InvalidSpec", f"spec.controllerconfig.syncevery: {period.message}")
    if tags.deletion_policy == "Remove":
        message = f"{reference} spec.deletionPolicy: Remove is not served yet; leave it out, and the tags stay"
        raise _NotValid("InvalidTags", message, reference)
    classifiers, operations = _classifiers(spec), tuple(_operations(tags, reference))
    if wrong := problems(Cloud.AWS, operations, classifiers, f"{reference} spec"):
        told = "; ".join(f"{each.path}: {each.message}" for each in wrong)
        raise _NotValid("InvalidTags", told, reference)
    wants = merge(Cloud.AWS, operations)
    assert not isinstance(wants, Contradictions), "problems() has told them"
    limit = LimitPolicy(spec.controllerconfig.limit) if spec.controllerconfig else LimitPolicy.STRICT
    present = {key: want.value for key, want in sorted(wants.items()) if want.opcode is not Opcode.DELETE}
    applied = {key: value for key, value in present.items() if value is not None}
    role = tags.role
    place = Place(
        tuple(tags.regions) or defaults.regions, role.arn if role else "", (role.external_id or "") if role else ""
    )
    return Demand(selector, Claim(claimant, wants, limit), classifiers, place, period, applied)


def _classifiers(spec: CloudMetadataSpec) -> Classifiers:
    any_of, all_of, none_of = (
        frozenset(Condition(key, value) for key, value in (tags or {}).items())
        for tags in (spec.found_by, spec.match_all, spec.not_match)
    )
    return Classifiers(any_of, all_of, none_of, kinds=frozenset(spec.kinds))


def _operations(tags: AWSMetadataSpec, reference: str) -> Iterator[Operation]:
    """The spec's own, and those of its list (docs/reference/metadata-compat.md A3, A15, A18)."""
    own = [tags] if tags.resourcetags or tags.tagkeys or not tags.operations else []
    for each in (*own, *tags.operations):
        opcode = parse_opcode(each.opcode)
        if isinstance(opcode, UnknownOpcode):
            raise _NotValid("InvalidTags", f"{reference} spec.opcode: {opcode.message}", reference)
        if each.tagkeys and opcode is not Opcode.DELETE:
            message = f"{reference} spec.tagkeys: keys without values can only be deleted, and the opcode is {opcode}"
            raise _NotValid("InvalidTags", message, reference)
        yield operation(opcode, each.resourcetags or {}, each.tagkeys)
