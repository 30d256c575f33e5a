"""What an act of the story is about: one cluster, on one simulated cloud. The steps are the same for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from freehold.cli.objects import manifests
from freehold.cli.objects.following import Followed
from freehold.demo import checks
from freehold.demo.world import CloudResource, World


@dataclass(frozen=True)
class LostReply:
    """The create whose reply is lost, the kind of what it makes, and why that is a dangerous moment."""

    operation: str
    kind: str
    told: str


@dataclass(frozen=True)
class Damage:
    """What somebody did behind our back. ``mended`` asks the cloud; None: that is not ours to mend."""

    told: str
    mended: Callable[[], Awaitable[bool]] | None = None


class Act(ABC):
    """``before`` is what strangers have, as it must stay; ``followed`` are the objects of ours."""

    title: str
    cloud: checks.CheckedCloud
    lost: LostReply
    healed: str
    """The claim, once all that can be mended is."""

    def __init__(
        self, world: World, documents: Sequence[manifests.ManifestDocument], cluster: manifests.ManifestDocument
    ) -> None:
        self.world = world
        self.documents = documents
        self.cluster = cluster
        self.before: list[CloudResource] = []
        self.followed: list[Followed] = []

    @abstractmethod
    async def strangers_arrive(self) -> None:
        """Before anything else: tempting names beside ours."""

    @abstractmethod
    async def endpoint(self, host: str) -> str:
        """Return what ``host``, the object's endpoint, leads to. Raises NotSo."""

    @abstractmethod
    async def meddle(self, there: Sequence[CloudResource]) -> Sequence[Damage]:
        """Do damage behind our back, to ours among what is there."""

    async def check_untouched(self) -> str:
        return checks.check_untouched(self.before, await self.world.resources())
