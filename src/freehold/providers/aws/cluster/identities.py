"""Whether an identity may be used from a namespace: only from those that it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freehold.providers.aws.cluster.cluster_plan import CallerIdentity
from freehold.providers.aws.types.identity import AllowedNamespaces, LabelRequirement, NamespaceSelector


@dataclass(frozen=True)
class Allowed:
    """It may be used."""


@dataclass(frozen=True)
class NotAllowed:
    """It may not; ``message`` says what to do."""

    message: str


def may_use(
    identity: CallerIdentity, allowed: AllowedNamespaces | None, namespace: str, labels: Mapping[str, str]
) -> Allowed | NotAllowed:
    """Decide whether an identity may be used from a namespace with these labels.

    As upstream: nothing allows nobody, an empty object allows all, and an empty selector selects nothing
    (https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/scope/session.go).
    """
    if allowed is not None and (_is_open(allowed) or _names(allowed, namespace) or _selects(allowed.selector, labels)):
        return Allowed()
    return NotAllowed(
        f"{identity.kind} {identity.name} does not allow namespace {namespace}; add it to the identity's "
        "spec.allowedNamespaces, or name another identity"
    )


def _is_open(allowed: AllowedNamespaces) -> bool:
    return allowed.names is None and allowed.selector is None


def _names(allowed: AllowedNamespaces, namespace: str) -> bool:
    return namespace in (allowed.names or ())


def _selects(selector: NamespaceSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None or not (selector.match_labels or selector.match_expressions):
        return False
    equal = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return equal and all(_holds(each, labels) for each in selector.match_expressions)


def _holds(requirement: LabelRequirement, labels: Mapping[str, str]) -> bool:
    """Return whether labels meet a requirement. An unknown operator selects nothing."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
