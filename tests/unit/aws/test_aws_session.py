"""Sessions by identity: what they sign with, where they send it, and that they send it once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from botocore.exceptions import ClientError
from botocore.utils import parse_timestamp

from freehold.engine import errors
from freehold.engine.port import InlinePort
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.identities import AssumedRole, OwnCredentials, StaticKeys
from freehold.providers.aws.session import AwsSession, parse_time
from freehold_sim.faults import Effect, Fault
from harness.aws_account import KEYS, REGION, AwsAccount
from harness.simulated_aws import ACCOUNT, KEY, OTHER_ACCOUNT, OTHER_KEY


class _Server(HTTPServer):
    """Answers every request in one way, or, with status 0, closes the connection."""

    def __init__(self, status: int, body: bytes = b"", **headers: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = (status, body, headers)
        self.taken: list[str] = []
        self.agents: set[str] = set()
        self.hosts: list[str] = []
        self.bodies: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Any:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _any(self) -> None:
        self.server.taken.append(self.command)
        self.server.agents.add(self.headers["User-Agent"])
        self.server.hosts += self.headers.get_all("Host", [])
        self.server.bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        status, body, headers = self.server.answer
        if not status:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _any  # noqa: N815 (names of the base class)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Tests print nothing."""


@pytest.fixture
def client_at() -> Iterator[Any]:
    """Return a maker of API clients for an address."""
    sessions: list[AwsSession] = []

    def make(url: str) -> AwsClient:
        sessions.append(AwsSession(KEYS, REGION, endpoint=url))
        return AwsClient(sessions[-1], InlinePort())

    yield make
    for session in sessions:
        session.close()


REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a create without a token": ("ec2", "create_vpc", {"CidrBlock": "10.0.0.0/16"}),
    "a create with a token": ("ec2", "create_route_table", {"VpcId": "vpc-1", "ClientToken": "t"}),
    "a delete": ("ec2", "delete_vpc", {"VpcId": "vpc-1"}),
    "a read": ("ec2", "describe_vpcs", {}),
    "a create of ELBv2": ("elbv2", "create_target_group", {"Name": "t"}),
    "a delete of S3": ("s3", "delete_bucket", {"Bucket": "our-bucket"}),
}


@pytest.mark.parametrize("environment", [{}, {"AWS_MAX_ATTEMPTS": "5", "AWS_RETRY_MODE": "adaptive"}])
@pytest.mark.parametrize("status", [0, 500, 503, 429])
async def test_no_request_is_sent_again(
    client_at: Any, status: int, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The effect is unknown; only the engine reads before it sends again, and counts its requests."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with _Server(status) as server:
        api = client_at(server.url)
        for service, operation, params in REQUESTS.values():
            with pytest.raises((errors.Unknown, errors.Unavailable, errors.Throttled, errors.Invalid)):
                await api.write(service, operation, "x", **params)
    assert len(server.taken) == len(REQUESTS)


@pytest.mark.parametrize("name", REQUESTS)
async def test_cloudtrail_tells_our_requests_from_other_tools(client_at: Any, name: str) -> None:
    service, operation, params = REQUESTS[name]
    with _Server(403) as server, pytest.raises(errors.CloudError):
        await client_at(server.url).write(service, operation, "x", **params)
    [agent] = server.agents
    assert agent.startswith("freehold Botocore/")
    assert server.hosts == [f"127.0.0.1:{server.server_port}"]


async def test_a_form_is_made_once_and_says_all(client_at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change of tags names up to two hundred resources: botocore would make the text again for the signature."""
    made: list[Any] = []
    monkeypatch.setattr("botocore.awsrequest.urlencode", lambda *said, **_: made.append(said))
    tags = [{"Key": "a b&c=d", "Value": "ü/+%"}, {"Key": "*", "Value": ""}]
    with _Server(403) as server, pytest.raises(errors.CloudError):
        await client_at(server.url).write("ec2", "create_tags", "x", Resources=["vol-1"], Tags=tags)
    [body] = server.bodies
    said = dict(parse_qsl(body, keep_blank_values=True))
    assert [said["Tag.1.Key"], said["Tag.1.Value"], said["Tag.2.Key"], said["Tag.2.Value"]] == [
        "a b&c=d", "ü/+%", "*", "",
    ]  # fmt: skip
    assert said["Action"] == "CreateTags" and said["ResourceId.1"] == "vol-1" and not made


@pytest.mark.parametrize(
    "text",
    ["2026-11-29T10:05:07.000Z", "2026-11-29T10:05:07Z", "Sun, 29 Nov 2026 10:05:07 GMT", 1795946707, "1795946707"],
)
def test_a_time_is_what_botocore_reads(text: Any) -> None:
    assert parse_time(text) == parse_timestamp(text)
    assert parse_time(text).timestamp() == 1795946707


async def test_cloudtrail_tells_the_application_that_its_user_has_named(
    client_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SDK_UA_APP_ID", "team a/prod")
    with _Server(403) as server, pytest.raises(errors.CloudError):
        await client_at(server.url).read("ec2", "describe_vpcs", "x")
    [agent] = server.agents
    assert agent.endswith(" app/team-a-prod")


def test_cloudtrail_tells_who_fetches_the_credentials_of_our_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """botocore asks STS by itself for a role of EKS."""
    token = tmp_path / "token"
    token.write_text("a token", encoding="utf-8")
    monkeypatch.setenv("AWS_ROLE_ARN", f"arn:aws:iam::{ACCOUNT}:role/freehold")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    refusal = b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
    with _Server(403, refusal) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
        [renewal] = AwsSession(OwnCredentials(), REGION).due_renewals()
        with pytest.raises(ClientError, match="AssumeRoleWithWebIdentity"):
            renewal.run()
    [agent] = server.agents
    assert agent.startswith("freehold Botocore/")


async def test_s3_does_not_follow_a_bucket_to_another_region(client_at: Any) -> None:
    """A bucket of that name in another region is not the one that was to be deleted."""
    moved = b"<Error><Code>PermanentRedirect</Code><Message>use the endpoint</Message></Error>"
    redirecting = _Server(301, moved, x_amz_bucket_region="eu-west-1")
    with redirecting as server, pytest.raises(errors.Invalid, match="in another region"):
        await client_at(server.url).write("s3", "delete_bucket", "x", Bucket="our-bucket")
    assert server.taken == ["DELETE"]


async def test_a_client_token_that_botocore_would_make_up_is_refused(client_at: Any) -> None:
    """Made up anew for each call, it protects from nothing once the process has died."""
    with _Server(500) as server, pytest.raises(errors.Invalid, match="ClientToken"):
        await client_at(server.url).write("ec2", "create_route_table", "x", VpcId="vpc-1")
    assert server.taken == []


def test_a_client_has_only_operations_that_we_send() -> None:
    """Its methods for the others would be built, and kept, for each identity."""
    client = AwsSession(KEYS, REGION).client("ec2")
    assert hasattr(client, "create_vpc") and not hasattr(client, "purchase_host_reservation")


def test_time_outs_are_set() -> None:
    """botocore's own are a minute each: a pass would hold its thread for two."""
    config = AwsSession(KEYS, REGION).client("ec2").meta.config
    assert (config.connect_timeout, config.read_timeout) == (3.0, 10.0)
    assert config.retries["total_max_attempts"] == 1


def test_addresses_are_regional_and_of_the_partition() -> None:
    addresses = {
        (service, region): AwsSession(KEYS, region).client(service).meta.endpoint_url
        for service, region in (("ec2", "us-gov-west-1"), ("sts", "us-east-1"), ("elbv2", "cn-north-1"))
    }
    assert addresses == {
        ("ec2", "us-gov-west-1"): "https://ec2.us-gov-west-1.amazonaws.com",
        ("sts", "us-east-1"): "https://sts.us-east-1.amazonaws.com",
        ("elbv2", "cn-north-1"): "https://elasticloadbalancing.cn-north-1.amazonaws.com.cn",
    }


@pytest.mark.parametrize(
    "region", ["thief.example/#", "us-east-1.thief.example", "mars-north-1", "", "x", "us-east-1\n"]
)
def test_what_is_no_region_is_refused(region: str) -> None:
    """The region names the host that is sent signed requests, and comes from a manifest."""
    with pytest.raises(ValueError, match="is no region of AWS"):
        AwsSession(KEYS, region)


def test_a_simulated_cloud_on_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    session = AwsSession(KEYS, REGION, endpoint="http://127.0.0.1:8080")
    assert session.client("ec2").meta.config.proxies == {}


async def test_each_identity_acts_in_its_own_account(account: AwsAccount) -> None:
    assert await account.api.account() == ACCOUNT
    assert await account.session_of(StaticKeys(OTHER_KEY, "s")).account() == OTHER_ACCOUNT


async def test_the_account_is_asked_for_once_for_all_objects(account: AwsAccount) -> None:
    """ARNs need it, and each object has a client of its own on the shared session."""
    for _ in range(2):
        assert await AwsClient(account.session, account.port).account() == ACCOUNT
    assert account.sent() == ["sts.get_caller_identity"]


async def test_the_operators_own_credentials_come_from_the_environment(
    account: AwsAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", OTHER_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    api = account.session_of(OwnCredentials())
    assert await api.account() == OTHER_ACCOUNT
    await api.read("ec2", "describe_vpcs", "all")
    assert account.sent() == ["sts.load_credentials", "sts.get_caller_identity", "ec2.describe_vpcs"]


async def test_where_there_are_no_credentials_a_person_is_told(
    account: AwsAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "missing")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "missing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(errors.Denied, match="there are no AWS credentials"):
        await account.session_of(OwnCredentials()).account()


async def test_a_profile_that_is_missing_is_told_without_a_traceback(
    account: AwsAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(errors.Denied, match="nobody"):
        await account.session_of(OwnCredentials()).account()


# -- roles ------------------------------------------------------------------------------------------------------


def _role(account: AwsAccount, **fields: Any) -> AssumedRole:
    arn = account.role("freehold")
    account.iam.attach_role_policy(RoleName="freehold", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    return AssumedRole(arn, KEYS, **fields)


async def test_a_role_is_assumed_by_a_call_of_its_own_and_kept(account: AwsAccount) -> None:
    api = account.session_of(_role(account, session_name="team-a"))
    await api.read("ec2", "describe_vpcs", "all")
    assert await api.identity() == f"arn:aws:sts::{ACCOUNT}:assumed-role/freehold/team-a"
    assert account.sent() == ["sts.assume_role", "ec2.describe_vpcs", "sts.get_caller_identity"]


async def test_a_role_is_renewed_before_its_session_ends(account: AwsAccount) -> None:
    wall = [time.time()]
    api = account.session_of(_role(account, seconds=1000), wall=lambda: wall[0])
    for later, assumed in ((0.0, 1), (700.0, 1), (200.0, 2)):
        wall[0] += later
        await api.read("ec2", "describe_vpcs", "all")
        assert account.sent().count("sts.assume_role") == assumed


async def test_a_session_that_ended_early_is_renewed_once(account: AwsAccount) -> None:
    """Somebody revoked the role's sessions, or this machine's clock was set."""
    api = account.session_of(_role(account))
    await api.read("ec2", "describe_vpcs", "all")
    for session in account.cloud.data["sessions"].values():
        session["expires"] = 0.0
    await api.read("ec2", "describe_vpcs", "all")
    assert account.sent().count("sts.assume_role") == 2


async def test_expired_static_keys_are_not_tried_twice(account: AwsAccount) -> None:
    account.cloud.faults.add(Fault(Effect.EXPIRED, "ec2.DescribeVpcs"))
    with pytest.raises(errors.Denied, match="the access key"):
        await account.api.read("ec2", "describe_vpcs", "all")
    assert account.sent() == ["ec2.describe_vpcs"]


async def test_a_session_policy_narrows_a_role(account: AwsAccount) -> None:
    policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}]}'
    api = account.session_of(_role(account, policy=policy))
    await api.read("ec2", "describe_vpcs", "all")
    with pytest.raises(errors.Denied, match=r"Grant ec2:CreateVpc to the role arn:aws:iam::\d+:role/freehold"):
        await api.write("ec2", "create_vpc", "x", CidrBlock="10.0.0.0/16")


def test_a_role_is_asked_for_with_all_that_its_identity_says() -> None:
    """The simulated STS does not take them all; botocore checks them against the service model."""
    asked: list[dict[str, Any]] = []

    def answer(client: Any) -> None:
        client.meta.events.register("provide-client-params.sts.AssumeRole", lambda params, **_: asked.append(params))
        client.meta.events.register("before-send", _stop)

    def _stop(**_: Any) -> Any:
        raise ConnectionError

    role = AssumedRole(
        f"arn:aws:iam::{ACCOUNT}:role/r", KEYS, "external", "us", 900, "{}", ("arn:aws:iam::aws:policy/P",)
    )
    (renewal,) = AwsSession(role, REGION, mount=answer).due_renewals()
    with pytest.raises(ConnectionError):
        renewal.run()
    assert asked == [
        {
            "RoleArn": role.arn, "RoleSessionName": "us", "DurationSeconds": 900, "ExternalId": "external",
            "Policy": "{}", "PolicyArns": [{"arn": "arn:aws:iam::aws:policy/P"}],
        }
    ]  # fmt: skip


def test_secrets_are_neither_shown_nor_left_in_texts() -> None:
    keys = StaticKeys(KEY, "very-secret", "token-secret")
    role = AssumedRole(f"arn:aws:iam::{ACCOUNT}:role/r", keys, "external-secret")
    assert "secret" not in repr(role)
    assert AwsSession(role, REGION).scrub("very-secret and token-secret") == "*** and ***"
