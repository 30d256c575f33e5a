"""ValidatingWebhookConfiguration and MutatingWebhookConfiguration: their schemas, defaults and validation.

Rules: kubernetes ``pkg/apis/admissionregistration/validation/validation.go`` and ``v1/defaults.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from freehold_apiserver.admission.conditions import compile_conditions
from freehold_apiserver.admission.hooks import GROUP, REVIEWS
from freehold_apiserver.errors import FieldError
from freehold_apiserver.metadata import name_errors
from freehold_apiserver.resources import Resource
from freehold_apiserver.selectors import selector_errors
from freehold_apiserver.store import Json
from freehold_apiserver.tables import AGE, NAME, Column
from freehold_apiserver.webhook_targets import client_config_errors
from freehold_apiserver.workloads import GenerationStrategy

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_SELECTOR = {
    "type": "object", "default": {}, "x-kubernetes-map-type": "atomic",
    "properties": {
        "matchLabels": {"type": "object", "additionalProperties": _TEXT},
        "matchExpressions": {"type": "array", "items": {"type": "object", "required": ["key", "operator"],
                             "properties": {"key": _TEXT, "operator": _TEXT, "values": _TEXTS}}},
    },
}  # fmt: skip
_SERVICE = {
    "type": "object", "required": ["name", "namespace"],
    "properties": {"name": _TEXT, "namespace": _TEXT, "path": _TEXT, "port": {"type": "integer", "default": 443}},
}  # fmt: skip
_RULE = {
    "type": "object",
    "properties": {"apiGroups": _TEXTS, "apiVersions": _TEXTS, "resources": _TEXTS, "operations": _TEXTS,
                   "scope": {"type": "string", "default": "*"}},
}  # fmt: skip
_WEBHOOK = {
    "name": _TEXT,
    "clientConfig": {"type": "object", "properties": {"url": _TEXT, "service": _SERVICE, "caBundle": _TEXT}},
    "rules": {"type": "array", "items": _RULE},
    "failurePolicy": {"type": "string", "default": "Fail"},
    "matchPolicy": {"type": "string", "default": "Equivalent"},
    "namespaceSelector": _SELECTOR,
    "objectSelector": _SELECTOR,
    "sideEffects": _TEXT,
    "timeoutSeconds": {"type": "integer", "default": 10},
    "admissionReviewVersions": _TEXTS,
    "matchConditions": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-merge-key": "name",
        "items": {"type": "object", "required": ["name", "expression"],
                  "properties": {"name": _TEXT, "expression": _TEXT}},
    },
}  # fmt: skip


def _schema(description: str, **more: dict[str, Any]) -> dict[str, Any]:
    items = {"type": "object", "required": ["name", "clientConfig"], "properties": {**_WEBHOOK, **more}}
    webhooks = {
        "type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-merge-key": "name",
    }  # fmt: skip
    return {"type": "object", "description": description, "properties": {"webhooks": webhooks}}


_VALIDATING = _schema("ValidatingWebhookConfiguration names webhooks that may refuse a write.")
_MUTATING = _schema(
    "MutatingWebhookConfiguration names webhooks that may change the object of a write.",
    reinvocationPolicy={"type": "string", "default": "Never"},
)
_CHOICES = {
    "failurePolicy": ("Fail", "Ignore"), "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"), "sideEffects": ("None", "NoneOnDryRun"),
}  # fmt: skip
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_WORDS = {"apiGroups": "API groups", "apiVersions": "API versions", "operations": "operations"}


class ConfigurationStrategy(GenerationStrategy):
    """Validates webhooks beyond their schema."""

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        found = list(super().validate(obj, old))
        if found:  # what follows reads fields of the right types
            return found
        webhooks = obj.get("webhooks") or []
        counts = Counter[str]()
        for index, each in enumerate(webhooks):
            found += _webhook_errors(each, f"webhooks[{index}]")
            counts[each["name"]] += 1
            if counts[each["name"]] > 1:
                found.append(FieldError.duplicate(f"webhooks[{index}].name", each["name"]))
        return found


def _webhook_errors(hook: Json, path: str) -> list[FieldError]:
    found = _hook_name_errors(hook["name"], f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        found += _rule_errors(rule, f"{path}.rules[{index}]")
    if "sideEffects" not in hook:
        why = f"must specify one of {', '.join(_CHOICES['sideEffects'])}"
        found.append(FieldError.required(f"{path}.sideEffects", why))
    for name, choices in _CHOICES.items():
        if name in hook and hook[name] not in choices:
            found.append(FieldError.unsupported(f"{path}.{name}", hook[name], choices))
    seconds = hook["timeoutSeconds"]
    if not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        found.append(FieldError.invalid(f"{path}.timeoutSeconds", seconds, why))
    for name in ("namespaceSelector", "objectSelector"):
        found += selector_errors(hook[name], f"{path}.{name}")
    found += client_config_errors(hook["clientConfig"], f"{path}.clientConfig")
    found += _condition_errors(hook.get("matchConditions") or (), f"{path}.matchConditions")
    return found + _review_errors(hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")


def _hook_name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [FieldError.required(path)]
    if found := name_errors(name, "subdomain", path):
        return found
    why = "should be a domain with at least three segments separated by dots"
    return [] if name.count(".") >= 2 else [FieldError.invalid(path, name, why)]


def _review_errors(versions: list[str], path: str) -> list[FieldError]:
    if not versions:
        return [FieldError.required(path, f"must specify one of {', '.join(REVIEWS)}")]
    found = [
        FieldError.invalid(f"{path}[{index}]", each, "duplicate version")
        for index, each in enumerate(versions)
        if each in versions[:index]
    ]
    if not set(REVIEWS) & set(versions):
        found.append(FieldError.invalid(path, versions, f"must include at least one of {', '.join(REVIEWS)}"))
    return found


def _rule_errors(rule: Json, path: str) -> list[FieldError]:
    found = []
    for name in ("operations", "apiGroups", "apiVersions", "resources"):
        items, here = rule.get(name) or [], f"{path}.{name}"
        if not items:
            found.append(FieldError.required(here))
        elif "*" in items and len(items) > 1 and name in _WORDS:
            why = f"if '*' is present, must not specify other {_WORDS[name]}"
            found.append(FieldError.invalid(here, items, why))
        empty = name != "apiGroups"  # the core group has no name
        found += [FieldError.required(f"{here}[{n}]") for n, each in enumerate(items) if empty and not each]
    for index, each in enumerate(rule.get("operations") or ()):
        if each not in _OPERATIONS:
            found.append(FieldError.unsupported(f"{path}.operations[{index}]", each, _OPERATIONS))
    if rule["scope"] not in _SCOPES:
        found.append(FieldError.unsupported(f"{path}.scope", rule["scope"], _SCOPES))
    return found + _resource_errors(rule.get("resources") or [], f"{path}.resources")


def _resource_errors(resources: list[str], path: str) -> list[FieldError]:
    """Refuse what another entry names already."""
    found = []
    for index, each in enumerate(resources):
        resource, slash, below = each.partition("/")
        for wide in (f"{resource}/*", f"*/{below}") if slash else ():
            if wide in resources[:index]:
                why = f"if '{wide}' is present, must not specify {each}"
                found.append(FieldError.invalid(f"{path}[{index}]", each, why))
    if "*/*" in resources and len(resources) > 1:
        found.append(FieldError.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and any("/" not in each and each != "*" for each in resources):
        why = "if '*' is present, must not specify other resources without subresources"
        found.append(FieldError.invalid(path, resources, why))
    return found


def _condition_errors(conditions: Sequence[Json], path: str) -> list[FieldError]:
    found = [FieldError.too_many(path, len(conditions), 64)] if len(conditions) > 64 else []
    names = [each["name"] for each in conditions]
    for index, each in enumerate(conditions):
        here = f"{path}[{index}]"
        if each["name"] in names[:index]:
            found.append(FieldError.duplicate(f"{here}.name", each["name"]))
        found += [FieldError.required(f"{here}.{name}") for name in ("name", "expression") if not each[name].strip()]
        try:
            compile_conditions([each] if each["expression"].strip() else [])
        except (ValueError, RuntimeError) as problem:
            why = f"compilation failed: {str(problem).splitlines()[0]}"
            found.append(FieldError.invalid(f"{here}.expression", each["expression"], why))
    return found


_KINDS = (("ValidatingWebhookConfiguration", _VALIDATING), ("MutatingWebhookConfiguration", _MUTATING))


def configuration_resources() -> tuple[Resource, ...]:
    """Return the resources of both kinds."""
    count = Column("Webhooks", "integer", lambda obj: len(obj.get("webhooks") or ()))
    return tuple(
        Resource(
            GROUP, "v1", kind, f"{kind.lower()}s", False, "v1", ConfigurationStrategy(schema), singular=kind.lower(),
            list_kind=f"{kind}List", categories=("api-extensions",), columns=(NAME, count, AGE), schema=schema,
        )
        for kind, schema in _KINDS
    )  # fmt: skip
