"""Namespace, service account, Deployment, and what keeps the pods available and apart."""

from __future__ import annotations

from typing import Final

from freehold.install.names import CONTAINER, LABELS, OPERATOR, SELECTOR
from freehold.install.page import PAGE_PORT
from freehold.install.tree import Condition, Tree, When, any_of
from freehold.install.values import (
    NAMESPACE,
    SHARDED,
    has_entry,
    is_set,
    join_gates,
    join_providers,
    list_ports,
    list_variables,
    print_text,
    read_entry,
    read_option,
    serves,
)
from freehold.install.webhook import CERTIFICATE_SECRET
from freehold.install.webhook import PORT as WEBHOOK_PORT
from freehold.kube.resources import Json
from freehold.providers.registry import PROVIDERS

HTTP_PORT: Final = 8080
"""Of probes and metrics."""
DRAIN_SECONDS: Final = 40
"""The operator ends within 30 seconds of SIGTERM; the rest is for the kubelet."""
CERTIFICATES: Final = "/var/run/freehold/webhook"
_TOKENS: Final = "/var/run/secrets/tokens"
_WEBHOOK: Final = is_set("webhook")
_PAGE: Final = is_set("page")
_CERT_MANAGER: Final = _WEBHOOK & is_set("cert_manager")
_TOKEN: Final = is_set("token_audience")


def describe_namespace() -> Json:
    """Describe the operator's namespace, whose pods must keep to the strictest of Kubernetes' standards.

    Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/.
    """
    labels = {**LABELS, "pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


def describe_workload() -> list[Tree]:
    """Describe the service account, the Deployment and what is around the pods."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            **_build_metadata(),
            "annotations": When(is_set("service_account_annotations"), read_option("service_account_annotations")),
        },
        "automountServiceAccountToken": False,
    }
    disruption = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _build_metadata(),
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": dict(SELECTOR)},
            # Pods that are not ready, for example without a key ring, would keep a node from being drained
            # (https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy).
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
    policy = When(is_set("network_policy"), _build_network_policy())
    return [account, disruption, policy, When(is_set("monitoring"), _build_pod_monitor()), _build_deployment()]


def _build_metadata() -> Json:
    return {"name": OPERATOR, "namespace": NAMESPACE, "labels": dict(LABELS)}


def _build_deployment() -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _build_metadata(),
        "spec": {
            "replicas": read_option("replicas"),
            "selector": {"matchLabels": dict(SELECTOR)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": {**LABELS, **SELECTOR}}, "spec": _build_pod()},
        },
    }


def _build_pod() -> Json:
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": dict(SELECTOR)},
        }
        for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
    ]
    certificates = {"name": "webhook", "secret": {"secretName": CERTIFICATE_SECRET}}
    token = {"audience": read_option("token_audience"), "expirationSeconds": 3600, "path": "sa-token"}
    return {
        "serviceAccountName": OPERATOR,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": DRAIN_SECONDS,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        # As Cluster API's own providers: a cluster that manages itself may have nodes of its control plane only.
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "imagePullSecrets": When(is_set("image_pull_secret"), [{"name": read_option("image_pull_secret")}]),
        "topologySpreadConstraints": spread,
        "containers": [_build_container()],
        "volumes": [
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
            When(_CERT_MANAGER, certificates),
            When(_TOKEN, {"name": "token", "projected": {"sources": [{"serviceAccountToken": token}]}}),
        ],
    }


def _build_container() -> Json:
    names = [each.name for each in PROVIDERS]
    return {
        "name": CONTAINER,
        "image": read_option("image"),
        "imagePullPolicy": "IfNotPresent",
        "args": _build_arguments(),
        "env": When(is_set("env"), list_variables()),
        "envFrom": When(any_of(*map(_has_credentials, names)), [_build_credentials(each) for each in names]),
        "ports": [
            {"name": "http", "containerPort": HTTP_PORT, "protocol": "TCP"},
            When(_WEBHOOK, {"name": "webhook", "containerPort": WEBHOOK_PORT, "protocol": "TCP"}),
            When(_PAGE, {"name": "page", "containerPort": PAGE_PORT, "protocol": "TCP"}),
        ],
        # Nothing is alive before it has started, which takes a busy node longer than liveness may fail.
        "startupProbe": {**_build_probe("/healthz"), "periodSeconds": 2, "failureThreshold": 60},
        "livenessProbe": _build_probe("/healthz"),
        "readinessProbe": _build_probe("/readyz"),
        "resources": {
            "requests": {"cpu": read_option("cpu_request"), "memory": read_option("memory_request")},
            "limits": {"memory": read_option("memory_limit")},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the pod's own, empty at its start
            When(_CERT_MANAGER, {"name": "webhook", "mountPath": CERTIFICATES, "readOnly": True}),
            When(_TOKEN, {"name": "token", "mountPath": _TOKENS, "readOnly": True}),
        ],
    }


def _build_arguments() -> list[Tree]:
    """Build the arguments: options of ``freehold operator``, which the image starts."""
    own = f"--webhook-address=0.0.0.0:{WEBHOOK_PORT}"
    return [
        "--leader-elect",
        print_text("--providers=%v", join_providers()),
        When(is_set("serves_namespace"), print_text("--namespace=%v", read_option("serves_namespace"))),
        When(is_set("watch_filter"), print_text("--watch-filter=%v", read_option("watch_filter"))),
        When(SHARDED, print_text("--shards=%v", read_option("shards"))),
        When(is_set("feature_gates"), print_text("--feature-gates=%v", join_gates())),
        print_text("--log-level=%v", read_option("log_level")),
        print_text("--log-format=%v", read_option("log_format")),
        f"--health-address=0.0.0.0:{HTTP_PORT}",
        f"--metrics-address=0.0.0.0:{HTTP_PORT}",
        When(_WEBHOOK, own),
        When(_PAGE, f"--page-address=0.0.0.0:{PAGE_PORT}"),
        When(_CERT_MANAGER, f"--webhook-certificates={CERTIFICATES}"),
    ]


def _build_credentials(provider: str) -> Tree:
    """Build the source of a provider's credentials: variables of a Secret, which need not exist."""
    secret = {"name": read_entry("credentials", provider), "optional": True}
    return When(_has_credentials(provider), {"secretRef": secret})


def _has_credentials(provider: str) -> Condition:
    return serves(provider) & has_entry("credentials", provider)


def _build_probe(path: str) -> Json:
    return {
        "httpGet": {"path": path, "port": "http"},
        "periodSeconds": 10,
        "timeoutSeconds": 5,
    }


def _build_network_policy() -> Json:
    """Build the policy: in come probes, metrics, the webhook and the page, out go DNS and the ports of the options."""
    names = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _build_metadata(),
        "spec": {
            "podSelector": {"matchLabels": dict(SELECTOR)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [
                {
                    "ports": [
                        {"port": HTTP_PORT, "protocol": "TCP"},
                        When(_WEBHOOK, {"port": WEBHOOK_PORT, "protocol": "TCP"}),
                        When(_PAGE, {"port": PAGE_PORT, "protocol": "TCP"}),
                    ]
                }
            ],
            "egress": [{"ports": names}, {"ports": list_ports()}],
        },
    }


def _build_pod_monitor() -> Json:
    """Build the PodMonitor (https://prometheus-operator.dev/docs/api-reference/api/)."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": _build_metadata(),
        "spec": {
            "selector": {"matchLabels": dict(SELECTOR)},
            "podMetricsEndpoints": [{"port": "http", "path": "/metrics"}],
        },
    }
