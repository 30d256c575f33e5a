"""Rules over several fields: our CEL, our predicate and upstream's CEL agree on every small object.

All combinations of the interesting values of each field are tried. The CEL library is the embedded API server's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cel
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from freehold.api.base import ApiModel, ApiRule
from freehold.api.parse import InvalidObject, parse
from freehold.api.rules import value_at
from freehold.api.schema_lint import walk
from freehold.api.structural import build_structural_schema
from freehold.providers.ibm.powervs.types.spec import Tag
from freehold.providers.ibm.powervs.types.vpc import (
    VPCResource,
    VPCSecurityGroup,
    VPCSecurityGroupPortRange,
    VPCSecurityGroupRule,
    VPCSecurityGroupRulePrototype,
    VPCSecurityGroupRuleRemote,
)
from freehold_apiserver.cel_functions import FUNCTIONS
from harness.schema_values import values
from harness.schemas import Schema, crd_of

UPSTREAM = Path(__file__).parents[2] / "data" / "upstream" / "ibmpowervsclusters.v1beta2.crd.yaml"

EARLY = {"spec", "spec.cosInstance", "spec.dhcpServer", "spec.loadBalancers", "spec.tags", "spec.vpc",
         "spec.vpcSubnets", "spec.vpcSubnets[*]"}  # fmt: skip
"""The rules of freehold.providers.ibm.powervs.types.rules: test_api_powervs_rules."""

RULE = "spec.vpcSecurityGroups[*].rules[*]"
PROTOTYPE = {"protocol": "tcp", "remotes": []}
TRAFFIC: dict[str, list[Any]] = {
    "icmpCode": [None, 0],
    "icmpType": [None, 0],
    "portRange": [None, {"minimumPort": 1, "maximumPort": 2}],
    "protocol": ["tcp", "udp", "icmp", "icmp_tcp_udp", "all", "esp"],
    "remotes": [[]],
}
REMOTE: dict[str, list[Any]] = {
    "address": [None, "10.0.0.1"],
    "cidrSubnetName": [None, "a"],
    "remoteType": ["any", "cidr", "address", "sg"],
    "securityGroupName": [None, "b"],
}
PORTS: dict[str, list[Any]] = {"minimumPort": [None, 1, 5], "maximumPort": [None, 1, 5]}
REFERENCE: dict[str, list[Any]] = {"id": [None, "r006-1"], "name": [None, "a"]}

CASES: dict[str, tuple[type[ApiModel], dict[str, list[Any]]]] = {
    "spec.loadBalancers[*].subnets[*]": (VPCResource, REFERENCE),
    "spec.loadBalancers[*].securityGroups[*]": (VPCResource, REFERENCE),
    "spec.vpcSecurityGroups[*]": (VPCSecurityGroup, REFERENCE),
    RULE: (
        VPCSecurityGroupRule,
        {"direction": ["inbound", "outbound"], "source": [None, PROTOTYPE], "destination": [None, PROTOTYPE]},
    ),
    **{f"{RULE}.{end}": (VPCSecurityGroupRulePrototype, TRAFFIC) for end in ("source", "destination")},
    **{f"{RULE}.{end}.portRange": (VPCSecurityGroupPortRange, PORTS) for end in ("source", "destination")},
    **{f"{RULE}.{end}.remotes[*]": (VPCSecurityGroupRuleRemote, REMOTE) for end in ("source", "destination")},
}


def rules(crd: dict[str, Any]) -> dict[str, list[str]]:
    """Path -> the CEL expressions there."""
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = {path: node.get("x-kubernetes-validations", []) for path, node in walk(schema)}
    return {path: [entry["rule"] for entry in entries] for path, entries in found.items() if entries}


@cache
def program(expression: str) -> cel.Program:
    return cel.compile(expression)


def holds(expression: str, value: dict[str, Any]) -> bool:
    """One CEL expression over one object; a missing key is an error, and an error refuses, as in the API server."""
    try:
        return program(expression).execute(cel.Context({"self": value}, dict(FUNCTIONS))) is True
    except (ValueError, RuntimeError, TypeError, KeyError):
        return False


def objects(choices: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for chosen in itertools.product(*choices.values()):
        yield {name: value for name, value in zip(choices, chosen, strict=True) if value is not None}


def accepted(model: type[ApiModel], value: dict[str, Any]) -> bool:
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


@pytest.fixture(scope="module")
def ours() -> dict[str, list[str]]:
    crd = crd_of()
    return rules(crd)


@pytest.fixture(scope="module")
def theirs() -> dict[str, list[str]]:
    return rules(yaml.safe_load(UPSTREAM.read_text(encoding="utf-8")))


def test_every_rule_is_compared(ours: dict[str, list[str]], theirs: dict[str, list[str]]) -> None:
    """A rule at a path without a case would not be compared; tags are our own, early rules have their own tests."""
    assert set(theirs) == set(CASES)
    assert set(ours) == {*CASES, "spec.tags[*]", "spec.tags[*].key", "spec.tags[*].value", *EARLY}


@pytest.mark.parametrize("path", CASES)
def test_our_rules_refuse_exactly_what_upstreams_refuse(
    path: str, ours: dict[str, list[str]], theirs: dict[str, list[str]]
) -> None:
    model, choices = CASES[path]
    for value in objects(choices):
        upstream = all(holds(rule, value) for rule in theirs[path])
        assert all(holds(rule, value) for rule in ours[path]) == upstream, value
        assert accepted(model, value) == upstream, value


@pytest.mark.parametrize("action", [None, "allow", "deny"])
def test_a_rule_that_denies_is_refused_and_one_that_allows_is_not(
    action: str | None, ours: dict[str, list[str]]
) -> None:
    """Upstream's releases take both, and make a rule that allows of both; a security group cannot deny."""
    value = {"direction": "inbound", "source": PROTOTYPE, **({"action": action} if action else {})}
    assert accepted(VPCSecurityGroupRule, value) == (action != "deny")
    assert all(holds(rule, value) for rule in ours[RULE]) == (action != "deny")


TAGS: dict[str, list[Any]] = {
    "key": [
        "a",
        "k" * 126,
        "k" * 127,
        "k" * 128,
        "powervs.cluster.x-k8s.io.owner",
        "PowerVS.Cluster.x-k8s.io",
        "powervs",
    ],
    "value": [None, "", "v", "vv", "v" * 126],
}


def test_tag_rules_agree_in_cel_and_in_python(ours: dict[str, list[str]]) -> None:
    """A tag has at most 128 characters, and a user cannot write a mark of ownership."""
    for value in objects(TAGS):
        length = len(value["key"]) + (1 + len(value["value"]) if value.get("value") else 0)
        expected = length <= 128 and not value["key"].lower().startswith("powervs.cluster.x-k8s.io")
        assert accepted(Tag, value) == expected, value
        assert all(holds(rule, value) for rule in ours["spec.tags[*]"]) == expected, value


@pytest.mark.parametrize("field", ("key", "value"))
def test_the_characters_of_a_tag_are_the_same_in_cel_and_in_python(field: str, ours: dict[str, list[str]]) -> None:
    """The schema has a rule in place of the pattern, which kubectl would print."""
    texts = [f"{first}{then}" for first in ("", "a", " ", "/", "ä") for then in (*map(chr, range(32, 127)), "", "ä")]
    for text in texts:
        if field == "key" and not text:
            continue
        in_python = accepted(Tag, {"key": "a", field: text})
        assert all(holds(rule, text) for rule in ours[f"spec.tags[*].{field}"]) == in_python, text


def subclasses(model: type[ApiModel]) -> Iterator[type[ApiModel]]:
    for each in model.__subclasses__():
        yield from (each, *subclasses(each))


def in_both(model: type[ApiModel]) -> list[ApiRule]:
    return [rule for rule in model.RULES if rule.cel and rule.find]


def about(node: Schema, words: set[str]) -> Schema:
    """The schema with the fields of these names alone, and with what is required."""
    if "properties" in node:
        kept = {name for name in node["properties"] if name in words or name in node.get("required", ())}
        return {**node, "properties": {name: about(node["properties"][name], words) for name in sorted(kept)}}
    return {**node, "items": about(node["items"], words)} if "items" in node else node


STRICTER = {".ipv6CidrBlock", ".allowedCIDRBlocks"}
"""The pattern of an IPv6 range lets more pass than the reconciler."""


@pytest.mark.parametrize("model", sorted(filter(in_both, subclasses(ApiModel)), key=lambda model: model.__name__))
@given(data=st.data())
def test_api_server_and_reconciler_give_one_verdict(model: type[ApiModel], data: st.DataObject) -> None:
    """The table declares a rule once; what it makes of it for each of them agrees."""
    words = {word for rule in in_both(model) for word in re.findall(r"\w+", f"{rule.cel} {rule.of}")}
    try:
        value = parse(model, data.draw(values(about(build_structural_schema(model), words))), at="spec")
    except InvalidObject:
        return
    wire = value.to_wire()
    for rule in in_both(model):
        node = wire.get(rule.of, {}) if rule.of else wire
        found = list(rule.find(value_at(value, rule.of))) if rule.find else []
        if holds(rule.cel, node):
            assert not found or rule.field in STRICTER, (rule.cel, wire)
        else:
            assert found, (rule.cel, wire)
