"""The parameters of RunInstances from the request of kind ``instance``, and what a reply shows of them. Pure.

Besides those that :mod:`kinds.instance` names, a request may have, each only where it is wanted:

- ``profile``: the name of an instance profile.
- ``root_volume`` and ``volumes`` (one, a list): ``device``, and where wanted ``size`` (GiB), ``type``, ``iops``,
  ``throughput`` (MiB/s), ``encrypted``, ``kms_key``. They go with the instance, unless ``delete_on_termination`` is
  false.
- ``spot``: ``max_price`` (dollars an hour; without it the on-demand price). One request, ended by an interruption.
- ``capacity_block``: true for one that was bought; ``capacity_reservation``: ``id`` or ``preference``.
- ``tenancy``, ``host_id``, ``host_affinity``, ``placement_group``, ``partition``.
- ``metadata``: ``http_endpoint``, ``http_tokens``, ``hop_limit``, ``http_protocol_ipv6``, ``instance_metadata_tags``
  (EC2 refuses ``enabled`` beside tags with a slash in their keys, as ours and CAPA's have:
  https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/work-with-tags-in-IMDS.html).
- ``ipv6``: true for one address; ``primary_ipv6``: it is the interface's for life. ``interface_type``.
- ``cpu``: ``amd_sev_snp``, ``nested_virtualization``; ``hostname``: ``type``, ``a_record``, ``aaaa_record``.

Values are AWS's own words. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freehold.engine.resources import Request
from freehold.providers.aws.calls import Json

CREATE_ONLY = frozenset(
    {
        "user_data", "associate_public_ip_address", "root_volume", "volumes", "spot", "capacity_block",
        "capacity_reservation", "host_affinity", "metadata", "ipv6", "primary_ipv6", "interface_type", "cpu",
        "hostname",
    }
)  # fmt: skip
"""Attributes that a create decides and our reads do not show."""

_DIRECT = {"key_name": "KeyName", "user_data": "UserData"}
_DISK = {
    "size": "VolumeSize", "type": "VolumeType", "iops": "Iops", "throughput": "Throughput", "encrypted": "Encrypted",
    "kms_key": "KmsKeyId",
}  # fmt: skip
_PLACEMENT = {
    "tenancy": "Tenancy", "host_id": "HostId", "host_affinity": "Affinity", "placement_group": "GroupName",
    "partition": "PartitionNumber",
}  # fmt: skip
_METADATA = {
    "http_endpoint": "HttpEndpoint", "http_tokens": "HttpTokens", "hop_limit": "HttpPutResponseHopLimit",
    "http_protocol_ipv6": "HttpProtocolIpv6", "instance_metadata_tags": "InstanceMetadataTags",
}  # fmt: skip
_CPU = {"amd_sev_snp": "AmdSevSnp", "nested_virtualization": "NestedVirtualization"}
_HOSTNAME = {
    "type": "HostnameType", "a_record": "EnableResourceNameDnsARecord", "aaaa_record": "EnableResourceNameDnsAAAARecord"
}  # fmt: skip
_CARD = {
    "associate_public_ip_address": "AssociatePublicIpAddress", "ipv6": "Ipv6AddressCount",
    "primary_ipv6": "PrimaryIpv6", "interface_type": "InterfaceType",
}  # fmt: skip
"""Attributes of the first interface: with one of these, subnet and groups belong there too."""


def parameters_of(request: Request) -> Json:
    """Return the parameters, without the tags, the token and the counts."""
    found: Json = {"ImageId": request["image_id"], "InstanceType": request["instance_type"]}
    found |= {parameter: request[name] for name, parameter in _DIRECT.items() if request.get(name)}
    if request.get("profile"):
        found["IamInstanceProfile"] = {"Name": request["profile"]}
    disks = [each for each in (request.get("root_volume"), *(request.get("volumes") or ())) if each]
    structures: Json = {
        "BlockDeviceMappings": [_disk(each) for each in disks],
        "InstanceMarketOptions": _market(request),
        "CapacityReservationSpecification": _reservation(request.get("capacity_reservation") or {}),
        "Placement": spell_members(request, _PLACEMENT),
        "MetadataOptions": spell_members(request.get("metadata") or {}, _METADATA),
        "CpuOptions": spell_members(request.get("cpu") or {}, _CPU),
        "PrivateDnsNameOptions": spell_members(request.get("hostname") or {}, _HOSTNAME),
    }
    return found | _network(request) | {name: value for name, value in structures.items() if value}


def spell_members(given: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    """Return what is given, under AWS's names: an empty text asks for nothing, ``False`` and 0 are values."""
    return {aws: given[name] for name, aws in names.items() if given.get(name) not in (None, "")}


def _network(request: Request) -> Json:
    subnet, groups = request["subnet_id"], list(request["security_groups"])
    card = spell_members({**request, "ipv6": 1 if request.get("ipv6") else None}, _CARD)
    if not card:
        return {"SubnetId": subnet, "SecurityGroupIds": groups}
    return {"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": subnet, "Groups": groups, **card}]}


def _disk(given: Mapping[str, Any]) -> Json:
    ends = given.get("delete_on_termination", True)
    return {"DeviceName": given["device"], "Ebs": {**spell_members(given, _DISK), "DeleteOnTermination": ends}}


def _market(request: Request) -> Json:
    """Return the market. A persistent request would start another instance after a termination, which nobody owns.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-requests.html
    """
    if request.get("capacity_block"):
        return {"MarketType": "capacity-block"}
    spot = request.get("spot")
    if spot is None:
        return {}
    options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    return {"MarketType": "spot", "SpotOptions": {**options, **spell_members(spot, {"max_price": "MaxPrice"})}}


def _reservation(given: Mapping[str, Any]) -> Json:
    target = spell_members(given, {"id": "CapacityReservationId"})
    found = spell_members(given, {"preference": "CapacityReservationPreference"})
    return {**found, **({"CapacityReservationTarget": target} if target else {})}


def shown_attributes(body: Json) -> Json:
    """Return what a reply shows of how an instance was launched, under our names."""
    placement = body.get("Placement", {})
    return {
        "profile": body.get("IamInstanceProfile", {}).get("Arn", "").rpartition("/")[2],
        "tenancy": placement.get("Tenancy", "default"),
        "host_id": placement.get("HostId", ""),
        "placement_group": placement.get("GroupName", ""),
        "partition": placement.get("PartitionNumber", 0),
        "lifecycle": body.get("InstanceLifecycle", "on-demand"),
    }
