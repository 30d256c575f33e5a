"""The source of what a kubeconfig needs beside a pass: the cluster as EKS describes it, and tokens for it."""

from __future__ import annotations

from typing import Protocol

from freehold.engine.resources import Observed
from freehold.engine.secret_values import SecretValue
from freehold.providers.aws import eks
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.eks_cluster_view import decode


class TokenSigner(Protocol):
    """Signs tokens with the identity of an account."""

    async def sign_cluster_token(self, eks_name: str) -> SecretValue: ...


class ClusterSource(TokenSigner, Protocol):
    """A source for one account and region. Raises CloudError."""

    async def read_cluster(self, eks_name: str) -> Observed | None:
        """Read the cluster of this name, of anybody; None if there is none."""
        ...


class AwsClusterSource:
    """The source of an account (:class:`ClusterSource`)."""

    def __init__(self, client: AwsClient, signer: TokenSigner) -> None:
        self._client = client
        self._signer = signer

    async def sign_cluster_token(self, eks_name: str) -> SecretValue:
        return await self._signer.sign_cluster_token(eks_name)

    async def read_cluster(self, eks_name: str) -> Observed | None:
        body = await eks.describe_cluster(self._client, eks_name)
        return decode(body).to_observed() if body else None
