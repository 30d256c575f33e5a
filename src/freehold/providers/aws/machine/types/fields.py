"""The fields of ``AWSMachine``: what is acted on. Data only."""

from __future__ import annotations

from typing import Final

from freehold.api.served_fields import ServedField, Serving

_AS_UPSTREAM = "upstream fills it in; ids of resources are in status.resources"
_HOSTS = "dedicated hosts are not served; remove it"
_RESERVATIONS = "capacity reservations are not served; remove it"


def _served(path: str, sentence: str = "") -> ServedField:
    return ServedField(path, Serving.SERVED, sentence)


def _ignored(path: str, sentence: str) -> ServedField:
    return ServedField(path, Serving.IGNORED, sentence)


def _refused(path: str, sentence: str) -> ServedField:
    return ServedField(path, Serving.REFUSED, sentence)


AWS_MACHINE_FIELDS: Final[tuple[ServedField, ...]] = (
    _served(
        "spec.providerID",
        "filled in; the id of an instance that is there already makes the machine that one, which is used as it is "
        "and never terminated",
    ),
    _served("spec.instanceID", "filled in, beside providerID; alone it names nothing"),
    _served("spec.instanceType"),
    _served("spec.ami.id"),
    _served("spec.ami.eksLookupType", "Amazon's image for EKS, in the Machine's version; with any cluster"),
    _served("spec.imageLookupFormat", "of the Machine's version; upstream's template, of which only its two fields"),
    _served("spec.imageLookupOrg"),
    _served("spec.imageLookupBaseOS"),
    _served(
        "spec.subnet",
        "one of the cluster's VPC; by filters the first of those that fit, by id. Without it: of the cluster's subnets "
        "in the Machine's failureDomain, else of any zone, the first private one; a public one with publicIP",
    ),
    _served("spec.publicIP"),
    _served("spec.assignPrimaryIPv6"),
    _served(
        "spec.additionalSecurityGroups", "followed on a living machine; of those that fit filters, those of the VPC"
    ),
    _served("spec.securityGroupOverrides", "of the roles node, lb and controlplane"),
    _served("spec.sshKeyName"),
    _served("spec.iamInstanceProfile"),
    _served("spec.additionalTags", "at most 40 with the cluster's, over which they win; followed on a living machine"),
    _served("spec.rootVolume", "type, size, iops, throughput, encryption and its key"),
    _ignored("spec.rootVolume.deviceName", "the image says which device it boots from, as upstream has it"),
    _served("spec.nonRootVolumes"),
    _served("spec.spotMarketOptions"),
    _served("spec.marketType", "OnDemand or Spot; CapacityBlock is refused"),
    _served("spec.tenancy", "default or dedicated; host is refused"),
    _served("spec.placementGroupName", "a group that is there"),
    _served("spec.placementGroupPartition"),
    _served("spec.instanceMetadataOptions", "at birth"),
    _served(
        "spec.instanceMetadataOptions.instanceMetadataTags",
        "disabled; EC2 takes enabled only without a slash in the keys of tags, and upstream's and ours have one",
    ),
    _served("spec.privateDnsName", "at birth"),
    _served(
        "spec.cloudInit.insecureSkipSecretsManager", "without it the data lie in Secrets Manager until they are read"
    ),
    _served("spec.cloudInit.secureSecretsBackend", "secrets-manager; ssm-parameter-store is refused"),
    _ignored("spec.cloudInit.secretCount", _AS_UPSTREAM),
    _ignored("spec.cloudInit.secretPrefix", _AS_UPSTREAM),
    _served("spec.uncompressedUserData"),
    _served("spec.hostAffinity", "default; host is refused"),
    _served("spec.networkInterfaceType", "interface; efa is refused"),
    _refused("spec.networkInterfaces", "interfaces of your own are not served; remove it to get one"),
    _refused("spec.hostID", _HOSTS),
    _refused("spec.dynamicHostAllocation", _HOSTS),
    _refused("spec.capacityReservationId", _RESERVATIONS),
    _refused("spec.capacityReservationPreference", _RESERVATIONS),
    _refused("spec.cpuOptions", "options of the processor are not served; remove it to get those of the type"),
    _refused("spec.elasticIpPool", "pools of your own are not served; remove it to get an address of Amazon's"),
    _refused("spec.ignition", "Ignition is not served; use an image that boots with cloud-init, and remove it"),
)
"""In the order of the docs: which instance, where, with what, and what is refused."""

AWS_MACHINE_STATUS_LEFT_OUT: Final[tuple[ServedField, ...]] = (
    _ignored("status.dedicatedHost", "dedicated hosts are not served"),
    _ignored("status.failureMessage", "the conditions say it, and Cluster API no longer reads it"),
    _ignored("status.failureReason", "the conditions say it, and Cluster API no longer reads it"),
    _ignored("status.conditions[*].severity", "conditions are those of Cluster API's newer contract, which has none"),
)
"""Fields of upstream's status that are never written, with the reason."""
