"""What is asked before anything can be wanted: kept for an hour, but never so that what is new is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.clouds.ibm.facts import IbmFacts, NoSuchValue

NEW = "dal99"


async def test_a_zone_that_is_new_is_known_at_once(account: Any) -> None:
    """The list is kept; a person who names what IBM Cloud has opened since must not be told that it does not exist."""
    facts = IbmFacts(account.client, account.clock)
    await facts.power_zone("dal10")
    with pytest.raises(NoSuchValue):
        await facts.power_zone(NEW)
    zones = account.settings.power_zones
    account.cloud.settings = replace(account.settings, power_zones={**zones, NEW: zones["dal10"]})
    assert (await facts.power_zone(NEW)).zone == NEW


async def test_a_resource_group_that_is_new_is_known_at_once(account: Any) -> None:
    """People create the group after they have read that it is missing."""
    facts = IbmFacts(account.client, account.clock)
    with pytest.raises(NoSuchValue):
        await facts.resource_group_id("new")
    groups = {**account.settings.resource_groups, "new": "3" * 32}
    account.cloud.settings = replace(account.settings, resource_groups=groups)
    assert await facts.resource_group_id("new") == "3" * 32
