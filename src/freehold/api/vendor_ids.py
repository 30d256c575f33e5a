"""Ids as ``status.resources`` shows them, and the cloud's own consoles and commands. Pure."""

from __future__ import annotations


def vendor_id(ident: str) -> str:
    """The cloud's own id: the last part of the engine's (``us-south/r006-…``, ``<guid>/network/<id>``), or an ARN."""
    return ident if ident.startswith("arn:") else ident.rpartition("/")[2]
