"""What one look at a cloud finds of a cluster's workloads. Values only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from freehold.collection.things import Task
from freehold.engine.resources import Part


@dataclass(frozen=True)
class Workloads:
    """The cluster whose controllers made what is collected.

    ``name`` is the cluster's in their tags, ``network`` the id of what they made it in, ``uuid`` our owner's.
    """

    name: str
    network: str
    uuid: str


@dataclass(frozen=True)
class Thing:
    """One resource, as its own service shows it now.

    ``id`` deletes it; ``tags`` are all of it; ``network`` is where it is, empty where it is in none. ``noun`` is for
    people (``network load balancer``). ``by_service``: a service of the cloud keeps it. ``waits_for`` is what the cloud
    takes away by itself before this one can go; ``held_by`` what a person must take away. ``leaves``: what it leaves in
    the network, usually for ``lingers`` seconds, is found under this text (:attr:`Look.traces`). ``named_by``: the
    rules, each in the group with this id, that are taken out before it can go.
    """

    task: Task
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
    leaves: str = ""
    lingers: float = 0.0
    named_by: tuple[tuple[str, Part], ...] = ()

    def __str__(self) -> str:
        short = self.id if self.id != self.name and not self.id.startswith("arn:") else ""
        return f"{self.noun} {self.name}" + (f" ({short})" if short else "")


@dataclass(frozen=True)
class Look:
    """Everything that one look found.

    ``things`` have some mark of the cluster, or ours; ``running`` are its machines that run now, ``lately`` whether any
    ran a short time ago. ``traces`` are the ids that remain of what has gone, by :attr:`Thing.leaves`. ``namesakes``
    are other owners with this cluster's name in its network, ``elsewhere`` what has the name in other ones. ``notes``
    are for people.
    """

    things: tuple[Thing, ...] = ()
    running: tuple[str, ...] = ()
    lately: bool = False
    traces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    namesakes: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One change in the cloud on the way to the end of ``thing``: ``run`` sends it and raises CloudError."""

    thing: Thing
    what: str
    run: Callable[[], Awaitable[None]]
