"""A search for a tag reads only an index of resources by tag: it must find the same as a search of everything."""

from collections.abc import Callable
from typing import Any

import pytest

from freehold_sim.ibm.settings import Lags

TAGS = {"one": ["owner:A", "part:x"], "two": ["OWNER:b", "part:y"], "three": ["part:z"], "four": []}
QUERIES = {
    'tags:"owner:a"': {"one"},
    "tags:owner\\:*": {"one", "two"},
    "tags:*:B": {"two"},
    "tags:part\\:? AND NOT tags:owner\\:*": {"three"},
    'tags:"owner:a" OR name:four': {"one", "four"},
    'type:vpc AND tags:"owner:b"': {"two"},
    'tags:"owner:a" AND tags:"owner:b"': set(),
    'tags:"owner:a" OR tags:part\\:z*': {"one", "three"},
    "NOT tags:part\\:*": {"four"},
    'tags:"nobody"': set(),
}


@pytest.fixture
def tagged(make_account: Callable[..., Any]) -> Any:
    account = make_account(lags=Lags.none())
    for name, tags in TAGS.items():
        account.cloud.strangers.make("vpc", region="us-south", name=name, tags=tags)
    return account


def names(account: Any, query: str) -> set[str]:
    items = account.search.search(query=query, fields=["name", "type"], limit=100).get_result()["items"]
    return {item["name"] for item in items} & TAGS.keys()


@pytest.mark.parametrize("query", QUERIES)
def test_tags_are_found(tagged: Any, query: str) -> None:
    assert names(tagged, query) == QUERIES[query]


def test_a_resource_is_found_by_its_crn_or_its_tag(tagged: Any) -> None:
    crn = tagged.cloud.world.all("vpc", name="four")[0]["crn"]
    assert names(tagged, f'crn:"{crn}" OR tags:"owner:a"') == {"one", "four"}


def test_a_restored_world_is_searched_by_its_own_tags(tagged: Any) -> None:
    """A kill -9 of the simulator, or a crash test's snapshot, restores other data into the same world."""
    before = tagged.cloud.snapshot()
    crn = tagged.cloud.world.all("vpc", name="four")[0]["crn"]
    tagged.cloud.strangers.attach(crn, "owner:a")
    assert names(tagged, 'tags:"owner:a"') == {"one", "four"}
    tagged.cloud.restore(before)
    assert names(tagged, 'tags:"owner:a"') == {"one"}
    tagged.cloud.strangers.attach(crn, "fresh:tag")
    assert names(tagged, "tags:fresh\\:*") == {"four"}
