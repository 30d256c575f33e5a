"""CustomResourceDefinitions: converts a CRD object to served resources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from freehold_apiserver.cel_rules import Rules
from freehold_apiserver.custom import CustomStrategy
from freehold_apiserver.errors import FieldError
from freehold_apiserver.metadata import timestamp
from freehold_apiserver.plain import PlainStrategy
from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Json, Store
from freehold_apiserver.strategy import Findings, content, put_back, take_only
from freehold_apiserver.tables import AGE, NAME, Column, at

GROUP = "apiextensions.k8s.io"
COLLECTION = f"{GROUP}/customresourcedefinitions"
WEBHOOK_IGNORED = (
    "spec.conversion: stored with strategy None: the embedded API server calls no conversion webhooks, and this CRD "
    "needs none, because only its stored version is served"
)
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class CrdStrategy(PlainStrategy):
    """Defaults names, sets Established at once, and rejects CRDs that cannot be served."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now

    def decode(self, obj: Json) -> Findings:
        spec = obj.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("names"), dict):
            names = spec["names"]
            kind = str(names.get("kind", ""))
            names.setdefault("singular", kind.lower())
            names.setdefault("listKind", kind + "List")
            spec.setdefault("conversion", {"strategy": "None"})
        if crd_errors(obj):
            return Findings()
        warnings = []
        if obj["spec"]["conversion"].get("strategy") == "Webhook":
            obj["spec"]["conversion"] = {"strategy": "None"}
            warnings.append(WEBHOOK_IGNORED)
        schemas = [each["schema"]["openAPIV3Schema"] for each in obj["spec"]["versions"]]
        warnings += [warning for schema in schemas for warning in Rules(schema).unenforceable]
        return Findings(warnings=tuple(warnings))

    def prepare_create(self, obj: Json) -> None:
        obj["metadata"]["generation"] = 1
        obj["status"] = self._established(obj, None)

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        if subresource == "status":
            take_only(obj, old, "status")
            return
        put_back(obj, old, "status")
        changed = content(obj, "status") != content(old, "status")
        obj["metadata"]["generation"] = old["metadata"]["generation"] + (1 if changed else 0)
        obj["status"] = self._established(obj, old)

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        return crd_errors(obj)

    def prepare_delete(self, obj: Json) -> None:
        # controllers.py deletes its objects, then removes this finalizer.
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if CLEANUP_FINALIZER not in finalizers and not obj["metadata"].get("deletionTimestamp"):
            finalizers.append(CLEANUP_FINALIZER)

    def _established(self, obj: Json, old: Json | None) -> Json:
        """Build the status of a CRD; it is served as soon as it is stored."""
        spec = obj.get("spec") or {}
        stored = [str(each.get("name")) for each in spec.get("versions") or [] if each.get("storage")]
        before = (old or {}).get("status", {})
        kept = [each for each in before.get("storedVersions", []) if each not in stored]
        conditions = before.get("conditions") or [
            self._condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            self._condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ]
        return {"acceptedNames": spec.get("names"), "conditions": conditions, "storedVersions": [*kept, *stored]}

    def _condition(self, kind: str, reason: str, message: str) -> Json:
        return {"type": kind, "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": timestamp(self._now())}  # fmt: skip


def crd_resource(now: Callable[[], datetime]) -> Resource:
    """Return the resource of CRDs themselves."""
    return Resource(
        GROUP, "v1", "CustomResourceDefinition", "customresourcedefinitions", False, "v1", CrdStrategy(now),
        singular="customresourcedefinition", list_kind="CustomResourceDefinitionList", short_names=("crd", "crds"),
        categories=("api-extensions",), subresources=("status",),
        columns=(NAME, Column("Created At", "string", at(".metadata.creationTimestamp"), "date-time"),),
    )  # fmt: skip


def crd_errors(obj: Json) -> list[FieldError]:
    """Why this CRD cannot be served; empty if it can."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return [FieldError.required("spec")]
    names, versions = spec.get("names") or {}, spec.get("versions") or []
    found = [FieldError.required(f"spec.{key}") for key in ("group", "scope") if not spec.get(key)]
    found += [FieldError.required(f"spec.names.{key}") for key in ("plural", "kind") if not names.get(key)]
    wanted = f"{names.get('plural')}.{spec.get('group')}"
    if not found and obj["metadata"]["name"] != wanted:
        found.append(FieldError.invalid("metadata.name", obj["metadata"]["name"],
                                        f'must be spec.names.plural+"."+spec.group: expected {wanted}'))  # fmt: skip
    if spec.get("scope") not in (None, "Namespaced", "Cluster"):
        found.append(FieldError.unsupported("spec.scope", spec["scope"], ["Cluster", "Namespaced"]))
    found += _conversion_errors((spec.get("conversion") or {}).get("strategy", "None"), versions)
    if not versions:
        found.append(FieldError.required("spec.versions"))
    elif sum(1 for each in versions if each.get("storage")) != 1:
        found.append(FieldError.invalid("spec.versions", [each.get("name") for each in versions],
                                        "must have exactly one version marked as storage version"))  # fmt: skip
    for index, version in enumerate(versions):
        found += _version_errors(version, f"spec.versions[{index}]")
    return found


def _conversion_errors(strategy: Any, versions: Sequence[Any]) -> list[FieldError]:
    """Refuse several versions: a webhook converts between them, and without one only the stored one can be served."""
    path = "spec.conversion.strategy"
    if strategy not in ("None", "Webhook"):
        return [FieldError.unsupported(path, strategy, ["None", "Webhook"])]
    others = [str(each.get("name")) for each in versions if each.get("served") and not each.get("storage")]
    if strategy == "None" or not others:
        return []
    why = (
        f"the embedded API server calls no conversion webhooks, so it can serve only the stored version: set "
        f"`served: false` on {', '.join(others)}, or strategy None if the versions have the same fields"
    )
    return [FieldError.forbidden(path, why)]


def _version_errors(version: Any, path: str) -> list[FieldError]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if not isinstance(schema, dict):
        return [FieldError.required(f"{path}.schema.openAPIV3Schema", "schemas are required")]
    if schema.get("type") != "object":
        return [
            FieldError.invalid(
                f"{path}.schema.openAPIV3Schema.type", schema.get("type", ""), "must be object at the root"
            )
        ]
    try:
        CustomStrategy(schema, has_status=False).compile()
    except ValueError as problem:
        return [FieldError.invalid(f"{path}.schema.openAPIV3Schema", version.get("name"), str(problem))]
    try:
        _columns(version)
    except (ValueError, KeyError) as problem:
        return [FieldError.invalid(f"{path}.additionalPrinterColumns", version.get("name"), str(problem))]
    return []


def served_resources(crd: Json) -> list[Resource]:
    """Build the resources of a valid CRD, one per served version."""
    spec = crd["spec"]
    names = spec["names"]
    storage = next(each["name"] for each in spec["versions"] if each["storage"])
    return [
        Resource(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            namespaced=spec["scope"] == "Namespaced",
            storage_version=storage,
            strategy=CustomStrategy(
                version["schema"]["openAPIV3Schema"], has_status="status" in (version.get("subresources") or {})
            ),
            singular=names.get("singular") or names["kind"].lower(),
            list_kind=names.get("listKind") or names["kind"] + "List",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=("status",) if "status" in (version.get("subresources") or {}) else (),
            columns=_columns(version),
            schema=version["schema"]["openAPIV3Schema"],
            deprecation=_deprecation(version, spec["group"], names["kind"]),
            custom=True,
        )
        for version in spec["versions"]
        if version.get("served")
    ]


def serve_stored(store: Store, registry: Registry) -> None:
    """Serve each CRD that is stored."""
    for stored in store.scan(COLLECTION):
        registry.set_custom(stored.obj["metadata"]["name"], served_resources(stored.obj))


def _columns(version: Json) -> tuple[Column, ...]:
    given = version.get("additionalPrinterColumns")
    if not given:
        return (NAME, AGE)
    columns = (
        Column(
            each["name"],
            each["type"],
            at(each["jsonPath"]),
            each.get("format", ""),
            each.get("description", ""),
            each.get("priority", 0),
        )
        for each in given
    )
    return (NAME, *columns)


def _deprecation(version: Json, group: str, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    return str(version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated")
