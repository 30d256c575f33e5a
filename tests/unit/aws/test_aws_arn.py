"""ARNs are the targets of the engine: what is none, or only nearly one, is not taken for one."""

from __future__ import annotations

import pytest

from freehold.providers.aws.arn import Arn

BALANCER = "arn:aws:elasticloadbalancing:us-east-1:111122223333:loadbalancer/net/demo/0123456789abcdef"
ARNS: dict[str, tuple[str, str, str]] = {
    "of EC2": ("arn:aws:ec2:us-east-1:111122223333:vpc/vpc-1", "vpc", "vpc-1"),
    "of a load balancer, with slashes in its id": (BALANCER, "loadbalancer", "net/demo/0123456789abcdef"),
    "of a bucket, without type, region and account": ("arn:aws:s3:::vpc", "", "vpc"),
    "in China": ("arn:aws-cn:ec2:cn-north-1:111122223333:subnet/subnet-1", "subnet", "subnet-1"),
}


@pytest.mark.parametrize(("text", "type_", "ident"), ARNS.values(), ids=ARNS.keys())
def test_an_arn_has_a_type_and_an_id_and_is_written_as_it_was(text: str, type_: str, ident: str) -> None:
    found = Arn.parse(text)
    assert found is not None
    assert (found.type, found.id, str(found)) == (type_, ident, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vpc-1",
        f"x{ARNS['of EC2'][0]}",
        f" {ARNS['of EC2'][0]}",
        "arn:aws:ec2:us-east-1:111122223333:",
        "arn:aws:ec2:us-east-1:1111:vpc/vpc-1",
        "arn:aws:ec2:us-east-1:1111222233334:vpc/vpc-1",
        "arn:google:ec2:us-east-1:111122223333:vpc/vpc-1",
        "crn:v1:bluemix:public:is:us-south:a/0123::vpc:r006-1",
    ],
)
def test_what_is_no_arn_is_none(text: str) -> None:
    """A person may edit a journal, in which targets are."""
    assert Arn.parse(text) is None
