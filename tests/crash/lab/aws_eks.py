"""An AWSManagedControlPlane in a given network on the simulated AWS, with role, provider, addon and access entries.

Reconciler, drivers and botocore are the product's. The network is somebody else's, so that a life has few calls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

from freehold.engine.outcomes import Outcome
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Settings
from harness.aws_control_plane import EKS_NAME, OWN_ROLE, ControlPlaneHarness, control_plane
from lab.aws import AwsLife, AwsWorld, NotedAWS
from lab.aws_at_rest import AtRest
from lab.aws_eks_neighbours import ADDON, ENTRANT, EksNeighbours
from lab.seam import Thing

VIEW = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
ADDONS = ("v1.20.4-eksbuild.2", "v1.21.1-eksbuild.7")
"""Versions of the addon for Kubernetes 1.33 and 1.34."""


def addon(version: str) -> dict[str, Any]:
    return {"addons": [{"name": ADDON, "version": version, "conflictResolution": "overwrite"}]}


SPEC: Mapping[str, Any] = {
    "version": "v1.33",
    "associateOIDCProvider": True,
    "accessEntries": [
        {"principalARN": ENTRANT, "accessPolicies": [{"policyARN": VIEW, "accessScope": {"type": "cluster"}}]}
    ],
    **addon(ADDONS[0]),
}
UPDATES: tuple[Mapping[str, Any], ...] = ({"version": "v1.34"}, addon(ADDONS[1]))


class QuickControlPlane(ControlPlaneHarness):
    def new_cloud(self) -> SimulatedAWS:
        return NotedAWS(self.clock, self._settings)


@dataclass
class EksWorld(AwsWorld):
    """A control plane. ``updates`` are edits of its spec, each after it came to rest."""

    spec: Mapping[str, Any] = field(default_factory=lambda: SPEC)
    given: bool = True
    updates: tuple[Mapping[str, Any], ...] = ()
    name: ClassVar[str] = EKS_NAME

    def new_harness(self, settings: Settings) -> ControlPlaneHarness:
        manifest = control_plane(**self.spec)
        return QuickControlPlane(manifest, settings=settings, port=lambda: self.port, audit=self.audit, gates=OWN_ROLE)

    def new_neighbours(self) -> EksNeighbours:
        return EksNeighbours(self.harness)

    def begin(self, **how: Any) -> EksLife:
        self.life = EksLife(self, **how)
        return self.life

    def _undisturbed(self) -> AtRest:
        spec = self.harness.object.raw["spec"]
        kept = spec.keys() - {"controlPlaneEndpoint", "region", "network"}
        return _undisturbed(json.dumps({key: spec[key] for key in sorted(kept)}))

    def _thing(self, record: Mapping[str, Any]) -> Thing:
        """No index has what is of IAM."""
        thing = super()._thing(record)
        return replace(thing, listed=thing.kind not in ("iam-role", "oidc-provider"))

    def lacking(self, ident: str) -> frozenset[str]:
        """Without what EKS did by itself."""
        lacks = super().lacking(ident)
        if self.upgraded:
            lacks = frozenset(each for each in lacks if not each.startswith(("view version", "view platformVersion")))
        return lacks

    def meddle(self, deed: str, kind: str) -> None:
        """Not between the last proof and the delete that it allows: no cloud here has a conditional delete."""
        if deed == "succeed" and self.life.port.calls[-1].operation == "delete_cluster":
            return
        self.upgraded |= deed == "upgrade"
        super().meddle(deed, kind)

    upgraded: bool = False
    """EKS has updated the cluster by itself."""


@cache
def _undisturbed(spec: str) -> AtRest:
    world = EksWorld(json.loads(spec), compared=False)
    world.begin().create()
    return world.at_rest()


@dataclass
class EksLife(AwsLife):
    """An object that the AWSManagedControlPlane reconciler serves."""

    world: EksWorld
    updated: int = 0

    def create(self) -> dict[str, Outcome]:
        """To rest, and to rest again after each edit."""
        outcomes = super().create()
        while self.updated < len(self.world.updates) and not self.deleting:
            self.edit(**self.world.updates[self.updated])
            self.updated += 1
            outcomes = super().create()
        return outcomes
