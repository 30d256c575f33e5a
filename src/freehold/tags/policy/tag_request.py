"""What a ``CloudMetadata`` and one provider's object ask for together, or why nothing is done. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from freehold.api.metadata import CloudMetadataSpec
from freehold.api.metadata_operations import Operation as TagOperation
from freehold.api.parse import InvalidObject, parse
from freehold.tags.dialects import SPECS
from freehold.tags.policy import sync_period
from freehold.tags.policy.classifiers import Classifiers, TagCondition
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.ledger import ForeignValuePolicy
from freehold.tags.policy.limits import LimitPolicy
from freehold.tags.policy.operations import (
    Contradictions,
    Opcode,
    ParsedOperation,
    UnknownOpcode,
    merge,
    operation,
    parse_opcode,
)
from freehold.tags.policy.precedence import Claim, Claimant
from freehold.tags.policy.references import Json, NotValid, ProviderObject, Reference, Refused, spec_of
from freehold.tags.policy.validation import problems

MOST_TOLD: Final = 5
"""Problems of a spec that its status names; the others are counted."""


@dataclass(frozen=True)
class TagScope:
    """With which account and in which regions.

    ``identity``: kind and name of who calls, empty for the operator's own; ``namespace``: the object that names it is
    there. ``role``: what that one assumes, empty for nothing.
    """

    cloud: TagDialect
    namespace: str
    regions: tuple[str, ...] = ()
    identity: tuple[str, str] = ("", "")
    role: str = ""
    external_id: str = field(default="", repr=False)

    @property
    def account(self) -> str:
        """That of the role; empty where it is not known without a call."""
        return self.role.split(":")[4] if self.role.count(":") >= 5 else ""


class Deletion(StrEnum):
    """What becomes of the tags when the provider's object is deleted."""

    RETAIN = "Retain"
    REMOVE = "Remove"


@dataclass(frozen=True)
class TagRequest:
    """``selector`` is the CloudMetadata that classifies, by age; ``claim`` is the provider object's.

    ``applied``: the tags that the spec wants there. ``period``: seconds between looks. ``accounts``: where it acts,
    empty where that is not known. ``listed``: the active list, as the status had it.
    """

    selector: Claimant
    claim: Claim
    classifiers: Classifiers
    place: TagScope
    period: float
    applied: Mapping[str, str]
    accounts: frozenset[str] = frozenset()
    listed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Defaults:
    """The operator's own regions, and its sync period in seconds: of objects that name none."""

    regions: tuple[str, ...] = ()
    period: float = sync_period.DEFAULT


def parse_request(
    cloud: Json, reference: Reference, provider: ProviderObject | None, writer: str, defaults: Defaults
) -> TagRequest | Refused:
    """Parse both objects. ``provider``: what ``reference`` is; ``writer``: for whom its tags were written."""
    try:
        if provider is None:
            raise NotValid("ReferenceMissing", f"{reference} does not exist: make it, or name another one")
        if provider.is_going:
            raise NotValid("ReferenceDeleted", f"{reference} is being deleted: name another one")
        claimant = Claimant(_read_creation_time(provider.raw), writer, str(reference))
        return _request(spec_of(cloud), selector_of(cloud), provider, claimant, defaults)
    except NotValid as problem:
        return problem.refused


def refuse_cloud(cloud: Json) -> Refused | None:
    """Say what is wrong with a CloudMetadata, whatever it refers to; None if nothing is."""
    try:
        _period(spec_of(cloud), Defaults())
    except NotValid as problem:
        return problem.refused
    return None


def refuse_tags(provider: ProviderObject) -> Refused | None:
    """Say what is wrong with a provider's object, whoever refers to it; None if nothing is."""
    try:
        _checked_operations(provider, _tags_of(provider), None)
    except NotValid as problem:
        return problem.refused
    return None


def selector_of(cloud: Json) -> Claimant:
    """Return the CloudMetadata as a claimant, by age."""
    metadata = cloud["metadata"]
    return Claimant(
        _read_creation_time(cloud), metadata["uid"], f"CloudMetadata {metadata['namespace']}/{metadata['name']}"
    )


def claimant_of(provider: ProviderObject, writer: str) -> Claimant:
    """Return the provider's object as a claimant, by age."""
    return Claimant(_read_creation_time(provider.raw), writer, str(provider.reference))


def deletion_of(provider: ProviderObject) -> Deletion:
    """Also of an object that is not valid otherwise: what was written must be able to go, or to stay."""
    said = (provider.raw.get("spec") or {}).get("deletionPolicy")
    return Deletion.REMOVE if said == Deletion.REMOVE else Deletion.RETAIN


def place_of(provider: ProviderObject, defaults: Defaults) -> TagScope | Refused:
    """Where the resources of an object are."""
    try:
        return _place(_tags_of(provider), provider, defaults)
    except NotValid as problem:
        return problem.refused


def _read_creation_time(raw: Json) -> float:
    return datetime.fromisoformat(str(raw["metadata"]["creationTimestamp"])).timestamp()


def _tags_of(provider: ProviderObject) -> Any:
    try:
        return parse(SPECS[provider.kind], provider.raw.get("spec"), at="spec")
    except InvalidObject as problem:
        name = str(provider.reference)
        raise NotValid("InvalidTags", f"{name}: {problem}", name) from None


def _place(tags: Any, provider: ProviderObject, defaults: Defaults) -> TagScope:
    namespace = provider.reference.namespace
    if not provider.cloud.has_regions:
        return TagScope(provider.cloud, namespace)
    role, identity = tags.role, tags.identity_ref
    return TagScope(
        provider.cloud,
        namespace,
        tuple(tags.regions) or defaults.regions,
        (identity.kind, identity.name) if identity else ("", ""),
        role.arn if role else "",
        (role.external_id or "") if role else "",
    )


def _request(
    spec: CloudMetadataSpec, selector: Claimant, provider: ProviderObject, claimant: Claimant, defaults: Defaults
) -> TagRequest:
    tags = _tags_of(provider)
    config = spec.controllerconfig
    period = _period(spec, defaults)
    classifiers = _classifiers(spec)
    operations = _checked_operations(provider, tags, classifiers)
    wants = merge(provider.cloud, operations)
    assert not isinstance(wants, Contradictions), "problems() has told them"
    limit = LimitPolicy(config.limit) if config else LimitPolicy.STRICT
    foreign = ForeignValuePolicy(config.foreign_values) if config else ForeignValuePolicy.TAKE_OVER
    present = {key: want.value for key, want in sorted(wants.items()) if want.opcode is not Opcode.DELETE}
    applied = {key: value for key, value in present.items() if value is not None}
    whole = any(each.opcode is Opcode.UPDATE for each in operations)
    claim = Claim(claimant, wants, limit, foreign, kept=None if whole else {})
    listed = (provider.raw.get("status") or {}).get("activeTags") or {}
    return TagRequest(selector, claim, classifiers, _place(tags, provider, defaults), period, applied, listed=listed)


def _period(spec: CloudMetadataSpec, defaults: Defaults) -> float:
    config = spec.controllerconfig
    period = sync_period.parse_sync_period(config.syncevery if config else None, defaults.period)
    if not isinstance(period, float):
        raise NotValid("InvalidSpec", f"spec.controllerconfig.syncevery: {period.message}")
    return period


def _checked_operations(
    provider: ProviderObject, tags: Any, classifiers: Classifiers | None
) -> tuple[ParsedOperation, ...]:
    reference = str(provider.reference)
    operations = tuple(_operations(tags, reference))
    if wrong := problems(provider.cloud, operations, classifiers, f"{reference} spec"):
        told = "; ".join(f"{each.path}: {each.message}" for each in wrong[:MOST_TOLD])
        told += f"; and {len(wrong) - MOST_TOLD} more" if len(wrong) > MOST_TOLD else ""
        raise NotValid("InvalidTags", told, reference)
    return operations


def _classifiers(spec: CloudMetadataSpec) -> Classifiers:
    any_of, all_of, none_of = (
        frozenset(TagCondition(key, value) for key, value in (tags or {}).items())
        for tags in (spec.found_by, spec.match_all, spec.not_match)
    )
    narrowed = frozenset(spec.kinds), frozenset(spec.regions), frozenset(spec.accounts)
    return Classifiers(any_of, all_of, none_of, *narrowed)


def _operations(tags: Any, reference: str) -> Iterator[ParsedOperation]:
    """Parse the spec's own operation, and those of its list (docs/reference/metadata-compat.md A3, A15, A18)."""
    given: dict[str, TagOperation] = {}
    if tags.resourcetags or tags.tagkeys or tags.exact_tags or not tags.operations:
        given[""] = tags
    listed: Sequence[TagOperation] = tags.operations
    given |= {f".operations[{number}]": each for number, each in enumerate(listed)}
    for at, each in given.items():
        opcode = parse_opcode(each.opcode)
        if isinstance(opcode, UnknownOpcode):
            raise NotValid("InvalidTags", f"{reference} spec{at}.opcode: {opcode.message}", reference)
        for name, keys in (("tagkeys", each.tagkeys), ("exactTags", each.exact_tags)):
            if keys and opcode is not Opcode.DELETE:
                message = f"{reference} spec{at}.{name}: what is listed here is deleted, and the opcode is {opcode}"
                raise NotValid("InvalidTags", message, reference)
        exact = {tag.key: tag.value for tag in each.exact_tags}
        yield operation(opcode, each.resourcetags or {}, each.tagkeys, exact, at)
