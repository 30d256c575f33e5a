"""CustomResourceDefinitions: converts a CRD object to served resources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from freehold_apiserver.conversion import WebhookConverter
from freehold_apiserver.custom import CustomStrategy, compile_schema
from freehold_apiserver.errors import FieldError
from freehold_apiserver.metadata import timestamp
from freehold_apiserver.plain import PlainStrategy
from freehold_apiserver.resources import Converter, Registry, Resource
from freehold_apiserver.store import Json, Store
from freehold_apiserver.strategy import Findings, content, put_back, take_only
from freehold_apiserver.tables import AGE, NAME, Column, at
from freehold_apiserver.webhook_client import WebhookClient, target_of
from freehold_apiserver.webhook_targets import client_config_errors

GROUP = "apiextensions.k8s.io"
COLLECTION = f"{GROUP}/customresourcedefinitions"
REVIEWS = ("v1", "v1beta1")
"""Versions of ConversionReview that are sent."""
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class CrdStrategy(PlainStrategy):
    """Defaults names, sets Established at once, and rejects CRDs that cannot be served."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now

    def decode(self, obj: Json) -> Findings:
        spec = obj.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("names"), dict):
            kind = str(spec["names"].get("kind", ""))
            names = {"singular": kind.lower(), "listKind": kind + "List"} | spec["names"]
            obj["spec"] = {"conversion": {"strategy": "None"}, **spec, "names": names}  # a copy: others have the given
        if crd_errors(obj):
            return Findings()
        compiled = [compile_schema(each["schema"]["openAPIV3Schema"]) for each in obj["spec"]["versions"]]
        return Findings(warnings=tuple(warning for each in compiled for warning in each.rules.unenforceable))

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
        return crd_errors(obj) or _stored_version_errors(obj)

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
    found += _conversion_errors(spec.get("conversion") or {})
    if not versions:
        found.append(FieldError.required("spec.versions"))
    elif sum(1 for each in versions if each.get("storage")) != 1:
        found.append(FieldError.invalid("spec.versions", [each.get("name") for each in versions],
                                        "must have exactly one version marked as storage version"))  # fmt: skip
    for index, version in enumerate(versions):
        found += _version_errors(version, f"spec.versions[{index}]")
    return found


def _conversion_errors(conversion: Json) -> list[FieldError]:
    """Find what is wrong with ``spec.conversion``; upstream names its fields as it does internally."""
    strategy, path = conversion.get("strategy", "None"), "spec.conversion"
    if strategy not in ("None", "Webhook"):
        return [FieldError.unsupported(f"{path}.strategy", strategy, ["None", "Webhook"])]
    webhook = conversion.get("webhook") or {}
    config, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions")
    if strategy == "None":
        why = "should not be set when strategy is not set to Webhook"
        given = (("webhookClientConfig", config), ("conversionReviewVersions", reviews))
        return [FieldError.forbidden(f"{path}.{name}", why) for name, value in given if value]
    if not isinstance(config, dict):
        return [FieldError.required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")]
    found = client_config_errors(config, f"{path}.webhookClientConfig")
    if not isinstance(reviews, list) or not reviews:
        found.append(FieldError.required(f"{path}.conversionReviewVersions"))
    elif not set(REVIEWS) & set(reviews):
        why = f"must include at least one of {', '.join(REVIEWS)}"
        found.append(FieldError.invalid(f"{path}.conversionReviewVersions", reviews, why))
    return found


def _stored_version_errors(obj: Json) -> list[FieldError]:
    """Refuse to take away a version in which objects may be stored."""
    names = {each["name"] for each in obj["spec"]["versions"]}
    return [
        FieldError.invalid(
            f"status.storedVersions[{index}]", each,
            f"missing from spec.versions; {each} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {each} and removes {each} from "
            "status.storedVersions",
        )
        for index, each in enumerate((obj.get("status") or {}).get("storedVersions") or ())
        if each not in names
    ]  # fmt: skip


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
        compile_schema(schema)
    except ValueError as problem:
        why = str(problem) or type(problem).__name__
        return [FieldError.invalid(f"{path}.schema.openAPIV3Schema", version.get("name"), why)]
    try:
        _columns(version)
    except (ValueError, KeyError) as problem:
        return [FieldError.invalid(f"{path}.additionalPrinterColumns", version.get("name"), str(problem))]
    return []


def served_resources(crd: Json, client: WebhookClient) -> list[Resource]:
    """Build the resources of a valid CRD, one per served version."""
    return [_resource(crd, each, client) for each in crd["spec"]["versions"] if each.get("served")]


def storage_resource(crd: Json, client: WebhookClient) -> Resource:
    """Build the resource of the version in which objects are stored; it need not be served."""
    return _resource(crd, _storage_version(crd), client)


def _storage_version(crd: Json) -> Json:
    found: Json = next(each for each in crd["spec"]["versions"] if each["storage"])
    return found


def _resource(crd: Json, version: Json, client: WebhookClient) -> Resource:
    spec, names, schema = crd["spec"], crd["spec"]["names"], version["schema"]["openAPIV3Schema"]
    has_status = "status" in (version.get("subresources") or {})
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        storage_version=_storage_version(crd)["name"],
        strategy=CustomStrategy(schema, has_status=has_status),
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or names["kind"] + "List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=("status",) if has_status else (),
        columns=_columns(version),
        schema=schema,
        deprecation=_deprecation(version, spec["group"], names["kind"]),
        custom=True,
        converter=_converter(spec.get("conversion") or {}, client),
    )


def _converter(conversion: Json, client: WebhookClient) -> Converter | None:
    if conversion.get("strategy") != "Webhook":
        return None
    webhook = conversion["webhook"]
    config = webhook["clientConfig"]
    review = next(each for each in webhook["conversionReviewVersions"] if each in REVIEWS)
    return WebhookConverter(client, target_of(config), review)


def serve_stored(store: Store, registry: Registry, client: WebhookClient) -> None:
    """Serve each CRD that is stored."""
    for stored in store.scan(COLLECTION):
        serve(stored.obj, registry, client)


def serve(crd: Json, registry: Registry, client: WebhookClient) -> None:
    """Serve a CRD, in place of what was served for it."""
    resources = served_resources(crd, client)
    registry.set_custom(crd["metadata"]["name"], resources, storage_resource(crd, client))


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
