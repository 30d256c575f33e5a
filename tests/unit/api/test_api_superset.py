"""Ours accepts every object that upstream's v1beta2 accepts, prunes none of its fields and sets the same defaults.

A recursive comparison of the two schemas: every field of upstream's is there, with the same type, format,
default, enum and pattern, no more required fields, and no bound that is narrower.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from freehold.api.schema_lint import lint, walk
from harness.schemas import crd_of, narrower, schema_of

UPSTREAM = Path(__file__).parents[2] / "data" / "upstream" / "ibmpowervsclusters.v1beta2.crd.yaml"

EARLY = {
    "spec": "zone: upstream's webhook knows the zones; serviceInstance.name, network.name: IBM Cloud's limits",
    "spec.cosInstance": "bucketRegion: IBM Cloud has no region of another spelling",
    "spec.cosInstance.bucketRegion": "bounded for the rule",
    "spec.dhcpServer": "cidr, dnsServer, name: sent to IBM Cloud as they are, which refuses others",
    "spec.dhcpServer.cidr": "bounded for the rule",
    "spec.dhcpServer.dnsServer": "bounded for the rule",
    "spec.dhcpServer.name": "bounded for the rule",
    "spec.loadBalancers": "upstream's webhook refuses two of one name, and none that is public",
    "spec.vpc": "region: upstream's webhook knows the regions",
    "spec.vpc.region": "bounded for the rule",
    "spec.vpcSubnets": "upstream's webhook refuses two of one name",
    "spec.vpcSubnets[*]": "cidr: an IPv4 range or nothing; zone: IBM Cloud has no zone of another spelling",
    "spec.vpcSubnets[*].cidr": "bounded for the rule",
    "spec.vpcSubnets[*].zone": "bounded for the rule",
    "spec.zone": "bounded for the rule",
}
"""Where a rule or its bound refuses what upstream's schema lets pass, and who refuses it there.

Such an object makes no cluster upstream (freehold.providers.ibm.powervs.types.rules).
"""


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    crd: dict[str, Any] = yaml.safe_load(UPSTREAM.read_text(encoding="utf-8"))
    return crd


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return crd_of()


def test_no_field_is_narrower_than_upstreams(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    found = list(narrower(schema_of(ours), schema_of(theirs), EARLY))
    assert not found, "\n" + "\n".join(found)


def test_every_exception_is_one(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Each place in EARLY has a rule or a bound that upstream's schema has not."""
    upstream, own = dict(walk(schema_of(theirs))), dict(walk(schema_of(ours)))
    keywords = ("x-kubernetes-validations", "maxLength", "maxItems")
    for path in EARLY:
        assert any(keyword in own[path] and keyword not in upstream[path] for keyword in keywords), path


def test_names_are_upstreams(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """clusterctl and every manifest find the kind by these."""
    assert ours["metadata"]["name"] == theirs["metadata"]["name"]
    assert {k: ours["spec"][k] for k in ("group", "names", "scope")} == {
        k: theirs["spec"][k] for k in ("group", "names", "scope")
    }
    (our_version,), (their_version,) = ours["spec"]["versions"], theirs["spec"]["versions"]
    assert our_version["name"] == their_version["name"]
    assert our_version["subresources"] == their_version["subresources"]


def test_fields_that_upstreams_webhook_makes_optional_are_optional(ours: dict[str, Any]) -> None:
    assert "required" not in schema_of(ours)["properties"]["spec"]


def test_fields_beyond_upstreams_are_the_ones_we_know_of(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Each additional field must be supported, so it is listed here."""
    own, upstream = schema_of(ours)["properties"], schema_of(theirs)["properties"]
    assert set(own["spec"]["properties"]) - set(upstream["spec"]["properties"]) == {"tags"}
    assert set(own["status"]["properties"]) - set(upstream["status"]["properties"]) == {
        "initialization",
        "phase",
        "observedGeneration",
        "resources",
        "identity",
    }


def test_upstreams_own_schema_passes_the_lint(theirs: dict[str, Any]) -> None:
    """Real API servers serve it, so a finding in it would be an error of the lint."""
    assert lint(schema_of(theirs)) == ()


BREAKAGES = {
    "type changed": (("spec", "zone"), {"type": "integer"}, "spec.zone: type is 'integer'"),
    "default lost": (("spec", "dhcpServer", "snat"), {"default": None}, "spec.dhcpServer.snat: default is None"),
    "enum shorter": (("spec", "ignition", "version"), {"enum": ["2.3"]}, "spec.ignition.version: enum is ['2.3']"),
    "pattern changed": (("spec", "vpc", "name"), {"pattern": "^a$"}, "spec.vpc.name: pattern is '^a$'"),
    "maximum lower": (("spec", "vpc", "name"), {"maxLength": 10}, "spec.vpc.name: maxLength 10 is below upstream's 63"),
    "minimum higher": (("spec", "vpc", "name"), {"minLength": 5}, "spec.vpc.name: minLength 5 is above upstream's 1"),
    "new bound": (("spec", "network", "name"), {"maxLength": 9}, "spec.network.name: maxLength 9 is below"),
    "new rule": (("spec", "network"), {"x-kubernetes-validations": [{}]}, "spec.network: has CEL rules"),
    "required": (("spec",), {"required": ["zone"]}, "spec: zone is required, upstream's is optional"),
    "field lost": (("spec", "vpc"), {"properties": {}}, "spec.vpc.region: is missing"),
}


@pytest.mark.parametrize("path, change, sentence", BREAKAGES.values(), ids=BREAKAGES.keys())
def test_the_comparison_finds_every_difference(
    theirs: dict[str, Any], path: tuple[str, ...], change: dict[str, Any], sentence: str
) -> None:
    """Each way to be narrower is found, and reported with the field's path."""
    broken = copy.deepcopy(schema_of(theirs))
    node = broken
    for name in path:
        node = node["properties"][name]
    node.update(change)
    assert [found for found in narrower(broken, schema_of(theirs), EARLY) if found.startswith(sentence)]
