"""The collection alone, on a simulated AWS and on virtual time: a network with a cluster's leftovers, and no object."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from freehold.collection.policy import Collect, Policy, Volumes
from freehold.collection.sweep import Sweep
from freehold.collection.things import CollectionTask
from freehold.engine.clock import ManualClock
from freehold.engine.collection import Collected, Site
from freehold.engine.outcomes import Blocked, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.port import InlinePort
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.collectors.survey import IN_FLIGHT, AwsSurvey
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold_sim.aws.cloud import SimulatedAWS
from harness.aws_account import REGION
from harness.aws_clients import SharedClients
from harness.cloud_actors import OtherUser
from harness.cloud_bystanders import strange_ground
from harness.cloud_controllers import CloudProvider, Nodes
from harness.stepping import run_blocking

OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSCluster", "default", "demo")


class Sweeping:
    """One sweep of cluster ``demo``, and what its controllers have made (``provider``, ``nodes``)."""

    def __init__(self, volumes: Volumes = Volumes.DELETE) -> None:
        self.clock = ManualClock()
        self.cloud = SimulatedAWS(self.clock)
        self.user = OtherUser(self.cloud.strangers.act, region=REGION)
        self.ground = strange_ground(self.user, "demo")
        self.provider = CloudProvider(self.user, self.ground)
        self.nodes = Nodes(self.user, self.ground)
        self.policy: Policy = Collect(tuple(CollectionTask), volumes, "default")
        session = SharedClients(self.cloud, REGION, wall=self.clock.now)
        client = AwsClient(session, InlinePort())
        survey = AwsSurvey(client, AwsTagger(client, self.clock), asyncio.Semaphore(IN_FLIGHT))
        self._sweep = Sweep("demo", survey, self.clock)
        self.steps = 0

    def step(self, *, refused: bool = False) -> Collected:
        self.steps += 1
        return run_blocking(self._sweep.step(self._prove, self._ask, _no_rivals, refused=refused))

    def run(self, seconds: float, *, refused: bool = False) -> Collected:
        """Take steps when they are asked for, until it is done, or for that long."""
        end = self.clock.now() + seconds
        while True:
            found = self.step(refused=refused)
            if found.done and not refused:
                return found
            after = min((o.after for o in found.outcomes.values() if isinstance(o, Waiting | Blocked)), default=60.0)
            if self.clock.now() + after > end:
                self.clock.advance(end - self.clock.now())
                return found
            self.clock.advance(max(after, 0.01))

    def calls(self) -> int:
        """How many requests the operator has sent."""
        return sum(call.actor != "stranger" for call in self.cloud.calls)

    def there(self, ident: str) -> bool:
        rows = self.cloud.strangers.resources()
        return any(row["id"] == ident and row["state"] not in ("deleted", "terminated") for row in rows)

    async def _prove(self) -> Site:
        return Site(replace(OWNER), self.ground.vpc)

    async def _ask(self) -> Policy:
        return self.policy


def said(found: Collected) -> str:
    """Return all that it says, for people."""
    return " ".join(o.message for o in found.outcomes.values() if isinstance(o, Waiting | Blocked))


async def _no_rivals(site: Site) -> tuple[str, ...]:
    return ()
