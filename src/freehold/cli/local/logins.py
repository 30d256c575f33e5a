"""The credentials of a state directory, where no variable says others: a profile and a role of AWS, a key and a trusted
profile of IBM Cloud.

A profile is a name, and its secrets stay where AWS keeps them. The API key is in the system's keyring, where the
``keyring`` package is installed and has one, else in a file of mode 0600.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from freehold.cli.errors import CliError
from freehold.cli.local.state_directory import CloudChoice, StateDirectory, write_whole
from freehold.cli.output.hints import hint
from freehold.providers.aws.access import ROLE_VARIABLE
from freehold.providers.aws.access import VARIABLES as AWS_VARIABLES
from freehold.providers.ibm.access import KEY_VARIABLE as API_KEY_VARIABLE
from freehold.providers.ibm.access import PROFILE_VARIABLE, api_key_of

SERVICE: Final = "freehold"
KEYRING, FILE = "keyring", "file"


@dataclass(frozen=True)
class Login:
    """Empty texts are not set. ``key_in`` says where the API key is: ``keyring`` or ``file``."""

    profile: str = ""
    role: str = ""
    region: str = ""
    key_in: str = ""
    trusted_profile: str = ""


def read(state: StateDirectory) -> Login:
    """Read which credentials are used. Raises CliError for a file that is none of ours."""
    try:
        return Login(**json.loads(state.login.read_text()))
    except FileNotFoundError:
        return Login()
    except (OSError, ValueError, TypeError) as problem:
        raise CliError(f"{state.login} cannot be read: {problem}; remove it, and log in again") from problem


def write(state: StateDirectory, login: Login) -> None:
    write_whole(state.login, json.dumps(asdict(login)))


def use(state: StateDirectory, env: MutableMapping[str, str] = os.environ) -> None:
    """Let the SDKs find what the directory uses. What the environment says goes before it. Raises CliError."""
    if not state.login.exists() or state.cloud is CloudChoice.SIMULATED:
        return
    login = read(state)
    if login.profile and not any(env.get(name) for name in AWS_VARIABLES):
        env["AWS_PROFILE"] = login.profile
    if login.role and not env.get(ROLE_VARIABLE):
        env[ROLE_VARIABLE] = login.role
    if login.region and not (env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")):
        env["AWS_REGION"] = login.region
    if login.key_in and not api_key_of(env):
        env[API_KEY_VARIABLE] = _read_key(state, login)
        if login.trusted_profile and not env.get(PROFILE_VARIABLE):
            env[PROFILE_VARIABLE] = login.trusted_profile


def without_secrets(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for programs that need no credentials of ours."""
    return {name: value for name, value in env.items() if name != API_KEY_VARIABLE}


# -- the API key ---------------------------------------------------------------------------------------------------


def store_key(state: StateDirectory, key: str) -> str:
    """Store it; where it is now."""
    keyring = _import_keyring()
    if keyring is not None:
        try:
            keyring.set_password(SERVICE, str(state.path), key)
        except keyring.errors.KeyringError:  # the package without any keyring behind it, as on a server
            pass
        else:
            state.api_key.unlink(missing_ok=True)
            return KEYRING
    write_whole(state.api_key, key)
    return FILE


def forget_key(state: StateDirectory, login: Login) -> None:
    state.api_key.unlink(missing_ok=True)
    keyring = _import_keyring()
    if login.key_in == KEYRING and keyring is not None:
        try:
            keyring.delete_password(SERVICE, str(state.path))
        except keyring.errors.KeyringError as problem:
            raise CliError(f"the API key cannot be removed from the keyring: {problem}") from problem


def _read_key(state: StateDirectory, login: Login) -> str:
    key = _read_from_keyring(state) if login.key_in == KEYRING else _read_from_file(state)
    if not key:
        raise CliError(
            f"the API key of {state.path} is not in its {login.key_in} any more: {hint('tags login', '--cloud', 'ibm')}"
        )
    return key


def _read_from_keyring(state: StateDirectory) -> str:
    keyring = _import_keyring()
    if keyring is None:
        raise CliError("the API key is in the system's keyring, and the Python package keyring is not installed")
    try:
        return str(keyring.get_password(SERVICE, str(state.path)) or "")
    except keyring.errors.KeyringError as problem:
        raise CliError(f"the system's keyring gives no API key: {problem}") from problem


def _read_from_file(state: StateDirectory) -> str:
    try:
        if state.api_key.stat().st_mode & 0o077:
            raise CliError(f"others may read {state.api_key}: chmod 600 it, and make a new key if others have")
        return state.api_key.read_text().strip()
    except OSError:
        return ""


def _import_keyring() -> Any:
    try:
        import keyring
    except ImportError:
        return None
    return keyring
