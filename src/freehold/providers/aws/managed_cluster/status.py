"""Endpoint and status of an AWSManagedCluster, from the control plane of its Cluster. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.providers.base import MirrorSource
from freehold.providers.objects.adapter import StatusUpdate
from freehold.providers.objects.status import build_update, observe_not_paused


def build_mirror(raw: Mapping[str, Any], source: MirrorSource, now: datetime) -> StatusUpdate:
    """Build what is written: ready at once, with the endpoint and the failure domains when there are any.

    Cluster API starts a control plane only when the infrastructure is provisioned, so nothing is waited for
    (docs/reference/capi-contract.md C39). An endpoint that a user has set stays, as with the other kinds (C5).
    """
    status = {**(raw.get("status") or {}), "ready": True, "initialization": {"provisioned": True}}
    found = source.found or {}
    if domains := (found.get("status") or {}).get("failureDomains"):
        status["failureDomains"] = domains
    ours = (raw.get("spec") or {}).get("controlPlaneEndpoint") or {}
    theirs = (found.get("spec") or {}).get("controlPlaneEndpoint") or {}
    spec = {"controlPlaneEndpoint": dict(theirs)} if theirs.get("host") and not ours.get("host") else None
    ready = Observation(names.READY, "True", names.REASON_READY, _describe(raw, source, ours, theirs))
    return build_update(raw, status, [ready, observe_not_paused()], now, spec=spec)


def _describe(raw: Mapping[str, Any], source: MirrorSource, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Say where the endpoint comes from, or why there is none yet."""
    if source.found is None:
        return f"nothing is waited for, and the endpoint comes later: {source.missing}"
    if not theirs.get("host"):
        return f"nothing is waited for: {source.name} has no endpoint yet"
    if ours.get("host") and dict(ours) != dict(theirs):
        metadata = raw["metadata"]
        return (
            f"spec.controlPlaneEndpoint is {ours['host']}:{ours.get('port')}, and {source.name} has "
            f"{theirs['host']}:{theirs.get('port')}: it is left as it is. To have that of the control plane: "
            f"kubectl patch awsmanagedclusters {metadata['name']} -n {metadata.get('namespace') or 'default'} "
            '--type=merge -p \'{"spec":{"controlPlaneEndpoint":null}}\''
        )
    return f"endpoint and failure domains are those of {source.name}"
