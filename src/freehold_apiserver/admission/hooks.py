"""Webhooks, read from the configurations that are stored, and which of them a write is sent to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from freehold_apiserver import errors, selectors
from freehold_apiserver.admission.attributes import Attributes
from freehold_apiserver.admission.conditions import Condition, compile_conditions
from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Json
from freehold_apiserver.webhook_client import Target, target_of

GROUP = "admissionregistration.k8s.io"
Labels = Mapping[str, str]
NamespaceLabels = Callable[[str], Labels | None]
"""Looks up the labels of a namespace; None where there is no such namespace."""


@dataclass(frozen=True)
class Rule:
    """Operations on resources. ``*`` stands for all."""

    groups: Sequence[str]
    versions: Sequence[str]
    resources: Sequence[str]
    operations: Sequence[str]
    scope: str

    def matches(self, asked: Attributes, resource: Resource) -> bool:
        """Decide as k8s.io/apiserver ``pkg/admission/plugin/webhook/predicates/rules``."""
        in_scope = self.scope == "*" or (self.scope == "Namespaced") == asked.in_namespaced_scope()
        return (
            in_scope
            and _has(self.operations, asked.operation)
            and _has(self.groups, resource.group)
            and _has(self.versions, resource.version)
            and any(_names(each, resource.plural, asked.subresource) for each in self.resources)
        )


@dataclass(frozen=True)
class Hook:
    """One webhook of a configuration. ``uid`` tells it from all others; ``review`` is the version that it takes."""

    name: str
    uid: str
    target: Target
    rules: tuple[Rule, ...]
    takes_equivalents: bool
    fails_open: bool
    timeout: int
    review: str
    reinvoked: bool
    selects_namespace: Callable[[Labels], bool] | None
    selects_object: Callable[[Labels], bool] | None
    conditions: tuple[Condition, ...]


def read_hooks(configuration: Json) -> list[Hook]:
    """Read the webhooks of a valid ValidatingWebhookConfiguration or MutatingWebhookConfiguration."""
    name = configuration["metadata"]["name"]
    return [_hook(each, f"{name}/{each['name']}/{n}") for n, each in enumerate(configuration.get("webhooks") or ())]


def _hook(given: Json, uid: str) -> Hook:
    return Hook(
        name=given["name"],
        uid=uid,
        target=target_of(given["clientConfig"]),
        rules=tuple(
            Rule(each["apiGroups"], each["apiVersions"], each["resources"], each["operations"], each["scope"])
            for each in given.get("rules") or ()
        ),
        takes_equivalents=given["matchPolicy"] == "Equivalent",
        fails_open=given["failurePolicy"] == "Ignore",
        timeout=given["timeoutSeconds"],
        review=next(each for each in given["admissionReviewVersions"] if each in REVIEWS),
        reinvoked=given.get("reinvocationPolicy") == "IfNeeded",
        selects_namespace=selectors.by_selector(given["namespaceSelector"]),
        selects_object=selectors.by_selector(given["objectSelector"]),
        conditions=compile_conditions(given.get("matchConditions") or ()),
    )


REVIEWS = ("v1", "v1beta1")
"""Versions of AdmissionReview that are sent."""


def find_invocation(hook: Hook, asked: Attributes, labels: NamespaceLabels, registry: Registry) -> Resource | None:
    """Find the version of the resource in which the webhook is called; None if it is not. Raises ApiError.

    Its conditions are not looked at: they may need the object in that version.
    """
    if not _selects_object(hook, asked):
        return None
    resource = _matched(hook, asked, registry)
    if resource is None or not _selects_namespace(hook, asked, labels):
        return None
    return resource


def _matched(hook: Hook, asked: Attributes, registry: Registry) -> Resource | None:
    if any(rule.matches(asked, asked.resource) for rule in hook.rules):
        return asked.resource
    if not hook.takes_equivalents:
        return None
    others = [each for each in registry if each.collection == asked.resource.collection and each != asked.resource]
    return next((other for rule in hook.rules for other in others if rule.matches(asked, other)), None)


def _selects_object(hook: Hook, asked: Attributes) -> bool:
    if hook.selects_object is None:
        return True
    return any(hook.selects_object(_labels(each)) for each in (asked.obj, asked.old) if each is not None)


def _selects_namespace(hook: Hook, asked: Attributes, labels: NamespaceLabels) -> bool:
    """Tell whether the namespace is selected; objects outside of namespaces always are."""
    if hook.selects_namespace is None or not asked.namespace:
        return True
    if asked.is_namespace() and not asked.subresource and asked.obj is not None:
        return hook.selects_namespace(_labels(asked.obj))
    found = labels(asked.namespace)
    if found is None:
        raise errors.not_found("", "namespaces", asked.namespace)
    return hook.selects_namespace(found)


def _labels(obj: Json) -> Labels:
    return obj["metadata"].get("labels") or {}


def _has(items: Iterable[str], wanted: str) -> bool:
    return any(each in ("*", wanted) for each in items)


def _names(pattern: str, plural: str, subresource: str) -> bool:
    resource, _, below = pattern.partition("/")
    return resource in ("*", plural) and below in ("*", subresource)
