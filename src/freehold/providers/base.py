"""Provider: one value that describes a cloud. ``providers/registry.py`` lists all.

Nothing outside ``providers`` names a cloud: the controllers, the CLI and the generated files ask the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.api.placeholders import Placeholder
from freehold.api.served import ServedName

if TYPE_CHECKING:
    from freehold.api.base import ApiModel
    from freehold.api.served_kind import ServedKind
    from freehold.collection.selector import Selector
    from freehold.engine.clock import Clock
    from freehold.engine.interface import Intervals
    from freehold.engine.journal import Entry
    from freehold.engine.port import Port
    from freehold.engine.resources import NodeKey
    from freehold.kube.object_client import ObjectList
    from freehold.kube.resources import Json, Key, Resource
    from freehold.providers.access.accounts import KnownAccounts
    from freehold.providers.access.audit import Audit
    from freehold.providers.access.limits import Limits
    from freehold.providers.objects.adapter import Adapter, StatusUpdate
    from freehold.tags.policy.dialect import TagDialect
    from freehold.tags.tag_endpoint import TagAccounts


class ObjectReader(Protocol):
    """A reader of the API server, for example of the Secret of an identity."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList: ...


@dataclass(frozen=True)
class ConnectionContext:
    """The context that the connections of one process share.

    ``namespace`` is the operator's own, which has the Secrets of identities. ``wrap`` wraps the port that sends each
    request. ``gc_selector`` selects the clusters that are collected; None for all. A connection registers what must be
    closed on ``stack``.
    """

    reader: ObjectReader
    namespace: str
    clock: Clock
    audit: Audit
    intervals: Intervals
    new_limits: Callable[[], Limits]
    wrap: Callable[[Port], Port]
    stack: ExitStack
    gates: FeatureGates = DEFAULT_GATES
    gc_selector: Selector | None = None


class CloudConnection(Protocol):
    """The connection of one process to one cloud."""

    def find_accounts(self, kind: ObjectKind) -> KnownAccounts:
        """Return the accounts of the objects of one kind of this provider."""
        ...

    def tag_accounts(self, clock: Clock) -> TagAccounts:
        """Return where the tags of metadata objects are."""
        ...


class CloudAccess(Protocol):
    """The access to one cloud, from the options and environment of the process.

    ``regions`` are those of metadata objects that name none, and those searched for lost objects. ``has_own``: the
    process has credentials of its own for the cloud.
    """

    @property
    def regions(self) -> tuple[str, ...]: ...

    @property
    def has_own(self) -> bool: ...

    def connect(self, shared: ConnectionContext) -> CloudConnection: ...


AccessOf = Callable[[Mapping[str, str], str], CloudAccess]
"""Builds the access from an environment and the URL of a simulated cloud, empty for the real one."""


ClusterName = Callable[[Mapping[str, Any], "Mapping[NodeKey, Entry]"], str]
"""Finds the cluster name in the names of an object's resources, from the object and its journal's entries."""


def _refuse_cluster_name(raw: Mapping[str, Any], entries: Mapping[NodeKey, Entry]) -> str:
    """Name no cluster: the kind is not once in an account."""
    raise NotImplementedError(f"{raw['kind']} has no name of which an account can have one cluster")


def _no_types() -> tuple[ServedKind, ...]:
    """Give none: the provider has neither tags nor kinds that are only referred to."""
    return ()


def _none_told(simulator: str) -> Sequence[str]:
    """Say nothing."""
    return ()


@dataclass(frozen=True)
class ObjectKind:
    """One kind of object that is reconciled; all of it is in one folder of its provider.

    ``describe`` gives its model and columns, which are slow to import. ``adapt`` gives what serves an object in an
    account of the provider. ``cluster_name`` serves a kind that is once in an account. ``own`` are the kinds of
    resources that only its objects have; the first kind of a provider needs none. ``adapt_unasked`` gives the same
    adapter without an account: no question has an answer, so that what it refuses is wrong in the object itself; None
    where nothing is checked when an object is applied. ``secret_verbs`` are what is done with
    Secrets in the namespace of an object, in the words of RBAC.
    """

    served: ServedName
    describe: Callable[[], ServedKind]
    adapt: Callable[[Any, ConnectionContext], Adapter]
    cluster_name: ClusterName = _refuse_cluster_name
    own: frozenset[str] = frozenset()
    secret_verbs: tuple[str, ...] = ()
    adapt_unasked: Callable[[FeatureGates, Selector | None], Adapter] | None = None


@dataclass(frozen=True)
class MirrorSource:
    """The object that another one mirrors, raw; without it ``missing`` says why. ``name`` is for people."""

    name: str = ""
    found: Mapping[str, Any] | None = None
    missing: str = ""


BuildMirror = Callable[[Mapping[str, Any], MirrorSource, datetime], "StatusUpdate"]
"""Builds what is written to a mirror, from itself and its source. Pure."""


@dataclass(frozen=True)
class MirrorKind:
    """A kind without resources of its own: its objects show what the ``source`` of the same Cluster has.

    The Cluster names both, each in the field of its link. ``describe`` gives its model and columns, and ``build`` what
    is written; both are slow to import.
    """

    served: ServedName
    source: ServedName
    describe: Callable[[], ServedKind]
    build: Callable[[], BuildMirror]


@dataclass(frozen=True)
class TagKind:
    """The object with one provider's tags: its names, its spec, and how the cloud spells and limits tags.

    ``spec`` and ``dialect`` are slow to import.
    """

    served: ServedName
    spec: Callable[[], type[ApiModel]]
    dialect: Callable[[], TagDialect]


@dataclass(frozen=True)
class Provider:
    """A cloud.

    ``objects`` are the kinds that are reconciled, ``mirrors`` those that only show what another object has,
    ``referred`` those that are only read where an object names one, ``searched`` those of them that are also listed,
    ``templates`` those of which Cluster API makes objects: they have a CRD, and nothing here reads them,
    ``tags`` the metadata controller's kind for this cloud; None where it writes no tags there. ``placeholders`` are
    kinds in upstream's templates that are stored and not served; ``upstream`` is the label of the provider that serves
    the same kinds. ``identity_secrets``: objects of ``referred`` name Secrets in the operator's namespace. ``types``
    gives the kinds of ``referred`` and ``tags`` with their models and columns.

    ``has_credentials`` looks for credentials in an environment without asking anybody. A person sets ``variable``,
    which ``how`` explains; ``without`` says what happens where there are none. The values of ``secrets`` are shown
    nowhere. ``example`` is the path of a manifest. ``other_clients`` tells how others than Freehold reach the simulated
    cloud at a URL, in lines for people.
    """

    name: str
    title: str
    objects: tuple[ObjectKind, ...]
    access: AccessOf
    has_credentials: Callable[[Mapping[str, str]], bool]
    variable: str
    how: str
    without: str
    types: Callable[[], tuple[ServedKind, ...]] = _no_types
    tags: TagKind | None = None
    mirrors: tuple[MirrorKind, ...] = ()
    referred: tuple[ServedName, ...] = ()
    searched: tuple[ServedName, ...] = ()
    templates: tuple[ServedName, ...] = ()
    secrets: tuple[str, ...] = ()
    placeholders: tuple[Placeholder, ...] = ()
    upstream: str = ""
    identity_secrets: bool = False
    example: str = ""
    other_clients: Callable[[str], Sequence[str]] = _none_told
