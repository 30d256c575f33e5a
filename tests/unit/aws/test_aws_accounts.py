"""Which AWS account an object is served in: by its identity and region, and by who may use that identity."""

from __future__ import annotations

import base64
import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.inventory import TagChange
from freehold.engine.keyed_codec import UUID as OWNER_UUID
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner
from freehold.engine.port import InlinePort
from freehold.engine.resources import Ref
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.access.accounts import Binding, NoCredentials
from freehold.providers.access.limits import Limits, TokenBucket
from freehold.providers.aws.accounts import AccountLimits, AwsAccount, AwsAccounts, AwsCloud
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.identities import StaticKeys
from freehold.providers.aws.identity_objects import IdentityReference, StoredIdentities
from freehold.providers.aws.kind_facts import KINDS
from freehold.providers.aws.registry import aws_kinds
from freehold.providers.aws.session import AwsSession
from freehold_sim.faults import Effect, Fault
from harness import aws_account
from harness.aws_clients import SharingCloud
from harness.simulated_aws import ACCOUNT, KEY, OTHER_ACCOUNT, OTHER_KEY, tagged

STATIC, ROLE, CONTROLLER = "AWSClusterStaticIdentity", "AWSClusterRoleIdentity", "AWSClusterControllerIdentity"
RING = KeyRing.single(b"r" * 32)
REGION = aws_account.REGION
UUID, OTHER_UUID = "0d0f1e2a-1111-4222-8333-444455556666", "0d0f1e2a-1111-4222-8333-444455557777"
OPEN: Json = {"allowedNamespaces": {}}
ANYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
"""A statement of a policy."""


class Api:
    """What an API server has, by kind and key; ``refused`` are kinds that the operator may not read."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, Key], Json] = {}
        self.refused: set[str] = set()

    async def get(self, resource: Resource, key: Key) -> Json:
        if resource.kind in self.refused:
            raise kube.Forbidden(f"{resource} {key} is forbidden")
        if (resource.kind, key) not in self.objects:
            raise kube.ObjectNotFound(f"no {resource} {key}")
        return copy.deepcopy(self.objects[resource.kind, key])

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        raise AssertionError("no object here names a role by its ARN")

    def put(self, kind: str, name: str, spec: Json) -> None:
        self.objects[kind, Key("", name)] = {"kind": kind, "metadata": {"name": name}, "spec": spec}

    def secret(self, name: str, **entries: str) -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in entries.items()}
        self.objects["Secret", Key("operators-own", name)] = {"metadata": {"name": name}, "data": data}

    def namespace(self, name: str, **labels: str) -> None:
        self.objects["Namespace", Key("", name)] = {"metadata": {"name": name, "labels": labels}}


class Bench:
    """An API server and the operator's AWS on a simulated cloud."""

    def __init__(self) -> None:
        self.sim = aws_account.AwsAccount()
        self.api = Api()
        self.clock = ManualClock()
        self.cloud = SharingCloud(self.sim.cloud, self.clock, port=InlinePort())
        self.made: list[AwsAccount] = []
        identities = StoredIdentities(self.api, "operators-own")
        self.accounts = AwsAccounts(self.cloud, identities, self._adapter)
        self.keys("a", KEY)

    def _adapter(self, account: AwsAccount) -> Any:
        self.made.append(account)
        return f"adapter {len(self.made)}"

    def keys(self, name: str, access_key: str, **spec: Any) -> None:
        """A static identity with its Secret."""
        self.api.secret(f"{name}-keys", AccessKeyID=access_key, SecretAccessKey="s3cret")
        self.api.put(STATIC, name, {"secretRef": f"{name}-keys", **OPEN, **spec})

    def role(self, name: str, source: tuple[str, str] | None = (STATIC, "a"), **spec: Any) -> str:
        arn = self.sim.role(name)
        referred = {"sourceIdentityRef": {"kind": source[0], "name": source[1]}} if source else {}
        self.api.put(ROLE, name, {"roleARN": arn, **referred, **OPEN, **spec})
        return arn

    async def bind(self, kind: str = STATIC, name: str = "a", **fields: Any) -> Binding | NoCredentials:
        spec = {"region": REGION, "identityRef": {"kind": kind, "name": name}, **fields}
        spec = {field: value for field, value in spec.items() if value is not None}
        metadata = {"name": "c1", "namespace": "team-a"}
        return await self.accounts.bind({"kind": "AWSCluster", "metadata": metadata, "spec": spec})

    async def account(self, kind: str = STATIC, name: str = "a", **fields: Any) -> AwsAccount:
        found = await self.bind(kind, name, **fields)
        assert isinstance(found, Binding), found
        assert isinstance(found.cloud, AwsAccount)
        return found.cloud

    async def problem(self, kind: str = STATIC, name: str = "a", **fields: Any) -> str:
        found = await self.bind(kind, name, **fields)
        assert isinstance(found, NoCredentials), found
        assert "s3cret" not in found.message
        return found.message


@pytest.fixture
def bench() -> Bench:
    return Bench()


# -- credentials ------------------------------------------------------------------------------------------------


async def test_a_static_identity_is_the_account_of_the_keys_in_its_secret(bench: Bench) -> None:
    bench.keys("b", OTHER_KEY)
    assert await (await bench.account(name="a")).read_account() == f"{ACCOUNT}/{REGION}"
    assert await (await bench.account(name="b")).read_account() == f"{OTHER_ACCOUNT}/{REGION}"


async def test_a_role_is_assumed_by_its_source_as_its_spec_says(bench: Bench) -> None:
    arn = bench.role("infra", externalID="xyz", sessionName="team-a", durationSeconds=900, inlinePolicy='{"a": 1}')
    account = await bench.account(ROLE, "infra")
    identity: Any = account.identity
    assert (identity.arn, identity.external_id, identity.session_name) == (arn, "xyz", "team-a")
    assert (identity.seconds, identity.policy, identity.source.access_key) == (900, '{"a": 1}', KEY)


async def test_a_role_acts_in_its_own_account(bench: Bench) -> None:
    bench.role("infra", sessionName="team-a")
    account = await bench.account(ROLE, "infra")
    assert await account.client.identity() == f"arn:aws:sts::{ACCOUNT}:assumed-role/infra/team-a"


async def test_without_an_identity_the_operators_own_credentials_are_used(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the default identity does not exist: upstream's operator makes one that all namespaces may use."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", OTHER_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    account = await bench.account(identityRef=None)
    assert await account.read_account() == f"{OTHER_ACCOUNT}/{REGION}"
    bench.api.put(CONTROLLER, "default", {"allowedNamespaces": {"list": ["team-b"]}})
    assert "does not allow namespace team-a" in await bench.problem(identityRef=None)


# -- who may use them -------------------------------------------------------------------------------------------

ALLOWED: dict[str, tuple[Json, bool]] = {
    "all": ({"allowedNamespaces": {}}, True),
    "none": ({"allowedNamespaces": None}, False),
    "in the list": ({"allowedNamespaces": {"list": ["team-a"]}}, True),
    "not in the list": ({"allowedNamespaces": {"list": ["team-b"]}}, False),
    "selected": ({"allowedNamespaces": {"selector": {"matchLabels": {"team": "a"}}}}, True),
    "not selected": ({"allowedNamespaces": {"selector": {"matchLabels": {"team": "b"}}}}, False),
}


@pytest.mark.parametrize("kind", [STATIC, ROLE, CONTROLLER])
@pytest.mark.parametrize(("spec", "allowed"), ALLOWED.values(), ids=ALLOWED)
async def test_an_identity_is_used_only_from_namespaces_that_it_allows(
    bench: Bench, kind: str, spec: Json, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    bench.api.namespace("team-a", team="a")
    bench.keys("keys", KEY)
    match kind:
        case "AWSClusterStaticIdentity":
            bench.keys("mine", KEY, **spec)
        case "AWSClusterRoleIdentity":
            bench.role("mine", (STATIC, "keys"), **spec)
        case _:
            bench.api.put(CONTROLLER, "mine", spec)
    if allowed:
        assert await bench.account(kind, "mine")
    else:
        said = await bench.problem(kind, "mine")
        assert said.startswith(
            f"spec.identityRef: {kind} mine does not allow namespace team-a; add it to the identity's"
        )


async def test_a_role_is_not_assumed_by_an_identity_that_does_not_allow_the_namespace(bench: Bench) -> None:
    """Otherwise whoever may write a role identity could lend another team's keys."""
    bench.keys("a", KEY, allowedNamespaces={"list": ["team-b"]})
    bench.role("infra")
    assert f"{STATIC} a does not allow namespace team-a" in await bench.problem(ROLE, "infra")


async def test_a_right_that_is_taken_away_counts_from_the_next_pass_on(bench: Bench) -> None:
    await bench.account()
    bench.keys("a", KEY, allowedNamespaces={"list": []})
    assert "does not allow" in await bench.problem()


# -- what cannot be used is told --------------------------------------------------------------------------------


async def test_what_is_missing_is_named_with_what_to_do(bench: Bench) -> None:
    assert f"{STATIC} b does not exist; make it, or name another one in spec.identityRef" in await bench.problem(
        name="b"
    )
    bench.api.put(STATIC, "b", {"secretRef": "nowhere", **OPEN})
    said = await bench.problem(name="b")
    assert said.startswith(
        f"spec.identityRef: {STATIC} b names Secret operators-own/nowhere, which does not exist; make it"
    )
    bench.api.secret("nowhere", SecretAccessKey="s3cret")
    assert "has no entry AccessKeyID; add it" in await bench.problem(name="b")
    bench.api.objects["Secret", Key("operators-own", "nowhere")]["data"] = {"AccessKeyID": "#"}
    assert "the entry AccessKeyID of Secret operators-own/nowhere is not base64" in await bench.problem(name="b")
    bench.api.put(STATIC, "b", OPEN)
    assert f"{STATIC} b is not valid: spec.secretRef" in await bench.problem(name="b")
    assert "spec.identityRef.kind" in await bench.problem("Secret", "b")


async def test_a_role_that_nobody_assumes_or_that_assumes_itself_is_told(bench: Bench) -> None:
    bench.role("alone", source=None)
    assert "names nobody who assumes the role; set its spec.sourceIdentityRef" in await bench.problem(ROLE, "alone")
    bench.role("one", source=(ROLE, "two"))
    bench.role("two", source=(ROLE, "one"))
    assert f"{ROLE} one is assumed by itself ({ROLE} one by {ROLE} two by {ROLE} one)" in await bench.problem(
        ROLE, "one"
    )


async def test_what_the_operator_may_not_read_is_told_with_the_right_that_it_lacks(bench: Bench) -> None:
    bench.api.refused = {"Secret"}
    assert "grant the operator 'get' on secrets" in await bench.problem()


async def test_an_api_server_that_does_not_answer_is_no_lack_of_credentials(bench: Bench) -> None:
    """It would be shown as a mistake of the user's, and looked at slowly."""

    async def fail(resource: Resource, key: Key) -> Json:
        raise kube.ServerUnavailable("no answer")

    bench.api.get = fail  # type: ignore[method-assign]  # the server goes away
    with pytest.raises(kube.ServerUnavailable):
        await bench.bind()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"region": None}, "spec.region: it is missing; give the AWS region, for example eu-central-1"),
        ({"region": "evil.example/"}, "spec.region: 'evil.example/' is no region of AWS; correct it"),
    ],
)
async def test_a_region_that_cannot_be_is_told_before_anything_is_sent(
    bench: Bench, fields: dict[str, Any], said: str
) -> None:
    found = await bench.bind(**fields)
    assert isinstance(found, NoCredentials) and said in found.message
    assert found.reason == names.REASON_INVALID_SPEC
    assert bench.sim.served() == []


# -- one value an account ---------------------------------------------------------------------------------------


async def test_one_identity_in_one_region_is_one_value_with_one_adapter(bench: Bench) -> None:
    """Else what was seen of an object would be forgotten in each pass."""
    first, second = await bench.bind(), await bench.bind()
    assert isinstance(first, Binding) and isinstance(second, Binding)
    assert (first.cloud, first.adapter) == (second.cloud, second.adapter)
    assert await bench.account(region="eu-west-1") is not first.cloud
    assert len(bench.made) == 2


async def test_new_keys_in_the_secret_are_another_account_value(bench: Bench) -> None:
    """They may be of another account, in which nothing that was seen here exists."""
    before = await bench.account()
    bench.keys("a", OTHER_KEY)
    after = await bench.account()
    assert after is not before
    assert await after.read_account() == f"{OTHER_ACCOUNT}/{REGION}"


async def test_the_account_is_told_with_its_region(bench: Bench) -> None:
    """An object whose region is another one than its resources' would see nothing of them, and let them go."""
    one, other = await bench.account(), await bench.account(region="eu-west-1")
    assert await one.read_account() != await other.read_account()


# -- limits -----------------------------------------------------------------------------------------------------


async def test_identities_of_one_account_share_its_limits_region_by_region(bench: Bench) -> None:
    """AWS counts by account and region: two teams with keys of their own in one account are one to it."""
    shared: dict[tuple[str, str], Limits] = {}

    async def bucket(key: str, region: str) -> TokenBucket:
        session = AwsSession(StaticKeys(key, "s"), region, mount=bench.sim.mount)
        limits = AccountLimits(session, shared, Limits)
        before = limits.find_bucket("sts")
        await AwsClient(session, InlinePort()).account()
        assert limits.find_bucket("sts") is not before, "until it is known, an account waits for nobody"
        return limits.find_bucket("ec2")

    one, same = await bucket(KEY, REGION), await bucket(KEY, REGION)
    other_region, other_account = await bucket(KEY, "eu-west-1"), await bucket(OTHER_KEY, REGION)
    assert one is same
    assert len({id(each) for each in (one, other_region, other_account)}) == 3


async def test_calls_of_an_account_go_through_threads_and_limits() -> None:
    """The port that the operator builds where a test gives none: errors come back as the engine's own."""
    sim, clock = aws_account.AwsAccount(), ManualClock()
    sim.cloud.faults.add(Fault(Effect.DENIED, "ec2.DescribeVpcs"))
    with AwsCloud(None, clock, mount=sim.mount) as cloud:
        account = cloud.account(IdentityReference(STATIC, "a"), StaticKeys(KEY, "s"), REGION)
        with pytest.raises(errors.Denied):
            await account.client.read_list("ec2", "describe_vpcs", "Vpcs", "all")
        assert await account.client.read_list("ec2", "describe_vpcs", "Vpcs", "all") == []


# -- the engine's dependencies ----------------------------------------------------------------------------------


async def test_dependencies_for_a_plan_send_no_write(bench: Bench) -> None:
    deps = (await bench.account()).build_read_only_deps(RING)
    vpc = f"arn:aws:ec2:{REGION}:{ACCOUNT}:vpc/{bench.sim.vpc()}"
    failed = await deps.tagger.attach([TagChange(vpc, frozenset({"team=a"}))])
    assert isinstance(failed[vpc], errors.Frozen)
    assert await deps.tagger.tags_of(vpc) == frozenset()


async def test_marks_are_found_through_the_dependencies_of_an_object(bench: Bench) -> None:
    account = await bench.account()
    deps = account.build_deps("AWSCluster team-a/c1", RING, UUID)
    owner = Owner(UUID, "AWSCluster", "team-a", "c1")
    marks = KeyedCodec().owner(owner)
    vpc = f"arn:aws:ec2:{REGION}:{ACCOUNT}:vpc/{bench.sim.vpc()}"
    assert await account.tags.attach([TagChange(vpc, marks)]) == {}
    bench.sim.clock.advance(60)
    assert await deps.tagger.find_marked(owner.uuid) == {vpc: marks}
    assert (await deps.inventory.read_snapshot(0.0)).find_targets(owner.uuid, deps.codec) == {vpc: marks}
    assert account.build_deps("AWSCluster team-a/c1", RING, UUID).registry is deps.registry, (
        "drivers keep what saves calls"
    )


async def test_one_refusal_of_the_tag_api_counts_for_all_objects(bench: Bench) -> None:
    account = await bench.account()
    bench.sim.cloud.faults.add(Fault(Effect.DENIED, "resourcegroupstaggingapi.*", count=None))
    for subject in ("one", "two"):
        await account.build_deps(subject, RING, UUID).tagger.everything()
    assert bench.sim.served().count("resourcegroupstaggingapi.GetResources") == 1


# -- the registry -----------------------------------------------------------------------------------------------


async def test_the_registry_has_the_kinds_of_the_table_in_its_order(bench: Bench) -> None:
    account = await bench.account()
    assert list(aws_kinds(account.client)) == [kind.name for kind in KINDS]


# -- deletes that the cloud binds to one owner ------------------------------------------------------------------


def _vpcs(bench: Bench) -> tuple[str, str]:
    """One with our uuid, and one with another's."""
    return (
        bench.sim.vpc(TagSpecifications=tagged("vpc", **{OWNER_UUID: UUID})),
        bench.sim.vpc(TagSpecifications=tagged("vpc", **{OWNER_UUID: OTHER_UUID})),
    )


def _existing(bench: Bench) -> set[str]:
    return {vpc["VpcId"] for vpc in bench.sim.ec2.describe_vpcs()["Vpcs"]}


def _allow_all(bench: Bench, name: str) -> None:
    policy = {"Version": "2012-10-17", "Statement": [ANYTHING]}
    bench.sim.iam.put_role_policy(RoleName=name, PolicyName="all", PolicyDocument=json.dumps(policy))


async def _delete(account: AwsAccount, vpc: str) -> None:
    driver = account.build_deps("AWSCluster team-a/c1", RING, UUID).registry["vpc"].driver
    await driver.delete(Ref(vpc, f"arn:aws:ec2:{REGION}:{ACCOUNT}:vpc/{vpc}"))


def _managed(bench: Bench) -> str:
    """A managed policy that allows everything."""
    document = json.dumps({"Version": "2012-10-17", "Statement": [ANYTHING]})
    return str(bench.sim.iam.create_policy(PolicyName="all", PolicyDocument=document)["Policy"]["Arn"])


@pytest.mark.parametrize("inline", [True, False], ids=["inlinePolicy", "no inlinePolicy"])
@pytest.mark.parametrize("managed", [True, False], ids=["policyARNs", "no policyARNs"])
async def test_with_a_role_the_cloud_refuses_the_delete_of_what_does_not_have_our_uuid(
    bench: Bench, inline: bool, managed: bool
) -> None:
    """Whatever we believe to be proven: a second lock that is not ours. Where the user narrows the session too, by a
    statement that only denies: an allow of ours would add to what the user's policies allow."""
    policy = {"inlinePolicy": json.dumps({"Version": "2012-10-17", "Statement": [ANYTHING]})} if inline else {}
    bench.role("infra", **policy, **({"policyARNs": [_managed(bench)]} if managed else {}))
    _allow_all(bench, "infra")
    account = await bench.account(ROLE, "infra")
    ours, theirs = _vpcs(bench)
    with pytest.raises(errors.Denied, match="narrowed by a session policy"):
        await _delete(account, theirs)
    await _delete(account, ours)
    assert theirs in _existing(bench) and ours not in _existing(bench)
    assert account.facts.not_bound == ""


async def test_what_the_user_denies_stays_denied(bench: Bench) -> None:
    nothing = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]})
    bench.role("infra", inlinePolicy=nothing)
    _allow_all(bench, "infra")
    account = await bench.account(ROLE, "infra")
    ours, _ = _vpcs(bench)
    with pytest.raises(errors.Denied):
        await _delete(account, ours)
    assert ours in _existing(bench)


async def test_a_policy_without_room_for_ours_is_sent_as_it_is_and_that_is_told(bench: Bench) -> None:
    """The user's own still holds; that the cloud does not check the owner is said in ``plan`` and a condition."""
    both = [ANYTHING, {"Sid": "x" * 1700, "Effect": "Deny", "Action": "ec2:DeleteSubnet", "Resource": "*"}]
    bench.role("infra", inlinePolicy=json.dumps({"Version": "2012-10-17", "Statement": both}))
    _allow_all(bench, "infra")
    account = await bench.account(ROLE, "infra")
    assert "characters longer than the 2048 that STS takes" in account.facts.not_bound
    _, theirs = _vpcs(bench)
    await _delete(account, theirs)
    assert theirs not in _existing(bench), "as without a second lock"
    assert account._narrowed == {}


@pytest.mark.parametrize("inline", [True, False], ids=["inlinePolicy", "no policy of the user's"])
async def test_where_sts_cannot_pack_ours_the_user_s_own_session_deletes_and_that_is_told(
    bench: Bench, inline: bool
) -> None:
    """Session tags take of the same space, so it is known only once STS has been asked
    (https://github.com/aws/containers-roadmap/issues/2413)."""
    settings = bench.sim.cloud.settings
    tight = replace(settings.assumptions, packed_policy_characters=200)
    bench.sim.cloud.settings = replace(settings, assumptions=tight)
    policy = {"inlinePolicy": json.dumps({"Version": "2012-10-17", "Statement": [ANYTHING]})} if inline else {}
    bench.role("infra", **policy)
    _allow_all(bench, "infra")
    account = await bench.account(ROLE, "infra")
    ours, theirs = _vpcs(bench)
    await _delete(account, ours)
    assert ours not in _existing(bench)
    assert "STS refuses its session policies" in account.facts.not_bound
    asked = len(bench.sim.cloud.calls)
    await _delete(account, theirs)
    assert [call.operation for call in bench.sim.cloud.calls[asked:]] == ["ec2.DeleteVpc"], "STS is not asked again"


async def test_another_refusal_of_the_bound_session_is_no_reason_to_delete_without_it(bench: Bench) -> None:
    """Here STS refuses the user's part of the policy."""
    never = {**ANYTHING, "Condition": {"DateLessThan": {"aws:CurrentTime": "2020-01-01T00:00:00Z"}}}
    bench.role("infra", inlinePolicy=json.dumps({"Version": "2012-10-17", "Statement": never}))
    _allow_all(bench, "infra")
    account = await bench.account(ROLE, "infra")
    ours, _ = _vpcs(bench)
    with pytest.raises(errors.Invalid, match="MalformedPolicyDocument"):
        await _delete(account, ours)
    assert account.facts.not_bound == ""


async def test_nothing_of_a_narrowed_session_is_kept_of_an_object_that_is_gone(bench: Bench) -> None:
    bench.role("infra")
    account = await bench.account(ROLE, "infra")
    account.build_deps("AWSCluster team-a/c1", RING, UUID)
    assert list(account._narrowed) == [UUID]
    account.forget("AWSCluster team-a/c1")
    assert account._narrowed == {}
