"""The facts of IBM Cloud where nobody may be asked: no question has an answer (``freehold.providers.aws.unasked``)."""

from __future__ import annotations

from typing import NoReturn

from freehold.engine.errors import Retryable
from freehold.providers.ibm.powervs.existing import IdLookup
from freehold.providers.ibm.powervs.facts import PowerZone
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NoAnswer, NotThere


def _refuse() -> NoReturn:
    raise Retryable("IBM Cloud is not asked when an object is applied")


class UnaskedPowerVS:
    """The reader of the facts of an IBMPowerVSCluster."""

    async def resource_group(self, name: str) -> Answer[str] | NotThere:
        _refuse()

    async def zone(self, zone: str) -> Answer[PowerZone] | NotThere:
        _refuse()

    async def vpc_zones(self, region: str) -> Answer[tuple[str, ...]] | NotThere:
        _refuse()

    async def place(self, kind: str, region: str, ident: str) -> NoAnswer:
        return NOT_ASKED

    async def look_up(self, lookup: IdLookup) -> NoAnswer:
        return NOT_ASKED
