"""Images as the upstream provider looks them up, and the parameters of SSM that name those of EKS."""

from typing import Any

import pytest

from harness.rows import over_rows
from harness.simulated_aws import refused

CAPA = "819546954734"
MINORS = [f"1.{minor}" for minor in range(30, 37)]


def _images(sim: Any, **filters: str) -> list[dict[str, Any]]:
    asked = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
    return list(sim.ec2.describe_images(Filters=asked)["Images"])


@pytest.mark.parametrize(
    ("owner", "filters"),
    [
        ("819546954734", {"name": "capa-ami-ubuntu-24.04-?1.35.2-*"}),
        ("258751437250", {"name": "capa-ami-ubuntu-20.04-?1.28.3-*"}),
        ("099720109477", {"description": "Canonical??Ubuntu??24.04??amd64?noble?image*"}),
        ("099720109477", {"description": "Canonical??Ubuntu??20.04?LTS??amd64?focal?image*"}),
    ],
    ids=["a machine", "one of an older release", "a bastion", "a bastion of an older release"],
)
def test_the_image_that_the_upstream_provider_looks_up_is_there(sim: Any, owner: str, filters: dict[str, str]) -> None:
    """https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/ec2/ami.go"""
    every = {
        "owner-id": owner, "architecture": "x86_64", "state": "available", "virtualization-type": "hvm", **filters,
    }  # fmt: skip
    asked = [{"Name": name, "Values": [value]} for name, value in every.items()]
    (found,) = sim.ec2.describe_images(Filters=asked)["Images"]
    assert found["OwnerId"] == owner


@over_rows("minor", MINORS)
@over_rows("architecture", ["x86_64", "arm64"])
@pytest.mark.parametrize(
    ("system", "device"),
    [("ubuntu-22.04", "/dev/sda1"), ("ubuntu-24.04", "/dev/sda1"), ("flatcar-stable", "/dev/xvda")],
)
def test_each_release_has_an_image_of_each_system(
    sim: Any, system: str, device: str, architecture: str, minor: str
) -> None:
    for patch in range(3):
        found = _images(sim, owner_id=CAPA, architecture=architecture, name=f"capa-ami-{system}-?{minor}.{patch}-*")
        assert found
        assert {row["RootDeviceName"] for row in found} == {device}


def test_the_newest_builds_of_a_release_are_told_apart_by_their_ids_alone(sim: Any) -> None:
    found = _images(sim, owner_id=CAPA, architecture="x86_64", name="capa-ami-ubuntu-24.04-?1.33.0-*")
    days = sorted(row["CreationDate"] for row in found)
    assert len(found) == 3
    assert days[0] < days[1] == days[2]
    newest = [row["ImageId"] for row in found if row["CreationDate"] == days[-1]]
    assert newest != sorted(newest), "who takes the first of a list takes the larger id"


@over_rows("minor", MINORS)
@over_rows("variant", ["standard", "nvidia"])
@over_rows("architecture", ["x86_64", "arm64"])
def test_a_parameter_names_the_image_of_eks(sim: Any, minor: str, variant: str, architecture: str) -> None:
    """https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html"""
    name = f"/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/{architecture}/{variant}/recommended/image_id"
    ident = sim.ssm.get_parameter(Name=name)["Parameter"]["Value"]
    (image,) = sim.ec2.describe_images(ImageIds=[ident])["Images"]
    assert (image["Architecture"], image["ImageOwnerAlias"]) == (architecture, "amazon")
    assert f"-{variant}-{minor}-v" in image["Name"]


@pytest.mark.parametrize("system", ["amazon-linux-2", "amazon-linux-2-arm64", "amazon-linux-2-gpu"])
def test_amazon_linux_2_ends_with_kubernetes_1_32(sim: Any, system: str) -> None:
    """https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html"""
    found = sim.ssm.get_parameter(Name=f"/aws/service/eks/optimized-ami/1.32/{system}/recommended/image_id")
    assert found["Parameter"]["Value"].startswith("ami-")
    with refused("ParameterNotFound"):
        sim.ssm.get_parameter(Name=f"/aws/service/eks/optimized-ami/1.33/{system}/recommended/image_id")
