"""Birth names: under which a resource is created before it gets its own (ADR 6).

The wanted name, cut to fit, and the nonce. Which names each service allows:

========================  =====  =====================================================================
VPC, subnet, group, pool     63  lower-case letters, digits, dashes; a letter first, no dash last
transit gateway, connection  60  letters, digits, ``-`` and ``_``; a letter first, no dash last
resource instance           180  letters, digits, spaces and ``- . _ :`` (workspace, object storage)
DHCP server                 100  letters, digits and dashes; its network is ``DHCPSERVER<name>_Private``
========================  =====  =====================================================================

A nonce is 13 letters and digits, so the birth name of a legal name is legal (docs/reference/ibm-cloud.md).
"""

from __future__ import annotations

import hashlib

from freehold.engine.keys import NONCE
from freehold.engine.resources import NonceSet

VPC = 63
TRANSIT = 60
INSTANCE = 180
DHCP = 100
_HASH = 6
_BLANK = " " * 13


def birth_name(name: str, nonce: str, limit: int) -> str:
    """Return ``<name>-<nonce>``, where ``name`` is cut and hashed if both do not fit into ``limit`` characters."""
    room = limit - len(nonce) - 1
    if len(name) > room:
        digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
        name = f"{name[: room - _HASH - 1].rstrip('-._ :')}-{digest}"
    return f"{name}-{nonce}"


def nested_birth_name(name: str, nonce: str, limit: int) -> str:
    """Return ``<name but its last word>-<nonce>-<last word>``.

    Upstream's machine controller reads the port from the end of a pool's name (CAPIBM,
    ``CreateVPCLoadBalancerPoolMember``). The nonce goes last where the last word is too long to be a port, and leaves
    no room for the rest.
    """
    head, dash, last = name.rpartition("-")
    room = limit - len(last) - 1
    fits = room >= 1 + 1 + _HASH + 1 + len(nonce)
    return f"{birth_name(head, nonce, room)}-{last}" if dash and fits else birth_name(name, nonce, limit)


def is_nested(text: str, name: str, limit: int) -> bool:
    """Return whether :func:`nested_birth_name` made ``text`` of ``name``, with some nonce."""
    before, _, after = nested_birth_name(name, _BLANK, limit).partition(_BLANK)
    nonce = text.removeprefix(before).removesuffix(after)
    return text == before + nonce + after and bool(NONCE.fullmatch(nonce))


def has_nonce(text: str, nonces: NonceSet) -> bool:
    """Return whether one of ``nonces`` is a word of ``text``."""
    return any(word in nonces for word in text.casefold().replace("_", "-").split("-"))


def matches(text: str, name: str, nonces: NonceSet) -> bool:
    """Return whether ``text`` is ``name``, or has one of ``nonces`` as a word of its own."""
    return text == name or has_nonce(text, nonces)


def network_of(dhcp: str) -> str:
    """Return the private network that a DHCP server of this name creates (docs/reference/requirements.md I12)."""
    return f"DHCPSERVER{dhcp}_Private"


def dhcp_of(network: str) -> str:
    """Return the DHCP name in the name of its network; the whole text when it is no such name."""
    return network.removeprefix("DHCPSERVER").removesuffix("_Private")
