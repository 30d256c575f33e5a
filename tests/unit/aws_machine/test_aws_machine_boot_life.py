"""Bootstrap secrets of a machine, with the engine and the drivers on a simulated AWS; and a canary in their value."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from freehold.engine import journal as journals
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Overlay
from freehold.engine.engine import ensure
from freehold.engine.errors import NotFound
from freehold.engine.graph import Graph, Node
from freehold.engine.journal import Journal, RecordState
from freehold.engine.outcomes import Blocked, Ready
from freehold.engine.port import ReadOnlyPort
from freehold.engine.resources import NodeKey
from freehold.engine.secret_values import compress
from freehold.providers.access.audit import FileAudit
from freehold.providers.access.ports import ObjectPort
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.machine.bootstrap import BootstrapFields, BootstrapPlan, describe_secret, plan_bootstrap
from freehold.providers.aws.registry import aws_kinds
from freehold_sim.faults import Effect
from freehold_sim.faults import Fault as CloudFault
from harness.aws_account import AwsAccount
from harness.aws_passes import OWNER, Life

TOKEN = "abcdef.0123456789abcdef"
DATA = f"#cloud-config\nruncmd:\n- kubeadm join --token {TOKEN}\n# ".encode() + random.Random(7).randbytes(8_000)
IMAGE = "ami-0a0000000000000c1"
INSTANCE = NodeKey("instance", "machine")
IN_SECRETS, AS_USER_DATA = BootstrapFields(), BootstrapFields(skip_secrets_manager=True)


class _Written:
    """The stored object, version by version."""

    def __init__(self) -> None:
        self.versions: list[str] = []

    async def save(self, journal: Journal) -> None:
        self.versions.append(journals.dumps(journal))


class Machine(Life):
    """An instance whose bootstrap data are in Secret ``boot`` of Kubernetes."""

    def __init__(self, account: AwsAccount, audit: FileAudit, fields: BootstrapFields = IN_SECRETS) -> None:
        self.fields, self.data, self.joined = fields, DATA, False
        vpc, subnets = account.network()
        self.place = {"subnet_id": subnets[0], "security_groups": [account.group(vpc, "nodes")]}
        super().__init__(account, self.nodes())
        self.written = _Written()
        self.store = self.written  # type: ignore[assignment]  # the same Protocol
        self.api = AwsClient(account.session, ObjectPort(account.port, "default/demo", audit))
        self.deps = replace(self.deps, registry=aws_kinds(self.api), port=account.port, secrets=self)
        self.outcomes: list[str] = []

    async def read(self, reference: str) -> bytes:
        if reference != "boot/value":
            raise NotFound(f"secret {reference} does not exist")
        return self.data

    def nodes(self) -> list[Node]:
        plan = plan_bootstrap(self.fields, describe_secret("boot", self.data), OWNER.uuid)
        assert isinstance(plan, BootstrapPlan)
        secrets = [] if self.joined else [self._secret(one.logical, one.request) for one in plan.secrets]
        request = {"name": "m", "image_id": IMAGE, "instance_type": "t3.micro", **self.place}
        request["user_data"] = plan.user_data
        keys = frozenset(each.key for each in secrets)
        return [*secrets, Node(INSTANCE, "m", lambda _: request, requires=keys)]

    def _secret(self, logical: str, request: object) -> Node:
        assert isinstance(request, dict)
        return Node(NodeKey("bootstrap-secret", logical), request["name"], lambda _: request)

    def join(self) -> None:
        self.joined = True
        self.graph = Graph(self.nodes())
        self.state.invalidate()

    @property
    def manager(self) -> object:
        return self.account.secretsmanager

    def secrets(self) -> list[str]:
        self.later(60)
        return [row["Name"] for row in self.manager.list_secrets()["SecretList"]]

    def take(self, index: int = -1) -> None:
        """The machine, or whoever it is, deletes its secrets."""
        for name in self.secrets():
            if index in (-1, int(name.rpartition("-")[2])):
                self.manager.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)
        self.state.invalidate()

    def made(self, operation: str) -> int:
        return len([call for call in self.account.port.calls if call.operation == operation])

    def instances(self) -> int:
        return sum(len(row["Instances"]) for row in self.account.ec2.describe_instances()["Reservations"])


@pytest.fixture
def account() -> AwsAccount:
    return AwsAccount()


@pytest.fixture
def audit(tmp_path: Path, account: AwsAccount) -> FileAudit:
    return FileAudit(tmp_path / "audit.jsonl", account.clock)


@pytest.fixture
def machine(account: AwsAccount, audit: FileAudit) -> Machine:
    return Machine(account, audit)


async def test_the_secrets_are_there_before_the_instance_and_hold_the_data(machine: Machine) -> None:
    await machine.up()
    operations = [
        call.operation for call in machine.account.port.calls if call.operation in ("create_secret", "run_instances")
    ]
    assert operations == ["create_secret", "create_secret", "run_instances"]
    values = [machine.manager.get_secret_value(SecretId=name)["SecretBinary"] for name in sorted(machine.secrets())]
    assert b"".join(values) == compress(DATA)


async def test_without_secrets_manager_the_instance_has_the_data(account: AwsAccount, audit: FileAudit) -> None:
    machine = Machine(account, audit, AS_USER_DATA)
    await machine.up()
    ident = machine.journal.entries[INSTANCE].id
    shown = account.ec2.describe_instance_attribute(InstanceId=ident, Attribute="userData")["UserData"]["Value"]
    assert base64.b64decode(shown) == compress(DATA)
    assert not machine.made("create_secret")


@pytest.mark.parametrize("restarted", (False, True))
@pytest.mark.parametrize("index", (-1, 0, 1), ids=("all", "the first", "the second"))
async def test_what_the_instance_has_deleted_is_done(machine: Machine, index: int, restarted: bool) -> None:
    await machine.up()
    machine.take(index)
    if restarted:
        machine.die()
    done = await ensure(machine.deps, machine.graph, machine.journal, machine.store, machine.state)
    machine.journal = done.journal
    assert all(isinstance(outcome, Ready) for outcome in done.outcomes.values()), done.outcomes
    assert not done.notes and done.at_rest
    machine.take()
    machine.later(700)
    for _ in range(3):
        done = await ensure(machine.deps, machine.graph, machine.journal, machine.store, machine.state)
        machine.journal = done.journal
        machine.later(700)
    assert set(done.outcomes) == {INSTANCE} and done.at_rest
    assert (machine.made("create_secret"), machine.instances()) == (2, 1)
    await machine.down()
    assert not machine.secrets()


async def test_what_is_left_goes_when_the_machine_has_its_node(machine: Machine) -> None:
    await machine.up()
    machine.join()
    await machine.up()
    assert not machine.secrets() and machine.instances() == 1
    assert machine.journal.entries[INSTANCE].state is RecordState.OWNED
    left = [entry.state for key, entry in machine.journal.entries.items() if key.kind == "bootstrap-secret"]
    assert set(left) == {RecordState.VACANT}


async def test_what_is_left_goes_with_the_machine(machine: Machine) -> None:
    await machine.up()
    await machine.down()
    assert not machine.secrets()


async def test_other_data_before_the_instance_are_other_secrets(machine: Machine) -> None:
    """The Secret was renewed while the instance could not be made: no pieces of two versions, and nothing is left."""
    quota = CloudFault(Effect.QUOTA, "ec2.RunInstances", count=None)
    machine.account.cloud.faults.add(quota)
    for _ in range(6):
        done = await ensure(machine.deps, machine.graph, machine.journal, machine.store, machine.state)
        machine.journal = done.journal
        machine.later(10)
    assert isinstance(done.outcomes[INSTANCE], Blocked)
    before = set(machine.secrets())
    machine.data = DATA + b"\n# renewed"
    machine.graph = Graph(machine.nodes())
    machine.account.cloud.faults.clear()
    machine.state.invalidate()
    await machine.up()
    after = set(machine.secrets())
    assert len(after) == 2 and after.isdisjoint(before) and machine.instances() == 1


def _fine(machine: Machine) -> None:
    """Nothing is in the way."""


def _lost_reply(machine: Machine) -> None:
    machine.account.cloud.faults.add(CloudFault(Effect.ERROR_AFTER, "secretsmanager.CreateSecret"))
    machine.account.cloud.faults.add(CloudFault(Effect.ERROR_AFTER, "ec2.RunInstances"))


def _refused(machine: Machine) -> None:
    machine.account.cloud.faults.add(CloudFault(Effect.DENIED, "secretsmanager.CreateSecret", count=2))
    machine.account.cloud.faults.add(CloudFault(Effect.DENIED, "ec2.RunInstances"))


@pytest.mark.parametrize("fields", (IN_SECRETS, AS_USER_DATA), ids=("secrets", "user data"))
@pytest.mark.parametrize("trouble", (_fine, _lost_reply, _refused))
async def test_the_canary_is_found_nowhere(
    account: AwsAccount,
    audit: FileAudit,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    fields: BootstrapFields,
    trouble: Callable[[Machine], None],
) -> None:
    """In no log, note, outcome, journal, audit line, call or plan; neither as it is nor as it is sent."""
    caplog.set_level("DEBUG", "freehold")
    machine = Machine(account, audit, fields)
    trouble(machine)
    said: list[str] = []
    overlay = Overlay(machine.clock)
    planned = dry_run_deps(replace(machine.deps, port=ReadOnlyPort(account.port)), overlay)
    plan = await ensure(planned, machine.graph, machine.journal, _Written(), machine.state.dry_run_copy())
    said += [repr(overlay.writes), repr(overlay.created), repr(plan)]
    assert "bootstrap-secret" in said[0] or fields is AS_USER_DATA
    for _ in range(60):
        done = await ensure(machine.deps, machine.graph, machine.journal, machine.store, machine.state)
        machine.journal = done.journal
        said += [repr(done), *done.notes]
        machine.later(min(max(done.after, 1.0), 400.0))
        if done.at_rest:
            break
    assert done.at_rest
    await machine.down()
    said += [*machine.written.versions, *map(repr, account.port.calls), caplog.text]
    audit.close()
    said += [path.read_text() for path in tmp_path.iterdir()]
    assert "boot/value" in "".join(said), "the reference is told, so the value would be"
    sent = compress(DATA)
    forms = [TOKEN, *(base64.b64encode(each).decode() for each in (DATA[:300], sent[:300], sent[7_000:7_300]))]
    forms += [each.hex() for each in (DATA[:60], sent[10:60])]
    assert not [form[:20] for form in forms if any(form in text for text in said)]
