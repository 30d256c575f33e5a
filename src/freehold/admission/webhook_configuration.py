"""ValidatingWebhookConfiguration: which writes the API server asks about, and which it never does.

With ``failurePolicy: Fail`` a write is refused while nobody answers. So nothing is asked about that must go on then: a
delete, an object that is being deleted, and a write that changes neither spec nor an annotation that is checked, such
as that of a finalizer, a label, an owner or our journal. The conditions are CEL
(https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from freehold.api import names
from freehold.api.served import ServedName
from freehold.providers.registry import METADATA, SERVED

CHECKED: Final[tuple[ServedName, ...]] = (*SERVED, *METADATA)
"""The kinds that are asked about."""
SERVICE: Final = "freehold-webhook"
SERVICE_ACCOUNT: Final = "freehold-operator"
VALIDATE_PATH: Final = "/validate"
WEBHOOK: Final = "validate.freehold.dev"
"""The name of the one entry that is ours."""
CERT_MANAGER_ANNOTATION: Final = "cert-manager.io/inject-ca-from"
"""Source: https://cert-manager.io/docs/concepts/ca-injector/"""
_TIMEOUT_SECONDS: Final = 5
_NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""On each namespace: its name (https://kubernetes.io/docs/reference/labels-annotations-taints/)."""


@dataclass(frozen=True)
class WebhookOptions:
    """The choices of an installation.

    ``namespace`` is the operator's own, ``watched`` the only one whose objects it serves, empty for all.
    ``watch_filter`` is the value of the label that the served objects have, empty for all. ``certificate`` is the name
    of cert-manager's Certificate in the namespace; without one the operator has a CA of its own.
    """

    namespace: str
    watched: str = ""
    watch_filter: str = ""
    certificate: str = ""
    kinds: Sequence[ServedName] = CHECKED


def name_configuration(namespace: str) -> str:
    """Return the name of the configuration of the operator in a namespace."""
    return f"{SERVICE}.{namespace}"


def build_webhook_configuration(options: WebhookOptions) -> dict[str, Any]:
    """Build the configuration. The CA's certificates are put in later, by the leader or by cert-manager."""
    metadata: dict[str, Any] = {"name": name_configuration(options.namespace)}
    if options.certificate:
        metadata["annotations"] = {CERT_MANAGER_ANNOTATION: f"{options.namespace}/{options.certificate}"}
    service = {"name": SERVICE, "namespace": options.namespace, "path": VALIDATE_PATH, "port": 443}
    webhook: dict[str, Any] = {
        "name": WEBHOOK,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        "failurePolicy": "Fail",
        "matchConditions": _build_conditions(options),
        "matchPolicy": "Equivalent",
        "rules": _build_rules(options.kinds),
        "sideEffects": "None",
        "timeoutSeconds": _TIMEOUT_SECONDS,
    }
    if options.watched:
        webhook["namespaceSelector"] = {"matchLabels": {_NAMESPACE_LABEL: options.watched}}
    if options.watch_filter:
        webhook["objectSelector"] = {"matchLabels": {names.WATCH_FILTER_LABEL: options.watch_filter}}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": [webhook],
    }


def list_checked_annotations(kinds: Sequence[ServedName]) -> tuple[str, ...]:
    """List the annotations that objects of these kinds are checked with."""
    return tuple(sorted({annotation for each in kinds for annotation in each.checked_annotations}))


def _build_rules(kinds: Sequence[ServedName]) -> list[dict[str, Any]]:
    """Build one rule for each group and version; a status is another resource, and is not named."""
    plurals: dict[tuple[str, str], list[str]] = {}
    for each in kinds:
        plurals.setdefault((each.group, each.version), []).append(each.plural)
    return [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": ["CREATE", "UPDATE"],
            "resources": sorted(found),
            "scope": "*",
        }
        for (group, version), found in sorted(plurals.items())
    ]


def _build_conditions(options: WebhookOptions) -> list[dict[str, str]]:
    """Build the conditions under which a write is asked about: all must hold."""
    itself = f"system:serviceaccount:{options.namespace}:{SERVICE_ACCOUNT}"
    annotations = ", ".join(f"'{each}'" for each in list_checked_annotations(options.kinds))
    changed = ["oldObject == null", _differs("spec")]
    if annotations:
        changed.append(f"[{annotations}].exists(a, {_read_annotation('object')} != {_read_annotation('oldObject')})")
    return [
        {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"},
        {"name": "not-by-the-operator", "expression": f"request.userInfo.username != '{itself}'"},
        {"name": "changes-what-is-checked", "expression": " || ".join(changed)},
    ]


def _differs(field: str) -> str:
    both = f"has(object.{field}) && has(oldObject.{field})"
    return f"has(object.{field}) != has(oldObject.{field}) || ({both} && object.{field} != oldObject.{field})"


def _read_annotation(root: str) -> str:
    """Return the expression of an annotation ``a``: its value, or nothing that a value can be."""
    found = f"{root}.metadata.annotations"
    return f"(has({found}) && a in {found} ? [{found}[a]] : [])"
