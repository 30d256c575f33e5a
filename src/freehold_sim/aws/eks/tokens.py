"""Tokens of kubeconfigs, as an EKS cluster looks at them: a presigned GetCallerIdentity, and an access entry.

It does what https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/token/token.go does with a token.
For tests: `access_of` says what the bearer of a token may do in a cluster.
"""

from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qs, parse_qsl, urlsplit

from freehold_sim.aws import signatures
from freehold_sim.aws.call import Refused
from freehold_sim.aws.credentials import Principal, scope_of_request
from freehold_sim.aws.eks import admission
from freehold_sim.aws.eks.common import ACCESS_ENTRY, CLUSTER
from freehold_sim.aws.sessions import principal_of
from freehold_sim.aws.world import Record, World, scope_of
from freehold_sim.http import Request

if TYPE_CHECKING:
    from freehold_sim.aws.cloud import SimulatedAWS

PREFIX, HEADER = "k8s-aws-v1.", "x-k8s-aws-id"
MASTERS = "system:masters"
_MOST_BYTES, _MOST_SECONDS = 4096, 900
_ALLOWED = frozenset({
    "action", "version", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-security-token",
    "x-amz-signature", "x-amz-signedheaders", "x-amz-user-agent",
})  # fmt: skip


class BadToken(Exception):
    """A token that a cluster does not take, with the reason."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who has entered a cluster: the name and groups in Kubernetes, and the access policies by ARN."""

    identity: Principal
    username: str
    groups: tuple[str, ...]
    policies: tuple[str, ...]


def access_of(cloud: "SimulatedAWS", token: str, region: str, cluster: str, now: float) -> Access:
    """Return what the bearer of a token may do in a cluster of its account; raises BadToken."""
    who = identity_of(cloud, token, cluster, now)
    record = cloud.world.table(scope_of(who.account, region), CLUSTER).get(cluster)
    if record is None:
        raise BadToken(f"account {who.account} has no cluster {cluster} in {region}")
    lasting = admission.lasting_arn(cloud.world, who)
    if admission.mode_of(record) == admission.CONFIG_MAP:
        if record["creator"][0] != lasting:  # what aws-auth says is in the cluster
            raise BadToken(f"{lasting} did not make the cluster, and there is no aws-auth here")
        return Access(who, "kubernetes-admin", (MASTERS,), ())
    entry = _entry(cloud.world, record, lasting)
    if entry is None or not admission.works(cloud.world, cloud.settings, entry):
        raise BadToken(f"{lasting} has no access entry that works")
    name, session = entry["view"]["username"], who.arn.rpartition("/")[2]
    name = name.replace("{{SessionNameRaw}}", session).replace("{{SessionName}}", session.replace("@", "-"))
    return Access(who, name, tuple(entry["view"]["kubernetesGroups"]), tuple(entry["policies"]))


def _entry(world: World, cluster: Record, principal: str) -> Record | None:
    table = world.table(scope_of(cluster["account"], cluster["region"]), ACCESS_ENTRY)
    return table.get(f"{cluster['id']}/{principal}")


def identity_of(cloud: "SimulatedAWS", token: str, cluster: str, now: float) -> Principal:
    """Return who made a token for a cluster of this name; raises BadToken."""
    url = _url(cloud, token)
    query = {name.lower(): text for name, text in parse_qsl(url.query)}
    _check_query(url.query)
    if query.get("action") != "GetCallerIdentity":
        raise BadToken("unexpected action parameter in pre-signed URL")
    if HEADER not in query.get("x-amz-signedheaders", "").lower().split(";"):
        raise BadToken(f"client did not sign the {HEADER} header in the pre-signed URL")
    expires = query.get("x-amz-expires", "")
    if not expires.isdigit() or int(expires) > _MOST_SECONDS:
        raise BadToken(f"invalid X-Amz-Expires parameter in pre-signed URL: {expires}")
    headers = {"host": url.netloc, HEADER: cluster}
    request = Request("GET", url.path, dict(parse_qsl(url.query)), headers)
    scope = scope_of_request(request)
    if scope is None:
        raise BadToken("X-Amz-Credential must be present in pre-signed URL")
    try:
        signatures.check(request, cloud.secret_of(scope.access_key), now)
        return principal_of(cloud.world, cloud.settings, scope, "sts", now)
    except Refused as refused:
        raise BadToken(str(refused)) from None


def _url(cloud: "SimulatedAWS", token: str) -> SplitResult:
    """Return the presigned URL in a token, if it leads to STS."""
    if len(token) > _MOST_BYTES:
        raise BadToken("token is too large")
    if not token.startswith(PREFIX) or "=" in token:
        raise BadToken(f'token is missing expected "{PREFIX}" prefix, or is padded')
    coded = token.removeprefix(PREFIX)
    try:
        url = urlsplit(b64decode(coded + "=" * (-len(coded) % 4), b"-_", validate=True).decode())
    except ValueError:
        raise BadToken("token is not a URL in base64") from None
    regions = cloud.settings.regions
    hosts = {"sts.amazonaws.com"} | {f"sts.{name}.amazonaws.com{_suffix(name)}" for name in regions}
    if url.scheme != "https" or url.netloc not in hosts:
        raise BadToken(f'unexpected hostname "{url.netloc}" in pre-signed URL')
    if url.path != "/":
        raise BadToken("unexpected path in pre-signed URL")
    return url


def _suffix(region: str) -> str:
    return ".cn" if region.startswith("cn-") else ""


def _check_query(text: str) -> None:
    for name, values in parse_qs(text, keep_blank_values=True).items():
        if name.lower() not in _ALLOWED:
            raise BadToken(f'non-whitelisted query parameter "{name}"')
        if len(values) > 1:
            raise BadToken("query parameter with multiple values not supported")
