"""boto3 as it is with a simulated AWS; every reply passes through botocore's parsers, and retries are off."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.protocols.validation import problems
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.wire import Asked
from freehold_sim.clock import VirtualClock
from freehold_sim.http import Request, Response
from freehold_sim.mount import mount_client

KEY, OTHER_KEY = "AKIASIMULATED0000001", "AKIASIMULATED0000002"
ACCOUNT, OTHER_ACCOUNT = "111122223333", "444455556666"
TRUST = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}]}'


class CheckedAWS(SimulatedAWS):
    """Checks each reply against the output shape of botocore: members that must be there, types, values of enums."""

    def reply(self, asked: Asked, values: Mapping[str, Any], request_id: str) -> Response:
        assert asked.operation is not None
        for invalid in problems(values, asked.operation.output_shape):
            assert any(pattern.search(str(invalid)) for pattern in BEYOND_THE_MODEL), f"{asked.action}: {invalid}"
        return super().reply(asked, values, request_id)


BEYOND_THE_MODEL = tuple(
    re.compile(text)
    for text in (
        r"InternetGateways?\S*\.Attachments\.1\.State 'available'",  # API_InternetGatewayAttachment
        r"VpcEndpoints?\S*\.State '[a-z]+'",  # lower case in the examples of describe-vpc-endpoints
        r"InterfaceType 'nat_gateway'",  # the filter interface-type of API_DescribeNetworkInterfaces
        r"clusterVersions\S*\.status '[A-Z_]+'",  # userguide/kubernetes-versions.html#version-cli
        r"wrong length: \S*[tT]ags has length 0",  # the shape of a request, which is not empty, serves replies too
    )
)
"""What AWS answers though its model has no such value, with the source."""


class Exchange:
    """Connects clients that many simulated accounts share with the one that sends: a client keeps nothing of it."""

    cloud: SimulatedAWS

    def handle(self, request: Request) -> Response:
        return self.cloud.handle(request)


def resolve_once(client: Any) -> None:
    """Keep the endpoint of each operation, for which botocore goes through its rules at each request.

    Those of S3 depend on the bucket.
    """
    if client.meta.service_model.service_name == "s3":
        return
    resolver = client._ruleset_resolver
    resolve = resolver.construct_endpoint

    @cache
    def endpoint_of(operation: Any) -> Any:
        return resolve(operation_model=operation, call_args={}, request_context={})

    resolver.construct_endpoint = lambda operation_model, **_: endpoint_of(operation_model)


@cache
def _session(key: str, token: str | None) -> Any:
    """A session keeps the service models that it has read."""
    return boto3.Session(key, "secret", token)


@cache
def _shared(service: str, key: str, region: str, token: str | None) -> tuple[Exchange, Any]:
    """To build a client of EC2 takes 0.05 CPU-seconds."""
    once = {"mode": "standard", "total_max_attempts": 1}
    # botocore builds an agent of its own twice for each request.
    config = Config(retries=once, parameter_validation=False, user_agent="a test")
    exchange, client = Exchange(), _session(key, token).client(service, region_name=region, config=config)
    mount_client(client, exchange)
    resolve_once(client)
    return exchange, client


class Sim:
    """A simulated AWS and clients of it, with shortcuts for resources that are ready."""

    def __init__(self, settings: Settings) -> None:
        self.clock = VirtualClock()
        self.cloud: SimulatedAWS = CheckedAWS(self.clock, settings)

    def client(self, service: str, key: str = KEY, region: str = "us-east-1", token: str | None = None) -> Any:
        exchange, client = _shared(service, key, region, token)
        exchange.cloud = self.cloud
        return client

    def __getattr__(self, service: str) -> Any:
        if service in {"ec2", "elb", "elbv2", "iam", "sts", "s3", "ssm", "secretsmanager", "eks", "kms"}:
            return self.client(service)
        raise AttributeError(service)

    @property
    def tagging(self) -> Any:
        return self.client("resourcegroupstaggingapi")

    # -- shortcuts --------------------------------------------------------------------------------------------

    def vpc(self, block: str = "10.0.0.0/16", **more: Any) -> str:
        made = self.ec2.create_vpc(CidrBlock=block, **more)["Vpc"]["VpcId"]
        self.clock.advance(2)
        return str(made)

    def subnet(self, vpc: str, number: int = 0, zone: str = "a", **more: Any) -> str:
        block = f"10.0.{number}.0/24"
        made = self.ec2.create_subnet(VpcId=vpc, CidrBlock=block, AvailabilityZone=f"us-east-1{zone}", **more)
        return str(made["Subnet"]["SubnetId"])

    def group(self, vpc: str, name: str = "group", **more: Any) -> str:
        made = self.ec2.create_security_group(VpcId=vpc, GroupName=name, Description="for a test", **more)
        return str(made["GroupId"])

    def gateway(self, vpc: str) -> str:
        made = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=vpc)
        return str(made)

    def network(self) -> tuple[str, list[str]]:
        """A VPC with an internet gateway and three subnets in three zones."""
        vpc = self.vpc()
        self.gateway(vpc)
        return vpc, [self.subnet(vpc, number, zone) for number, zone in enumerate("abc")]

    def nat(self, subnet: str, **more: Any) -> str:
        address = self.ec2.allocate_address(Domain="vpc")["AllocationId"]
        made = self.ec2.create_nat_gateway(SubnetId=subnet, AllocationId=address, **more)
        return str(made["NatGateway"]["NatGatewayId"])

    def instance(self, subnet: str, **more: Any) -> str:
        given = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
        made = self.ec2.run_instances(**{**given, "SubnetId": subnet, **more})
        self.clock.advance(30)
        return str(made["Instances"][0]["InstanceId"])

    def balancer(self, subnets: list[str], name: str = "lb", **more: Any) -> str:
        made = self.elbv2.create_load_balancer(Name=name, Subnets=subnets, Type="network", **more)
        self.clock.advance(150)
        return str(made["LoadBalancers"][0]["LoadBalancerArn"])

    def target_group(self, vpc: str, name: str = "tg", **more: Any) -> str:
        given = {"Protocol": "TCP", "Port": 6443, "VpcId": vpc, **more}
        return str(self.elbv2.create_target_group(Name=name, **given)["TargetGroups"][0]["TargetGroupArn"])

    def role(self, name: str = "role") -> str:
        return str(self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=TRUST)["Role"]["Arn"])

    def profile(self, name: str, **allowed: Any) -> str:
        """An instance profile with a role, which may do what its inline policies allow."""
        self.role(name)
        for policy, document in allowed.items():
            self.iam.put_role_policy(RoleName=name, PolicyName=policy, PolicyDocument=document)
        made = self.iam.create_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Arn"]
        self.iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
        return str(made)

    def cluster(self, name: str = "one", **more: Any) -> dict[str, Any]:
        _, subnets = self.network()
        role = self.role(f"{name}-role")
        network = {"subnetIds": subnets}
        self.eks.create_cluster(name=name, roleArn=role, resourcesVpcConfig=network, **more)
        self.clock.advance(700)
        return dict(self.eks.describe_cluster(name=name)["cluster"])


@contextmanager
def refused(code: str, sentence: str = "") -> Iterator[None]:
    """Expect an error of AWS with this code, and in its message this sentence."""
    with pytest.raises(ClientError) as caught:
        yield
    assert caught.value.response["Error"]["Code"] == code, caught.value
    assert sentence in caught.value.response["Error"]["Message"]


def tagged(kind: str, **tags: str) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}]
