"""The demo, as a user runs it: each step is checked, and the cloud that it leaves is checked again."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.commands import freehold

STEPS = (
    "strangers with tempting names are there before us",
    "the manifest is accepted as it is: 12 objects of 10 kinds",
    "the operator is killed (kill -9) in mid-create",
    "a new operator goes on, and the cluster is Ready",
    "the endpoint is the public load balancer's hostname",
    "somebody meddles behind our back",
    "it is seen and healed: the connection is made anew",
    "strangers with tempting names are there before us",
    "the manifest is accepted as it is: 4 objects of 3 kinds",
    "the operator is killed (kill -9) in mid-create",
    "the next operator is killed too, in the middle of RunInstances",
    "a new operator goes on, and the cluster is Ready",
    "the endpoint is the internet-facing load balancer's DNS name",
    "somebody meddles behind our back",
    "it is seen and healed: the route leads to its NAT gateway again",
    "each machine is one instance, and the control plane's is behind the load balancer",
    "machines-worker is deleted: gone with its secret and volumes",
    "a Service is forgotten, whose load balancer would hold the network: freehold gc plan names it",
    "AWSManagedControlPlane shop is an EKS cluster, and Secret shop-kubeconfig lets a person in",
    "shop is deleted: what was forgotten there has gone with the EKS cluster",
    "200 resources of somebody's cluster are there, with tags of their own",
    "the proposal's two manifests are applied as they are, and all is tagged",
    "a second pass writes nothing",
    "somebody's script changes and strips tags behind our back",
    "one operator (process",
    "the live page shows each object that the API server has",
    "all objects are deleted, and everything that they owned is gone",
    "what the forgotten Service made has gone with its cluster, before the network",
    "at its next sync the controller has seen it, repaired it and told it",
    "the leader (process",
    "the other one leads after",
    "minimal is deleted, and the last operator is told to end (SIGTERM)",
    "what is not owned stays",
)


@pytest.mark.early
def test_the_demo_succeeds_from_the_first_create_to_the_last_delete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulated time runs fast here, and no account is named; nothing else differs from `make demo`."""
    for name in [each for each in os.environ if each.startswith(("AWS_", "IBMCLOUD_"))]:
        monkeypatch.delenv(name)
    done = freehold("demo", "--speed", "120", "--keep", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^✓ (.*)$", done.stdout, re.MULTILINE)
    assert [step for step, line in zip(STEPS, told, strict=True) if not line.startswith(step)] == []
    _the_world_holds_strangers_only(tmp_path)
    _the_simulated_aws_holds_strangers_only(tmp_path)
    _the_fleet_has_its_tags_and_ours(tmp_path)
    _every_write_is_in_the_audit_log(tmp_path)


def _the_world_holds_strangers_only(home: Path) -> None:
    world = json.loads((home / "cloud" / "simulated-cloud.json").read_text())["clouds"]["ibm"]["data"]
    records = [record for kind in world["resources"].values() for record in kind.values()]
    left = [record for record in records if record["state"] not in ("removed", "deleted")]
    assert {record["by"] for record in left} == {"stranger"}
    assert {"freehold-demo-vpc2", "freehold-demo2-vpc", "freehold-demo-vpcsubnet"} <= {each["name"] for each in left}
    beside = next(each for each in left if each["name"] == "freehold-demo-vpc2")
    tags = world["tags"][beside["crn"]][-1][1]
    assert any(tag.startswith("powervs.cluster.x-k8s.io.owner:") for tag in tags), "the copied tags are still there"


def _the_simulated_aws_holds_strangers_only(home: Path) -> None:
    world = json.loads((home / "cloud" / "simulated-cloud.json").read_text())["clouds"]["aws"]["data"]
    records = [each for kinds in world["resources"].values() for kind in kinds.values() for each in kind.values()]
    gone = ("deleted", {"Code": 48, "Name": "terminated"})
    left = [each for each in records if each["view"].get("State") not in gone]
    assert {each["by"] for each in left} == {"stranger"}
    [beside] = [each for each in left if each["kind"] == "vpc" and each["tags"]]
    assert beside["tags"]["Name"] == "machines-vpc"
    assert beside["tags"]["freehold.dev/owner"] == "default/machines", "the copied tags are still there"


def _the_fleet_has_its_tags_and_ours(home: Path) -> None:
    """The manifests' tags, one stranger's that came later, and what the installer had put on, each as it was made."""
    world = json.loads((home / "cloud" / "simulated-cloud.json").read_text())["clouds"]["aws"]["data"]
    records = [each for kinds in world["resources"].values() for kind in kinds.values() for each in kind.values()]
    fleet = [each for each in records if "kubernetes.io/cluster/test-7lpkm-crhfx" in each["tags"]]
    assert len(fleet) == 200
    for each in fleet:
        theirs = dict(each["tags"])
        assert (theirs.pop("env"), theirs.pop("centre")) == ("test", "eng")
        assert theirs.pop("kubernetes.io/cluster/test-7lpkm-crhfx") == "owned"
        assert theirs.pop("audited", "2026") == "2026"
        of_kind = {"security-group": {"Name": each["view"].get("GroupName"), "owner": "team a"}}
        assert theirs == of_kind.get(each["kind"], {"rotation": "30 days"})
    assert sum("audited" in each["tags"] for each in fleet) == 10
    assert not [each for each in records if "env" in each["tags"] and each not in fleet]


def _every_write_is_in_the_audit_log(home: Path) -> None:
    """Each request is in the log, written before it was sent, and each answer that the log tells was given.

    The log has more lines only where the kill cut a call off between the two, and where its outcome says that no
    answer came: on a busy machine a call may wait too long for its turn, or for a connection, and is not sent.
    """
    lines = [json.loads(line) for line in (home / "state" / "audit.jsonl").read_text().splitlines()]
    clouds = json.loads((home / "cloud" / "simulated-cloud.json").read_text())["clouds"]
    calls = [each for cloud in clouds.values() for each in cloud["calls"]]
    asked = Counter(
        _spelled(operation) for _, _, operation, _, _, _, mutating, actor in calls if mutating and actor == "api"
    )
    check_audited(lines, asked)


def check_audited(lines: Sequence[Mapping[str, Any]], asked: Mapping[str, int]) -> None:
    """``asked``: how often the cloud was sent each call that writes."""
    calls = [line for line in lines if line["call"]]
    sent = _counted(line for line in calls if line["outcome"] == "sent")
    ended = _counted(line for line in calls if line["outcome"] != "sent")
    answered = _counted(line for line in calls if _was_answered(line))
    assert asked <= sent, f"not in the log: {Counter(asked) - sent}"
    assert answered <= asked, f"the log tells of answers that nobody gave: {answered - Counter(asked)}"
    assert ended <= sent, f"outcomes without their calls: {ended - sent}"


def _counted(lines: Iterable[Mapping[str, Any]]) -> Counter[str]:
    return Counter(_spelled(line["call"]) for line in lines)


def _was_answered(line: Mapping[str, Any]) -> bool:
    """A refusal has the cloud's code or request id; what an SDK or we ourselves did not send has neither."""
    if line["outcome"] != "refused":
        return bool(line["outcome"] == "done")
    return bool(line["request_id"]) or (bool(line["code"]) and not line["code"].endswith(("Error", "Timeout")))


def _line(text: str) -> Mapping[str, Any]:
    """An outcome, and the code of a refusal."""
    outcome, _, code = text.partition(" ")
    return {"call": "ec2.create_vpc", "outcome": outcome, "code": code, "request_id": ""}


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        pytest.param(("sent", "done"), 1, id="answered"),
        pytest.param(("sent", "refused VpcLimitExceeded"), 1, id="refused"),
        pytest.param(("sent", "unknown"), 1, id="the answer was lost"),
        pytest.param(("sent", "unknown"), 0, id="nobody knows whether it reached the cloud"),
        pytest.param(("sent", "refused ConnectTimeoutError"), 0, id="no connection in time"),
        pytest.param(("sent", "refused"), 0, id="waited too long for its turn"),
        pytest.param(("sent",), 1, id="killed after it was sent"),
        pytest.param(("sent",), 0, id="killed before it was sent"),
    ],
)
def test_what_the_log_may_say(lines: Sequence[str], asked: int) -> None:
    check_audited(list(map(_line, lines)), Counter({"ec2.createvpc": asked}))


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        pytest.param((), 1, id="a request without a line"),
        pytest.param(("sent", "unknown"), 2, id="sent twice, told once"),
        pytest.param(("sent", "done"), 0, id="an answer to a request that was not sent"),
        pytest.param(("sent", "refused VpcLimitExceeded"), 0, id="a refusal of a request that was not sent"),
        pytest.param(("sent", "done", "unknown"), 1, id="two outcomes of one call"),
    ],
)
def test_what_the_log_may_not_say(lines: Sequence[str], asked: int) -> None:
    with pytest.raises(AssertionError):
        check_audited(list(map(_line, lines)), Counter({"ec2.createvpc": asked}))


def _spelled(call: str) -> str:
    """boto3 and the log say ``delete_subnet``, AWS says ``DeleteSubnet``."""
    return call.replace("_", "").lower()
