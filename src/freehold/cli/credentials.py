"""The API key of the account that a command works in."""

from __future__ import annotations

from collections.abc import Mapping

from freehold.cli.errors import CliError
from freehold.cli.terminal import API_KEY_VARIABLE

API_KEY = "simulated-api-key"
"""The one key that the simulated account knows; no secret."""


def api_key_of(env: Mapping[str, str], simulated: str = "--simulate") -> str:
    """The key of the real account. Raises CliError when there is none; ``simulated`` is the command's other target."""
    key = env.get(API_KEY_VARIABLE, "").strip()
    if not key:
        raise CliError(
            f"no credentials: set {API_KEY_VARIABLE} to your API key, or use the simulated cloud: {simulated}"
        )
    return key
