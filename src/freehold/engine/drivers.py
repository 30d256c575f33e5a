"""The verbs of a kind, which its driver does in the cloud."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from freehold.engine.errors import CloudError
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Part, Ref, Request, Want


class Driver(Protocol):
    """The verbs of one kind. Idempotent, never waiting, raising only lifecycle errors.

    ``observe`` and ``find`` never write. Every request passes the port the driver was built with.
    """

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create exactly what ``request`` says. Unknown when the effect may have happened."""
        ...

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        """Return the state of each, by id, by a native read; what is missing from the reply is not there."""
        ...

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        """Return everything in the scope of each want with its name or one of its nonces, in any state.

        Of a nameless kind (:attr:`Kind.naming.has_no_name`) only what has one of its nonces.
        """
        ...

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Return everything of this kind, in any state, with one of ``nonces`` in its ``nonce_fields``, wanted or not.

        A kind that is created inside another resource is looked for in each of ``places`` that is such a
        resource, and nowhere else; one that is not, in the whole account. ``places`` are all that exist: one of
        them that is not found raises NotFound, it does not count as empty. ``wants`` are those of this kind
        that today's spec allows to compute: what :meth:`find` finds for them is in the reply too, without
        a second list; and they may name a region that no place names (where neither does, every region is
        asked). Raises CloudError unless every list was read to its end.
        """
        ...

    def identify(self, target: str, carried: str = "") -> str:
        """Return the engine id of a marked resource: from its CRN or ARN, and the id in a carrier's mark.

        Empty when it cannot be told. Needed only when the journal was lost; no I/O.
        """
        ...

    async def update(self, ref: Ref, changes: Request) -> None:
        """Bring mutable attributes (the kind names them) to these values.

        Raises unless the cloud took all of them: what returns counts as done, without another look.
        """
        ...

    async def delete(self, ref: Ref) -> None:
        """Request the deletion; NotFound when it is gone already, InUse when something must go first."""
        ...


class PartsDriver(Protocol):
    """Of kinds that hold parts.

    Each write may be sent again after a lost reply or a stale read: a part that is there already, and one that is gone
    already, are no errors.
    """

    async def parts(self, ref: Ref) -> frozenset[Part]:
        """Read what is inside. Not asked of a resource whose own read shows its parts (:attr:`Observed.parts`)."""
        ...

    async def add_part(self, ref: Ref, part: Part) -> None: ...

    async def remove_part(self, ref: Ref, part: Part) -> None: ...


class PartFinder(Protocol):
    """The finder of parts that are in resources of others and that no read of their own kind lists: registrations."""

    async def find_parts(self, ref: Ref, parts: Collection[Part]) -> frozenset[Part]:
        """Return which of these are there, each with its ``id`` and with why it waits. Raises CloudError."""
        ...

    async def find_draining(self, ref: Ref, parts: Collection[Part]) -> frozenset[Part]:
        """Return which of these, which were taken out, still serve what had begun before. Raises CloudError."""
        ...


class PartBatches(Protocol):
    """Of kinds that take all parts of one sort in one call."""

    async def add_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        """Add each as :meth:`PartsDriver.add_part` does: those that are there already do not keep the others out."""
        ...

    async def remove_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        """Remove each as :meth:`PartsDriver.remove_part` does: those that are gone do not keep others in."""
        ...


class PartChanger(Protocol):
    """Of kinds whose parts are changed in place."""

    async def change_part(self, ref: Ref, part: Part) -> None:
        """Let the part of this natural key do what ``part.behavior`` and ``part.request`` say."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource as a list shows it. ``parts`` are None where the list does not show them."""

    observed: Observed
    parts: frozenset[Part] | None = None


class Listing(Protocol):
    """Of kinds of which one list shows the resources of many objects. ``page`` is how many it shows in one call."""

    @property
    def page(self) -> int: ...

    def list_of(self, ref: Ref) -> str:
        """Name the list that shows a resource: a region, or nothing where the account has one list. No I/O."""
        ...

    async def read_rows(self, name: str) -> Sequence[Listed]:
        """Read all pages of a list. Raises CloudError."""
        ...


class RememberingDriver(Protocol):
    """Of kinds of which a look does not read everything: what seldom changes, and costs a call for each resource."""

    def forget(self, idents: Collection[str]) -> None:
        """Let the next look at these resources read everything. No I/O."""
        ...


class ContainerDriver(Protocol):
    """Of kinds whose delete would destroy what others may have put inside."""

    async def children(self, ref: Ref) -> Sequence[Observed]:
        """List what is inside; ids are written as the child's own driver writes them."""
        ...


class NeighboursDriver(Protocol):
    """Verbs of a kind of which the cloud refuses one because of another one in the same parent."""

    async def neighbours(self, home: Ref) -> Sequence[Observed]:
        """List all of the kind that are in it, ours and others'."""
        ...

    def refusal(self, request: Request, neighbours: Sequence[Observed]) -> CloudError | None:
        """Return what a create raises because of them. No I/O."""
        ...


class ChangeJudge(Protocol):
    """Of kinds of which the cloud never makes some changes of attributes."""

    async def find_impossible(self, seen: Observed, changes: Request) -> Mapping[str, CloudError]:
        """Return those of ``changes`` that the cloud never makes, each with what to say.

        Surpassed where nothing is wrong with that. No write. Raises CloudError where it cannot be told now.
        """
        ...


class UntaggedFinder(Protocol):
    """Of kinds that nothing but their tags tell from anybody's, at the latest when a client token has expired."""

    async def find_untagged(self, request: Request, tags: frozenset[str]) -> Sequence[Observed]:
        """Return what a create with ``request`` and ``tags`` may have made of which somebody has taken tags off since.

        It fits the request, is not in use, and has no tag that is not one of ``tags``: it may be anybody's. Raises
        CloudError unless every list was read to its end.
        """
        ...


class User(NamedTuple):
    """What uses a resource: ``text`` for a person, ``id`` as its own driver writes it, empty where it has no driver."""

    text: str
    id: str = ""


class UsageDriver(Protocol):
    """Of kinds that the cloud deletes although somebody uses them, and of those whose users need what goes before it:
    a machine in a subnet needs the subnet's routes.
    """

    async def users(self, ref: Ref) -> Sequence[User]:
        """List what uses it now. Raises CloudError."""
        ...


class ContentsDriver(Protocol):
    """Of kinds that the cloud does not delete while something is in them, and that are no container for the engine."""

    async def contents(self, ref: Ref) -> Sequence[User]:
        """List what is in it, for a person. Raises CloudError."""
        ...


class LeftoversDriver(Protocol):
    """Of kinds of which the cloud still takes something away when the resource itself has gone."""

    async def leftovers(self, ref: Ref) -> Sequence[str]:
        """List what is left of it and holds what it was in, for a person; empty in the end. Raises CloudError."""
        ...
