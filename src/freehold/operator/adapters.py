"""Which adapter serves which kind: a new kind is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from freehold.api.served import POWERVS_CLUSTER
from freehold.operator.ibm import IbmAccount
from freehold.reconcilers.adapter import Adapter
from freehold.reconcilers.powervs.adapter import PowerVSClusterAdapter

ADAPTERS: Mapping[str, Callable[[IbmAccount], Adapter]] = {
    POWERVS_CLUSTER.kind: lambda account: PowerVSClusterAdapter(account.facts_reader()),
}
"""By kind."""
