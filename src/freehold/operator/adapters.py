"""Which accounts and which adapter serve which kind: a new kind is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from freehold.api.feature_gates import ALL_OFF, FeatureGates
from freehold.api.served import POWERVS_CLUSTER
from freehold.operator.accounts import Accounts, Binding, NoCredentials, OneAccount
from freehold.operator.ibm import IbmAccount
from freehold.reconcilers.adapter import Adapter
from freehold.reconcilers.powervs.adapter import PowerVSClusterAdapter


@dataclass(frozen=True)
class Clouds:
    """The clouds that the operator has credentials for, and the features that are on in them."""

    ibm: IbmAccount | None = None
    gates: FeatureGates = ALL_OFF


def _on_ibm(clouds: Clouds, adapter: Callable[[IbmAccount], Adapter]) -> Accounts:
    """The API key names the one account of all objects."""
    if clouds.ibm is None:
        return OneAccount(
            NoCredentials("the operator has no credentials for IBM Cloud: start it with IBMCLOUD_API_KEY")
        )
    return OneAccount(Binding(clouds.ibm, adapter(clouds.ibm)))


ADAPTERS: Mapping[str, Callable[[Clouds], Accounts]] = {
    POWERVS_CLUSTER.kind: lambda clouds: _on_ibm(
        clouds, lambda ibm: PowerVSClusterAdapter(ibm.facts_reader(), clouds.gates)
    ),
}
"""By kind."""
