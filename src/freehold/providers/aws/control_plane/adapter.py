"""AWSManagedControlPlane, as the operator's reconciler sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.api.served import ServedName
from freehold.collection.selector import Selector
from freehold.engine.journal import Entry, Journal
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.aws.cluster.discover import AWSClusterFactsReader, discover
from freehold.providers.aws.cluster.keys import VPC
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.recorded import name_of
from freehold.providers.aws.control_plane.access import profiles_of
from freehold.providers.aws.control_plane.cluster_source import ClusterSource
from freehold.providers.aws.control_plane.collection import decide_policy, request_collection
from freehold.providers.aws.control_plane.desired import PORT, Circumstances, build_desired
from freehold.providers.aws.control_plane.eks_plan import minor_version
from freehold.providers.aws.control_plane.facts import (
    ControlPlaneFacts,
    ControlPlaneFactsReader,
    ControlPlaneQuestions,
)
from freehold.providers.aws.control_plane.keys import CLUSTER
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.aws.control_plane.kubeconfig import ClusterAccess, TokenMethod, build_secrets
from freehold.providers.aws.control_plane.names import DEFAULT_NODE_ROLE
from freehold.providers.aws.control_plane.network import network_spec
from freehold.providers.aws.control_plane.recorded import eks_name_of, read_eks_name
from freehold.providers.aws.control_plane.status import build_status, find_serving_cluster, is_serving
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlaneSpec
from freehold.providers.aws.types.rules import DEFAULT_VPC_RANGE
from freehold.providers.objects.adapter import (
    CollectionRequest,
    Desired,
    PassReport,
    RefusedSpec,
    StatusUpdate,
    parse_or_refuse,
)
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.gate import Proceed
from freehold.providers.objects.kept_secrets import WantedSecret
from freehold.providers.objects.vouching import vouch_with


class AWSManagedControlPlaneAdapter:
    """The adapter of AWSManagedControlPlane, for one account, identity and region.

    ``network``, ``reader`` and ``clusters`` ask AWS. ``gates`` are the features that are on, ``gc_selector`` the
    labels of the clusters that are collected, None for all.
    """

    def __init__(
        self,
        network: AWSClusterFactsReader,
        reader: ControlPlaneFactsReader,
        clusters: ClusterSource,
        gates: FeatureGates = DEFAULT_GATES,
        gc_selector: Selector | None = None,
    ) -> None:
        self._network = network
        self._reader = reader
        self._clusters = clusters
        self._gates = gates
        self._gc_selector = gc_selector
        self._seen: dict[str, Observed] = {}
        """The EKS clusters that were seen last, by UID: a spec that is refused later changes nothing of their
        kubeconfig."""

    @property
    def served(self) -> ServedName:
        return AWS_MANAGED_CONTROL_PLANE

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        """Parse the spec, ask AWS what it depends on, and decide (:func:`desired.build_desired`).

        A delete asks only where the network is: what is on record, and what has our marks, tells the rest.
        """
        spec = parse_or_refuse(AWSManagedControlPlaneSpec, raw)
        if isinstance(spec, RefusedSpec):
            return spec
        names = _read_names(raw, journal)
        deleting = "deletionTimestamp" in raw["metadata"]
        if deleting:
            self._seen.pop(raw["metadata"]["uid"], None)
        known = await discover(self._network, names, network_spec(spec), PORT, journal, deleting=deleting)
        asked = ControlPlaneQuestions() if deleting else _ask(raw, spec, proceed)
        facts = ControlPlaneFacts() if deleting else await self._reader.read(asked)
        return build_desired(raw, spec, Circumstances(names, journal, self._gates, known, facts, proceed.around))

    async def find_secrets(
        self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport
    ) -> Sequence[WantedSecret]:
        """Find the kubeconfigs, from the first time on that the cluster serves."""
        journal = report.journal
        held = journal.claimed.get(CLUSTER) if journal else None
        if journal is None or held is None or not vouch_with(proceed.ring)(journal, CLUSTER, held):
            return ()  # a token opens each cluster that the operator's identity may enter
        there = await self._find_cluster(raw, held, report)
        if there is None:
            return ()
        token = await self._clusters.sign_cluster_token(there.name)
        return build_secrets(_read_names(raw, journal).cluster, _read_access(raw, there), token)

    async def _find_cluster(self, raw: Mapping[str, Any], held: Entry, report: PassReport) -> Observed | None:
        """Find the cluster on record that serves, or did: as the pass saw it, as an earlier one did, or as it is now.

        A pass that was not allowed to look, as with a refused spec, changes nothing of a kubeconfig.
        """
        uid = raw["metadata"]["uid"]
        if not held.id:
            return None
        seen = find_serving_cluster(report) or self._seen.get(uid)
        if seen is None and not report.outcomes:
            seen = await self._clusters.read_cluster(read_eks_name({CLUSTER: held}))
        if seen is None or (held.id, held.incarnation) != (seen.id, seen.incarnation) or not is_serving(seen):
            return None
        self._seen[uid] = seen
        return seen

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        entries = report.journal.entries if report.journal else {}
        cluster = name_of(raw, entries, AWS_MANAGED_CONTROL_PLANE.link)
        policy = decide_policy(raw, report.journal, report.around, self._gates, self._gc_selector)
        return build_status(raw, report, now, policy, cluster)

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        """Rebuild the immutable spec fields of a lost object, so that its manifest can be applied over it."""
        spec: dict[str, Any] = {}
        for key, seen in found:
            if key == CLUSTER:
                spec["eksClusterName"] = seen.name
                spec["version"] = f"v{seen.attributes['version']}"
                if encryption := seen.attributes.get("encryption_key"):
                    spec["encryptionConfig"] = {"provider": encryption, "resources": ["secrets"]}
            if key == VPC and seen.attributes["cidr"] != DEFAULT_VPC_RANGE:
                spec["network"] = {"vpc": {"cidrBlock": seen.attributes["cidr"]}}
        return spec

    def find_collection(
        self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND
    ) -> CollectionRequest | None:
        return request_collection(raw, journal, around, self._gates, self._gc_selector)


def _read_names(raw: Mapping[str, Any], journal: Journal) -> AWSClusterNames:
    cluster = name_of(raw, journal.entries, AWS_MANAGED_CONTROL_PLANE.link)
    return AWSClusterNames(raw["metadata"].get("namespace", ""), cluster, eks_name_of(raw, journal.entries))


def _ask(raw: Mapping[str, Any], spec: AWSManagedControlPlaneSpec, proceed: Proceed) -> ControlPlaneQuestions:
    """Return what is asked: of all that needs an answer only what the spec names."""
    there = str((raw.get("status") or {}).get("version") or "")
    version = minor_version(spec.version or there)
    return ControlPlaneQuestions(
        profiles=profiles_of(proceed.around.machines) | {DEFAULT_NODE_ROLE},
        addons=frozenset(each.name for each in spec.addons if version),
        version=version,
        key=(spec.encryption_config and spec.encryption_config.provider) or "",
    )


def _read_access(raw: Mapping[str, Any], there: Observed) -> ClusterAccess:
    spec = raw.get("spec") or {}
    return ClusterAccess(
        there.name,
        str(there.attributes["address"]),
        str(there.attributes["certificate"]),
        str(spec.get("region") or ""),
        TokenMethod(spec.get("tokenMethod") or TokenMethod.AUTHENTICATOR),
    )
