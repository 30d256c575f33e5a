"""A row of the table of kinds (kind_facts): how AWS's API makes, reads, changes and deletes one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Workflow(Enum):
    """How a kind is created so that no crash leaves an orphan (docs/reference/requirements.md W17 to W22)."""

    TAGS_ON_CREATE = "tags in the create call"
    TOKEN_THEN_TAGS = "client token, tags by a second call"  # noqa: S105 - the name of a mechanism
    THEN_TAGS = "tags by a second call, no client token"
    TOKEN = "client token, no tags"  # noqa: S105 - the name of a mechanism
    NEITHER = "neither tags nor client token"


@dataclass(frozen=True)
class PartFacts:
    """A part of a resource, without tags or token: a read of its parent finds it by its natural key.

    ``service`` is botocore's name of the service of its operations, empty where that is the resource's own; then
    ``read`` is the operation that finds it.
    """

    name: str
    natural_key: str
    add: str
    remove: str
    change: str = ""
    service: str = ""
    read: str = ""

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(operation for operation in (self.add, self.remove, self.change) if operation)


@dataclass(frozen=True)
class KindFacts:
    """One kind.

    ``service`` is botocore's name, ``deleted_by`` the member of the delete request that has the id; ``named_by`` has,
    where that takes no id, the members with the attributes that name the resource. ``arn_type`` is the
    resource type in its ARN, ``indexed_as`` that in the tag API's filters, empty where GetResources never lists it.
    ``tags_in`` and ``token_in`` are members of the create request; ``tag_type`` is the type in TagSpecifications.
    ``natural_key``: what makes a second create of the same fail, or answer with the first. ``mutable`` maps attributes
    of the create to the operation by which we change them, ``by_person`` to one that we do not use: a person can change
    them. ``immutable`` are those that nobody can change. ``reads`` and ``writes`` are the others. ``create_time`` and
    ``delete_time``: usual seconds until it is ready, and until it has gone with all that it leaves behind.
    """

    name: str
    service: str
    create: str
    describe: str
    delete: str
    deleted_by: str
    arn_type: str
    indexed_as: str
    tags_in: str = "TagSpecifications"
    tag_type: str = ""
    token_in: str = ""
    natural_key: str = ""
    mutable: Mapping[str, str] = field(default_factory=dict)
    by_person: Mapping[str, str] = field(default_factory=dict)
    immutable: tuple[str, ...] = ()
    parts: tuple[PartFacts, ...] = ()
    reads: tuple[str, ...] = ()
    named_by: Mapping[str, str] = field(default_factory=dict)
    writes: tuple[str, ...] = ()
    create_time: float = 5.0
    delete_time: float = 5.0

    @property
    def workflow(self) -> Workflow:
        match bool(self.tags_in), bool(self.token_in), bool(self.indexed_as):
            case True, _, _:
                return Workflow.TAGS_ON_CREATE
            case False, True, True:
                return Workflow.TOKEN_THEN_TAGS
            case False, False, True:
                return Workflow.THEN_TAGS
            case False, True, False:
                return Workflow.TOKEN
        return Workflow.NEITHER

    @property
    def delete_members(self) -> Mapping[str, str]:
        """Members of the delete request, each with the attribute that it takes."""
        return self.named_by or {self.deleted_by: "id"}

    @property
    def read_operations(self) -> frozenset[str]:
        return frozenset({self.describe, *self.reads})

    @property
    def write_operations(self) -> frozenset[str]:
        parts = (operation for part in self.parts if not part.service for operation in part.operations)
        return frozenset({self.create, self.delete, *self.mutable.values(), *self.writes, *parts})

    @property
    def part_reads(self) -> frozenset[tuple[str, str]]:
        """Reads of parts at other services, each with its service."""
        return frozenset((part.service, part.read) for part in self.parts if part.service)

    @property
    def part_writes(self) -> frozenset[tuple[str, str]]:
        """Writes of parts at other services, each with its service."""
        return frozenset((part.service, name) for part in self.parts if part.service for name in part.operations)

    @property
    def sent_writes(self) -> frozenset[str]:
        """Writes that a served object can cause."""
        return self.write_operations - NOT_SENT.keys()


NOT_SENT: Mapping[str, str] = {
    "PutObject": "machines are not served, whose bootstrap data are in the bucket",
    "DeleteObject": "machines are not served, whose bootstrap data are in the bucket",
    "PutBucketLifecycleConfiguration": "machines are not served, whose bootstrap data are in the bucket",
    "DeleteBucketLifecycle": "machines are not served, whose bootstrap data are in the bucket",
    "DeleteBucketPolicy": "a bucket of ours always has a policy",
    "AuthorizeSecurityGroupEgress": "no field of the spec asks for rules of what goes out",
}
"""Writes that drivers have and no served object causes, with the reason: no policy allows them."""
