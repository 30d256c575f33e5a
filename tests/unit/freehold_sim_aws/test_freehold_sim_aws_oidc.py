"""OpenID Connect providers of IAM."""

import re
from typing import Any

import pytest

from freehold_sim.aws.settings import Lags
from harness.simulated_aws import ACCOUNT, OTHER_KEY, refused

URL = "https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF"
ARN = f"arn:aws:iam::{ACCOUNT}:oidc-provider/oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF"


def _made(sim: Any, url: str = URL, **more: Any) -> str:
    made = sim.iam.create_open_id_connect_provider(Url=url, ClientIDList=["sts.amazonaws.com"], **more)
    return str(made["OpenIDConnectProviderArn"])


def test_there_is_one_oidc_provider_for_a_url(sim: Any) -> None:
    assert _made(sim, Tags=[{"Key": "a", "Value": "b"}]) == ARN
    with refused("EntityAlreadyExists", f"Provider with url {URL} already exists."):
        _made(sim)
    other = sim.client("iam", key=OTHER_KEY)
    other.create_open_id_connect_provider(Url=URL)
    assert sim.iam.list_open_id_connect_providers()["OpenIDConnectProviderList"] == [{"Arn": ARN}]
    with refused("NoSuchEntity"):
        other.get_open_id_connect_provider(OpenIDConnectProviderArn=ARN)


def test_the_url_of_an_oidc_provider_is_shown_without_its_scheme(sim: Any) -> None:
    shown = sim.iam.get_open_id_connect_provider(OpenIDConnectProviderArn=_made(sim))
    assert shown["Url"] == URL.removeprefix("https://")
    assert shown["ClientIDList"] == ["sts.amazonaws.com"]
    assert shown["Tags"] == []
    [thumbprint] = shown["ThumbprintList"]
    assert re.fullmatch("[0-9a-f]{40}", thumbprint), "IAM finds it if the request has none"


def test_an_oidc_provider_that_is_not_there_is_deleted_without_error(sim: Any) -> None:
    for _ in "ab":
        sim.iam.delete_open_id_connect_provider(OpenIDConnectProviderArn=ARN)
    with refused("NoSuchEntity"):
        sim.iam.get_open_id_connect_provider(OpenIDConnectProviderArn=ARN)
    with refused("ValidationError"):
        sim.iam.delete_open_id_connect_provider(OpenIDConnectProviderArn=URL)


@pytest.mark.parametrize(
    "url", ["http://a.example", "https://a.example:443", "https://a.example/?a=b", "https://", "a"]
)
def test_the_url_of_an_oidc_provider_has_a_scheme_a_host_and_no_query(sim: Any, url: str) -> None:
    with refused("ValidationError"):
        _made(sim, url)


def test_clients_and_thumbprints_of_an_oidc_provider(sim: Any) -> None:
    name, print_of = {"OpenIDConnectProviderArn": _made(sim, ThumbprintList=["a" * 40])}, "b" * 40
    for _ in "ab":
        sim.iam.add_client_id_to_open_id_connect_provider(**name, ClientID="second")
    sim.iam.remove_client_id_from_open_id_connect_provider(**name, ClientID="sts.amazonaws.com")
    sim.iam.remove_client_id_from_open_id_connect_provider(**name, ClientID="nobody")
    sim.iam.update_open_id_connect_provider_thumbprint(**name, ThumbprintList=[print_of])
    shown = sim.iam.get_open_id_connect_provider(**name)
    assert (shown["ClientIDList"], shown["ThumbprintList"]) == (["second"], [print_of])
    with refused("InvalidInput"):
        sim.iam.update_open_id_connect_provider_thumbprint(**name, ThumbprintList=[print_of] * 6)
    with refused("ValidationError"):
        sim.iam.update_open_id_connect_provider_thumbprint(**name, ThumbprintList=["g" * 40])
    for number in range(99):
        sim.iam.add_client_id_to_open_id_connect_provider(**name, ClientID=f"client-{number}")
    with refused("LimitExceeded"):
        sim.iam.add_client_id_to_open_id_connect_provider(**name, ClientID="one more")


def test_tags_of_an_oidc_provider(sim: Any) -> None:
    name = {"OpenIDConnectProviderArn": _made(sim, Tags=[{"Key": "b", "Value": "1"}])}
    sim.iam.tag_open_id_connect_provider(**name, Tags=[{"Key": "a", "Value": "2"}, {"Key": "c", "Value": "3"}])
    sim.iam.untag_open_id_connect_provider(**name, TagKeys=["c"])
    listed = sim.iam.list_open_id_connect_provider_tags(**name)["Tags"]
    assert listed == [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "1"}]
    with refused("InvalidInput"):
        sim.iam.tag_open_id_connect_provider(**name, Tags=[{"Key": "aws:mine", "Value": ""}])


def test_what_is_global_is_listed_and_tagged_in_us_east_1(sim: Any) -> None:
    _made(sim)
    other = sim.client("resourcegroupstaggingapi", region="us-west-2")
    assert list(other.tag_resources(ResourceARNList=[ARN], Tags={"own": "1"})["FailedResourcesMap"]) == [ARN]
    assert sim.tagging.tag_resources(ResourceARNList=[ARN], Tags={"own": "1"})["FailedResourcesMap"] == {}
    sim.iam.tag_role(RoleName=sim.role() and "role", Tags=[{"Key": "own", "Value": "1"}])
    sim.clock.advance(20)
    kinds = ["iam:oidc-provider"]
    for given in ({}, {"ResourceTypeFilters": kinds}):
        rows = sim.tagging.get_resources(TagFilters=[{"Key": "own"}], **given)["ResourceTagMappingList"]
        assert [row["ResourceARN"] for row in rows] == [ARN]
    assert other.get_resources(TagFilters=[{"Key": "own"}])["ResourceTagMappingList"] == []


def test_a_new_oidc_provider_is_not_found_for_a_while(make_sim: Any) -> None:
    sim = make_sim(lags=Lags.uniform(30))
    _made(sim)
    with refused("NoSuchEntity"):
        sim.iam.get_open_id_connect_provider(OpenIDConnectProviderArn=ARN)
    assert sim.iam.list_open_id_connect_providers()["OpenIDConnectProviderList"] == []
    with refused("EntityAlreadyExists"):
        _made(sim)
    sim.clock.advance(30)
    assert sim.iam.list_open_id_connect_providers()["OpenIDConnectProviderList"] == [{"Arn": ARN}]
