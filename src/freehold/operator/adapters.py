"""Which accounts and which adapter serve which kind: a new kind is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from freehold.api.feature_gates import ALL_OFF, FeatureGates
from freehold.api.served import AWS_CLUSTER, POWERVS_CLUSTER
from freehold.operator.accounts import Accounts, Binding, NoCredentials, OneAccount
from freehold.operator.aws import AwsAccount, AwsAccounts, AwsCloud
from freehold.operator.aws_identities import StoredIdentities
from freehold.operator.ibm import IbmAccount
from freehold.reconcilers.adapter import Adapter
from freehold.reconcilers.aws_cluster.adapter import AWSClusterAdapter
from freehold.reconcilers.powervs.adapter import PowerVSClusterAdapter


@dataclass(frozen=True)
class Aws:
    """AWS, and the identities that name its accounts."""

    cloud: AwsCloud
    identities: StoredIdentities


@dataclass(frozen=True)
class Clouds:
    """The clouds that the operator can reach, and the features that are on in them."""

    ibm: IbmAccount | None = None
    aws: Aws | None = None
    gates: FeatureGates = ALL_OFF


def _on_ibm(clouds: Clouds, adapter: Callable[[IbmAccount], Adapter]) -> Accounts:
    """The API key names the one account of all objects."""
    if clouds.ibm is None:
        return OneAccount(
            NoCredentials("the operator has no credentials for IBM Cloud: start it with IBMCLOUD_API_KEY")
        )
    return OneAccount(Binding(clouds.ibm, adapter(clouds.ibm)))


def _on_aws(clouds: Clouds, adapter: Callable[[AwsAccount], Adapter]) -> Accounts:
    """Each object names its account by its identity and region."""
    if clouds.aws is None:
        return OneAccount(NoCredentials("the operator has no credentials for AWS: start it with AWS_PROFILE"))
    return AwsAccounts(clouds.aws.cloud, clouds.aws.identities, adapter)


ADAPTERS: Mapping[str, Callable[[Clouds], Accounts]] = {
    POWERVS_CLUSTER.kind: lambda clouds: _on_ibm(
        clouds, lambda ibm: PowerVSClusterAdapter(ibm.facts_reader(), clouds.gates)
    ),
    AWS_CLUSTER.kind: lambda clouds: _on_aws(clouds, lambda aws: AWSClusterAdapter(aws.facts, clouds.gates)),
}
"""By kind."""
