"""Rights of the operator in Kubernetes: exactly the requests that it sends, by kinds of the registry.

Five roles. *Cluster*: what has no namespace, read only. *Objects*: the served kinds and what surrounds them, in the
whole cluster, or with ``--namespace-only`` in that namespace. *Own*: the operator's namespace. *Cluster API*: not the
operator's, but those of Cluster API's core, which aggregates it (docs/reference/capi-contract.md C49). *Viewer*, with
the live page: not the operator's, but of those who may look at the objects.

No Secret is listed or watched anywhere. Those of a cluster are read by name, and RBAC knows names only when it is
written, so ``get`` is on all of a namespace for the kinds that read one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from freehold.api.served import CLOUD_METADATA, METADATA_GRANT, ClusterLink, ServedName
from freehold.controllers.keyring import secret as keyring
from freehold.controllers.owner_cluster import CLUSTER_CRD, CLUSTERS, MACHINES
from freehold.install.names import LABELS, OPERATOR, VIEWER, WEBHOOK
from freehold.install.tree import Tree, When
from freehold.install.values import NAMESPACE, SHARDED, is_set, print_text, read_option, serves
from freehold.kube.resources import (
    ACCESS_REVIEWS,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    NAMESPACES,
    SECRETS,
    TOKEN_REVIEWS,
    Json,
    Resource,
)
from freehold.providers.base import Provider
from freehold.providers.registry import PROVIDERS
from freehold.tags import ledger_store

OBJECTS: Final = f"{OPERATOR}-objects"
CLUSTER_API: Final = "freehold-cluster-api"
_RBAC: Final = "rbac.authorization.k8s.io"
AGGREGATE_LABEL: Final = "cluster.x-k8s.io/aggregate-to-manager"
AGGREGATE_TO_VIEW: Final = f"{_RBAC}/aggregate-to-view"
"""Kubernetes' own roles ``view``, ``edit`` and ``admin`` have the rights of what bears this label
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles)."""
LEASE: Final = OPERATOR
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
_CACHE: Final = ("get", "list", "watch")
_ONE_NAMESPACE: Final = is_set("serves_namespace")


def describe_rights() -> list[Tree]:
    """Describe the roles and their bindings."""
    own = [_build_role("Role", OPERATOR, _own_rules(), NAMESPACE), _bind("Role", OPERATOR, NAMESPACE)]
    cluster = [_build_role("ClusterRole", OPERATOR, _cluster_rules()), _bind("ClusterRole", OPERATOR)]
    others = [_build_cluster_api_role(), When(is_set("page"), _build_viewer_role())]
    return [*cluster, *_build_objects_role(), *own, *others]


def _build_objects_role() -> list[Tree]:
    namespace = read_option("serves_namespace")
    everywhere = [_build_role("ClusterRole", OBJECTS, _object_rules()), _bind("ClusterRole", OBJECTS)]
    there = [_build_role("Role", OBJECTS, _object_rules(), namespace), _bind("Role", OBJECTS, namespace)]
    return [When(_ONE_NAMESPACE, one, every) for one, every in zip(there, everywhere, strict=True)]


def _cluster_rules() -> list[Tree]:
    """Build the rules of what has no namespace: CRDs and whose they are, grants, identities, webhook, reviews."""
    rules: list[Tree] = [_rule(CUSTOM_RESOURCE_DEFINITIONS, "get", names=_list_crds())]
    rules += _rules_of_kinds([METADATA_GRANT], "list", "watch")
    for provider in PROVIDERS:
        if provider.referred:
            found = [*_rules_of_kinds(provider.referred, "get"), _rule(NAMESPACES, "get")]
            found += _rules_of_kinds(provider.searched, "list")
            rules += [When(serves(provider.name), each) for each in found]
    configuration: Json = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["validatingwebhookconfigurations"],
        "resourceNames": [print_text(f"{WEBHOOK}.%v", NAMESPACE)],
        "verbs": ["get", "patch"],
    }
    rules.append(When(is_set("webhook") & ~is_set("cert_manager"), configuration))
    return rules + [When(is_set("page"), _rule(each, "create")) for each in (TOKEN_REVIEWS, ACCESS_REVIEWS)]


def _list_crds() -> list[Tree]:
    """List the CRDs whose owner is looked up before the start, and that of Cluster API's Cluster."""
    found: list[Tree] = [CLUSTER_CRD.name, CLOUD_METADATA.crd, METADATA_GRANT.crd]
    return found + [When(serves(each.name), served.crd) for each in PROVIDERS for served in list_kinds(each)]


def list_kinds(provider: Provider) -> list[ServedName]:
    """List all kinds of a provider that have a CRD, sorted by it."""
    mirrors = [kind.served for kind in provider.mirrors]
    tags = [provider.tags.served] if provider.tags else []
    found = [*(kind.served for kind in provider.objects), *mirrors, *provider.templates, *provider.referred, *tags]
    return sorted(found, key=lambda served: served.crd)


def _object_rules() -> list[Tree]:
    """Build the rules of the served kinds and of what surrounds them."""
    rules = [*_rules_of_written([CLOUD_METADATA]), _rule(EVENTS, "create", "patch"), _rule(CLUSTERS, *_CACHE)]
    for provider in PROVIDERS:
        rules += [When(serves(provider.name), each) for each in _rules_of_provider(provider)]
    return rules


def _rules_of_provider(provider: Provider) -> list[Tree]:
    objects, written = [kind.served for kind in provider.objects], _list_written(provider)
    rules = _rules_of_written(written)
    if any(served.link is ClusterLink.MACHINE for served in objects):
        rules.append(_rule(MACHINES, *_CACHE))
    known = {(served.group, served.plural) for served in written}
    others = {each for served in objects for each in served.machines if (each.group, each.plural) not in known}
    for each in sorted(others, key=lambda machines: machines.plural):  # a cluster waits for them when it goes
        rules.append(_build_rule(each.group, [each.plural], ["list", *(["watch"] if each.inputs else [])]))
    if verbs := sorted({verb for kind in provider.objects for verb in kind.secret_verbs}):
        rules.append(_rule(SECRETS, *verbs))
    return rules


def _list_written(provider: Provider) -> list[ServedName]:
    """List the kinds of a provider whose objects the operator works on."""
    tags = [provider.tags.served] if provider.tags else []
    return [*(kind.served for kind in provider.objects), *(kind.served for kind in provider.mirrors), *tags]


def _rules_of_written(kinds: Iterable[ServedName]) -> list[Tree]:
    """Build the rules of kinds whose objects are cached and patched, and whose status is patched."""
    rules: list[Tree] = []
    for group, plurals in _by_group(kinds):
        rules.append(_build_rule(group, plurals, [*_CACHE, "patch"]))
        rules.append(_build_rule(group, [f"{plural}/status" for plural in plurals], ["patch"]))
    return rules


def _own_rules() -> list[Tree]:
    """Build the rules of the operator's namespace: key ring, ledger of tags, leases, the webhook's certificate.

    RBAC cannot limit a create to a name (https://kubernetes.io/docs/reference/access-authn-authz/rbac/).
    """
    certificate = is_set("webhook") & ~is_set("cert_manager")
    return [
        _rule(SECRETS, "get", "update", names=[keyring.NAME, When(certificate, WEBHOOK)]),
        _rule(SECRETS, "create"),
        *(When(serves(each.name), _rule(SECRETS, "get")) for each in PROVIDERS if each.identity_secrets),
        _rule(CONFIG_MAPS, "get", "update", names=ledger_store.shard_names()),
        _rule(CONFIG_MAPS, "create", "list"),
        _rule(LEASES, "create"),
        When(SHARDED, _rule(LEASES, "delete", "get", "list", "update"), _rule(LEASES, "get", "update", names=[LEASE])),
    ]


def _build_cluster_api_role() -> Tree:
    """Build the rights of Cluster API's core on the kinds that its objects refer to."""
    rules: list[Tree] = []
    for provider in PROVIDERS:
        objects = [kind.served for kind in provider.objects]
        kinds = [*objects, *(kind.served for kind in provider.mirrors), *provider.templates]
        for group, plurals in _by_group(kinds):
            verbs = ["create", "delete", *_CACHE, "patch", "update"]
            rules.append(When(serves(provider.name), _build_rule(group, plurals, verbs)))
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": CLUSTER_API, "labels": {**LABELS, AGGREGATE_LABEL: "true"}},
        "rules": rules,
    }


def _build_viewer_role() -> Tree:
    """Build the rights to look at all that the live page shows; none of it holds a secret."""
    rules: list[Tree] = list(_rules_of_kinds([CLOUD_METADATA], *_CACHE))
    for provider in PROVIDERS:
        rules += [When(serves(provider.name), each) for each in _rules_of_kinds(_list_written(provider), *_CACHE)]
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": VIEWER, "labels": {**LABELS, AGGREGATE_TO_VIEW: "true"}},
        "rules": rules,
    }


def _by_group(kinds: Iterable[ServedName]) -> list[tuple[str, list[str]]]:
    plurals: dict[str, list[str]] = {}
    for served in kinds:
        plurals.setdefault(served.group, []).append(served.plural)
    return [(group, sorted(found)) for group, found in sorted(plurals.items())]


def _rules_of_kinds(kinds: Iterable[ServedName], *verbs: str) -> list[Tree]:
    return [_build_rule(group, plurals, verbs) for group, plurals in _by_group(kinds)]


def _rule(resource: Resource, *verbs: str, names: Sequence[Tree] = ()) -> Tree:
    """Build the rule of one resource; with ``names`` of these objects only."""
    rule = _build_rule(resource.group, [resource.plural], verbs)
    return {**rule, "resourceNames": list(names)} if names else rule


def _build_rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Json:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _build_role(kind: str, name: str, rules: list[Tree], namespace: Tree = None) -> Tree:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": _build_metadata(name, namespace), "rules": rules}


def _bind(kind: str, name: str, namespace: Tree = None) -> Tree:
    """Bind a role to the operator's service account."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": _build_metadata(name, namespace),
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": OPERATOR, "namespace": NAMESPACE}],
    }


def _build_metadata(name: str, namespace: Tree) -> Json:
    return {"name": name, **({"namespace": namespace} if namespace is not None else {}), "labels": dict(LABELS)}
