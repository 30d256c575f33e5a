"""Secrets as a machine uses them: made with tags, read and deleted by the instance itself, and their names for a while.

https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html, .../API_DeleteSecret.html
"""

import json
from typing import Any

import pytest

from freehold_sim.aws.settings import Lags
from harness.simulated_aws import refused

PREFIX = "aws.cluster.x-k8s.io/"


def _names(sim: Any, **asked: Any) -> list[str]:
    return [row["Name"] for row in sim.secretsmanager.list_secrets(**asked)["SecretList"]]


@pytest.mark.parametrize("content", [{"SecretString": "x" * 65_537}, {"SecretBinary": b"x" * 65_537}])
def test_a_secret_has_at_most_64_kib(sim: Any, content: dict[str, Any]) -> None:
    with refused("ValidationException"):
        sim.secretsmanager.create_secret(Name="s", **content)
    ((name, value),) = content.items()
    sim.secretsmanager.create_secret(Name="s", **{name: value[:-1]})


def test_a_secret_deleted_without_recovery_holds_its_name_for_a_moment(sim: Any) -> None:
    made = sim.secretsmanager.create_secret(Name="s", SecretString="x")
    sim.secretsmanager.delete_secret(SecretId="s", ForceDeleteWithoutRecovery=True)
    for act in (
        lambda: sim.secretsmanager.create_secret(Name="s", SecretString="y"),
        lambda: sim.secretsmanager.get_secret_value(SecretId="s"),
        lambda: sim.secretsmanager.tag_resource(SecretId="s", Tags=[{"Key": "a", "Value": "b"}]),
    ):
        with refused("InvalidRequestException"):
            act()
    assert sim.secretsmanager.describe_secret(SecretId=made["ARN"])["DeletedDate"]
    sim.clock.advance(5)
    again = sim.secretsmanager.create_secret(Name="s", SecretString="y")
    assert again["ARN"] != made["ARN"]


def test_a_missing_secret_counts_as_deleted_without_recovery_only(sim: Any) -> None:
    with refused("ResourceNotFoundException"):
        sim.secretsmanager.delete_secret(SecretId="none")
    assert sim.secretsmanager.delete_secret(SecretId="none", ForceDeleteWithoutRecovery=True)["Name"] == "none"


def test_a_recovery_window_is_cut_short(sim: Any) -> None:
    sim.secretsmanager.create_secret(Name="s", SecretString="x")
    sim.secretsmanager.delete_secret(SecretId="s")
    sim.secretsmanager.delete_secret(SecretId="s", ForceDeleteWithoutRecovery=True)
    sim.clock.advance(5)
    sim.secretsmanager.create_secret(Name="s", SecretString="x")


def test_secrets_are_listed_by_the_beginning_of_names_and_tags(make_sim: Any) -> None:
    """https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_Filter.html"""
    sim = make_sim(lags=Lags.none())
    for name, tags in (("one/a", {"own": "1"}), ("one/b", {}), ("two/a", {"own": "2"})):
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        sim.secretsmanager.create_secret(Name=name, SecretString="x", Tags=listed)
    sim.secretsmanager.delete_secret(SecretId="one/b")

    def found(*filters: tuple[str, str], **more: Any) -> list[str]:
        return _names(sim, Filters=[{"Key": key, "Values": [value]} for key, value in filters], **more)

    assert found(("name", "one/")) == ["one/a"]
    assert found(("name", "one/"), IncludePlannedDeletion=True) == ["one/a", "one/b"]
    assert found(("name", "!one/")) == ["two/a"]
    assert found(("tag-key", "ow"), ("tag-value", "2")) == ["two/a"]
    with refused("NotServedBySimulator", "the filter all of secretsmanager.ListSecrets"):
        found(("all", "one"))


def test_a_new_secret_is_listed_late_and_not_found_for_a_while(make_sim: Any) -> None:
    """https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_ListSecrets.html: the list is behind."""
    sim = make_sim(lags=Lags(new=2, tagged=20))
    arn = sim.secretsmanager.create_secret(Name="s", SecretString="x")["ARN"]
    for ident in ("s", arn):
        with refused("ResourceNotFoundException"):
            sim.secretsmanager.get_secret_value(SecretId=ident)
    sim.clock.advance(2)
    assert sim.secretsmanager.get_secret_value(SecretId=arn)["SecretString"] == "x"
    assert _names(sim) == []
    sim.clock.advance(18)
    assert _names(sim) == ["s"]


# -- what the instance does -----------------------------------------------------------------------------------


def _node(sim: Any) -> str:
    """An instance that may read and delete the secrets of machines, as those of the upstream provider may.

    https://cluster-api-aws.sigs.k8s.io/topics/userdata-privacy
    """
    actions = ["secretsmanager:DeleteSecret", "secretsmanager:GetSecretValue"]
    rule = {"Effect": "Allow", "Action": actions, "Resource": [f"arn:*:secretsmanager:*:*:secret:{PREFIX}*"]}
    sim.profile("nodes", secrets=json.dumps({"Version": "2012-10-17", "Statement": [rule]}))
    return str(sim.instance(sim.network()[1][0], IamInstanceProfile={"Name": "nodes"}))


def test_an_instance_reads_and_deletes_secrets_of_the_prefix_of_its_rights(sim: Any) -> None:
    instance = _node(sim)
    for name in (f"{PREFIX}one-0", "another"):
        sim.secretsmanager.create_secret(Name=name, SecretBinary=b"data")

    def does(operation: str, name: str, **more: Any) -> Any:
        given = {"SecretId": name, **more}
        body = {"instance": instance, "service": "secretsmanager", "operation": operation, "params": given}
        return sim.cloud.foreign_act("as-instance", body)

    assert does("GetSecretValue", f"{PREFIX}one-0")["SecretBinary"] == "ZGF0YQ=="
    does("DeleteSecret", f"{PREFIX}one-0", ForceDeleteWithoutRecovery=True)
    sim.clock.advance(5)
    with pytest.raises(ValueError, match="ResourceNotFoundException"):
        does("GetSecretValue", f"{PREFIX}one-0")
    for operation, name in (("GetSecretValue", "another"), ("DeleteSecret", "another"), ("GetSecretValue", "none"),
                            ("DescribeSecret", f"{PREFIX}one-0")):  # fmt: skip
        with pytest.raises(ValueError, match="AccessDeniedException"):
            does(operation, name)
    assert sim.secretsmanager.get_secret_value(SecretId="another")["SecretBinary"] == b"data"
    assert not any(call.actor == "api" and call.operation.endswith("DeleteSecret") for call in sim.cloud.calls)


def test_an_instance_has_credentials_while_it_runs_and_has_a_profile(sim: Any) -> None:
    asked = ("secretsmanager", "GetSecretValue", {"SecretId": "s"})
    instance = _node(sim)
    bare = sim.instance(sim.ec2.describe_subnets()["Subnets"][0]["SubnetId"])
    sim.ec2.terminate_instances(InstanceIds=[instance])
    with pytest.raises(ValueError, match="is not running"):
        sim.cloud.strangers.as_instance(instance, *asked)
    with pytest.raises(ValueError, match="no credentials"):
        sim.cloud.strangers.as_instance(bare, *asked)
