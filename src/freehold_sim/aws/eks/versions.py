"""Kubernetes versions of EKS and until when it supports them, as they are on the day in `TODAY`, whatever the clock.

Dates: https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html#kubernetes-release-calendar; those of
1.36 from https://endoflife.date/amazon-eks.
"""

from datetime import datetime
from typing import Any, NamedTuple

from freehold_sim.aws.call import Call, Operation, reads
from freehold_sim.aws.eks.common import listed

TODAY = "2026-11-28"
STANDARD, EXTENDED, UNSUPPORTED = "STANDARD_SUPPORT", "EXTENDED_SUPPORT", "UNSUPPORTED"


class Version(NamedTuple):
    """A minor version. Until the end of standard support it is new, then old, and a cluster with it costs more."""

    name: str
    released: str
    standard_until: str
    extended_until: str

    @property
    def support(self) -> str:
        if self.standard_until > TODAY:
            return STANDARD
        return EXTENDED if self.extended_until > TODAY else UNSUPPORTED

    @property
    def platform(self) -> str:
        """The platform version that a new cluster has; the numbers are made up."""
        return f"eks.{50 - minor(self.name)}"


CALENDAR = (
    Version("1.36", "2026-06-02", "2027-08-02", "2028-08-02"),
    Version("1.35", "2026-01-27", "2027-03-27", "2028-03-27"),
    Version("1.34", "2025-10-02", "2026-12-02", "2027-12-02"),
    Version("1.33", "2025-05-29", "2026-07-29", "2027-07-29"),
    Version("1.32", "2025-01-23", "2026-03-23", "2027-03-23"),
    Version("1.31", "2024-09-26", "2025-11-26", "2026-11-26"),
    Version("1.30", "2024-05-23", "2025-07-23", "2026-07-23"),
)
DEFAULT = "1.35"
"""Not the latest: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html. Which one is assumed."""

_BY_NAME = {version.name: version for version in CALENDAR}


def minor(name: str) -> int:
    return int(name.partition(".")[2])


def offered(name: str) -> Version | None:
    """Return a version in which a cluster can be made, or to which it can be updated."""
    version = _BY_NAME.get(name)
    return version if version is not None and version.support != UNSUPPORTED else None


def support(name: str) -> str:
    return _BY_NAME[name].support


def describe_versions(call: Call) -> dict[str, Any]:
    """Unsupported versions are shown to who asks for them: by name, by status or for all (assumed)."""
    params = call.params
    status = params.get("versionStatus", params.get("status", "").upper().replace("-", "_"))
    names, every = params.get("clusterVersions", []), params.get("includeAll", False)
    rows = [
        version
        for version in CALENDAR
        if (version.name in names if names else every or status or version.support != UNSUPPORTED)
        and (not status or version.support == status)
        and (not params.get("defaultOnly") or version.name == DEFAULT)
        and params.get("clusterType", "eks") == "eks"
    ]
    return listed(call, "clusterVersions", [_shown(version) for version in rows])


def _midnight(day: str) -> float:
    return datetime.fromisoformat(f"{day}T00:00:00Z").timestamp()


def _shown(version: Version) -> dict[str, Any]:
    return {
        "clusterVersion": version.name, "clusterType": "eks", "defaultPlatformVersion": version.platform,
        "defaultVersion": version.name == DEFAULT, "releaseDate": _midnight(version.released),
        "endOfStandardSupportDate": _midnight(version.standard_until),
        "endOfExtendedSupportDate": _midnight(version.extended_until),
        "status": version.support, "versionStatus": version.support, "kubernetesPatchVersion": f"{version.name}.1",
    }  # fmt: skip


OPERATIONS: tuple[Operation, ...] = (
    reads("DescribeClusterVersions", describe_versions,
          "clusterType maxResults nextToken defaultOnly includeAll clusterVersions status versionStatus"),
)  # fmt: skip
