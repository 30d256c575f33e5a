"""How the range of a VPC is divided among the subnets of its zones.

Of upstream: one block for each zone and one more, which is divided again. With ``PreferPrivate`` the private subnets
get the large blocks and the public ones the divided block, the first; with ``PreferPublic`` the other way round. IPv6
ranges are the /64s of the VPC's range, by number. Source:
https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/network/subnets.go

Ours: a subnet keeps its zone, its block and its number for life, whatever the spec and the list of zones become. New
ones get what upstream would give them where it is free, else the first free blocks, halved until all fit.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError

SMALLEST = 28
"""The longest prefix that AWS allows for a subnet, and for a VPC.

Source: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
"""
LARGEST = 16
"""The shortest prefix that AWS allows; the same source."""
NUMBERS = 256
"""/64 ranges in the /56 that Amazon gives to a VPC."""

_LOGICAL = re.compile(r"(public|private):([^:]+):([0-9./]+):([0-9]+)")


@dataclass(frozen=True, order=True)
class Slot:
    """One derived subnet: what was chosen for it. ``number`` says which /64 it gets where the VPC has IPv6."""

    public: bool
    zone: str
    block: str
    number: int

    @property
    def logical(self) -> str:
        """Return its name for life, in the journal and in its mark.

        All of the choice is in it, so nothing else is kept.
        """
        return f"{'public' if self.public else 'private'}:{self.zone}:{self.block}:{self.number}"

    @staticmethod
    @lru_cache(maxsize=1024)  # a pass reads the name of each subnet on record several times
    def parse_name(logical: str) -> Slot | None:
        """Read a slot from its name; None for the name of another subnet."""
        if not (hit := _LOGICAL.fullmatch(logical)):
            return None
        try:
            block = str(IPv4Network(hit[3]))
        except (AddressValueError, NetmaskValueError, ValueError):
            return None
        return Slot(hit[1] == "public", hit[2], block, int(hit[4]))


@dataclass(frozen=True)
class NoRoom:
    """The range is too small for that many subnets, or what is free of it."""

    subnets: int


@dataclass(frozen=True)
class Layout:
    """What the spec says about derived subnets. ``shuffle`` decides among zones where the spec leaves it open."""

    cidr: str
    limit: int = 3
    prefer_public: bool = False
    shuffle: str = ""


def chosen_zones(layout: Layout, available: Iterable[str], recorded: Iterable[Slot]) -> tuple[str, ...]:
    """Choose zones: those that have subnets already, and more up to the limit; sorted."""
    held = {slot.zone for slot in recorded}
    others = sorted(set(available) - held)
    if layout.shuffle:
        others.sort(key=lambda zone: hashlib.sha256(f"{layout.shuffle}/{zone}".encode()).hexdigest())
    return tuple(sorted([*held, *others[: max(0, layout.limit - len(held))]]))


def derive(layout: Layout, available: Iterable[str], recorded: Sequence[Slot]) -> tuple[Slot, ...] | NoRoom:
    """Derive a public and a private subnet in each chosen zone; keep those of ``recorded``. Sorted."""
    zones = chosen_zones(layout, available, recorded)
    kept = _one_each(recorded)
    missing = tuple(
        _Missing(public, zone, index)
        for index, zone in enumerate(zones)
        for public in (True, False)
        if (public, zone) not in kept
    )
    new = _place_subnets(layout, len(zones), missing, tuple(kept.values())) if missing else ()
    return new if isinstance(new, NoRoom) else tuple(sorted([*kept.values(), *new]))


def number_of(index: int, zones: int, *, preferred: bool) -> int:
    """Return which /64 upstream gives to the subnet of the zone with this index: it leaves the first two unused."""
    return 2 + index if preferred else 2 + zones + index


@dataclass(frozen=True)
class _Missing:
    public: bool
    zone: str
    index: int


def _one_each(recorded: Iterable[Slot]) -> dict[tuple[bool, str], Slot]:
    found: dict[tuple[bool, str], Slot] = {}
    for slot in sorted(recorded):
        found.setdefault((slot.public, slot.zone), slot)
    return found


@lru_cache(maxsize=256)  # checks, warnings and the plan of one pass ask for the same subnets
def _place_subnets(
    layout: Layout, zones: int, missing: tuple[_Missing, ...], kept: tuple[Slot, ...]
) -> tuple[Slot, ...] | NoRoom:
    vpc = IPv4Network(layout.cidr)
    for halvings in range(SMALLEST - vpc.prefixlen + 1):
        blocks = _blocks(layout, vpc, zones, missing, [IPv4Network(slot.block) for slot in kept], halvings)
        if blocks is not None:
            numbers = _numbers(layout, zones, missing, {slot.number for slot in kept})
            return tuple(
                Slot(each.public, each.zone, str(block), number)
                for each, block, number in zip(missing, blocks, numbers, strict=True)
            )
    return NoRoom(2 * zones)


def _blocks(
    layout: Layout,
    vpc: IPv4Network,
    zones: int,
    missing: Sequence[_Missing],
    taken: list[IPv4Network],
    halvings: int,
) -> list[IPv4Network] | None:
    """Find a free block for each, all of upstream's size or of a part of it; None where they do not fit."""
    large = vpc.prefixlen + _bits(zones + 1)
    small = large + _bits(zones)
    found: dict[_Missing, IPv4Network] = {}
    for each in sorted(missing, key=lambda one: (one.public != layout.prefer_public, one.zone)):
        preferred = each.public == layout.prefer_public
        prefix = (large if preferred else small) + halvings
        if prefix > SMALLEST:
            return None
        usual = _nth(vpc, prefix, each.index + 1) if preferred else _nth(vpc, prefix, each.index)
        first = [usual] if not halvings else []
        block = next((one for one in (*first, *vpc.subnets(new_prefix=prefix)) if _is_free(one, taken)), None)
        if block is None:
            return None
        found[each] = block
        taken.append(block)
    return [found[each] for each in missing]


def _numbers(layout: Layout, zones: int, missing: Sequence[_Missing], taken: set[int]) -> list[int]:
    found = []
    for each in missing:
        usual = number_of(each.index, zones, preferred=each.public == layout.prefer_public)
        number = next(one for one in (usual, *range(2, NUMBERS), *range(2)) if one not in taken)
        taken.add(number)
        found.append(number)
    return found


def _is_free(block: IPv4Network, taken: Iterable[IPv4Network]) -> bool:
    return not any(block.overlaps(each) for each in taken)


def _nth(vpc: IPv4Network, prefix: int, index: int) -> IPv4Network:
    return IPv4Network((int(vpc.network_address) + (index << (32 - prefix)), prefix))


def _bits(parts: int) -> int:
    """Return how much longer a prefix becomes when a block is divided into at least so many."""
    return math.ceil(math.log2(parts))
