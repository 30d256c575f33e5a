"""Ids of resources as in ``status.resources``, and in the cloud's own consoles and commands. Pure."""

from __future__ import annotations


def vendor_id(ident: str) -> str:
    """Return the cloud's id: an ARN, or the last part of another (``us-south/r006-…``, ``<guid>/network/<id>``)."""
    return ident if ident.startswith("arn:") else ident.rpartition("/")[2]
