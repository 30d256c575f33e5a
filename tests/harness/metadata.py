"""The metadata controller on a simulated AWS and objects in memory: passes in virtual time, crashes between calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from freehold.api import conditions
from freehold.api.metadata_status import MetadataStatus
from freehold.api.parse import parse
from freehold.controllers.controller import RequeueAfter, Result
from freehold.controllers.events import Severity
from freehold.engine.clock import ManualClock
from freehold.engine.keys import KeyRing
from freehold.engine.port import Call, Port
from freehold.kube import errors as kube
from freehold.kube.resources import CONFIG_MAPS, Json, Key, Resource
from freehold.providers.access.audit import NoAudit
from freehold.providers.aws.identities import AssumedRole, Identity
from freehold.providers.aws.identity_objects import IdentityReference, RoleRequest
from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.aws.tags.endpoints import AwsTagAccounts, Identities
from freehold.providers.ibm.accounts import IbmAccount
from freehold.providers.ibm.tag_endpoints import IbmTagAccounts
from freehold.providers.registry import SERVED_RESOURCES
from freehold.tags.cloud_reconcile import CloudReconciler
from freehold.tags.context import (
    CLOUD_METADATAS,
    PROVIDERS,
    SLOW_SECONDS,
    Context,
)
from freehold.tags.controller import GRANTS
from freehold.tags.ledger_store import NAME, LedgerStore
from freehold.tags.policy.configuration import Configuration
from freehold.tags.policy.references import ProviderObject, Refused
from freehold.tags.policy.references import Reference as Referred
from freehold.tags.policy.tag_request import TagScope
from freehold.tags.provider_reconcile import ProviderReconciler
from freehold.tags.tag_endpoint import TagEndpoint, UnreachableRegion
from freehold_sim.aws.settings import Settings
from freehold_sim.ibm.settings import Settings as IbmSettings
from harness.account import BASE, Account, RecordingPort, SimMount
from harness.aws_account import KEYS, REGION, AwsAccount
from harness.aws_clients import SharingCloud
from harness.simulated_aws import tagged
from harness.stored_objects import MemoryObjects

PLACE = "freehold-system"
NAMESPACE = "metadata-controller"
CLASSIFIER = "kubernetes.io/cluster/test-7lpkm-crhfx"
RESOURCES: Mapping[str, Resource] = {each.kind: each for each in (CLOUD_METADATAS, *PROVIDERS.values(), GRANTS)}

EXAMPLES = (Path(__file__).parents[2] / "examples" / "metadata.yaml").read_text()
"""The proposal's two, unmodified."""
WANTED = {"env": "test", "centre": "eng"}


class Killed(BaseException):
    """The process ends here."""


async def nobody(name: str) -> None:
    """Nobody else is at work."""


class AuditLines(NoAudit):
    """The audit log in memory: the operations that were begun, and those that have ended."""

    def __init__(self) -> None:
        self.begun: list[Call] = []
        self.ended: list[Call] = []

    def log_sent(self, subject: str, call: Call) -> None:
        self.begun.append(call)

    def log_done(self, subject: str, call: Call, error: BaseException | None) -> None:
        self.ended.append(call)


class KillingPort(RecordingPort):
    """Ends the process before or after the n-th call, reads and writes alike; never where ``at`` is None.

    ``instead``: what a call runs in place of its request, for answers that the simulated cloud has no fault for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at: int | None = None
        self.after = False
        self.before_each: Callable[[Call], None] = lambda call: None
        self.between: Callable[[str], Awaitable[None]] = nobody
        self.instead: Callable[[Call], Callable[[], Any] | None] = lambda call: None

    async def send(self, call: Call) -> Any:
        await self.between(call.operation)
        self.before_each(call)
        mine = self.at is not None and len(self.calls) == self.at
        if mine and not self.after:
            self.calls.append(call)
            raise Killed
        run = self.instead(call)
        reply = await super().send(call._replace(run=run) if run else call)
        if mine:
            raise Killed
        return reply


class OwnIdentity:
    """The operator's own credentials are those of the test."""

    async def credentials(self, reference: IdentityReference, namespace: str) -> Identity:
        return KEYS

    async def find_by_role(self, role: RoleRequest, namespace: str) -> tuple[IdentityReference, Identity]:
        """Each role may be used from each namespace."""
        return IdentityReference("AWSClusterRoleIdentity", str(role)), AssumedRole(role.arn, KEYS, role.external_id)


class Rings:
    def __init__(self) -> None:
        self.ring = KeyRing.single(b"r" * 32)

    def report_missing_key(self) -> None:
        """Nobody looks for it here."""


class Events:
    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None:
        self.said.append((reason, message))


class Lab:
    """One simulated account, one API server in memory, any number of processes over them."""

    def __init__(self, settings: Settings | None = None, **configured: Any) -> None:
        """``configured``: what the operator's options say (Configuration)."""
        self.account = AwsAccount(settings)
        self.port = self.account.port = KillingPort()
        self.clock = ManualClock()
        self.objects = MemoryObjects(self._timestamp)
        self.rings, self.events = Rings(), Events()
        self.configuration = Configuration(**configured)
        self.fraction = 0.5
        self.vpc = str(self.account.cloud.strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.0.0.0/16"})["id"])
        self.audit = AuditLines()
        self.identities: Identities = OwnIdentity()
        self.grants_known = self.clouds_known = self.clusters_known = self.providers_known = True
        self.ibm: Account | None = None
        self.ibm_account: IbmAccount | None = None
        self.woken: list[Referred] = []
        self.process = self.start()

    def _timestamp(self) -> str:
        """Later for each object, so that their age differs."""
        return f"2026-11-23T00:00:{len(self.objects.objects) % 60:02d}Z"

    def start(self) -> CloudReconciler:
        """Another process, which remembers nothing."""
        self.means = Context(
            self.objects, self, self, LedgerStore(self.objects, PLACE), self.rings, self.clock, self.events,
            lambda: self.fraction, (REGION,), configuration=self.configuration, wake=self.woken.append,
        )  # fmt: skip
        self.use(self.port)
        self.ibm_places = IbmTagAccounts(self.ibm_account, self.clock)
        return CloudReconciler(self.means)

    def use(self, port: Port) -> None:
        """Send all calls to AWS through it."""
        cloud = SharingCloud(self.account.cloud, self.clock, self.audit, port=port)
        self.aws = AwsTagAccounts(cloud, self.identities, self.clock)

    async def find_endpoints(
        self, place: TagScope, subject: str
    ) -> Sequence[TagEndpoint | UnreachableRegion] | Refused:
        """TagAccounts."""
        if place.cloud is AWS:
            return await self.aws.find_endpoints(place, subject)
        return await self.ibm_places.find_endpoints(place, subject)

    def with_ibm(self, settings: IbmSettings | None = None) -> Account:
        """A simulated IBM Cloud beside AWS, from now on."""
        self.ibm = Account(settings)
        self.use_ibm(self.ibm)
        return self.ibm

    def use_ibm(self, account: Account) -> None:
        """Send all calls to IBM Cloud there."""
        mount = SimMount(account.cloud)
        self.ibm_account = IbmAccount(account.settings.api_key, BASE, self.clock, mount=mount, port=self.port)
        self.ibm_places = IbmTagAccounts(self.ibm_account, self.clock)

    def restart(self) -> None:
        self.process = self.start()

    def configure(self, **configured: Any) -> None:
        """Another process, with these options."""
        self.configuration = Configuration(**configured)
        self.restart()

    # -- Stored -------------------------------------------------------------------------------------------------

    def clouds(self) -> Sequence[Json]:
        return self._all("CloudMetadata")

    def knows_clouds(self) -> bool:
        return self.clouds_known

    def providers(self) -> Sequence[ProviderObject] | None:
        if not self.providers_known:
            return None
        return [ProviderObject(kind, each) for kind in PROVIDERS for each in self._all(kind)]

    def grants(self) -> Sequence[Json] | None:
        return self._all("MetadataGrant") if self.grants_known else None

    def clusters(self) -> Sequence[Json] | None:
        if not self.clusters_known:
            return None
        return [each for resource in SERVED_RESOURCES for each in self._all(resource.kind)]

    def _all(self, kind: str) -> list[Json]:
        return [each for (of, _), each in self.objects.objects.items() if of == kind]

    # -- objects ------------------------------------------------------------------------------------------------

    async def apply(self, obj: Json) -> None:
        """As kubectl does: the status of a manifest is not stored."""
        bare = {name: value for name, value in obj.items() if name != "status"}
        await self.objects.create(RESOURCES[obj["kind"]], bare)

    async def apply_examples(self, order: Sequence[int] = (0, 1)) -> None:
        found = list(yaml.safe_load_all(EXAMPLES))
        for number in order:
            await self.apply(found[number])

    async def cloud(self, name: str, tags: str, **spec: Any) -> None:
        """A CloudMetadata that refers to the AWSMetadata ``tags``."""
        given = {"cloudprovider": {"awsref": {"name": tags}}, "classifiers": {CLASSIFIER: "owned"}, **spec}
        await self.apply(_object(CLOUD_METADATAS, name, given))

    async def tags(self, name: str, tags: Mapping[str, str], **spec: Any) -> None:
        await self.apply(_object(PROVIDERS["AWSMetadata"], name, {"resourcetags": dict(tags), **spec}))

    async def edit(self, kind: str, name: str, spec: Json) -> None:
        await self.objects.patch(RESOURCES[kind], Key(NAMESPACE, name), {"spec": spec})

    async def delete(self, kind: str, name: str) -> None:
        await self.objects.delete(RESOURCES[kind], Key(NAMESPACE, name))

    def object(self, kind: str, name: str) -> Json:
        return self.objects.objects[kind, Key(NAMESPACE, name)]

    def status(self, kind: str = "CloudMetadata", name: str = "metadata") -> Json:
        found: Json = self.object(kind, name).get("status") or {}
        return found

    def condition(self, type_: str, kind: str = "CloudMetadata", name: str = "metadata") -> tuple[str, str, str]:
        found = conditions.find_condition(self.status(kind, name).get("conditions") or (), type_) or {}
        return found.get("status", ""), found.get("reason", ""), found.get("message", "")

    async def lose_record(self) -> None:
        for row in (await self.objects.list(CONFIG_MAPS, PLACE)).items:
            await self.objects.delete(CONFIG_MAPS, Key(PLACE, row["metadata"]["name"]))

    def records(self) -> list[str]:
        return [key.name for kind, key in self.objects.objects if kind == "ConfigMap" and key.name != NAME]

    # -- resources ----------------------------------------------------------------------------------------------

    def groups(self, count: int, **tags: str) -> list[str]:
        """Security groups with the classifier, made by somebody else."""
        made = [self.group(f"group-{number}", **{CLASSIFIER: "owned"}, **tags) for number in range(count)]
        self.wait(60)
        return made

    def volumes(self, count: int, others: int = 0) -> list[str]:
        """Volumes with the classifier, made by somebody else, and ``others`` without."""
        made = [self._volume(**{CLASSIFIER: "owned"}) for _ in range(count)]
        for _ in range(others):
            self._volume(owner="x")
        self.wait(60)
        return made

    def _volume(self, **tags: str) -> str:
        request = {"AvailabilityZone": f"{REGION}a", "Size": 1, "TagSpecifications": tagged("volume", **tags)}
        return str(self.account.cloud.strangers.create("ec2", "CreateVolume", request)["arn"])

    def group(self, name: str, **tags: str) -> str:
        request: dict[str, Any] = {"GroupName": name, "Description": "of a test", "VpcId": self.vpc}
        request["TagSpecifications"] = tagged("security-group", **tags) if tags else []
        return str(self.account.cloud.strangers.create("ec2", "CreateSecurityGroup", request)["arn"])

    def secrets(self, count: int, others: int = 0) -> list[str]:
        """Of a service that is read one by one, with the classifier; ``others`` without."""
        made = [self._secret(number, {CLASSIFIER: "owned"}) for number in range(count)]
        for number in range(count, count + others):
            self._secret(number, {"owner": "x"})
        self.wait(60)
        return made

    def _secret(self, number: int, tags: Mapping[str, str]) -> str:
        rows = [{"Key": key, "Value": value} for key, value in tags.items()]
        request = {"Name": f"s{number}", "SecretString": "s", "ClientRequestToken": f"{number:032d}", "Tags": rows}
        return str(self.account.cloud.strangers.create("secretsmanager", "CreateSecret", request)["arn"])

    def tags_on(self, arn: str) -> dict[str, str]:
        return dict(self.account.cloud.strangers.find(arn)["tags"])

    def somebody_sets(self, arn: str, **tags: str) -> None:
        self.account.cloud.strangers.tag(arn, tags)

    def somebody_strips(self, arn: str, *keys: str) -> None:
        self.account.cloud.strangers.untag(arn, *keys)

    # -- passes -------------------------------------------------------------------------------------------------

    async def work(self, name: str = "metadata") -> Result:
        try:
            result = await self.process.reconcile(Key(NAMESPACE, name))
        except kube.Conflict:  # the queue tries again
            result = RequeueAfter(1.0)
        await self.wake()
        for (kind, key), stored in self.objects.objects.items():
            if kind in RESOURCES and "status" in stored:  # an API server would refuse what does not fit
                parse(MetadataStatus, stored["status"], at=str(key))
        return result

    async def wake(self) -> None:
        """Reconcile the providers' objects that were woken; a conflict is tried again."""
        while self.woken:
            kind, *key = self.woken[-1]
            with suppress(kube.Conflict):
                await ProviderReconciler(self.means, kind).reconcile(Key(*key))
                self.woken.pop()

    async def remove(self, name: str, kind: str = "AWSMetadata", passes: int = 12) -> None:
        """Delete a provider's object, with the passes that this takes."""
        await self.objects.delete(RESOURCES[kind], Key(NAMESPACE, name))
        await self.let_go(name, kind, passes)

    async def let_go(self, name: str, kind: str = "AWSMetadata", passes: int = 12) -> None:
        """Passes over an object in deletion, until it is gone or at rest."""
        removal = ProviderReconciler(self.means, kind)
        for _ in range(passes):
            result = await removal.reconcile(Key(NAMESPACE, name))
            if not isinstance(result, RequeueAfter) or result.seconds >= SLOW_SECONDS:
                return
            self.wait(result.seconds)

    async def settle(self, *names: str, passes: int = 12) -> None:
        """Passes as they ask for them, until all are at rest."""
        for _ in range(passes):
            results = [await self.work(name) for name in names or ("metadata",)]
            if all(isinstance(each, RequeueAfter) and each.at_rest for each in results):
                return
            self.wait(max(each.seconds for each in results if isinstance(each, RequeueAfter)))
        raise AssertionError(f"not at rest: {[self.status(name=name) for name in names or ('metadata',)]}")

    def wait(self, seconds: float = 600.0) -> None:
        self.clock.advance(seconds)
        self.account.clock.advance(seconds)
        if self.ibm is not None:
            self.ibm.clock.advance(seconds)

    def sent(self) -> list[str]:
        """What went to the cloud, without the questions for the account; they are forgotten then."""
        found = [f"{call.api}.{call.operation}" for call in self.port.calls if call.api not in ("sts", "iam")]
        self.port.calls.clear()
        return found

    def writes(self) -> list[str]:
        return [
            each for each in self.sent() if not each.partition(".")[2].startswith(("describe", "get", "list", "search"))
        ]


def _object(resource: Resource, name: str, spec: Json) -> Json:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
