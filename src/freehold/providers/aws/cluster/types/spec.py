"""``AWSCluster`` v1beta2: the spec.

Every object that upstream accepts is accepted here and keeps its fields (its schema is test data in
``tests/data/upstream/capa``). What of it is acted on: :mod:`freehold.providers.aws.cluster.types.fields`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from freehold.api import patterns
from freehold.api.base import ApiModel, Items
from freehold.api.endpoint import APIEndpoint
from freehold.api.rules import TEXT_LIMIT
from freehold.providers.aws.api_names import AWS_TAG_LIMIT
from freehold.providers.aws.cluster.types.status import AWSClusterStatus
from freehold.providers.aws.types import kept as aws_kept
from freehold.providers.aws.types import rules as aws_rules
from freehold.providers.aws.types.identity import AWSIdentityReference
from freehold.providers.aws.types.load_balancer import AWSLoadBalancerSpec
from freehold.providers.aws.types.network import Cidrs, NetworkSpec

UserTags = Annotated[dict[str, Annotated[str, Field(max_length=TEXT_LIMIT)]], Field(max_length=AWS_TAG_LIMIT)]


class Bastion(ApiModel):
    """A machine with a public address, to reach the private network."""

    RULES = aws_rules.BASTION_RULES

    allowed_cidr_blocks: Annotated[Cidrs, Field(alias="allowedCIDRBlocks")] = ()
    """Ranges that may reach it with SSH; all when omitted."""
    ami: str | None = None
    """Its image; Ubuntu's newest when omitted."""
    disable_ingress_rules: bool | None = None
    """Let nobody reach it."""
    enabled: bool | None = None
    """Whether there is one."""
    instance_type: str | None = None
    """Its type; t3.micro when omitted, in us-east-1 t2.micro."""


class AdditionalIAMRole(ApiModel):
    """A role that may read some of the bootstrap data."""

    name: str
    """Its name."""
    prefix: str
    """How the keys of what it may read begin."""


class S3Bucket(ApiModel):
    """A bucket for the bootstrap data of machines that boot with Ignition."""

    RULES = aws_rules.BUCKET_RULES

    additional_iam_roles: Annotated[Items[AdditionalIAMRole], Field(alias="additionalIAMRoles")] = ()
    """Roles that may read some of the data; a field of upstream's v2.13."""
    best_effort_delete_objects: bool | None = None
    """Ignore refusals when objects are deleted."""
    control_plane_iam_instance_profile: Annotated[str | None, Field(alias="controlPlaneIAMInstanceProfile")] = None
    """Instance profile that may read the control plane's data."""
    name: Annotated[str, Field(min_length=3, max_length=63, pattern=patterns.COS_NAME)]
    """Its name, unique in the world."""
    nodes_iam_instance_profiles: Annotated[Items[str], Field(alias="nodesIAMInstanceProfiles")] = ()
    """Instance profiles that may read the nodes' data."""
    presigned_url_duration: Annotated[
        Annotated[str, Field(max_length=TEXT_LIMIT)] | None, Field(alias="presignedURLDuration")
    ] = None
    """How long presigned URLs are valid; the instance profiles are then not used."""


class AWSClusterSpec(ApiModel):
    """The desired infrastructure of the cluster."""

    RULES = (*aws_rules.CLUSTER_RULES, *aws_rules.TAG_RULES)
    IS_EKS: ClassVar[bool] = False
    """Whether EKS runs the control plane: there are no machines of it, and no load balancers in front of them."""

    additional_tags: UserTags = Field(default_factory=dict)
    """Tags for every resource of the cluster, at most 40: 50 is the limit of AWS, and ours are among them."""
    bastion: Bastion | None = None
    """A machine with a public address; none when omitted."""
    control_plane_endpoint: APIEndpoint | None = None
    """The endpoint of the API server of the cluster. Filled in from the load balancer; a value that the user has set is
    never overwritten."""
    control_plane_load_balancer: AWSLoadBalancerSpec | None = None
    """The load balancer in front of the control plane; a classic one when omitted."""
    identity_ref: AWSIdentityReference | None = None
    """With which identity AWS is called; AWSClusterControllerIdentity ``default`` when omitted."""
    image_lookup_base_os: Annotated[str | None, Field(alias="imageLookupBaseOS")] = None
    """For machines: operating system of the image."""
    image_lookup_format: str | None = None
    """For machines: how the image is named."""
    image_lookup_org: str | None = None
    """For machines: whose image it is."""
    network: NetworkSpec | None = None
    """The network; created when omitted."""
    partition: str | None = None
    """The AWS partition; derived from the region when omitted."""
    region: Annotated[str, Field(max_length=TEXT_LIMIT)] | None = None
    """The AWS region, for example ``eu-central-1``. Must not change once there are resources."""
    s3_bucket: Annotated[S3Bucket | None, Field(alias="s3Bucket")] = None
    """A bucket for Ignition; none when omitted. Acted on with feature gate BootstrapFormatIgnition."""
    secondary_control_plane_load_balancer: AWSLoadBalancerSpec | None = None
    """One more load balancer in front of the control plane, a network load balancer of the other scheme."""
    ssh_key_name: str | None = None
    """Name of an SSH key in AWS, for the bastion; ``default`` when omitted, none when empty."""


class AWSCluster(ApiModel):
    """The cloud infrastructure of one cluster on AWS."""

    RULES = aws_kept.OBJECT_RULES

    spec: AWSClusterSpec = Field(default_factory=AWSClusterSpec)
    """The desired infrastructure of the cluster."""
    status: AWSClusterStatus | None = None
    """The observed state; written by the operator."""
