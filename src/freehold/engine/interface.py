"""What goes into a pass, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from freehold.engine.clock import Clock
from freehold.engine.collection import NOTHING_COLLECTED, Collected, Collection
from freehold.engine.decisions import Conclusion
from freehold.engine.durations import Durations
from freehold.engine.inventory import InnerOwners, Inventory, NoOthers, OtherObjects, Tagger
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.engine.kinds import Registry
from freehold.engine.outcomes import Outcome, Repair
from freehold.engine.ownership import Codec
from freehold.engine.port import PassFlags, Port
from freehold.engine.resources import NodeKey
from freehold.engine.secret_values import NoSecrets, SecretReader
from freehold.engine.shared_lists import SharedLists


@dataclass(frozen=True)
class Intervals:
    """Delays in seconds of domain time.

    ``tag_lag``: when a fresh mark is usually readable (IBM: about 20 s, docs/reference/ibm-cloud.md#global-tagging).
    ``deep``: between two looks at states, parts and marks of an object at rest, and ``shallow``: how old the shared
    index may be for a pass between them. ``shared``: how old shared lists, and the index, may be for such a look.
    Drift is seen after ``deep`` and ``shared`` at the latest.
    ``fence``: how long after a write of the object a create or attach that it allows may still be sent; well below
    every settle time, so that a process which lost its object to another one comes too late (ADR 2).
    """

    tag_lag: float = 25.0
    shallow: float = 540.0
    deep: float = 540.0
    shared: float = 60.0
    slow: float = 300.0
    fence: float = 30.0


@dataclass(frozen=True)
class EngineDeps:
    """What the engine works with; one per account and region, shared by all objects."""

    registry: Registry
    codec: Codec
    tagger: Tagger
    inventory: Inventory
    port: Port
    clock: Clock
    ring: KeyRing
    durations: Durations
    intervals: Intervals = field(default_factory=Intervals)
    flags: PassFlags = field(default_factory=PassFlags)
    lists: SharedLists | None = None
    """None where every look is to ask for each resource itself, as in a plan."""
    inner: InnerOwners | None = None
    """None where nothing can be part of an object."""
    collection: Collection | None = None
    """None where nothing that others made is collected: the network of a cluster goes as soon as it can."""
    others: OtherObjects = field(default_factory=NoOthers)
    secrets: SecretReader = field(default_factory=NoSecrets)
    """Reads the secret values that requests refer to."""
    identity: str = ""
    """The cloud identity of the credentials, as the cloud shows it on what they create; empty where it does not."""
    foresees: bool = False
    """Whether what a create would be refused for is asked before it: in a plan, which sends none."""


@dataclass(frozen=True)
class PassResult:
    """What one pass came to.

    ``after``: seconds of domain time until another look is worth it. ``creating``: what this pass
    created, or would have created behind a port that stops at writes. ``released``: nothing of ours is left.
    ``at_rest``: nothing is under way, so the next pass is only a look. ``decided``: what became of decisions.
    ``deleted``: the ids of what this process saw go at its request. ``looked``: this pass was a deep one, to its end.
    ``collection``: what was said of what others made in the network of an object that is deleted. ``repaired``: what
    somebody else has changed, taken the marks of, or deleted, since the object was at rest, each from what to what.
    """

    journal: Journal
    outcomes: Mapping[NodeKey, Outcome]
    after: float
    creating: tuple[NodeKey, ...] = ()
    released: bool = False
    notes: tuple[str, ...] = ()
    at_rest: bool = False
    decided: tuple[Conclusion, ...] = ()
    deleted: frozenset[str] = frozenset()
    looked: bool = False
    collection: Collected = NOTHING_COLLECTED
    repaired: Mapping[NodeKey, tuple[Repair, ...]] = field(default_factory=dict)
