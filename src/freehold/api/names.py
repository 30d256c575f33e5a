"""Public names: groups, annotations, labels, finalizers, tag keys, condition types and reasons.

Only constants, without importing pydantic, so that every command can use them.
"""

from __future__ import annotations

from typing import Final

# --- groups, versions, kinds -------------------------------------------------------------------

INFRASTRUCTURE_GROUP: Final = "infrastructure.cluster.x-k8s.io"
CONTROL_PLANE_GROUP: Final = "controlplane.cluster.x-k8s.io"
BOOTSTRAP_GROUP: Final = "bootstrap.cluster.x-k8s.io"
CLUSTER_API_GROUP: Final = "cluster.x-k8s.io"
V1BETA1: Final = "v1beta1"
V1BETA2: Final = "v1beta2"
METADATA_GROUP: Final = "metadata-controller.cloud.io"
METADATA_VERSION: Final = "v1alpha1"

# --- annotations -------------------------------------------------------------------------------

JOURNAL_ANNOTATION: Final = "freehold.dev/journal"
"""State that cannot be derived: identity, open intents, carried ids, requested deletes (ADR 2)."""

DECISIONS_ANNOTATION: Final = "freehold.dev/decisions"
"""Decisions of a person about single resources, signed with the key ring, with the operator's answers."""

ENDPOINT_ANNOTATION: Final = "freehold.dev/endpoint"
"""The load balancer's address that Freehold wrote to ``spec.controlPlaneEndpoint.host``; not one that a user gave."""

TAGS_WRITER_ANNOTATION: Final = "freehold.dev/tags-writer"
"""On an AWSMetadata or IBMMetadata: the signed name under which tags were written for it (ADR 19)."""

TAGS_FINALIZER: Final = "freehold.dev/tags"
"""On an AWSMetadata or IBMMetadata with ``deletionPolicy: Remove``: its tags are removed before it is."""

TAGS_APPLIED_ANNOTATION: Final = "freehold.dev/tags-applied"
"""On a CloudMetadata: who applied it last with ``freehold tags``, and when. It wakes the controller."""

APPROVE_TAGS_ANNOTATION: Final = "freehold.dev/approve-tags"
"""On a CloudMetadata, or on a provider's object that is deleted: the digest of the plan that a person approved."""

IDENTITY_ANNOTATION: Final = "freehold.dev/identity"
NEW_IDENTITY: Final = "new"
"""The value of ``IDENTITY_ANNOTATION``: a person says that the object is a new cluster, although it has
another's journal, or none (ADR 15)."""

EXTERNAL_RESOURCE_GC_ANNOTATION: Final = "aws.cluster.x-k8s.io/external-resource-gc"
"""``false`` leaves what the workloads of a cluster made, ``true`` collects it with the cluster: upstream's name
(docs/reference/requirements.md G4, G10)."""

EXTERNAL_RESOURCE_TASKS_ANNOTATION: Final = "aws.cluster.x-k8s.io/external-resource-tasks-gc"
"""The tasks of the collection, a comma-separated list: upstream's name."""

GC_VOLUMES_ANNOTATION: Final = "freehold.dev/gc-volumes"
"""The effect of the task ``volume``: ``retain`` (the default), ``delete``, or ``snapshot`` and then delete."""

COLLECTION_ANNOTATIONS: Final = (
    EXTERNAL_RESOURCE_GC_ANNOTATION,
    EXTERNAL_RESOURCE_TASKS_ANNOTATION,
    GC_VOLUMES_ANNOTATION,
)

STANDALONE_ANNOTATION: Final = "freehold.dev/standalone"
"""Opt-in of an object without a Cluster, for it to be served where Cluster API is installed.

Source: docs/reference/capi-contract.md C18.
"""

BOOTSTRAP_ANNOTATION: Final = "freehold.dev/bootstrap-secret"
"""On a machine without an owner Machine: the Secret with its bootstrap data, or ``NO_BOOTSTRAP``."""

NO_BOOTSTRAP: Final = "none"

RENEWED_AT_ANNOTATION: Final = "freehold.dev/renewed-at"
"""On a Secret that is kept for an object: when it was written last."""

CONTENT_ANNOTATION: Final = "freehold.dev/content"
"""On a Secret that is kept for an object: a digest of what was written, and of what it was made of."""

PAUSED_ANNOTATION: Final = "cluster.x-k8s.io/paused"
"""Pauses reconciliation with any value, even an empty one (docs/reference/capi-contract.md C23)."""

RECOVERED: Final = "freehold recover"
"""The value of ``PAUSED_ANNOTATION`` on a recovered object; an apply of its manifest, or ``freehold down``, ends it."""

RECOVERED_WAITS: Final = "it was recovered: apply its manifest (freehold up -f FILE), or delete it with freehold down"

MANAGED_BY_ANNOTATION: Final = "cluster.x-k8s.io/managed-by"
"""Says that others manage the object, unless it is ``MANAGED_BY_FREEHOLD`` (docs/reference/capi-contract.md C26)."""

MANAGED_BY_FREEHOLD: Final = "freehold"

DELETE_FOR_MOVE_ANNOTATION: Final = "clusterctl.cluster.x-k8s.io/delete-for-move"
"""On an object in deletion: remove our finalizer without any cloud call (docs/reference/capi-contract.md C29)."""

# --- labels ------------------------------------------------------------------------------------

CLUSTER_NAME_LABEL: Final = "cluster.x-k8s.io/cluster-name"
WATCH_FILTER_LABEL: Final = "cluster.x-k8s.io/watch-filter"
"""On the objects of an operator that is one of several: which one serves them."""
CONTROL_PLANE_LABEL: Final = "cluster.x-k8s.io/control-plane"
"""On a Machine of a control plane, with any value."""
PROVIDER_LABEL: Final = "cluster.x-k8s.io/provider"
"""On a served CRD: an upstream provider is installed too (docs/reference/capi-contract.md C2)."""

CONTRACT_V1BETA1_LABEL: Final = "cluster.x-k8s.io/v1beta1"
"""On a CRD: the API versions that follow the v1beta1 contract (docs/reference/capi-contract.md C1)."""

MOVE_HIERARCHY_LABEL: Final = "clusterctl.cluster.x-k8s.io/move-hierarchy"
"""On the CRD of an identity: ``clusterctl move`` takes its objects along, and what belongs to them."""

# --- ownership in status.resources (docs/explanation/ownership.md) ------------------------------

OURS: Final = frozenset({"managed", "shared"})
"""Created by us, and deleted with the object; the in-cluster provider maintains shared ones until then."""

# --- conditions: those of one kind are in its provider's api_names -----------------------------

READY: Final = "Ready"
AVAILABLE: Final = "Available"
"""Of a control plane: its API server can be reached."""
PAUSED: Final = "Paused"
DELETING: Final = "Deleting"

LOAD_BALANCER_READY: Final = "LoadBalancerReady"

SPEC_VALID: Final = "SpecValid"
"""Not upstream's: False names what the user must change in the manifest."""

FIELDS_SERVED: Final = "FieldsServed"
"""Not upstream's: False lists the fields that are accepted and stored but not acted on."""

EXTERNAL_RESOURCE_GC: Final = "ExternalResourceGC"
"""Not upstream's: whether the workloads' leftovers are collected with the object, and why not. No part of ``Ready``."""

# --- reasons: stable, documented, matching conditions.REASON_PATTERN -----------------------------

REASON_AVAILABLE: Final = "Available"
REASON_NOT_AVAILABLE: Final = "NotAvailable"
REASON_READY: Final = "Ready"
REASON_NOT_READY: Final = "NotReady"
REASON_READY_UNKNOWN: Final = "ReadyUnknown"
REASON_PAUSED: Final = "Paused"
REASON_NOT_PAUSED: Final = "NotPaused"
REASON_DELETING: Final = "Deleting"
REASON_NOT_DELETING: Final = "NotDeleting"
REASON_KEY_MISSING: Final = "KeyMissing"
REASON_NO_CREDENTIALS: Final = "NoCredentials"
REASON_WAITING_FOR_CLUSTER: Final = "WaitingForOwnerCluster"
REASON_WAITING_FOR_DEPENDENTS: Final = "WaitingForDependents"
REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE: Final = "WaitingForClusterInfrastructure"
REASON_WAITING_FOR_BOOTSTRAP_DATA: Final = "WaitingForBootstrapData"
"""Upstream's reasons of a machine that waits."""
REASON_FOREIGN: Final = "SecretNotOurs"
"""A Secret of the name that an object's has is not the object's: it is never overwritten."""
REASON_CHANGED_MEANWHILE: Final = "SecretChanged"
REASON_WRITE_REFUSED: Final = "SecretRefused"
REASON_INVALID_SPEC: Final = "InvalidSpec"
REASON_VALID_SPEC: Final = "ValidSpec"
REASON_FIELDS_IGNORED: Final = "FieldsIgnored"
REASON_ALL_FIELDS_SERVED: Final = "AllFieldsServed"
REASON_REUSED_BY_NAME: Final = "ReusedByName"
"""An untagged resource that the spec names is used and never changed (docs/reference/requirements.md I10)."""

REASON_COLLECTED: Final = "Collected"
REASON_OPTED_OUT: Final = "OptedOut"
REASON_NOT_MARKED: Final = "NotMarked"
"""The object is older than garbage collection, and nobody has opted it in (docs/reference/requirements.md G21)."""
REASON_NOT_SELECTED: Final = "NotSelected"
REASON_FEATURE_GATE_OFF: Final = "FeatureGateOff"
REASON_INVALID_COLLECTION_POLICY: Final = "InvalidCollectionPolicy"
