"""Connections of one process to the clouds: one for each provider."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from freehold.api.feature_gates import FeatureGate, FeatureGates
from freehold.api.served import ServedName
from freehold.controllers.leadership.fence import LeaseFence
from freehold.controllers.leadership.interface import ALWAYS_LEADS, Leadership
from freehold.controllers.settings import Settings
from freehold.providers.access.accounts import KnownAccounts
from freehold.providers.access.audit import Audit
from freehold.providers.access.limits import Limits
from freehold.providers.base import CloudAccess, CloudConnection, ConnectionContext, ObjectReader
from freehold.providers.registry import PROVIDERS, object_kind_of, provider_of

Connections = Mapping[str, CloudConnection]
"""Connections by provider name."""


def open_connections(
    settings: Settings,
    client: ObjectReader,
    stack: ExitStack,
    audit: Audit,
    leadership: Leadership = ALWAYS_LEADS,
) -> Connections:
    """Connect to the clouds. Their resources are closed with ``stack``."""

    def new_limits() -> Limits:
        limits = settings.new_limits()
        limits.share = leadership.held_share
        return limits

    shared = ConnectionContext(
        client,
        settings.own_namespace,
        settings.clock,
        audit,
        settings.intervals,
        new_limits,
        lambda port: settings.observers.wrap_port(LeaseFence(port, leadership)),
        stack,
        settings.gates,
        settings.gc_selector,
    )
    return connect(settings.access, shared)


def connect(access: Mapping[str, CloudAccess], shared: ConnectionContext) -> Connections:
    """Connect to every provider; one without an entry in ``access`` has no credentials of its own."""
    found = {provider.name: access.get(provider.name) or provider.access({}, "") for provider in PROVIDERS}
    return {name: each.connect(shared) for name, each in found.items()}


def find_accounts(connections: Connections, served: ServedName) -> KnownAccounts:
    """Return the accounts of the objects of one kind."""
    return connections[provider_of(served).name].find_accounts(object_kind_of(served))


def collects_new_objects(served: ServedName, gates: FeatureGates) -> bool:
    """Return whether garbage collection is on for new objects of this kind."""
    return served.collectable and FeatureGate.EXTERNAL_RESOURCE_GC in gates
