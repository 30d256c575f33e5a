"""The fields of ``AWSMachine``: what is acted on. Data only."""

from __future__ import annotations

from typing import Final

from freehold.api.served_fields import ServedField, ignore_field, refuse_field, serve_field

_AS_UPSTREAM = "upstream fills it in; ids of resources are in status.resources"
_HOSTS = "dedicated hosts are not served; remove it"
_RESERVATIONS = "capacity reservations are not served; remove it"


AWS_MACHINE_FIELDS: Final[tuple[ServedField, ...]] = (
    serve_field(
        "spec.providerID",
        "filled in; the id of an instance that is there already makes the machine that one, which is used as it is "
        "and never terminated",
    ),
    serve_field("spec.instanceID", "filled in, beside providerID; alone it names nothing"),
    serve_field("spec.instanceType"),
    serve_field("spec.ami.id"),
    serve_field(
        "spec.ami.eksLookupType",
        "Amazon's image for EKS, in the Machine's version, else the control plane's; with any cluster. In one of EKS "
        "without any lookup: AmazonLinux up to 1.32, after that AmazonLinux2023",
    ),
    serve_field(
        "spec.imageLookupFormat", "of the Machine's version; upstream's template, of which only its two fields"
    ),
    serve_field("spec.imageLookupOrg"),
    serve_field("spec.imageLookupBaseOS"),
    serve_field(
        "spec.subnet",
        "one of the cluster's VPC; by filters the first of those that fit, by id. Without it: of the cluster's subnets "
        "in the Machine's failureDomain, else of any zone, the first private one; a public one with publicIP",
    ),
    serve_field("spec.publicIP"),
    serve_field("spec.assignPrimaryIPv6"),
    serve_field(
        "spec.additionalSecurityGroups", "followed on a living machine; of those that fit filters, those of the VPC"
    ),
    serve_field(
        "spec.securityGroupOverrides",
        "of the roles node, lb and controlplane; in a cluster of EKS of node, EKS's own, and node-eks-additional",
    ),
    serve_field("spec.sshKeyName"),
    serve_field("spec.iamInstanceProfile"),
    serve_field(
        "spec.additionalTags", "at most 40 with the cluster's, over which they win; followed on a living machine"
    ),
    serve_field("spec.rootVolume", "type, size, iops, throughput, encryption and its key"),
    ignore_field("spec.rootVolume.deviceName", "the image says which device it boots from, as upstream has it"),
    serve_field("spec.nonRootVolumes"),
    serve_field("spec.spotMarketOptions"),
    serve_field("spec.marketType", "OnDemand or Spot; CapacityBlock is refused"),
    serve_field("spec.tenancy", "default or dedicated; host is refused"),
    serve_field("spec.placementGroupName", "a group that is there"),
    serve_field("spec.placementGroupPartition"),
    serve_field("spec.instanceMetadataOptions", "at birth"),
    serve_field(
        "spec.instanceMetadataOptions.instanceMetadataTags",
        "disabled; EC2 takes enabled only without a slash in the keys of tags, and upstream's and ours have one",
    ),
    serve_field("spec.privateDnsName", "at birth"),
    serve_field(
        "spec.cloudInit.insecureSkipSecretsManager", "without it the data lie in Secrets Manager until they are read"
    ),
    serve_field("spec.cloudInit.secureSecretsBackend", "secrets-manager; ssm-parameter-store is refused"),
    ignore_field("spec.cloudInit.secretCount", _AS_UPSTREAM),
    ignore_field("spec.cloudInit.secretPrefix", _AS_UPSTREAM),
    serve_field("spec.uncompressedUserData"),
    serve_field("spec.hostAffinity", "default; host is refused"),
    serve_field("spec.networkInterfaceType", "interface; efa is refused"),
    refuse_field("spec.networkInterfaces", "interfaces of your own are not served; remove it to get one"),
    refuse_field("spec.hostID", _HOSTS),
    refuse_field("spec.dynamicHostAllocation", _HOSTS),
    refuse_field("spec.capacityReservationId", _RESERVATIONS),
    refuse_field("spec.capacityReservationPreference", _RESERVATIONS),
    refuse_field("spec.cpuOptions", "options of the processor are not served; remove it to get those of the type"),
    refuse_field("spec.elasticIpPool", "pools of your own are not served; remove it to get an address of Amazon's"),
    refuse_field("spec.ignition", "Ignition is not served; use an image that boots with cloud-init, and remove it"),
)
"""In the order of the docs: which instance, where, with what, and what is refused."""

AWS_MACHINE_STATUS_LEFT_OUT: Final[tuple[ServedField, ...]] = (
    ignore_field("status.dedicatedHost", "dedicated hosts are not served"),
    ignore_field("status.failureMessage", "the conditions say it, and Cluster API no longer reads it"),
    ignore_field("status.failureReason", "the conditions say it, and Cluster API no longer reads it"),
    ignore_field(
        "status.conditions[*].severity", "conditions are those of Cluster API's newer contract, which has none"
    ),
)
"""Fields of upstream's status that are never written, with the reason."""
