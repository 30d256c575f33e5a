"""One resource as a describe reply of AWS shows it, in our words: what each kind's decoding gives. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv6Network
from typing import Any, NamedTuple

from freehold.engine.resources import Observed, Part, State
from freehold.engine.tag_text import text
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import Json
from freehold.providers.aws.tags.tag_map import Tags

NAME = "Name"


class Place(NamedTuple):
    """Where a reply came from: what an ARN needs and most replies lack."""

    partition: str
    region: str
    account: str

    def ec2(self, resource_type: str, ident: str) -> str:
        """The ARN of an EC2 resource."""
        return str(Arn(self.partition, "ec2", self.region, self.account, f"{resource_type}/{ident}"))


@dataclass(frozen=True)
class Seen:
    """``parts`` are all that is inside; ``created_at`` is epoch seconds, None where AWS does not show it."""

    id: str
    arn: str
    state: State
    tags: Tags
    attributes: Mapping[str, Any] = field(default_factory=dict)
    parts: frozenset[Part] = frozenset()
    vendor_state: str = ""
    created_at: float | None = None
    message: str = ""
    """Why it failed, in AWS's words."""
    incarnation: str = ""
    """Tells it from a later one of its id, where ids are names."""

    @property
    def name(self) -> str:
        """Its own, where its kind has names; else a tag for people, which decides nothing."""
        return str(self.attributes.get("name") or self.tags.get(NAME) or self.id)

    def observed(self) -> Observed:
        """The same for the engine. Its birth mark is among its tags."""
        arn = Arn.parse(self.arn)
        return Observed(
            id=self.id,
            name=self.name,
            state=self.state,
            target=self.arn,
            created_at=self.created_at,
            tags=frozenset(text(key, value) for key, value in self.tags.items()),
            vendor_state=f"{self.vendor_state} ({self.message})" if self.message else self.vendor_state,
            region=arn.region if arn else "",
            parts=self.parts,
            attributes=self.attributes,
            incarnation=self.incarnation,
        )


_STATES: Mapping[str, State] = {
    "pending": State.PENDING,
    "available": State.READY,
    "failed": State.FAILED,
    "failed-insufficient-capacity": State.FAILED,
    "unavailable": State.FAILED,
    "deleting": State.DELETING,
}


def state_of(word: str) -> State | None:
    """The state that a network resource's own word means; None for ``deleted``, which AWS shows for an hour.

    A word that is new to us is a change under way: nothing is decided by it.
    """
    return None if word == "deleted" else _STATES.get(word, State.PENDING)


def associated(rows: Iterable[Json], state: str) -> list[Json]:
    """Of associations, those that are there or coming; ``state`` is the member that tells it, if the row has one."""
    return [row for row in rows if row.get(state, {}).get("State", "associated") in ("associated", "associating")]


def block6(text: str) -> str:
    """An IPv6 range in the one spelling that EC2 gives to what it is asked for: what is made of it is found again."""
    try:
        return str(IPv6Network(text, strict=False))
    except ValueError:
        return text


def epoch(when: datetime | None) -> float | None:
    return when.timestamp() if when else None
