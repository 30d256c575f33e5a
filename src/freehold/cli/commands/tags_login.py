"""``freehold tags login``: which credentials the state directory uses, tried before they are stored."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local import logins
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.logins import Login
from freehold.cli.local.state_directory import CloudChoice, StateDirectory, default_path
from freehold.cli.local.user_audit import log_decision
from freehold.cli.output.prompt import somebody_is_there
from freehold.cli.output.terminal import say, tell
from freehold.providers.aws.access import ROLE_VARIABLE
from freehold.providers.aws.access import access_of as aws_access
from freehold.providers.ibm.access import KEY_VARIABLE as API_KEY_VARIABLE

if TYPE_CHECKING:
    from freehold.engine.errors import CloudError
    from freehold.providers.aws.identities import Identity


def run(
    cloud: str | None, profile: str, role: str, region: str, api_key_file: str, trusted_profile: str, no_check: bool,
    forget: bool, state: Path | None,
) -> None:  # fmt: skip
    """Run the command. Raises CliError."""
    directory = StateDirectory.open(state or default_path())
    if cloud is None:
        if profile or role or region or api_key_file or trusted_profile or no_check or forget:
            raise CliError("say which cloud: --cloud aws, or --cloud ibm", code=MISUSED)
        _show(directory)
        return
    if directory.cloud is CloudChoice.SIMULATED:
        raise CliError(f"{directory.path} holds simulated clouds, which need no login; choose another --state DIR")
    before = logins.read(directory)
    if cloud == "aws":
        if api_key_file or trusted_profile:
            raise CliError("--api-key-file and --trusted-profile are for --cloud ibm", code=MISUSED)
        login = replace(before, profile=profile, role=role, region=region)
        if not forget:
            _check_profile(profile)
            _check_credentials(login, check=not no_check)
        logins.write(directory, login)
    else:
        if profile or role or region:
            raise CliError("--profile, --role and --region are for --cloud aws", code=MISUSED)
        after = replace(before, trusted_profile=trusted_profile)
        _ibm(directory, after, api_key_file, forget=forget, check=not no_check)
    _audit(directory, cloud, forget=forget)
    _show(directory)


def _audit(directory: StateDirectory, cloud: str, *, forget: bool) -> None:
    """Which credentials are used from now on, in the log of what people do; no secret."""
    from freehold.engine.clock import SystemClock

    login = logins.read(directory)
    aws = {"profile": login.profile, "role": login.role, "region": login.region}
    used = aws if cloud == "aws" else {"key": login.key_in, "trustedProfile": login.trusted_profile}
    why = "credentials forgotten (tags login)" if forget else "credentials chosen (tags login)"
    log_decision(
        directory, SystemClock(), f"login {cloud}", why, {name: value for name, value in used.items() if value}
    )


def _show(directory: StateDirectory) -> None:
    """Names and places; no secret."""
    if directory.cloud is CloudChoice.SIMULATED:
        say(f"{directory.path} holds simulated clouds, which need no login")
        return
    login = logins.read(directory)
    aws = f"profile {login.profile or 'of the environment'}"
    aws += f", role {login.role}" if login.role else ""
    aws += f", region {login.region}" if login.region else ""
    places = {logins.KEYRING: "the API key in the system's keyring", logins.FILE: f"the API key in {directory.api_key}"}
    say(f"AWS: {aws if login.profile or login.role or login.region else 'what the environment says'}")
    ibm = places.get(login.key_in, f"what {API_KEY_VARIABLE} says")
    say(f"IBM Cloud: {ibm}{f', trusted profile {login.trusted_profile}' if login.trusted_profile else ''}")


# -- AWS -----------------------------------------------------------------------------------------------------------


def _check_profile(profile: str) -> None:
    if not profile:
        return
    from botocore.session import Session

    found = Session().available_profiles
    if profile not in found:
        there = f"there are: {', '.join(sorted(found))}" if found else "there is none in ~/.aws/config"
        raise CliError(f"AWS has no profile {profile}; {there}")


def _check_credentials(login: Login, *, check: bool) -> None:
    """Whose credentials they are, asked from AWS. Raises CliError."""
    if not check:
        return
    if login.profile and os.environ.get("AWS_ACCESS_KEY_ID"):
        raise CliError("AWS_ACCESS_KEY_ID is set, which goes before every profile: unset it first")
    if login.profile:
        os.environ["AWS_PROFILE"] = login.profile
    named = login.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    region = named or _region_of(login.profile)
    if not region:
        raise CliError("no region is known: add --region, or set one in the profile")
    identity = aws_access({ROLE_VARIABLE: login.role}, "").own
    tell(f"these are the credentials of {run_to_end(_caller(identity, region, login.profile))}")


def _region_of(profile: str) -> str:
    from botocore.session import Session

    return str(Session(profile=profile or None).get_config_variable("region") or "")


async def _caller(identity: Identity, region: str, profile: str) -> str:
    from freehold.engine.clock import SystemClock
    from freehold.engine.errors import CloudError
    from freehold.providers.aws.accounts import AwsCloud
    from freehold.providers.aws.identity_objects import DEFAULT

    try:
        with AwsCloud(None, SystemClock()) as cloud:
            return await cloud.account(DEFAULT, identity, region).client.identity()
    except ValueError as problem:
        raise CliError(f"--region: {problem}") from problem
    except CloudError as problem:
        raise CliError(f"AWS does not accept them: {problem.message}{_sso(profile, problem)}") from problem


def _sso(profile: str, problem: CloudError) -> str:
    """Say how a person signs on, where the profile is of IAM Identity Center."""
    from botocore.session import Session

    found = Session().full_config.get("profiles", {}).get(profile, {})
    if any(name.startswith("sso_") for name in found):
        return f"; the profile is of single sign-on: aws sso login --profile {profile}"
    return ""


# -- IBM Cloud -----------------------------------------------------------------------------------------------------


def _ibm(directory: StateDirectory, login: Login, api_key_file: str, *, forget: bool, check: bool) -> None:
    if forget:
        logins.forget_key(directory, login)
        logins.write(directory, replace(login, key_in="", trusted_profile=""))
        return
    key = _read_key(api_key_file)
    if check:
        os.environ[API_KEY_VARIABLE] = key  # from here on no message shows it
        tell(run_to_end(_account(key, login.trusted_profile)))
    logins.write(directory, replace(login, key_in=logins.store_key(directory, key)))


async def _account(key: str, profile: str) -> str:
    """Whose key it is, and which profile it assumes. Raises CliError."""
    from freehold.engine.clock import SystemClock
    from freehold.engine.errors import CloudError
    from freehold.providers.ibm.accounts import IbmAccount

    try:
        with IbmAccount(key, None, SystemClock(), profile=profile) as account:
            number = await account.read_account()
    except CloudError as problem:
        raise CliError(f"IBM Cloud does not accept the key: {problem.message}") from problem
    return f"this is a key of account {number}" + (f", as trusted profile {profile}" if profile else "")


def _read_key(filename: str) -> str:
    """From a file, standard input (``-``), or a prompt that shows nothing: a command line is seen by others."""
    try:
        return _given_key(filename)
    except UnicodeDecodeError:
        raise CliError(f"--api-key-file {filename}: it is no text, so no API key is in it") from None


def _given_key(filename: str) -> str:
    if filename == "-":
        key = sys.stdin.readline()
    elif filename:
        try:
            key = Path(filename).expanduser().read_text()
        except OSError as problem:
            raise CliError(f"--api-key-file {filename}: {problem.strerror}") from problem
    elif somebody_is_there():
        from getpass import getpass

        key = getpass("API key of IBM Cloud (nothing is shown): ")
    else:
        raise CliError("there is no terminal to ask for the API key on: --api-key-file FILE, or - for standard input")
    key = key.strip()
    if key.startswith("{"):  # the file that the console offers to download
        import json

        try:
            found = json.loads(key)["apikey"]
        except (ValueError, KeyError) as problem:
            raise CliError(f"--api-key-file {filename}: no apikey is in it") from problem
        if not isinstance(found, str):
            raise CliError(f"--api-key-file {filename}: its apikey is no text")
        key = found
    if not key:
        raise CliError("the API key is empty: nothing was stored")
    return key
