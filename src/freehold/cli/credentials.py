"""The credentials that a command works with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.cli.errors import CliError
from freehold.cli.terminal import API_KEY_VARIABLE

if TYPE_CHECKING:
    from freehold.controllers.cloud_access import CloudAccess

API_KEY = "simulated-api-key"
ACCESS_KEY, SECRET_KEY = "AKIASIMULATED0000001", "simulated-secret-key"
"""Those that the simulated accounts know; no secrets."""
SIMULATED_REGION = "us-east-1"

AWS_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
ROLE_VARIABLE = "FREEHOLD_AWS_ROLE"
"""The ARN of a role that the operator's own credentials assume."""
PROFILE_VARIABLE = "FREEHOLD_IBM_PROFILE"
"""The id of a trusted profile of IBM Cloud that the identity of the API key assumes."""
AWS_FILES = {"AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials", "AWS_CONFIG_FILE": ".aws/config"}
"""Where the SDK looks (https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html)."""


def require_some(env: Mapping[str, str], simulated: str = "--simulate") -> None:
    """Raises CliError where there are credentials for no cloud at all: somebody forgot the option ``simulated``."""
    if not api_key_of(env) and not has_aws(env):
        raise CliError(
            f"no credentials: set {API_KEY_VARIABLE} to your API key of IBM Cloud, or AWS_PROFILE to your profile of "
            f"AWS; or use the simulated clouds: {simulated}"
        )


def api_key_of(env: Mapping[str, str]) -> str:
    """The key of the IBM Cloud account, empty where there is none."""
    return env.get(API_KEY_VARIABLE, "").strip()


def has_aws(env: Mapping[str, str]) -> bool:
    """Whether the SDK of AWS may find some. It is not asked itself: its import takes long, and it asks the network."""
    if any(env.get(name) for name in AWS_VARIABLES):
        return True
    home = Path(env.get("HOME", "~")).expanduser()
    return any(Path(env.get(name) or home / usual).expanduser().exists() for name, usual in AWS_FILES.items())


def access_of(simulator: str, env: Mapping[str, str] = os.environ) -> CloudAccess:
    """How to reach the clouds that ``simulator`` (a URL) simulates, and the real ones where it is empty.

    Each is addressed by its name, since any of them may be at the root.
    """
    from freehold.controllers.cloud_access import CloudAccess
    from freehold.providers.aws.identities import AssumedRole, Identity, OwnCredentials, StaticKeys

    if not simulator:
        region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or ""
        mine: Identity = OwnCredentials()
        if role := env.get(ROLE_VARIABLE):
            mine = AssumedRole(role, mine)
        regions = (region,) if region else ()
        profile = env.get(PROFILE_VARIABLE, "").strip()
        return CloudAccess(ibm_key=api_key_of(env), ibm_profile=profile, aws_own=mine, aws_regions=regions)
    own = StaticKeys(ACCESS_KEY, SECRET_KEY, origin="the simulated account")
    return CloudAccess(
        ibm_key=API_KEY,
        ibm_url=f"{simulator}/ibm",
        aws_url=f"{simulator}/aws",
        aws_own=own,
        aws_regions=(SIMULATED_REGION,),
    )
