"""Bodies in YAML: read as Go reads them, and refused before libyaml can end the process."""

from __future__ import annotations

import pytest

from freehold_apiserver.yaml_body import decode


def test_a_time_without_quotes_is_text() -> None:
    assert decode(b"a: 2026-11-22") == {"a": "2026-11-22"}


@pytest.mark.parametrize("text", ["[", "{a: ", "- ", "? "])
def test_a_million_levels_are_refused(text: str) -> None:
    """libyaml recurses without a limit: the whole server would end with a segmentation fault."""
    with pytest.raises(ValueError, match="lists and maps"):
        decode(text.encode() * 1_000_000)


def test_what_is_no_yaml_is_refused() -> None:
    with pytest.raises(ValueError, match="expected"):
        decode(b"a: [")
