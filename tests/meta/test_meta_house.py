"""The rules of the rows house.* (benchmarks/house.py)."""

import pytest
from benchmarks.house import find_bare_functions, is_bare, way_to_create_tags, way_to_create_vpc


@pytest.mark.parametrize("name", ["told", "_of", "named", "shown", "beside"])
def test_a_participle_or_a_preposition_alone_is_bare(name: str) -> None:
    assert is_bare(name)


@pytest.mark.parametrize("name", ["read", "read_marks", "is_named", "feed", "told_twice", "create", "__init__"])
def test_a_verb_or_a_name_of_two_words_is_not_bare(name: str) -> None:
    assert not is_bare(name)


def test_no_function_of_the_product_has_a_bare_name() -> None:
    """``up`` and ``down`` are commands: the name of the function is what a person types."""
    assert find_bare_functions() == ["down", "up"]


async def test_the_ways_begin_at_a_reconcile_and_end_at_the_sdk() -> None:
    for way in (way_to_create_vpc(), await way_to_create_tags()):
        assert way.steps[0].endswith(".reconcile")
        assert "AwsClient" in way.steps[-1]
