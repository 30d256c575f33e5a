"""Names of the objects of an installation, and the labels that all of them have."""

from __future__ import annotations

from typing import Final

from freehold.api.names import PROVIDER_LABEL

OPERATOR: Final = "freehold-operator"
"""The Deployment, its ServiceAccount, PodDisruptionBudget, NetworkPolicy and roles."""
WEBHOOK: Final = "freehold-webhook"
"""The Service of the webhook, its Secret and the first part of the name of its configuration."""
PAGE: Final = "freehold-page"
"""The Service of the live page."""
VIEWER: Final = "freehold-viewer"
"""The ClusterRole of those who may look at the objects. The operator does not have it."""
CONTAINER: Final = "manager"
"""clusterctl looks for this name (docs/reference/capi-contract.md C46)."""
PROVIDER: Final = "infrastructure-freehold"
"""The provider's name for clusterctl; ``refuse_peers`` refuses only upstream's."""
SELECTOR: Final = {"app.kubernetes.io/name": "freehold", "app.kubernetes.io/component": "operator"}
"""The labels of the pods. A Deployment's selector cannot change, so these never do."""
LABELS: Final = {"app.kubernetes.io/name": "freehold", PROVIDER_LABEL: PROVIDER}
