"""Settings of one operator, parsed from options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.collection.selector import Selector
from freehold.controllers.keyring import secret as keyring_secret
from freehold.controllers.observers import NO_OBSERVERS, Observers
from freehold.controllers.watch_filter import NO_FILTER, WatchFilter
from freehold.engine.clock import SystemClock
from freehold.engine.interface import Intervals
from freehold.kube.config import Connection
from freehold.providers.access.limits import Limits
from freehold.providers.base import CloudAccess
from freehold.providers.registry import EVERYTHING, Kinds
from freehold.tags import ledger_store
from freehold.tags.policy.configuration import Configuration


@dataclass(frozen=True)
class RingSecret:
    """The Secret that holds the key ring of a cluster."""

    namespace: str = keyring_secret.NAMESPACE
    name: str = keyring_secret.NAME


@dataclass(frozen=True)
class Settings:
    """The settings of one operator, parsed from options. ``keys`` is the place of the key ring, a file or a Secret.

    ``access`` has provider names as keys. ``new_limits`` makes the request limits of one account. ``leader_elect``:
    other processes may serve the same objects, and of all of them only one acts on an object (ADR 28). ``shards``: the
    number of parts into which the objects are divided for that.
    """

    kube: Connection
    access: Mapping[str, CloudAccess]
    cluster_api: str = "auto"
    namespace: str | None = None
    workers: int = 80
    clock: SystemClock = field(default_factory=SystemClock)
    audit: Path | None = None
    intervals: Intervals = field(default_factory=Intervals)
    new_limits: Callable[[], Limits] = Limits
    keys: Path | RingSecret = field(default_factory=RingSecret)
    gates: FeatureGates = DEFAULT_GATES
    gc_selector: Selector | None = None
    observers: Observers = NO_OBSERVERS
    metadata: Configuration = field(default_factory=Configuration)
    leader_elect: bool = False
    kinds: Kinds = EVERYTHING
    watch_filter: WatchFilter = NO_FILTER
    shards: int = 1

    @property
    def own_namespace(self) -> str:
        """The namespace of the operator's Secrets."""
        return self.keys.namespace if isinstance(self.keys, RingSecret) else RingSecret().namespace

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions of metadata objects that name none."""
        return tuple(region for each in self.access.values() for region in each.regions)

    @property
    def ledger_name(self) -> str:
        """The name of the ledger of written tags; operators with different rings in one namespace share none."""
        own = isinstance(self.keys, RingSecret) and self.keys.name != keyring_secret.NAME
        return f"{self.keys.name}-tags" if own else ledger_store.NAME
