"""What the server of a state directory tells of the metadata controller: its options, and what its passes came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.cli.local.fast_read import ReadSession
from freehold.kube.errors import KubeError
from freehold.kube.resources import Json

if TYPE_CHECKING:
    from freehold.tagging.configuration import Configuration


async def outcomes(session: ReadSession) -> Json:
    """Empty where no operator runs there, and of a cluster."""
    from freehold.operator.metadata.outcomes import OUTCOMES

    try:
        return await session.client.request("POST", OUTCOMES, body={})
    except KubeError:  # no such path
        return {}


async def configuration(session: ReadSession) -> Configuration:
    """The operator's own where it can be asked, else what its options are by default."""
    from freehold.operator.metadata.outcomes import configuration_of
    from freehold.tagging.configuration import Configuration

    return configuration_of(await outcomes(session)) or Configuration()
