"""The collection of what a cluster's own controllers have made: asked in the middle of a delete.

A cloud controller makes load balancers and security groups in the network of its cluster, and nobody deletes them when
the cluster goes. The engine knows no rule of what they are: it says which network is proven to be the object's, and
holds the network until the answer is that nothing is left. Nothing of it is in the journal: what proves that something
is to be collected can still be read after a crash.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from freehold.engine.outcomes import Outcome
from freehold.engine.ownership import Owner
from freehold.engine.reasons import ALL as ALL
from freehold.engine.reasons import EXTERNAL
from freehold.engine.reasons import MACHINES as MACHINES

KIND = EXTERNAL


@dataclass(frozen=True)
class Site:
    """Where an object's external resources may be.

    ``network`` is the id of the network that its marks, read in this pass, or the spec prove to be the object's; empty
    where none is there. ``given``: the record says that the spec gave it, and whoever may edit the object can write
    that: the collection compares it with the spec.
    """

    owner: Owner
    network: str = ""
    given: bool = False


Prove = Callable[[], Awaitable[Site | Outcome]]
"""Reads the site anew; an outcome where that is not possible now."""


@dataclass(frozen=True)
class Collected:
    """What one sweep came to. ``done``: nothing is left that must go before the network.

    ``outcomes`` are by the name of what they are about, for people. ``summary`` is what was collected in all, and what
    stays, once it is done; ``is_news``: this is the first time that it is said.
    """

    done: bool
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    summary: str = ""
    is_news: bool = False


NOTHING_COLLECTED = Collected(done=False)
"""Before anything was asked."""


class Collection(Protocol):
    """Collects for one object."""

    async def sweep(self, prove: Prove, *, refused: bool) -> Collected:
        """Look once, and delete what is proven and can go now. Errors of the cloud become outcomes.

        ``refused``: the cloud has refused to delete something of the network, so that something may still be in it.
        """
        ...
