"""Kubeconfig Secrets of a control plane: one for Cluster API, with a token, and one for people. Pure.

Names, keys and type are upstream's (docs/reference/capi-contract.md). ``value`` is whole; ``relative`` takes the token
from a file ``token-file`` beside it, so that a mounted Secret is renewed in place. The one for people has no token: it
runs the AWS CLI or aws-iam-authenticator with their own credentials.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from freehold.api import names
from freehold.engine.secret_values import SecretValue
from freehold.providers.aws.cluster_token import RENEWAL
from freehold.providers.objects.kept_secrets import WantedSecret

SECRET_KIND = "cluster.x-k8s.io/secret"  # noqa: S105  # the type of a Secret
_EXEC_API = "client.authentication.k8s.io/v1beta1"


class TokenMethod(StrEnum):
    """The values of ``spec.tokenMethod``: how people get a token."""

    AUTHENTICATOR = "iam-authenticator"
    CLI = "aws-cli"


@dataclass(frozen=True)
class ClusterAccess:
    """The way to a cluster's API server. ``certificate`` is that of its CA, in base64 as EKS gives it.

    ``role_arn`` is a role that people assume; empty if they go in as themselves.
    """

    eks_name: str
    endpoint: str
    certificate: str
    region: str
    token_method: TokenMethod = TokenMethod.AUTHENTICATOR
    role_arn: str = ""


def build_secrets(cluster: str, access: ClusterAccess, token: SecretValue) -> tuple[WantedSecret, ...]:
    """Build the Secrets of the Cluster called ``cluster``."""
    return _build_machine_secret(cluster, access, token), _build_user_secret(cluster, access)


def name_kubeconfig(cluster: str) -> str:
    """Return the name of the Secret that Cluster API reads; the control plane is initialized when it is there."""
    return f"{cluster}-kubeconfig"


def name_user_kubeconfig(cluster: str) -> str:
    """Return the name of the Secret for people."""
    return f"{cluster}-user-kubeconfig"


def _build_machine_secret(cluster: str, access: ClusterAccess, token: SecretValue) -> WantedSecret:
    user = f"{access.eks_name}-capi-admin"
    relative = _write(access, user, {"tokenFile": "./token-file"})
    texts = {
        "value": _write(access, user, {"token": token.reveal().decode()}),
        "relative": relative,
        "token-file": token.reveal().decode(),
    }
    return _build_secret(cluster, name_kubeconfig(cluster), texts, relative, RENEWAL)


def _build_user_secret(cluster: str, access: ClusterAccess) -> WantedSecret:
    text = _write(access, f"{access.eks_name}-user", {"exec": _build_exec(access)})
    return _build_secret(cluster, name_user_kubeconfig(cluster), {"value": text}, text)


def _build_secret(
    cluster: str, name: str, texts: Mapping[str, str], lasting: str, renew_every: float | None = None
) -> WantedSecret:
    return WantedSecret(
        name,
        SECRET_KIND,
        {names.CLUSTER_NAME_LABEL: cluster},
        {key: SecretValue(f"{name}/{key}", text.encode()) for key, text in texts.items()},
        basis=hashlib.sha256(lasting.encode()).hexdigest(),
        **({} if renew_every is None else {"renew_every": renew_every}),
    )


def _build_exec(access: ClusterAccess) -> dict[str, Any]:
    """Build the command that gets a person's token. It gets the region: not everybody has it in the environment."""
    match access.token_method:
        case TokenMethod.AUTHENTICATOR:
            command, role = ["aws-iam-authenticator", "token", "-i", access.eks_name], "--role"
        case TokenMethod.CLI:
            command, role = ["aws", "eks", "get-token", "--cluster-name", access.eks_name], "--role-arn"
    return {
        "apiVersion": _EXEC_API,
        "command": command[0],
        "args": [*command[1:], *([role, access.role_arn] if access.role_arn else [])],
        "env": [{"name": "AWS_REGION", "value": access.region}],
        "interactiveMode": "IfAvailable",
    }


def _write(access: ClusterAccess, user: str, credentials: Mapping[str, Any]) -> str:
    """Write a kubeconfig in YAML."""
    import yaml  # imported here because only a cluster that is up needs it

    context = f"{user}@{access.eks_name}"
    cluster = {"server": access.endpoint, "certificate-authority-data": access.certificate}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": access.eks_name, "cluster": cluster}],
        "users": [{"name": user, "user": dict(credentials)}],
        "contexts": [{"name": context, "context": {"cluster": access.eks_name, "user": user}}],
        "current-context": context,
    }
    return str(yaml.dump(config, Dumper=yaml.CSafeDumper, sort_keys=False, width=-1))  # -1: no limit
