"""Where the tag API is denied or absent, the services' own tag calls stand in, and nothing is taken for absent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.inventory import TagChange, Tagger, TagsByTarget
from freehold.engine.outcomes import Ready
from freehold.engine.tag_api_fallback import ASKED_AGAIN, FallbackTagger
from harness.stepping import run_blocking
from lab.life import Life
from lab.network import NetworkWorld

TAGS = frozenset({"team:red"})


class _Tags:
    """A tagger in memory that refuses some operations, or some targets."""

    api = "tags"

    def __init__(self, tags: Mapping[str, frozenset[str]]) -> None:
        self.tags = dict(tags)
        self.refusal: errors.CloudError | None = None
        self.refused: set[str] = set()
        self.asked = 0

    def _answer(self) -> None:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByTarget:
        self._answer()
        return self.tags

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        return await self.find_marked("")

    async def tags_of(self, target: str) -> frozenset[str]:
        self._answer()
        return self.tags.get(target, frozenset())

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | errors.CloudError]:
        self.asked += 1
        return {
            target: errors.Denied(target) if self._refuses(target) else self.tags.get(target, frozenset())
            for target in targets
        }

    def _refuses(self, target: str) -> bool:
        return self.refusal is not None or target in self.refused

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, errors.CloudError]:
        self.asked += 1
        failed: dict[str, errors.CloudError] = {}
        for change in changes:
            if self._refuses(change.target):
                failed[change.target] = errors.Denied(change.target)
            else:
                self.tags[change.target] = self.tags.get(change.target, frozenset()) | change.tags
        return failed

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, errors.CloudError]:
        return {}


def _pair(refusal: errors.CloudError | None = None) -> tuple[_Tags, _Tags, ManualClock, Tagger]:
    first, services, clock = _Tags({}), _Tags({"a": TAGS}), ManualClock()
    first.refusal = refusal
    return first, services, clock, FallbackTagger(first, services, clock)


@pytest.mark.parametrize("refusal", [errors.Denied("no"), errors.NotOffered("not in this partition")], ids=str)
def test_a_search_that_is_refused_is_answered_by_the_services(refusal: errors.CloudError) -> None:
    _, _, _, tagger = _pair(refusal)
    assert run_blocking(tagger.find_marked("uuid")) == run_blocking(tagger.everything()) == {"a": TAGS}
    assert run_blocking(tagger.tags_of("a")) == TAGS


def test_what_is_refused_once_is_not_asked_for_again_before_an_hour_is_over() -> None:
    """Each refusal is a call; after that somebody may have granted the permission."""
    first, _, clock, tagger = _pair(errors.Denied("no"))
    for _ in range(5):
        run_blocking(tagger.find_marked("uuid"))
    assert first.asked == 1
    clock.advance(ASKED_AGAIN)
    first.refusal = None
    assert run_blocking(tagger.find_marked("uuid")) == {}
    assert first.asked == 2


def test_an_outage_is_no_refusal() -> None:
    """Another answer would hide it: the next pass asks again."""
    first, services, _, tagger = _pair(errors.Unavailable("not now"))
    with pytest.raises(errors.Unavailable):
        run_blocking(tagger.find_marked("uuid"))
    assert (first.asked, services.asked) == (1, 0)


def test_where_both_refuse_nothing_counts_as_absent() -> None:
    _, services, _, tagger = _pair(errors.Denied("no"))
    services.refusal = errors.Denied("neither")
    with pytest.raises(errors.Denied, match="neither"):
        run_blocking(tagger.find_marked("uuid"))


def test_single_targets_that_are_refused_go_to_the_services_and_the_others_do_not() -> None:
    first, services, _, tagger = _pair()
    first.refused = {"a"}
    assert run_blocking(tagger.tags_of_each(["a", "b"])) == {"a": TAGS, "b": frozenset()}
    assert run_blocking(tagger.attach([TagChange("a", frozenset({"x"})), TagChange("b", frozenset({"y"}))])) == {}
    assert services.tags == {"a": TAGS | {"x"}} and first.tags == {"b": frozenset({"y"})}
    assert (first.asked, services.asked) == (2, 2)
    run_blocking(tagger.tags_of_each(["b"]))
    run_blocking(tagger.attach([TagChange("b", TAGS)]))
    assert (first.asked, services.asked) == (4, 2)


def test_a_batch_that_is_refused_whole_is_sent_to_the_services_at_once_the_next_time() -> None:
    first, services, _, tagger = _pair(errors.Denied("no"))
    for _ in range(3):
        assert run_blocking(tagger.attach([TagChange("b", TAGS)])) == {}
    assert (first.asked, services.asked) == (1, 3)


def test_what_the_services_refuse_too_is_told() -> None:
    _, services, _, tagger = _pair(errors.Denied("no"))
    services.refused = {"b"}
    assert set(run_blocking(tagger.attach([TagChange("b", TAGS)]))) == {"b"}


def test_a_cluster_without_the_tag_api_is_made_marked_and_deleted() -> None:
    world = NetworkWorld(tag_api=False)
    life = Life(world)
    assert all(isinstance(outcome, Ready) for outcome in life.create().values())
    assert all(r.tagged(world.cloud.now()) for r in world.cloud.living())
    life.delete()
    assert not world.living()
