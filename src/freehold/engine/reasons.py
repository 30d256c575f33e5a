"""Why a resource waits, is blocked or is kept: the words that appear in statuses. Data only."""

from __future__ import annotations

from enum import StrEnum

EXTERNAL = "external resources"
"""In place of a kind, in outcomes about what is collected."""
ALL, MACHINES = "all", "machines"
"""In place of a name, in outcomes about no single one of them, and about machines that must stop first."""


class Reason(StrEnum):
    """Why something waits, is blocked or is kept. The words appear in conditions and must not change."""

    # waiting
    REQUIREMENT = "WaitingForRequirement"
    PROVISIONING = "Provisioning"
    CREATING = "Creating"
    SETTLING = "Settling"
    MARKING = "Marking"
    UPDATING = "Updating"
    DELETING = "Deleting"
    DEPENDENTS = "WaitingForDependents"
    COLLECTING = "CollectingExternalResources"
    RETRYING = "Retrying"
    THROTTLED = "Throttled"
    # blocked: somebody must act
    NAME_TAKEN = "NameTaken"
    NOT_FOUND = "NotFound"
    PRESUMED_ONLY = "PresumedOnly"
    VANISHING = "Vanishing"
    GONE = "Gone"
    AMBIGUOUS = "Ambiguous"
    FAILED = "ProvisioningFailed"
    QUOTA = "QuotaReached"
    NO_CAPACITY = "NoCapacity"
    DENIED = "Denied"
    INVALID = "InvalidRequest"
    NOT_OWNED = "NotOwned"
    IN_USE = "InUse"
    UNKNOWN_KIND = "UnknownKind"
    KEY_MISSING = "KeyMissing"
    UNMARKABLE = "Unmarkable"
    UNFIT = "Unfit"
    DRIFTED = "Drifted"
    TAG_TAKEN = "TagTaken"
    FROZEN = "Frozen"
    COLLECTION_HELD = "ExternalResourcesHeld"
    COLLECTION_UNREADABLE = "InvalidCollectionPolicy"
    # kept on delete
    GIVEN = "GivenInSpec"
    REUSED_BY_NAME = "ReusedByName"
    MARK_LOST = "MarkLost"
    GIVEN_UP = "GivenUp"
    SERVES_KEPT = "ServesWhatIsKept"
