"""Fields of a manifest itself, apart from what server and operator have written into an export. Pure."""

from __future__ import annotations

from typing import Any

from freehold.api import names
from freehold.kube import field_managers
from freehold.kube.field_managers import CLI, LAST_APPLIED, OPERATOR, Tree
from freehold.kube.merge_patch import build_merge_patch
from freehold.kube.resources import Json
from freehold.providers.registry import SERVED

_SERVERS = frozenset(
    {
        "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
        "resourceVersion", "selfLink", "uid",
    }
)  # fmt: skip
_OPERATORS_ANNOTATIONS = frozenset(
    {
        names.JOURNAL_ANNOTATION, names.DECISIONS_ANNOTATION, names.ENDPOINT_ANNOTATION, names.TAGS_WRITER_ANNOTATION,
        LAST_APPLIED,
    }
)  # fmt: skip
_OPERATORS_FINALIZERS = frozenset({names.TAGS_FINALIZER, *(served.finalizer for served in SERVED)})


def manifest_fields(obj: Json) -> Json:
    """``obj`` without status, and without what server and operator write: an applier must own none of it.

    An endpoint without a host, as OpenShift's installer writes it, is no endpoint: the operator fills it in.
    """
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _SERVERS}
    annotations, finalizers = metadata.get("annotations"), metadata.get("finalizers")
    if isinstance(annotations, dict):
        metadata["annotations"] = {
            name: each for name, each in annotations.items() if name not in _OPERATORS_ANNOTATIONS
        }
    if isinstance(finalizers, list):
        metadata["finalizers"] = [each for each in finalizers if each not in _OPERATORS_FINALIZERS]
    for name in ("annotations", "finalizers"):
        if name in metadata and not metadata[name]:
            del metadata[name]
    said = {name: value for name, value in obj.items() if name != "status"} | {"metadata": metadata}
    return _without_unset_endpoint(said)


def operator_fields(obj: Json) -> Json:
    """Return the metadata that an export of an object has from the operator: a restore must not lose it."""
    metadata = obj["metadata"]
    annotations = {
        name: value
        for name, value in (metadata.get("annotations") or {}).items()
        if name in _OPERATORS_ANNOTATIONS - {LAST_APPLIED}
    }
    finalizers = [each for each in metadata.get("finalizers") or () if each in _OPERATORS_FINALIZERS]
    found: Json = {"annotations": annotations} if annotations else {}
    return found | ({"finalizers": finalizers} if finalizers else {})


def ownership_patch(current: Json) -> Json | None:
    """Return the patch that gives the CLI's manager what applied manifests said before, where another manager has it.

    So it is after an earlier version, after ``freehold recover``, whose spec is a guess until a manifest is applied,
    and after ``freehold tags edit``. None where nothing is to be moved.
    """
    metadata = current["metadata"]
    if (patch := field_managers.build_separation_patch(current)) is not None:
        return patch
    entries = metadata.get("managedFields") or []
    if (metadata.get("annotations") or {}).get(names.PAUSED_ANNOTATION) == names.RECOVERED:
        patch = field_managers.build_handover_patch(current, manifest_fields(current), OPERATOR)
    else:
        patch = field_managers.build_handover_patch(current, {"spec": current.get("spec")}, CLI)
    return None if patch["metadata"]["managedFields"] == entries else patch


def is_as_applied(current: Json, wanted: Json) -> bool:
    """Return whether ``wanted`` would change neither a value nor who owns it."""
    if build_merge_patch(current, wanted, {}):
        return False
    for each in current["metadata"].get("managedFields") or ():
        if each.get("manager") == CLI and each.get("operation") == "Apply" and not each.get("subresource"):
            fields: Tree = each.get("fieldsV1") or {}
            return not field_managers.has_other_fields(fields, wanted) and _covers(fields, wanted)
    return False


_UNOWNED = ({"apiVersion", "kind"}, {"name", "namespace"})


def _covers(fields: Tree, wanted: Json) -> bool:
    """Return whether each field of ``wanted`` is in ``fields``, but for those that nobody owns."""
    top = {name: value for name, value in wanted.items() if name not in _UNOWNED[0]}
    top["metadata"] = {name: value for name, value in wanted["metadata"].items() if name not in _UNOWNED[1]}
    if not top["metadata"]:
        del top["metadata"]
    return _holds(fields, top)


def _holds(fields: Tree, value: Any) -> bool:
    below = {element: each for element, each in fields.items() if element != "."}
    if not below:
        return True
    if isinstance(value, dict):
        return all(f"f:{name}" in below and _holds(below[f"f:{name}"], each) for name, each in value.items())
    if isinstance(value, list):
        found = {element: field_managers.find_element(value, element) for element in below}
        return len(found) == len(value) and all(
            each is not field_managers.ABSENT and _holds(below[element], each) for element, each in found.items()
        )
    return False


def _without_unset_endpoint(obj: Json) -> Json:
    spec = obj.get("spec")
    endpoint = spec.get("controlPlaneEndpoint") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(endpoint, dict):
        return obj
    said = {name: value for name, value in endpoint.items() if (name, value) not in (("host", ""), ("port", 0))}
    rest = {name: value for name, value in spec.items() if name != "controlPlaneEndpoint"}
    return {**obj, "spec": {**rest, "controlPlaneEndpoint": said} if said else rest}
