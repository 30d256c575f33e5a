"""The table of what is served agrees with botocore's models, and what is not served is refused by name."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.model import Shape

from freehold_sim.aws.call import NOT_SERVED
from freehold_sim.aws.models import service
from freehold_sim.aws.services import OPERATIONS
from harness.rows import over_rows

ROOT = Path(__file__).parents[3]
SERVED = [(name, operation) for name, table in OPERATIONS.items() for operation in table.values()]
NAMES = [f"{name}.{operation.name}" for name, operation in SERVED]


def _unknown(tree: Mapping[str, Any], shape: Shape | None, path: str) -> Iterator[str]:
    while shape is not None and shape.type_name == "list":
        shape = shape.member
    for name, below in tree.items():
        here = f"{path}.{name}"
        members = shape.members if shape is not None and shape.type_name == "structure" else {}
        if name not in members:
            yield here
        else:
            yield from _unknown(below, members[name], here)


@over_rows(("name", "operation"), SERVED, ids=NAMES)
def test_every_served_parameter_is_one_of_the_model(name: str, operation: Any) -> None:
    model = service(name).operation(operation.name)
    assert model is not None, "the service has no such operation"
    assert list(_unknown(operation.takes, model.input_shape, operation.name)) == []


@over_rows(("name", "operation"), SERVED, ids=NAMES)
def test_required_parameters_and_client_tokens_are_served(name: str, operation: Any) -> None:
    """A client token that is ignored would let a client believe in a protection that is not there."""
    model = service(name).operation(operation.name)
    assert model is not None
    if model.input_shape is None:
        return
    assert set(model.input_shape.required_members) <= set(operation.takes)
    tokens = {key for key in model.input_shape.members if key.lower() in {"clienttoken", "clientrequesttoken"}}
    assert tokens <= set(operation.takes)
    if name != "secretsmanager":  # there the token is the id of the version
        assert tokens == ({operation.token.parameter} if operation.token else set())


def test_an_operation_that_is_not_served_is_refused_by_name(sim: Any) -> None:
    with pytest.raises(ClientError, match=r"ec2\.CreateFleet") as caught:
        sim.ec2.create_fleet(LaunchTemplateConfigs=[], TargetCapacitySpecification={"TotalTargetCapacity": 1})
    assert caught.value.response["Error"]["Code"] == NOT_SERVED
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501
    with pytest.raises(ClientError, match=r"eks\.AssociateIdentityProviderConfig"):
        sim.eks.associate_identity_provider_config(clusterName="a", oidc={})


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda sim: sim.ec2.create_vpc(CidrBlock="10.0.0.0/16", Ipv6Pool="pool"), "Ipv6Pool"),
        (lambda sim: sim.ec2.run_instances(MinCount=1, MaxCount=1, HibernationOptions={"Configured": True}),
         "HibernationOptions"),
        (lambda sim: sim.ec2.run_instances(MinCount=1, MaxCount=1, NetworkInterfaces=[{"Ipv6PrefixCount": 1}]),
         "NetworkInterfaces.Ipv6PrefixCount"),
        (lambda sim: sim.elbv2.create_listener(LoadBalancerArn="a", DefaultActions=[{"Type": "redirect", "Order": 1}]),
         "DefaultActions.Order"),
        (lambda sim: sim.secretsmanager.create_secret(Name="a", AddReplicaRegions=[{"Region": "eu-west-1"}]),
         "AddReplicaRegions"),
        (lambda sim: sim.eks.create_cluster(name="a", roleArn="b", resourcesVpcConfig={}, zonalShiftConfig={}),
         "zonalShiftConfig"),
    ],
    ids=["top", "structure", "in a list", "query protocol", "json", "rest-json"],
)  # fmt: skip
def test_a_parameter_that_is_not_served_is_refused_by_name(sim: Any, call: Any, path: str) -> None:
    """Ignoring it would let a test pass that fails on AWS."""
    with pytest.raises(ClientError, match=rf"does not serve the parameter {path} ") as caught:
        call(sim)
    assert caught.value.response["Error"]["Code"] == NOT_SERVED
    assert sim.cloud.resources() == []


WITHOUT_EFFECT = {
    "AllAvailabilityZones": "no zone needs to be opted in",
    "AllRegions": "no region needs to be opted in",
    "WithDecryption": "the parameters that are served are plain strings",
    "ChecksumMode": "checksums are not kept",
    "ChecksumAlgorithm": "the transport of a simulator does not corrupt",
    "ContentMD5": "so", "ChecksumCRC32": "so", "ChecksumCRC32C": "so", "ChecksumCRC64NVME": "so", "ChecksumSHA1": "so",
    "ChecksumSHA256": "so", "ContentLength": "the length of the body is known",
    "force": "no check of readiness holds an update back",
    "DryRun": "cloud.py answers it for every operation",
}  # fmt: skip


def _words_of_code() -> set[str]:
    """Return every text in the code of the simulator, except the lists of what is served."""
    found: set[str] = set()
    for path in (ROOT / "src/freehold_sim/aws").rglob("*.py"):
        tree = ast.parse(path.read_text())
        served = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"reads", "writes"}
            for inner in ast.walk(node)
        }
        found |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in served
        }
    return found


def test_every_parameter_that_is_served_is_read_somewhere() -> None:
    """A parameter that is taken and never looked at would be ignored in silence."""
    words = _words_of_code()
    unread = {
        f"{name}.{operation.name}: {parameter}"
        for name, operation in SERVED
        for parameter in operation.takes
        if parameter not in words | WITHOUT_EFFECT.keys()
        and not (operation.token and operation.token.parameter == parameter)
    }
    assert unread == set()
