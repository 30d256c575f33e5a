"""CAPA's tags, resource by resource, as its own code builds them (kubernetes-sigs/cluster-api-provider-aws)."""

from __future__ import annotations

from freehold.providers.aws.tags import capa_tags as capa
from freehold.providers.aws.types.rules import aws_tag_problems
from harness.rows import over_rows

OWN = {"sigs.k8s.io/cluster-api-provider-aws/cluster/c": "owned"}
CLOUD_PROVIDER = {"kubernetes.io/cluster/c": "owned"}


def _role(role: str) -> dict[str, str]:
    return {**OWN, "sigs.k8s.io/cluster-api-provider-aws/role": role}


EXACT: dict[str, tuple[capa.CapaTags, dict[str, str]]] = {
    "vpc": (capa.vpc("c"), {"Name": "c-vpc", **_role("common")}),
    "public subnet": (
        capa.subnet("c", capa.Reach.PUBLIC, "us-east-1a"),
        {"Name": "c-subnet-public-us-east-1a", "kubernetes.io/role/elb": "1", **CLOUD_PROVIDER, **_role("public")},
    ),
    "private subnet": (
        capa.subnet("c", capa.Reach.PRIVATE, "us-east-1a"),
        {
            "Name": "c-subnet-private-us-east-1a", "kubernetes.io/role/internal-elb": "1", **CLOUD_PROVIDER,
            **_role("private"),
        },
    ),
    "subnet in a local zone": (
        capa.subnet("c", capa.Reach.PUBLIC, "us-east-1-nyc-1a", edge=True),
        {"Name": "c-subnet-public-us-east-1-nyc-1a", **CLOUD_PROVIDER, **_role("public")},
    ),
    "secondary subnet": (
        capa.subnet("c", capa.Reach.PRIVATE, "us-east-1a", edge=True, secondary=True),
        {
            "Name": "c-subnet-private-us-east-1a", **CLOUD_PROVIDER, **_role("private"),
            "sigs.k8s.io/cluster-api-provider-aws/association": "secondary",
        },
    ),
    "internet gateway": (capa.internet_gateway("c"), {"Name": "c-igw", **_role("common")}),
    "egress-only gateway": (capa.egress_only_gateway("c"), {"Name": "c-eigw", **_role("common")}),
    "elastic IP": (capa.elastic_ip("c"), {"Name": "c-eip-common", **_role("common")}),
    "elastic IP of the API server": (
        capa.elastic_ip("c", capa.APISERVER), {"Name": "c-eip-apiserver", **_role("apiserver")},
    ),
    "NAT gateway": (capa.nat_gateway("c"), {"Name": "c-nat", **_role("common")}),
    "route table": (
        capa.route_table("c", capa.Reach.PRIVATE, "us-east-1a"),
        {"Name": "c-rt-private-us-east-1a", **CLOUD_PROVIDER, **_role("common")},
    ),
    "security group": (capa.security_group("c", "controlplane"), {"Name": "c-controlplane", **_role("controlplane")}),
    "security group of load balancers": (
        capa.security_group("c", "lb"), {"Name": "c-lb", **CLOUD_PROVIDER, **_role("lb")},
    ),
    "endpoint": (capa.vpc_endpoint(), _role("common")),
    "load balancer": (capa.load_balancer("c-apiserver"), {"Name": "c-apiserver", **_role("apiserver")}),
    "bastion": (capa.bastion("c"), {"Name": "c-bastion", **_role("bastion")}),
    "bucket": (capa.bucket(), _role("node")),
}  # fmt: skip


@over_rows("what", EXACT)
def test_the_tags_are_capas(what: str) -> None:
    resource, expected = EXACT[what]
    assert resource.to_tags("c") == expected
    assert all(not list(aws_tag_problems(key, value)) for key, value in expected.items())


def test_a_user_may_rename_but_not_take_it_out_of_the_cluster() -> None:
    """CAPA leaked instances whose ``Name`` a user had set (CAPA#4629); to us a name is nothing."""
    user = {"Name": "mine", "team": "a", capa.ROLE: "other", capa.cluster_key("c"): "shared"}
    assert capa.vpc("c").to_tags("c", user) == {"Name": "mine", "team": "a", **_role("common")}


def test_a_given_subnet_is_shared() -> None:
    assert capa.given_subnet("c", capa.Reach.PRIVATE) == {
        "kubernetes.io/cluster/c": "shared", "kubernetes.io/role/internal-elb": "1",
    }  # fmt: skip
