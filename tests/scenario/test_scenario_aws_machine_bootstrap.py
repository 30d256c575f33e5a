"""Bootstrap data of machines on the simulated AWS: the whole reconcile, and what the machine does with its secrets."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.controller import Result
from freehold.engine.secret_values import compress
from freehold_sim.aws.world import scope_of
from harness.aws_account import REGION
from harness.aws_cluster import AwsHarness
from harness.aws_machine import SIMULATED_IMAGE, MachineHarness, machine
from harness.machine_secrets import DATA, TOKEN, Secrets
from harness.simulated_aws import ACCOUNT, TRUST
from harness.standing import standing

PREFIX = "aws.cluster.x-k8s.io/"


class BootedMachine(MachineHarness):
    """A machine whose bootstrap data are in Secret ``boot``, and whose instance may do what CAPA's nodes may."""

    def __init__(self, stage: AwsHarness, owner: dict[str, Any] | None = None, **spec: Any) -> None:
        self.stage, self.reader = stage, Secrets()  # type: ignore[assignment]  # it is only read
        raw = machine(ami={"id": SIMULATED_IMAGE}, sshKeyName="", iamInstanceProfile="nodes", **spec)
        raw["metadata"]["annotations"][names.BOOTSTRAP_ANNOTATION] = "boot"
        self.shown: list[str] = []
        self.greedy = False
        super().__init__(stage, raw, owner)

    def pass_once(self) -> Result:
        result = super().pass_once()
        self.shown += [json.dumps(self.object.raw, default=str), repr(self.events.said)]
        if self.greedy:
            self.take()
        return result

    @property
    def instances(self) -> list[str]:
        rows = self.cloud.strangers.call("ec2", "DescribeInstances", {})["Reservations"]
        every = [each for row in rows for each in row["Instances"]]
        return [each["InstanceId"] for each in every if each["State"]["Name"] not in ("terminated", "shutting-down")]

    @property
    def secrets(self) -> list[str]:
        """The names of all that there are now and that nobody has deleted."""
        rows = self.cloud.world.table(scope_of(ACCOUNT, REGION), "secret").values()
        return sorted(row["id"] for row in rows if "DeletedDate" not in row["view"])

    def take(self) -> bytes:
        """The instance reads its secrets and deletes them, with its own rights, as soon as it runs."""
        found = b""
        for name in self.secrets:
            for ident in self.instances:
                try:
                    said = self.cloud.strangers.as_instance(
                        ident, "secretsmanager", "GetSecretValue", {"SecretId": name}
                    )
                except ValueError:
                    continue  # it does not run yet
                found += said["SecretBinary"]
                gone = {"SecretId": name, "ForceDeleteWithoutRecovery": True}
                self.cloud.strangers.as_instance(ident, "secretsmanager", "DeleteSecret", gone)
        return found


@pytest.fixture(scope="module")
def settled() -> AwsHarness:
    stage = standing(AwsHarness)
    call = stage.cloud.strangers.call
    call("iam", "CreateRole", {"RoleName": "nodes", "AssumeRolePolicyDocument": TRUST})
    actions = ["secretsmanager:DeleteSecret", "secretsmanager:GetSecretValue"]
    rule = {"Effect": "Allow", "Action": actions, "Resource": f"arn:*:secretsmanager:*:*:secret:{PREFIX}*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [rule]})
    call("iam", "PutRolePolicy", {"RoleName": "nodes", "PolicyName": "secrets", "PolicyDocument": policy})
    call("iam", "CreateInstanceProfile", {"InstanceProfileName": "nodes"})
    call("iam", "AddRoleToInstanceProfile", {"InstanceProfileName": "nodes", "RoleName": "nodes"})
    return stage


def test_a_machine_gets_its_data_deletes_the_secrets_and_nothing_makes_them_again(settled: AwsHarness) -> None:
    one = BootedMachine(settled)
    one.up()
    assert len(one.secrets) == 2 and all(name.startswith(PREFIX) for name in one.secrets)
    assert one.take() == compress(DATA)
    one.settle(4)
    assert one.ready() and one.secrets == []
    version = one.object.raw["metadata"]["resourceVersion"]
    one.clock.advance(3600)
    one.settle(6)
    assert one.ready() and one.secrets == [] and len(one.instances) == 1
    assert one.object.raw["metadata"]["resourceVersion"] == version
    one.down()
    assert one.instances == [] and one.secrets == []
    sent = [base64.b64encode(each[:300]).decode() for each in (DATA, compress(DATA))]
    assert not [text for text in one.shown for word in (TOKEN, *sent) if word in text]


def test_an_operator_that_dies_after_each_pass_makes_one_of_each(settled: AwsHarness) -> None:
    """The machine takes its secrets as soon as it runs, whatever the operator knows by then."""
    one = BootedMachine(settled)
    one.greedy = True
    before = len(_created(one))
    for _ in range(15):
        one.pass_once()
        one.start_process()
        one.clock.advance(30.0)
    one.up()
    one.settle(3)
    assert len(one.instances) == 1 and one.secrets == [] and len(_created(one)) - before == 2
    one.down()


def _created(one: BootedMachine) -> list[object]:
    return [call for call in one.cloud.calls if call.operation.endswith("CreateSecret")]


def test_what_the_machine_left_goes_when_it_has_its_node(settled: AwsHarness) -> None:
    owner: dict[str, Any] = {"kind": "Machine", "metadata": {"name": "m1"}, "spec": {"version": "v1.33.1"}}
    owner["spec"]["bootstrap"] = {"dataSecretName": "boot"}
    one = BootedMachine(settled, owner)
    one.up()
    one.settle(2)
    assert len(one.secrets) == 2
    owner["status"] = {"nodeRef": {"name": "ip-10-0-0-1"}}
    one.owner = owner
    one.settle(4)
    assert one.secrets == [] and one.ready() and len(one.instances) == 1
    one.down()


def test_what_the_machine_left_goes_with_it(settled: AwsHarness) -> None:
    one = BootedMachine(settled)
    one.up()
    one.down()
    assert one.instances == [] and one.secrets == []


@pytest.mark.parametrize(
    ("secret", "spec", "said"),
    [
        (None, {}, "Secret default/boot does not exist"),
        ({}, {}, "has no entry 'value'"),
        ({"value": b""}, {}, "its key 'value' is empty"),
        ({"value": DATA, "format": b"ignition"}, {}, "its format is ignition, which is not served"),
        ({"value": DATA, "format": b"talos"}, {}, "its format 'talos' is not known"),
        (
            {"value": DATA * 3},
            {"cloudInit": {"insecureSkipSecretsManager": True}, "uncompressedUserData": True},
            "EC2 takes 16,384 as user data",
        ),
    ],
    ids=["no Secret", "no value", "empty", "Ignition", "unknown format", "too large"],
)
def test_bad_data_are_told_and_nothing_is_made(
    settled: AwsHarness, secret: dict[str, bytes] | None, spec: dict[str, Any], said: str
) -> None:
    one = BootedMachine(settled, **spec)
    assert one.reader is not None
    one.reader.stored = {} if secret is None else {"boot": secret}
    one.settle(3)
    told = json.dumps(one.status()["conditions"])
    assert said in told and TOKEN not in told
    assert one.instances == [] and one.secrets == []
    one.down()


def test_data_that_are_not_to_lie_in_secrets_manager_are_user_data(settled: AwsHarness) -> None:
    one = BootedMachine(settled, cloudInit={"insecureSkipSecretsManager": True})
    one.up()
    (ident,) = one.instances
    asked = {"InstanceId": ident, "Attribute": "userData"}
    shown = one.cloud.strangers.call("ec2", "DescribeInstanceAttribute", asked)["UserData"]["Value"]
    assert base64.b64decode(shown) == compress(DATA) and one.secrets == []
    assert TOKEN not in "".join(one.shown)
    one.down()
