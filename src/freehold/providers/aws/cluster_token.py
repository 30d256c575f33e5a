"""Token of an EKS cluster: a signed GetCallerIdentity that nobody has sent, which names the cluster in a header.

EKS sends it to STS, and so learns who signed it: https://docs.aws.amazon.com/eks/latest/userguide/cluster-auth.html and
the README of https://github.com/kubernetes-sigs/aws-iam-authenticator (API Authorization from Outside a Cluster). It
checks host, parameters and the signed header, and takes the URL for 15 minutes from its date. The expiry in the URL is
60 seconds, as that project and the AWS CLI write it. Nothing is sent here.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

from freehold.engine.secret_values import SecretValue
from freehold.providers.aws.credentials import Keys

LIFE = 900.0
"""The seconds for which EKS takes a token."""
RENEWAL = LIFE / 2
"""The seconds after which a token is replaced by a new one."""
KEYS_LIFE = RENEWAL + 150.0
"""The seconds for which keys must still live: a token ends with the session that signed it. The shortest session of a
role, 15 minutes, has so many after its renewal."""

_CLUSTER_HEADER = "x-k8s-aws-id"
_PREFIX = "k8s-aws-v1."
_EXPIRES = 60


def sign(keys: Keys, region: str, host: str, eks_name: str, at: float) -> SecretValue:
    """Sign the token of a cluster with these keys, for STS at ``host``, as of ``at`` (epoch seconds)."""
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(
        method="GET",
        url=f"https://{host}/?Action=GetCallerIdentity&Version=2011-06-15",
        headers={_CLUSTER_HEADER: eks_name},
    )
    _build_signer(keys, region, at).add_auth(request)
    token = _PREFIX + urlsafe_b64encode(str(request.url).encode()).decode().rstrip("=")
    return SecretValue(f"token of EKS cluster {eks_name}", token.encode())


def _build_signer(keys: Keys, region: str, at: float) -> Any:
    """Build botocore's own signer of URLs, with the given time in place of the system's, and without its log."""
    from botocore.auth import SIGV4_TIMESTAMP, SigV4QueryAuth

    class Signer(SigV4QueryAuth):  # type: ignore[misc]  # botocore has no types
        def add_auth(self, request: Any) -> None:
            request.context["timestamp"] = datetime.fromtimestamp(at, UTC).strftime(SIGV4_TIMESTAMP)
            self._modify_request_before_signing(request)
            text = self.string_to_sign(request, self.canonical_request(request))
            self._inject_signature_to_request(request, self.signature(text, request))

    return Signer(keys, "sts", region, expires=_EXPIRES)
