"""One resource as a describe reply of AWS shows it, under our names; each kind decodes its own. Pure."""

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


class AwsLocation(NamedTuple):
    """The origin of a reply: what an ARN needs and most replies lack."""

    partition: str
    region: str
    account: str

    def ec2_arn(self, resource_type: str, ident: str) -> str:
        """Return the ARN of an EC2 resource."""
        return str(Arn(self.partition, "ec2", self.region, self.account, f"{resource_type}/{ident}"))


@dataclass(frozen=True)
class DecodedResource:
    """A resource. ``parts`` are all that it contains; ``created_at`` is epoch seconds, None if AWS does not show it."""

    id: str
    arn: str
    state: State
    tags: Tags
    attributes: Mapping[str, Any] = field(default_factory=dict)
    parts: frozenset[Part] = frozenset()
    shows_parts: bool = True
    """False for a kind whose parts no read of its own shows."""
    vendor_state: str = ""
    created_at: float | None = None
    message: str = ""
    """AWS's words on why it failed."""
    incarnation: str = ""
    """Tells a resource from a later one with the same id, where ids are names."""
    busy: str = ""
    """What AWS does with it now, for a person; until that is over it takes no change."""

    @property
    def name(self) -> str:
        """Its own name where the kind has names; else its ``Name`` tag, which is for people and decides nothing."""
        return str(self.attributes.get("name") or self.tags.get(NAME) or self.id)

    def to_observed(self) -> Observed:
        """Return it as the engine reads it; the birth mark is among its tags."""
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
            parts=self.parts if self.shows_parts else None,
            attributes=self.attributes,
            incarnation=self.incarnation,
            busy=self.busy,
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
    """Return the state that the word of a network resource means; None for ``deleted``, which AWS shows for an hour.

    A new, unknown word counts as a change under way: it decides nothing.
    """
    return None if word == "deleted" else _STATES.get(word, State.PENDING)


def active_associations(rows: Iterable[Json], state: str) -> list[Json]:
    """Return the associations that exist or are being made; ``state`` names the member with their state, if any."""
    return [row for row in rows if row.get(state, {}).get("State", "associated") in ("associated", "associating")]


def canonical_ipv6_block(text: str) -> str:
    """Return an IPv6 range as EC2 spells it in replies, so that what is made from it can be found again."""
    try:
        return str(IPv6Network(text, strict=False))
    except ValueError:
        return text


def epoch(when: datetime | None) -> float | None:
    return when.timestamp() if when else None
