"""The drivers of IAM's kinds on a simulated AWS: roles with their policies, identity providers, their tags."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.drivers import User
from freehold.engine.inventory import TagChange
from freehold.engine.resources import Ref, State
from freehold.engine.tag_text import text
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.control_plane.names import build_role_name
from freehold.providers.aws.control_plane.role import trust
from freehold.providers.aws.kinds import iam_role, oidc_provider
from freehold.providers.aws.kinds.iam_role import policy_part
from freehold.providers.aws.permissions.policies import NAMES_END
from freehold.providers.aws.policy_json import canonical_policy
from freehold.providers.aws.session import AwsSession
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect
from harness.account import NONCE, RecordingPort
from harness.aws_account import KEYS, AwsAccount
from harness.aws_drivers import MARKS, Drivers, birth
from harness.simulated_aws import TRUST

NAME = "default_demo-iam-service-role"
BOUNDARY = "arn:aws:iam::aws:policy/PowerUserAccess"
CLUSTERS, READS = (
    policy_part(f"arn:aws:iam::aws:policy/{name}") for name in ("AmazonEKSClusterPolicy", "ReadOnlyAccess")
)
ISSUER = "https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF"


def role_request(**more: Any) -> dict[str, Any]:
    return {"name": NAME, "path": "/", "trust": canonical_policy(trust()), "permissions_boundary": "", **more}


def provider_request(url: str = ISSUER) -> dict[str, Any]:
    return {"url": url, "client_ids": ["sts.amazonaws.com"]}


@pytest.fixture
def roles(account: AwsAccount) -> Drivers:
    return Drivers(account, iam_role.kind)


@pytest.fixture
def providers(account: AwsAccount) -> Drivers:
    return Drivers(account, oidc_provider.kind)


# -- roles ------------------------------------------------------------------------------------------------------


async def test_the_life_of_a_role(roles: Drivers) -> None:
    request = role_request(path="/eks/", permissions_boundary=BOUNDARY)
    made = await roles.create(request)
    assert (made.state, made.id, made.tags) == (State.READY, NAME, MARKS)
    seen = await roles.there(NAME)
    assert {name: seen.attributes[name] for name in request} == request
    assert seen.target == seen.attributes["arn"] == "arn:aws:iam::111122223333:role/eks/" + NAME
    assert roles.driver.identify(seen.target) == NAME
    assert roles.driver.identify("arn:aws:iam::111122223333:oidc-provider/a/b") == ""
    assert [one.id for one in await roles.by_nonce(NONCE)] == [NAME]
    await roles.driver.delete(Ref(NAME))
    assert await roles.look(NAME) is None
    with pytest.raises(errors.NotFound):
        await roles.driver.delete(Ref(NAME))


async def test_trust_and_boundary_are_changed_and_the_boundary_is_taken_off(roles: Drivers) -> None:
    await roles.create(role_request())
    other = canonical_policy(TRUST)
    await roles.driver.update(Ref(NAME), {"trust": other, "permissions_boundary": BOUNDARY})
    seen = await roles.there(NAME)
    assert (seen.attributes["trust"], seen.attributes["permissions_boundary"]) == (other, BOUNDARY)
    await roles.driver.update(Ref(NAME), {"permissions_boundary": ""})
    assert (await roles.there(NAME)).attributes["permissions_boundary"] == ""


async def test_a_policy_is_attached_and_detached_and_twice_is_no_error(roles: Drivers) -> None:
    await roles.create(role_request())
    driver = roles.kind.parts.driver
    assert driver is not None
    for part in (CLUSTERS, CLUSTERS, READS):
        await driver.add_part(Ref(NAME), part)
    assert await roles.inside(NAME) == {CLUSTERS, READS}
    for _ in range(2):
        await driver.remove_part(Ref(NAME), READS)
    assert await roles.inside(NAME) == {CLUSTERS}
    with pytest.raises(errors.NotFound):
        await driver.add_part(Ref(NAME), policy_part("arn:aws:iam::111122223333:policy/missing"))


async def test_what_holds_a_role_is_named_with_the_commands_that_take_it_away(roles: Drivers) -> None:
    await roles.create(role_request())
    iam = roles.account.iam
    iam.attach_role_policy(RoleName=NAME, PolicyArn=READS.natural_key)
    iam.put_role_policy(RoleName=NAME, PolicyName="mine", PolicyDocument=TRUST.replace('"Principal"', '"Resource"'))
    iam.create_instance_profile(InstanceProfileName="nodes")
    iam.add_role_to_instance_profile(InstanceProfileName="nodes", RoleName=NAME)
    with pytest.raises(errors.InUse) as caught:
        await roles.driver.delete(Ref(NAME))
    role = f"--role-name {NAME}"
    assert caught.value.blocker.split(", ") == [
        f"policy {READS.natural_key}: aws iam detach-role-policy {role} --policy-arn {READS.natural_key}",
        f"inline policy mine: aws iam delete-role-policy {role} --policy-name mine",
        f"instance profile nodes: aws iam remove-role-from-instance-profile {role} --instance-profile-name nodes",
    ]
    roles.fault(Effect.DENIED, "iam.ListRolePolicies")
    with pytest.raises(errors.InUse) as caught:
        await roles.driver.delete(Ref(NAME))
    assert caught.value.blocker == ""


async def test_a_later_role_of_the_same_name_is_another(roles: Drivers) -> None:
    first = await roles.create(role_request())
    with pytest.raises(errors.NameTaken):
        await roles.create(role_request(), birth("fother"))
    await roles.driver.delete(Ref(NAME))
    second = await roles.create(role_request(), birth("fother"))
    assert (second.id, second.target) == (first.id, first.target) and second.incarnation != first.incarnation
    assert (await roles.there(NAME)).incarnation == second.incarnation


async def test_only_roles_with_a_name_like_ours_are_read_for_a_birth_mark() -> None:
    """IAM's list shows no tags, and an account may have a thousand roles."""
    roles = Drivers(AwsAccount(Settings(page_size=1)), iam_role.kind)
    await roles.create(role_request())
    await roles.create(role_request(name="somebody"))
    roles.sent()
    assert [one.id for one in await roles.by_nonce(NONCE)] == [NAME]
    assert sorted(roles.sent()) == ["iam.get_role", "iam.list_roles", "iam.list_roles"]
    assert build_role_name("a" * 100).endswith(NAMES_END) and build_role_name("a").endswith(NAMES_END)


# -- identity providers -----------------------------------------------------------------------------------------


async def test_the_life_of_an_identity_provider(providers: Drivers) -> None:
    made = await providers.create(provider_request())
    assert (made.state, made.tags) == (State.READY, MARKS)
    assert made.id == made.target == f"arn:aws:iam::111122223333:oidc-provider/{ISSUER.removeprefix('https://')}"
    seen = await providers.there(made.id)
    assert {name: seen.attributes[name] for name in ("url", "client_ids")} == provider_request()
    assert providers.driver.identify(seen.target) == seen.id
    assert [one.id for one in await providers.find(provider_request())] == [made.id]
    assert [one.id for one in await providers.by_nonce(NONCE)] == [made.id]
    with pytest.raises(errors.NameTaken):
        await providers.create(provider_request(), birth("fother"))
    for _ in range(2):
        await providers.driver.delete(Ref(made.id))
    assert await providers.look(made.id) is None and await providers.find(provider_request()) == []


async def test_a_provider_of_no_cluster_of_the_region_is_not_read_for_a_birth_mark(providers: Drivers) -> None:
    for url in ("https://token.actions.githubusercontent.com", "https://oidc.eks.eu-west-1.amazonaws.com/id/A"):
        await providers.create(provider_request(url))
    providers.sent()
    assert await providers.by_nonce(NONCE) == []
    assert providers.sent() == ["iam.list_open_id_connect_providers"]


async def test_the_roles_that_trust_a_provider_use_it(providers: Drivers) -> None:
    """IAM deletes it all the same."""
    made = await providers.create(provider_request())
    iam, usage = providers.account.iam, providers.kind.deletion.usage
    assert usage is not None
    iam.create_role(RoleName="another", AssumeRolePolicyDocument=TRUST)
    assert await usage.users(Ref(made.id)) == []
    of_pods = TRUST.replace('"*"', json.dumps({"Federated": made.id}))
    iam.create_role(RoleName="pods", AssumeRolePolicyDocument=of_pods)
    assert await usage.users(Ref(made.id)) == [User("role pods trusts it")]


# -- what both have ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("region", "address"),
    [
        ("eu-central-1", "https://iam.amazonaws.com"),
        ("cn-north-1", "https://iam.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", "https://iam.us-gov.amazonaws.com"),
    ],
)
def test_iam_has_one_address_in_a_partition(region: str, address: str) -> None:
    """Whatever the region of the cluster: the session needs no other client."""
    session = AwsSession(KEYS, region)
    assert session.client("iam").meta.endpoint_url == address
    session.close()


@pytest.mark.parametrize(("code", "gone"), [("NoSuchEntity", True), ("404", False)])
async def test_a_404_of_something_in_between_proves_no_absence(code: str, gone: bool) -> None:
    class Answering(AwsClient):
        async def read(self, service: str, operation: str, subject: str, **params: Any) -> dict[str, Any]:
            raise errors.NotFound(f"AWS refused to {operation}", code=code)

    client = Answering(AwsAccount(Settings()).session, RecordingPort())
    for kind in (iam_role.kind, oidc_provider.kind):
        if gone:
            assert await kind(client).driver.observe([Ref("one")]) == {}
        else:
            with pytest.raises(errors.Unavailable, match="It is asked again"):
                await kind(client).driver.observe([Ref("one")])


async def test_tags_of_iam_are_changed_by_its_own_calls(roles: Drivers, providers: Drivers) -> None:
    """The tagging API has roles in no region, and providers in one."""
    account = roles.account
    targets = [(await roles.create(role_request())).target, (await providers.create(provider_request())).target]
    vpc = account.vpc()
    others = [f"arn:aws:ec2:us-east-1:111122223333:vpc/{vpc}"]
    tagger = AwsTagger(account.api, ManualClock(0.0))
    for each in (roles, providers):
        each.sent()
    mark = text("color", "red")
    changes = [TagChange(target, frozenset({mark})) for target in (*targets, *others)]
    assert await tagger.attach(changes) == {}
    assert sorted(roles.sent()) == [
        "iam.tag_open_id_connect_provider",
        "iam.tag_role",
        "resourcegroupstaggingapi.tag_resources",
    ]
    assert all(mark in tags for tags in (await tagger.tags_of_each([*targets, *others])).values())
    shown = await tagger.find_marked("nobody", targets)
    assert all(mark in shown[target] for target in targets)
    assert await tagger.detach(changes) == {}
    assert not any(mark in tags for tags in (await tagger.tags_of_each([*targets, *others])).values())
    assert await tagger.tags_of(f"{targets[1]}0") == frozenset()
