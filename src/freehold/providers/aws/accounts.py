"""The AWS accounts of the operator: one for each identity and region that objects name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from weakref import WeakKeyDictionary

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.engine.clock import Clock
from freehold.engine.durations import Durations
from freehold.engine.errors import CloudError, Denied, Invalid
from freehold.engine.interface import EngineDeps, Intervals
from freehold.engine.inventory import Inventory, TagsByTarget
from freehold.engine.keys import KeyRing
from freehold.engine.kinds import Registry
from freehold.engine.port import Port, ReadOnlyPort
from freehold.engine.secret_values import SecretValue
from freehold.engine.shared_lists import SharedLists
from freehold.providers.access.accounts import AccountPlace, AccountScope, Binding, NoCredentials
from freehold.providers.access.audit import Audit
from freehold.providers.access.limits import Limits, TokenBucket
from freehold.providers.access.ports import THREADS, ObjectPort, PacedPort, ThreadPort, shared_look_port
from freehold.providers.access.served_account import ServedAccount
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws import cluster_token
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.cluster.facts_reader import AwsFactsReader
from freehold.providers.aws.collectors.survey import IN_FLIGHT, AwsSurvey, marks_of
from freehold.providers.aws.control_plane.facts_reader import AwsControlPlaneFactsReader
from freehold.providers.aws.facts import AwsFacts
from freehold.providers.aws.identities import Identity
from freehold.providers.aws.identity_objects import (
    DEFAULT,
    KINDS,
    IdentityNotAllowed,
    IdentityNotUsable,
    IdentityReference,
    StoredIdentities,
    reference_of,
)
from freehold.providers.aws.machine.facts_reader import AwsMachineFactsReader
from freehold.providers.aws.permissions.policies import COLLECTED_METHODS
from freehold.providers.aws.registry import aws_kinds
from freehold.providers.aws.session import AwsSession, Mount, find_sts_host
from freehold.providers.aws.tags.tag_map import AwsCodec
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold.providers.objects.adapter import Adapter

_NO_PLACE = "no region of AWS is known here: give it with --region, or set AWS_REGION"
_IDENTITY = "spec.identityRef"
_NO_REGION = "it is missing; give the AWS region, for example eu-central-1"

NewLimits = Callable[[], Limits]


class AwsAccount(ServedAccount):
    """One identity in one region, shared by all objects that name them."""

    def __init__(
        self, session: AwsSession, port: Port, clock: Clock, audit: Audit | None, intervals: Intervals | None
    ) -> None:
        super().__init__(port, clock, audit, intervals)
        self._session = session
        self._codec = AwsCodec()
        self._refused_at: dict[str, float] = {}
        self._narrowed: dict[str, AwsSession] = {}
        """Sessions for the deletes of one owner, by its uuid."""
        self._collecting: dict[str, AwsSession] = {}
        """Sessions for what is collected for one object, by its subject."""
        self._turns = asyncio.Semaphore(IN_FLIGHT)
        self._durations = Durations(clock)
        looking = AwsClient(session, shared_look_port(port))
        registry = aws_kinds(looking)
        self._inventory = Inventory(self._new_tagger(looking, registry.carried), clock)
        self._lists = SharedLists(registry, clock)
        self.client = AwsClient(session, port)
        """A client for calls outside of any object's pass."""
        self.tags = self._new_tagger(self.client, registry.carried)
        self.facts = AwsFactsReader(self._new_facts())
        """Facts that manifests depend on, shared and cached."""
        self.machine_facts = AwsMachineFactsReader(self.client, self._new_facts(), clock)
        """Facts that machines depend on, shared and cached."""
        self.control_plane_facts = AwsControlPlaneFactsReader(self.client, clock)
        """Facts that control planes depend on, shared and cached."""

    @property
    def name(self) -> str:
        return "AWS"

    @property
    def identity(self) -> Identity:
        return self._session.identity

    async def read_account(self) -> str:
        """Return ``111122223333/eu-central-1``. From another region, all resources of an object would seem gone."""
        region = self._session.region
        try:
            return f"{await self.client.account()}/{region}"
        except CloudError as error:
            if self._session.is_known_region:
                raise
            raise Invalid(f"spec.region: {region!r} is no region that this version knows; {error.message}") from error

    @property
    def region(self) -> str:
        return self._session.region

    async def sign_cluster_token(self, eks_name: str) -> SecretValue:
        """Sign a token that lets this identity into an EKS cluster for 15 minutes. Raises CloudError."""
        keys = await self.client.prepare_keys(cluster_token.KEYS_LIFE)
        session = self._session
        return cluster_token.sign(keys, session.region, find_sts_host(session.region), eks_name, session.now())

    def forget_answers(self) -> None:
        self.facts.renew(self._new_facts())
        self.machine_facts.renew(self._new_facts())
        self.control_plane_facts.renew()

    def _new_facts(self) -> AwsFacts:
        return AwsFacts(self.client, self.tags, self._clock)

    def client_for(self, subject: str) -> AwsClient:
        """Return a client for one object; what it sends is audited under ``subject``."""
        return AwsClient(self._session, ObjectPort(self.port, subject, self._audit))

    def close(self) -> None:
        """Close the sockets; requests under way go on."""
        for session in (self._session, *self._narrowed.values(), *self._collecting.values()):
            session.close()

    def build_survey(self, subject: str, cluster: str) -> AwsSurvey:
        """Return a survey. With a role, AWS itself refuses deletes of resources without a mark of the cluster."""
        deletes = self._session.collection_session(marks_of(cluster))
        if deletes is not None:
            self._stop_collecting(subject)
            self._collecting[subject] = deletes
        port = ObjectPort(self.port, subject, self._audit)
        client = AwsClient(self._session, port, deletes, COLLECTED_METHODS)
        return AwsSurvey(client, self._new_tagger(client, ()), self._turns)

    def build_read_only_survey(self, cluster: str) -> AwsSurvey:
        client = AwsClient(self._session, ReadOnlyPort(self.port))
        return AwsSurvey(client, self._new_tagger(client, ()), self._turns)

    def forget(self, subject: str) -> None:
        super().forget(subject)
        self._stop_collecting(subject)

    def _stop_collecting(self, subject: str) -> None:
        if session := self._collecting.pop(subject, None):
            session.close()

    def _forget_owner(self, uuid: str) -> None:
        if narrowed := self._narrowed.pop(uuid, None):
            narrowed.close()

    def _new_tagger(self, client: AwsClient, carried: tuple[str, ...]) -> AwsTagger:
        return AwsTagger(client, self._clock, carried, self._refused_at)

    def _build_deps_behind(self, port: Port, ring: KeyRing, uuid: str = "") -> EngineDeps:
        """Return the engine's tools. With a role, AWS itself refuses deletes of resources without ``uuid``."""
        deletes = self._session.owner_session(uuid) if uuid else None
        if deletes is not None:
            self._narrowed[uuid] = deletes
        client = AwsClient(self._session, port, deletes)
        registry = aws_kinds(client)
        tagger = self._new_tagger(client, registry.carried)
        return EngineDeps(
            registry=registry,
            codec=self._codec,
            tagger=tagger,
            inventory=self._inventory,
            port=port,
            clock=self._clock,
            intervals=self._intervals,
            durations=self._durations,
            lists=self._lists,
            ring=ring,
            inner=AwsMachines(registry, tagger),
        )


@dataclass(frozen=True)
class AwsMachines:
    """The machines of an AWSCluster, and what they have in its account and region (inventory.InnerOwners)."""

    registry: Registry
    tagger: AwsTagger
    kinds: tuple[str, ...] = (aws_names.AWS_MACHINE_KIND,)

    async def find_inner_targets(self, uuid: str) -> TagsByTarget:
        return await self.tagger.find_inner_targets(uuid)


class AccountLimits:
    """The rate limits (limits.Buckets) of an identity's account: AWS counts by account and region.

    Until the account is known, the call that asks for it has limits of its own.
    """

    def __init__(self, session: AwsSession, shared: dict[tuple[str, str], Limits], new: NewLimits) -> None:
        self._session = session
        self._shared = shared
        self._new = new
        self._unknown = new()

    def find_bucket(self, api: str, operation: str = "") -> TokenBucket:
        account = self._session.caller.get("Account", "")
        if not account:
            return self._unknown.find_bucket(api, operation)
        place = (account, self._session.region)
        if place not in self._shared:
            self._shared[place] = self._new()
        return self._shared[place].find_bucket(api, operation)


class AwsCloud:
    """Threads and rate limits that the accounts of this process share. A context manager: ends its threads at exit.

    ``url`` is the base of a simulated cloud, None for the real one; ``mount`` and ``port`` put tests' own transport and
    port under it; ``wrap`` goes around what sends each request.
    """

    def __init__(
        self,
        url: str | None,
        clock: Clock,
        audit: Audit | None = None,
        intervals: Intervals | None = None,
        *,
        mount: Mount | None = None,
        port: Port | None = None,
        limits: NewLimits = Limits,
        wrap: Callable[[Port], Port] = lambda port: port,
    ) -> None:
        self._url = url or ""
        self._clock = clock
        self._audit = audit
        self._intervals = intervals
        self._mount = mount
        self._port = port
        self._new_limits = limits
        self._wrap = wrap
        self._limits: dict[tuple[str, str], Limits] = {}
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="aws")
        self._accounts: dict[tuple[IdentityReference, str], AwsAccount] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def account(self, reference: IdentityReference, identity: Identity, region: str) -> AwsAccount:
        """Return the account of an identity in a region; a new one after the credentials of ``reference`` changed.

        Raises ValueError for a region that AWS cannot have.
        """
        place = (reference, region)
        known = self._accounts.get(place)
        if known is not None and known.identity == identity:
            return known
        session = self._session_of(identity, region)
        made = AwsAccount(session, self._port_of(session), self._clock, self._audit, self._intervals)
        self._accounts[place] = made
        if known is not None:
            known.close()
        return made

    def _session_of(self, identity: Identity, region: str) -> AwsSession:
        return AwsSession(identity, region, endpoint=self._url, mount=self._mount, wall=self._clock.now)

    def _port_of(self, session: AwsSession) -> Port:
        limits = AccountLimits(session, self._limits, self._new_limits)
        return self._port or PacedPort(self._wrap(ThreadPort(self._pool)), limits, self._clock)


class AwsAccounts:
    """The accounts of one kind of object (accounts.Accounts), by its ``identityRef`` and ``region``.

    The partition follows from the region. A spec with another partition is refused by its own check, not here, where it
    would hold up a delete.
    """

    def __init__(self, cloud: AwsCloud, identities: StoredIdentities, adapter: Callable[[AwsAccount], Adapter]) -> None:
        self._cloud = cloud
        self._identities = identities
        self._adapter = adapter
        self._adapters: WeakKeyDictionary[AwsAccount, Adapter] = WeakKeyDictionary()

    async def bind(self, raw: Mapping[str, Any]) -> Binding | NoCredentials:
        namespace = str(raw["metadata"].get("namespace", ""))
        try:
            reference = reference_of(raw)
        except IdentityNotUsable as problem:
            return _retrieval_failed(str(problem))
        try:
            identity = await self._identities.credentials(reference, namespace)
        except IdentityNotAllowed as problem:
            return _usage_denied(f"{_IDENTITY}: {problem}")
        except IdentityNotUsable as problem:
            return _retrieval_failed(f"{_IDENTITY}: {problem}")
        region = str((raw.get("spec") or {}).get("region") or "")
        if not region:
            return NoCredentials(f"spec.region: {_NO_REGION}", names.REASON_INVALID_SPEC)
        try:
            account = self._cloud.account(reference, identity, region)
        except ValueError as problem:
            return NoCredentials(f"spec.region: {problem}; correct it", names.REASON_INVALID_SPEC)
        try:
            await account.read_account()
        except Denied as refused:  # GetCallerIdentity needs no permission: the credentials themselves are refused
            return _retrieval_failed(f"{_IDENTITY}: {refused.message}")
        except CloudError:
            pass  # the pass meets the same error and reports it
        return self._bind(account)

    async def list_places(self, around: AccountScope) -> Sequence[AccountPlace | NoCredentials]:
        """Return every known identity in every known region: a lost object may have been in any of them."""
        regions = dict.fromkeys((*around.regions, *_regions_of(around.objects)))
        found: list[AccountPlace | NoCredentials] = []
        for reference in dict.fromkeys(_identity_references(around)):
            try:
                identity = await self._identities.resolve_unchecked(reference)
            except IdentityNotUsable as problem:
                found.append(NoCredentials(str(problem)))
                continue
            found += [self._place(reference, identity, region) for region in regions]
        return found or [NoCredentials(_NO_PLACE)]

    def _place(self, reference: IdentityReference, identity: Identity, region: str) -> AccountPlace | NoCredentials:
        try:
            account = self._cloud.account(reference, identity, region)
        except ValueError as problem:
            return NoCredentials(str(problem), names.REASON_INVALID_SPEC)
        named = {} if reference == DEFAULT else {"identityRef": reference._asdict()}
        return AccountPlace(self._bind(account), {"region": region, **named})

    def _bind(self, account: AwsAccount) -> Binding:
        if account not in self._adapters:  # an adapter caches answers of one account
            self._adapters[account] = self._adapter(account)
        return Binding(account, self._adapters[account])


def _usage_denied(message: str) -> NoCredentials:
    allowed = Observation(
        aws_names.PRINCIPAL_USAGE_ALLOWED, "False", aws_names.REASON_PRINCIPAL_USAGE_UNAUTHORIZED, message
    )
    return NoCredentials(message, parts=(allowed,))


def _retrieval_failed(message: str) -> NoCredentials:
    retrieved = Observation(
        aws_names.PRINCIPAL_CREDENTIAL_RETRIEVED,
        "False",
        aws_names.REASON_PRINCIPAL_CREDENTIAL_RETRIEVAL_FAILED,
        message,
    )
    return NoCredentials(message, parts=(retrieved,))


def _regions_of(objects: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for raw in objects:
        if region := str((raw.get("spec") or {}).get("region") or ""):
            yield region


def _identity_references(around: AccountScope) -> Iterator[IdentityReference]:
    """Yield the identities that objects name, then those that no object names now."""
    if around.own:
        yield DEFAULT
    for raw in around.objects:
        with suppress(IdentityNotUsable):  # an invalid reference names no identity
            yield reference_of(raw)
    for raw in around.referred:
        if raw["kind"] in KINDS:
            yield IdentityReference(raw["kind"], raw["metadata"]["name"])
