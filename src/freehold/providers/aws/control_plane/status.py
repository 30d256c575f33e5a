"""The status of an AWSManagedControlPlane: what :mod:`cluster_status` cannot know of it, in upstream's words. Pure.

``initialized`` is for life, from the first time that the API server could be reached with the kubeconfig Secret.
``observedGeneration`` is that of the spec that was carried out, not of one that was only read: Cluster API takes a
control plane for upgraded by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.collection.policy import Policy
from freehold.engine.graph import Graph
from freehold.engine.outcomes import Blocked, Kept, Ready, Reason
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster import keys as network_keys
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan
from freehold.providers.aws.cluster.status import IDENTITY, AWSStatusFields, parts_of
from freehold.providers.aws.control_plane import keys
from freehold.providers.aws.control_plane.access import explain_aws_auth
from freehold.providers.aws.control_plane.desired import WantedControlPlane
from freehold.providers.aws.control_plane.eks_plan import EKSPlan, minor_version
from freehold.providers.aws.control_plane.kubeconfig import name_kubeconfig
from freehold.providers.objects import cluster_status
from freehold.providers.objects.adapter import PassReport, StatusUpdate
from freehold.providers.objects.cluster_status import Status, StatusShape
from freehold.providers.objects.collection_condition import observe_collection
from freehold.providers.objects.part_conditions import Parts
from freehold.providers.objects.resource_rows import find_known_id, observed_of
from freehold.providers.objects.spec_problems import SpecProblem

_SERVES = ("ACTIVE", "UPDATING")
"""EKS's words for a cluster whose API server answers."""
_STEPS = {"CREATING": aws_names.EKS_CONTROL_PLANE_CREATING, "UPDATING": aws_names.EKS_CONTROL_PLANE_UPDATING}
"""The conditions that upstream has only while EKS is at it."""
_PASSING = (*_STEPS.values(), aws_names.EKS_IDENTITY_PROVIDER_CONFIGURED)
"""Conditions that go with what they are about."""
_ORDER = aws_names.AWS_CONTROL_PLANE_PART_CONDITIONS
_REBUILT = frozenset({"networkStatus", "failureDomains", "bastion", "addons", "oidcProvider"})
_OF_EKS: Parts = {
    aws_names.IAM_CONTROL_PLANE_ROLES_READY: (keys.ROLE_KIND,),
    aws_names.EKS_CONTROL_PLANE_READY: (keys.CLUSTER_KIND, keys.OIDC_KIND, keys.ACCESS_ENTRY_KIND),
    aws_names.EKS_ADDONS_CONFIGURED: (keys.ADDON_KIND,),
}
_REASON_ENTRIES, _REASON_NOT_MANAGED, _REASON_NOT_SERVED = "AccessEntries", "NotManaged", "NotServed"


def build_status(
    raw: Mapping[str, Any], report: PassReport, now: datetime, collection: Policy, cluster: str
) -> StatusUpdate:
    """Build the status after a pass that was allowed to work on the object ``raw``. ``now`` is aware.

    ``cluster`` is the name of its Cluster, which its Secrets have.
    """
    plan = report.plan if isinstance(report.plan, WantedControlPlane) else None
    if plan is not None and report.secrets.problems:
        report = replace(report, plan=replace(plan, unmet=(*plan.unmet, *_lacking_secrets(report))))
    view = _View.read(raw, report, cluster)
    beside = [observe_collection(collection, report.collected), *view.observe()]
    shape = StatusShape(
        {
            part: kinds
            for part, kinds in {**parts_of(plan.network if plan else None), **_OF_EKS}.items()
            if part in _ORDER
        },
        _REBUILT,
        _references,
        address="address",
        is_only_address=True,
        order=_ORDER,
        always=IDENTITY,
    )
    update = cluster_status.build_status(raw, report, now, shape, beside)
    gone = {*_PASSING} - {each.type for each in beside}
    conditions = api_conditions.remove_types(update.status["conditions"], gone)
    status = {**update.status, **view.show_fields(update), "conditions": conditions}
    if not view.was_carried_out:
        status.pop("observedGeneration", None)
        if (before := view.before.get("observedGeneration")) is not None:
            status["observedGeneration"] = before
    return replace(update, status=status, changed=status != view.before)


def _lacking_secrets(report: PassReport) -> Iterator[SpecProblem]:
    for name, outcome in sorted(report.secrets.outcomes.items()):
        if outcome in report.secrets.problems:
            yield SpecProblem(f"Secret {name}" if name else "Secret", getattr(outcome, "message", ""))


@dataclass(frozen=True)
class _View:
    """A control plane, by what the pass reports of it. ``seen`` is its EKS cluster, None where no look showed it."""

    raw: Mapping[str, Any]
    report: PassReport
    plan: EKSPlan | None
    seen: Observed | None
    cluster: str

    @staticmethod
    def read(raw: Mapping[str, Any], report: PassReport, cluster: str) -> _View:
        plan = report.plan.eks if isinstance(report.plan, WantedControlPlane) else None
        return _View(raw, report, plan, find_cluster(report), cluster)

    @property
    def before(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.raw.get("status") or {}
        return found

    @property
    def _spec(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.raw.get("spec") or {}
        return found

    @property
    def serves(self) -> bool:
        """True while the API server answers; as before where the last look did not show the cluster."""
        if self.report.deleting or self._has_gone:
            return False
        return _word(self.seen) in _SERVES if self.seen else self.before.get("ready") is True

    @property
    def _has_gone(self) -> bool:
        """True if the cluster on record is no more; with the spec refused nobody looked, and the record says it."""
        entry = self.report.journal.get(keys.CLUSTER) if self.report.journal else None
        return entry is not None and bool(entry.gone)

    @property
    def was_carried_out(self) -> bool:
        """True if everything is as the spec has it. Addons count not: some wait for nodes, which wait for this."""
        if self.report.deleting:
            return True
        if not isinstance(self.report.plan, WantedControlPlane):
            return False
        counting = (key for key in self.report.plan.graph.nodes if key.kind != keys.ADDON_KIND)
        return all(isinstance(self.report.outcomes.get(key), Ready | Kept) for key in counting)

    def show_fields(self, update: StatusUpdate) -> Status:
        """Return the fields of Cluster API's contract (docs/reference/capi-contract.md)."""
        filled = (update.spec or {}).get("controlPlaneEndpoint") or {}
        host = filled.get("host") or (self._spec.get("controlPlaneEndpoint") or {}).get("host")
        kept = self.report.secrets.is_kept(name_kubeconfig(self.cluster))
        initialized = self.before.get("initialized") is True or bool(host and kept and self.serves)
        version = self._version()
        return {
            "ready": self.serves,
            "initialized": initialized,
            "initialization": {"controlPlaneInitialized": initialized},
            "externalManagedControlPlane": True,
            **({"version": version} if version else {}),
        }

    def _version(self) -> str:
        """Return the version, which Cluster API compares with the spec's: EKS knows no patch, so the spec's is said."""
        there = str(self.seen.attributes.get("version") or "") if self.seen else ""
        said = str(self._spec.get("version") or "")
        if there and minor_version(said) == there and re.fullmatch(r"v?\d+\.\d+\.\d+", said):
            return f"v{said.removeprefix('v')}"
        return f"v{there}.0" if there else ""

    # -- conditions -----------------------------------------------------------------------------------------------

    def observe(self) -> Iterator[Observation]:
        """Build the conditions that are no part of ``Ready``."""
        yield self._observe_available()
        if (word := _word(self.seen)) in _STEPS and not self.report.deleting:
            yield Observation(_STEPS[word], "True", word.capitalize())
        if self.plan is not None:
            yield self._observe_authenticator(self.plan)
        if self._spec.get("oidcIdentityProviderConfig"):
            message = "spec.oidcIdentityProviderConfig is not acted on: identity providers are not served"
            yield Observation(aws_names.EKS_IDENTITY_PROVIDER_CONFIGURED, "False", _REASON_NOT_SERVED, message)

    def _observe_available(self) -> Observation:
        if self.serves:
            return Observation(names.AVAILABLE, "True", names.REASON_AVAILABLE)
        word = _word(self.seen)
        message = f"the EKS cluster is {word}" if word else "there is no EKS cluster yet"
        if self.report.deleting or self._has_gone:
            message = "being deleted" if self.report.deleting else "the EKS cluster has gone"
        return Observation(names.AVAILABLE, "False", names.REASON_NOT_AVAILABLE, message)

    def _observe_authenticator(self, plan: EKSPlan) -> Observation:
        type_, access = aws_names.IAM_AUTHENTICATOR_CONFIGURED, plan.access
        if access.unknown:
            message = f"whether all nodes may join cannot be told: {access.unknown.message}"
            return Observation(type_, "Unknown", access.unknown.reason.value, message)
        if access.uses_entries:
            return Observation(type_, "True", _REASON_ENTRIES)
        message = explain_aws_auth(access.node_roles, plan.name, str(self._spec.get("region") or ""))
        return Observation(
            type_,
            "Unknown",
            _REASON_NOT_MANAGED,
            message or "the ConfigMap aws-auth of the cluster is not written here",
        )


def _word(seen: Observed | None) -> str:
    """Return EKS's word for the state, without its reason; empty where no look showed it."""
    return seen.vendor_state.partition(" ")[0] if seen else ""


def find_cluster(report: PassReport) -> Observed | None:
    """Return the EKS cluster as the pass saw it, unless it is somebody else's; None where it did not."""
    outcome = report.outcomes.get(keys.CLUSTER)
    theirs = isinstance(outcome, Blocked) and outcome.reason in (Reason.NOT_OWNED, Reason.NAME_TAKEN)
    return None if theirs else observed_of(outcome)


def find_serving_cluster(report: PassReport) -> Observed | None:
    """Return the EKS cluster, if the pass saw that its API server answers."""
    seen = None if report.deleting else find_cluster(report)
    return seen if seen and is_serving(seen) else None


def is_serving(seen: Observed) -> bool:
    """Return whether the API server of an EKS cluster answers."""
    return _word(seen) in _SERVES and bool(seen.attributes.get("address"))


def _references(before: Mapping[str, Any], report: PassReport, graph: Graph) -> Status:
    plan = report.plan
    if not isinstance(plan, WantedControlPlane) or plan.network is None or plan.eks is None:
        return {}
    fields = AWSStatusFields(before, report, graph, plan.network)
    found: Status = {
        "networkStatus": fields.network(),
        "failureDomains": _failure_domains(plan.network, report),
        "bastion": fields.bastion(),
        "addons": list(_addons(before, report, plan.eks)),
        "oidcProvider": _oidc_provider(report),
    }
    return {name: value for name, value in found.items() if value}


def _failure_domains(network: ClusterPlan, report: PassReport) -> Status:
    """Return the zones that have a private subnet already, as upstream; without one, those of all subnets."""
    there = [each for each in network.subnets if each.zone and _id(network_keys.subnet(each.logical), report)]
    usable = [each for each in there if not each.for_pods]
    private = [each for each in usable if not each.public]
    return {zone: {"controlPlane": True} for zone in sorted({each.zone for each in private or usable})}


def _id(key: NodeKey, report: PassReport) -> str:
    return find_known_id(report.journal.get(key) if report.journal else None, report.outcomes.get(key))


def _addons(before: Mapping[str, Any], report: PassReport, plan: EKSPlan) -> Iterator[Status]:
    """Yield the addons; one that the last look did not see is as it was before."""
    earlier = {each.get("name"): each for each in before.get("addons") or ()}
    for addon in plan.addons:
        seen = observed_of(report.outcomes.get(keys.addon(addon.name)))
        if seen is None:
            if addon.name in earlier:
                yield earlier[addon.name]
            continue
        said = seen.attributes
        found: Status = {
            "arn": seen.id,
            "name": addon.name,
            "version": said.get("version") or addon.version,
            "status": _word(seen),
            "serviceAccountRoleARN": said.get("role_arn"),
            "issues": [{"message": said["issue"]}] if said.get("issue") else [],
        }
        yield {name: value for name, value in found.items() if value}


def _oidc_provider(report: PassReport) -> Status:
    arn = _id(keys.OIDC, report)
    return {"arn": arn, "trustPolicy": build_trust_policy(arn)} if arn else {}


def build_trust_policy(provider: str) -> str:
    """Build the trust policy of a role that a service account of the cluster assumes, with upstream's placeholders.

    ``provider`` is the ARN of the OIDC provider
    (https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html).
    """
    account = "system:serviceaccount:${SERVICE_ACCOUNT_NAMESPACE}:${SERVICE_ACCOUNT_NAME}"
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": [provider]},
        "Action": ["sts:AssumeRoleWithWebIdentity"],
        "Condition": {"ForAnyValue:StringLike": {f"{provider.partition('/')[2]}:sub": [account]}},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
