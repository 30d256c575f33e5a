"""AWSManagedControlPlane, as the operator's reconciler sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.api.served import ServedName
from freehold.collection.selector import Selector
from freehold.engine.journal import Journal
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.aws.accounts import AwsAccount
from freehold.providers.aws.control_plane.collection import request_collection
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.objects.adapter import CollectionRequest, Desired, PassReport, StatusUpdate
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.gate import Proceed


class AWSManagedControlPlaneAdapter:
    """The adapter of AWSManagedControlPlane for one account, identity and region."""

    def __init__(
        self, account: AwsAccount, gates: FeatureGates = DEFAULT_GATES, gc_selector: Selector | None = None
    ) -> None:
        self._account = account
        self._gates = gates
        self._gc_selector = gc_selector

    @property
    def served(self) -> ServedName:
        return AWS_MANAGED_CONTROL_PLANE

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        raise NotImplementedError

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        raise NotImplementedError

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        return {}

    def find_collection(
        self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND
    ) -> CollectionRequest | None:
        return request_collection(raw, journal, around, self._gates, self._gc_selector)
