"""``AWSMachine`` v1beta2: the spec.

Every object that upstream accepts is accepted here and keeps its fields (its schema is test data in
``tests/data/upstream/capa``). What of it is acted on: :mod:`freehold.providers.aws.machine.types.fields`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, Int32, Int64, Items
from freehold.api.rules import LIST_LIMIT, TEXT_LIMIT
from freehold.providers.aws.api_names import AWS_TAG_LIMIT
from freehold.providers.aws.machine.types import rules
from freehold.providers.aws.machine.types.status import AWSMachineStatus
from freehold.providers.aws.types.instance import (
    CPUOptions,
    DynamicHostAllocation,
    InstanceMetadataOptions,
    PrivateDNSName,
    SpotMarketOptions,
    Volume,
)
from freehold.providers.aws.types.network import ElasticIPPool

Text = Annotated[str, Field(max_length=TEXT_LIMIT)]
UserTags = Annotated[dict[str, Text], Field(max_length=AWS_TAG_LIMIT)]


class RootVolume(Volume):
    """The volume that the instance boots from."""

    RULES = rules.VOLUME_RULES


class OtherVolume(Volume):
    """A volume beside the root volume."""

    RULES = rules.OTHER_VOLUME_RULES


class WantedSpotOptions(SpotMarketOptions):
    """A spot instance: cheaper, and taken back by AWS when it needs the capacity."""

    RULES = rules.SPOT_RULES

    max_price: Text | None = None
    """The most that is paid for an hour, in dollars; the price on demand when omitted."""


class ResourceFilter(ApiModel):
    """A filter of EC2."""

    name: str
    """Its name, for example ``tag:team``."""
    values: Items[str]
    """Values, one of which must fit."""


class SubnetReference(ApiModel):
    """A subnet, by id or by filters."""

    RULES = rules.SUBNET_RULES

    filters: Items[ResourceFilter] = ()
    """What it must fit; the first one that does is used."""
    id: Text | None = None
    """Its id."""


class GroupReference(ApiModel):
    """Security groups, by id or by filters."""

    RULES = rules.GROUP_RULES

    filters: Items[ResourceFilter] = ()
    """What they must fit; all that do are used."""
    id: Text | None = None
    """The id of one."""


class ImageReference(ApiModel):
    """An image, by id."""

    RULES = rules.IMAGE_RULES

    eks_lookup_type: Literal["AmazonLinux", "AmazonLinuxGPU", "AmazonLinux2023", "AmazonLinux2023GPU"] | None = None
    """Use Amazon's image for EKS of this sort, in the Machine's Kubernetes version."""
    id: Text | None = None
    """Its id; looked up by the Machine's Kubernetes version when omitted."""


class CloudInit(ApiModel):
    """How the bootstrap data reach an instance that boots with cloud-init."""

    RULES = rules.CLOUD_INIT_RULES

    insecure_skip_secrets_manager: bool | None = None
    """Put them into user data, which whoever may describe instances can read; without it they lie in AWS Secrets
    Manager until the instance has read them."""
    secret_count: Int32 | None = None
    """Filled in by upstream."""
    secret_prefix: str | None = None
    """Filled in by upstream."""
    secure_secrets_backend: Literal["secrets-manager", "ssm-parameter-store"] | None = None
    """Where they lie; Secrets Manager when omitted."""


class IgnitionProxy(ApiModel):
    """The proxy of Ignition."""

    http_proxy: Annotated[str | None, Field(alias="httpProxy")] = None
    """URL for HTTP."""
    https_proxy: Annotated[str | None, Field(alias="httpsProxy")] = None
    """URL for HTTPS."""
    no_proxy: Annotated[Items[str], Field(max_length=64)] = ()
    """Hosts that are reached without it."""


class IgnitionTLS(ApiModel):
    """Certificate authorities of Ignition."""

    certificate_authorities: Annotated[Items[str], Field(max_length=64)] = ()
    """Where their certificates are."""


class Ignition(ApiModel):
    """How the bootstrap data reach an instance that boots with Ignition."""

    proxy: IgnitionProxy | None = None
    """Its proxy."""
    storage_type: Literal["ClusterObjectStore", "UnencryptedUserData"] = "ClusterObjectStore"
    """Where the data lie."""
    tls: IgnitionTLS | None = None
    """Whom it trusts."""
    version: Literal["2.3", "3.0", "3.1", "3.2", "3.3", "3.4"] | None = None
    """Its version."""


class AWSMachineSpec(ApiModel):
    """The desired instance. Once there is one, only tags and additional security groups can change."""

    RULES = rules.MACHINE_RULES

    additional_security_groups: Annotated[Items[GroupReference], Field(max_length=LIST_LIMIT)] = ()
    """Security groups beside those of the cluster."""
    additional_tags: UserTags = Field(default_factory=dict)
    """Tags for the instance, its volumes and its interface; they win over the cluster's."""
    ami: ImageReference | None = None
    """The image; looked up by the Machine's Kubernetes version when omitted."""
    assign_primary_ipv6: Annotated[Literal["enabled", "disabled"] | None, Field(alias="assignPrimaryIPv6")] = None
    """Whether it gets an IPv6 address; where its subnet has a range when omitted."""
    capacity_reservation_id: Annotated[str | None, Field(alias="capacityReservationId")] = None
    """A capacity reservation to be used."""
    capacity_reservation_preference: Literal["", "None", "CapacityReservationsOnly", "Open"] | None = None
    """Which capacity reservations may be used."""
    cloud_init: CloudInit | None = None
    """How bootstrap data reach it."""
    cpu_options: Annotated[CPUOptions, Field(json_schema_extra={"minProperties": 1})] | None = None
    """Options of its processor."""
    dynamic_host_allocation: DynamicHostAllocation | None = None
    """A dedicated host that is made for it."""
    elastic_ip_pool: ElasticIPPool | None = None
    """A pool that its public address is from."""
    host_affinity: Literal["default", "host"] = "default"
    """How it is bound to its dedicated host."""
    host_id: Annotated[
        Annotated[str, Field(max_length=19, pattern="^h-[0-9a-f]{17}$")] | None, Field(alias="hostID")
    ] = None
    """Its dedicated host."""
    iam_instance_profile: Annotated[str | None, Field(alias="iamInstanceProfile")] = None
    """Name of its instance profile, with which it calls AWS; none when omitted."""
    ignition: Ignition | None = None
    """How bootstrap data reach it, if it boots with Ignition."""
    image_lookup_base_os: Annotated[str | None, Field(alias="imageLookupBaseOS")] = None
    """Operating system of the image that is looked up; the cluster's, else ubuntu-24.04 when omitted."""
    image_lookup_format: str | None = None
    """How that image is named; ``{{.BaseOS}}`` and ``{{.K8sVersion}}`` are replaced. The cluster's when omitted."""
    image_lookup_org: str | None = None
    """The account that has that image; the cluster's, else upstream's when omitted."""
    instance_id: Annotated[str | None, Field(alias="instanceID")] = None
    """Its id. Filled in."""
    instance_metadata_options: InstanceMetadataOptions | None = None
    """Its metadata service; as the image, or the account, has it when omitted."""
    instance_type: Annotated[str, Field(min_length=2)]
    """Its type, for example m5.large."""
    market_type: Literal["OnDemand", "Spot", "CapacityBlock"] | None = None
    """How it is paid for; on demand when omitted."""
    network_interface_type: Literal["interface", "efa"] | None = None
    """The type of its interface."""
    network_interfaces: Annotated[Items[str], Field(max_length=2)] = ()
    """Interfaces that are there already."""
    non_root_volumes: Annotated[Items[OtherVolume], Field(max_length=LIST_LIMIT)] = ()
    """Volumes beside the root volume. They are deleted with it."""
    placement_group_name: str | None = None
    """The placement group that it is in."""
    placement_group_partition: Annotated[Int64, Field(ge=1, le=7)] | None = None
    """Its partition there."""
    private_dns_name: Annotated[PrivateDNSName | None, Field(alias="privateDnsName")] = None
    """How it is named in DNS."""
    provider_id: Annotated[Text | None, Field(alias="providerID")] = None
    """The instance, ``aws:///<zone>/<id>``. Filled in; one that is given is used as it is and never terminated."""
    public_ip: Annotated[bool | None, Field(alias="publicIP")] = None
    """Whether it is in a public subnet and has a public address; as its subnet says when omitted."""
    root_volume: RootVolume | None = None
    """Its root volume; as its image has it when omitted."""
    security_group_overrides: dict[str, str] = Field(default_factory=dict)
    """Security groups in place of the cluster's, by role."""
    spot_market_options: WantedSpotOptions | None = None
    """Make it a spot instance."""
    ssh_key_name: Text | None = None
    """Name of an SSH key in AWS; the cluster's, else ``default`` when omitted, none when empty."""
    subnet: SubnetReference | None = None
    """Its subnet; one of the cluster's when omitted."""
    tenancy: Literal["default", "dedicated", "host"] | None = None
    """Whether its hardware is its own."""
    uncompressed_user_data: bool | None = None
    """Do not compress user data."""


class AWSMachine(ApiModel):
    """An EC2 instance that becomes a node of its cluster."""

    RULES = rules.OBJECT_RULES

    spec: AWSMachineSpec | None = None
    """The desired instance."""
    status: AWSMachineStatus | None = None
    """The observed state; written by the operator."""
