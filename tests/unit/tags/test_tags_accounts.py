"""What the places of tags refuse to ask their cloud."""

from __future__ import annotations

import pytest

from freehold.providers.ibm.tag_dialect import IBM
from freehold.tags.policy.classifiers import Query
from freehold.tags.policy.tag_request import TagScope
from harness.metadata import NAMESPACE
from harness.metadata_on_both import Both


async def test_a20_a_tag_of_ibm_cloud_is_found_by_all_of_it() -> None:
    """A search for no tag at all answers with the whole account."""
    both = Both()
    (crn,) = both.on_ibm(1)
    (place,) = await both.find_endpoints(TagScope(IBM, NAMESPACE), "metadata")
    assert [each.id for each in await place.find(Query("fleet", ("a",)))] == [crn]
    both.sent()
    with pytest.raises(ValueError, match="any value"):
        await place.find(Query("fleet", None))
    assert both.sent() == []
