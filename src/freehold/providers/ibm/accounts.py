"""One IBM Cloud account as the operator uses it: session, limits, shared inventory, and an object's tools."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from freehold.engine.clock import Clock
from freehold.engine.durations import Durations
from freehold.engine.errors import CloudError
from freehold.engine.interface import EngineDeps, Intervals
from freehold.engine.inventory import Inventory
from freehold.engine.keys import KeyRing
from freehold.engine.kinds import Registry
from freehold.engine.outcomes import outcome_of_error
from freehold.engine.port import Port
from freehold.engine.resources import NodeKey, Observed, Ref, State
from freehold.engine.shared_lists import SharedLists
from freehold.providers.access.audit import Audit
from freehold.providers.access.limits import Limits
from freehold.providers.access.ports import THREADS, ObjectPort, PacedPort, ThreadPort, shared_look_port
from freehold.providers.access.served_account import ServedAccount
from freehold.providers.ibm import vpc
from freehold.providers.ibm.calls import IbmClient
from freehold.providers.ibm.facts import IbmFacts, NoSuchValue
from freehold.providers.ibm.marks import IbmCodec
from freehold.providers.ibm.powervs.existing import ById, IdLookup
from freehold.providers.ibm.powervs.facts import PowerZone
from freehold.providers.ibm.powervs.keys import BALANCER_KIND, SUBNET_KIND, WORKSPACE
from freehold.providers.ibm.registry import ibm_kinds
from freehold.providers.ibm.session import ApiKey, ComputeResource, Endpoints, IbmSession, Mount
from freehold.providers.ibm.tags import IbmTagger
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere, SeveralFound


class IbmAccount(ServedAccount):
    """The account that all objects share: one token, one inventory, one bucket an API. Ends its threads at exit.

    ``url`` is the base of a simulated cloud, None for the real one; ``mount`` and ``port`` put tests' own transport and
    port under it; ``wrap`` goes around what sends each request. ``profile``: the id of a trusted profile that the
    identity of the API key assumes, or, with ``token_file`` instead of a key, this pod.
    """

    def __init__(
        self,
        api_key: str,
        url: str | None,
        clock: Clock,
        audit: Audit | None = None,
        intervals: Intervals | None = None,
        *,
        mount: Mount | None = None,
        port: Port | None = None,
        limits: Limits | None = None,
        profile: str = "",
        token_file: str = "",
        wrap: Callable[[Port], Port] = lambda port: port,
    ) -> None:
        credentials = ComputeResource(profile, token_file) if token_file else ApiKey(api_key, profile)
        self._session = IbmSession(credentials, Endpoints.from_base(url) if url else None, mount)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ibm") if port is None else None
        paced = port or PacedPort(wrap(ThreadPort(self._require_pool())), limits or Limits(), clock)
        super().__init__(paced, clock, audit, intervals)
        self._codec = IbmCodec()
        facts = IbmFacts(IbmClient(self._session, self.port), clock)
        registry = ibm_kinds(self._session, self.port)
        looking = shared_look_port(self.port)
        self._inventory = Inventory(IbmTagger(IbmClient(self._session, looking), registry.carried), clock)
        self._durations = Durations(clock)
        self._lists = SharedLists(ibm_kinds(self._session, looking), clock)
        self._facts_reader = IbmFactsReader(facts, registry)

    def _require_pool(self) -> ThreadPoolExecutor:
        assert self._pool is not None
        return self._pool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def name(self) -> str:
        return "IBM Cloud"

    def _forget_owner(self, uuid: str) -> None:
        """Do nothing: nothing is kept for one owner alone."""

    def _build_deps_behind(self, port: Port, ring: KeyRing, uuid: str = "") -> EngineDeps:
        registry = ibm_kinds(self._session, port)
        return EngineDeps(
            registry=registry,
            codec=self._codec,
            tagger=IbmTagger(IbmClient(self._session, port), registry.carried),
            inventory=self._inventory,
            port=port,
            clock=self._clock,
            intervals=self._intervals,
            durations=self._durations,
            lists=self._lists,
            ring=ring,
            identity=self._session.iam_id,
        )

    async def read_account(self) -> str:
        """Return the id of the account of the credentials. Raises CloudError."""
        return await IbmClient(self._session, self.port).account()

    def tagger_for(self, subject: str) -> IbmTagger:
        """Return a tagger for one object; its calls are audited under ``subject``."""
        return IbmTagger(IbmClient(self._session, ObjectPort(self.port, subject, self._audit)), ())

    def forget_answers(self) -> None:
        """Do nothing: the cached facts, zones and the id of a resource group, do not change under an object."""

    def facts_reader(self) -> IbmFactsReader:
        """Return the reader of facts that manifests depend on; it is shared and caches its answers."""
        return self._facts_reader


class IbmFactsReader:
    """IBM Cloud's answers to the reconciler's questions (adapter.PowerVSFactsReader), and lookups of resources."""

    def __init__(self, facts: IbmFacts, registry: Registry) -> None:
        self._facts = facts
        self._kinds = registry
        self._places: dict[tuple[str, str], str] = {}

    async def resource_group(self, name: str) -> Answer[str] | NotThere:
        try:
            return Answer(await self._facts.resource_group_id(name))
        except NoSuchValue as error:
            return NotThere(error.known)

    async def zone(self, zone: str) -> Answer[PowerZone] | NotThere:
        try:
            found = await self._facts.power_zone(zone)
        except NoSuchValue as error:
            return NotThere(error.known)
        return Answer(PowerZone(found.region, found.edge_router))

    async def vpc_zones(self, region: str) -> Answer[tuple[str, ...]] | NotThere:
        try:
            return Answer(await self._facts.vpc_zones(region))
        except NoSuchValue as error:
            return NotThere(error.known)

    async def place(self, kind: str, region: str, ident: str) -> Answer[str] | NotThere | NoAnswer:
        """Return the zone of a workspace, or the VPC of a resource in one. Cached: nothing ever moves."""
        if (kind, ident) in self._places:
            return Answer(self._places[kind, ident])
        lookup = ById(NodeKey(kind, ident), ident if kind == WORKSPACE.kind else vpc.join_id(region, ident))
        seen = await self.look_up(lookup)
        if not isinstance(seen, Answer):
            return NotThere() if isinstance(seen, SeveralFound) else seen
        found = await self._place_of(kind, region, seen.value)
        if isinstance(found, Answer):
            self._places[kind, ident] = found.value
        return found

    async def _place_of(self, kind: str, region: str, seen: Observed) -> Answer[str] | NotThere | NoAnswer:
        """Return its zone or VPC; that of a load balancer is its subnets'."""
        if kind != BALANCER_KIND:
            return Answer(str(seen.attributes["zone" if kind == WORKSPACE.kind else "vpc"]))
        subnets = seen.attributes["subnets"]
        return await self.place(SUBNET_KIND, region, subnets[0]) if subnets else NotThere()

    async def look_up(self, lookup: IdLookup) -> Answer[Observed] | NotThere | SeveralFound | NoAnswer:
        """Return a resource that must exist already, by id or by name."""
        driver = self._kinds[lookup.key.kind].driver
        try:
            if isinstance(lookup, ById):
                seen = (await driver.observe([Ref(lookup.id)])).get(lookup.id)
                return Answer(seen) if seen else NotThere()
            found = (await driver.find([lookup])).get(lookup.key, ())
        except CloudError as error:
            outcome = outcome_of_error(error)
            return NoAnswer(outcome.reason, outcome.message, outcome.after)
        there = [one for one in found if one.state is not State.DELETING]
        if len(there) > 1:
            return SeveralFound(tuple(sorted(one.id.rpartition("/")[2] for one in there)))
        return Answer(there[0]) if there else NotThere()
