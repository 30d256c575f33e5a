"""A client that nobody here wrote, over HTTP: the AWS CLI with its waiters, pagers and error texts."""

import json
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.aws_cli import Cli
from harness.aws_cli_kinds import KINDS, TAG, Made, tags_in
from harness.forks import Program
from harness.simulated_aws import KEY, TRUST

SPEED = 2000
"""Simulated seconds in a second: waiters find what they wait for at their first look, or soon."""

QUICK = 0.001
"""What every delay is multiplied by: the CLI looks only every 15 or 30 real seconds."""


@pytest.fixture(scope="module")
def aws(tmp_path_factory: Any) -> Iterator[Cli]:
    """The CLI of an account of a simulator that runs as a process of its own, beside an IBM Cloud."""
    folder = tmp_path_factory.mktemp("sim")
    ready, settings = folder / "ready.json", folder / "settings.json"
    delays = {"nat_gateway_listed": 1e6, "instance_listed": 1e6, "scale": QUICK}
    settings.write_text(json.dumps({"delays": delays}))
    command = [sys.executable, "-m", "freehold_sim", "--cloud", "aws", "--cloud", "ibm", "--speed", str(SPEED)]
    process = Program(
        [*command, "--ready-file", str(ready), "--settings", f"aws={settings}", "--until-stdin-closes"],
        stdin=subprocess.PIPE,
    )
    cli = Cli(_url(ready, process), KEY)
    yield cli
    cli.close()
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=10) == 0


def _url(ready: Path, process: "subprocess.Popen[bytes]") -> str:
    while not ready.exists():
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError("the simulator did not start")
    return str(json.loads(ready.read_text())["url"])


def _tags(kind: str) -> tuple[str, str]:
    return "--tag-specifications", f"ResourceType={kind},Tags=[{{Key=own,Value=1}}]"


@pytest.fixture(scope="module")
def network(aws: Cli) -> Iterator[dict[str, Any]]:
    vpc = aws("ec2", "create-vpc", "--cidr-block", "10.0.0.0/16", *_tags("vpc"))["Vpc"]["VpcId"]
    aws("ec2", "wait", "vpc-available", "--vpc-ids", vpc)
    gateway = aws("ec2", "create-internet-gateway", *_tags("internet-gateway"))["InternetGateway"]["InternetGatewayId"]
    aws("ec2", "attach-internet-gateway", "--internet-gateway-id", gateway, "--vpc-id", vpc)
    subnets = []
    for number, zone in enumerate("abc"):
        where = ("--vpc-id", vpc, "--cidr-block", f"10.0.{number}.0/24", "--availability-zone", f"us-east-1{zone}")
        subnets.append(aws("ec2", "create-subnet", *where, *_tags("subnet"))["Subnet"]["SubnetId"])
    aws("ec2", "wait", "subnet-available", "--subnet-ids", *subnets)
    yield {"vpc": vpc, "gateway": gateway, "subnets": subnets}
    for subnet in subnets:
        aws("ec2", "delete-subnet", "--subnet-id", subnet)
    aws("ec2", "detach-internet-gateway", "--internet-gateway-id", gateway, "--vpc-id", vpc)
    aws("ec2", "delete-internet-gateway", "--internet-gateway-id", gateway)
    aws("ec2", "delete-vpc", "--vpc-id", vpc)


def test_nat_gateways_with_their_waiters(aws: Cli, network: dict[str, Any]) -> None:
    address = aws("ec2", "allocate-address", "--domain", "vpc", *_tags("elastic-ip"))["AllocationId"]
    made = aws(
        "ec2", "create-nat-gateway", "--subnet-id", network["subnets"][0], "--allocation-id", address,
        *_tags("natgateway"),
    )["NatGateway"]["NatGatewayId"]  # fmt: skip
    aws("ec2", "wait", "nat-gateway-available", "--nat-gateway-ids", made)
    assert "DependencyViolation" in aws.fails("ec2", "delete-subnet", "--subnet-id", network["subnets"][0])
    aws("ec2", "delete-nat-gateway", "--nat-gateway-id", made)
    aws("ec2", "wait", "nat-gateway-deleted", "--nat-gateway-ids", made)
    aws("ec2", "release-address", "--allocation-id", address)
    assert "InvalidAllocationID.NotFound" in aws.fails("ec2", "release-address", "--allocation-id", address)


def test_routes_and_groups(aws: Cli, network: dict[str, Any]) -> None:
    table = aws("ec2", "create-route-table", "--vpc-id", network["vpc"], *_tags("route-table"))["RouteTable"]
    ident = table["RouteTableId"]
    route = ("--route-table-id", ident, "--destination-cidr-block", "0.0.0.0/0")
    aws("ec2", "create-route", *route, "--gateway-id", network["gateway"])
    association = aws("ec2", "associate-route-table", "--route-table-id", ident, "--subnet-id", network["subnets"][0])[
        "AssociationId"
    ]
    aws("ec2", "disassociate-route-table", "--association-id", association)
    aws("ec2", "delete-route", *route)
    aws("ec2", "delete-route-table", "--route-table-id", ident)
    group = aws(
        "ec2", "create-security-group", "--group-name", "one", "--description", "d", "--vpc-id", network["vpc"],
        *_tags("security-group"),
    )["GroupId"]  # fmt: skip
    rule = ("--group-id", group, "--protocol", "tcp", "--port", "22", "--cidr", "0.0.0.0/0")
    aws("ec2", "authorize-security-group-ingress", *rule)
    assert "InvalidPermission.Duplicate" in aws.fails("ec2", "authorize-security-group-ingress", *rule)
    aws("ec2", "revoke-security-group-ingress", *rule)
    aws("ec2", "wait", "security-group-exists", "--group-ids", group)
    aws("ec2", "create-tags", "--resources", group, "--tags", "Key=a,Value=b")
    tags = aws("ec2", "describe-tags", "--filters", f"Name=resource-id,Values={group}")["Tags"]
    assert {(tag["Key"], tag["Value"]) for tag in tags} == {("own", "1"), ("a", "b")}
    aws("ec2", "delete-security-group", "--group-id", group)


def test_load_balancers_with_their_waiters(aws: Cli, network: dict[str, Any]) -> None:
    made = aws(
        "elbv2", "create-load-balancer", "--name", "lb", "--type", "network", "--subnets", *network["subnets"],
        "--tags", "Key=own,Value=1",
    )["LoadBalancers"][0]["LoadBalancerArn"]  # fmt: skip
    aws("elbv2", "wait", "load-balancer-available", "--load-balancer-arns", made)
    group = aws(
        "elbv2", "create-target-group", "--name", "tg", "--protocol", "TCP", "--port", "80", "--vpc-id", network["vpc"]
    )["TargetGroups"][0]["TargetGroupArn"]
    action = f"Type=forward,TargetGroupArn={group}"
    listener = ("--load-balancer-arn", made, "--protocol", "TCP", "--port", "80", "--default-actions", action)
    aws("elbv2", "create-listener", *listener)
    assert "ResourceInUse" in aws.fails("elbv2", "delete-target-group", "--target-group-arn", group)
    aws("elbv2", "delete-load-balancer", "--load-balancer-arn", made)
    aws("elbv2", "wait", "load-balancers-deleted", "--load-balancer-arns", made)
    aws("elbv2", "delete-target-group", "--target-group-arn", group)
    listeners = "Protocol=TCP,LoadBalancerPort=80,InstanceProtocol=TCP,InstancePort=80"
    classic = ("--load-balancer-name", "classic")
    aws("elb", "create-load-balancer", *classic, "--listeners", listeners, "--subnets", *network["subnets"])
    aws("elb", "add-tags", "--load-balancer-names", "classic", "--tags", "Key=a,Value=b")
    assert aws("elb", "describe-tags", "--load-balancer-names", "classic")["TagDescriptions"][0]["Tags"]
    aws("elb", "delete-load-balancer", *classic)
    assert "LoadBalancerNotFound" in aws.fails("elb", "describe-instance-health", *classic)


def test_pagers_and_the_tagging_api(aws: Cli, network: dict[str, Any]) -> None:
    by_key = ("--tag-filters", "Key=own,Values=1")
    whole = aws("resourcegroupstaggingapi", "get-resources", *by_key)["ResourceTagMappingList"]
    paged = aws("resourcegroupstaggingapi", "get-resources", *by_key, "--page-size", "1")["ResourceTagMappingList"]
    assert len(whole) >= 5
    assert [row["ResourceARN"] for row in paged] == [row["ResourceARN"] for row in whole]
    found = aws("ec2", "describe-subnets", "--page-size", "5", "--max-items", "2")
    assert len(found["Subnets"]) == 2
    assert found["NextToken"]
    arn = next(row["ResourceARN"] for row in whole if f"vpc/{network['vpc']}" in row["ResourceARN"])
    tagged = aws("resourcegroupstaggingapi", "tag-resources", "--resource-arn-list", arn, "--tags", "x=y")
    assert tagged["FailedResourcesMap"] == {}
    aws("resourcegroupstaggingapi", "untag-resources", "--resource-arn-list", arn, "--tag-keys", "x")


def test_iam_s3_secrets_parameters(aws: Cli) -> None:
    aws("iam", "create-role", "--role-name", "r", "--assume-role-policy-document", TRUST)
    aws("iam", "wait", "role-exists", "--role-name", "r")
    aws("iam", "tag-role", "--role-name", "r", "--tags", "Key=a,Value=b")
    aws("iam", "create-instance-profile", "--instance-profile-name", "i")
    aws("iam", "add-role-to-instance-profile", "--instance-profile-name", "i", "--role-name", "r")
    aws("iam", "wait", "instance-profile-exists", "--instance-profile-name", "i")
    assert "DeleteConflict" in aws.fails("iam", "delete-role", "--role-name", "r")
    aws("iam", "remove-role-from-instance-profile", "--instance-profile-name", "i", "--role-name", "r")
    aws("iam", "delete-instance-profile", "--instance-profile-name", "i")
    aws("iam", "delete-role", "--role-name", "r")
    aws("s3api", "create-bucket", "--bucket", "one-bucket")
    aws("s3api", "wait", "bucket-exists", "--bucket", "one-bucket")
    aws("s3api", "put-bucket-tagging", "--bucket", "one-bucket", "--tagging", "TagSet=[{Key=a,Value=b}]")
    assert aws("s3api", "get-bucket-tagging", "--bucket", "one-bucket")["TagSet"] == [{"Key": "a", "Value": "b"}]
    aws("s3api", "put-object", "--bucket", "one-bucket", "--key", "k", "--body", __file__)
    assert "BucketNotEmpty" in aws.fails("s3api", "delete-bucket", "--bucket", "one-bucket")
    aws("s3api", "delete-object", "--bucket", "one-bucket", "--key", "k")
    aws("s3api", "delete-bucket", "--bucket", "one-bucket")
    aws("s3api", "wait", "bucket-not-exists", "--bucket", "one-bucket")
    aws("secretsmanager", "create-secret", "--name", "s", "--secret-string", "x")
    assert aws("secretsmanager", "get-secret-value", "--secret-id", "s")["SecretString"] == "x"
    aws("secretsmanager", "delete-secret", "--secret-id", "s", "--force-delete-without-recovery")
    assert "ParameterNotFound" in aws.fails("ssm", "get-parameter", "--name", "/none")


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_from_its_birth_to_its_end(aws: Cli, name: str) -> None:
    """Create, describe, tag, delete, gone, with the waiters that the CLI has for it; and so all that it needs."""
    kind = KINDS[name]
    with closing(Made(aws)) as made:
        own = made.make(name)
        assert own["id"] in json.dumps(made.run(kind.describe, own))
        if kind.tag:
            made.run(kind.tag, own)
        assert TAG in tags_in(made.run(kind.tagged or kind.describe, own))
        if kind.untag:
            made.run(kind.untag, own)
            assert TAG not in tags_in(made.run(kind.tagged or kind.describe, own))
        made.remove_last()
        assert kind.gone in str(aws.run(*made.words(kind.describe, own)))


def test_what_is_not_served_is_said_by_name(aws: Cli) -> None:
    assert "does not serve ec2.CreateTransitGateway" in aws.fails("ec2", "create-transit-gateway")
    assert "does not serve the parameter Ipv6Pool" in aws.fails(
        "ec2", "create-vpc", "--cidr-block", "10.0.0.0/16", "--ipv6-pool", "pool"
    )


def test_a_role_session_through_the_cli(aws: Cli) -> None:
    role = aws("iam", "create-role", "--role-name", "s", "--assume-role-policy-document", TRUST)["Role"]["Arn"]
    made = aws("sts", "assume-role", "--role-arn", role, "--role-session-name", "one")
    assert made["AssumedRoleUser"]["Arn"].endswith(":assumed-role/s/one")
    assert aws("sts", "get-caller-identity")["Account"] == "111122223333"


def test_the_example_tells_what_happens(aws: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    """With boto3 and with the CLI, over HTTP, in one run; its commands go to the CLI that runs already."""
    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "aws_simulated.py"))

    def cli(url: str) -> Callable[..., str]:
        def run(*words: str) -> str:
            if "wait" in words:  # the CLI looks again only after 15 real seconds: all is there at its first look
                example["admin"](url, "clock", {"advance": 60})
            _, output, errors = aws.run("--endpoint-url", url, *words)
            return (output or errors).strip()

        return run

    example["main"].__globals__["cli"] = cli
    example["main"]()
    told = (
        "ConnectionClosedError",
        "found by the tag",
        "1 made",
        "DependencyViolation",
        "0 tagged resources now, 1 half",
    )
    said = capsys.readouterr().out
    for words in (*told, "wait vpc-available: vpc-", "InvalidVpcID.NotFound"):
        assert words in said
