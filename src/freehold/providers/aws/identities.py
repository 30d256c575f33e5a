"""Identities that call AWS: the three kinds that Cluster API's AWS provider knows.

https://cluster-api-aws.sigs.k8s.io/topics/multitenancy
"""

from __future__ import annotations

from dataclasses import dataclass, field

SESSION_NAME = "freehold"


@dataclass(frozen=True)
class StaticKeys:
    """An access key; ``origin`` says where it came from, for messages (``Secret capa-system/team-a``)."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)
    origin: str = "the access key"


@dataclass(frozen=True)
class OwnCredentials:
    """The credentials of this process: environment, shared configuration, web identity, container or instance role.

    https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
    """

    origin: str = "the operator's own AWS credentials"


@dataclass(frozen=True)
class AssumedRole:
    """A role that ``source`` assumes through STS. ``policy`` narrows the session: JSON, for this session only.

    https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
    """

    arn: str
    source: Identity
    external_id: str = field(default="", repr=False)
    session_name: str = SESSION_NAME
    seconds: int = 3600
    policy: str = ""
    policy_arns: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        return f"the role {self.arn}{', narrowed by a session policy' if self.policy else ''}"


Identity = StaticKeys | OwnCredentials | AssumedRole
