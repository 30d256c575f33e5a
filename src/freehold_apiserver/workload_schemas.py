"""Schemas of the kinds that an installation consists of: their first levels, and how their lists are merged.

What is deeper is stored unchecked. Merge keys and list types are those of Kubernetes' OpenAPI document:
https://github.com/kubernetes/kubernetes/tree/v1.34.1/api/openapi-spec
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_OBJECT: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_ATOMIC: Schema = {"type": "array", "items": _OBJECT}
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_TEXT_MAP: Schema = {"type": "object", "additionalProperties": _TEXT}
_NUMBER: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_NUMBER_OR_TEXT: Schema = {"x-kubernetes-int-or-string": True}
_SELECTOR: Schema = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {"matchLabels": _TEXT_MAP, "matchExpressions": _ATOMIC},
}


def _object(*required: str, **properties: Schema) -> Schema:
    """Describe an object."""
    found: Schema = {"type": "object", "properties": properties}
    return {**found, "required": list(required)} if required else found


def _open(*required: str, **properties: Schema) -> Schema:
    """Describe an object that has other fields, too."""
    return {**_object(*required, **properties), "x-kubernetes-preserve-unknown-fields": True}


def _by(keys: str, **properties: Schema) -> Schema:
    """Describe a list of objects that are known by these keys; strategic merge takes the first."""
    names = keys.split()
    known = {**dict.fromkeys(names, _TEXT), **properties}
    items = _open(*(name for name in names if "default" not in known[name]), **known)
    return {
        "type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": names,
        "x-kubernetes-patch-merge-key": names[0], "x-kubernetes-patch-strategy": "merge",
    }  # fmt: skip


def _kind(description: str, *required: str, **properties: Schema) -> Schema:
    return {**_object(*required, **properties), "description": description}


_PROTOCOL: Schema = {"type": "string", "default": "TCP"}
_CONTAINERS = _by(
    "name",
    env=_by("name"),
    ports=_by("containerPort protocol", containerPort=_NUMBER, protocol=_PROTOCOL),
    volumeMounts=_by("mountPath"),
    volumeDevices=_by("devicePath"),
)
_POD = _open(
    "containers", containers=_CONTAINERS, initContainers=_CONTAINERS, volumes=_by("name"),
    imagePullSecrets=_by("name"), hostAliases=_by("ip"),
    topologySpreadConstraints=_by("topologyKey whenUnsatisfiable"),
)  # fmt: skip
_STATUS = _open(conditions=_by("type"))

DEPLOYMENT = _kind(
    "Deployment declares replicas of a pod. Stored, not acted on: there are no pods here.",
    spec=_object(
        "selector", "template", replicas={**_NUMBER, "default": 1, "minimum": 0}, selector=_SELECTOR,
        template=_object(metadata=_OBJECT, spec=_POD), strategy=_OBJECT, minReadySeconds=_NUMBER,
        revisionHistoryLimit=_NUMBER, progressDeadlineSeconds=_NUMBER, paused=_FLAG,
    ),
    status=_STATUS,
)  # fmt: skip

SERVICE = _kind(
    "Service names an address of pods. Stored, not acted on: it gets no address.",
    spec=_open(
        selector=_TEXT_MAP, type={**_TEXT, "default": "ClusterIP"}, clusterIP=_TEXT,
        ports=_by("port protocol", port=_NUMBER, protocol=_PROTOCOL, name=_TEXT, targetPort=_NUMBER_OR_TEXT),
    ),
    status=_STATUS,
)  # fmt: skip

POD_DISRUPTION_BUDGET = _kind(
    "PodDisruptionBudget bounds how many pods may be evicted at once. Stored, not acted on.",
    spec=_object(
        minAvailable=_NUMBER_OR_TEXT, maxUnavailable=_NUMBER_OR_TEXT, selector=_SELECTOR,
        unhealthyPodEvictionPolicy=_TEXT,
    ),
    status=_STATUS,
)  # fmt: skip

NETWORK_POLICY = _kind(
    "NetworkPolicy says who may talk to pods. Stored, not acted on.",
    spec=_object(podSelector=_SELECTOR, ingress=_ATOMIC, egress=_ATOMIC, policyTypes=_TEXTS),
)

SERVICE_ACCOUNT = _kind(
    "ServiceAccount is an identity for processes. Stored, not acted on.",
    secrets=_by("name"), imagePullSecrets=_by("name"), automountServiceAccountToken=_FLAG,
)  # fmt: skip

_RULES: Schema = {
    "type": "array",
    "items": _object(
        "verbs", apiGroups=_TEXTS, resources=_TEXTS, resourceNames=_TEXTS, nonResourceURLs=_TEXTS, verbs=_TEXTS
    ),
}
ROLE = _kind("Role is a set of rights. Stored, not enforced: there is no authorization here.", rules=_RULES)
CLUSTER_ROLE = _kind(
    "ClusterRole is a set of rights. Stored, not enforced, and not aggregated.",
    rules=_RULES,
    aggregationRule=_object(clusterRoleSelectors={"type": "array", "items": _SELECTOR}),
)
BINDING = _kind(
    "Binding gives the rights of a role to accounts. Stored, not enforced.",
    "roleRef",
    roleRef={**_object("apiGroup", "kind", "name", apiGroup=_TEXT, kind=_TEXT, name=_TEXT),
             "x-kubernetes-map-type": "atomic"},
    subjects={"type": "array", "items": _object("kind", "name", apiGroup=_TEXT, kind=_TEXT, name=_TEXT,
                                                namespace=_TEXT)},
)  # fmt: skip
