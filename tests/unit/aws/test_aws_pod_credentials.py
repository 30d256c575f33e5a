"""A pod without keys: its service account's token is exchanged by STS (IRSA) or by the agent of EKS Pod Identity."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest

from freehold.engine import errors
from freehold.engine.port import InlinePort
from freehold.providers.aws.access import ROLE_VARIABLE, access_of, has_credentials
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.identities import OwnCredentials
from freehold.providers.aws.session import AwsSession
from harness.aws_account import REGION
from harness.cluster_credentials import ISSUER, NAME, NAMESPACE, TokenFile, pod_trust, web_trust
from harness.serving import simulator
from harness.simulated_aws import ACCOUNT, KEY

ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/operator"


class Cloud:
    """A simulated AWS behind HTTP: botocore itself asks STS and the agent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.iam = boto3.client(
            "iam", endpoint_url=f"{url}/aws", region_name=REGION, aws_access_key_id=KEY, aws_secret_access_key="x"
        )

    def tell(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request to the simulator's own API."""
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(f"{self.url}/_sim/{path}?cloud=aws", data=data)) as answer:  # noqa: S310 - our own server
            return json.loads(answer.read())

    def count(self, operation: str) -> int:
        return int(self.tell("calls")["by_operation"].get(operation, 0))

    def role(self, trust: str, name: str = "operator") -> None:
        self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)
        self.iam.attach_role_policy(RoleName=name, PolicyArn=ADMINISTRATOR)


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with simulator(tmp_path / "world") as url:
        yield Cloud(url)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod's environment: no keys, no files, and no region."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "missing")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")


@pytest.fixture
def irsa(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenFile:
    """What EKS puts into a pod whose service account is annotated with a role."""
    token = TokenFile(tmp_path / "token", "sts.amazonaws.com")
    cloud.iam.create_open_id_connect_provider(Url=ISSUER, ClientIDList=["sts.amazonaws.com"])
    cloud.role(web_trust(ACCOUNT))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{cloud.url}/aws")
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token.path))
    return token


@pytest.fixture
def pod_identity(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenFile:
    """What EKS puts into a pod whose service account is associated with a role."""
    token = TokenFile(tmp_path / "token", "pods.eks.amazonaws.com")
    cloud.role(pod_trust())
    monkeypatch.setattr(
        "botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0
    )  # before it asks a refusing agent again
    cloud.tell("strangers/associate", {"namespace": NAMESPACE, "name": NAME, "role": ROLE})
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{cloud.url}/aws/eks-pod-identity-agent/v1/credentials")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token.path))
    return token


@pytest.fixture(params=["irsa", "pod_identity"])
def token(request: pytest.FixtureRequest) -> TokenFile:
    found: TokenFile = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def client(cloud: Cloud) -> Iterator[AwsClient]:
    session = AwsSession(OwnCredentials(), REGION, endpoint=f"{cloud.url}/aws")
    yield AwsClient(session, InlinePort())
    session.close()


async def test_a_pod_acts_as_the_role_of_its_service_account(
    client: AwsClient, token: TokenFile, environment: dict[str, str]
) -> None:
    """And it is not warned that there were no credentials."""
    assert has_credentials(environment)
    assert (await client.identity()).startswith(f"arn:aws:sts::{ACCOUNT}:assumed-role/operator/")
    assert (await client.read("ec2", "describe_vpcs", "all"))["Vpcs"] == []


async def test_a_renewed_token_is_read_when_the_session_has_ended(
    cloud: Cloud, client: AwsClient, token: TokenFile
) -> None:
    await client.read("ec2", "describe_vpcs", "all")
    token.renew(expires=1)  # the file of a pod that no kubelet serves any more
    cloud.tell("faults", {"effect": "expired", "operation": "ec2.DescribeVpcs"})
    with pytest.raises(errors.Denied, match="expired"):
        await client.read("ec2", "describe_vpcs", "all")
    token.renew()
    assert (await client.read("ec2", "describe_vpcs", "all"))["Vpcs"] == []


async def test_a_token_of_another_service_account_is_refused_with_what_to_do(
    client: AwsClient, irsa: TokenFile, caplog: pytest.LogCaptureFixture
) -> None:
    """And nothing else is said: botocore would log the traceback of each try."""
    secret = irsa.renew(name="default")
    with pytest.raises(errors.Denied) as refused:
        await client.account()
    assert "Let the trust policy of the role in AWS_ROLE_ARN allow it" in str(refused.value)
    assert [record for record in caplog.records if record.exc_info] == []
    assert secret not in str(refused.value)


async def test_a_service_account_without_an_association_is_refused(client: AwsClient, pod_identity: TokenFile) -> None:
    secret = pod_identity.renew(namespace="other")
    with pytest.raises(
        errors.Denied, match=r"AccessDeniedException.*Check the operator's own AWS credentials"
    ) as refused:
        await client.account()
    assert secret not in str(refused.value)


async def test_a_token_file_that_is_missing_is_named(client: AwsClient, token: TokenFile) -> None:
    token.path.unlink()
    with pytest.raises(errors.Denied, match=f"cannot read {token.path}: No such file"):
        await client.account()


async def test_a_token_file_without_a_role_is_told(
    client: AwsClient, irsa: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ROLE_ARN")
    with pytest.raises(errors.Denied, match="AWS_ROLE_ARN"):
        await client.account()


async def test_an_agent_that_no_pod_may_be_sent_to_is_told(client: AwsClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore sends the token to this machine and to the agents' addresses only."""
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://thief.example/v1/credentials")
    with pytest.raises(errors.Denied, match=r"thief\.example"):
        await client.account()


async def test_the_role_of_a_pod_assumes_another_one(
    cloud: Cloud, irsa: TokenFile, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that AWS itself binds deletes to their owner: only sessions of AssumeRole can be narrowed."""
    trust = {"Effect": "Allow", "Principal": {"AWS": ROLE}, "Action": "sts:AssumeRole"}
    cloud.role(json.dumps({"Version": "2012-10-17", "Statement": [trust]}), "narrow")
    access = access_of({**environment, ROLE_VARIABLE: f"arn:aws:iam::{ACCOUNT}:role/narrow"}, "")
    session = AwsSession(access.own, REGION, endpoint=f"{cloud.url}/aws")
    client = AwsClient(session, InlinePort())
    assert (await client.identity()) == f"arn:aws:sts::{ACCOUNT}:assumed-role/narrow/freehold"
    assert client.session.owner_session("0b8a3f0e-6f0c-4d2e-9b7d-0123456789ab") is not None
    session.close()


@pytest.fixture
def environment() -> dict[str, str]:
    import os

    return dict(os.environ)


# -- the node, and the region -------------------------------------------------------------------------------------


class _Listener(BaseHTTPRequestHandler):
    def _any(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]  # the list of _listener
        self.send_error(403)

    do_GET = do_PUT = do_CONNECT = _any  # noqa: N815 (names of the base class)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Tests print nothing."""


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """The address of a server that refuses everything, and what it was asked for."""
    server, asked = HTTPServer(("127.0.0.1", 0), _Listener), []
    server.asked = asked  # type: ignore[attr-defined]  # see above
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("host", "disabled", "may"),
    [
        ("127.0.0.1", "", False),
        ("127.0.0.1", "true", False),
        ("127.0.0.1", "false", True),
        ("", "", True),
        ("", "true", False),
    ],
)
async def test_the_role_of_the_node_is_used_in_a_pod_only_where_that_is_asked_for(
    host: str, disabled: str, may: bool, listener: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, asked = listener
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
    for name, value in (("KUBERNETES_SERVICE_HOST", host), ("AWS_EC2_METADATA_DISABLED", disabled)):
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
    with pytest.raises(errors.Denied, match="there are no AWS credentials"):
        await AwsClient(AwsSession(OwnCredentials(), REGION), InlinePort()).account()
    assert bool(asked) is may


@pytest.mark.parametrize(("region", "host"), [("", "sts.eu-west-1"), ("eu-central-1", "sts.eu-central-1")])
async def test_sts_is_asked_in_the_region_of_the_pod_else_in_the_objects(
    region: str, host: str, irsa: TokenFile, listener: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The global one belongs to one partition, and its tokens are refused in regions that one opts in to."""
    url, asked = listener
    monkeypatch.delenv("AWS_ENDPOINT_URL_STS")
    monkeypatch.setenv("HTTPS_PROXY", url)
    if region:
        monkeypatch.setenv("AWS_REGION", region)
    with pytest.raises(errors.Unavailable):
        await AwsClient(AwsSession(OwnCredentials(), "eu-west-1"), InlinePort()).account()
    assert asked == [f"{host}.amazonaws.com:443"], "and it is asked once: the retries are ours"
