"""The credentials that a command works with."""

from __future__ import annotations

import os
from collections.abc import Mapping

from freehold.cli.errors import CliError
from freehold.providers.base import CloudAccess
from freehold.providers.registry import PROVIDERS


def require_some(env: Mapping[str, str], simulated: str = "--simulate") -> None:
    """Raise CliError where there are credentials for no cloud at all: somebody forgot the option ``simulated``."""
    if not has_some(env):
        ways = ", or ".join(provider.how for provider in PROVIDERS)
        raise CliError(f"no credentials: set {ways}; or use the simulated clouds: {simulated}")


def has_some(env: Mapping[str, str]) -> bool:
    """Return whether there may be credentials for one cloud at least."""
    return any(provider.has_credentials(env) for provider in PROVIDERS)


def access_of(simulator: str, env: Mapping[str, str] = os.environ) -> Mapping[str, CloudAccess]:
    """Return how to reach the clouds that ``simulator`` (a URL) simulates, and the real ones where it is empty."""
    return {provider.name: provider.access(env, simulator) for provider in PROVIDERS}
