"""Which namespace may use which credentials: every field of every served kind that names some."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from freehold.api.crd import build_crd
from freehold.kube.resources import SECRETS, Json, Key
from freehold.providers.aws.identity_objects import KINDS, StoredIdentities
from freehold.providers.crds import SERVED
from harness.aws_account import KEYS
from harness.metadata import CLASSIFIER, NAMESPACE, WANTED, Lab
from harness.simulated_aws import KEY, OTHER_ACCOUNT, tagged

ROLE, STATIC, CONTROLLER = "AWSClusterRoleIdentity", "AWSClusterStaticIdentity", "AWSClusterControllerIdentity"
OPERATORS_OWN = "freehold-system"
HERE, ELSEWHERE = {"list": [NAMESPACE]}, {"list": ["another"]}
EXTERNAL_ID = "of the test"
ARN, UNKNOWN_ARN = "arn of the role", f"arn:aws:iam::{OTHER_ACCOUNT}:role/unknown"
CREDENTIAL = re.compile(
    "secretref|identity|role(arn)?$|profileref|credential|token|password|apikey|^arn$", re.IGNORECASE
)
"""Names of fields that may name credentials."""
FIELDS = {
    ("AWSCluster", "spec.identityRef"),
    ("AWSManagedControlPlane", "spec.identityRef"),
    ("AWSMetadata", "spec.identityRef"),
    ("AWSMetadata", "spec.role"),
    ("AWSMetadata", "spec.role.arn"),
    ("AWSClusterRoleIdentity", "spec.roleARN"),
    ("AWSClusterRoleIdentity", "spec.sourceIdentityRef"),
    ("AWSClusterStaticIdentity", "spec.secretRef"),
}
"""Those that there are. IBM Cloud has none: its objects use the key, or the trusted profile, of the operator."""
NO_CREDENTIALS = {
    ("AWSMachine", "spec.instanceMetadataOptions.httpTokens"),
    ("AWSManagedControlPlane", "spec.tokenMethod"),
    ("AWSManagedControlPlane", "spec.iamAuthenticatorConfig.mapRoles.rolearn"),
    ("AWSManagedControlPlane", "spec.oidcIdentityProviderConfig"),
    ("AWSManagedControlPlane", "spec.oidcIdentityProviderConfig.identityProviderConfigName"),
    ("AWSManagedControlPlane", "spec.addons.serviceAccountRoleARN"),
}
"""Switches, and roles that Freehold never assumes: IAM asks it for iam:PassRole on those that EKS gets (deploy/iam)."""


@dataclass(frozen=True)
class Given:
    """Identities as an administrator made them: the role ``team`` over ``source``, and who may use each."""

    spec: Json
    team: Json = field(default_factory=lambda: HERE)
    source: tuple[str, str] = (CONTROLLER, "default")
    sources: Json = field(default_factory=dict)
    """``allowedNamespaces`` of the two identities that may be its source."""
    says: str = "does not allow namespace metadata-controller"
    secret_in: str = OPERATORS_OWN


def _by(kind: str, name: str) -> Json:
    return {"identityRef": {"kind": kind, "name": name}}


REFUSED = {
    "identityRef to a role": Given(_by(ROLE, "team"), team=ELSEWHERE),
    "identityRef to a role, whose source does not allow it": Given(_by(ROLE, "team"), sources=ELSEWHERE),
    "identityRef to keys": Given(_by(STATIC, "keys"), sources=ELSEWHERE),
    "identityRef to the operator's own": Given(_by(CONTROLLER, "default"), sources=ELSEWHERE),
    "identityRef to keys whose Secret is in the object's namespace": Given(
        _by(STATIC, "keys"), says="Secret freehold-system/keys, which does not exist", secret_in=NAMESPACE
    ),
    "no identity": Given({}, sources=ELSEWHERE),
    "role by ARN": Given({"role": {"arn": ARN}}, team=ELSEWHERE),
    "role by ARN, whose source does not allow it": Given(
        {"role": {"arn": ARN}}, source=(STATIC, "keys"), sources=ELSEWHERE
    ),
    "role by ARN with a source that the namespace may use": Given(
        {"role": {"arn": ARN}, **_by(CONTROLLER, "default")}, team=ELSEWHERE
    ),
    "role by ARN with another source": Given(
        {"role": {"arn": ARN}, **_by(STATIC, "keys")}, says="and the source AWSClusterStaticIdentity keys"
    ),
    "role by ARN with another external id": Given(
        {"role": {"arn": ARN, "externalID": "guessed"}}, says="with the external id of spec.role"
    ),
    "role by ARN of no identity": Given(
        {"role": {"arn": UNKNOWN_ARN}}, says=f"gives namespace metadata-controller the role {UNKNOWN_ARN}"
    ),
}
ALLOWED = {
    "identityRef to a role": Given(_by(ROLE, "team")),
    "identityRef to a role over keys": Given(_by(ROLE, "team"), source=(STATIC, "keys"), sources=HERE),
    "role by ARN": Given({"role": {"arn": ARN}}),
    "role by ARN over keys": Given({"role": {"arn": ARN}}, source=(STATIC, "keys"), sources=HERE),
    "role by ARN with external id and source": Given(
        {"role": {"arn": ARN, "externalID": EXTERNAL_ID}, **_by(CONTROLLER, "default")}
    ),
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED.keys())
async def test_credentials_that_do_not_allow_the_namespace_are_never_used(given: Given) -> None:
    lab = Lab()
    there = await _apply(lab, given)
    (here,) = lab.groups(1)
    await lab.work()
    assert [lab.tags_on(each) for each in (here, there)] == [{CLASSIFIER: "owned"}] * 2
    assert lab.port.calls == []
    status, reason, message = lab.condition("Ready")
    assert (status, reason) == ("False", "NoCredentials")
    assert given.says in message
    assert "guessed" not in str(lab.status())


@pytest.mark.parametrize("given", ALLOWED.values(), ids=ALLOWED.keys())
async def test_a29_credentials_that_allow_the_namespace_are_used(given: Given) -> None:
    lab = Lab()
    there = await _apply(lab, given)
    await lab.settle()
    assert lab.tags_on(there) == {CLASSIFIER: "owned", **WANTED}


async def test_a29_of_two_identities_with_one_role_the_one_that_allows_the_namespace_is_used() -> None:
    lab = Lab()
    there = await _apply(lab, Given({"role": {"arn": ARN}}))
    spec = lab.objects.objects[ROLE, Key("", "team")]["spec"] | {"allowedNamespaces": ELSEWHERE}
    await lab.objects.create(KINDS[ROLE], {"metadata": {"name": "a-first"}, "spec": spec})
    await lab.settle()
    assert lab.tags_on(there) == {CLASSIFIER: "owned", **WANTED}


async def test_two_accounts_with_equal_classifiers_in_one_region_share_no_index() -> None:
    """Each is shown its own resources, also a moment after the other one."""
    lab = Lab()
    there = await _apply(lab, Given({"role": {"arn": ARN}}))
    wanted = {"CidrBlock": "10.0.0.0/16", "TagSpecifications": tagged("vpc", **{CLASSIFIER: "owned"})}
    here = str(lab.account.cloud.strangers.create("ec2", "CreateVpc", wanted, region="eu-west-1")["arn"])
    await lab.tags("own", {"env": "own"}, regions=["eu-west-1"])
    await lab.cloud("second", "own")
    lab.wait(60)
    await lab.work()
    await lab.work("second")
    assert (lab.tags_on(there)["env"], lab.tags_on(here)["env"]) == ("test", "own")


async def test_a_role_that_was_withdrawn_removes_no_tags_of_an_object_in_deletion() -> None:
    lab = Lab()
    there = await _apply(lab, Given({"role": {"arn": ARN}, "deletionPolicy": "Remove"}))
    await lab.settle()
    await _narrow(lab)
    await lab.remove("tags")
    assert lab.tags_on(there) == {CLASSIFIER: "owned", **WANTED}
    assert "does not allow namespace" in lab.condition("Applied", "AWSMetadata", "tags")[2]


@pytest.mark.parametrize("spec", [{"role": {"arn": ARN}}, _by(ROLE, "team")], ids=["role by ARN", "identityRef"])
@pytest.mark.parametrize("withdrawn", [False, True], ids=["never allowed", "withdrawn"])
async def test_what_an_older_object_may_not_do_keeps_nobody_from_doing_it(spec: Json, withdrawn: bool) -> None:
    """Whoever may make an object in some namespace could otherwise keep a key of another tenant from being written."""
    lab = Lab()
    there = await _apply(lab, Given({**spec, "resourcetags": {"env": "older"}}, team={"list": [NAMESPACE, "other"]}))
    if withdrawn:
        await lab.settle()
    await _narrow(lab, "other")
    await lab.work()
    resolved = _resolved(lab, spec)
    for kind, name, body in (
        ("AWSMetadata", "tags", {"resourcetags": {"env": "younger"}, "regions": ["eu-west-1"], **resolved}),
        ("CloudMetadata", "metadata", lab.object("CloudMetadata", "metadata")["spec"]),
    ):
        group = lab.object(kind, name)["apiVersion"]
        metadata = {"name": name, "namespace": "other"}
        await lab.apply({"apiVersion": group, "kind": kind, "metadata": metadata, "spec": body})
    lab.wait()
    await lab.process.reconcile(Key("other", "metadata"))
    assert lab.tags_on(there)["env"] == "younger"


def test_every_field_that_names_credentials_is_known() -> None:
    """Another one needs a row above, that says which namespace may use it. Templates are data, which nothing reads."""
    versions = [(each.kind, version) for each in SERVED for version in build_crd(each)["spec"]["versions"]]
    versions = [each for each in versions if not each[0].endswith("Template")]
    schemas = [(kind, version["schema"]["openAPIV3Schema"]["properties"]["spec"]) for kind, version in versions]
    found = {(kind, path) for kind, schema in schemas for path in _named(schema, "spec")}
    assert found - NO_CREDENTIALS == FIELDS


def _named(schema: Json, path: str) -> Iterator[str]:
    for name, inner in (schema.get("properties") or {}).items():
        if CREDENTIAL.search(name):
            yield f"{path}.{name}"
        yield from _named(inner, f"{path}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from _named(inner, path)


async def _narrow(lab: Lab, *namespaces: str) -> None:
    body = {"spec": {"allowedNamespaces": {"list": [*namespaces, "another"]}}}
    await lab.objects.patch(KINDS[ROLE], Key("", "team"), body)


async def _apply(lab: Lab, given: Given) -> str:
    """The identities, an AWSMetadata with a CloudMetadata, and what they would tag in the other account."""
    lab.identities = StoredIdentities(lab.objects, OPERATORS_OWN, KEYS)
    await lab.objects.create(KINDS[CONTROLLER], _identity("default", allowedNamespaces=given.sources))
    await lab.objects.create(KINDS[STATIC], _identity("keys", secretRef="keys", allowedNamespaces=given.sources))
    entries = {"AccessKeyID": KEY, "SecretAccessKey": "s3cret"}
    data = {name: base64.b64encode(value.encode()).decode() for name, value in entries.items()}
    await lab.objects.create(SECRETS, {"metadata": {"name": "keys", "namespace": given.secret_in}, "data": data})
    team = {"roleARN": _role(lab), "externalID": EXTERNAL_ID, "allowedNamespaces": given.team}
    source = {"kind": given.source[0], "name": given.source[1]}
    await lab.objects.create(KINDS[ROLE], _identity("team", sourceIdentityRef=source, **team))
    lab.restart()
    await lab.tags("tags", WANTED, **{"regions": ["eu-west-1"], **_resolved(lab, given.spec)})
    await lab.cloud("metadata", "tags")
    wanted = {"CidrBlock": "10.0.0.0/16", "TagSpecifications": tagged("vpc", **{CLASSIFIER: "owned"})}
    made = lab.account.cloud.strangers.create("ec2", "CreateVpc", wanted, account=OTHER_ACCOUNT, region="eu-west-1")
    lab.wait(60)
    return str(made["arn"])


def _identity(name: str, **spec: object) -> Json:
    return {"metadata": {"name": name}, "spec": spec}


def _resolved(lab: Lab, spec: Json) -> Json:
    """With the ARN of the role where it is named."""
    arn = lab.objects.objects[ROLE, Key("", "team")]["spec"]["roleARN"]
    found: Json = json.loads(json.dumps(spec).replace(ARN, arn))
    return found


def _role(lab: Lab) -> str:
    """In the other account, with all rights there, for who knows the external id."""
    strangers = lab.account.cloud.strangers
    known = {"StringEquals": {"sts:ExternalId": EXTERNAL_ID}}
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*", "Condition": known}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    request = {"RoleName": "team", "AssumeRolePolicyDocument": trust}
    made = strangers.create("iam", "CreateRole", request, account=OTHER_ACCOUNT)
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    policy = {"RoleName": "team", "PolicyName": "all", "PolicyDocument": json.dumps(allowed)}
    strangers.call("iam", "PutRolePolicy", policy, account=OTHER_ACCOUNT)
    return str(made["arn"])
