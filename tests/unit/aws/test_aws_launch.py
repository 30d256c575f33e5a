"""The parameters of RunInstances, checked against botocore's service model."""

from __future__ import annotations

from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from freehold.providers.aws import launch

LEAST = {
    "name": "one", "image_id": "ami-1", "instance_type": "t3.micro", "subnet_id": "subnet-1",
    "security_groups": ["sg-1"],
}  # fmt: skip
DISK = {"device": "/dev/sda1", "size": 20, "type": "gp3", "iops": 4000, "throughput": 250, "encrypted": True,
        "kms_key": "alias/disks"}  # fmt: skip
EBS = {"VolumeSize": 20, "VolumeType": "gp3", "Iops": 4000, "Throughput": 250, "Encrypted": True,
       "KmsKeyId": "alias/disks", "DeleteOnTermination": True}  # fmt: skip


@cache
def _input() -> Any:
    return botocore.session.get_session().get_service_model("ec2").operation_model("RunInstances").input_shape


def parameters(**more: Any) -> dict[str, Any]:
    """What is sent beyond the least request, after the check by the model."""
    found = launch.parameters_of({**LEAST, **more})
    report = ParamValidator().validate({**found, "MinCount": 1, "MaxCount": 1}, _input())
    assert not report.has_errors(), report.generate_report()
    plain = launch.parameters_of(LEAST)
    return {name: value for name, value in found.items() if plain.get(name) != value}


def test_a_request_without_more_sends_no_more() -> None:
    assert launch.parameters_of(LEAST) == {
        "ImageId": "ami-1", "InstanceType": "t3.micro", "SubnetId": "subnet-1", "SecurityGroupIds": ["sg-1"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({"profile": "nodes"}, {"IamInstanceProfile": {"Name": "nodes"}}),
        ({"key_name": "mine"}, {"KeyName": "mine"}),
        ({"key_name": ""}, {}),
        ({"tenancy": "dedicated"}, {"Placement": {"Tenancy": "dedicated"}}),
        (
            {"tenancy": "host", "host_id": "h-1", "host_affinity": "host"},
            {"Placement": {"Tenancy": "host", "HostId": "h-1", "Affinity": "host"}},
        ),
        ({"placement_group": "near", "partition": 3}, {"Placement": {"GroupName": "near", "PartitionNumber": 3}}),
        ({"cpu": {"amd_sev_snp": "enabled"}}, {"CpuOptions": {"AmdSevSnp": "enabled"}}),
        (
            {"hostname": {"type": "resource-name", "a_record": False}},
            {"PrivateDnsNameOptions": {"HostnameType": "resource-name", "EnableResourceNameDnsARecord": False}},
        ),
        (
            {"metadata": {"http_endpoint": "enabled", "http_tokens": "required", "hop_limit": 2,
                          "http_protocol_ipv6": "disabled", "instance_metadata_tags": "enabled"}},
            {"MetadataOptions": {"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": 2,
                                 "HttpProtocolIpv6": "disabled", "InstanceMetadataTags": "enabled"}},
        ),
        (
            {"capacity_reservation": {"id": "cr-1", "preference": "capacity-reservations-only"}},
            {"CapacityReservationSpecification": {
                "CapacityReservationPreference": "capacity-reservations-only",
                "CapacityReservationTarget": {"CapacityReservationId": "cr-1"},
            }},
        ),
        ({"capacity_block": True}, {"InstanceMarketOptions": {"MarketType": "capacity-block"}}),
    ],
)  # fmt: skip
def test_each_attribute_has_its_parameter(asked: dict[str, Any], sent: dict[str, Any]) -> None:
    assert parameters(**asked) == sent


def test_volumes_go_with_their_instance_unless_the_request_says_otherwise() -> None:
    data = {"device": "/dev/sdb", "size": 1, "delete_on_termination": False}
    assert parameters(root_volume=DISK, volumes=[data]) == {
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/sda1", "Ebs": EBS},
            {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 1, "DeleteOnTermination": False}},
        ]
    }


@pytest.mark.parametrize(("spot", "price"), [({}, {}), ({"max_price": "0.02"}, {"MaxPrice": "0.02"})])
def test_a_spot_request_ends_with_its_instance(spot: dict[str, str], price: dict[str, str]) -> None:
    options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate", **price}
    assert parameters(spot=spot) == {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": options}}


@pytest.mark.parametrize(
    ("asked", "card"),
    [
        ({"associate_public_ip_address": False}, {"AssociatePublicIpAddress": False}),
        ({"ipv6": True, "primary_ipv6": True}, {"Ipv6AddressCount": 1, "PrimaryIpv6": True}),
        ({"interface_type": "efa"}, {"InterfaceType": "efa"}),
    ],
)
def test_what_belongs_to_the_interface_takes_subnet_and_groups_with_it(asked: Any, card: Any) -> None:
    sent = launch.parameters_of({**LEAST, **asked})
    assert "SubnetId" not in sent and "SecurityGroupIds" not in sent
    assert parameters(**asked) == {
        "NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": "subnet-1", "Groups": ["sg-1"], **card}]
    }


def test_a_reply_shows_how_an_instance_was_launched() -> None:
    body = {
        "IamInstanceProfile": {"Arn": "arn:aws:iam::111122223333:instance-profile/team/nodes"},
        "Placement": {"Tenancy": "host", "HostId": "h-1", "GroupName": "near", "PartitionNumber": 3},
        "InstanceLifecycle": "spot",
    }
    assert launch.shown_attributes(body) == {
        "profile": "nodes", "tenancy": "host", "host_id": "h-1", "placement_group": "near", "partition": 3,
        "lifecycle": "spot",
    }  # fmt: skip
