"""Whether one CRD schema accepts what another one accepts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from freehold.api.parse import parse_spec
from freehold.providers.crds import build_crds
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec

Schema = dict[str, Any]

# Must be the same on both sides.
SAME = ("type", "format", "default", "enum", "pattern", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")
SAME += ("x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "nullable")
AT_MOST = ("minimum", "minLength", "minItems", "minProperties")
AT_LEAST = ("maximum", "maxLength", "maxItems", "maxProperties")


def narrower(ours: Schema, theirs: Schema, early: Collection[str], path: str = "") -> Iterator[str]:
    """Each way in which ours accepts less than theirs, as a sentence with the field's path.

    ``early`` are the paths where a rule, or a bound for one, is meant to refuse more.
    """
    where = path or "(root)"
    for keyword in SAME:
        if ours.get(keyword) != theirs.get(keyword):
            yield f"{where}: {keyword} is {ours.get(keyword)!r}, upstream's is {theirs.get(keyword)!r}"
    for keyword in AT_MOST:
        if keyword in ours and ours[keyword] > theirs.get(keyword, float("-inf")):
            yield f"{where}: {keyword} {ours[keyword]} is above upstream's {theirs.get(keyword)}"
    for keyword in AT_LEAST:
        if path in early and keyword not in theirs:
            continue
        if keyword in ours and ours[keyword] < theirs.get(keyword, float("inf")):
            yield f"{where}: {keyword} {ours[keyword]} is below upstream's {theirs.get(keyword)}"
    for name in sorted(set(ours.get("required", ())) - set(theirs.get("required", ()))):
        yield f"{where}: {name} is required, upstream's is optional"
    rules = len(ours.get("x-kubernetes-validations", ())) > 0
    if rules and path not in early and "x-kubernetes-validations" not in theirs:
        yield f"{where}: has CEL rules where upstream has none"
    for name, child in theirs.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        if name not in ours.get("properties", {}):
            yield f"{below}: is missing, so the API server would prune it"
        else:
            yield from narrower(ours["properties"][name], child, early, below)
    for keyword, mark in (("items", "[*]"), ("additionalProperties", ".*")):
        if isinstance(theirs.get(keyword), dict):
            yield from narrower(ours.get(keyword, {}), theirs[keyword], early, path + mark)


def powervs_spec(raw: Mapping[str, Any]) -> IBMPowerVSClusterSpec:
    """Parse the spec of an IBMPowerVSCluster."""
    return parse_spec(IBMPowerVSClusterSpec, raw)


def schema_of(crd: dict[str, Any]) -> Schema:
    (version,) = crd["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


def crd_of(kind: str = ibm_names.POWERVS_CLUSTER_KIND) -> dict[str, Any]:
    """The generated CRD of a kind that is served."""
    return next(crd for crd in build_crds() if crd["spec"]["names"]["kind"] == kind)
