"""What AWSMachine says of an instance, and AWSCluster of its bastion: addresses, volumes, options.

Names, defaults and enums are upstream's, so that every object that upstream accepts is accepted and keeps its fields.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, Int64
from freehold.providers.aws.types.network import Tags

Switch = Literal["enabled", "disabled"]


class MachineAddress(ApiModel):
    """An address of a machine."""

    address: Annotated[str, Field(min_length=1, max_length=256)]
    """The address."""
    type: Literal["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]
    """What kind of address it is."""


class CPUOptions(ApiModel):
    """Options of the processor."""

    confidential_compute: Literal["Disabled", "AMDEncryptedVirtualizationNestedPaging"] | None = None
    """Confidential computing."""
    nested_virtualization: Switch | None = None
    """Nested virtualization."""


class DynamicHostAllocation(ApiModel):
    """A dedicated host."""

    tags: Tags = Field(default_factory=dict)
    """Its tags."""


class InstanceMetadataOptions(ApiModel):
    """The instance metadata service."""

    http_endpoint: Switch = "enabled"
    """Whether it answers."""
    http_protocol_ipv6: Annotated[Switch, Field(alias="httpProtocolIpv6")] = "disabled"
    """Whether it answers over IPv6."""
    http_put_response_hop_limit: Annotated[Int64, Field(ge=1, le=64)] = 1
    """How many hops away it can be asked."""
    http_tokens: Literal["optional", "required"] = "optional"
    """Whether a session token is needed."""
    instance_metadata_tags: Switch = "disabled"
    """Whether it shows tags."""


class Volume(ApiModel):
    """A volume."""

    device_name: str | None = None
    """Its device."""
    encrypted: bool | None = None
    """Whether it is encrypted."""
    encryption_key: str | None = None
    """With which key."""
    iops: Int64 | None = None
    """Operations a second."""
    size: Annotated[Int64, Field(ge=8)]
    """GiB."""
    throughput: Int64 | None = None
    """MiB a second."""
    type: str | None = None
    """Its type."""


class PrivateDNSName(ApiModel):
    """How the instance is named in DNS."""

    enable_resource_name_dns_aaaa_record: Annotated[bool | None, Field(alias="enableResourceNameDnsAAAARecord")] = None
    """Whether its id has an AAAA record."""
    enable_resource_name_dns_a_record: Annotated[bool | None, Field(alias="enableResourceNameDnsARecord")] = None
    """Whether its id has an A record."""
    hostname_type: Literal["ip-name", "resource-name"] | None = None
    """What its name is made of."""


class SpotMarketOptions(ApiModel):
    """A spot instance."""

    max_price: str | None = None
    """The most that is paid for an hour."""
