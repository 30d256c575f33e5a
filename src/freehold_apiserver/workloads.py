"""The kinds that an installation consists of. They are stored and validated; nothing acts on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freehold_apiserver import workload_schemas as schemas
from freehold_apiserver.errors import FieldError
from freehold_apiserver.metadata import NameRule
from freehold_apiserver.plain import PlainStrategy
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json
from freehold_apiserver.strategy import content, put_back, take_only
from freehold_apiserver.tables import AGE, NAME, Column, at

RBAC = "rbac.authorization.k8s.io"


class StatusStrategy(PlainStrategy):
    """``status`` is written only through its subresource."""

    def prepare_create(self, obj: Json) -> None:
        obj.pop("status", None)

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        if subresource == "status":
            take_only(obj, old, "status")
        else:
            put_back(obj, old, "status")


class GenerationStrategy(StatusStrategy):
    """Counts the changes of the desired state, too."""

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        changed = not subresource and content(obj) != content(old)
        obj["metadata"]["generation"] = int(old["metadata"].get("generation", 1)) + changed


class BindingStrategy(PlainStrategy):
    """The role of a binding cannot be changed: kubernetes ``pkg/apis/rbac/validation/validation.go``."""

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        found = list(super().validate(obj, old))
        if old and obj.get("roleRef") != old.get("roleRef"):
            found.append(FieldError.invalid("roleRef", obj.get("roleRef"), "cannot change roleRef"))
        return found


def _ready(obj: Json) -> str:
    return f"{(obj.get('status') or {}).get('readyReplicas', 0)}/{(obj.get('spec') or {}).get('replicas', 1)}"


def _role(obj: Json) -> str:
    return f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}"


def _ports(obj: Json) -> str:
    found = (obj.get("spec") or {}).get("ports") or []
    return ",".join(f"{each['port']}/{each.get('protocol', 'TCP')}" for each in found)


def workload_resources() -> tuple[Resource, ...]:
    """Every kind that is stored for installations."""
    role = Column("Role", "string", _role)
    return (
        _resource("apps", "Deployment", "deployments", GenerationStrategy(schemas.DEPLOYMENT), short="deploy",
                  status=True, columns=(Column("Ready", "string", _ready),)),
        _resource("", "Service", "services", StatusStrategy(schemas.SERVICE), short="svc", status=True,
                  names="service", columns=(Column("Type", "string", at(".spec.type")),
                                            Column("Port(s)", "string", _ports))),
        _resource("policy", "PodDisruptionBudget", "poddisruptionbudgets",
                  GenerationStrategy(schemas.POD_DISRUPTION_BUDGET), short="pdb", status=True,
                  columns=(Column("Min Available", "string", at(".spec.minAvailable")),
                           Column("Max Unavailable", "string", at(".spec.maxUnavailable")))),
        _resource("networking.k8s.io", "NetworkPolicy", "networkpolicies", GenerationStrategy(schemas.NETWORK_POLICY),
                  short="netpol"),
        _resource("", "ServiceAccount", "serviceaccounts", PlainStrategy(schemas.SERVICE_ACCOUNT), short="sa"),
        _resource(RBAC, "Role", "roles", PlainStrategy(schemas.ROLE), names="segment"),
        _resource(RBAC, "RoleBinding", "rolebindings", BindingStrategy(schemas.BINDING), names="segment",
                  columns=(role,)),
        _resource(RBAC, "ClusterRole", "clusterroles", PlainStrategy(schemas.CLUSTER_ROLE), names="segment",
                  namespaced=False),
        _resource(RBAC, "ClusterRoleBinding", "clusterrolebindings", BindingStrategy(schemas.BINDING),
                  names="segment", namespaced=False, columns=(role,)),
    )  # fmt: skip


def _resource(
    group: str,
    kind: str,
    plural: str,
    strategy: PlainStrategy,
    *,
    short: str = "",
    status: bool = False,
    namespaced: bool = True,
    names: NameRule = "subdomain",
    columns: tuple[Column, ...] = (),
) -> Resource:
    schema: dict[str, Any] = dict(strategy.schema or {})
    return Resource(
        group, "v1", kind, plural, namespaced, "v1", strategy, singular=kind.lower(), list_kind=kind + "List",
        short_names=(short,) if short else (), subresources=("status",) if status else (), schema=schema,
        columns=(NAME, *columns, AGE), names=names,
    )  # fmt: skip
