"""Presigned requests of STS, and tokens of kubeconfigs that are made of them: signed by botocore's own signer."""

from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from botocore.credentials import Credentials
from botocore.hooks import HierarchicalEmitter
from botocore.model import ServiceId
from botocore.signers import RequestSigner

from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.eks.tokens import HEADER, PREFIX, Access, BadToken, access_of, identity_of
from freehold_sim.aws.settings import Settings
from freehold_sim.clock import VirtualClock
from freehold_sim.http import Request
from harness.simulated_aws import ACCOUNT, KEY, OTHER_KEY

ADMIN = f"arn:aws:iam::{ACCOUNT}:user/admin"
CLUSTER_ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
HOST, EVENTS = "sts.us-east-1.amazonaws.com", HierarchicalEmitter()


def _url(cluster: str = "one", key: str = KEY, token: str | None = None, **given: Any) -> str:
    """Sign for STS as kubectl's helpers do; `given` are details that a test changes."""
    credentials = Credentials(key, given.get("secret", "secret"), token)
    signer = RequestSigner(ServiceId("STS"), "us-east-1", "sts", "v4", credentials, EVENTS)
    query = f"Action={given.get('action', 'GetCallerIdentity')}&Version=2011-06-15{given.get('more', '')}"
    request = {
        "method": "GET", "url": f"https://{given.get('host', HOST)}/?{query}", "body": {},
        "headers": given.get("headers", {HEADER: cluster}), "context": {},
    }  # fmt: skip
    return str(signer.generate_presigned_url(request, "", given.get("expires", 60), "us-east-1"))


def _token(**given: Any) -> str:
    return PREFIX + urlsafe_b64encode(_url(**given).encode()).decode().rstrip("=")


def _signed_at(url: str) -> float:
    date = dict(parse_qsl(urlsplit(url).query))["X-Amz-Date"]
    return datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()


def _get(cloud: SimulatedAWS, url: str, cluster: str | None = "one", **headers: str) -> Any:
    parts = urlsplit(url)
    sent = {"host": parts.netloc, **({HEADER: cluster} if cluster else {}), **headers}
    return cloud.handle(Request("GET", parts.path, dict(parse_qsl(parts.query)), sent))


def _session(sim: Any, role: str = "worker") -> dict[str, Any]:
    arn = sim.role(role)
    made = sim.sts.assume_role(RoleArn=arn, RoleSessionName="some@one")["Credentials"]
    return {"key": made["AccessKeyId"], "secret": made["SecretAccessKey"], "token": made["SessionToken"]}


def test_a_presigned_request_tells_who_signed_it(sim: Any) -> None:
    answer = _get(sim.cloud, _url())
    assert (answer.status, ADMIN in answer.body.decode()) == (200, True)
    asked = _get(sim.cloud, _url(key=OTHER_KEY), accept="application/json").json()
    assert asked["GetCallerIdentityResponse"]["GetCallerIdentityResult"]["Account"] == "444455556666"
    assert _get(sim.cloud, _url(**_session(sim))).status == 200


def test_a_presigned_request_is_valid_for_a_quarter_of_an_hour_whatever_it_says() -> None:
    wall, url = VirtualClock(), _url(expires=60)
    cloud = SimulatedAWS(VirtualClock(), wall=wall)
    for age, status in ((-901, 403), (-890, 200), (61, 200), (900, 200), (901, 403)):
        wall.time = _signed_at(url) + age
        answer = _get(cloud, url)
        assert answer.status == status, age
        assert (b"SignatureDoesNotMatch" in answer.body) == (status == 403)


def test_a_presigned_request_is_compared_with_the_secret_where_it_is_known(sim: Any) -> None:
    session = _session(sim)
    for wrong in ({"secret": "other"}, {"token": "other"}):
        assert _get(sim.cloud, _url(**{**session, **wrong})).status == 403
    assert _get(sim.cloud, _url(**session), cluster="two").status == 403
    assert _get(sim.cloud, _url(), cluster=None).status == 403, "a signed header is missing"
    known = SimulatedAWS(VirtualClock(), Settings(secret_keys={KEY: "secret"}))
    assert [_get(known, _url(secret=text)).status for text in ("secret", "guessed")] == [200, 403]
    url = _url()
    assert _get(sim.cloud, url[:-1]).status == 403
    assert _get(sim.cloud, url.replace("X-Amz-Date", "X-Amz-When")).status == 400
    other = Request("GET", "/", {"X-Amz-Credential": f"{KEY}/20260101/us-east-1/s3/aws4_request"}, {})
    assert sim.cloud.handle(other).status == 501


def test_a_token_tells_who_made_it(sim: Any) -> None:
    now = _signed_at(_url())
    assert identity_of(sim.cloud, _token(), "one", now).arn == ADMIN
    session = _session(sim)
    found = identity_of(sim.cloud, _token(**session, host="sts.amazonaws.com"), "one", now)
    assert found.arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/some@one"
    identity_of(sim.cloud, _token(), "one", now + 899)
    for later in (902, -902):
        with pytest.raises(BadToken, match="SignatureDoesNotMatch"):
            identity_of(sim.cloud, _token(), "one", now + later)
    with pytest.raises(BadToken, match="SignatureDoesNotMatch"):
        identity_of(sim.cloud, _token(**session), "two", now)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("nonsense", "prefix"), (f"{PREFIX}%%%%", "base64"), (f"{PREFIX}YQ==", "padded"),
     (PREFIX + "a" * 4096, "too large")],
)  # fmt: skip
def test_what_is_no_token(sim: Any, text: str, reason: str) -> None:
    with pytest.raises(BadToken, match=reason):
        identity_of(sim.cloud, text, "one", 0)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"host": "sts.example.com"}, "unexpected hostname"),
        ({"host": f"{HOST}/x"}, "unexpected path"),
        ({"action": "AssumeRole"}, "unexpected action"),
        ({"more": "&Extra=1"}, "non-whitelisted"),
        ({"expires": 901}, "invalid X-Amz-Expires"),
        ({"headers": {}}, f"did not sign the {HEADER} header"),
        ({"key": "AKIANOBODY0000000000"}, "InvalidClientTokenId"),
    ],
)
def test_what_a_token_is_refused_for(sim: Any, given: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadToken, match=reason):
        identity_of(sim.cloud, _token(**given), "one", _signed_at(_url()))


def _enter(sim: Any, **given: Any) -> Access:
    url = _url()
    return access_of(sim.cloud, _token(**given), "us-east-1", given.get("cluster", "one"), _signed_at(url))


def test_a_cluster_lets_in_who_has_an_access_entry(sim: Any) -> None:
    sim.cluster(accessConfig={"authenticationMode": "API"})
    made = _enter(sim)
    assert (made.username, made.groups, made.policies) == (ADMIN, (), (CLUSTER_ADMIN,))
    session = _session(sim)
    with pytest.raises(BadToken, match="no access entry"):
        _enter(sim, **session)
    role = sim.iam.get_role(RoleName="worker")["Role"]["Arn"]
    sim.eks.create_access_entry(clusterName="one", principalArn=role, kubernetesGroups=["viewers"])
    entered = _enter(sim, **session)
    assert entered.username == f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/some-one"
    assert (entered.groups, entered.policies) == (("viewers",), ())
    sim.iam.delete_role(RoleName="worker")
    again = _session(sim)
    with pytest.raises(BadToken, match="no access entry"):
        _enter(sim, **again)
    with pytest.raises(BadToken, match="has no cluster two"):
        _enter(sim, cluster="two")


def test_a_person_shows_a_token_to_a_cluster(sim: Any) -> None:
    sim.cluster(accessConfig={"authenticationMode": "API"})
    sent = {"token": _token(), "cluster": "one"}
    sim.clock.time = _signed_at(_url())
    assert sim.cloud.foreign_act("enter", sent)["username"] == ADMIN
    with pytest.raises(ValueError, match="has no access entry that works"):
        sim.cloud.foreign_act("enter", {**sent, "token": _token(**_session(sim))})


def test_a_cluster_without_the_api_lets_in_who_made_it(sim: Any) -> None:
    sim.cluster()
    assert _enter(sim).groups == ("system:masters",)
    with pytest.raises(BadToken, match="did not make the cluster"):
        _enter(sim, **_session(sim))
