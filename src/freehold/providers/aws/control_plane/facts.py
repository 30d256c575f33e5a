"""The questions that a control plane asks of AWS, and the answers: values only, so that the decision stays pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere


@dataclass(frozen=True)
class ControlPlaneQuestions:
    """The open questions of one control plane; an empty one is not asked.

    ``profiles``: the names of instance profiles whose roles are asked for. ``role``: the name of a role, without its
    path. ``addons``: the names of addons whose versions are asked for, for Kubernetes ``version`` (``1.33``). ``key``:
    the ARN of a KMS key or of an alias.
    """

    profiles: frozenset[str] = frozenset()
    role: str = ""
    addons: frozenset[str] = frozenset()
    version: str = ""
    key: str = ""


@dataclass(frozen=True)
class AddonVersions:
    """The versions of an addon that fit the cluster, the newest first. ``default`` is what EKS takes if none is named,
    empty where it says none."""

    versions: tuple[str, ...]
    default: str = ""


@dataclass(frozen=True)
class EncryptionKey:
    """A KMS key. ``problem``: why EKS cannot encrypt Secrets with it, for a person; empty where it can."""

    arn: str
    problem: str = ""


RoleAnswer = Answer[str] | NotThere | NoAnswer
"""The ARN of a role."""
AddonAnswer = Answer[AddonVersions] | NotThere | NoAnswer
"""The versions of an addon; ``NotThere.known`` are the names of the addons that there are."""


@dataclass(frozen=True)
class ControlPlaneFacts:
    """The answers; None, or no entry, where the question was not asked.

    ``node_roles``: the role of each instance profile, NotThere where there is no such profile or it has no role.
    ``role_arn``: NotThere where the account has no role of this name. ``key``: NotThere where there is no such key.
    """

    node_roles: Mapping[str, RoleAnswer] = field(default_factory=dict)
    role_arn: RoleAnswer | None = None
    addon_versions: Mapping[str, AddonAnswer] = field(default_factory=dict)
    key: Answer[EncryptionKey] | NotThere | NoAnswer | None = None


class ControlPlaneFactsReader(Protocol):
    """A source of answers. It never raises CloudError: what could not be asked is NoAnswer."""

    async def read(self, questions: ControlPlaneQuestions) -> ControlPlaneFacts: ...
