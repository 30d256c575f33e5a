"""Where a person looks for what objects have lost: every identity that is known, in every region that is known."""

from __future__ import annotations

from collections.abc import Sequence

from freehold.kube.resources import Json, Key
from freehold.providers.access.accounts import AccountPlace, AccountScope, NoCredentials
from harness.aws_account import REGION
from harness.aws_served import SECRETS_IN, ServedAws
from harness.simulated_aws import ACCOUNT, KEY, OTHER_ACCOUNT, OTHER_KEY

STATIC = "AWSClusterStaticIdentity"


def _cluster(region: str, identity: str = "") -> Json:
    named = {"identityRef": {"kind": STATIC, "name": identity}} if identity else {}
    return {"kind": "AWSCluster", "metadata": {"name": "c", "namespace": "team-a"}, "spec": {"region": region, **named}}


def _identity(served: ServedAws, name: str, key: str) -> Json:
    """One that no namespace may use."""
    served.stored.put(STATIC, name, {"secretRef": f"{name}-keys"})
    secret = {"metadata": {"name": name}, "stringData": {"AccessKeyID": key, "SecretAccessKey": "s3cret"}}
    served.stored.objects["Secret", Key(SECRETS_IN, f"{name}-keys")] = secret
    return {"kind": STATIC, "metadata": {"name": name}}


async def _places(served: ServedAws, around: AccountScope) -> Sequence[AccountPlace | NoCredentials]:
    return await served.accounts().list_places(around)


async def _accounts(found: Sequence[AccountPlace | NoCredentials]) -> list[str]:
    return [await each.binding.cloud.read_account() for each in found if isinstance(each, AccountPlace)]


async def test_the_regions_of_objects_and_those_that_are_named_are_looked_through() -> None:
    found = await _places(
        ServedAws(), AccountScope([_cluster("eu-west-1"), _cluster(REGION)], regions=[REGION, "us-west-2"])
    )
    assert await _accounts(found) == [f"{ACCOUNT}/{region}" for region in (REGION, "us-west-2", "eu-west-1")]


async def test_identities_are_looked_through_with_whatever_namespace_they_allow() -> None:
    """Nobody knows the namespace of what was lost. The rebuilt object names the identity, which is checked then."""
    served = ServedAws()
    referred = [_identity(served, "a", OTHER_KEY), _identity(served, "unused", KEY), {"kind": "Other", "metadata": {}}]
    found = await _places(served, AccountScope([_cluster(REGION, "a")], referred))
    assert await _accounts(found) == [f"{ACCOUNT}/{REGION}", f"{OTHER_ACCOUNT}/{REGION}", f"{ACCOUNT}/{REGION}"]
    assert [each.spec for each in found if isinstance(each, AccountPlace)] == [
        {"region": REGION},
        {"region": REGION, "identityRef": {"kind": STATIC, "name": "a"}},
        {"region": REGION, "identityRef": {"kind": STATIC, "name": "unused"}},
    ]


async def test_without_credentials_of_its_own_only_identities_are_used() -> None:
    served = ServedAws()
    around = AccountScope(referred=[_identity(served, "a", OTHER_KEY)], regions=[REGION], own=False)
    assert await _accounts(await _places(served, around)) == [f"{OTHER_ACCOUNT}/{REGION}"]


async def test_what_cannot_be_looked_through_is_said_and_the_rest_is() -> None:
    gone = {"kind": STATIC, "metadata": {"name": "gone"}}
    found = await _places(ServedAws(), AccountScope(referred=[gone], regions=["frankfurt", REGION]))
    said = [each.message for each in found if isinstance(each, NoCredentials)]
    assert said == ["'frankfurt' is no region of AWS", f"{STATIC} gone does not exist; make it, or name another one in "
                    "spec.identityRef"]  # fmt: skip
    assert await _accounts(found) == [f"{ACCOUNT}/{REGION}"]


async def test_where_no_region_is_known_a_person_is_asked_for_one() -> None:
    (found,) = await _places(ServedAws(), AccountScope())
    assert isinstance(found, NoCredentials) and "--region" in found.message
