"""Which providers' objects a ``CloudMetadata`` refers to, and such an object as it is stored. Pure.

Source: docs/reference/metadata-compat.md A2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from freehold.api.metadata import CloudMetadataSpec, CloudProviders
from freehold.api.parse import InvalidObject, parse
from freehold.tags.dialects import DIALECTS, PROVIDER_NAMES
from freehold.tags.policy.dialect import TagDialect

Json = Mapping[str, Any]


class Reference(NamedTuple):
    """A provider's object."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True)
class ProviderObject:
    """A provider's object as it is stored; what a list shows of it does not say its kind."""

    kind: str
    raw: Json

    @property
    def reference(self) -> Reference:
        metadata = self.raw["metadata"]
        return Reference(self.kind, str(metadata.get("namespace", "")), str(metadata["name"]))

    @property
    def cloud(self) -> TagDialect:
        return DIALECTS[self.kind]

    @property
    def is_going(self) -> bool:
        return "deletionTimestamp" in self.raw["metadata"]

    @property
    def finalizers(self) -> list[str]:
        return list(self.raw["metadata"].get("finalizers") or ())

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.raw["metadata"].get("annotations") or {}


@dataclass(frozen=True)
class Refused:
    """Nothing is done and no cloud is called until somebody changes something.

    ``of_tags`` names the provider's object where the reason is in it.
    """

    reason: str
    message: str
    of_tags: str = ""


class NotValid(Exception):
    """Carries a Refused."""

    def __init__(self, reason: str, message: str, of_tags: str = "") -> None:
        super().__init__(message)
        self.refused = Refused(reason, message, of_tags)


def spec_of(cloud: Json) -> CloudMetadataSpec:
    """Parse the spec. Raises NotValid."""
    try:
        return parse(CloudMetadataSpec, cloud.get("spec"), at="spec")
    except InvalidObject as problem:
        raise NotValid("InvalidSpec", str(problem)) from None


def references_of(cloud: Json) -> tuple[Reference, ...] | Refused:
    """List the providers' objects that ``cloud`` refers to, each once, in the order of the spec."""
    try:
        found = tuple(dict.fromkeys(_references(cloud)))
    except NotValid as problem:
        return problem.refused
    if found:
        return found
    kind, provider = min(PROVIDER_NAMES.items())
    message = f"there is no provider, so nothing is done: name an {kind} in spec.cloudprovider.{provider}ref"
    return Refused("NoProvider", message)


def refers_to(cloud: Json, reference: Reference) -> bool:
    found = references_of(cloud)
    return not isinstance(found, Refused) and reference in found


def _references(cloud: Json) -> Iterator[Reference]:
    providers = spec_of(cloud).cloudprovider or CloudProviders()
    own = str(cloud["metadata"].get("namespace", ""))
    named = [(kind, providers.reference(provider)) for kind, provider in PROVIDER_NAMES.items()]
    for kind, each in (*named, *((each.kind, each) for each in providers.refs)):
        if each is not None:
            yield Reference(kind, each.namespace or own, each.name)
