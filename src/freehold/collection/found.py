"""Results of one look at a cluster's leftovers in a cloud. Values only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from freehold.collection.things import CollectionTask
from freehold.engine.resources import Part


@dataclass(frozen=True)
class Workloads:
    """The workloads of one cluster, whose controllers made what is collected.

    ``name`` is the cluster's in their tags, ``network`` the id of the cluster's network, ``uuid`` that of our owner.
    """

    name: str
    network: str
    uuid: str


@dataclass(frozen=True)
class Thing:
    """A leftover resource, as its own service shows it now.

    ``id`` is the one for its delete; ``tags`` are all of its tags; ``network`` is empty if it is in none. ``noun`` is
    for people (``network load balancer``). ``by_service``: a service of the cloud keeps it. ``waits_for`` is what the
    cloud removes by itself before this one can be deleted; ``held_by`` what a person must remove. ``trace_key``: its
    traces in the network, usually there for ``trace_seconds`` seconds, have this key in :attr:`Look.traces`.
    ``named_by``: the rules, each in the group with this id, that are revoked before it can be deleted.
    """

    task: CollectionTask
    noun: str
    id: str
    name: str
    tags: Mapping[str, str]
    network: str = ""
    description: str = ""
    state: str = ""
    by_service: bool = False
    waits_for: str = ""
    held_by: str = ""
    trace_key: str = ""
    trace_seconds: float = 0.0
    named_by: tuple[tuple[str, Part], ...] = ()

    def __str__(self) -> str:
        short = self.id if self.id != self.name and not self.id.startswith("arn:") else ""
        return f"{self.noun} {self.name}" + (f" ({short})" if short else "")


@dataclass(frozen=True)
class Look:
    """The result of one look.

    ``things`` have some mark of the cluster, or ours; ``running`` are its running machines; ``ran_lately``: some ran a
    short time ago. ``traces`` are the ids that remain of deleted things, by :attr:`Thing.trace_key`. ``namesakes`` are
    other owners with this cluster's name in its network, ``elsewhere`` those in other networks. ``notes`` are for
    people.
    """

    things: tuple[Thing, ...] = ()
    running: tuple[str, ...] = ()
    ran_lately: bool = False
    traces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    namesakes: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """A change in the cloud as a part of the delete of ``thing``: ``run`` sends it and raises CloudError."""

    thing: Thing
    what: str
    run: Callable[[], Awaitable[None]]
