"""What a control plane asks of AWS, and how seldom."""

from __future__ import annotations

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.outcomes import Reason
from freehold.providers.aws.control_plane.facts import AddonVersions, ControlPlaneQuestions, EncryptionKey
from freehold.providers.aws.control_plane.facts_reader import AwsControlPlaneFactsReader
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from freehold_sim.faults import Effect, Fault
from harness.aws_account import AwsAccount


class Facts(AwsAccount):
    def __init__(self) -> None:
        super().__init__()
        self.wall = ManualClock(0.0)
        self.reader = AwsControlPlaneFactsReader(self.api, self.wall)

    def asked(self) -> list[str]:
        return [each for each in self.sent() if not each.startswith("sts.")]


@pytest.fixture
def facts() -> Facts:
    return Facts()


async def test_nothing_is_asked_without_a_question(facts: Facts) -> None:
    found = await facts.reader.read(ControlPlaneQuestions())
    assert (found.node_roles, found.role_arn, found.addon_versions, found.key) == ({}, None, {}, None)
    assert facts.asked() == []


async def test_roles_are_found_by_profile_and_by_name(facts: Facts) -> None:
    facts.profile("nodes")
    facts.iam.create_instance_profile(InstanceProfileName="empty")
    arn = facts.iam.get_role(RoleName="nodes")["Role"]["Arn"]
    questions = ControlPlaneQuestions(profiles=frozenset({"nodes", "empty", "none"}), role="nodes")
    found = await facts.reader.read(questions)
    assert found.node_roles == {"nodes": Answer(arn), "empty": NotThere(), "none": NotThere()}
    assert found.role_arn == Answer(arn)
    assert (await facts.reader.read(ControlPlaneQuestions(role="none"))).role_arn == NotThere()


async def test_the_versions_of_an_addon_are_those_for_the_version_of_the_cluster(facts: Facts) -> None:
    found = await facts.reader.read(ControlPlaneQuestions(addons=frozenset({"vpc-cni", "kube-dns"}), version="1.34"))
    cni = found.addon_versions["vpc-cni"]
    assert isinstance(cni, Answer) and isinstance(cni.value, AddonVersions)
    assert cni.value.default in cni.value.versions and len(cni.value.versions) > 1
    missing = found.addon_versions["kube-dns"]
    assert isinstance(missing, NotThere) and {"vpc-cni", "coredns"} <= set(missing.known)


async def test_a_key_is_found_by_its_alias_and_one_that_cannot_be_used_says_why(facts: Facts) -> None:
    made = facts.cloud.strangers.key("secrets")
    alias = made["aliases"][0]
    for name in (alias, made["arn"]):
        assert (await facts.reader.read(ControlPlaneQuestions(key=name))).key == Answer(EncryptionKey(made["arn"]))
    facts.cloud.strangers.change(made["id"], KeyState="Disabled")
    facts.reader.renew()
    found = (await facts.reader.read(ControlPlaneQuestions(key=alias))).key
    assert isinstance(found, Answer) and "it is Disabled: enable it" in found.value.problem
    other = made["arn"].replace(made["id"], "0" * 8)
    assert (await facts.reader.read(ControlPlaneQuestions(key=other))).key == NotThere()


async def test_an_answer_is_asked_for_once_and_an_absence_each_time(facts: Facts) -> None:
    """A pass that finds everything there asks nothing; nor does one where there is no profile of clusterawsadm."""
    facts.profile("nodes")
    questions = ControlPlaneQuestions(frozenset({"nodes"}), "nodes", frozenset({"vpc-cni"}), "1.34")
    await facts.reader.read(questions)
    asked = facts.asked()
    await facts.reader.read(questions)
    assert facts.asked() == asked
    for _ in range(2):
        await facts.reader.read(ControlPlaneQuestions(frozenset({"other"}), role="none"))
    assert facts.asked()[len(asked) :] == ["iam.get_instance_profile", *["iam.get_role"] * 2]
    facts.profile("other")
    facts.wall.advance(301.0)
    found = await facts.reader.read(ControlPlaneQuestions(frozenset({"other"})))
    assert isinstance(found.node_roles["other"], Answer)
    facts.wall.advance(4 * 3600.0)
    await facts.reader.read(questions)
    assert facts.asked().count("iam.get_instance_profile") == 4


async def test_what_could_not_be_asked_is_no_answer(facts: Facts) -> None:
    facts.cloud.faults.add(Fault(Effect.DENIED, "*", count=None))
    questions = ControlPlaneQuestions(frozenset({"nodes"}), "nodes", frozenset({"vpc-cni"}), "1.34", "arn:aws:kms:k")
    found = await facts.reader.read(questions)
    answers = [*found.node_roles.values(), found.role_arn, *found.addon_versions.values(), found.key]
    assert all(isinstance(each, NoAnswer) and each.reason is Reason.DENIED for each in answers)
