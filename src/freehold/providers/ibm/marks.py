"""The spelling of our marks as user tags of IBM Cloud. Imports no SDK.

Source: docs/reference/ibm-cloud.md#global-tagging.

User tags allow ``A-Z a-z 0-9 space _ - . :``, 1 to 128 characters, and ignore case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from shlex import quote

from freehold.engine.ownership import CarriedMark, Marks, NodeMark, Owner
from freehold.engine.resources import NodeKey

PREFIX = "powervs.cluster.x-k8s.io."
OWNER, UUID, NODE = (f"{PREFIX}{word}" for word in ("owner", "cluster-uuid", "node"))
"""``UUID`` is the owner's own, one of the two marks that prove.

Beware: on AWS ``freehold.dev/cluster-uuid`` is the uuid of the owner's cluster, and proves nothing
(:data:`keyed_codec.WITHIN`, ADR 5).
"""
LONGEST = 128
_UUID_LENGTH = 36
"""The characters of a uuid."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9 _\-.:]")
_CARRIED = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.([^_]+)(?:_([^_]+))?")
"""The value of a carrier's mark: our uuid, the id of what it carries, and the seal where it had room for one.

The id is a uuid, or the region and name of a bucket, and ``_`` is in neither: a bucket's name is lower-case letters,
digits, dots and dashes (https://cloud.ibm.com/docs/cloud-object-storage?topic=cloud-object-storage-compatibility-api-bucket-operations).
"""


def _fit(text: str, room: int) -> str:
    """Return ``text`` in legal characters, cut to ``room``; with a hash of the whole if that changed it."""
    legal = _ILLEGAL.sub("-", text)
    if legal == text and len(text) <= room:
        return text
    return f"{legal[: room - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def named_in_mark(kind: str, ident: str) -> str:
    """Return a carried resource's name in its mark: the last part of its id, cut where that is long (a bucket's)."""
    return _fit(ident.rpartition("/")[2], LONGEST - len(f"{PREFIX}{kind}:.") - _UUID_LENGTH)


class IbmCodec:
    """Our marks as user tags: ``powervs.cluster.x-k8s.io.<what>:<value>``. Tags are a set."""

    keyed = False

    def key(self, tag: str) -> str:
        return tag.strip().casefold()

    def owner(self, owner: Owner) -> frozenset[str]:
        room = LONGEST - len(f"{OWNER}:")
        name = _fit(f"{owner.namespace}.{owner.name}", room)
        return frozenset({f"{OWNER}:{name}", f"{UUID}:{owner.uuid}"})

    def spell_parent_mark(self, owner: Owner) -> frozenset[str]:
        """Return no tag: no kind of IBM Cloud is part of another one yet."""
        return frozenset()

    def namespace_and_name(self, said: str) -> tuple[str, str]:
        namespace, _, name = said.partition(".")
        return namespace, name

    def label(self, key: NodeKey) -> frozenset[str]:
        return frozenset()

    def birth(self, key: NodeKey, nonce: str) -> str:
        return self.node(key, nonce)

    seals_together = 1

    def join_seals(self, tags: Collection[str]) -> frozenset[str]:
        return frozenset(tags)

    def node(self, key: NodeKey, seal: str) -> str:
        before, after = f"{NODE}:{key.kind}.", f".{seal}"
        return before + _fit(key.logical, LONGEST - len(before) - len(after)) + after

    def spell_carrier_mark(self, owner: Owner, kind: str, ident: str, seal: str = "") -> str:
        """Return ``<kind>:<uuid>.<id>_<seal>``, without the seal where the whole would be too long (a connection's)."""
        mark = f"{PREFIX}{kind}:{owner.uuid}." + named_in_mark(kind, ident)
        sealed = f"{mark}_{seal}"
        return sealed if seal and len(sealed) <= LONGEST else mark

    def carried_id(self, kind: str, ident: str) -> str:
        """Return the id without the carrier's own id, with which ids of carried resources begin."""
        return ident.rpartition("/")[2]

    def read(self, tags: Collection[str]) -> Marks:
        return _parse_marks(frozenset(tags))

    def is_mark(self, tag: str) -> bool:
        marks = self.read([tag])
        return bool(marks.owners or marks.uuids or marks.nodes or marks.carried)

    def detach_command(self, target: str, tags: Collection[str]) -> str:
        """Return the command of docs/reference/ibm-cloud.md#global-tagging; no tag has a comma in it."""
        return f"ibmcloud resource tag-detach --resource-id {quote(target)} --tag-names {quote(','.join(sorted(tags)))}"

    def user(self, key: str, value: str) -> str:
        """Return ``key:value``, or ``key`` alone; check it with :func:`validation_error` first."""
        return f"{key}:{value}" if value else key

    def fold(self, tags: Collection[str]) -> frozenset[str]:
        return _fold(frozenset(tags))


@lru_cache(maxsize=4096)  # a pass asks many times for the tags of one resource, and the next pass finds the same ones
def _parse_marks(tags: frozenset[str]) -> Marks:
    owners: set[str] = set()
    uuids: set[str] = set()
    nodes: set[NodeMark] = set()
    carried: set[CarriedMark] = set()
    for tag in tags:
        what, _, value = tag.partition(":")
        what = what.casefold()
        if not what.startswith(PREFIX) or not value:
            continue
        if what == OWNER:
            owners.add(value)
        elif what == UUID:
            uuids.add(value)
        elif what == NODE:
            nodes |= set(_node(value))
        elif found := _CARRIED.fullmatch(value):
            carried.add(CarriedMark(what.removeprefix(PREFIX), found[1], found[2], found[3] or ""))
    return Marks(frozenset(owners), frozenset(uuids), frozenset(nodes), frozenset(carried))


@lru_cache(maxsize=4096)
def _fold(tags: frozenset[str]) -> frozenset[str]:
    return frozenset(tag.strip().casefold() for tag in tags)


def _node(value: str) -> Iterator[NodeMark]:
    kind, _, rest = value.partition(".")
    logical, _, seal = rest.rpartition(".")
    if kind and logical and seal:
        yield NodeMark(NodeKey(kind, logical), seal)


def validation_error(tag: str) -> str:
    """Return why IBM Cloud refuses ``tag``, and what to do; empty when it does not."""
    if not tag.strip():
        return "a tag is empty: give it a key, or leave it out"
    if len(tag) > LONGEST:
        return f"the tag {tag!r} has {len(tag)} characters, IBM Cloud allows {LONGEST}: shorten it"
    if found := _ILLEGAL.search(tag):
        return f"the tag {tag!r} has {found.group()!r} in it: use letters, digits, spaces and any of _ - . :"
    return ""
