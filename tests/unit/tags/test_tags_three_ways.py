"""One tag, three verdicts: of the schema when it is applied, of the controller, and of the cloud when it is written.

A tag that one of them takes and another one does not would be stored and never applied, or never stored. Where they
differ on purpose the reason is in ``STRICTER``, and the cloud is the one that takes more.
Source: docs/reference/metadata-compat.md#limits-and-legal-tags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from freehold.api.structural import build_structural_schema
from freehold.engine.errors import CloudError
from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.aws.types.metadata import AWSMetadata
from freehold.providers.ibm.tag_dialect import IBM, ibm_tag_name
from freehold.providers.ibm.types.metadata import IBMMetadata
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.operations import Opcode, operation
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access
from freehold.tags.policy.validation import problems
from freehold_apiserver.custom import CustomStrategy
from freehold_sim.aws.settings import Settings
from freehold_sim.ibm.settings import Lags
from freehold_sim.ibm.settings import Settings as IbmSettings
from harness.account import Account
from harness.simulated_aws import Sim
from harness.stepping import run_blocking

Difference = Callable[[str, str], bool]
STRATEGIES = {
    cloud: CustomStrategy(build_structural_schema(model), has_status=True)
    for cloud, model in ((AWS, AWSMetadata), (IBM, IBMMetadata))
}


def schema_takes(cloud: TagDialect, tags: Mapping[str, str]) -> bool:
    """As an API server enforces it, the CEL rules too."""
    name = cloud.name
    kind = f"{name.upper()}Metadata"
    obj = {"apiVersion": f"metadata-controller.{name}.io/v1alpha1", "kind": kind, "metadata": {"name": "a"}}
    obj["spec"] = {"resourcetags": dict(tags)}
    STRATEGIES[cloud].decode(obj)
    return not list(STRATEGIES[cloud].validate(obj, None))


def controller_takes(cloud: TagDialect, tags: Mapping[str, str]) -> bool:
    return not problems(cloud, [operation(Opcode.UPDATE, tags)], None, "spec")


@cache
def _balancer() -> tuple[Sim, str]:
    """Its service states which characters a tag has, in its service model; EC2 takes any."""
    sim = Sim(Settings())
    _, subnets = sim.network()
    return sim, sim.balancer(subnets)


def aws_takes(tags: Mapping[str, str]) -> bool:
    """By the call that the controller sends."""
    sim, arn = _balancer()
    sim.cloud.strangers.strip(arn)
    request = {"ResourceARNList": [arn], "Tags": dict(tags)}
    try:
        reply = sim.cloud.strangers.call("resourcegroupstaggingapi", "TagResources", request)
    except ValueError:
        return False
    if not (failed := bool(reply["FailedResourcesMap"])):
        assert sim.cloud.strangers.find(arn)["tags"] == tags
    return not failed


@cache
def _group() -> tuple[Account, str]:
    account = Account(IbmSettings(lags=Lags.none()))
    strangers = account.cloud.strangers
    vpc = strangers.make("vpc", region="eu-de", name="a")["id"]
    return account, str(strangers.make("security-group", region="eu-de", vpc=vpc, name="a")["crn"])


def ibm_takes(tags: Mapping[str, str]) -> bool:
    account, crn = _group()
    try:
        names = [ibm_tag_name(key, value) for key, value in tags.items()]
        return not run_blocking(account.tagger.send("attach_tag", names, [crn], update=False))
    except CloudError:
        return False


def verdicts(cloud: TagDialect, key: str, value: str) -> tuple[bool, bool, bool]:
    tags = {key: value}
    written = aws_takes(tags) if cloud is AWS else ibm_takes(tags)
    return schema_takes(cloud, tags), controller_takes(cloud, tags), written


def _protected(cloud: TagDialect) -> Difference:
    return lambda key, value: access(cloud, key, IgnoreList()) is KeyAccess.PROTECTED


STRICTER: Mapping[TagDialect, Mapping[str, Difference]] = {
    AWS: {"by such keys collectors decide what to delete": _protected(AWS)},
    IBM: {
        "by such keys collectors decide what to delete": _protected(IBM),
        "the cloud takes outer spaces off: another tag would be read back": (
            lambda key, value: (key, value) != (key.strip(" "), value.strip(" "))
        ),
        "the first colon ends the key: another key would be read back": lambda key, value: ":" in key,
        "without a key the value would be read back as the key, or the tag as nothing": lambda key, value: not key,
    },
}
"""What the schema and the controller refuse though the cloud takes it, by the reason."""


def agree(cloud: TagDialect, key: str, value: str) -> None:
    schema, controller, written = verdicts(cloud, key, value)
    assert schema is controller
    if controller is not written:
        assert not controller
        assert [why for why, differs in STRICTER[cloud].items() if differs(key, value)]


FAMILIAR = st.text(st.sampled_from("aZ9 _.:/=+-@\n\t\x00\x7f#,;é\u00a0\u2028\u0301ſKſßİ٣Ⅷ€\U0001f600部"), max_size=6)
ANY = st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=6)
"""Without what no version of Unicode has assigned: the schema's engine may know a later one."""
HEADS = st.sampled_from(
    ["", "aws:", "AwS:", "awſ:", "eks:", "Kubernetes.IO/", "x.k8s.io:", "not-k8s.io", "my.karpenter.ſh"]
)


def lengths(*sizes: int) -> st.SearchStrategy[str]:
    return st.builds(lambda letter, size: letter * size, st.sampled_from("aé"), st.sampled_from(sizes))


def tags(*bounds: int) -> st.SearchStrategy[str]:
    text = FAMILIAR | ANY | lengths(*bounds)
    return text | st.builds(str.__add__, HEADS, text)


AWS_TEXT = tags(0, 1, 127, 128, 129, 255, 256, 257)
IBM_TEXT = tags(0, 1, 2, 63, 64, 65, 125, 126, 127, 128, 129)


@given(AWS_TEXT, AWS_TEXT)
@example("k", "€")
@example("€", "v")
@example("k", "aws:v")
@example("k\n", "v\n")
@example("my.karpenter.ſh ", "v")
@example("\u2028KubernetesCluster", "v")
@example("kubernetescluﬆer", "v")
def test_schema_controller_and_aws_give_one_verdict(key: str, value: str) -> None:
    agree(AWS, key, value)


@given(IBM_TEXT, IBM_TEXT)
@example("k" * 128, "")
@example("k" * 127, "v")
@example("k" * 63, "v" * 65)
@example("k\n", "v\n")
def test_schema_controller_and_ibm_cloud_give_one_verdict(key: str, value: str) -> None:
    agree(IBM, key, value)


SHOWN = {
    AWS: [("kubernetes.io/cluster/a", "owned")],
    IBM: [("powervs.cluster.x-k8s.io.owner", "v"), ("a ", "v"), ("a:b", "v"), ("", "v")],
}


@pytest.mark.parametrize(("cloud", "place"), [(cloud, n) for cloud, rows in SHOWN.items() for n in range(len(rows))])
def test_each_reason_for_a_difference_is_one(cloud: TagDialect, place: int) -> None:
    """The list above excuses nothing that does not happen."""
    assert verdicts(cloud, *SHOWN[cloud][place]) == (False, False, True)
    assert len(SHOWN[cloud]) == len(STRICTER[cloud])
    assert list(STRICTER[cloud].values())[place](*SHOWN[cloud][place])


def test_of_unicode_twins_the_controller_alone_says_no() -> None:
    """CEL has no normal forms, and the cloud takes the keys for two."""
    twins = {"caf\u00e9": "a", "cafe\u0301": "b"}
    assert not controller_takes(AWS, twins)
