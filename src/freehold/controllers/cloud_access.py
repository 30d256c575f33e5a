"""How the clouds are reached: what the process was started with."""

from __future__ import annotations

from dataclasses import dataclass, field

from freehold.providers.aws.identities import Identity, OwnCredentials


@dataclass(frozen=True, kw_only=True)
class CloudAccess:
    """``ibm_key`` is empty where there is none. The URLs are those of simulated clouds, None for the real ones.

    ``ibm_profile`` is the id of a trusted profile that is assumed with the key, empty for none. ``aws_own`` is what
    an object that names no identity is served with.
    """

    ibm_key: str = field(default="", repr=False)
    ibm_profile: str = ""
    ibm_url: str | None = None
    aws_url: str | None = None
    aws_own: Identity = field(default_factory=OwnCredentials)
    aws_regions: tuple[str, ...] = ()
    """Of metadata objects that name no region."""
