"""A refused field is explained in words, with the character that is wrong."""

from pathlib import Path

import pytest

from freehold.cli.errors import CliError
from freehold.cli.objects.applying import apply, targets
from freehold.cli.objects.manifests import read
from freehold.cli.objects.schema_errors import _reword
from freehold.kube.client import KubeClient

CLUSTER = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: IBMPowerVSCluster
metadata: {name: a}
spec:
  serviceInstanceID: s
  network: {name: n}
  tags:
"""
KEY_RULE = "a tag's key has letters, digits, spaces and _ - . : and does not begin with a space"


@pytest.mark.parametrize(
    ("tag", "told"),
    [
        ("{key: 'team/x'}", f"spec.tags[0].key: 'team/x' has '/' in it: {KEY_RULE}"),
        ("{key: ' a'}", f"spec.tags[0].key: ' a' is not allowed: {KEY_RULE}"),
        (
            "{key: a, value: 'päy'}",
            "spec.tags[0].value: 'päy' has 'ä' in it: a tag's value has letters, digits, spaces",
        ),
        ("{key: a}\n  - {key: A}", "spec.tags: two tags are equal, and IBM Cloud ignores upper and lower case"),
    ],
    ids=["slash", "leading space", "umlaut", "equal but for the case"],
)
async def test_an_illegal_tag_names_the_character_and_the_rule(
    client: KubeClient, tmp_path: Path, tag: str, told: str
) -> None:
    (tmp_path / "a.yaml").write_text(f"{CLUSTER}  - {tag}\n")
    with pytest.raises(CliError) as refused:
        await apply(client, await targets(client, read(str(tmp_path / "a.yaml")), "default"))
    (said,) = refused.value.more
    assert said.startswith(f"IBMPowerVSCluster default/a: {told}")
    assert "should match" not in said


async def test_a_misspelt_field_comes_with_the_one_that_was_meant(client: KubeClient, tmp_path: Path) -> None:
    """Wherever it is: in the spec, in an item of a list, in metadata; and nothing where there is nothing like it."""
    (tmp_path / "a.yaml").write_text(
        """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: a, lables: {}}
spec:
  regoin: us-east-1
  colour: red
  network: {subnets: [{id: one, availabiltyZone: us-east-1a}]}
  additionalTags: {any: name}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
dta: {}
"""
    )
    with pytest.raises(CliError) as refused:
        await apply(client, await targets(client, read(str(tmp_path / "a.yaml")), "default"))
    assert set(refused.value.more) == {
        "AWSCluster default/a: metadata.lables: unknown field; did you mean labels?",
        "AWSCluster default/a: spec.regoin: unknown field; did you mean region?",
        "AWSCluster default/a: spec.colour: unknown field",
        "AWSCluster default/a: spec.network.subnets[0].availabiltyZone: unknown field; did you mean availabilityZone?",
        "ConfigMap default/b: dta: unknown field",
    }


def test_a_pattern_of_another_kind_is_left_as_the_server_words_it() -> None:
    message = "Invalid value: \"a\": spec.x in body should match '^b$'"
    assert _reword(message) == message
