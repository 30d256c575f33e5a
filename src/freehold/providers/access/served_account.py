"""Base of all accounts: the engine's dependencies of each object, behind a port of its own, and the audit log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from freehold.collection.survey import Survey
from freehold.engine.clock import Clock
from freehold.engine.durations import Durations
from freehold.engine.interface import EngineDeps, Intervals
from freehold.engine.keys import KeyRing
from freehold.engine.port import FencedPort, PassFlags, Port, ReadOnlyPort
from freehold.providers.access.audit import Audit, NoAudit
from freehold.providers.access.ports import ObjectPort


class ServedAccount(ABC):
    """An account (accounts.CloudAccount) behind one port, shared by all objects that are served in it."""

    def __init__(self, port: Port, clock: Clock, audit: Audit | None, intervals: Intervals | None) -> None:
        self.port = port
        self._clock = clock
        self._audit = audit or NoAudit()
        self._intervals = intervals or Intervals()
        self._deps: dict[tuple[str, str], EngineDeps] = {}

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the cloud, for messages."""

    @abstractmethod
    async def read_account(self) -> str:
        """Read the id of the account that the credentials belong to. Raises CloudError."""

    @abstractmethod
    def _build_deps_behind(self, port: Port, ring: KeyRing, uuid: str = "") -> EngineDeps:
        """Build the engine's dependencies, sending through ``port``; ``uuid``: for this owner only."""

    def build_deps(self, subject: str, ring: KeyRing, uuid: str) -> EngineDeps:
        """Return the engine's dependencies for one object with this uuid; its changes are audited under ``subject``."""
        key = (subject, uuid)
        if key not in self._deps:  # drivers remember what saves calls, such as where a subnet lives
            flags = PassFlags()
            audited = ObjectPort(self.port, subject, self._audit, flags)
            fenced = FencedPort(audited, self._clock, self._intervals.fence)
            self._deps[key] = replace(self._build_deps_behind(fenced, ring, uuid), flags=flags)
        if self._deps[key].ring != ring:
            self._deps[key] = replace(self._deps[key], ring=ring)
        return self._deps[key]

    def build_read_only_deps(self, ring: KeyRing) -> EngineDeps:
        """Build dependencies that send no write, for plans, and for objects that must not change."""
        return replace(
            self._build_deps_behind(ReadOnlyPort(self.port), ring), durations=Durations(self._clock), lists=None
        )

    def build_survey(self, subject: str, cluster: str) -> Survey | None:
        """Return None: this cloud collects nothing, unless a subclass does."""
        return None

    def build_read_only_survey(self, cluster: str) -> Survey | None:
        """Return None: this cloud collects nothing, unless a subclass does."""
        return None

    @abstractmethod
    def forget_answers(self) -> None:
        """Forget cached answers about the account."""

    def audit_left(self, subject: str, resource: str, why: str) -> None:
        """Write to the audit log that a deleted object leaves this resource."""
        self._audit.log_kept(subject, resource, why)

    def audit_collected(self, subject: str, summary: str) -> None:
        """Write the summary of a collection to the audit log."""
        self._audit.log_collected(subject, summary)

    def audit_decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """Write to the audit log that a person's decision was acted on, or refused."""
        self._audit.log_decided(subject, what, by, done=done, why=why)

    def forget(self, subject: str) -> None:
        """Forget the dependencies of an object that is gone."""
        for key in [key for key in self._deps if key[0] == subject]:
            del self._deps[key]
            self._forget_owner(key[1])

    @abstractmethod
    def _forget_owner(self, uuid: str) -> None:
        """Close what is kept for this owner alone."""
