"""Every operation served × each field missing, of the wrong type, too long, unknown: the service's own error code.

At every depth. Never a 500, never an exception of ours, and nothing is ignored.
"""

import re
from collections import Counter
from typing import Any

from botocore.model import OperationModel

from freehold_sim.aws.call import NOT_SERVED
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.errors import CODES
from freehold_sim.aws.models import service
from freehold_sim.aws.protocols.lengths import LENGTHS
from freehold_sim.aws.services import OPERATIONS
from freehold_sim.clock import VirtualClock
from freehold_sim.http import Request, Response
from harness.aws_fuzz import encode, mistakes
from harness.rows import over_rows

SERVED = [(name, operation) for name, table in OPERATIONS.items() for operation in table]


def code_of(answer: Response) -> str:
    text = answer.body.decode()
    if "x-amzn-ErrorType" in answer.headers:
        return answer.headers["x-amzn-ErrorType"]
    found = re.search(r"<Code>([^<]+)</Code>", text) or re.search(r'"__type": "([^"]+)"', text)
    return found[1] if found else ""


def expected(model: OperationModel, kind: str, member: str) -> str:
    """Return the code of the service for a kind of mistake."""
    name = model.service_model.service_name
    codes = CODES[name]
    _, top, *inside = member.split(".")
    body = (
        name == "s3"
        and top in model.input_shape.members
        and not model.input_shape.members[top].serialization.get("location")
    )
    if body and (inside or kind != "missing"):
        return "MalformedXML"
    if name == "s3" and kind == "type":
        return "InvalidArgument"
    return {
        "unknown": codes.unknown, "missing": codes.missing, "type": codes.wrong_type, "long": codes.value,
        "value": codes.value,
    }[kind]  # fmt: skip


def test_no_kind_of_mistake_is_without_cases() -> None:
    """EC2 and the classic load balancers have lengths that botocore's models lack."""
    counted: Counter[tuple[str, str]] = Counter()
    lengths = set()
    for name, operation in SERVED:
        model = service(name).operation(operation)
        assert model is not None
        for kind, member, _ in mistakes(model):
            counted[name, kind] += 1
            lengths |= {member.rpartition(".")[2]} if kind == "long" else set()
    services = {name for name, _ in SERVED}
    assert {name for name in services if not counted[name, "unknown"]} == set()
    assert {name for name in services if not counted[name, "long"]} == {"s3"}  # no text of S3 has a length
    assert {key.rpartition(".")[2] for key in LENGTHS} <= lengths
    assert counted.total() > 2000


@over_rows(("name", "operation"), SERVED)
def test_a_wrong_field_gets_the_services_own_code(name: str, operation: str) -> None:
    model = service(name).operation(operation)
    assert model is not None
    cloud = SimulatedAWS(VirtualClock())
    for kind, member, params in mistakes(model):
        request = encode(name, model, params)
        if request is None:
            continue
        cloud.data["buckets"].clear()
        answer = cloud.handle(request)
        where = f"{operation}: {kind} {member}: {answer.status} {answer.body[:300]!r}"
        assert answer.status not in {200, 500}, where
        by_name = answer.status == 501 and code_of(answer) == NOT_SERVED
        silent = request.method == "HEAD" and answer.status == 400  # a reply to HEAD has no body
        assert by_name or silent or code_of(answer) == expected(model, kind, member), where
        assert cloud.resources() == [], where


def test_a_text_may_have_as_many_characters_as_documented(sim: Any) -> None:
    most = LENGTHS["CreateSecurityGroupRequest.GroupName"]
    made = sim.ec2.create_security_group(VpcId=sim.vpc(), GroupName="a" * most, Description="a" * most)
    ranges = [{"CidrIp": "10.0.0.0/8", "Description": "a" * LENGTHS["IpRange.Description"]}]
    rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": ranges}
    assert sim.ec2.authorize_security_group_ingress(GroupId=made["GroupId"], IpPermissions=[rule])["Return"]


def test_s3_refuses_wrong_fields(sim: Any) -> None:
    """S3 has its parameters in path, query, headers and XML."""
    headers = {
        "authorization": "AWS4-HMAC-SHA256 Credential=AKIASIMULATED0000001/20261122/us-east-1/s3/aws4_request, x",
    }
    cases = [
        (Request("PUT", "/bucket", {"nonsense": "1"}, headers), "InvalidArgument"),
        (Request("PUT", "/bucket", {}, headers, b"<not xml"), "MalformedXML"),
        (Request("PUT", "/bucket", {}, headers, b"<C><Nonsense>1</Nonsense></C>"), "MalformedXML"),
        (Request("PUT", "/b", {}, headers), "InvalidBucketName"),
        (Request("PUT", "/bucket", {"tagging": ""}, headers, b"<Tagging></Tagging>"), "MalformedXML"),
        (Request("GET", "/bucket", {"list-type": "2", "max-keys": "many"}, headers), "InvalidArgument"),
    ]
    for request, code in cases:
        answer = sim.cloud.handle(request)
        assert code_of(answer) == code, f"{request}: {answer}"
        assert answer.status in {400, 404}


@over_rows(
    "body", [b"\xff\xfe", b"{", b"[]", b"Action=CreateVpc&Version=2016-11-15&CidrBlock.1=a&CidrBlock=b", b"Action="]
)
@over_rows("scope", ["ec2", "elasticloadbalancing", "tagging", "eks", "s3", "iam", "nonsense"])
def test_garbage_is_refused(sim: Any, scope: str, body: bytes) -> None:
    authorization = f"AWS4-HMAC-SHA256 Credential=AKIASIMULATED0000001/20261122/us-east-1/{scope}/aws4_request"
    target = "ResourceGroupsTaggingAPI_20170126.TagResources"
    headers = {"authorization": authorization, "x-amz-target": target}
    answer = sim.cloud.handle(Request("POST", "/", {}, headers, body))
    assert 400 <= answer.status < 500 or answer.status == 501
