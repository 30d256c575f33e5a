"""The built-in kinds: enough for kubectl, an operator, and the objects that install one."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence

from freehold_apiserver import builtin_schemas as schemas
from freehold_apiserver.errors import FieldError, forbidden
from freehold_apiserver.events import EVENT_RESOURCES
from freehold_apiserver.metadata import NameRule
from freehold_apiserver.plain import PlainStrategy
from freehold_apiserver.resources import VERBS, Resource
from freehold_apiserver.store import Json
from freehold_apiserver.strategy import Findings, put_back, take_only
from freehold_apiserver.tables import AGE, NAME, Column, at
from freehold_apiserver.workloads import workload_resources

PERMANENT_NAMESPACES = ("default", "kube-system", "kube-public")
"""Those that cannot be deleted: k8s.io/apiserver ``pkg/admission/plugin/namespace/lifecycle``."""


class NamespaceStrategy(PlainStrategy):
    """A namespace is removed after the last object in it (:mod:`freehold_apiserver.controllers`)."""

    def prepare_create(self, obj: Json) -> None:
        obj["spec"] = {"finalizers": ["kubernetes"]}
        obj["status"] = {"phase": "Active"}
        # Real API servers set this label on every namespace; selectors by name rely on it.
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        if subresource in ("status", "finalize"):
            take_only(obj, old, "status" if subresource == "status" else "spec")
            return
        put_back(obj, old, "spec")
        put_back(obj, old, "status")

    def prepare_delete(self, obj: Json) -> None:
        name = obj["metadata"]["name"]
        if name in PERMANENT_NAMESPACES:
            raise forbidden("", "namespaces", name, "this namespace may not be deleted")
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}

    def blocks_deletion(self, obj: Json) -> bool:
        return bool(obj.get("spec", {}).get("finalizers"))


class ConfigMapStrategy(PlainStrategy):
    """An object with ``immutable: true`` cannot be changed."""

    _content: tuple[str, ...] = ("data", "binaryData")

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        found = list(super().validate(obj, old))
        if old and old.get("immutable"):
            if obj.get("immutable") is not True:
                found.append(FieldError.forbidden("immutable", "field is immutable when `immutable` is set"))
            found += [
                FieldError.forbidden(part, "field is immutable when `immutable` is set")
                for part in self._content
                if obj.get(part) != old.get(part)
            ]
        return found


class SecretStrategy(ConfigMapStrategy):
    """``stringData`` is merged into ``data``; the type cannot be changed."""

    _content = ("data",)

    def decode(self, obj: Json) -> Findings:
        findings = super().decode(obj)
        plain = obj.pop("stringData", None)
        if isinstance(plain, dict):
            encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}
            obj["data"] = {**(obj.get("data") or {}), **encoded}
        obj.setdefault("type", "Opaque")
        return findings

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        found = list(super().validate(obj, old))
        found += [
            FieldError("data." + key, "FieldValueInvalid", "Invalid value: not valid base64")
            for key, value in (obj.get("data") or {}).items()
            if isinstance(value, str) and not _is_base64(value)
        ]
        if old and obj.get("type") != old.get("type"):
            found.append(FieldError.invalid("type", obj.get("type"), "field is immutable"))
        return found


class LeaseStrategy(PlainStrategy):
    """The duration of a lease must be positive."""

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        found = list(super().validate(obj, old))
        seconds = (obj.get("spec") or {}).get("leaseDurationSeconds")
        if isinstance(seconds, int) and seconds <= 0:
            found.append(FieldError.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        return found


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _count(*fields: str) -> Callable[[Json], int]:
    return lambda obj: sum(len(obj.get(name) or ()) for name in fields)


def built_in_resources() -> tuple[Resource, ...]:
    """Every resource served without a CRD, except CRDs themselves."""
    return (
        _core("Namespace", "namespaces", NamespaceStrategy(schemas.NAMESPACE), namespaced=False, short_names=("ns",),
              names="label", subresources=("status", "finalize"),
              verbs=tuple(verb for verb in VERBS if verb != "deletecollection"),
              columns=(Column("Status", "string", at(".status.phase")), AGE)),
        _core("Secret", "secrets", SecretStrategy(schemas.SECRET),
              columns=(Column("Type", "string", at(".type")), Column("Data", "integer", _count("data")), AGE)),
        _core("ConfigMap", "configmaps", ConfigMapStrategy(schemas.CONFIG_MAP), short_names=("cm",),
              columns=(Column("Data", "integer", _count("data", "binaryData")), AGE)),
        *EVENT_RESOURCES,
        *workload_resources(),
        Resource("coordination.k8s.io", "v1", "Lease", "leases", True, "v1", LeaseStrategy(schemas.LEASE),
                 singular="lease", list_kind="LeaseList", schema=schemas.LEASE,
                 columns=(NAME, Column("Holder", "string", at(".spec.holderIdentity")), AGE)),
        # Answered by access.py; listed here for discovery.
        Resource("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False, "v1",
                 PlainStrategy(), singular="selfsubjectaccessreview", verbs=("create",)),
    )  # fmt: skip


def _core(
    kind: str,
    plural: str,
    strategy: PlainStrategy,
    *,
    namespaced: bool = True,
    short_names: tuple[str, ...] = (),
    subresources: tuple[str, ...] = (),
    columns: tuple[Column, ...] = (),
    verbs: tuple[str, ...] = VERBS,
    names: NameRule = "subdomain",
) -> Resource:
    return Resource(
        "", "v1", kind, plural, namespaced, "v1", strategy, singular=kind.lower(), list_kind=kind + "List",
        short_names=short_names, subresources=subresources, verbs=verbs, columns=(NAME, *columns),
        schema=strategy.schema or {}, names=names,
    )  # fmt: skip
