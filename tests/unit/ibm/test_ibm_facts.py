"""Facts that are read before the graph is made: cached for an hour, but a new value is not refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.providers.ibm.facts import IbmFacts, NoSuchValue

NEW = "dal99"


async def test_a_new_zone_is_known_at_once(account: Any) -> None:
    """The list is cached; a user of a zone that was opened since must not be told that it does not exist."""
    facts = IbmFacts(account.client, account.clock)
    await facts.power_zone("dal10")
    with pytest.raises(NoSuchValue):
        await facts.power_zone(NEW)
    zones = account.settings.power_zones
    account.cloud.settings = replace(account.settings, power_zones={**zones, NEW: zones["dal10"]})
    assert (await facts.power_zone(NEW)).zone == NEW


async def test_a_new_resource_group_is_known_at_once(account: Any) -> None:
    """Users create the group after they have read that it is missing."""
    facts = IbmFacts(account.client, account.clock)
    with pytest.raises(NoSuchValue):
        await facts.resource_group_id("new")
    groups = {**account.settings.resource_groups, "new": "3" * 32}
    account.cloud.settings = replace(account.settings, resource_groups=groups)
    assert await facts.resource_group_id("new") == "3" * 32


async def test_what_is_known_of_one_region_is_not_answered_for_another(account: Any) -> None:
    """One operator serves clusters of several regions."""
    facts = IbmFacts(account.client, account.clock)
    for _ in range(2):
        for region in ("us-south", "eu-de"):
            zones = await facts.vpc_zones(region)
            assert zones and all(zone.startswith(region) for zone in zones)
