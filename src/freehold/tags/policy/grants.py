"""Whether a namespace may do what its ``CloudMetadata`` asks for: the stored ``MetadataGrant`` objects. Pure.

As NetworkPolicies: while there is none, every namespace may do what the operator may; from the first one on, only what
one names (docs/reference/metadata-compat.md#grants). A grant that was withdrawn stops writes, and removes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.api.metadata_grant import MetadataGrantSpec
from freehold.api.parse import InvalidObject, parse
from freehold.tags.policy.classifiers import TagCondition
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.references import Reference, Refused
from freehold.tags.policy.tag_request import TagRequest

ADVICE = "ask who may make MetadataGrant objects for one that names it"


@dataclass(frozen=True)
class Grant:
    name: str
    spec: MetadataGrantSpec

    def allows_classifier(self, condition: TagCondition) -> bool:
        listed = self.spec.classifiers
        return not listed or any(each.key == condition.key and each.value in (None, condition.value) for each in listed)

    def spell_keys(self, cloud: TagDialect) -> Grant:
        """With its keys as the cloud spells them: IBM Cloud knows no case in tags."""
        keys = tuple(cloud.canonical(each) for each in self.spec.keys)
        return Grant(self.name, self.spec.model_copy(update={"keys": keys}))

    def allows_key(self, key: str) -> bool:
        return not self.spec.keys or any(_fits(each, key) for each in self.spec.keys)

    def allows_account(self, account: str) -> bool:
        """Empty: it is not known yet."""
        return not account or not self.spec.accounts or account in self.spec.accounts


@dataclass(frozen=True)
class Grants:
    """All that are stored. ``unreadable`` ones grant nothing, and count as grants."""

    readable: tuple[Grant, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def are_none(self) -> bool:
        return not self.readable and not self.unreadable

    def list_for_namespace(self, namespace: str) -> Sequence[Grant]:
        return [each for each in self.readable if namespace in each.spec.namespaces]


@dataclass(frozen=True)
class GrantedTo:
    """What the grants of one namespace allow on resources of one account; ``None`` as grants: there are none at all."""

    grants: tuple[Grant, ...] | None = None

    def allows_key(self, key: str) -> bool:
        return self.grants is None or any(each.allows_key(key) for each in self.grants)

    @property
    def message(self) -> str:
        """By whom; empty where there are no grants at all."""
        if self.grants is None:
            return ""
        return f"granted by {', '.join(each.name for each in self.grants)}"


def grants_of(stored: Iterable[Mapping[str, Any]]) -> Grants:
    """From MetadataGrant objects."""
    readable: list[Grant] = []
    unreadable: list[str] = []
    for raw in sorted(stored, key=lambda each: str(each["metadata"]["name"])):
        name = f"MetadataGrant {raw['metadata']['name']}"
        try:
            readable.append(Grant(name, parse(MetadataGrantSpec, raw.get("spec"), at="spec")))
        except InvalidObject:
            unreadable.append(name)
    return Grants(tuple(readable), tuple(unreadable))


def refusal_of_reference(grants: Grants, namespace: str, reference: Reference) -> Refused | None:
    """Of one into another namespace, which is refused also while there are no grants: it would use others' tags."""
    if reference.namespace == namespace:
        return None
    if any(reference.namespace in each.spec.references for each in grants.list_for_namespace(namespace)):
        return None
    message = (
        f"{reference} is in another namespace: make one in the namespace {namespace}, or have a MetadataGrant for "
        f"{namespace} that names {reference.namespace} in spec.references"
    )
    return Refused("ReferenceNotGranted", message)


def check_grants(
    grants: Grants, namespace: str, request: TagRequest, accounts: Collection[str] = ()
) -> GrantedTo | Refused:
    """In each account, one grant allows each classifier with each key. ``accounts``: those that are known by now."""
    if grants.are_none:
        return GrantedTo()
    mine = tuple(each.spell_keys(request.place.cloud) for each in grants.list_for_namespace(namespace))
    if not mine:
        return Refused("NotGranted", f"no MetadataGrant names the namespace {namespace}: {ADVICE}")
    for account in sorted(accounts) or [request.place.account]:
        if missing := next(_missing(mine, request, account), None):
            where = f" in the account {account}" if account else ""
            return Refused(
                "NotGranted", f"no MetadataGrant allows the namespace {namespace} {missing}{where}: {ADVICE}"
            )
    return GrantedTo(tuple(each for each in mine if all(map(each.allows_account, accounts))) or mine)


def check_removal_grant(
    grants: Grants, namespace: str, accounts: Collection[str], cloud: TagDialect
) -> GrantedTo | Refused:
    """Whether what was written for an object of ``namespace`` may go with it: by keys, whatever the classifiers."""
    if grants.are_none:
        return GrantedTo()
    mine = [
        each.spell_keys(cloud)
        for each in grants.list_for_namespace(namespace)
        if all(map(each.allows_account, accounts))
    ]
    if mine:
        return GrantedTo(tuple(mine))
    return Refused("NotGranted", f"no MetadataGrant allows the namespace {namespace} to remove these tags: {ADVICE}")


def _missing(grants: Sequence[Grant], request: TagRequest, account: str) -> Iterator[str]:
    there = [each for each in grants if each.allows_account(account)]
    if not there:
        yield "anything"
    for condition in sorted(request.classifiers.any_of):
        by = [each for each in there if each.allows_classifier(condition)]
        if not by:
            yield f"the classifier {condition.key!r}: {condition.value!r}"
        for key in sorted(request.claim.wants):
            if not any(each.allows_key(key) for each in by):
                yield f"the tag {key!r} on resources with {condition.key!r}: {condition.value!r}"


def _fits(pattern: str, key: str) -> bool:
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern
