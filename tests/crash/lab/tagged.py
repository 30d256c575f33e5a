"""A delta over 100 resources of a simulated AWS: what is asked for, what others do meanwhile, and what must be so then.

Each case begins from one snapshot of the account and of the stored objects.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from freehold.engine.errors import CloudError
from freehold.engine.port import Call, Effect
from freehold.kube.resources import CONFIG_MAPS
from freehold.tags.policy.batches import Batch, TagVerb
from freehold.tags.policy.classifiers import Query
from freehold.tags.policy.plan_resources import ReadCost
from freehold.tags.policy.references import Refused
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.policy.tag_request import TagScope
from freehold.tags.tag_endpoint import TagEndpoint, UnreachableRegion
from harness.metadata import CLASSIFIER, Killed, Lab, nobody

GROUPS, SECRETS = 70, 30
FOREIGN = {"owner": "somebody", "Ünï code/key": " väl ue ", "empty": "", "env2": "prod"}
"""Byte for byte as they were, whatever happens."""
BEFORE, AFTER = {"env": "test", "centre": "eng"}, {"env": "prod", "team": "x"}
FLEET = "fleet"
"""The other classifier, which the secrets have."""

Tags = dict[str, str]
Wrap = Callable[["Story", TagEndpoint], TagEndpoint]


class Story(Lab):
    """``wrap``: a careless edit of the product, which must be noticed."""

    wrap: Wrap | None = None
    kills = 0

    async def begin(self) -> None:
        """All resources have the tags of before; five have drifted since."""
        groups = self.groups(GROUPS, **FOREIGN)
        secrets = self.secrets(SECRETS)
        for arn in secrets:
            self.somebody_strips(arn, CLASSIFIER)
            self.somebody_sets(arn, **{FLEET: "s"}, **FOREIGN)
        self.wait(60)
        self.arns = [*groups, *secrets]
        await self.tags("tags", BEFORE)
        await self.cloud("metadata", "tags", classifiers={CLASSIFIER: "owned", FLEET: "s"})
        await self.settle()
        for arn in groups[:5]:
            self.somebody_sets(arn, env="drifted")
        self.foreign = {arn: self._foreign_on(arn) for arn in self.arns}
        self.wait()
        self._record = self._records()
        tags: dict[str, str | None] = {**dict.fromkeys(BEFORE), **AFTER}
        await self.edit("AWSMetadata", "tags", {"resourcetags": tags})
        self._cloud = self.account.cloud.snapshot()
        self._objects = copy.deepcopy(self.objects.objects)
        self._foreign = copy.deepcopy(self.foreign)

    def again(self) -> None:
        """Back to the moment before the delta, with a process that remembers nothing."""
        self.account.cloud.restore(self._cloud)
        self.objects.objects = copy.deepcopy(self._objects)
        self.foreign = copy.deepcopy(self._foreign)
        self.objects.before = self.objects.after = lambda verb, name: None
        self.port.at, self.port.before_each, self.kills = None, lambda call: None, 0
        self.port.between = self.objects.between = nobody
        self.port.calls.clear()
        self.objects.written.clear()
        self.audit.begun.clear()
        self.audit.ended.clear()
        self.wait()
        self.restart()

    def _foreign_on(self, arn: str) -> Tags:
        return {key: value for key, value in self.tags_on(arn).items() if key not in (*BEFORE, *AFTER)}

    async def find_endpoints(
        self, place: TagScope, subject: str
    ) -> Sequence[TagEndpoint | UnreachableRegion] | Refused:
        found = await super().find_endpoints(place, subject)
        if self.wrap is None or isinstance(found, Refused):
            return found
        return [each if isinstance(each, UnreachableRegion) else self.wrap(self, each) for each in found]

    # -- what happens -------------------------------------------------------------------------------------------

    async def pursue(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Until all are at rest; a process that is killed is followed by another one. ``meanwhile``: after a kill."""
        try:
            await self.settle()
        except Killed:
            self.kills += 1
            self.port.at = None
            self.objects.before = self.objects.after = lambda verb, name: None
            meanwhile()
            self.restart()
            self.wait(1.0)
        self.port.before_each = lambda call: None
        self.wait()
        await self.settle()

    def kill_at_store(self, number: int, *, after: bool) -> None:
        def kill(verb: str, name: str) -> None:
            if len(self.objects.written) - after == number:
                raise Killed

        if after:
            self.objects.after = kill
        else:
            self.objects.before = kill

    def stranger_at(self, number: int) -> None:
        """Before this call others add a tag, change one of theirs, and set three that are asked about."""

        def write(call: Call) -> None:
            if len(self.port.calls) != number:
                return
            for arn in (self.arns[number % len(self.arns)], self.arns[0], self.arns[-1]):
                self._set_foreign(arn, {f"theirs-{number}": "v", "owner": f"somebody else {number}"})
            self.somebody_sets(self.arns[(number + 1) % GROUPS], env="hostile")
            taken = self.arns[(number + 2) % GROUPS]
            self.somebody_sets(taken, centre="mine")
            self.foreign[taken]["centre"] = "mine"

        self.port.before_each = write

    def _set_foreign(self, arn: str, tags: Tags) -> None:
        self.somebody_sets(arn, **tags)
        self.foreign[arn] |= tags

    def _records(self) -> dict[Any, Any]:
        return {key: copy.deepcopy(row) for key, row in self.objects.objects.items() if key[0] == CONFIG_MAPS.kind}

    def roll_back_record(self) -> None:
        """As a restore of the operator's namespace does: an older content, under a new version."""
        for key, row in self._record.items():
            stored = self.objects.objects[key]
            stored["data"] = copy.deepcopy(row["data"])
            stored["metadata"]["resourceVersion"] += "0"

    def lose_record_now(self) -> None:
        for key in [key for key in self.objects.objects if key[0] == CONFIG_MAPS.kind]:
            del self.objects.objects[key]

    # -- what must be so then -----------------------------------------------------------------------------------

    async def check(self, *, kept: Collection[str] = ()) -> None:
        """``kept``: keys that may have stayed, because nothing proves any more that they are ours."""
        for arn in self.arns:
            wanted = {**self.foreign[arn], **AFTER}
            found = {key: value for key, value in self.tags_on(arn).items() if key not in kept or key in wanted}
            assert found == wanted, f"{arn} has {found}, not {wanted}"
        self.check_audit()
        self.wait()
        self.sent()
        await self.settle()
        assert self.writes() == [], "at rest nothing is written"

    def check_audit(self) -> None:
        """Each write that reached the cloud has one line before it and one after it."""
        begun = Counter(_spelled(call.api, call.operation) for call in self.audit.begun)
        reached = Counter(
            each.operation.lower()
            for each in self.account.cloud.calls[len(self._cloud.calls) :]
            if each.mutating and each.actor == "api"
        )
        assert reached <= begun, "a write without a line"
        assert sum((begun - reached).values()) <= self.kills, "a line without a write"
        assert len(self.audit.ended) == len(self.audit.begun)
        assert all(call.effect is Effect.WRITE and call.detail for call in self.audit.begun)


def _spelled(api: str, operation: str) -> str:
    return f"{api}.{operation.replace('_', '')}"


# -- careless edits -------------------------------------------------------------------------------------------------


class _Wrapped:
    """A place that does something else than it should."""

    def __init__(self, story: Story, inner: TagEndpoint) -> None:
        self.story = story
        self.inner = inner

    @property
    def account(self) -> str:
        return self.inner.account

    @property
    def region(self) -> str:
        return self.inner.region

    async def find(self, query: Query) -> Sequence[TaggedResource]:
        return await self.inner.find(query)

    async def read(self, ids: Collection[str]) -> Mapping[str, TaggedResource | CloudError]:
        return await self.inner.read(ids)

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        return await self.inner.send(batch)

    def cost(self, resource: str) -> ReadCost:
        return self.inner.cost(resource)

    def address(self, resource: str) -> str:
        return self.inner.address(resource)

    def holds(self, resource: str, address: str) -> bool:
        return self.inner.holds(resource, address)

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]:
        return self.inner.named_in(error, resources)


class ReplacesTheList(_Wrapped):
    """Writes the whole list of tags, as it was read, with ours in it."""

    def __init__(self, story: Story, inner: TagEndpoint) -> None:
        super().__init__(story, inner)
        self._read: dict[str, Tags] = {}

    async def find(self, query: Query) -> Sequence[TaggedResource]:
        found = await super().find(query)
        self._read |= {each.id: {key: min(values) for key, values in each.tags.items()} for each in found}
        return found

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        if batch.verb in (TagVerb.CREATE_TAGS, TagVerb.TAG_RESOURCES):
            for arn in batch.targets:
                gone = set(self.story.tags_on(arn)) - set(self._read[arn]) - {key for key, _ in batch.tags}
                self.story.somebody_strips(arn, *gone)
        return await super().send(batch)


class JoinsByAnd(_Wrapped):
    """Asks for all classifiers in one query, whose filters AWS joins by AND."""

    async def find(self, query: Query) -> Sequence[TaggedResource]:
        keys = {CLASSIFIER, FLEET}
        return [each for each in await super().find(query) if keys <= set(each.tags)]
