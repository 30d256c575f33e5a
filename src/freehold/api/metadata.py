"""``CloudMetadata`` (metadata-controller.cloud.io/v1alpha1): which resources, how often, and with which providers.

Both spellings of the proposal are accepted (docs/reference/metadata-compat.md A1, A2).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from freehold.api import patterns
from freehold.api.base import ApiModel, ApiRule, Items
from freehold.api.metadata_status import MetadataStatus
from freehold.api.tag_sentences import SHORT_PERIOD, UNPARSABLE_DURATION

GROUP: Final = "metadata-controller.cloud.io"
VERSION: Final = "v1alpha1"

Classifiers = Annotated[dict[str, Annotated[str, Field(max_length=256)]], Field(min_length=1, max_length=50)]
Conditions = Annotated[dict[str, Annotated[str, Field(max_length=256)]], Field(max_length=50)]
Name = Annotated[str, Field(min_length=1, max_length=253)]


class MetadataReference(ApiModel):
    """A provider's object."""

    name: Name
    """Its name."""
    namespace: Annotated[str, Field(max_length=63)] | None = None
    """Its namespace; the object's own where there is none."""


def _are_references_equal(spec: Any) -> bool:
    return spec.awsref is None or spec.awsmetadataref is None or spec.awsref == spec.awsmetadataref


class ProviderReference(MetadataReference):
    """A provider's object, by kind."""

    kind: Literal["AWSMetadata", "IBMMetadata"]
    """Its kind."""


class CloudProviders(ApiModel):
    """References to the objects of each provider; the classifiers hold for all. Without one, nothing is done."""

    RULES = (
        ApiRule(
            # Field by field, because two objects have different types in CEL, where a reserved word has another name.
            "!has(self.awsref) || !has(self.awsmetadataref) || self.awsref.name == self.awsmetadataref.name "
            "&& (has(self.awsref.__namespace__) ? self.awsref.__namespace__ : '') "
            "== (has(self.awsmetadataref.__namespace__) ? self.awsmetadataref.__namespace__ : '')",
            "awsref and awsmetadataref are two spellings of one field and differ; remove awsmetadataref",
            _are_references_equal,
        ),
    )

    awsref: MetadataReference | None = None
    """The AWSMetadata."""
    awsmetadataref: MetadataReference | None = None
    """The AWSMetadata, in the proposal's other spelling."""
    ibmref: MetadataReference | None = None
    """The IBMMetadata."""
    refs: Annotated[Items[ProviderReference], Field(max_length=32)] = ()
    """More of them, as for several accounts of one cloud."""

    def reference(self, provider: str) -> MetadataReference | None:
        """Return the reference to the object of the provider of this name, in either of its spellings."""
        return getattr(self, f"{provider}ref", None) or getattr(self, f"{provider}metadataref", None)


_NAMED = ApiRule(
    "!has(self.classifiers) || self.classifiers.all(key, size(key) >= 1)",
    "a classifier has no key: name the tag by which the resources are found",
    lambda spec: "" not in (spec.classifiers or {}),
    field=".classifiers",
)


class ClassifierSpec(ApiModel):
    """The proposal's other spelling of ``classifiers``."""

    RULES = (_NAMED,)

    classifiers: Classifiers
    """Tags by which the resources are found, joined by OR."""


class ControllerConfig(ApiModel):
    """Options of the controller."""

    RULES = (
        ApiRule(
            f"!has(self.syncevery) || self.syncevery.matches(r'{patterns.DURATION}')",
            UNPARSABLE_DURATION,
            field=".syncevery",
        ),
        ApiRule(
            f"!has(self.syncevery) || !self.syncevery.matches(r'{patterns.DURATION}')"
            " || duration(self.syncevery) >= duration('30s')",
            SHORT_PERIOD,
            field=".syncevery",
        ),
    )

    limit: Literal["POLICY_APPLY_PARTIAL", "POLICY_APPLY_STRICT"] = "POLICY_APPLY_STRICT"
    """The policy for a list that is longer than a resource allows: part of it is applied, or none."""
    syncevery: Annotated[str, Field(max_length=32)] | None = None
    """The period between two checks of the resources, like 10m; at least 30s."""
    foreign_values: Literal["TakeOver", "Skip", "Fail"] = "TakeOver"
    """The policy of update for a value that somebody else set: it is taken over, left alone, or an error."""


def _has_classifiers(spec: Any) -> bool:
    return spec.classifiers is not None or spec.classifier is not None


def _are_classifiers_equal(spec: Any) -> bool:
    return spec.classifiers is None or spec.classifier is None or spec.classifiers == spec.classifier.classifiers


class CloudMetadataSpec(ApiModel):
    """The selection of resources, and how the controller acts on them."""

    RULES = (
        _NAMED,
        ApiRule(
            "has(self.classifiers) || has(self.classifier)",
            "there is no classifier: name at least one tag by which the resources are found",
            _has_classifiers,
        ),
        ApiRule(
            "!has(self.classifiers) || !has(self.classifier) || self.classifiers == self.classifier.classifiers",
            "classifiers and classifier are two spellings of one field and differ; remove classifier",
            _are_classifiers_equal,
        ),
    )

    cloudprovider: CloudProviders | None = None
    """The providers' objects."""
    classifiers: Classifiers | None = None
    """Tags by which the resources are found, joined by OR; read only, no wildcards."""
    classifier: ClassifierSpec | None = None
    """The same in the proposal's other spelling."""
    match_all: Conditions | None = None
    """Tags that each resource must also have."""
    not_match: Conditions | None = None
    """Tags that none of the resources may have."""
    kinds: Annotated[Items[Annotated[str, Field(max_length=128)]], Field(max_length=100)] = ()
    """Only these kinds of resources, like ec2:volume."""
    regions: Annotated[Items[Annotated[str, Field(max_length=32)]], Field(max_length=64)] = ()
    """Only resources of these regions."""
    accounts: Annotated[Items[Annotated[str, Field(max_length=64)]], Field(max_length=100)] = ()
    """Only resources of these accounts."""
    controllerconfig: ControllerConfig | None = None
    """Options of the controller."""

    @property
    def found_by(self) -> dict[str, str]:
        """The classifiers, in whichever spelling."""
        return self.classifiers or (self.classifier.classifiers if self.classifier else {})


class CloudMetadata(ApiModel):
    """Tags of cloud resources, kept as the referenced objects say."""

    spec: CloudMetadataSpec
    """The desired state."""
    status: MetadataStatus | None = None
    """The observed state."""
