"""Reader of a machine's Secret with bootstrap data: what the plan must know of it. The value stays here."""

from __future__ import annotations

from freehold.engine.errors import CloudError, NotFound
from freehold.engine.secret_values import SecretReader
from freehold.providers.aws.machine.bootstrap import FORMAT, VALUE, BootstrapFacts, describe_secret
from freehold.providers.objects.cloud_answers import NoAnswer, to_no_answer


async def read_bootstrap(secrets: SecretReader, name: str) -> BootstrapFacts | NoAnswer:
    """Read size, digest and format of the bootstrap data in the Secret ``name``."""
    try:
        value = await secrets.read(f"{name}/{VALUE}")
        return describe_secret(name, value, await _read_format(secrets, name))
    except CloudError as error:
        return to_no_answer(error)


async def _read_format(secrets: SecretReader, name: str) -> str:
    """Read the format of the data; empty where the Secret does not say."""
    try:
        return (await secrets.read(f"{name}/{FORMAT}")).decode(errors="replace").strip()
    except NotFound:
        return ""
