"""What the server of a state directory tells of the metadata controller: its options, and what its passes came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.cli.local.fast_read import ReadSession
from freehold.kube.errors import KubeError
from freehold.kube.resources import Json

if TYPE_CHECKING:
    from freehold.tags.policy.configuration import Configuration


async def outcomes(session: ReadSession) -> Json:
    """Empty where no operator runs there, and of a cluster."""
    from freehold.tags.pass_hooks import OUTCOMES

    try:
        return await session.client.request("POST", OUTCOMES, body={})
    except KubeError:  # no such path
        return {}


async def configuration(session: ReadSession) -> Configuration:
    """Ask for the operator's configuration; else return what its options are by default."""
    from freehold.tags.pass_hooks import configuration_of
    from freehold.tags.policy.configuration import Configuration

    return configuration_of(await outcomes(session)) or Configuration()
