"""What every account does alike: the tools of each object, behind a port of its own, and what is told to the audit."""

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
    """One account (accounts.CloudAccount) behind one port, shared by all objects that are served in it."""

    def __init__(self, port: Port, clock: Clock, audit: Audit | None, intervals: Intervals | None) -> None:
        self.port = port
        self._clock = clock
        self._audit = audit or NoAudit()
        self._intervals = intervals or Intervals()
        self._deps: dict[tuple[str, str], EngineDeps] = {}

    @property
    @abstractmethod
    def name(self) -> str:
        """That of the cloud, for messages."""

    @abstractmethod
    async def account(self) -> str:
        """The id of the account that the credentials are of. Raises CloudError."""

    @abstractmethod
    def _behind(self, port: Port, ring: KeyRing, uuid: str = "") -> EngineDeps:
        """The engine's dependencies, sending through ``port``; ``uuid``: for this owner only."""

    def deps(self, subject: str, ring: KeyRing, uuid: str) -> EngineDeps:
        """The engine's tools for one object with this uuid; what it changes is audited under ``subject``."""
        key = (subject, uuid)
        if key not in self._deps:  # drivers remember what saves calls, such as where a subnet lives
            flags = PassFlags()
            audited = ObjectPort(self.port, subject, self._audit, flags)
            fenced = FencedPort(audited, self._clock, self._intervals.fence)
            self._deps[key] = replace(self._behind(fenced, ring, uuid), flags=flags)
        if self._deps[key].ring != ring:
            self._deps[key] = replace(self._deps[key], ring=ring)
        return self._deps[key]

    def read_only_deps(self, ring: KeyRing) -> EngineDeps:
        """Tools that send no write, the drivers' neither: for plans, and for objects that must not change."""
        return replace(self._behind(ReadOnlyPort(self.port), ring), durations=Durations(self._clock), lists=None)

    def survey(self, subject: str, cluster: str) -> Survey | None:
        """None: nothing is collected here."""
        return None

    def read_only_survey(self, cluster: str) -> Survey | None:
        """None: nothing is collected here."""
        return None

    @abstractmethod
    def look_anew(self) -> None:
        """What was asked of the account before counts no more."""

    def left(self, subject: str, resource: str, why: str) -> None:
        """The object goes, and this resource stays."""
        self._audit.kept(subject, resource, why)

    def collected(self, subject: str, summary: str) -> None:
        """What the workloads of a cluster made was collected with it."""
        self._audit.collected(subject, summary)

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """A person's decision about a resource was acted on, or refused."""
        self._audit.decided(subject, what, by, done=done, why=why)

    def forget(self, subject: str) -> None:
        """The object is gone."""
        for key in [key for key in self._deps if key[0] == subject]:
            del self._deps[key]
            self._forget_owner(key[1])

    @abstractmethod
    def _forget_owner(self, uuid: str) -> None:
        """Close what was kept for this owner alone."""
