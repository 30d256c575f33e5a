"""A raw object becomes a typed spec, or one sentence per error with the field's path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from freehold.api.parse import InvalidObject, SpecProblem, parse
from freehold.api.patterns import WORDS
from freehold.providers.ibm.powervs.create_infra import CreateInfra, create_infra
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec, Tag
from freehold.providers.ibm.powervs.types.status import IBMPowerVSClusterStatus, ResourceReference
from freehold.providers.ibm.powervs.types.vpc import Subnet
from harness.rows import over_rows
from harness.schemas import crd_of, powervs_spec

HEALTH = {"delay": 5, "retries": 2, "timeout": 2, "type": "tcp"}

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "text for a number": (
        {"controlPlaneEndpoint": {"port": "6443"}},
        "spec.controlPlaneEndpoint.port",
        "must be a whole number, not a string",
    ),
    "fraction": (
        {"controlPlaneEndpoint": {"port": 1.5}},
        "spec.controlPlaneEndpoint.port",
        "must be a whole number, not 1.5",
    ),
    "number for text": ({"zone": 7}, "spec.zone", "must be a string, not a number"),
    "boolean as text": ({"dhcpServer": {"snat": "yes"}}, "spec.dhcpServer.snat", "must be true or false, not a string"),
    "object for a list": ({"vpcSubnets": {"name": "a"}}, "spec.vpcSubnets", "must be a list, not an object"),
    "list for an object": ({"vpc": []}, "spec.vpc", "must be an object, not a list"),
    "text for an item": ({"vpcSubnets": ["a"]}, "spec.vpcSubnets[0]", "must be an object, not a string"),
    "empty": ({"resourceGroup": {"name": ""}}, "spec.resourceGroup.name", "must not be empty"),
    "too short": ({"cosInstance": {"name": "ab"}}, "spec.cosInstance.name", '"ab" must have at least 3 characters'),
    "200 characters": (
        {"vpc": {"name": "v" * 200}},
        "spec.vpc.name",
        f'"{"v" * 60}…" has 200 characters; at most 63 are allowed',
    ),
    "a dot in a VPC name": (
        {"vpcSubnets": [{"name": "ok"}, {"name": "my.subnet"}]},
        "spec.vpcSubnets[1].name",
        '"my.subnet" is not accepted: a VPC name has lower-case letters, digits and dashes, '
        "begins with a letter and ends with no dash",
    ),
    "ignition": (
        {"ignition": {"version": "9"}},
        "spec.ignition.version",
        'must be 2.3, 2.4, 3.0, 3.1, 3.2, 3.3 or 3.4, not "9"',
    ),
    "port too high": (
        {"loadBalancers": [{"additionalListeners": [{"port": 70000}]}]},
        "spec.loadBalancers[0].additionalListeners[0].port",
        "must be at most 65535, not 70000",
    ),
    "port too low": (
        {"loadBalancers": [{"additionalListeners": [{"port": 0}]}]},
        "spec.loadBalancers[0].additionalListeners[0].port",
        "must be at least 1, not 0",
    ),
    "missing": (
        {"loadBalancers": [{"backendPools": [{"algorithm": "round_robin", "healthMonitor": HEALTH}]}]},
        "spec.loadBalancers[0].backendPools[0].protocol",
        "is required",
    ),
    "map values": (
        {"loadBalancers": [{"additionalListeners": [{"port": 1, "selector": {"matchLabels": ["a"]}}]}]},
        "spec.loadBalancers[0].additionalListeners[0].selector.matchLabels",
        "must be an object, not a list",
    ),
    "rule": ({"vpcSecurityGroups": [{"rules": []}]}, "spec.vpcSecurityGroups[0]", "give an id or a name"),
    "a forged mark": (
        {"tags": [{"key": "powervs.cluster.x-k8s.io.owner", "value": "me"}]},
        "spec.tags[0]",
        "keys that begin with powervs.cluster.x-k8s.io are reserved for ownership tags",
    ),
    "a slash in a tag": (
        {"tags": [{"key": "a/b"}]},
        "spec.tags[0].key",
        '"a/b" is not accepted: a tag\'s key has letters, digits, spaces and _ - . : and does not begin with a space',
    ),
    "too many tags": (
        {"tags": [{"key": f"k{number}"} for number in range(101)]},
        "spec.tags",
        "has 101 entries; at most 100 are allowed",
    ),
}


@over_rows(("spec", "field", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_value_is_named_with_its_path_and_what_to_do(spec: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(InvalidObject) as refusal:
        powervs_spec({"spec": spec})
    assert refusal.value.problems == (SpecProblem(field, sentence),)
    assert str(refusal.value) == f"{field}: {sentence}"


@over_rows("case", REFUSED)
def test_the_schema_refuses_it_at_apply_time_too(case: str) -> None:
    """An error at apply time is better than a condition later; rules over several fields are in CEL."""
    spec, field, _ = REFUSED[case]
    crd = crd_of()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    paths = {
        "spec" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path[1:])
        for error in jsonschema_rs.validator_for(schema).iter_errors({"spec": spec})
    }
    if case in ("rule", "a forged mark", "a slash in a tag"):
        assert paths == set()
    else:
        assert paths == {field.removesuffix(".protocol") if case == "missing" else field}


def test_all_errors_are_reported_at_once() -> None:
    """One round of corrections, not one per error."""
    with pytest.raises(InvalidObject) as refusal:
        powervs_spec({"spec": {"zone": 1, "vpc": {"region": 2}}})
    assert [problem.field for problem in refusal.value.problems] == ["spec.zone", "spec.vpc.region"]


def test_a_spec_that_is_not_an_object_is_refused() -> None:
    with pytest.raises(InvalidObject, match="spec: must be an object, not a list"):
        powervs_spec({"spec": []})


def test_a_refusal_does_not_carry_pydantics_error() -> None:
    """A log that shows causes would print pydantic's text."""
    with pytest.raises(InvalidObject) as refusal:
        powervs_spec({"spec": {"zone": 1}})
    assert refusal.value.__cause__ is None and refusal.value.__context__ is None


def test_every_pattern_of_the_types_has_a_description() -> None:
    """A pattern alone does not help a person."""
    sources = (Path(__file__).parents[3] / "src" / "freehold" / "providers" / "ibm" / "powervs" / "types").glob("*.py")
    used = {name for source in sources for name in re.findall(r"pattern=patterns\.(\w+)", source.read_text())}
    from freehold.api import patterns

    assert used and {getattr(patterns, name) for name in used} <= set(WORDS)


def test_an_absent_spec_is_an_empty_one() -> None:
    assert powervs_spec({}) == IBMPowerVSClusterSpec()


def test_a_null_is_an_absent_field() -> None:
    """The API server prunes nulls of fields that are not nullable, so defaults apply."""
    spec = powervs_spec({"spec": {"zone": None, "dhcpServer": {"snat": None, "dnsServer": None}, "vpcSubnets": None}})
    assert spec.zone is None and spec.vpc_subnets == ()
    assert spec.dhcp_server is not None
    assert (spec.dhcp_server.snat, spec.dhcp_server.dns_server) == (True, "1.1.1.1")


def test_unknown_fields_are_ignored() -> None:
    """The installed CRD may be newer than the code."""
    assert powervs_spec({"spec": {"zone": "dal10", "future": {"a": 1}}}) == IBMPowerVSClusterSpec(zone="dal10")


def test_specs_are_immutable_and_can_be_built_by_field_name() -> None:
    spec = IBMPowerVSClusterSpec(vpc_subnets=(Subnet(name="a"),), tags=(Tag(key="team", value="x"),))
    assert spec.to_wire() == {"vpcSubnets": [{"name": "a"}], "tags": [{"key": "team", "value": "x"}]}
    with pytest.raises(ValueError, match="frozen"):
        spec.zone = "dal10"  # type: ignore[misc]  # the point of the test: it must not be possible


def test_status_keeps_its_odd_names_on_the_wire() -> None:
    """Upstream's spelling, for example ``resourceGroupID`` and ``powerVSConnection``."""
    wire = {
        "ready": False,
        "resourceGroupID": {"controllerCreated": False, "id": "rg"},
        "vpcSubnet": {"a": {"controllerCreated": True, "id": "s"}},
        "vpcSecurityGroups": {"g": {"controllerCreated": True, "id": "g", "ruleIDs": ["r"]}},
        "transitGateway": {
            "controllerCreated": True,
            "id": "t",
            "powerVSConnection": {"controllerCreated": True, "id": "p"},
            "vpcConnection": {"controllerCreated": True, "id": "v"},
        },
        "initialization": {"provisioned": True},
        "observedGeneration": 3,
        "resources": [{"kind": "vpc", "name": "a", "state": "Ready", "ownership": "managed"}],
    }
    status = parse(IBMPowerVSClusterStatus, wire, at="status")
    assert status.to_wire() == wire
    assert status.vpc_subnet["a"] == ResourceReference(id="s", controller_created=True)


def test_an_empty_status_is_not_ready_and_has_no_other_field() -> None:
    assert IBMPowerVSClusterStatus().to_wire() == {"ready": False}


GATE = {
    "absent": ({}, CreateInfra.NOT_REQUESTED),
    "true": ({"powervs.cluster.x-k8s.io/create-infra": "true"}, CreateInfra.REQUESTED),
    "T": ({"powervs.cluster.x-k8s.io/create-infra": "T"}, CreateInfra.REQUESTED),
    "1": ({"powervs.cluster.x-k8s.io/create-infra": "1"}, CreateInfra.REQUESTED),
    "false": ({"powervs.cluster.x-k8s.io/create-infra": "false"}, CreateInfra.NOT_REQUESTED),
    "maybe": ({"powervs.cluster.x-k8s.io/create-infra": "maybe"}, CreateInfra.UNREADABLE),
    "empty": ({"powervs.cluster.x-k8s.io/create-infra": ""}, CreateInfra.UNREADABLE),
    "yes": ({"powervs.cluster.x-k8s.io/create-infra": "yes"}, CreateInfra.UNREADABLE),
}


@pytest.mark.parametrize("annotations, expected", GATE.values(), ids=GATE.keys())
def test_the_gate_reads_what_upstream_reads(annotations: dict[str, str], expected: CreateInfra) -> None:
    """With an unreadable value nothing is created: a guess would spend a user's money."""
    assert create_infra(annotations) is expected
