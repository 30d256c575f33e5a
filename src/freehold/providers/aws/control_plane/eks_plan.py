"""The plan of what a control plane wants of EKS, in a normal form: equal for every spelling of one wish. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_network

from freehold.providers.aws.cluster.cluster_plan import ClusterPlan
from freehold.providers.aws.control_plane.access import AccessPlan
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlaneSpec, EndpointAccess

_VERSION = re.compile(r"v?(\d+)\.(\d+)")
_EVERYWHERE = "0.0.0.0/0"
_LOGS = {
    "api": "api_server",
    "audit": "audit",
    "authenticator": "authenticator",
    "controllerManager": "controller_manager",
    "scheduler": "scheduler",
}
"""EKS's types of logs, and the fields of the spec."""


@dataclass(frozen=True)
class PlannedAddon:
    """An addon. ``conflicts`` is EKS's word."""

    name: str
    version: str
    configuration: str
    role_arn: str
    conflicts: str
    preserve: bool
    field: str


@dataclass(frozen=True)
class EKSPlan:
    """Everything that is wanted of EKS. ``subnets`` are logical names. Empty texts leave the choice to EKS.

    ``encryption_key`` is the ARN of the key.
    """

    name: str
    version: str
    subnets: tuple[str, ...]
    endpoint_public: bool
    endpoint_private: bool
    public_cidrs: tuple[str, ...]
    logging: tuple[str, ...]
    access: AccessPlan
    creator_admin: bool
    self_managed_addons: bool
    encryption_key: str
    upgrade_policy: str
    service_cidr: str
    addons: tuple[PlannedAddon, ...]
    oidc: bool


def plan_eks(
    name: str,
    spec: AWSManagedControlPlaneSpec,
    network: ClusterPlan,
    access: AccessPlan,
    encryption_key: str = "",
    service_cidr: str = "",
) -> EKSPlan:
    """Plan the EKS cluster called ``name`` in this ``network``."""
    endpoint = spec.endpoint_access or EndpointAccess()
    public = endpoint.public is not False
    admin = spec.access_config is None or spec.access_config.bootstrap_cluster_creator_admin_permissions
    logging = spec.logging
    return EKSPlan(
        name=name,
        version=minor_version(spec.version or ""),
        subnets=choose_subnets(network, private_only=spec.restrict_private_subnets),
        endpoint_public=public,
        endpoint_private=bool(endpoint.private),
        public_cidrs=_ranges(endpoint) if public else (),
        logging=tuple(sorted(word for word, field in _LOGS.items() if logging and getattr(logging, field))),
        access=access,
        creator_admin=admin,
        self_managed_addons=spec.bootstrap_self_managed_addons,
        encryption_key=encryption_key,
        upgrade_policy=(spec.upgrade_policy or "").upper(),
        service_cidr=service_cidr,
        addons=tuple(_addons(spec)),
        oidc=spec.associate_oidc_provider,
    )


def minor_version(text: str) -> str:
    """Return the minor version, which is all of a version that EKS lets one choose: ``v1.33.2`` -> ``1.33``."""
    found = _VERSION.match(text)
    return f"{int(found[1])}.{int(found[2])}" if found else ""


def choose_subnets(network: ClusterPlan, *, private_only: bool) -> tuple[str, ...]:
    """Return the subnets in which EKS has its interfaces, by logical name: all but those for pods, as upstream.

    ``private_only``: those without a route to an internet gateway.
    """
    usable = (each for each in network.subnets if not each.for_pods and not (private_only and each.public))
    return tuple(sorted(each.logical for each in usable))


def _ranges(endpoint: EndpointAccess) -> tuple[str, ...]:
    """Return the ranges, sorted and without host bits; all of the internet where the spec lists none."""
    return tuple(sorted({str(ip_network(each, strict=False)) for each in endpoint.public_cidrs or (_EVERYWHERE,)}))


def _addons(spec: AWSManagedControlPlaneSpec) -> list[PlannedAddon]:
    return [
        PlannedAddon(
            each.name,
            each.version,
            each.configuration or "",
            each.service_account_role_arn or "",
            each.conflict_resolution.upper(),
            bool(each.preserve_on_delete),
            f"spec.addons[{index}]",
        )
        for index, each in enumerate(spec.addons)
    ]
