"""Each field of AWSMachine that is acted on changes the request, the tags, the questions, or is named."""

from __future__ import annotations

import copy
from typing import Any

from freehold.api.served_fields import Serving, find_covering
from freehold.engine.secret_values import find_references
from freehold.providers.aws.machine.desired import WantedMachine
from freehold.providers.aws.machine.facts import MachineFacts, MachineGroup, MachineQuestions
from freehold.providers.aws.machine.keys import INSTANCE
from freehold.providers.aws.machine.types.crd import AWS_MACHINES
from freehold.providers.objects.adapter import Desired, RefusedSpec
from freehold.providers.objects.cloud_answers import Answer
from harness.aws_machine import PRIVATE, SUBNETS, VPC, asked_of, facts, machine, owner_machine
from harness.rows import over_rows
from unit.api.test_api_served_fields import leaves

Json = dict[str, Any]
FIELDS = [
    path
    for path in leaves(AWS_MACHINES)
    if (entry := find_covering(AWS_MACHINES.name.fields, path)) and entry.serving is Serving.SERVED
]
FILTERS = [{"name": "tag:a", "values": ["b"]}]
VOLUME: Json = {"size": 20, "type": "io1", "iops": 400, "deviceName": "/dev/sdb"}
BASES: tuple[Json, ...] = (
    {},
    {"ami": {}},
    {"rootVolume": dict(VOLUME), "nonRootVolumes": [dict(VOLUME)]},
    {"rootVolume": {"size": 20, "type": "gp3"},
     "nonRootVolumes": [{"size": 20, "type": "gp3", "deviceName": "/dev/sdb"}]},
    {"placementGroupName": "g"},
    {"subnet": {}, "additionalSecurityGroups": [{}]},
    {"subnet": {"filters": FILTERS}, "additionalSecurityGroups": [{"filters": FILTERS}]},
    {"cloudInit": {"insecureSkipSecretsManager": True}},
)  # fmt: skip
VALUES: dict[str, Any] = {
    "providerID": "aws:///us-east-1a/i-0123456789abcdef0",
    "instanceID": "i-0123456789abcdef0",
    "instanceType": "m5.xlarge",
    "ami.id": "ami-0123456789abcdef1",
    "eksLookupType": "AmazonLinux2023",
    "imageLookupFormat": "x-{{.BaseOS}}-{{.K8sVersion}}",
    "imageLookupOrg": "1",
    "imageLookupBaseOS": "flatcar",
    "filters[*].name": "tag:c",
    "filters[*].values": ["d"],
    "subnet.id": PRIVATE,
    "publicIP": True,
    "assignPrimaryIPv6": "disabled",
    "additionalSecurityGroups[*].id": "sg-9",
    "securityGroupOverrides": {"node": "sg-9"},
    "sshKeyName": "mine",
    "iamInstanceProfile": "nodes",
    "additionalTags": {"team": "a"},
    "encrypted": True,
    "encryptionKey": "k",
    "iops": 500,
    "size": 30,
    "throughput": 200,
    "type": "io2",
    "deviceName": "/dev/sdc",
    "maxPrice": "0.05",
    "marketType": "Spot",
    "tenancy": "dedicated",
    "placementGroupName": "h",
    "placementGroupPartition": 2,
    "httpEndpoint": "disabled",
    "httpProtocolIpv6": "enabled",
    "httpPutResponseHopLimit": 2,
    "httpTokens": "required",
    "instanceMetadataTags": "enabled",
    "enableResourceNameDnsAAAARecord": True,
    "enableResourceNameDnsARecord": True,
    "hostnameType": "resource-name",
    "insecureSkipSecretsManager": True,
    "secureSecretsBackend": "ssm-parameter-store",
    "uncompressedUserData": True,
    "hostAffinity": "host",
    "networkInterfaceType": "efa",
}
"""By the end of the path, the longest end that fits: a value that is no default."""


def value(field: str) -> Any:
    return copy.deepcopy(VALUES[max((end for end in VALUES if field.endswith(f".{end}")), key=len)])


def edited(spec: Json, field: str) -> Json:
    """The spec with the field in each place that can have it. Objects on the way are made, items of lists are not."""
    changed = copy.deepcopy(spec)
    holders = [changed]
    *above, last = field.split(".")[1:]
    for step in above:
        name = step.removesuffix("[*]")
        found = [
            each[name] if step != name else each.setdefault(name, {})
            for each in holders
            if step == name or name in each
        ]
        holders = [item for each in found for item in (each if isinstance(each, list) else [each])]
    for each in holders:
        each[last] = value(field)
    return changed


def known(questions: MachineQuestions) -> MachineFacts:
    dual = tuple(type(each)(each.id, each.vpc, each.zone, each.public, each.for_pods, True) for each in SUBNETS)
    groups = {each: (MachineGroup(each.id or "sg-5", VPC),) for each in questions.groups}
    chosen = [each for each in dual if questions.subnet and questions.subnet.id in ("", each.id)]
    return facts(subnets=Answer(dual), chosen=Answer(tuple(chosen)), groups=Answer(groups))


def outcome(spec: Json) -> tuple[object, ...]:
    """What comes of it: the questions, the request, the secrets, the tags; or what is refused."""
    found, asked = asked_of(machine(**spec), known, owner_machine(), bootstrap="#cloud-config")
    return _shown(found), asked


def _shown(found: Desired) -> object:
    if isinstance(found, RefusedSpec):
        return [(each.field, each.message) for each in found.problems]
    assert isinstance(found, WantedMachine), found
    nodes = {
        key: (node.request({}), node.tags, node.given and node.given({})) for key, node in found.graph.nodes.items()
    }
    return nodes, found.user_tags, [find_references(nodes[INSTANCE][0])], found.notes


@over_rows("field", FIELDS)
def test_a_field_is_acted_on_or_named(field: str) -> None:
    assert any(outcome(edited(base, field)) != outcome(base) for base in BASES if edited(base, field) != base), field
