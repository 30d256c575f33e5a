"""The AWS kinds accept every object that upstream's v1beta2 accepts, prune none of its fields and set its defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from freehold.api.base import ApiModel
from freehold.api.crd import build_crd
from freehold.api.parse import parse
from freehold.api.schema_lint import walk
from freehold.api.served_kind import ServedKind
from freehold.providers.aws.cluster.types.crd import AWS_CLUSTERS
from freehold.providers.aws.cluster.types.spec import AWSCluster
from freehold.providers.aws.control_plane.types.crd import (
    AWS_MANAGED_CONTROL_PLANE_TEMPLATES,
    AWS_MANAGED_CONTROL_PLANES,
)
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlane
from freehold.providers.aws.machine.types.crd import AWS_MACHINES, AWS_TEMPLATES
from freehold.providers.aws.machine.types.spec import AWSMachine
from freehold.providers.aws.managed_cluster.types.crd import AWS_MANAGED_CLUSTER_TEMPLATES, AWS_MANAGED_CLUSTERS
from freehold.providers.aws.managed_cluster.types.spec import AWSManagedCluster
from freehold.providers.aws.types.kinds import AWS_IDENTITIES
from freehold.providers.crds import SERVED
from freehold_apiserver.custom import CustomStrategy
from harness.rows import over_rows
from harness.schemas import Schema, narrower, schema_of

RECONCILED = (AWS_CLUSTERS, AWS_MACHINES, AWS_MANAGED_CONTROL_PLANES)
MANAGED = (AWS_MANAGED_CLUSTERS, AWS_MANAGED_CONTROL_PLANE_TEMPLATES, AWS_MANAGED_CLUSTER_TEMPLATES)
AWS_KINDS = (*RECONCILED, *MANAGED, *AWS_TEMPLATES, *AWS_IDENTITIES)
CAPA = Path(__file__).parents[2] / "data" / "upstream" / "capa"

_BALANCERS = ("spec.controlPlaneLoadBalancer", "spec.secondaryControlPlaneLoadBalancer")
_RULES = (
    "spec.network.additionalControlPlaneIngressRules",
    "spec.network.additionalNodeIngressRules",
    *(f"{each}.ingressRules" for each in _BALANCERS),
)
_SELECTOR = "spec.allowedNamespaces.selector.matchExpressions"
EARLY = {
    "": "upstream's guide adds IPv6 to no cluster that is there, and its controller writes over what was added, and "
    "over another range; its webhook keeps the name of the load balancer",
    "spec": "upstream's webhook keeps region, endpoint, VPC and identity, and checks the second load balancer",
    "spec.additionalTags": "upstream's webhook checks keys, values and their number; 40 is what AWS leaves beside ours",
    "spec.additionalTags.*": "upstream's webhook checks it",
    "spec.bastion": "upstream's webhook parses the ranges, and refuses those that nobody may come from",
    "spec.bastion.allowedCIDRBlocks": "bounded for the rule",
    "spec.bastion.allowedCIDRBlocks[*]": "bounded for the rule",
    "spec.network": "upstream's webhook parses the ranges of node ports",
    "spec.network.nodePortIngressRuleCidrBlocks": "bounded for the rule",
    "spec.network.nodePortIngressRuleCidrBlocks[*]": "bounded for the rule",
    "spec.network.subnets": "bounded for the rules",
    "spec.network.subnets[*]": "upstream's webhook parses the ranges and asks for the parent of a local zone",
    "spec.network.subnets[*].availabilityZone": "bounded for the rule",
    "spec.network.subnets[*].cidrBlock": "bounded for the rule",
    "spec.network.subnets[*].ipv6CidrBlock": "bounded for the rule",
    "spec.network.vpc": "upstream's webhook parses the range and refuses it beside a pool",
    "spec.network.vpc.cidrBlock": "bounded for the rule",
    "spec.network.vpc.elasticIpPool": "upstream's webhook checks both fields",
    "spec.network.vpc.id": "bounded for the rule",
    "spec.network.vpc.ipv6": "upstream's webhook parses the range",
    "spec.network.vpc.ipv6.cidrBlock": "bounded for the rule",
    "spec.network.vpc.secondaryCidrBlocks": "bounded for the rule",
    "spec.network.vpc.secondaryCidrBlocks[*]": "upstream's webhook parses the range",
    "spec.network.vpc.secondaryCidrBlocks[*].ipv4CidrBlock": "bounded for the rule",
    "spec.region": "bounded for the rule",
    "spec.s3Bucket": "upstream's webhook cannot read an object with a duration that is none",
    "spec.s3Bucket.presignedURLDuration": "bounded for the rule",
    **dict.fromkeys(_BALANCERS, "upstream's webhook"),
    **{f"{each}.additionalListeners": "bounded" for each in _BALANCERS},
    **dict.fromkeys(_RULES, "bounded for the rules"),
    **{f"{each}[*]": "upstream's webhook refuses two sorts of sources in one rule" for each in _RULES},
    **{f"{each}[*].{f}": "bounded" for each in _RULES for f in ("cidrBlocks", "ipv6CidrBlocks")},
    **{f"{each}[*].{f}[*]": "bounded" for each in _RULES for f in ("cidrBlocks", "ipv6CidrBlocks")},
    _SELECTOR: "bounded for the rule",
    f"{_SELECTOR}[*]": "upstream's webhook parses the selector",
}
"""Where a rule or its bound refuses what upstream's schema lets pass, and who refuses it there."""
EARLY_IDENTITIES = {
    f"{_SELECTOR}[*].operator": "bounded for the rule",
    "": "upstream's webhook knows the name of the object",
    "spec": "upstream's webhook keeps the Secret, and the operator's own identity, and asks who assumes a role",
    _SELECTOR: EARLY[_SELECTOR],
    f"{_SELECTOR}[*]": EARLY[f"{_SELECTOR}[*]"],
}
EARLY_MACHINE = {
    "spec": "upstream's webhook keeps the spec, and checks the market of an instance",
    "spec.additionalSecurityGroups": "bounded for the rules, above AWS's quota",
    "spec.additionalSecurityGroups[*]": "upstream's webhook refuses an id beside filters",
    "spec.additionalSecurityGroups[*].id": "bounded for the rule",
    "spec.additionalTags": EARLY["spec.additionalTags"],
    "spec.additionalTags.*": EARLY["spec.additionalTags.*"],
    "spec.ami": "EC2 refuses other ids",
    "spec.ami.id": "bounded for the rule",
    "spec.cloudInit": "upstream's webhook refuses secrets beside user data",
    "spec.elasticIpPool": EARLY["spec.network.vpc.elasticIpPool"],
    "spec.nonRootVolumes": "bounded for the rules, above what an instance takes",
    "spec.nonRootVolumes[*]": "upstream's webhook checks type, iops and throughput, and asks for the device",
    "spec.providerID": "bounded for the rule",
    "spec.rootVolume": "upstream's webhook checks type, iops and throughput",
    "spec.spotMarketOptions": "EC2 refuses what is no price",
    "spec.spotMarketOptions.maxPrice": "bounded for the rule",
    "spec.sshKeyName": "upstream's webhook checks it",
    "spec.subnet": "EC2 refuses other ids",
    "spec.subnet.id": "bounded for the rule",
}
EARLY_CONTROL_PLANE = {
    path: why
    for path, why in EARLY.items()
    if path.startswith(("spec.additionalTags", "spec.bastion", "spec.network", "spec.region"))
    and not path.startswith("spec.allowedNamespaces")
} | {
    "spec": "upstream's webhook keeps region, name and encryption, and checks addons and access entries",
    "spec.accessConfig": "upstream's webhook refuses a cluster that nobody may enter",
    "spec.accessEntries": "bounded for the rules",
    "spec.accessEntries[*]": "upstream's webhook refuses groups and policies of nodes; EKS knows roles and users",
    "spec.accessEntries[*].accessPolicies[*].accessScope": "upstream's webhook asks for namespaces",
    "spec.accessEntries[*].principalARN": "bounded for the rule",
    "spec.addons": "bounded for the rule",
    "spec.encryptionConfig": "EKS refuses encryption without a key, and of other things than secrets",
    "spec.encryptionConfig.provider": "bounded for the rule",
    "spec.encryptionConfig.resources": "bounded for the rule",
    "spec.encryptionConfig.resources[*]": "bounded for the rule",
    "spec.endpointAccess": "EKS refuses a cluster that nobody reaches, and upstream parses the ranges",
    "spec.endpointAccess.publicCIDRs": "bounded for the rule",
    "spec.endpointAccess.publicCIDRs[*]": "bounded for the rule",
    "spec.eksClusterName": "bounded for the rule",
    "spec.secondaryCidrBlock": "bounded for the rule",
}
NO_DEFAULT = "spec.accessConfig.authenticationMode: default is None, upstream's is 'config_map'"
"""A spec that says nothing gets nodes that can join (docs/reference/awsmanagedcontrolplane-fields.md)."""
_STATUS = ("status.networkStatus.securityGroups.*.ingressRule[*]",)
EARLY_STATUS = {f"{each}.{f}{m}" for each in _STATUS for f in ("cidrBlocks", "ipv6CidrBlocks") for m in ("", "[*]")}
"""The operator writes the status; the bounds are those of the spec."""


@cache
def read_upstream(plural: str) -> dict[str, Any]:
    crd: dict[str, Any] = yaml.safe_load((CAPA / f"{plural}.v1beta2.crd.yaml").read_text(encoding="utf-8"))
    return crd


def upstream(kind: ServedKind) -> dict[str, Any]:
    return read_upstream(kind.plural)


def early(kind: ServedKind) -> set[str]:
    every = (*EARLY, *EARLY_MACHINE, *EARLY_CONTROL_PLANE)
    in_template = {path.replace("spec", "spec.template.spec", 1) for path in every}
    return {
        "AWSCluster": {*EARLY, *EARLY_STATUS},
        "AWSMachine": {"", *EARLY_MACHINE},
        "AWSManagedControlPlane": {"", *EARLY_CONTROL_PLANE, *EARLY_STATUS},
        "AWSMachineTemplate": {"spec.template", *in_template},
        "AWSManagedControlPlaneTemplate": in_template,
        "AWSManagedCluster": set(),
        "AWSManagedClusterTemplate": set(),
        "AWSClusterTemplate": {"spec", *in_template},
    }.get(kind.kind, set(EARLY_IDENTITIES))


KINDS = over_rows("kind", AWS_KINDS, ids=[kind.kind for kind in AWS_KINDS])


@KINDS
def test_no_field_is_narrower_than_upstreams(kind: ServedKind) -> None:
    ours = schema_of(build_crd(kind))
    found = list(narrower(ours, schema_of(upstream(kind)), early(kind)))
    in_template = NO_DEFAULT.replace("spec", "spec.template.spec", 1)
    meant = {AWS_MANAGED_CONTROL_PLANES.kind: [NO_DEFAULT], AWS_MANAGED_CONTROL_PLANE_TEMPLATES.kind: [in_template]}
    assert found == meant.get(kind.kind, []), "\n" + "\n".join(found)


@pytest.mark.parametrize(("kind", "paths"), [(AWS_CLUSTERS, EARLY), (AWS_MANAGED_CONTROL_PLANES, EARLY_CONTROL_PLANE)])
def test_every_exception_is_one(kind: ServedKind, paths: dict[str, str]) -> None:
    """Each place in EARLY has a rule or a bound that upstream's schema has not."""
    theirs, ours = dict(walk(schema_of(upstream(kind)))), dict(walk(schema_of(build_crd(kind))))
    keywords = ("x-kubernetes-validations", "maxLength", "maxItems")
    for path in (path for path in paths if _SELECTOR not in path):
        assert any(keyword in ours[path] and keyword not in theirs[path] for keyword in keywords), path


@KINDS
def test_names_versions_and_scope_are_upstreams(kind: ServedKind) -> None:
    """kubectl, clusterctl and every manifest find the kind by these; v1beta2 is served and stored."""
    ours, theirs = build_crd(kind), upstream(kind)
    assert ours["metadata"]["name"] == theirs["metadata"]["name"]
    names = ("group", "names", "scope", "conversion")
    assert {k: ours["spec"].get(k) for k in names} == {k: theirs["spec"].get(k) for k in names}
    (our_version,), (their_version,) = ours["spec"]["versions"], theirs["spec"]["versions"]
    for key in ("name", "served", "storage", "subresources"):
        assert (our_version.get(key) or None) == (their_version.get(key) or None), key


@KINDS
def test_labels_name_the_contract_and_take_identities_along(kind: ServedKind) -> None:
    """docs/reference/capi-contract.md C1: never the label of v1beta2, under which failureDomains is a list."""
    labels = build_crd(kind)["metadata"]["labels"]
    moved = {} if kind not in AWS_IDENTITIES else {"clusterctl.cluster.x-k8s.io/move-hierarchy": ""}
    assert labels == {"cluster.x-k8s.io/v1beta1": "v1beta2", **moved}


def test_failure_domains_are_a_map() -> None:
    status = schema_of(build_crd(AWS_CLUSTERS))["properties"]["status"]["properties"]
    assert "additionalProperties" in status["failureDomains"] and status["failureDomains"]["type"] == "object"


@KINDS
def test_columns_have_all_of_upstreams(kind: ServedKind) -> None:
    """docs/reference/capi-contract.md C4."""
    (theirs,) = upstream(kind)["spec"]["versions"]
    names = {each["name"] for each in theirs.get("additionalPrinterColumns", ())}
    assert kind in AWS_IDENTITIES or names <= {each.name for each in kind.columns}


@pytest.mark.parametrize("kind", RECONCILED, ids=lambda kind: kind.kind)
def test_fields_beyond_upstreams_are_the_ones_we_know_of(kind: ServedKind) -> None:
    own = schema_of(build_crd(kind))["properties"]
    theirs = schema_of(upstream(kind))["properties"]
    assert set(own["spec"]["properties"]) == set(theirs["spec"]["properties"])
    more = {"phase", "initialization", "observedGeneration", "resources", "identity"}
    assert set(own["status"]["properties"]) == set(theirs["status"]["properties"]) | more


def test_a_mirrors_fields_beyond_upstreams_are_the_ones_we_know_of() -> None:
    """It owns nothing: no identity, no rows of resources."""
    own, theirs = (schema_of(crd)["properties"]["status"] for crd in (build_crd(MANAGED[0]), upstream(MANAGED[0])))
    assert set(own["properties"]) == {*theirs["properties"], "phase", "initialization", "observedGeneration"}


def test_what_is_compared_here_is_what_is_installed() -> None:
    assert all(kind in SERVED for kind in AWS_KINDS)


def bare(node: Schema, path: str) -> Iterator[str]:
    if "description" not in node and path != "metadata":
        yield path
    for name, child in node.get("properties", {}).items():
        yield from bare(child, f"{path}.{name}" if path else name)
    for key, mark in (("items", "[*]"), ("additionalProperties", ".*")):
        if isinstance(node.get(key), dict) and node[key].get("type") == "object":
            yield from bare(node[key], path + mark)


@KINDS
def test_every_field_has_a_description(kind: ServedKind) -> None:
    assert list(bare(schema_of(build_crd(kind)), "")) == []


# --- upstream's manifests ------------------------------------------------------------------------

VARIABLES = {
    "AWS_AVAILABILITY_ZONE_1": "us-east-1a",
    "AWS_AVAILABILITY_ZONE_2": "us-east-1b",
    "AWS_REGION": "us-east-1",
    "AWS_S3_BUCKET_NAME": "bootstrap-data",
    "AWS_SSH_KEY_NAME": "default",
    "CLUSTER_NAME": "prod",
    "MULTI_TENANCY_JUMP_IDENTITY_NAME": "jump",
    "MULTI_TENANCY_JUMP_ROLE_ARN": "arn:aws:iam::123456789012:role/jump",
    "MULTI_TENANCY_NESTED_IDENTITY_NAME": "nested",
    "MULTI_TENANCY_NESTED_ROLE_ARN": "arn:aws:iam::123456789012:role/nested",
    "WL_PRIVATE_SUBNET_ID": "subnet-0123456789abcdef0",
    "WL_VPC_ID": "vpc-0123456789abcdef0",
}
_TEXT = (CAPA / "manifests.yaml").read_text(encoding="utf-8")
MANIFESTS = list(yaml.safe_load_all(re.sub(r"\$\{(\w+)\}", lambda hit: VARIABLES[hit[1]], _TEXT)))
STRATEGIES = {
    kind.kind: CustomStrategy(schema_of(build_crd(kind)), has_status=bool(kind.subresources)) for kind in AWS_KINDS
}


@pytest.mark.parametrize("manifest", MANIFESTS, ids=[f"{n}-{each['kind']}" for n, each in enumerate(MANIFESTS)])
def test_upstreams_manifests_are_accepted_and_kept_whole(manifest: dict[str, Any]) -> None:
    strategy = STRATEGIES[manifest["kind"]]
    stored = {**manifest, "spec": dict(manifest["spec"])}
    assert strategy.decode(stored).unknown_fields == ()
    assert [str(each) for each in strategy.validate(stored, None)] == []
    (kind,) = (each for each in AWS_KINDS if each.kind == manifest["kind"])
    parsed = parse(kind.model, {"spec": stored["spec"]}, at="")
    assert _kept(manifest["spec"], parsed.spec.to_wire())


def _kept(given: Any, held: Any) -> bool:
    if isinstance(given, dict):
        # An empty object that means something is not written again: None of the fields of ``ipv6: {}``.
        return all(_kept(value, (held or {}).get(key, {})) for key, value in given.items())
    if isinstance(given, list):
        return len(given) == len(held) and all(map(_kept, given, held))
    return bool(given == held)


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        (AWS_CLUSTERS, AWSCluster),
        (AWS_MACHINES, AWSMachine),
        (AWS_MANAGED_CONTROL_PLANES, AWSManagedControlPlane),
        (AWS_MANAGED_CLUSTERS, AWSManagedCluster),
    ],
)
def test_every_field_of_upstreams_survives_a_round_trip(kind: ServedKind, model: type[ApiModel]) -> None:
    """A made-up object with every field of the schema is parsed and written again with every field."""
    schema = schema_of(upstream(kind))
    whole = {name: filled(schema["properties"][name], name) for name in ("spec", "status")}
    again = model.model_validate(whole).to_wire()
    assert again == whole


def filled(node: Schema, name: str) -> Any:
    """A value for each field that no rule of the model refuses."""
    if "anyOf" in node:
        return 1
    if node["type"] == "object":
        if "properties" in node:
            return {key: filled(child, key) for key, child in node["properties"].items()}
        return {"key": filled(node["additionalProperties"], name)}
    if node["type"] == "array":
        return [filled(node["items"], name)]
    if node["type"] == "boolean":
        return True
    if node["type"] in ("integer", "number"):
        return max(1, node.get("minimum", 1))
    if "pattern" in node:
        return "v1.33" if name == "version" else "h-0123456789abcdef0"
    text = {"date-time": "2026-01-01T00:00:00Z"}.get(
        node.get("format", ""), "a-text".ljust(node.get("minLength", 0), "s")
    )
    return node["enum"][-1] if "enum" in node else text
