"""Our adapters on a simulated AWS account."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from freehold.providers.aws.kind_facts import operations_of
from freehold_sim.aws.settings import Settings
from harness.aws_account import AwsAccount


@pytest.fixture
def make_account() -> Callable[..., AwsAccount]:
    """Return a maker of accounts: ``make_account(page_size=1)`` takes fields of Settings."""
    return lambda **fields: AwsAccount(Settings(**fields))


@pytest.fixture
def account() -> AwsAccount:
    return AwsAccount()


@pytest.fixture(scope="session")
def used_operations() -> Callable[[str], frozenset[str]]:
    """Return which operations of a service the kinds and the tagger use, by the table of kinds."""
    return operations_of
