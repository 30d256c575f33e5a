"""What a pod of the operator has instead of keys: the token of its service account, which Kubernetes renews."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from freehold_sim.service_accounts import ServiceAccountToken

ISSUER = "https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
NAMESPACE, NAME = "freehold-system", "freehold-operator"


def web_trust(account: str) -> str:
    """The trust policy of docs/howto/credentials.md for IRSA."""
    issuer = ISSUER.removeprefix("https://")
    return _policy(
        {
            "Effect": "Allow",
            "Principal": {"Federated": f"arn:aws:iam::{account}:oidc-provider/{issuer}"},
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {
                "StringEquals": {
                    f"{issuer}:sub": f"system:serviceaccount:{NAMESPACE}:{NAME}",
                    f"{issuer}:aud": "sts.amazonaws.com",
                }
            },
        }
    )


def pod_trust() -> str:
    """The trust policy of docs/howto/credentials.md for EKS Pod Identity."""
    eks = {"Service": "pods.eks.amazonaws.com"}
    return _policy({"Effect": "Allow", "Principal": eks, "Action": ["sts:AssumeRole", "sts:TagSession"]})


def _policy(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


class TokenFile:
    """The file of a projected token; it has one that is an hour valid."""

    def __init__(self, path: Path, audience: str) -> None:
        self.path = path
        self._audience = audience
        self.renew()

    def renew(self, **fields: Any) -> str:
        """Replace the token, as the kubelet does; ``fields`` of the new one differ from the operator's own."""
        now = int(time.time())
        token = ServiceAccountToken(ISSUER, NAMESPACE, NAME, self._audience, now, now + 3600)
        text = replace(token, **fields).encode()
        self.path.write_text(text, encoding="utf-8")
        return text
