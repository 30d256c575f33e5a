"""Reads of IAM, which has no list that shows tags: each resource is read by itself.

IAM is global. botocore sends to its one address of the partition, whatever the session's region
(https://docs.aws.amazon.com/general/latest/gr/iam-service.html); the simulated cloud has no region for it either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from freehold.engine.errors import NotFound
from freehold.engine.port import run_together
from freehold.engine.resources import NonceSet, Observed
from freehold.providers.aws import errors
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.tags import birth_tags

SERVICE = "iam"
GONE = "NoSuchEntity"
"""IAM's code for what is not there (https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRole.html)."""


class IamReader:
    """Reads resources of one sort by their ids: ``operation`` takes an id as ``parameter``, ``decode`` also gets it."""

    def __init__(
        self, client: AwsClient, operation: str, parameter: str, decode: Callable[[str, Json], DecodedResource]
    ) -> None:
        self._client = client
        self._operation = operation
        self._parameter = parameter
        self._decode = decode

    async def read(self, idents: Iterable[str]) -> dict[str, Observed]:
        """Read each; what is not there is missing. Raises CloudError."""
        return {ident: seen.to_observed() for ident, seen in (await self._read_all(idents)).items()}

    async def read_born(self, idents: Iterable[str], nonces: NonceSet) -> dict[str, Observed]:
        """Read each; return those with a birth mark of ``nonces``. Raises CloudError."""
        found = await self._read_all(idents)
        return {
            ident: seen.to_observed() for ident, seen in found.items() if birth_tags.has_birth_nonce(seen.tags, nonces)
        }

    async def _read_all(self, idents: Iterable[str]) -> dict[str, DecodedResource]:
        asked = list(dict.fromkeys(idents))
        found: dict[str, DecodedResource] = {}
        for ident, seen in zip(asked, await run_together([self._read(each) for each in asked]), strict=True):
            if isinstance(seen, Exception):
                raise seen
            if seen is not None:
                found[ident] = seen
        return found

    async def _read(self, ident: str) -> DecodedResource | None:
        """Read one; None where IAM says that it is not there. A 404 of something in between proves no absence."""
        what: dict[str, Any] = {self._parameter: ident}
        try:
            return self._decode(ident, await self._client.read(SERVICE, self._operation, ident, **what))
        except NotFound as missing:
            if missing.code == GONE:
                return None
            again = f"{missing.message}. It is asked again"
            raise errors.ListNotFound(again, code=missing.code, request_id=missing.request_id) from missing
