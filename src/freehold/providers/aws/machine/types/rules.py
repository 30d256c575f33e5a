"""The rules of ``AWSMachine`` (:mod:`freehold.api.rules`): what upstream's webhook refuses, and what must not change.

https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/webhooks
"""

from __future__ import annotations

from typing import Any, Final

from freehold.api.base import ApiRule, Broken
from freehold.api.rules import Format, present, require, require_format, value_at
from freehold.providers.aws.types.rules import TAG_RULES

_PROVISIONED: Final = ("io1", "io2")

# --- volumes -----------------------------------------------------------------------------------

_NEEDS_IOPS = "a volume of type io1 or io2 needs iops; give their number"
_NO_THROUGHPUT = "only a volume of type gp3 has a throughput of its own; remove it, or write type gp3"


def _has_iops(volume: Any) -> bool:
    return volume.type not in _PROVISIONED or bool(volume.iops)


def _may_have_throughput(volume: Any) -> bool:
    return volume.throughput is None or (volume.type == "gp3" and volume.throughput >= 0)


VOLUME_RULES: Final = (
    require(
        "!has(self.type) || !(self.type in ['io1', 'io2']) || (has(self.iops) && self.iops > 0)",
        _NEEDS_IOPS,
        _has_iops,
        "iops",
    ),
    require(
        "!has(self.throughput) || (has(self.type) && self.type == 'gp3' && self.throughput >= 0)",
        _NO_THROUGHPUT,
        _may_have_throughput,
        "throughput",
    ),
)
OTHER_VOLUME_RULES: Final = (
    *VOLUME_RULES,
    require(
        "has(self.deviceName) && self.deviceName != ''",
        "a volume beside the root volume needs its device, for example /dev/sdb",
        lambda volume: bool(volume.device_name),
        "deviceName",
    ),
)

# --- references --------------------------------------------------------------------------------

_SUBNET = Format("subnet-[0-9a-f]{8,17}", "{it} is not the id of a subnet; write one like subnet-0123456789abcdef0")
_IMAGE = Format("ami-[0-9a-f]{8,17}", "{it} is not the id of an image; write one like ami-0123456789abcdef0")
_GROUP = Format("sg-.*", "{it} is not the id of a security group; write one like sg-0123456789abcdef0")
SUBNET_RULES: Final = (require_format("id", _SUBNET),)
IMAGE_RULES: Final = (require_format("id", _IMAGE),)
GROUP_RULES: Final = (
    require(
        "!(has(self.id) && self.id != '' && has(self.filters) && size(self.filters) > 0)",
        "give the id of a group or filters, not both; write two entries",
        lambda group: not (group.id and group.filters),
        "id",
    ),
    require_format("id", _GROUP),
)

# --- the machine -------------------------------------------------------------------------------

_PRICE = Format(r"[0-9]+([.][0-9]+)?", "{it} is not a price; write the most that you pay for an hour, like 0.05")
SPOT_RULES: Final = (require_format("maxPrice", _PRICE),)
_OF_SECRETS = ("secretPrefix", "secretCount", "secureSecretsBackend")


def _has_no_secret(cloud_init: Any) -> bool:
    return not cloud_init.insecure_skip_secrets_manager or not any(value_at(cloud_init, each) for each in _OF_SECRETS)


CLOUD_INIT_RULES: Final = (
    require(
        "!has(self.insecureSkipSecretsManager) || !self.insecureSkipSecretsManager || "
        "((!has(self.secretPrefix) || self.secretPrefix == '') && (!has(self.secretCount) || self.secretCount == 0) "
        "&& !has(self.secureSecretsBackend))",
        "with it the data lie in user data, and in no secret; remove secureSecretsBackend, secretPrefix and "
        "secretCount",
        _has_no_secret,
        "insecureSkipSecretsManager",
    ),
)
_KEY = Format("[!-~]+([ -~]*[!-~]+)*", "{it} is not the name of an SSH key: ASCII, without spaces at its ends")
PROVIDER_ID: Final = Format(
    "aws:///[a-z0-9-]+/i-[0-9a-f]{8,17}",
    "{it} is not the id of an instance; write one like aws:///eu-central-1a/i-0123456789abcdef0",
)
_MARKET = "spotMarketOptions are of a spot instance; write marketType Spot, or remove one of the two"

_KEPT: Final = (
    "ami",
    "assignPrimaryIPv6",
    "capacityReservationId",
    "capacityReservationPreference",
    "cpuOptions",
    "dynamicHostAllocation",
    "elasticIpPool",
    "hostAffinity",
    "hostID",
    "iamInstanceProfile",
    "ignition",
    "imageLookupBaseOS",
    "imageLookupFormat",
    "imageLookupOrg",
    "instanceMetadataOptions",
    "instanceType",
    "marketType",
    "networkInterfaceType",
    "networkInterfaces",
    "nonRootVolumes",
    "placementGroupName",
    "placementGroupPartition",
    "privateDnsName",
    "publicIP",
    "rootVolume",
    "securityGroupOverrides",
    "spotMarketOptions",
    "sshKeyName",
    "subnet",
    "tenancy",
    "uncompressedUserData",
)
"""The fields that upstream's webhook does not let change, and that name nothing which upstream itself fills in."""
_THERE = "oldSelf.providerID"
_NO_INSTANCE = f"!has({_THERE}) || {_THERE} == ''"
"""Until there is an instance, what was written by mistake may be corrected; upstream keeps it from the first apply."""


def _require_kept(field: str) -> ApiRule:
    now, old = f"self.{field}", f"oldSelf.{field}"
    return ApiRule(
        f"{_NO_INSTANCE} || (has({now}) == has({old}) && (!has({now}) || {now} == {old}))",
        "an instance keeps what it was made with; make another machine instead, as a MachineDeployment or a control "
        "plane does by itself when it is given another template",
        field=f".{field}",
    )


_SKIPS = "cloudInit.insecureSkipSecretsManager"
MACHINE_RULES: Final = (
    *TAG_RULES,
    ApiRule(
        "!has(self.capacityReservationId) || !has(self.marketType) || self.marketType != 'Spot'",
        "capacityReservationId may not be set when marketType is Spot",
    ),
    ApiRule(
        "!has(self.capacityReservationId) || !has(self.spotMarketOptions)",
        "capacityReservationId cannot be set when spotMarketOptions is specified",
    ),
    require(
        "!has(self.spotMarketOptions) || !has(self.marketType) || self.marketType == 'Spot'",
        _MARKET,
        lambda spec: spec.spot_market_options is None or spec.market_type in (None, "Spot"),
        "marketType",
    ),
    require(
        "!has(self.placementGroupPartition) || (has(self.placementGroupName) && self.placementGroupName != '')",
        "a partition is one of a placement group; give placementGroupName",
        lambda spec: not spec.placement_group_partition or bool(spec.placement_group_name),
        "placementGroupPartition",
    ),
    require_format("sshKeyName", _KEY),
    require_format("providerID", PROVIDER_ID),
    *(_require_kept(field) for field in _KEPT),
    ApiRule(
        f"{_NO_INSTANCE} || (({present(f'self.{_SKIPS}')} && self.{_SKIPS}) == "
        f"({present(f'oldSelf.{_SKIPS}')} && oldSelf.{_SKIPS}))",
        "the instance has read its data already: where they lay cannot change",
        field=f".{_SKIPS}",
    ),
)
_READY = "oldSelf.status.ready"
_NOW, _OLD = "self.spec.providerID", "oldSelf.spec.providerID"
OBJECT_RULES: Final = (
    ApiRule(
        f"!({present(_READY)} && {_READY}) || !({present(_OLD)} && {_OLD} != '') || !({present(_NOW)}) || "
        f"{_NOW} in ['', {_OLD}]",
        "a machine that was ready stays the same instance; make another machine for another one",
        field=".spec.providerID",
    ),
)


def _find_filled_in(spec: Any) -> tuple[Broken, ...]:
    return tuple(Broken(f".{field}") for field in ("providerID", "instanceID") if value_at(spec, field))


TEMPLATE_RULES: Final = (
    ApiRule(
        "(!has(self.providerID) || self.providerID == '') && (!has(self.instanceID) || self.instanceID == '')",
        "all machines of a template would be one instance; remove it",
        of="spec",
        find=_find_filled_in,
    ),
)
"""Upstream's webhook refuses it too."""
