"""IBMPowerVSCluster as a kind of object: its names, and what the controllers need of it.

Imports no SDK and no types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.api import names
from freehold.api.served import MachineName, ServedName
from freehold.providers.base import ConnectionContext, ObjectKind
from freehold.providers.ibm import api_names as ibm_names

if TYPE_CHECKING:
    from freehold.api.feature_gates import FeatureGates
    from freehold.api.served_kind import ServedKind
    from freehold.collection.selector import Selector
    from freehold.providers.ibm.accounts import IbmAccount
    from freehold.providers.objects.adapter import Adapter

POWERVS_CLUSTER = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    ibm_names.POWERVS_CLUSTER_KIND,
    ibm_names.POWERVS_CLUSTER_PLURAL,
    ibm_names.POWERVS_CLUSTER_FINALIZER,
    machines=(
        MachineName(
            names.INFRASTRUCTURE_GROUP,
            names.V1BETA2,
            ibm_names.POWERVS_MACHINE_KIND,
            ibm_names.POWERVS_MACHINE_PLURAL,
        ),
    ),
    parts=ibm_names.POWERVS_PART_CONDITIONS,
    annotations=(ibm_names.CREATE_INFRA_ANNOTATION,),
)


def _describe() -> ServedKind:
    from freehold.providers.ibm.powervs.types.crd import POWERVS_CLUSTERS

    return POWERVS_CLUSTERS


def _adapt(account: IbmAccount, shared: ConnectionContext) -> Adapter:
    from freehold.providers.ibm.powervs.adapter import PowerVSClusterAdapter

    return PowerVSClusterAdapter(account.facts_reader(), shared.gates)


def _adapt_unasked(gates: FeatureGates, gc_selector: Selector | None) -> Adapter:
    from freehold.providers.ibm.powervs.adapter import PowerVSClusterAdapter
    from freehold.providers.ibm.unasked import UnaskedPowerVS

    return PowerVSClusterAdapter(UnaskedPowerVS(), gates)


CLUSTER = ObjectKind(POWERVS_CLUSTER, _describe, _adapt, adapt_unasked=_adapt_unasked)
