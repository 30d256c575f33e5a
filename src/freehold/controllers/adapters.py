"""Which accounts and which adapter serve which kind: a new kind is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, FeatureGates
from freehold.api.served import ServedName
from freehold.collection.selector import Selector
from freehold.kube.resources import Json
from freehold.providers.access.accounts import Around, Binding, KnownAccounts, NoCredentials, OneAccount, Place
from freehold.providers.aws.types.served import AWS_CLUSTER
from freehold.providers.ibm.accounts import IbmAccount
from freehold.providers.ibm.powervs.adapter import PowerVSClusterAdapter
from freehold.providers.ibm.types.served import POWERVS_CLUSTER
from freehold.providers.objects.adapter import Adapter

if TYPE_CHECKING:
    from freehold.providers.aws.accounts import AwsAccount, AwsCloud
    from freehold.providers.aws.identity_objects import StoredIdentities


@dataclass(frozen=True)
class Aws:
    """AWS, and the identities that name its accounts."""

    cloud: AwsCloud
    identities: StoredIdentities


@dataclass(frozen=True)
class Clouds:
    """The clouds that the operator can reach, and the features that are on in them.

    ``aws`` gives the same value each time; its modules are loaded when it is first called. ``gc_selector``: the labels
    of the clusters that are collected; None for all.
    """

    ibm: IbmAccount | None = None
    aws: Callable[[], Aws] | None = None
    gates: FeatureGates = DEFAULT_GATES
    gc_selector: Selector | None = None


def _on_ibm(clouds: Clouds, adapter: Callable[[IbmAccount], Adapter]) -> KnownAccounts:
    """The API key names the one account of all objects."""
    if clouds.ibm is None:
        return OneAccount(
            NoCredentials("the operator has no credentials for IBM Cloud: start it with IBMCLOUD_API_KEY")
        )
    return OneAccount(Binding(clouds.ibm, adapter(clouds.ibm)))


class _OnAws:
    """Each object names its account by its identity and region. What that needs is loaded for the first one."""

    def __init__(self, clouds: Clouds, adapter: Callable[[AwsAccount, Clouds], Adapter]) -> None:
        self._clouds = clouds
        self._adapter = adapter
        self._accounts: KnownAccounts | None = None

    async def binding(self, raw: Json) -> Binding | NoCredentials:
        accounts = self._known()
        return accounts if isinstance(accounts, NoCredentials) else await accounts.binding(raw)

    async def places(self, around: Around) -> Sequence[Place | NoCredentials]:
        accounts = self._known()
        return [accounts] if isinstance(accounts, NoCredentials) else await accounts.places(around)

    def _known(self) -> KnownAccounts | NoCredentials:
        if self._clouds.aws is None:
            return NoCredentials("the operator has no credentials for AWS: start it with AWS_PROFILE")
        if self._accounts is None:
            from freehold.providers.aws.accounts import AwsAccounts

            aws = self._clouds.aws()
            self._accounts = AwsAccounts(
                aws.cloud, aws.identities, lambda account: self._adapter(account, self._clouds)
            )
        return self._accounts


def _aws_cluster(account: AwsAccount, clouds: Clouds) -> Adapter:
    from freehold.providers.aws.cluster.adapter import AWSClusterAdapter

    return AWSClusterAdapter(account.facts, clouds.gates, clouds.gc_selector)


def collects(served: ServedName, gates: FeatureGates) -> bool:
    """Return whether garbage collection is on for new objects of this kind."""
    return served.collectable and FeatureGate.EXTERNAL_RESOURCE_GC in gates


ADAPTERS: Mapping[str, Callable[[Clouds], KnownAccounts]] = {
    POWERVS_CLUSTER.kind: lambda clouds: _on_ibm(
        clouds, lambda ibm: PowerVSClusterAdapter(ibm.facts_reader(), clouds.gates)
    ),
    AWS_CLUSTER.kind: lambda clouds: _OnAws(clouds, _aws_cluster),
}
"""By kind."""
