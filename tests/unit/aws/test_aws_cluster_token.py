"""Tokens of EKS clusters: botocore's own signature, the regional host of STS, and keys that live as long."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest

from freehold.engine.clock import ManualClock
from freehold.engine.port import InlinePort
from freehold.providers.access.audit import NoAudit
from freehold.providers.aws import accounts, cluster_token
from freehold.providers.aws.credentials import Keys
from freehold.providers.aws.identities import AssumedRole, Identity, StaticKeys
from freehold.providers.aws.session import AwsSession
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.eks.tokens import BadToken, identity_of
from freehold_sim.aws.settings import Settings
from harness.account import RecordingPort
from harness.aws_account import KEYS, REGION, AwsAccount

AT = 1_700_000_000.0
SECRET_KEYS = {KEYS.access_key: KEYS.secret_key}
LASTING, SESSION = Keys("AKIDEXAMPLE", "the secret key"), Keys("ASIAEXAMPLE", "the secret key", "a/session+token==")


def url_of(token: bytes) -> str:
    head, _, body = token.decode().partition(".")
    assert head == "k8s-aws-v1" and "=" not in body
    return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()


@pytest.mark.parametrize("keys", (LASTING, SESSION), ids=("key of a user", "session of a role"))
def test_the_signature_is_that_of_botocores_own_signer(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    when = datetime.fromtimestamp(AT, UTC).replace(tzinfo=None)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: when)
    host = "sts.eu-central-1.amazonaws.com"
    request = AWSRequest("GET", f"https://{host}/?Action=GetCallerIdentity&Version=2011-06-15")
    request.headers["x-k8s-aws-id"] = "team-a_demo"
    botocore.auth.SigV4QueryAuth(keys, "sts", "eu-central-1", expires=60).add_auth(request)
    monkeypatch.undo()
    assert url_of(cluster_token.sign(keys, "eu-central-1", host, "team-a_demo", AT).reveal()) == request.url


def test_a_token_has_what_eks_looks_for() -> None:
    """And nothing else: its check refuses any other parameter, a path, and a cluster's name that is not signed."""
    url = urlsplit(url_of(cluster_token.sign(SESSION, REGION, "sts.x", "demo", AT).reveal()))
    said = {name: value for name, [value] in parse_qs(url.query).items()}
    signature = said.pop("X-Amz-Signature")
    assert (url.scheme, url.netloc, url.path, len(signature)) == ("https", "sts.x", "/", 64)
    assert said == {
        "Action": "GetCallerIdentity",
        "Version": "2011-06-15",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"ASIAEXAMPLE/20231114/{REGION}/sts/aws4_request",
        "X-Amz-Date": "20231114T221320Z",
        "X-Amz-Expires": "60",
        "X-Amz-SignedHeaders": "host;x-k8s-aws-id",
        "X-Amz-Security-Token": "a/session+token==",
    }


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-central-1", "sts.eu-central-1.amazonaws.com"),
        ("us-east-1", "sts.us-east-1.amazonaws.com"),
        ("cn-north-1", "sts.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"),
        ("us-iso-east-1", "sts.us-iso-east-1.c2s.ic.gov"),
        ("eu-central-9", "sts.eu-central-9.amazonaws.com"),
    ],
)
async def test_the_host_is_that_of_the_region_in_its_partition(region: str, host: str) -> None:
    """Also with a simulated cloud: EKS asks its own STS, wherever the operator sends its requests."""
    account = account_of(KEYS, region=region, endpoint="http://127.0.0.1:1")
    url = urlsplit(url_of((await account.sign_cluster_token("demo")).reveal()))
    assert url.netloc == host and f"%2F{region}%2Fsts%2F" in url.query


def account_of(identity: Identity, region: str = REGION, port: Any = None, **session: Any) -> accounts.AwsAccount:
    clock = ManualClock(AT)
    opened = AwsSession(identity, region, **{"wall": clock.now, **session})
    return accounts.AwsAccount(opened, port or InlinePort(), clock, NoAudit(), None)


class Role:
    """A role of a simulated account, whose sessions last ``seconds``."""

    def __init__(self, seconds: int) -> None:
        self.clock = ManualClock(AT)
        aws = AwsAccount()
        self.cloud = aws.cloud = SimulatedAWS(self.clock, Settings(secret_keys=SECRET_KEYS), wall=self.clock)
        arn = aws.role("freehold")
        self.port = RecordingPort()
        role = AssumedRole(arn, KEYS, seconds=seconds)
        self.account = account_of(role, port=self.port, mount=aws.mount, wall=self.clock.now)

    async def sign(self) -> dict[str, str]:
        url = urlsplit(url_of((await self.account.sign_cluster_token("demo")).reveal()))
        return {name: value for name, [value] in parse_qs(url.query).items()}

    @property
    def assumed(self) -> int:
        return len([call for call in self.port.calls if call.operation == "assume_role"])


async def test_a_role_signs_with_its_session() -> None:
    role = Role(3600)
    said = await role.sign()
    assert said["X-Amz-Credential"].startswith("ASIA") and said["X-Amz-Security-Token"]
    assert [call.operation for call in role.port.calls] == ["assume_role"], "a token is signed without asking anybody"


@pytest.mark.parametrize(("seconds", "most"), [(900, 8), (3600, 2)])
async def test_no_token_ends_with_a_session_before_it_is_renewed(seconds: int, most: int) -> None:
    """A token that a session of 15 minutes signs after 12 is refused after three."""
    role = Role(seconds)
    ends, begun = 0.0, ""
    for _ in range(8):
        said = await role.sign()
        if said["X-Amz-Credential"] != begun:
            begun, ends = said["X-Amz-Credential"], role.clock.now() + seconds
        assert ends - role.clock.now() >= cluster_token.RENEWAL + 60.0
        role.clock.advance(cluster_token.RENEWAL)
    assert role.assumed <= most


@pytest.mark.parametrize("seconds", [0, 3600], ids=["key of a user", "session of a role"])
async def test_a_simulated_cluster_takes_the_token_for_a_quarter_of_an_hour_and_no_other_cluster_does(
    seconds: int,
) -> None:
    role = Role(seconds or 3600)
    account = role.account if seconds else account_of(KEYS, wall=role.clock.now)
    token = (await account.sign_cluster_token("demo")).reveal().decode()
    who = "assumed-role/freehold" if seconds else "user/admin"
    for later in (0.0, cluster_token.LIFE - 1.0):
        assert who in identity_of(role.cloud, token, "demo", role.clock.now() + later).arn
    for cluster, later in (("other", 0.0), ("demo", cluster_token.LIFE + 1.0)):
        with pytest.raises(BadToken):
            identity_of(role.cloud, token, cluster, role.clock.now() + later)


async def test_a_token_shows_itself_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """Also not in botocore's own log, which has the signature of each request."""
    caplog.set_level("DEBUG")
    account = account_of(StaticKeys("AKIDEXAMPLE", "the secret key"))
    token = await account.sign_cluster_token("demo")
    signature = url_of(token.reveal()).partition("X-Amz-Signature=")[2]
    shown = f"{token!r} {token} {caplog.text}"
    assert "demo" in shown and not [
        each for each in (token.reveal().decode(), signature, "the secret key") if each in shown
    ]
