"""No tag of a spec gives a stranger's resource to a cluster, nor one of ours to another cluster."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.spec_checks import protected_tags
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access
from harness.aws_bases import BASES, facts_of
from harness.aws_specs import NAMES, REGION, Spec, cluster, decide

OTHERS = {
    "kubernetes.io/cluster/victim": "shared", "kubernetes.io/role/elb": "1", "elbv2.k8s.aws/cluster": "victim",
    "KubernetesCluster": "victim", "karpenter.sh/discovery": "victim", "sigs.k8s.io/x": "y",
}  # fmt: skip
"""Keys by which controllers of clusters choose resources."""
REFUSED = {
    "aws:x": "y", "freehold.dev/owner": "default/victim",
    "sigs.k8s.io/cluster-api-provider-aws/cluster/victim": "owned", "kubernetes.io/cluster/victim": "owned",
}  # fmt: skip
"""Tags that no resource may have."""
SUBNET = {"id": "a", "availabilityZone": f"{REGION}a", "cidrBlock": "10.0.0.0/24", "isPublic": True}


def said(spec: Spec, base: str = "least") -> list[str]:
    """The fields that are refused."""
    found = decide(NAMES, cluster({"region": REGION, **spec}), facts_of(base))
    return [] if isinstance(found, Decided) else [each.field for each in getattr(found, "problems", ())]


@pytest.mark.parametrize("key", OTHERS)
def test_a_strangers_subnet_gets_no_key_that_controllers_decide_by(key: str) -> None:
    spec = {**BASES["given VPC"], "additionalTags": {key: OTHERS[key], "team": "red"}}
    assert access(AWS, key, IgnoreList()) is KeyAccess.PROTECTED
    assert said(spec, "given VPC") == [f"spec.additionalTags[{key}]"]
    assert said({"additionalTags": {key: OTHERS[key]}}) == [], "what is ours may have it"


@pytest.mark.parametrize("key", REFUSED)
@pytest.mark.parametrize("base", ["least", "given VPC"])
def test_no_resource_is_given_to_another_cluster(key: str, base: str) -> None:
    tags = {key: REFUSED[key]}
    assert said({**BASES[base], "additionalTags": tags}, base) == [f"spec.additionalTags[{key}]"]


@pytest.mark.parametrize("key", REFUSED)
def test_no_subnet_is_either(key: str) -> None:
    network = {"subnets": [{**SUBNET, "tags": {key: REFUSED[key]}}]}
    assert said({"network": network}) == [f"spec.network.subnets[0].tags[{key}]"]


@pytest.mark.parametrize("value", ["owned", "shared"])
@pytest.mark.parametrize("base", ["least", "given VPC"])
def test_the_clusters_own_key_may_be_written(base: str, value: str) -> None:
    """OpenShift's installer writes ``owned``; a given subnet gets ``shared`` whatever is written."""
    key = f"kubernetes.io/cluster/{NAMES.cluster}"
    assert said({**BASES[base], "additionalTags": {key: value}}, base) == []


def test_a_manifest_into_which_upstream_wrote_its_own_tags_is_taken() -> None:
    tags = {
        "Name": f"{NAMES.cluster}-subnet-public", f"kubernetes.io/cluster/{NAMES.cluster}": "owned",
        f"sigs.k8s.io/cluster-api-provider-aws/cluster/{NAMES.cluster}": "owned", "kubernetes.io/role/elb": "1",
        "sigs.k8s.io/cluster-api-provider-aws/role": "public",
    }  # fmt: skip
    assert said({"network": {"subnets": [{**SUBNET, "tags": tags}]}}) == []


def test_tags_of_one_subnet_and_of_all_resources_are_counted_together() -> None:
    spec: dict[str, Any] = {"additionalTags": {f"a{number}": "" for number in range(30)}}
    spec["network"] = {"subnets": [{**SUBNET, "tags": {f"b{number}": "" for number in range(11)}}]}
    assert said(spec) == ["spec.network.subnets[0].tags"]
    del spec["network"]["subnets"][0]["tags"]["b0"]
    assert said(spec) == []


@pytest.mark.parametrize(
    ("key", "refused"), [("kubernetes.io.cluster", True), ("x.K8s.io:role", True), ("team", False)]
)
def test_on_ibm_cloud_no_tag_says_it_either(key: str, refused: bool) -> None:
    """Its tags are on existing resources, too, which a name finds when the cluster is made."""
    spec = IBMPowerVSClusterSpec.model_validate({"tags": [{"key": "a"}, {"key": key, "value": "victim"}]})
    assert [each.field for each in protected_tags(spec)] == (["spec.tags[1].key"] if refused else [])
    assert ibm_names.TAG_PREFIX not in key
