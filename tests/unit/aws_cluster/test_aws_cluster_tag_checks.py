"""What AWS refuses of tags is told before a request is sent, by one set of rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.engine import keyed_codec
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster.tag_checks import user_tag_problems
from freehold.providers.aws.tags import capa_tags
from freehold.providers.aws.types.rules import TOO_MANY_TAGS, aws_tag_problems
from freehold_sim.aws.settings import Quotas
from freehold_sim.aws.tagging import why_not


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("team", "a", ""),
        ("Cost Center+-=._:/@", "a b", ""),
        ("Kürzel", "a", "keys and values have letters, digits"),
        ("", "a", "a key has 1 to 128 characters"),
        ("aws:team", "a", "reserved by AWS"),
        ("AWS:team", "a", "reserved by AWS"),
        ("k" * 128, "v" * 256, ""),
        ("k" * 129, "a", "a key has 1 to 128 characters; choose another"),
        ("k", "v" * 257, "a value has at most 256 characters; shorten it"),
        ("a,b", "x", "keys and values have letters, digits"),
        ("a", "x\n", "keys and values have letters, digits"),
    ],
)
def test_what_aws_refuses_is_told_with_what_to_do(key: str, value: str, problem: str) -> None:
    said = " ".join(aws_tag_problems(key, value))
    assert problem in said if problem else said == ""


@pytest.mark.parametrize("key", ["freehold.dev/owner-uuid", "sigs.k8s.io/cluster-api-provider-aws/cluster/b"])
def test_a_user_can_write_neither_our_marks_nor_upstreams(key: str) -> None:
    """Such a key says whose a resource is."""
    assert "choose another" in " ".join(user_tag_problems(key, "x"))
    assert list(aws_tag_problems(key, "x")) == []
    assert list(user_tag_problems("Name", "x")) == []


def test_the_api_server_refuses_the_same_prefixes() -> None:
    assert (aws_names.AWS_TAG_PREFIX, aws_names.CAPA_TAG_PREFIX) == (keyed_codec.PREFIX, capa_tags.PROVIDER)


def test_all_tags_of_a_user_fit_beside_ours_and_upstreams() -> None:
    """On a subnet, which has the most: one tag more than the limit would refuse its create."""
    codec, key = KeyedCodec(), NodeKey("subnet", "a")
    owner = Owner("0d0f1e2a-1111-4222-8333-444455556666", "AWSCluster", "team-a", "prod")
    ours = codec.owner(owner) | codec.label(key) | {codec.birth(key, "nonce"), codec.node(key, "abcdefgh")}
    places = [
        capa_tags.subnet("c", capa_tags.Reach.PUBLIC, "a"),
        capa_tags.subnet("c", capa_tags.Reach.PRIVATE, "a", edge=True, secondary=True),
    ]
    most = max(len(tags.to_tags("c")) for tags in places)
    assert aws_names.AWS_USER_TAG_LIMIT + len(ours) + most == aws_names.AWS_TAG_LIMIT == Quotas().tags
    assert TOO_MANY_TAGS == "a resource has at most 50 tags, and 10 of them are not yours; remove all but 40"


@given(st.text(max_size=140), st.text(max_size=270))
def test_what_the_simulator_refuses_is_refused_before(key: str, value: str) -> None:
    """Its rules are written by others (freehold_sim.aws.tagging)."""
    if why_not(key, value):
        assert list(aws_tag_problems(key, value))
