"""Secrets that belong to an object, such as the kubeconfig of its cluster: what is wanted, and what became of it. Pure.

A Secret says itself, in two annotations, when it was written and of what. So a new process knows when it is due, and
what somebody else has changed in it is written again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from freehold.api import names
from freehold.api.conditions import format_time
from freehold.engine.errors import CloudError
from freehold.engine.outcomes import outcome_of_error
from freehold.engine.secret_values import SecretValue

UNTOLD = ""
"""The name under which a report says that it could not be told which Secrets are wanted."""
CLOCK_SKEW = 60.0
"""Seconds by which a Secret may be from the future; one from later is written again."""
ROUNDING = 1.0
"""Seconds by which a Secret may be renewed too early: its time is written in whole ones."""


@dataclass(frozen=True)
class WantedSecret:
    """A Secret in the namespace of its object.

    ``basis`` is a digest of everything in ``data`` that does not change by itself: where it differs, the Secret is
    written at once. ``renew_every`` is in seconds; infinite for one that never ends.
    """

    name: str
    type: str
    labels: Mapping[str, str]
    data: Mapping[str, SecretValue]
    basis: str
    renew_every: float = math.inf

    def encode_data(self) -> dict[str, str]:
        """Return the data as Kubernetes stores them."""
        return {key: base64.b64encode(value.reveal()).decode() for key, value in self.data.items()}


@dataclass(frozen=True)
class SecretKept:
    """The Secret is there, and right. ``after`` is the seconds of domain time until it must be renewed."""

    after: float


@dataclass(frozen=True)
class SecretNotKept:
    """The Secret is not there, or not ours, or old. ``reason`` is a condition's; ``message`` says what to do."""

    reason: str
    message: str
    after: float


SecretOutcome = SecretKept | SecretNotKept


@dataclass(frozen=True)
class SecretsReport:
    """What became of each wanted Secret in a pass, by name. Empty where none is wanted, or written, as in a plan."""

    outcomes: Mapping[str, SecretOutcome] = field(default_factory=dict)

    def is_kept(self, name: str) -> bool:
        """Return whether the Secret of this name is there, and right."""
        return isinstance(self.outcomes.get(name), SecretKept)

    @property
    def problems(self) -> tuple[SecretNotKept, ...]:
        """What is not as it should be."""
        return tuple(each for each in self.outcomes.values() if isinstance(each, SecretNotKept))

    @property
    def after(self) -> float:
        """The seconds of domain time until one of them is due; infinite if none is."""
        return min((each.after for each in self.outcomes.values()), default=math.inf)


NO_SECRETS = SecretsReport()


def report_untold(error: CloudError) -> SecretsReport:
    """Report that the cloud did not say what the Secrets need."""
    outcome = outcome_of_error(error)
    return SecretsReport({UNTOLD: SecretNotKept(outcome.reason.value, outcome.message, outcome.after)})


def build_annotations(wanted: WantedSecret, now: datetime) -> dict[str, str]:
    """Build the annotations of a Secret that is written ``now``."""
    content = _digest(wanted.basis, wanted.encode_data())
    return {names.RENEWED_AT_ANNOTATION: format_time(now), names.CONTENT_ANNOTATION: content}


def find_remaining(stored: Mapping[str, Any], wanted: WantedSecret, now: datetime) -> float:
    """Return the seconds until a stored Secret must be written again: 0 if it is due, or not as it was written."""
    metadata, data = stored["metadata"], stored.get("data") or {}
    annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    written = {key: str(data.get(key)) for key in wanted.data}
    if annotations.get(names.CONTENT_ANNOTATION) != _digest(wanted.basis, written):
        return 0.0
    if any(labels.get(key) != value for key, value in wanted.labels.items()):
        return 0.0
    try:
        age = (now - datetime.fromisoformat(annotations[names.RENEWED_AT_ANNOTATION]).astimezone(UTC)).total_seconds()
    except (KeyError, ValueError, TypeError, OverflowError):
        return 0.0
    remaining = wanted.renew_every - age
    return remaining if remaining > ROUNDING and age >= -CLOCK_SKEW else 0.0


def is_owned(stored: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    """Return whether the Secret is of this object: it has the one ownerReference that makes it its controller."""
    return any(
        each.get("uid") == owner["metadata"]["uid"] and each.get("controller") is True for each in _references(stored)
    )


def build_owner_reference(owner: Mapping[str, Any]) -> dict[str, Any]:
    """Build the reference by which Kubernetes deletes the Secret with its object."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"],
        "controller": True,
    }  # fmt: skip


def explain_foreign(stored: Mapping[str, Any], owner: Mapping[str, Any]) -> str:
    """Explain why a Secret is left as it is, and what to do."""
    metadata, kind = stored["metadata"], str(owner["kind"])
    where = f"{metadata['namespace']}/{metadata['name']}"
    others = [each for each in _references(stored) if each.get("controller") is True]
    earlier = any(
        each.get("kind") == kind and each.get("name") == owner["metadata"]["name"] for each in _references(stored)
    )
    if earlier:
        whose = f"is of an earlier {kind} of this name, with which Kubernetes deletes it"
    elif others:
        whose = f"is of {others[0].get('kind')} {others[0].get('name')!r}"
    else:
        whose = f"has no ownerReference that makes it the one of this {kind}"
    return (
        f"Secret {where} {whose}, and is never overwritten. If nobody needs it, delete it, and it is made anew: "
        f"kubectl delete secret {metadata['name']} -n {metadata['namespace']}"
    )


def _references(stored: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return stored["metadata"].get("ownerReferences") or []


def _digest(basis: str, data: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps([basis, sorted(data.items())]).encode()).hexdigest()[:32]
