"""The key ring: what makes records, nonces, client tokens and seals impossible to forge.

Two adversaries must not be able to make us mark, take over or delete a stranger's resource: one may tag and
create in the cloud account, the other may edit the object and read every Secret beside it. So the key is the
operator's own: neither a cloud credential, nor public, nor in the object's namespace (ADR 4). Everything is
an HMAC under a key derived from a key of the ring and the owner's uuid, so the derived key of one object can
be handed on alone.

A digest names a key in journals. What names no key of the ring proves nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType

from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey

LEAST_BYTES = 32
_SLOT = 6
_CHECK = 6
_MAC_BYTES = 20
"""The longest text that is made of a MAC, a client token, has the letters of as many bytes."""
NONCE = re.compile(f"f[a-z2-7]{{{_SLOT + _CHECK}}}")
"""The form of every birth mark."""


_ANY = "surrogatepass"
"""How a text is encoded that somebody else may have written, and that may be none."""


def is_same(said: str, right: str) -> bool:
    """Return whether what somebody may have written is what only the operator can write, compared in constant time.

    ``hmac`` itself raises where a text is no ASCII, and everybody who may tag or edit something can write that.
    """
    return hmac.compare_digest(said.encode(errors=_ANY), right.encode(errors=_ANY))


def digest_of(key: bytes) -> str:
    """Name a key of the ring by ten letters that tell nothing about it."""
    return _text(hashlib.sha256(b"freehold key\0" + key).digest())[:10]


@lru_cache(maxsize=4096)
def derive(key: bytes, uuid: str) -> bytes:
    """Derive the key of the object with this uuid; kept for a while, because each pass needs it."""
    return hmac.digest(key, b"freehold object key\0" + uuid.encode(), "sha256")


def fingerprint(owner: Owner, node: str, ident: str, incarnation: str = "") -> str:
    """Return the digest of one record of one object: what a person accepted is noted by these.

    It is whole: whoever may edit the object chooses what is in a record. The owner's place and name are in it, because
    anybody can read an uuid from tags and write it into an object of their own.
    """
    place = (owner.uuid, owner.kind, owner.namespace, owner.name)
    said = "\0".join(("freehold record", *place, node, ident, incarnation))
    return hashlib.sha256(said.encode(errors=_ANY)).hexdigest()


def _text(raw: bytes) -> str:
    return base64.b32encode(raw).decode().lower().rstrip("=")


@dataclass(frozen=True)
class KeyRing:
    """The operator's keys by digest; several can be read, one writes.

    ``handed_on`` holds derived keys of single objects, by the digest of the key that they come from and the
    object's uuid: all that an operator needs for an object that was moved to it. ``accepted``: keys that are lost
    for ever, by digest and the uuid of an object that named the key when a person accepted the loss, with the
    fingerprints of those of its records that the person accepted (:func:`fingerprint`).
    """

    writing: str
    keys: Mapping[str, bytes] = field(repr=False)
    handed_on: Mapping[tuple[str, str], bytes] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    accepted: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if self.writing not in self.keys:
            raise ValueError(f"the key ring has no key {self.writing}, which is to write")

    @classmethod
    def single(cls, key: bytes) -> KeyRing:
        """Return a ring of one key."""
        return cls(digest_of(key), {digest_of(key): key})

    def readable(self, digest: str, uuid: str) -> bool:
        """Return whether this ring can check what key ``digest`` wrote for the object ``uuid``."""
        return digest in self.keys or (digest, uuid) in self.handed_on

    def missing(self, digests: Iterable[str], uuid: str) -> tuple[str, ...]:
        """Return which of ``digests`` cannot be read for the object ``uuid``, and are not accepted as lost for it."""
        return tuple(sorted(d for d in digests if (d, uuid) not in self.accepted and not self.readable(d, uuid)))

    def forgives(self, digest: str, uuid: str, record: str) -> bool:
        """Return whether a person accepted this record, by its :func:`fingerprint`, when the loss of key ``digest`` was
        noted.

        A record that was left out, or names the key later, is not covered: a user with edit rights on the object can
        write one.
        """
        return record in self.accepted.get((digest, uuid), frozenset())

    def derive_keys(self, owner: Owner) -> ObjectKeys:
        """Return the keys of one object."""
        derived = {digest: key for (digest, uuid), key in self.handed_on.items() if uuid == owner.uuid}
        derived |= {digest: derive(key, owner.uuid) for digest, key in self.keys.items()}
        return ObjectKeys(owner, self.writing, derived)


@dataclass(frozen=True)
class ObjectKeys:
    """What one object's records, nonces, tokens and seals are made with, by the digest of the ring's key.

    Each is computed over the whole owner (uuid, kind, namespace, name), so an identity that somebody copied into
    another object's annotation fits nothing.
    """

    owner: Owner
    writing: str
    derived: Mapping[str, bytes] = field(repr=False)

    @cached_property
    def readable(self) -> tuple[str, ...]:
        """The digests that count for this object, the writing key's first."""
        return (self.writing, *sorted(digest for digest in self.derived if digest != self.writing))

    def signature(self, digest: str, kind: str, ident: str, incarnation: str = "") -> str:
        """Return what only the operator can write beside an id in the journal.

        It covers owner, kind, id and incarnation, not the node. An entry that somebody moves to another node of its
        kind is still of a resource of ours. What follows from the move (it gets the other node's attributes, or goes as
        surplus) a change of the spec brings about as well.

        16 letters are 80 bits. The journal has room for them, and guesses are cheaper than those of a seal: an editor
        of the object can write thousands in one patch, without any right in the cloud.
        """
        ident = f"{ident}\0{incarnation}" if incarnation else ident
        return self._mac(digest, "signature", kind, ident)[:16]

    def vouches(self, digest: str, said: str, kind: str, ident: str, incarnation: str = "") -> bool:
        """Return whether ``said`` is the :meth:`signature` of a key that counts for this object."""
        return digest in self.readable and is_same(said, self.signature(digest, kind, ident, incarnation))

    def tags_signature(self, digest: str, target: str, tags: Collection[str]) -> str:
        """Return what only the operator can write beside the user's tags that it put on a resource of others."""
        return self.signature(digest, "tags", "\0".join((target, *sorted(tags))))

    def are_signed(self, digest: str, signature: str, target: str, tags: Collection[str]) -> bool:
        """Return whether ``signature`` is that one, by a key that counts for this object."""
        return digest in self.readable and is_same(signature, self.tags_signature(digest, target, tags))

    def sign_untouched(self, digest: str, uid: str) -> str:
        """Return what only the operator can write: nothing was ever begun for the stored object with this ``uid``.

        A restored object has another UID, so that the claim of its backup does not count for it.
        """
        return self.signature(digest, "untouched", uid)

    def nonce(self, digest: str, key: NodeKey, attempt: int) -> str:
        """Return the birth mark of one attempt of one node: derived, so that no crash can lose it.

        The second half is computed over the first, so that a nonce of this object is recognised without knowing
        which node and attempt it was made for (:meth:`recognises`).
        """
        slot = self._mac(digest, "nonce", str(key), str(attempt))[:_SLOT]
        return "f" + slot + self._check(digest, key.kind, slot)

    def recognises(self, kind: str, word: str) -> bool:
        """Return whether ``word`` is a nonce of this object's for some node of ``kind``, under any readable key."""
        if len(word) != 1 + _SLOT + _CHECK or not word.startswith("f"):
            return False
        slot, check = word[1 : 1 + _SLOT], word[1 + _SLOT :]
        return any(is_same(self._check(digest, kind, slot), check) for digest in self.derived)

    def token(self, digest: str, key: NodeKey, attempt: int) -> str:
        """Return the client token of this attempt: 32 letters, which every client token field of AWS takes."""
        return self._mac(digest, "token", str(key), str(attempt))[:32]

    def seal(self, digest: str, key: NodeKey, target: str) -> str:
        """Return what binds a node mark to the resource that it is attached to.

        8 letters are 40 bits, because tags have little room: on IBM Cloud one tag of 128 characters has kind, node and
        seal; on AWS 28 seals share a value. They are enough, because nobody who lacks the key (256 random bits) can
        test a guess but by writing it on the resource and waiting until a pass reads it: with a thousand guesses a
        pass that takes half a billion passes. A seal alone proves nothing: the owner marks must be there too.
        """
        return self._mac(digest, "seal", str(key).casefold(), target.casefold())[:8]

    def secret_digest(self, digest: str, key: NodeKey, place: str, value: bytes) -> str:
        """Return what shows in the journal whether a secret value is the same: keyed, so that nobody can try values."""
        return self._mac(digest, "secret", str(key), place, hashlib.sha256(value).hexdigest())[:32]

    def carried_seal(self, digest: str, kind: str, ident: str, carrier: str) -> str:
        """Return what makes a carrier's mark a proof, where the mark has room for it."""
        return self._mac(digest, "carried", kind, ident.casefold(), carrier.casefold())[:8]

    def _check(self, digest: str, kind: str, slot: str) -> str:
        return self._mac(digest, "nonce check", kind, slot)[:_CHECK]

    def _mac(self, digest: str, *parts: str) -> str:
        return _keyed_text(self.derived[digest], "\0".join((self._said_of_owner, *parts)))

    @cached_property
    def _said_of_owner(self) -> str:
        owner = self.owner
        within = (owner.within,) if owner.within else ()
        return "\0".join((owner.uuid, owner.kind, owner.namespace, owner.name, *within))


@lru_cache(maxsize=4096)
def _keyed_text(key: bytes, said: str) -> str:
    """Compute a keyed text, kept for a while: a pass asks for the same nonces many times."""
    return _text(hmac.digest(key, said.encode(errors=_ANY), "sha256")[:_MAC_BYTES])
