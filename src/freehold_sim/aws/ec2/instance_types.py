"""Instance types that exist in every region, as data.

Sizes: https://aws.amazon.com/ec2/instance-types/; interfaces and addresses of an interface:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/AvailableIpPerENI.html. The prices of spot are made up.
"""

from typing import Any, NamedTuple


class InstanceType(NamedTuple):
    """One instance type; `spot_price` is the least that a spot request pays, in dollars an hour."""

    name: str
    cores: int
    mebibytes: int
    architecture: str
    interfaces: int
    addresses: int
    spot_price: float

    @property
    def bursts(self) -> bool:
        """Whether it is of the T family, which no cluster placement group takes."""
        return self.name.startswith("t")


TYPES: dict[str, InstanceType] = {
    row.name: row
    for row in (
        InstanceType("t2.micro", 1, 1024, "x86_64", 2, 2, 0.0035),
        InstanceType("t3.micro", 2, 1024, "x86_64", 2, 2, 0.0031),
        InstanceType("t3.small", 2, 2048, "x86_64", 3, 4, 0.0062),
        InstanceType("t3.medium", 2, 4096, "x86_64", 3, 6, 0.0125),
        InstanceType("t3.large", 2, 8192, "x86_64", 3, 12, 0.0250),
        InstanceType("t3.xlarge", 4, 16384, "x86_64", 4, 15, 0.0499),
        InstanceType("t4g.medium", 2, 4096, "arm64", 3, 6, 0.0101),
        InstanceType("m5.large", 2, 8192, "x86_64", 3, 10, 0.0374),
        InstanceType("m5.xlarge", 4, 16384, "x86_64", 4, 15, 0.0748),
        InstanceType("m6g.large", 2, 8192, "arm64", 3, 10, 0.0308),
        InstanceType("m6i.large", 2, 8192, "x86_64", 3, 10, 0.0385),
        InstanceType("c5.large", 2, 4096, "x86_64", 3, 10, 0.0340),
    )
}
"""The types by name."""


def type_view(row: InstanceType) -> dict[str, Any]:
    """Return an instance type as DescribeInstanceTypes shows it."""
    strategies = ["partition", "spread"] if row.bursts else ["cluster", "partition", "spread"]
    network = {"MaximumNetworkInterfaces": row.interfaces, "Ipv4AddressesPerInterface": row.addresses,
               "Ipv6AddressesPerInterface": row.addresses, "Ipv6Supported": True}  # fmt: skip
    return {
        "InstanceType": row.name, "CurrentGeneration": row.name != "t2.micro",
        "SupportedUsageClasses": ["on-demand", "spot"], "SupportedVirtualizationTypes": ["hvm"], "BareMetal": False,
        "Hypervisor": "xen" if row.name == "t2.micro" else "nitro", "SupportedRootDeviceTypes": ["ebs"],
        "ProcessorInfo": {"SupportedArchitectures": [row.architecture]}, "VCpuInfo": {"DefaultVCpus": row.cores},
        "MemoryInfo": {"SizeInMiB": row.mebibytes}, "InstanceStorageSupported": False, "NetworkInfo": network,
        "PlacementGroupInfo": {"SupportedStrategies": strategies}, "BurstablePerformanceSupported": row.bursts,
    }  # fmt: skip
