"""Objects around the admission webhook: its Service, its configuration, and cert-manager's certificate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final

from freehold.admission.webhook_configuration import CHECKED, WebhookOptions, build_webhook_configuration
from freehold.install.names import LABELS, SELECTOR, WEBHOOK
from freehold.install.rights import list_kinds
from freehold.install.tree import Condition, Leaf, Tree, When, all_of
from freehold.install.values import NAMESPACE, is_set, print_text, read_option, serves
from freehold.kube.resources import Json
from freehold.providers.base import Provider
from freehold.providers.registry import PROVIDERS

CERTIFICATE: Final = WEBHOOK
CERTIFICATE_SECRET: Final = f"{WEBHOOK}-tls"
"""Not the Secret of the operator's own CA: each of the two has its writer."""
PORT: Final = 9443
_ON: Final = is_set("webhook")
_CERT_MANAGER: Final = is_set("cert_manager")

_GIVEN: Final = {
    "namespace-of-the-operator": NAMESPACE,
    "namespace-that-is-served": read_option("serves_namespace"),
    "filter-of-objects": read_option("watch_filter"),
}
"""What stands in a configuration for a value that the options give."""


def describe_webhook() -> list[Tree]:
    """Describe the objects around the webhook; none without it."""
    return [When(_ON, _build_service()), *_describe_certificate(), *_describe_configurations()]


def _build_service() -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": WEBHOOK, "namespace": NAMESPACE, "labels": dict(LABELS)},
        "spec": {
            "type": "ClusterIP",
            "selector": dict(SELECTOR),
            "ports": [{"name": "webhook", "port": 443, "protocol": "TCP", "targetPort": "webhook"}],
        },
    }


def _describe_certificate() -> list[Tree]:
    """Describe what cert-manager makes the certificate of (https://cert-manager.io/docs/reference/api-docs/)."""
    metadata = {"name": CERTIFICATE, "namespace": NAMESPACE, "labels": dict(LABELS)}
    issuer = {"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": metadata, "spec": {"selfSigned": {}}}
    names = [print_text(f"{WEBHOOK}.%v.{end}", NAMESPACE) for end in ("svc", "svc.cluster.local")]
    spec = {
        "secretName": CERTIFICATE_SECRET,
        "dnsNames": names,
        "issuerRef": {"kind": "Issuer", "name": CERTIFICATE},
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
    }
    certificate = {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": metadata, "spec": spec}
    return [When(_ON & _CERT_MANAGER, each) for each in (issuer, certificate)]


def _describe_configurations() -> list[Tree]:
    """Describe the configuration: one for each choice of providers, because the conditions depend on the kinds."""
    found: list[Tree] = []
    for size in range(1, len(PROVIDERS) + 1):
        for chosen in combinations(PROVIDERS, size):
            found.append(When(_ON & _serves_exactly(chosen), _describe_configuration(chosen)))
    return found


def _serves_exactly(chosen: Sequence[Provider]) -> Condition:
    return all_of(*(serves(each.name) if each in chosen else ~serves(each.name) for each in PROVIDERS))


def _describe_configuration(chosen: Sequence[Provider]) -> Tree:
    others = {served.crd for each in PROVIDERS if each not in chosen for served in list_kinds(each)}
    namespace, watched, watch_filter = _GIVEN
    kinds = [served for served in CHECKED if served.crd not in others]
    built = build_webhook_configuration(WebhookOptions(namespace, watched, watch_filter, CERTIFICATE, kinds))
    found: Tree = _fill_in(built)
    metadata, (webhook,) = found["metadata"], found["webhooks"]
    metadata["labels"] = dict(LABELS)
    metadata["annotations"] = When(_CERT_MANAGER, metadata["annotations"])
    for field, option in (("namespaceSelector", "serves_namespace"), ("objectSelector", "watch_filter")):
        webhook[field] = When(is_set(option), webhook[field])
    return found


def _fill_in(value: Any) -> Tree:
    """Put leaves in place of what stands for them."""
    match value:
        case dict():
            return {name: _fill_in(entry) for name, entry in value.items()}
        case list():
            return [_fill_in(entry) for entry in value]
        case str():
            return _fill_in_text(value)
        case _:
            return value


def _fill_in_text(text: str) -> str | Leaf:
    for stand_in, leaf in _GIVEN.items():
        if stand_in in text:
            return print_text(text.replace(stand_in, "%v"), *[leaf] * text.count(stand_in))
    return text
